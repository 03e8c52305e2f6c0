//! `weir workflows`: slash commands and workflows that can be typed as `/name` (M3).

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_engine::marks::marks_in;
use weir_engine::ports::Plugins as _;
use weir_engine::scene::SceneOptions;
use weir_engine::skills::SkillPlaces;
use weir_engine::slash::{self, ListedCommand};
use weir_engine::workspace::Workspace;
use weir_install::context::InstallationContext;
use weir_install::wiring;

use crate::command::context_for_looking;
use crate::failure::usage;
use crate::options::WorkflowsCommand;
use crate::terminal::{format_table, out_json, out_line};

/// Lists or shows.
pub(crate) async fn run_workflows_command(
    cx: &InstallationContext,
    command: WorkflowsCommand,
) -> anyhow::Result<ExitCode> {
    let cx = &context_for_looking(cx)?;
    let workspace = cx.open_workspace()?;
    let folder = workspace.root().display().to_string();
    let marks = marks_in(&*cx.local_store()?, &folder).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let plugins = wiring::installed_plugins(cx, &workspace)?;
    plugins.refresh().await;
    let options = SceneOptions {
        config_dir: Some(cx.dirs.config.clone()),
        skills: SkillPlaces { plugins: Some(plugins), ..SkillPlaces::default() },
        ..SceneOptions::default()
    };
    match command {
        WorkflowsCommand::List(flag) => {
            list_workflows(&slash::list_slash_commands(&options, &workspace), flag.json)?
        }
        WorkflowsCommand::Show { name, json } => {
            show_workflow(&options, &workspace, name.trim_start_matches('/'), json.json)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list_workflows(listed: &[ListedCommand], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return out_json(&listed.iter().map(workflow_json).collect::<Vec<_>>());
    }
    if listed.is_empty() {
        return out_line(
            "None. Create a file .weir/commands/review.md (or one in commands/ of your \
                    configuration folder) to get the command /review.\n",
        );
    }
    let line = |one: &ListedCommand| {
        let about = match &one.command {
            Ok(command) => command.head.description.clone(),
            Err(why) => format!("cannot be used: {why}"),
        };
        let hint = one.command.as_ref().map(|c| c.head.argument_hint.clone()).unwrap_or_default();
        let shadowed = if one.shadowed { " (hidden by another one)" } else { "" };
        let cells = [format!("/{} {hint}", one.name), one.source.clone(), about + shadowed];
        cells.map(|cell| visible_text(cell.trim())).to_vec()
    };
    out_line(&format_table(&listed.iter().map(line).collect::<Vec<_>>()))
}

fn workflow_json(one: &ListedCommand) -> Value {
    let command = one.command.as_ref().ok();
    json!({
        "name": one.name,
        "source": one.source,
        "description": command.map(|command| &command.head.description),
        "argument_hint": command.map(|command| &command.head.argument_hint),
        "without_effect": command.map(|command| &command.head.without_effect),
        "problem": one.command.as_ref().err(),
        "shadowed": one.shadowed,
    })
}

fn show_workflow(
    options: &SceneOptions,
    workspace: &Workspace,
    name: &str,
    as_json: bool,
) -> anyhow::Result<()> {
    let found = slash::find_slash_command(options, workspace, name).map_err(usage)?;
    let command = found.ok_or_else(|| {
        usage(format!("there is no command or workflow /{name}; `weir workflows list` lists all"))
    })?;
    if as_json {
        return out_json(&json!({
            "name": command.name,
            "source": command.source,
            "description": command.head.description,
            "argument_hint": command.head.argument_hint,
            "without_effect": command.head.without_effect,
            "text": command.text,
        }));
    }
    let lines = |text: &str| text.lines().map(visible_text).collect::<Vec<_>>().join("\n");
    let mut text =
        format!("/{} {}", command.name, command.head.argument_hint).trim_end().to_owned();
    text.push_str(&format!(" ({})\n", command.source));
    if !command.head.description.is_empty() {
        text.push_str(&format!("{}\n", command.head.description));
    }
    if !command.head.without_effect.is_empty() {
        let fields = command.head.without_effect.join(", ");
        text.push_str(&format!("ignored fields: {fields}\n"));
    }
    out_line(&format!("{}\n\n{}\n", lines(&text), lines(&command.text)))
}
