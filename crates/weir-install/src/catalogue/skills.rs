//! Skills that are found from a folder, and what is wrong with them (M1). Not here: where skills
//! are looked for and what their format is (`weir_engine::skills`, `weir_core::skill`).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use weir_core::skill::SkillFinding;
use weir_engine::marks::marks_in;
use weir_engine::ports::Plugins as _;
use weir_engine::skills::{self, FoundSkill, SKILL_BYTES_MAX, SkillPlaces, SkillSurvey};
use weir_engine::workspace::Workspace;

use crate::context::InstallationContext;
use crate::wiring;

pub mod inbox;
pub mod own;

/// Everything that is found from here, with the marks of this workspace.
pub async fn survey(cx: &InstallationContext) -> anyhow::Result<(Arc<Workspace>, SkillSurvey)> {
    let workspace = cx.open_workspace()?;
    let root = workspace.root().display().to_string();
    let marks = marks_in(&*cx.session_store()?, &root).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    let plugins = wiring::installed_plugins(cx, &workspace)?;
    plugins.refresh().await;
    let places = SkillPlaces { plugins: Some(plugins), ..wiring::skill_places(cx) };
    let survey = skills::survey_all_skills(&places, &workspace);
    Ok((workspace, survey))
}

pub fn place(skill: &FoundSkill) -> String {
    let by = if skill.self_written { ", written by your agent" } else { "" };
    let of = skill.plugin.as_ref().map(|plugin| format!(", of the plugin {plugin}"));
    format!("{}{by}{}", skill.place, of.unwrap_or_default())
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is wrong with a folder of a skill, wherever it is.
pub fn find_skill_faults(folder: &Path) -> Vec<SkillFinding> {
    let unusable = |wrong: String, write: &str| vec![SkillFinding::fatal("SKILL.md", wrong, write)];
    let path = folder.join("SKILL.md");
    let length = match fs::metadata(&path) {
        Ok(meta) if meta.is_file() => meta.len(),
        Ok(_) => return unusable("is not a file".into(), "create a file of that name"),
        Err(error) => {
            let write = "give the folder of a skill, which contains a file SKILL.md";
            return unusable(format!("cannot be read ({error})"), write);
        }
    };
    if length > SKILL_BYTES_MAX {
        let wrong = format!("has {length} bytes; the maximum is {SKILL_BYTES_MAX}");
        return unusable(wrong, "move parts of it to other files in the folder");
    }
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => return unusable(format!("cannot be read ({error})"), "make it readable"),
    };
    // `.` and a name that ends with a slash have a name too.
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned());
    let parsed = skills::parse_skill(&bytes, &name.unwrap_or_default());
    let mut findings = parsed.findings;
    if let Some(head) = &parsed.head {
        if let Some(why) = skills::trigger_problem(&head.trigger) {
            findings.push(SkillFinding::advice(
                "trigger",
                why,
                "fix it; until then it never matches",
            ));
        }
        if has_trigger_at_top(&bytes) {
            findings.push(SkillFinding::advice(
                "trigger",
                "is not a field of the format; other programs may refuse the skill",
                "put it under `metadata`",
            ));
        }
    }
    findings
}

/// Whether the trigger stands where only Weir looks for it.
fn has_trigger_at_top(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let head = weir_core::skill::split_frontmatter(&text).map(|(head, _)| head.to_owned());
    head.is_ok_and(|head| head.lines().any(|line| line.starts_with("trigger:")))
}
