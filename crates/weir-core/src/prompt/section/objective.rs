//! Section 6: how a task is broken down, and what counts as done.

use crate::prompt::PromptScene;

const OBJECTIVE: &str = include_str!("objective.md");

pub(in crate::prompt) fn objective_section(scene: &PromptScene) -> Option<String> {
    (!scene.tools.is_empty()).then(|| OBJECTIVE.trim().to_string())
}
