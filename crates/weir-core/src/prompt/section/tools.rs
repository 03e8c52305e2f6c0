//! Section 4: what the schemas of the tools do not say, and what is there beside them: tools that
//! are not loaded, other profiles. Not here: names and arguments of loaded tools.

use crate::prompt::{PromptScene, one_line};
use crate::tool::built_in::{AGENT_STARTER, AGENT_SWITCHER, FINDER, TASK_LIST_KEEPER};
use crate::tool::{ToolGroup, ToolSpec};

/// Bytes of the lines about tools that are not loaded (T4).
const DEFERRED_BYTES_MAX: usize = 2_400;
/// Bytes of their names in the smallest prompt (R6).
const DEFERRED_NAMES_BYTES_MAX: usize = 600;
/// Characters of the line about one such tool.
const REASON_CHARS_MAX: usize = 90;
/// Profiles that are named, and characters about each.
const PROFILES_MAX: usize = 20;
const PROFILE_CHARS_MAX: usize = 90;

const USE: &str = include_str!("tools.md");
const TASK_LIST: &str = " For work of three or more steps keep a task list with update_todo_list: \
                         one step in progress at a time, each marked done as soon as it is.";

pub(in crate::prompt) fn tools_section(scene: &PromptScene) -> Option<String> {
    if scene.tools.is_empty() {
        return None;
    }
    let mut text = USE.trim().to_string();
    if scene.has_tool(TASK_LIST_KEEPER) {
        text.push_str(TASK_LIST);
    }
    if scene.has_tool(FINDER) && !scene.deferred.is_empty() {
        if scene.is_compact() {
            text.push_str("\n\nMore tools; find_tool loads what you need: ");
            text.push_str(&deferred_tool_names(&scene.deferred));
        } else {
            text.push_str("\n\nTools without a schema here; find_tool loads it:\n");
            text.push_str(&deferred_tool_lines(&scene.deferred).join("\n"));
        }
    }
    if scene.has_tool(AGENT_SWITCHER) || scene.has_tool(AGENT_STARTER) {
        text.push_str(&other_profiles_text(scene));
    }
    Some(text)
}

/// Their names alone, as many as have room.
fn deferred_tool_names(tools: &[ToolSpec]) -> String {
    let mut named: Vec<&str> = Vec::new();
    let mut left = DEFERRED_NAMES_BYTES_MAX;
    for tool in tools {
        let bytes = tool.name.len() + 2;
        if bytes > left {
            break;
        }
        left -= bytes;
        named.push(&tool.name);
    }
    let more = tools.len() - named.len();
    let names = named.join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

fn deferred_tool_lines(tools: &[ToolSpec]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = DEFERRED_BYTES_MAX;
    for (at, tool) in tools.iter().enumerate() {
        let line = tool_line(tool);
        if line.len() > left {
            let more = tools.len() - at;
            lines.push(format!("- {more} more: tell find_tool what you need"));
            break;
        }
        left -= line.len();
        lines.push(line);
    }
    lines
}

/// The words of a foreign server stand in no system prompt: of its tools only the name does.
fn tool_line(tool: &ToolSpec) -> String {
    let reason = tool.description.split(['.', ':', ';', '\n']).next().unwrap_or_default();
    match tool.group {
        ToolGroup::Mcp => format!("- {}", tool.name),
        ToolGroup::Read
        | ToolGroup::Vault
        | ToolGroup::Edit
        | ToolGroup::Web
        | ToolGroup::Agent
        | ToolGroup::Skill => {
            format!("- {}: {}", tool.name, one_line(reason, REASON_CHARS_MAX))
        }
    }
}

fn other_profiles_text(scene: &PromptScene) -> String {
    let current = scene.profile.as_ref().map(|profile| profile.name.as_str());
    let others = scene.profiles.iter().filter(|(name, _)| Some(name.as_str()) != current);
    let line = |(name, about): &(String, String)| {
        format!("- {}: {}", one_line(name, 40), one_line(about, PROFILE_CHARS_MAX))
    };
    let lines: Vec<String> = others.take(PROFILES_MAX).map(line).collect();
    match lines.is_empty() {
        true => String::new(),
        false => {
            let tools =
                [AGENT_SWITCHER, AGENT_STARTER].into_iter().filter(|name| scene.has_tool(name));
            let tools = tools.collect::<Vec<_>>().join(" and ");
            format!("\n\nOther profiles, for {tools}:\n{}", lines.join("\n"))
        }
    }
}
