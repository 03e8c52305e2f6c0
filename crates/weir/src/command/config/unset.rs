//! `weir config unset`: a setting is taken out of a file, and it is said what holds instead. Not here:
//! what a whole configuration must be (`weir_install::unusable`).

use std::path::Path;

use serde_json::json;
use weir_core::view::plain::visible_text;
use weir_install::config::{self, SettingEntry, setting_entries};
use weir_install::context::InstallationContext;
use weir_install::unusable::check_config_draft;

use super::{refuse_rules, setting_value_text, unknown_setting_message};
use crate::failure::usage;
use crate::options::ConfigUnsetArgs;
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{err_message, out_json, out_line};

/// Removes a setting, or says that it was not set.
pub(super) fn remove_setting(
    cx: &InstallationContext,
    args: &ConfigUnsetArgs,
) -> anyhow::Result<()> {
    refuse_rules(&args.key)?;
    let files = cx.config_files();
    let path = if args.project { files.project_for_writing()? } else { &files.user };
    let draft = config::draft_without_value(path, &args.key)?;
    let Some(draft) = draft else {
        let entries = setting_entries(cx.config()?);
        let below = format!("{}.", args.key);
        if !entries.iter().any(|one| one.key == args.key || one.key.starts_with(&below)) {
            return Err(usage(unknown_setting_message(&args.key, &entries)));
        }
        if args.review.is_given() {
            let place = visible_text(&path.display().to_string());
            return Err(usage(format!("{} is not set in {place}", visible_text(&args.key))));
        }
        return tell(args, path, Some(entries.as_slice()), false);
    };
    let still_unusable = check_config_draft(cx, &draft)?;
    if args.review.is_given() && review(cx, args, path)? == ReviewOutcome::Previewed {
        return Ok(());
    }
    // From the file as it is now: another program may have set something while this was looked at.
    let was_set = config::unset_value(&files.file_at(path), &args.key)?;
    still_unusable.iter().for_each(|one| err_message(&format!("warning: {one}")));
    // It is away, also where another file cannot be read.
    let again = cx.reloaded_in_folder(&cx.folder)?;
    let entries = again.config().ok().map(setting_entries);
    tell(args, path, entries.as_deref(), was_set)
}

/// Shows what would be removed, or holds it against what was shown.
fn review(
    cx: &InstallationContext,
    args: &ConfigUnsetArgs,
    path: &Path,
) -> anyhow::Result<ReviewOutcome> {
    let place = path.display().to_string();
    let mut text =
        format!("{} is removed\nIn: {}\n", visible_text(&args.key), visible_text(&place));
    let mut now = serde_json::Value::Null;
    let entries = setting_entries(cx.config()?);
    if let Some(entry) = entries.iter().find(|entry| entry.key == args.key) {
        let (value, origin) = (setting_value_text(&entry.value), visible_text(&entry.origin));
        text.push_str(&format!("Now: {} ({origin})\n", visible_text(&value)));
        text.push_str(&format!("{}\n", entry.description));
        now = entry.value.clone();
    }
    let identity = json!([args.key, place, now]).to_string();
    let (deed, question) = ("config unset", "Remove it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    settle_review(&args.review, &reviewed, args.json.json)
}

/// What was done, and what holds now. `entries`: all settings, where they can be read.
fn tell(
    args: &ConfigUnsetArgs,
    path: &Path,
    entries: Option<&[SettingEntry]>,
    was_set: bool,
) -> anyhow::Result<()> {
    let place = path.display().to_string();
    let entry = entries.unwrap_or_default().iter().find(|entry| entry.key == args.key);
    if args.json.json {
        return out_json(&json!({
            "key": args.key,
            "place": place,
            "was_set": was_set,
            "value": entry.map(|entry| &entry.value),
            "origin": entry.map(|entry| &entry.origin),
        }));
    }
    let done = match was_set {
        true => format!("{} is removed from {place}", args.key),
        false => format!("{} was not set in {place}; nothing is changed", args.key),
    };
    let holds = entry.map(|entry| {
        format!("; it is {} now ({})", setting_value_text(&entry.value), entry.origin)
    });
    out_line(&format!("{done}{}", holds.unwrap_or_default()))
}
