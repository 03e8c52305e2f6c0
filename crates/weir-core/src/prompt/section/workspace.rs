//! Section 15: structure and state of the workspace.

use crate::prompt::Scene;

pub(in crate::prompt) fn workspace(scene: &Scene) -> Option<String> {
    scene.workspace.clone()
}
