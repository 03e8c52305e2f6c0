//! Section 16: date and time, last.

use crate::prompt::Scene;

pub(in crate::prompt) fn clock(scene: &Scene) -> Option<String> {
    scene.clock.clone()
}
