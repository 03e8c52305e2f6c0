//! Beside the memory: that the agent may keep things in the person's brain without asking (K12), for as
//! long as they let it. Not here: what stands in the brain, which the tool finds.

use crate::prompt::PromptScene;
use crate::tool::built_in::BRAIN_KEEPER;

const STANDS: &str = "## The person's brain\nThe person lets you keep things in their brain, their own \
                      knowledge store, without asking: what they will want to find again, in plain \
                      words, with where it came from. Look there before you ask them for what they may \
                      have kept. No secrets, nothing that the files here say anyway. Tool: brain.";
const GONE: &str = "## The person's brain\nThe permission to keep things in the brain was taken back: \
                    each change asks the person again.";

pub(in crate::prompt) fn brain_section(scene: &PromptScene) -> Option<String> {
    match (scene.keeps_in_brain && scene.offers_tool(BRAIN_KEEPER), scene.brain_told) {
        (true, _) => Some(STANDS.to_owned()),
        (false, true) => Some(GONE.to_owned()),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tool::{ToolGroup, ToolSpec};

    #[test]
    fn k12_the_permission_is_told_while_it_stands_and_when_it_ends() {
        let tool = ToolSpec {
            name: BRAIN_KEEPER.into(),
            description: String::new(),
            group: ToolGroup::Agent,
            input_schema: serde_json::Value::Null.into(),
            deferred: true,
            parallel_safe: false,
            poll: false,
            keeps_result: true,
            timeout_ms: None,
        };
        let nothing = PromptScene::default();
        assert_eq!(brain_section(&nothing), None, "nothing is said of a brain that nobody uses");
        let without = PromptScene { keeps_in_brain: true, ..PromptScene::default() };
        assert_eq!(brain_section(&without), None, "and nothing of a tool that is not there");
        let stands = PromptScene { deferred: Arc::new(vec![tool]), ..without };
        assert_eq!(brain_section(&stands).as_deref(), Some(STANDS));
        let told = PromptScene { brain_told: true, ..stands.clone() };
        assert_eq!(brain_section(&told).as_deref(), Some(STANDS), "the same text: told once");
        let ended = PromptScene { keeps_in_brain: false, ..told };
        assert_eq!(brain_section(&ended).as_deref(), Some(GONE));
    }
}
