//! `weir skills`: which there are, what is wrong with them, and what an agent proposed (M1). Not here:
//! where skills are found and what their format is (`weir_engine::run_skills_command`, `weir_core::skill`).

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::view::plain::visible_text;
use weir_engine::skills::{self, FoundSkill, SkillSource};
use weir_install::catalogue::skills::{
    find_skill_faults, inbox as proposals, place, sha256_hex, survey,
};
use weir_install::context::InstallationContext;

use crate::failure::{exit, usage};
use crate::options::{JsonFlag, SkillArgs, SkillsCommand, SkillsValidateArgs};
use crate::terminal::{format_table, out_json, out_line};

mod inbox;
mod own;

/// Characters of a description in a list.
const DESCRIPTION_CHARS_MAX: usize = 100;

/// Lists, shows, validates, adds, removes; settles what was proposed.
pub(crate) async fn run_skills_command(
    cx: &InstallationContext,
    command: SkillsCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        SkillsCommand::List(flag) => list_skills(cx, flag).await,
        SkillsCommand::Show(args) => show_skill(cx, &args).await,
        SkillsCommand::Validate(args) => validate_skill_folders(&args),
        SkillsCommand::Add(args) => own::add_skill(cx, &args),
        SkillsCommand::Remove(args) => own::remove(cx, &args),
        SkillsCommand::Inbox(flag) => inbox::show_inbox(cx, flag).await,
        SkillsCommand::Accept(args) => inbox::accept_skill(cx, &args).await,
        SkillsCommand::Reject(args) => inbox::reject_skill(cx, &args).await,
    }
}

async fn list_skills(cx: &InstallationContext, flag: JsonFlag) -> anyhow::Result<ExitCode> {
    let (_, mut survey) = survey(cx).await?;
    survey.skills.sort_by(|a, b| a.name.cmp(&b.name));
    let proposals = cx.session_store()?.proposals("skill").await?;
    if flag.json {
        let skills: Vec<Value> = survey.skills.iter().map(as_json).collect();
        let waiting: Vec<Value> = proposals.iter().map(inbox::as_json).collect();
        let all = json!({"skills": skills, "notices": survey.notices, "proposals": waiting});
        out_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    if survey.skills.is_empty() {
        out_line("No skills. `weir skills add DIR` adds one.")?;
    } else {
        let rows: Vec<Vec<String>> = survey.skills.iter().map(skill_row).collect();
        out_line(&format_table(&rows))?;
    }
    for notice in &survey.notices {
        out_line(&format!("Note: {}", visible_text(notice)))?;
    }
    for proposal in &proposals {
        out_line(&format!(
            "Waiting for your decision: {} ({}); `weir skills inbox` shows it.",
            visible_text(&proposal.name),
            proposals::describe_proposal_kind(proposal)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn skill_row(skill: &FoundSkill) -> Vec<String> {
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
    vec![visible_text(&skill.name), visible_text(&place(skill)), visible_text(&says)]
}

fn source_word(source: SkillSource) -> &'static str {
    match source {
        SkillSource::Workspace => "workspace",
        SkillSource::Yours => "yours",
        SkillSource::Bundled => "bundled",
    }
}

fn as_json(skill: &FoundSkill) -> Value {
    json!({
        "name": skill.name,
        "source": source_word(skill.source),
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

async fn show_skill(cx: &InstallationContext, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    let (workspace, survey) = survey(cx).await?;
    let named = || survey.skills.iter().filter(|skill| skill.name == args.name);
    let skill = named().find(|skill| skill.is_used()).or_else(|| named().next());
    let Some(skill) = skill else {
        return Err(usage(format!(
            "there is no skill {}; `weir skills list` lists all skills",
            visible_text(&args.name)
        )));
    };
    // What is left out is looked at too: a person must see what they vouch for.
    let read = skills::read_skill_for_people(&workspace, skill);
    if args.json.json {
        let mut value = as_json(skill);
        value["head"] = json!(skill.head.as_deref());
        match &read {
            Ok((text, files)) => {
                value["sha256"] = json!(sha256_hex(text));
                value["files"] = json!(files);
                value["edited"] = json!(proposals::describe_edit(cx, &skill.name, text).await?);
                value["text"] = json!(String::from_utf8_lossy(text));
            }
            Err(why) => value["unreadable"] = json!(why),
        }
        out_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = describe_skill(skill, &read);
    if let Ok((bytes, _)) = &read
        && let Some(edit) = proposals::describe_edit(cx, &skill.name, bytes).await?
    {
        text = format!("{}\n\nEdited: {}", text.trim_end(), visible_text(&edit));
    }
    out_line(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn describe_skill(skill: &FoundSkill, read: &Result<(Vec<u8>, Vec<String>), String>) -> String {
    let mut text = format!("{} ({})\n", visible_text(&skill.name), visible_text(&place(skill)));
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name}: {}", visible_text(value));
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
            line("SHA-256", &sha256_hex(bytes));
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
    text.lines().map(visible_text).collect::<Vec<_>>().join("\n")
}

fn validate_skill_folders(args: &SkillsValidateArgs) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    let mut sound = true;
    for folder in &args.folders {
        let findings = find_skill_faults(folder);
        sound &= findings.is_empty();
        let shown = folder.display().to_string();
        if args.json.json {
            rows.push(json!({"folder": shown, "valid": findings.is_empty(), "findings": findings}));
        } else if findings.is_empty() {
            out_line(&format!("{}: valid", visible_text(&shown)))?;
        } else {
            for finding in &findings {
                let weight = if finding.fatal { "error" } else { "warning" };
                let finding = visible_text(&finding.to_string());
                out_line(&format!("{}: {weight}: {finding}", visible_text(&shown)))?;
            }
        }
    }
    if args.json.json {
        out_json(&rows)?;
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}
