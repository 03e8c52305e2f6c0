//! `weir import`: shows what another agent's files become here, asks, and writes it (C1). What
//! becomes of what is decided in `import`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible;
use weir_install::cx::Cx;
use weir_install::import::{Agent, Becomes, Item, Outcome, Plan, Target, plan, write};

use crate::failure::usage;
use crate::options::{ImportAgent, ImportArgs};
use crate::terminal::{confirm, is_attended, out, out_json};

/// Shows, asks, writes.
pub(crate) fn import(cx: &Cx, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let agent = match args.agent {
        ImportAgent::ClaudeCode => Agent::ClaudeCode,
        ImportAgent::Codex => Agent::Codex,
        ImportAgent::Opencode => Agent::Opencode,
    };
    let home = args.from.clone().or_else(|| cx.dirs.home.clone());
    let home = home.ok_or_else(|| usage("the home folder is not known; name one with --from"))?;
    if !home.is_dir() {
        return Err(usage(format!("--from {}: is not a folder", home.display())));
    }
    let plan = plan(cx, agent, &home)?;
    if plan.read.is_empty() {
        return Err(usage(format!(
            "no file of that agent was found below {} or in {}; name the home folder with --from",
            home.display(),
            cx.folder.display()
        )));
    }
    let widening = plan.items.iter().any(|(_, outcome)| *outcome == Outcome::Widens);
    if !args.json.json {
        out(&text(cx, &plan))?;
    }
    let widens = match (args.dry_run, args.yes, widening) {
        (true, _, _) | (_, _, false) => false,
        (false, true, true) => true,
        (false, false, true) => {
            is_attended()
                && !args.json.json
                && confirm("Also import entries that allow more than before?")?
        }
    };
    if !args.dry_run {
        write(cx, &plan, widens)?;
    }
    if args.json.json {
        out_json(&as_json(&plan, args.dry_run, widens))?;
    } else {
        out(&closing(&plan, args.dry_run, widens))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(cx: &Cx, plan: &Plan) -> String {
    let files = cx.files();
    let mut text = String::from("Read:\n");
    for file in &plan.read {
        text.push_str(&format!("  {}\n", visible(file)));
    }
    let goes = |target| match target {
        Target::User => &files.user,
        Target::Project => &files.project,
    };
    for target in [Target::User, Target::Project] {
        let title = format!("Imported into {}:", goes(target).display());
        section(&mut text, plan, &title, |item, outcome| {
            *outcome == Outcome::Taken && item.target == target
        });
    }
    for target in [Target::User, Target::Project] {
        let title = format!(
            "Allows more than before; imported into {} if you confirm:",
            goes(target).display()
        );
        section(&mut text, plan, &title, |item, outcome| {
            *outcome == Outcome::Widens && item.target == target
        });
    }
    section(&mut text, plan, "Already there:", |_, outcome| *outcome == Outcome::There);
    section(&mut text, plan, "Not imported:", |_, outcome| matches!(outcome, Outcome::Left(_)));
    text
}

fn section(text: &mut String, plan: &Plan, title: &str, wanted: impl Fn(&Item, &Outcome) -> bool) {
    let items: Vec<_> = plan.items.iter().filter(|(item, o)| wanted(item, o)).collect();
    if items.is_empty() {
        return;
    }
    text.push_str(&format!("\n{title}\n"));
    for (item, outcome) in items {
        let becomes = match outcome {
            Outcome::Left(why) => why.clone(),
            Outcome::Taken | Outcome::Widens | Outcome::There => becomes(item),
        };
        text.push_str(&format!("  {} -> {}\n", visible(&item.says), visible(&becomes)));
        text.push_str(&format!("      {}\n", visible(&item.place)));
        for note in &item.notes {
            text.push_str(&format!("      note: {}\n", visible(note)));
        }
    }
}

/// What an item is here, in the words of the file of settings.
fn becomes(item: &Item) -> String {
    match &item.becomes {
        Becomes::Rule(action, rule) => format!("{action} {rule}"),
        Becomes::Mode(mode) => format!("permission = \"{mode}\""),
        Becomes::Server(name, server, _) => {
            let words = std::iter::once(&server.command).chain(&server.args);
            let started = words.map(String::as_str).collect::<Vec<_>>().join(" ");
            let reached = if server.url.is_empty() { &started } else { &server.url };
            format!("[mcp_servers.{name}] {reached}")
        }
        Becomes::Hook(event, hook) => match hook.matcher.as_str() {
            "" => format!("[[hooks.{event}]] {}", hook.command),
            matcher => format!("[[hooks.{event}]] on {matcher}: {}", hook.command),
        },
        Becomes::File(below, _) => format!("{below} in your own folder"),
        Becomes::Nothing(why) => why.clone(),
    }
}

fn closing(plan: &Plan, dry: bool, widens: bool) -> String {
    let count = |wanted: fn(&Outcome) -> bool| plan.items.iter().filter(|(_, o)| wanted(o)).count();
    let wider = count(|outcome| *outcome == Outcome::Widens);
    let taken = count(|outcome| *outcome == Outcome::Taken) + if widens { wider } else { 0 };
    let left = count(|outcome| matches!(outcome, Outcome::Left(_)));
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
        .filter(|(_, outcome)| *outcome == Outcome::Taken)
        .filter_map(|(item, _)| match &item.becomes {
            Becomes::Server(name, ..) => Some(name.as_str()),
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
        item.target == Target::Project
            && (*outcome == Outcome::Taken || widens && *outcome == Outcome::Widens)
    });
    if project {
        text.push_str(
            "\nEntries in the workspace's own file that allow more apply only after `weir trust`.",
        );
    }
    text
}

fn as_json(plan: &Plan, dry: bool, widens: bool) -> Value {
    let items: Vec<Value> = plan
        .items
        .iter()
        .map(|(item, outcome)| {
            let (word, why) = match outcome {
                Outcome::Taken => ("taken", None),
                Outcome::Widens if widens => ("taken", None),
                Outcome::Widens => ("widens", None),
                Outcome::There => ("there", None),
                Outcome::Left(why) => ("left", Some(why)),
            };
            json!({
                "place": item.place,
                "says": item.says,
                "outcome": word,
                "becomes": why.is_none().then(|| becomes(item)),
                "why": why,
                "target": item.target,
                "notes": item.notes,
            })
        })
        .collect();
    json!({"read": plan.read, "written": !dry, "items": items})
}
