//! Section 6: how a task is broken down, and what counts as done.

use crate::prompt::Scene;

const OBJECTIVE: &str = include_str!("objective.md");

pub(in crate::prompt) fn objective(scene: &Scene) -> Option<String> {
    (!scene.tools.is_empty()).then(|| OBJECTIVE.trim().to_string())
}
