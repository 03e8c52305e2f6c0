//! Section 3: what is usual in a workspace of this kind.

use crate::prompt::PromptScene;
use crate::tool::ToolGroup;

const CODE: &str = include_str!("conventions_code.md");
const NOTES: &str = include_str!("conventions_notes.md");

pub(in crate::prompt) fn conventions_section(scene: &PromptScene) -> Option<String> {
    if scene.is_compact() {
        return None;
    }
    let (kind, rules) = match scene.conventions.as_deref()? {
        "code" => ("This is a code repository. Name places in it as path:line.", CODE),
        "notes" => ("This is a vault of Markdown notes. Name notes as [[Name]].", NOTES),
        _ => return None,
    };
    // Who cannot change anything needs no rules for changes.
    match scene.has_group(ToolGroup::Edit) {
        true => Some(format!("{kind} {}", rules.trim())),
        false => Some(kind.to_string()),
    }
}
