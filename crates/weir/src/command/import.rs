//! `weir import`: shows what another agent's files become here, asks, and writes it, or takes back
//! what was written (C1, R8). What becomes of what is decided in `import`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_install::context::InstallationContext;
use weir_install::import::{
    ImportItem, ImportMapping, ImportOutcome, ImportPlan, ImportTarget, plan_import, undo_import,
    write_import,
};

use crate::failure::{exit, usage};
use crate::options::ImportArgs;
use crate::terminal::{confirm_by_person, is_attended, out_json, out_line};

/// Shows, asks, writes; or takes back.
pub(crate) fn run_import(cx: &InstallationContext, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let Some(agent) = &args.agent else {
        return take_import_back(cx, args);
    };
    let home = args.from.clone().or_else(|| cx.dirs.home.clone());
    let home = home.ok_or_else(|| usage("the home folder is not known; name one with --from"))?;
    if !home.is_dir() {
        return Err(usage(format!("--from {}: is not a folder", home.display())));
    }
    let plan = plan_import(cx, agent, &home)?;
    if plan.read.is_empty() && plan.items.is_empty() {
        return Err(usage(format!(
            "no file of that agent was found below {} or in {}; name the home folder with --from",
            home.display(),
            cx.folder.display()
        )));
    }
    let widening = plan.items.iter().any(|(_, outcome)| *outcome == ImportOutcome::Widens);
    if !args.json.json {
        out_line(&render_import_plan(cx, &plan))?;
    }
    let widens = match (args.dry_run, args.yes, widening) {
        (true, _, _) | (_, _, false) => false,
        (false, true, true) => true,
        (false, false, true) => {
            is_attended()
                && !args.json.json
                && confirm_by_person("Also import entries that allow more than before?")?
        }
    };
    let id = match args.dry_run {
        true => None,
        false => write_import(cx, &plan, widens)?,
    };
    if args.json.json {
        out_json(&as_json(&plan, args.dry_run, widens, id))?;
    } else {
        out_line(&closing_sentence(&plan, args.dry_run, widens, id))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes an import back; what a person changed since is named and stays.
fn take_import_back(cx: &InstallationContext, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let result = undo_import(cx, args.undo.flatten())?;
    let status = match result.refused.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(exit::FAILED),
    };
    if args.json.json {
        let refused = result.refused.iter().map(|(path, why)| json!({"path": path, "why": why}));
        out_json(&json!({
            "import": result.id, "agent": result.agent, "restored": result.restored,
            "refused": refused.collect::<Vec<_>>(),
        }))?;
        return Ok(status);
    }
    let mut text = String::new();
    for path in &result.restored {
        text.push_str(&format!("  taken back: {}\n", visible_text(&path.display().to_string())));
    }
    for (path, why) in &result.refused {
        text.push_str(&format!("  left: {} {why}\n", visible_text(&path.display().to_string())));
    }
    let left = match result.refused.len() {
        0 => String::new(),
        count => format!(", {count} left"),
    };
    let done = result.restored.len();
    out_line(&format!("{text}Import {} ({}): {done} taken back{left}.", result.id, result.agent))?;
    Ok(status)
}

fn render_import_plan(cx: &InstallationContext, plan: &ImportPlan) -> String {
    let files = cx.config_files();
    let mut text = String::from("Read:\n");
    for file in &plan.read {
        text.push_str(&format!("  {}\n", visible_text(file)));
    }
    let goes = |target| match target {
        ImportTarget::User => &files.user,
        ImportTarget::Project => &files.project,
    };
    for target in [ImportTarget::User, ImportTarget::Project] {
        let title = format!("Imported into {}:", goes(target).display());
        push_plan_section(&mut text, plan, &title, |item, outcome| {
            *outcome == ImportOutcome::Taken && item.target == target
        });
    }
    for target in [ImportTarget::User, ImportTarget::Project] {
        let title = format!(
            "Allows more than before; imported into {} if you confirm:",
            goes(target).display()
        );
        push_plan_section(&mut text, plan, &title, |item, outcome| {
            *outcome == ImportOutcome::Widens && item.target == target
        });
    }
    push_plan_section(&mut text, plan, "Already there:", |_, outcome| {
        *outcome == ImportOutcome::There
    });
    push_plan_section(&mut text, plan, "Not imported:", |_, outcome| {
        matches!(outcome, ImportOutcome::Left(_))
    });
    text
}

fn push_plan_section(
    text: &mut String,
    plan: &ImportPlan,
    title: &str,
    wanted: impl Fn(&ImportItem, &ImportOutcome) -> bool,
) {
    let items: Vec<_> = plan.items.iter().filter(|(item, o)| wanted(item, o)).collect();
    if items.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for (item, outcome) in items {
        let becomes = match outcome {
            ImportOutcome::Left(why) => why.clone(),
            ImportOutcome::Taken | ImportOutcome::Widens | ImportOutcome::There => {
                describe_import_mapping(item)
            }
        };
        text.push_str(&format!("  {} -> {}\n", visible_text(&item.says), visible_text(&becomes)));
        text.push_str(&format!("      {}\n", visible_text(&item.place)));
        for note in &item.notes {
            text.push_str(&format!("      note: {}\n", visible_text(note)));
        }
    }
}

/// What an item is here, in the words of the file of settings.
fn describe_import_mapping(item: &ImportItem) -> String {
    match &item.becomes {
        ImportMapping::Rule(action, rule) => format!("{action} {rule}"),
        ImportMapping::Mode(mode) => format!("permission = \"{mode}\""),
        ImportMapping::Server(name, server, secrets) => {
            let words = std::iter::once(&server.command).chain(&server.args);
            let started = words.map(String::as_str).collect::<Vec<_>>().join(" ");
            let reached = if server.url.is_empty() { &started } else { &server.url };
            // Always shown: who gets what of the person is what they decide about.
            let secrets = secrets.iter().map(|(_, secret)| {
                let variable = secret.env.as_deref().unwrap_or_default();
                format!("; secret {variable} for {}", secret.hosts.join(", "))
            });
            format!("[mcp_servers.{name}] {reached}{}", secrets.collect::<String>())
        }
        ImportMapping::Hook(event, hook) => match hook.matcher.as_str() {
            "" => format!("[[hooks.{event}]] {}", hook.command),
            matcher => format!("[[hooks.{event}]] on {matcher}: {}", hook.command),
        },
        ImportMapping::Model(model) => format!("model = \"{model}\""),
        ImportMapping::File(below, _) => in_folder(item.target, below),
        ImportMapping::Skill(name, files) => {
            let count = match files.len() {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            format!("{} ({count})", in_folder(item.target, &format!("skills/{name}")))
        }
        ImportMapping::History(history) => {
            format!("an imported session, to read and search ({} lines)", history.lines.len())
        }
        ImportMapping::Nothing(why) => why.clone(),
    }
}

fn in_folder(target: ImportTarget, below: &str) -> String {
    match target {
        ImportTarget::User => format!("{below} in your own folder"),
        ImportTarget::Project => format!(".weir/{below} of the workspace"),
    }
}

fn closing_sentence(plan: &ImportPlan, dry: bool, widens: bool, id: Option<u64>) -> String {
    let count =
        |wanted: fn(&ImportOutcome) -> bool| plan.items.iter().filter(|(_, o)| wanted(o)).count();
    let wider = count(|outcome| *outcome == ImportOutcome::Widens);
    let taken = count(|outcome| *outcome == ImportOutcome::Taken) + if widens { wider } else { 0 };
    let left = count(|outcome| matches!(outcome, ImportOutcome::Left(_)));
    if dry {
        return "\nNothing was changed (--dry-run).".to_owned();
    }
    let mut text = format!("\n{taken} imported, {left} not imported.");
    if wider > 0 && !widens {
        text.push_str(&format!(" {wider} would allow more than before: `--yes` imports them too."));
    }
    let servers: Vec<&str> = plan
        .items
        .iter()
        .filter(|(_, outcome)| *outcome == ImportOutcome::Taken)
        .filter_map(|(item, _)| match &item.becomes {
            ImportMapping::Server(name, ..) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    if !servers.is_empty() {
        text.push_str(&format!(
            "\nNo server is started before you approve it: `weir mcp-servers approve NAME` ({}).",
            servers.join(", ")
        ));
    }
    let project = plan.items.iter().any(|(item, outcome)| {
        item.target == ImportTarget::Project
            && (*outcome == ImportOutcome::Taken || widens && *outcome == ImportOutcome::Widens)
    });
    if project {
        text.push_str(
            "\nEntries in the workspace's own file that allow more apply only after `weir trust`.",
        );
    }
    if let Some(id) = id {
        text.push_str(&format!("\nTo take all of it back: `weir import --undo {id}`."));
    }
    text
}

fn as_json(plan: &ImportPlan, dry: bool, widens: bool, id: Option<u64>) -> Value {
    let items: Vec<Value> = plan
        .items
        .iter()
        .map(|(item, outcome)| {
            let (word, why) = match outcome {
                ImportOutcome::Taken => ("taken", None),
                ImportOutcome::Widens if widens => ("taken", None),
                ImportOutcome::Widens => ("widens", None),
                ImportOutcome::There => ("there", None),
                ImportOutcome::Left(why) => ("left", Some(why)),
            };
            json!({
                "place": item.place,
                "says": item.says,
                "outcome": word,
                "becomes": why.is_none().then(|| describe_import_mapping(item)),
                "why": why,
                "target": item.target,
                "notes": item.notes,
            })
        })
        .collect();
    json!({
        "agent": plan.agent, "read": plan.read, "broken": plan.broken, "written": !dry,
        "import": id, "items": items,
    })
}
