//! Section 15: structure and state of the workspace.

use crate::prompt::PromptScene;

pub(in crate::prompt) fn workspace_section(scene: &PromptScene) -> Option<String> {
    scene.workspace.clone()
}
