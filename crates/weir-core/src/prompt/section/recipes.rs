//! Section 12: recipes for known kinds of task. Not here: how they are matched and run.

use crate::prompt::Scene;

pub(in crate::prompt) fn recipes(_: &Scene) -> Option<String> {
    None
}
