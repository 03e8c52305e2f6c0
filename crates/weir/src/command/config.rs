//! `weir config`: settings with the origin of each value.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_engine::text_diff::measure_likeness;
use weir_install::config::{self, SettingEntry, setting_entries};
use weir_install::context::InstallationContext;
use weir_install::unusable::{check_config_draft, find_unusable_settings};
use weir_tui::compose::editor;

use crate::failure::usage;
use crate::options::{ConfigCommand, ConfigSetArgs, ConfigUnsetArgs};
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{err_message, format_table, out_json, out_line};

mod inbox;
mod unset;

/// What a new file holds when it is opened first.
const NEW_FILE: &str = "\
# Weir's settings. `weir config show` lists every setting, its value and what it means; what is left
# out has its usual value. For example:
#
# model = \"anthropic/claude-sonnet-5-5\"
# permission = \"ask\"
";

/// Shows, gets, sets; decides about what agents proposed.
pub(crate) async fn run_config_command(
    cx: &InstallationContext,
    command: ConfigCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Inbox(flag) => return inbox::show_inbox(cx, flag).await,
        ConfigCommand::Accept(args) => return inbox::accept_setting(cx, &args).await,
        ConfigCommand::Reject(args) => return inbox::reject_setting(cx, &args).await,
        ConfigCommand::Show(flag) => show_settings(cx, flag.json)?,
        ConfigCommand::Get { key, json } => {
            get(cx, &config::listed_key(&key).unwrap_or(key), json.json)?;
        }
        // However its parts are quoted, it is the same key.
        ConfigCommand::Set(args) => {
            let key = config::listed_key(&args.key)?;
            write_setting(cx, &ConfigSetArgs { key, ..args })?;
        }
        ConfigCommand::Unset(args) => {
            let key = config::listed_key(&args.key)?;
            unset::remove_setting(cx, &ConfigUnsetArgs { key, ..args })?;
        }
        ConfigCommand::Edit { project } => edit_config_file(cx, project)?,
        ConfigCommand::Path(flag) => show_config_paths(cx, flag.json)?,
        ConfigCommand::Schema => out_json(&config::settings_schema())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_settings(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let readable = cx.readable_config();
    let (config, problems) = (&readable.config, readable.problems.join("\n"));
    // A list without what a file sets would be taken for all of it.
    if as_json && !problems.is_empty() {
        return Err(usage(problems));
    }
    let entries = setting_entries(config);
    for withheld in &config.withheld {
        err_message(&format!("warning: {withheld}"));
    }
    let folder = cx.folder.display().to_string();
    let trust = format!("the workspace {} is {}", visible_text(&folder), cx.workspace_trust());
    if as_json {
        // The list holds settings alone, and trust is none.
        err_message(&trust);
        return out_json(&entries);
    }
    let mut text = String::new();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                format!("{} = {}", entry.key, setting_value_text(&entry.value)),
                entry.origin.clone(),
            ]
        })
        .collect();
    for (line, entry) in format_table(&rows).lines().zip(&entries) {
        text.push_str(&format!("{line}\n    {}\n", entry.description));
    }
    text.push_str(&format!("\n{trust}\n"));
    out_line(&text)?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(usage(format!(
            "{problems}\nwhat is set there is left out above; correct that line (`weir config path` \
             shows the files, `weir config edit` opens your own)"
        ))),
    }
}

/// A value as it would stand in the file.
fn setting_value_text(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        value => toml::Value::try_from(value).map_or_else(|_| value.to_string(), |v| v.to_string()),
    }
}

fn get(cx: &InstallationContext, key: &str, as_json: bool) -> anyhow::Result<()> {
    let entries = setting_entries(cx.config()?);
    let exact = entries.iter().find(|entry| entry.key == key);
    if let Some(entry) = exact {
        if as_json {
            return out_json(entry);
        }
        // A text alone, without quotation marks: for scripts.
        return out_line(&match &entry.value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            value => setting_value_text(value),
        });
    }
    let table = format!("{key}.");
    let below: Vec<&SettingEntry> = entries.iter().filter(|e| e.key.starts_with(&table)).collect();
    if below.is_empty() {
        return Err(usage(unknown_setting_message(key, &entries)));
    }
    if as_json {
        return out_json(&below);
    }
    let line =
        |entry: &&SettingEntry| format!("{} = {}\n", entry.key, setting_value_text(&entry.value));
    out_line(&below.iter().map(line).collect::<String>())
}

fn unknown_setting_message(key: &str, entries: &[SettingEntry]) -> String {
    let likeness = |entry: &&SettingEntry| (measure_likeness(key, &entry.key) * 1000.0) as u32;
    let nearest = entries.iter().max_by_key(likeness).filter(|entry| likeness(entry) > 600);
    let hint = nearest.map(|entry| format!("; did you mean {}?", entry.key)).unwrap_or_default();
    format!("there is no setting {key:?}{hint} (`weir config show` lists them)")
}

fn write_setting(cx: &InstallationContext, args: &ConfigSetArgs) -> anyhow::Result<()> {
    refuse_rules(&args.key)?;
    let files = cx.config_files();
    let path = if args.project { files.project_for_writing()? } else { &files.user };
    let draft = config::draft_with_value(path, &args.key, &args.value)?;
    // As a run would read it: what breaks every later run is refused now, where the person is.
    let still_unusable = check_config_draft(cx, &draft)?;
    if args.review.is_given() && review_setting(cx, args, path)? == ReviewOutcome::Previewed {
        return Ok(());
    }
    // Into the file as it is now: another program may have set something while this was looked at.
    config::set_value(&files.file_at(path), &args.key, &args.value)?;
    still_unusable.iter().for_each(|one| err_message(&format!("warning: {one}")));
    // Read as it will be, so that what has no effect here is said now and not later; the settings may have
    // been read before, for a look at the change.
    let again = cx.reloaded_in_folder(&cx.folder)?;
    let ours = path.display().to_string();
    // Where another file cannot be read, that is said above.
    let read = again.config().ok();
    let keys = config::keys_set_by(&args.key, &args.value)?;
    let mut origins = keys.iter().filter_map(|key| Some((key, read?.origin_of_key(key))));
    let beaten = origins.find(|(_, origin)| !origin.to_string().starts_with(&ours));
    if let Some((key, origin)) = beaten {
        err_message(&format!(
            "warning: {key} is set in {ours}, but {origin} takes precedence here"
        ));
    }
    match args.json.json {
        true => out_json(&json!({ "key": args.key, "place": ours })),
        false => out_line(&format!("{} is set in {ours}", args.key)),
    }
}

/// Rules are no settings to be set: a list of them has commands of its own.
fn refuse_rules(key: &str) -> anyhow::Result<()> {
    match key == "permissions" || key.starts_with("permissions.") {
        true => Err(usage(
            "rules are changed with `weir permissions add` and `weir permissions remove`, which \
             check them first",
        )),
        false => Ok(()),
    }
}

/// Shows a change of a setting, or holds it against what was shown.
fn review_setting(
    cx: &InstallationContext,
    args: &ConfigSetArgs,
    path: &Path,
) -> anyhow::Result<ReviewOutcome> {
    let place = path.display().to_string();
    let (key, value) = (visible_text(&args.key), visible_text(&args.value));
    let mut text = format!("{key} = {value}\nIn: {}\n", visible_text(&place));
    let entries = setting_entries(cx.config()?);
    if let Some(entry) = entries.iter().find(|entry| entry.key == args.key) {
        let (now, origin) = (setting_value_text(&entry.value), visible_text(&entry.origin));
        text.push_str(&format!("Now: {} ({origin})\n", visible_text(&now)));
        text.push_str(&format!("{}\n", entry.description));
    }
    let identity = json!([args.key, args.value, place]).to_string();
    let (deed, question) = ("config set", "Set it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    settle_review(&args.review, &reviewed, args.json.json)
}

fn edit_config_file(cx: &InstallationContext, is_project: bool) -> anyhow::Result<()> {
    let files = cx.config_files();
    let path = if is_project { files.project_for_writing()? } else { &files.user };
    let command = editor::configured_editor();
    let seen = visible_text(&path.display().to_string());
    if command.is_some() && !path.exists() {
        weir_install::files::create_file_once(path, NEW_FILE.as_bytes(), 0o600)?;
    }
    editor::edit_file(command.as_deref(), path).map_err(|error| usage(error.to_string()))?;
    // What is wrong is said now and not at the next start.
    let read = cx.reloaded_in_folder(&cx.folder)?;
    read.config().map_err(|error| {
        usage(format!(
            "{error:#} (the file was saved like that; `weir config edit` opens it again)"
        ))
    })?;
    for one in find_unusable_settings(&read) {
        err_message(&format!("warning: {one}"));
    }
    out_line(&format!("{seen} is valid. `weir config show` shows the values in effect."))
}

fn show_config_paths(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let files = cx.config_files();
    let rows = [
        ("user", files.user),
        ("project", files.project),
        ("profiles", cx.dirs.config.join("profiles")),
        ("soul", cx.dirs.config.join("SOUL.md")),
        ("keys", cx.dirs.config.join("keys.toml")),
        ("state", cx.dirs.state.clone()),
        ("database", cx.dirs.state.join("weir.db")),
        ("audit", cx.dirs.state.join("audit")),
        ("trust", cx.dirs.state.join("trust.json")),
    ];
    if as_json {
        let object: serde_json::Map<String, Value> = rows
            .iter()
            .map(|(name, path)| {
                ((*name).to_owned(), json!({ "path": path, "exists": path.exists() }))
            })
            .collect();
        return out_json(&object);
    }
    let line = |(name, path): &(&str, std::path::PathBuf)| {
        let missing = if path.exists() { "" } else { "(does not exist yet)" };
        vec![(*name).to_owned(), path.display().to_string(), missing.to_owned()]
    };
    out_line(&format_table(&rows.iter().map(line).collect::<Vec<_>>()))
}
