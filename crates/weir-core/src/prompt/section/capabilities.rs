//! Section 2: what it can do, in a sentence, and how calls are let through. Not here: how tools are
//! used; their schemas say that.

use crate::prompt::PromptScene;
use crate::tool::ToolGroup;
use crate::tool::built_in::{
    AGENT_STARTER, COMMAND_RUNNER, MEMORY_KEEPER, PAST_FINDER, SKILL_READER,
};

/// When an ability is there, and what it is called.
type AgentAbility = (fn(&PromptScene) -> bool, &'static str);

/// What the agent can do: one line each.
const ABILITIES: &[AgentAbility] = &[
    (|s| s.has_group(ToolGroup::Read), "read and search files"),
    (|s| s.has_group(ToolGroup::Edit), "create, change, move and delete them"),
    (|s| s.has_tool(COMMAND_RUNNER), "run commands"),
    (|s| s.has_group(ToolGroup::Web), "read web pages"),
    (PromptScene::offers_foreign, "use the tools of connected servers"),
    (|s| s.has_tool(AGENT_STARTER), "give parts of the work to other agents"),
    (|s| s.has_tool(SKILL_READER), "follow skills"),
    (|s| s.has_tool(PAST_FINDER), "find again what was said and done earlier"),
    (|s| s.has_tool(MEMORY_KEEPER), "remember facts for later conversations"),
];

const GATE: &str = include_str!("gate.md");

pub(in crate::prompt) fn capabilities_section(scene: &PromptScene) -> Option<String> {
    let there = ABILITIES.iter().filter(|(there, _)| there(scene));
    let can: Vec<&str> = there.map(|(_, words)| *words).collect();
    let (last, others) = can.split_last()?;
    let list = match others {
        [] => (*last).to_string(),
        others => format!("{} and {last}", others.join(", ")),
    };
    let undo = match scene.has_group(ToolGroup::Edit) {
        true => " Every change to a file is saved first and can be undone.",
        false => " You cannot change files.",
    };
    Some(format!("You can {list}.{undo}\n\n{}", GATE.trim()))
}
