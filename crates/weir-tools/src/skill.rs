//! What the tools of skills share: which file of which skill a call reads, and making one active.

use weir_core::skill::fill_arguments;
use weir_core::tool::{EffectClass, Effects, PathAccess, RawResult, ResultEffect};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::empty_plan;
use crate::{run_blocking, text};

/// A plan that reads a skill, or one of its files. A skill of the workspace is a file there, and is
/// judged as one.
pub(crate) async fn plan_skill_read(
    cx: &ToolContext,
    name: &str,
    file: Option<&str>,
    summary: String,
) -> CallPlan {
    let found = match file {
        None => cx.knows.skill(name).await.map(|skill| skill.note.label),
        Some(file) => cx.knows.skill_file(name, file).await.map(|(_, label)| label),
    };
    let label = match found {
        Ok(label) => label,
        Err(why) => return empty_plan(summary).with_failure(why),
    };
    let mut effects = Effects { gives: label, ..Effects::default() };
    if let Some(folder) = in_workspace(cx, name).await {
        let path = format!("{folder}/{}", file.unwrap_or("SKILL.md"));
        let workspace = cx.workspace.clone();
        match run_blocking(move || workspace.resolve(&path, PathAccess::Read)).await {
            Ok(at) => effects.paths.push(at),
            Err(why) => return empty_plan(summary).with_failure(why),
        }
    }
    CallPlan::new(EffectClass::Read, effects, summary)
}

/// The folder of a skill of the workspace; `None`: it is somebody else's.
async fn in_workspace(cx: &ToolContext, name: &str) -> Option<String> {
    let knows = cx.knows.clone();
    let lines = run_blocking(move || knows.skills()).await.unwrap_or_default();
    let line = lines.into_iter().find(|line| line.name == name)?;
    (!matches!(line.source.as_str(), "yours" | "bundled")).then_some(line.source)
}

/// Reads a skill and makes it active; `arguments` go into what this call returns, not into what
/// binds later.
pub(crate) async fn activate_skill(
    cx: &ToolContext,
    name: &str,
    arguments: Option<&str>,
) -> RawResult {
    let skill = match cx.knows.skill(name).await {
        Ok(skill) => skill,
        Err(why) => return RawResult::error(why),
    };
    let mut note = skill.note;
    let shown = fill_arguments(&note.text, arguments.unwrap_or_default());
    note.text = fill_arguments(&note.text, "");
    if arguments.is_some() {
        note.by = "invoke_skill".into();
    }
    let told = format!(
        "The skill {name} is in force: follow these instructions step by step for this task, below \
         the security rules and what the person says.\n\n{shown}"
    );
    let label = note.label.clone();
    let summary = format!("skill {}: {}", note.name, text::size_text(note.text.len() as u64));
    RawResult {
        news: vec![ResultEffect::Skill { skill: note }],
        label,
        ..RawResult::ok(told).with_summary(summary)
    }
}
