//! Section 7: the form of answers. A child answers its parent and has none of it.

use crate::prompt::PromptScene;
use crate::tool::ToolGroup;
use crate::tool::built_in::{COMMAND_RUNNER, RUN_COMPLETER};

/// The same where every word counts twice.
const SHORT: &str = "When the task is done, answer: the outcome first, in the person's language, as short as it \
                     allows. Say what failed and what is left undone.";

pub(in crate::prompt) fn response_section(scene: &PromptScene) -> Option<String> {
    if scene.is_compact() {
        return Some(SHORT.to_string());
    }
    let end = match scene.has_tool(RUN_COMPLETER) {
        true => "When the task is done, call attempt_completion with the result, or simply answer.",
        false => "When the task is done, answer.",
    };
    let changes = match scene.has_group(ToolGroup::Edit) || scene.has_tool(COMMAND_RUNNER) {
        true => {
            " Name the files that you changed and how you checked them; if you did not check, say \
             so. Do not paste what you wrote into files."
        }
        false => " Name the files that it rests on.",
    };
    Some(format!(
        "{end} Begin with the outcome, in the person's language and as short as it allows: often a \
         sentence or two.{changes} Say what failed, what was denied and what is left undone. No \
         preamble, no praise, no repetition, no offers."
    ))
}
