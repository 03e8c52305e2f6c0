//! Section 16: date and time, last.

use crate::prompt::PromptScene;

pub(in crate::prompt) fn clock_section(scene: &PromptScene) -> Option<String> {
    scene.clock.clone()
}
