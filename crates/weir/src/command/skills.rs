//! `weir skills`: which there are, what is wrong with them, and what an agent proposed (M1). Not here:
//! where skills are found and what their format is (`weir_engine::skills`, `weir_core::skill`).

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible;
use weir_engine::skills::{self, FoundSkill, Source};
use weir_install::catalogue::skills::{findings, inbox as proposals, place, sha256, survey};
use weir_install::cx::Cx;

use crate::failure::{exit, usage};
use crate::options::{JsonFlag, SkillArgs, SkillsCommand, SkillsValidateArgs};
use crate::terminal::{out, out_json, table};

mod inbox;
mod own;

/// Characters of a description in a list.
const DESCRIPTION_CHARS_MAX: usize = 100;

/// Lists, shows, validates, adds, removes; settles what was proposed.
pub(crate) async fn skills(cx: &Cx, command: SkillsCommand) -> anyhow::Result<ExitCode> {
    match command {
        SkillsCommand::List(flag) => list(cx, flag).await,
        SkillsCommand::Show(args) => show(cx, &args).await,
        SkillsCommand::Validate(args) => validate(&args),
        SkillsCommand::Add(args) => own::add(cx, &args),
        SkillsCommand::Remove(args) => own::remove(cx, &args),
        SkillsCommand::Inbox(flag) => inbox::inbox(cx, flag).await,
        SkillsCommand::Accept(args) => inbox::accept(cx, &args).await,
        SkillsCommand::Reject(args) => inbox::reject(cx, &args).await,
    }
}

async fn list(cx: &Cx, flag: JsonFlag) -> anyhow::Result<ExitCode> {
    let (_, mut survey) = survey(cx).await?;
    survey.skills.sort_by(|a, b| a.name.cmp(&b.name));
    let proposals = cx.journal()?.proposals("skill").await?;
    if flag.json {
        let skills: Vec<Value> = survey.skills.iter().map(as_json).collect();
        let waiting: Vec<Value> = proposals.iter().map(inbox::as_json).collect();
        let all = json!({"skills": skills, "notices": survey.notices, "proposals": waiting});
        out_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    if survey.skills.is_empty() {
        out("No skills. `weir skills add DIR` adds one.")?;
    } else {
        let rows: Vec<Vec<String>> = survey.skills.iter().map(row).collect();
        out(&table(&rows))?;
    }
    for notice in &survey.notices {
        out(&format!("Note: {}", visible(notice)))?;
    }
    for proposal in &proposals {
        out(&format!(
            "Waiting for your decision: {} ({}); `weir skills inbox` shows it.",
            visible(&proposal.name),
            proposals::what(proposal)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(skill: &FoundSkill) -> Vec<String> {
    let says = match (&skill.shadowed_by, skill.why_not(), skill.trigger_problem()) {
        (_, Some(why), _) => format!("not used: {why}"),
        (Some(by), None, _) => format!("shadowed by {by}"),
        (None, None, Some(why)) => format!("its trigger {why}, so it never matches"),
        (None, None, None) => {
            let text = skill.head.as_ref().map_or("", |head| head.description.as_str());
            let words: Vec<&str> = text.split_whitespace().collect();
            let text = words.join(" ");
            let cut = text.chars().count() > DESCRIPTION_CHARS_MAX;
            let kept: String = text.chars().take(DESCRIPTION_CHARS_MAX).collect();
            if cut { format!("{kept}…") } else { kept }
        }
    };
    vec![visible(&skill.name), visible(&place(skill)), visible(&says)]
}

fn word(source: Source) -> &'static str {
    match source {
        Source::Workspace => "workspace",
        Source::Yours => "yours",
        Source::Bundled => "bundled",
    }
}

fn as_json(skill: &FoundSkill) -> Value {
    json!({
        "name": skill.name,
        "source": word(skill.source),
        "place": skill.place,
        "description": skill.head.as_ref().map(|head| &head.description),
        "trigger": skill.head.as_ref().map(|head| head.trigger.to_string()),
        "trigger_problem": skill.trigger_problem(),
        "self_written": skill.self_written,
        "plugin": skill.plugin,
        "used": skill.is_used(),
        "shadowed_by": skill.shadowed_by,
        "left_out": skill.why_not(),
        "findings": skill.findings,
    })
}

async fn show(cx: &Cx, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    let (workspace, survey) = survey(cx).await?;
    let named = || survey.skills.iter().filter(|skill| skill.name == args.name);
    let skill = named().find(|skill| skill.is_used()).or_else(|| named().next());
    let Some(skill) = skill else {
        return Err(usage(format!(
            "there is no skill {}; `weir skills list` lists all skills",
            visible(&args.name)
        )));
    };
    // What is left out is looked at too: a person must see what they vouch for.
    let read = skills::shown(&workspace, skill);
    if args.json.json {
        let mut value = as_json(skill);
        value["head"] = json!(skill.head.as_deref());
        match &read {
            Ok((text, files)) => {
                value["sha256"] = json!(sha256(text));
                value["files"] = json!(files);
                value["text"] = json!(String::from_utf8_lossy(text));
            }
            Err(why) => value["unreadable"] = json!(why),
        }
        out_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    out(&described(skill, &read))?;
    Ok(ExitCode::SUCCESS)
}

fn described(skill: &FoundSkill, read: &Result<(Vec<u8>, Vec<String>), String>) -> String {
    let mut text = format!("{} ({})\n", visible(&skill.name), visible(&place(skill)));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name}: {}", visible(value));
        }
    };
    if let Some(head) = &skill.head {
        line("Description", &head.description);
        line("Trigger", &head.trigger.to_string());
        line("License", head.license.as_deref().unwrap_or_default());
        line("Needs", head.compatibility.as_deref().unwrap_or_default());
        let tools = head.allowed_tools.join(" ");
        if !tools.is_empty() {
            line(
                "Requested tools",
                &format!("{tools} (not allowed by this; only rules allow tools)"),
            );
        }
    }
    if let Some(why) = skill.trigger_problem() {
        line("Trigger never matches", &format!("it {why}"));
    }
    line("Shadowed by", skill.shadowed_by.as_deref().unwrap_or_default());
    line("Not used", &skill.why_not().unwrap_or_default());
    for finding in &skill.findings {
        line("Finding", &finding.to_string());
    }
    match read {
        Ok((bytes, files)) => {
            line("SHA-256", &sha256(bytes));
            line("Files", &files.join(", "));
            text.push('\n');
            text.push_str(&shown_text(&String::from_utf8_lossy(bytes)));
        }
        Err(why) => line("Unreadable", why),
    }
    text
}

/// A text line by line, with what would hide or reorder other characters written out.
fn shown_text(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

fn validate(args: &SkillsValidateArgs) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    let mut sound = true;
    for folder in &args.folders {
        let findings = findings(folder);
        sound &= findings.is_empty();
        let shown = folder.display().to_string();
        if args.json.json {
            rows.push(json!({"folder": shown, "valid": findings.is_empty(), "findings": findings}));
        } else if findings.is_empty() {
            out(&format!("{}: valid", visible(&shown)))?;
        } else {
            for finding in &findings {
                let weight = if finding.fatal { "error" } else { "warning" };
                let finding = visible(&finding.to_string());
                out(&format!("{}: {weight}: {finding}", visible(&shown)))?;
            }
        }
    }
    if args.json.json {
        out_json(&rows)?;
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}
