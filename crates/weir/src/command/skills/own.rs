//! `weir skills add` and `remove`. Not here: how skills are kept on the disk
//! (`weir_install::catalogue::skills`).

use std::process::ExitCode;

use serde_json::json;
use weir_core::skill::name_problem;
use weir_core::view::plain::visible_text;
use weir_install::catalogue::skills::own::{self, AddedSkill};
use weir_install::context::InstallationContext;

use crate::failure::usage;
use crate::options::{SkillArgs, SkillsAddArgs};
use crate::terminal::{out_json, out_line};

/// Takes a skill away.
pub(super) fn remove(cx: &InstallationContext, args: &SkillArgs) -> anyhow::Result<ExitCode> {
    if let Some(problem) = name_problem(&args.name) {
        return Err(usage(format!(
            "{} is not a valid skill name: it {problem}",
            visible_text(&args.name)
        )));
    }
    let kept = own::put_away(cx, &args.name)?.display().to_string();
    if args.json.json {
        out_json(&json!({"name": args.name, "kept": kept}))?;
    } else {
        out_line(&format!("Removed {}; it was moved to {kept}.", args.name))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Copies a folder among the person's own skills.
pub(super) fn add_skill(
    cx: &InstallationContext,
    args: &SkillsAddArgs,
) -> anyhow::Result<ExitCode> {
    let AddedSkill { name, place, files, findings } = own::add(cx, &args.folder)?;
    let place = place.display().to_string();
    if args.json.json {
        out_json(&json!({"name": name, "place": place, "files": files, "findings": findings}))?;
    } else {
        out_line(&format!("Added {name} with {files} files: {place}."))?;
        for finding in &findings {
            out_line(&format!("Note: {}", visible_text(&finding.to_string())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
