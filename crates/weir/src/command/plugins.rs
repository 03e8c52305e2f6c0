//! `weir plugins`: which there are, what each may do, and switching them on and off (T11, Z9). Not
//! here: finding and reading them (`weir_engine::run_plugins_command`).

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_engine::plugins::InstalledPlugins;
use weir_engine::ports::{Callable, PluginLine, PluginOffer, PluginState, Plugins as _};
use weir_install::catalogue::plugins::{described, found};
use weir_install::context::InstallationContext;
use weir_install::wiring;

use crate::failure::{exit, usage};
use crate::options::{JsonFlag, PluginArgs, PluginEnableArgs, PluginsCommand};
use crate::review::{ReviewOutcome, ReviewSubject, settle_review};
use crate::terminal::{confirm_by_person, format_table, is_attended, out_json, out_line};

/// Lists, shows, switches on and off.
pub(crate) async fn run_plugins_command(
    cx: &InstallationContext,
    command: PluginsCommand,
) -> anyhow::Result<ExitCode> {
    let plugins = found(cx).await?;
    match command {
        PluginsCommand::List(flag) => list_plugins(&plugins, flag)?,
        PluginsCommand::Show(args) => show_plugin(&plugins, &args).await?,
        PluginsCommand::Enable(args) => return enable_plugin(cx, &plugins, &args).await,
        PluginsCommand::Disable(args) => disable_plugin(cx, &plugins, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list_plugins(plugins: &InstalledPlugins, flag: JsonFlag) -> anyhow::Result<()> {
    let (lines, commands) = (plugins.list(), plugins.configured_commands());
    if flag.json {
        let all: Vec<Value> = lines.iter().map(as_json).collect();
        let commands: Vec<Value> = commands.iter().map(plugin_command_json).collect();
        return out_json(&json!({ "plugins": all, "commands": commands }));
    }
    let row = |line: &PluginLine| {
        let says = match &line.state {
            PluginState::Enabled | PluginState::Disabled => line.description.clone(),
            PluginState::Changed(what) => {
                format!("disabled because it changed ({what}): `weir plugins show {}`", line.id)
            }
            PluginState::Broken(why) => why.clone(),
        };
        let cells = [&line.id, line.state.state_word(), &line.origin, &says];
        cells.iter().map(|cell| visible_text(cell)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    out_line(&format_table(&rows))?;
    if !commands.is_empty() {
        let names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
        out_line(&format!("Commands from the configuration: {}", names.join(", ")))?;
    }
    Ok(())
}

fn as_json(line: &PluginLine) -> Value {
    let why = match &line.state {
        PluginState::Enabled | PluginState::Disabled => None,
        PluginState::Changed(why) | PluginState::Broken(why) => Some(why),
    };
    json!({
        "id": line.id,
        "name": line.name,
        "version": line.version,
        "description": line.description,
        "origin": line.origin,
        "state": line.state.state_word(),
        "why": why,
        "commands": line.commands.iter().map(plugin_command_json).collect::<Vec<_>>(),
        "api": line.methods.iter().map(plugin_command_json).collect::<Vec<_>>(),
    })
}

fn plugin_command_json(one: &Callable) -> Value {
    json!({
        "name": one.name,
        "description": one.description,
        "params": one.params,
        "input_schema": one.schema,
    })
}

async fn find_plugin_offer(plugins: &InstalledPlugins, id: &str) -> anyhow::Result<PluginOffer> {
    plugins.plugin_offer(id).await.map_err(usage)
}

async fn show_plugin(plugins: &InstalledPlugins, args: &PluginArgs) -> anyhow::Result<()> {
    let offer = find_plugin_offer(plugins, &args.id).await?;
    let lines = plugins.list();
    let line = lines.iter().find(|line| line.id == offer.id);
    if args.json.json {
        let mut value = line.map(as_json).unwrap_or_default();
        value["sha256"] = json!(offer.hash);
        value["may"] = json!(offer.powers);
        value["notes"] = json!(offer.notes);
        value["files"] = json!(offer.files);
        return out_json(&value);
    }
    let mut text = described(&offer);
    let state = line.map_or("", |line| line.state.state_word());
    let _ = writeln!(text, "State: {state}");
    for callable in line.iter().flat_map(|line| line.commands.iter().chain(&line.methods)) {
        let params: Vec<&str> = callable.params.iter().map(|param| param.name.as_str()).collect();
        let about = visible_text(&callable.description);
        let _ = writeln!(text, "  {}({})  {about}", callable.name, params.join(", "));
    }
    out_line(text.trim_end())
}

async fn enable_plugin(
    cx: &InstallationContext,
    plugins: &InstalledPlugins,
    args: &PluginEnableArgs,
) -> anyhow::Result<ExitCode> {
    let offer = find_plugin_offer(plugins, &args.id).await?;
    let id = &offer.id;
    if args.hash.as_ref().is_some_and(|hash| *hash != offer.hash) {
        return Err(usage(format!("the hash of {id} is {}, not the one given", offer.hash)));
    }
    let text = described(&offer);
    if !args.json.json && !args.review.is_given() {
        out_line(text.trim_end())?;
    }
    let identity = json!([offer.id, offer.hash, offer.powers, offer.files]).to_string();
    let (deed, question) = ("plugins enable", "Enable it?");
    let reviewed =
        ReviewSubject { deed, text: &text, question, identity: &identity, editable: None };
    let agreed = match settle_review(&args.review, &reviewed, args.json.json)? {
        ReviewOutcome::Previewed => return Ok(ExitCode::SUCCESS),
        ReviewOutcome::Agreed => true,
        ReviewOutcome::Unsaid => false,
    };
    let told = agreed || args.yes || args.hash.is_some();
    if !told && (args.json.json || !is_attended()) {
        return Err(usage(format!(
            "nobody can be asked here; read what the plugin may do with `weir plugins show {id}`, \
             then confirm with `weir plugins enable {id} --yes`"
        )));
    }
    if !told && !confirm_by_person("Enable it?")? {
        out_line("Not enabled.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    plugins.enable(id, &offer.hash, &wiring::principal_name(cx)).await.map_err(usage)?;
    if args.json.json {
        out_json(&json!({ "id": id, "state": "enabled", "sha256": offer.hash }))?;
    } else {
        out_line(&format!("{id} is enabled. Any change to its files disables it again."))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn disable_plugin(
    cx: &InstallationContext,
    plugins: &InstalledPlugins,
    args: &PluginArgs,
) -> anyhow::Result<()> {
    let was = plugins.disable(&args.id, &wiring::principal_name(cx)).await.map_err(usage)?;
    if args.json.json {
        return out_json(&json!({ "id": args.id, "state": "disabled", "changed": was }));
    }
    out_line(&match was {
        true => format!("{} is disabled.", args.id),
        false => format!("{} was not enabled.", args.id),
    })
}
