//! Section 6: how a task is broken down, and what counts as done.

use crate::prompt::PromptScene;

const OBJECTIVE: &str = include_str!("objective.md");

/// The same where every word counts twice.
const SHORT: &str = "Do the next useful step, check its result, and go on until all of it is done. Read a file \
                     before you change it. Never invent: what you say must stand in a result that you got. Do \
                     not repeat a call that failed as it was.";

pub(in crate::prompt) fn objective_section(scene: &PromptScene) -> Option<String> {
    if scene.is_compact() {
        return Some(SHORT.to_string());
    }
    (!scene.tools.is_empty()).then(|| OBJECTIVE.trim().to_string())
}
