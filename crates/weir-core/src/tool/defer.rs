//! Which tools a session sends with their schemas, and which it only names (T4).
//!
//! Pure: a list of tools and the size of a window come in, two lists come out, in the same order
//! every time, so that prompts are stable. Not here: which tools a profile has, how a tool that was
//! only named is found again.

use std::sync::Arc;

use serde_json::{Value, json};

use super::built_in::ToolTrait;
use super::{ToolGroup, ToolSpec};

pub use super::built_in::{CARRIER, FINDER};

/// Foreign tools are only named when together they take more than this share of the window, in per
/// cent (T4).
const FOREIGN_SHARE_MAX: u64 = 10;
/// Share of the window that all schemas may take before further tools are only named, in per cent.
const SHARE_MAX: u64 = 25;
/// Bytes of a token, roughly: nobody has counted yet when a session begins.
const BYTES_PER_TOKEN: u64 = 4;
/// Characters of the description of a tool in the smallest prompt.
const SHORT_CHARS_MAX: usize = 120;
/// Bytes that a tool costs in a request beside name, description and schema.
const TOOL_BYTES: u64 = 40;
/// Where room is made first: what is foreign, then what only companies or widens the rest.
const GIVEN_UP: [ToolGroup; 7] = [
    ToolGroup::Mcp,
    ToolGroup::Skill,
    ToolGroup::Vault,
    ToolGroup::Agent,
    ToolGroup::Web,
    ToolGroup::Edit,
    ToolGroup::Read,
];

/// The tools of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolLoading {
    /// Sent with their schemas.
    pub loaded: Arc<Vec<ToolSpec>>,
    /// Named only, until [`FINDER`] loads them.
    pub deferred: Arc<Vec<ToolSpec>>,
}

/// Splits what a session may see. `window` is the model's, in tokens; 0: nobody knows it, then only
/// what declares itself deferred is left out.
pub fn split_loading(visible: Vec<ToolSpec>, window: u64) -> ToolLoading {
    if !visible.iter().any(|tool| tool.name == FINDER) {
        return ToolLoading { loaded: Arc::new(visible), deferred: Arc::default() };
    }
    let foreign: u64 =
        visible.iter().filter(|t| t.group == ToolGroup::Mcp).map(schema_tokens).sum();
    let no_foreign = window > 0 && foreign * 100 > window * FOREIGN_SHARE_MAX;
    // Tools of Weir's own that reach servers are in that group, too.
    let is_foreign = |tool: &ToolSpec| tool.name.starts_with(super::foreign::PREFIX);
    let has_foreign = !no_foreign && visible.iter().any(is_foreign);
    let named = |tool: &ToolSpec| {
        let is_rare = tool.deferred && !(has_foreign && tool.has_trait(ToolTrait::BesideForeign));
        (is_rare || (no_foreign && tool.group == ToolGroup::Mcp)) && !is_core(tool)
    };
    let mut left_out: Vec<bool> = visible.iter().map(named).collect();
    if window > 0 {
        make_room(&visible, &mut left_out, window * SHARE_MAX / 100);
    }
    let (mut loaded, mut deferred) = (Vec::new(), Vec::new());
    for (tool, left_out) in visible.into_iter().zip(left_out) {
        if left_out { &mut deferred } else { &mut loaded }.push(tool);
    }
    ToolLoading { loaded: Arc::new(loaded), deferred: Arc::new(deferred) }
}

/// The split of the smallest prompt (R6): the schemas of a few tools, shortened, and the names of all others.
/// What [`FINDER`] loads is whole.
pub fn split_compact(visible: Vec<ToolSpec>) -> ToolLoading {
    if !visible.iter().any(|tool| tool.name == FINDER) {
        return ToolLoading { loaded: Arc::new(visible), deferred: Arc::default() };
    }
    let is_in = |tool: &ToolSpec| tool.has_trait(ToolTrait::InCompact);
    let (few, others): (Vec<ToolSpec>, Vec<ToolSpec>) = visible.into_iter().partition(is_in);
    let short = |tool: ToolSpec| ToolSpec {
        description: short_description(&tool.description),
        input_schema: without_descriptions(&tool.input_schema).into(),
        ..tool
    };
    let loaded = few.into_iter().map(short).collect();
    ToolLoading { loaded: Arc::new(loaded), deferred: Arc::new(others) }
}

/// The first sentence, within its bound.
fn short_description(text: &str) -> String {
    let first = text.split_inclusive(['.', '\n']).next().unwrap_or_default().trim();
    match first.char_indices().nth(SHORT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", first[..at].trim_end()),
        None => first.to_owned(),
    }
}

/// A schema without the words about its parts: names and types say most.
fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, value)| {
                // A property of that name is an object.
                !matches!(name.as_str(), "description" | "title" | "default") || value.is_object()
            });
            kept.map(|(name, value)| (name.clone(), without_descriptions(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}

/// Leaves further tools out until what is sent takes at most `max` tokens, names included: group by
/// group, within a group the last of the list first.
fn make_room(tools: &[ToolSpec], left_out: &mut [bool], max: u64) {
    let cost = |(tool, out): (&ToolSpec, &bool)| {
        if *out { name_tokens(tool) } else { schema_tokens(tool) }
    };
    let mut all: u64 = tools.iter().zip(left_out.iter()).map(cost).sum();
    for group in GIVEN_UP {
        for (tool, out) in tools.iter().zip(left_out.iter_mut()).rev() {
            if all <= max {
                return;
            }
            if tool.group == group && !*out && !is_core(tool) {
                *out = true;
                all -= schema_tokens(tool).saturating_sub(name_tokens(tool));
            }
        }
    }
}

/// The input with which [`CARRIER`] calls `tool`.
pub fn carry_call(tool: &str, input: &Value) -> Value {
    json!({ "tool": tool, "arguments": input })
}

/// The tool and the arguments that an input of [`CARRIER`] means; `None`: it means none. Arguments
/// may be text that holds them.
pub fn carried_call(input: &Value) -> Option<(String, Value)> {
    let tool = input.get("tool")?.as_str().filter(|tool| !tool.is_empty() && *tool != CARRIER)?;
    let arguments = match input.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(Value::String(text)) => serde_json::from_str(text).ok()?,
        Some(other) => other.clone(),
    };
    arguments.is_object().then(|| (tool.to_owned(), arguments))
}

fn is_core(tool: &ToolSpec) -> bool {
    tool.has_trait(ToolTrait::Essential)
}

fn schema_tokens(tool: &ToolSpec) -> u64 {
    (tool.bytes() as u64 + TOOL_BYTES).div_ceil(BYTES_PER_TOKEN)
}

/// What a tool costs that is only named.
fn name_tokens(tool: &ToolSpec) -> u64 {
    (tool.name.len() as u64 + 2).div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::built_in::names_with;
    use super::*;

    /// A tool that takes about `tokens` tokens.
    fn tool(name: &str, group: ToolGroup, tokens: usize) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: "x".repeat((tokens * 4).saturating_sub(name.len() + 42)),
            group,
            input_schema: json!({}).into(),
            deferred: false,
            parallel_safe: false,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        }
    }

    fn rare(name: &str, group: ToolGroup) -> ToolSpec {
        ToolSpec { deferred: true, ..tool(name, group, 100) }
    }

    fn names(tools: &[ToolSpec]) -> Vec<&str> {
        tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// `(what, tools, window, the deferred ones)`
    #[test]
    fn t4_the_split_follows_mark_share_and_window() {
        use ToolGroup::{Agent, Edit, Mcp, Read, Skill, Web};
        let find = || tool("find_tool", Agent, 100);
        let list = || {
            vec![
                tool("read_file", Read, 300),
                tool("glob", Read, 300),
                rare("list_checkpoints", Read),
                tool("edit_file", Edit, 300),
                tool("move_file", Edit, 300),
                tool("web_fetch", Web, 300),
                find(),
                tool("run_shell", Skill, 300),
                tool("kill_shell", Skill, 300),
            ]
        };
        let with_foreign = |tokens: usize| {
            let mut tools = list();
            tools.push(tool("mcp__git__push", Mcp, tokens / 2));
            tools.push(tool("mcp__git__pull", Mcp, tokens / 2));
            tools
        };
        let without = |name: &str| list().into_iter().filter(|t| t.name != name).collect();
        let foreign = ["list_checkpoints", "mcp__git__push", "mcp__git__pull"];
        let cases: Vec<(&str, Vec<ToolSpec>, u64, Vec<&str>)> = vec![
            ("marked ones only", list(), 200_000, vec!["list_checkpoints"]),
            ("a window that nobody knows", list(), 0, vec!["list_checkpoints"]),
            ("no finder: nothing is lost", without("find_tool"), 4_000, vec![]),
            (
                "foreign ones within their share",
                with_foreign(9_000),
                100_000,
                vec!["list_checkpoints"],
            ),
            ("foreign ones beyond it, all of them", with_foreign(11_000), 100_000, foreign.into()),
            ("their share of an unknown window", with_foreign(90_000), 0, vec!["list_checkpoints"]),
            // 2,200 tokens; 25 % of 8,000 are 2,000: one tool of the group Skill makes room.
            ("a small window", list(), 8_000, vec!["list_checkpoints", "kill_shell"]),
            // 25 % of 6,000 are 1,500: the next group that has one is Web.
            (
                "a smaller one",
                list(),
                6_000,
                vec!["list_checkpoints", "move_file", "web_fetch", "kill_shell"],
            ),
            // Nothing fits: what every session needs stays all the same.
            (
                "the smallest",
                list(),
                100,
                vec!["glob", "list_checkpoints", "move_file", "web_fetch", "kill_shell"],
            ),
        ];
        for (what, tools, window, deferred) in cases {
            let all = tools.len();
            let loading = split_loading(tools, window);
            assert_eq!(names(&loading.deferred), deferred, "{what}");
            assert_eq!(loading.loaded.len() + loading.deferred.len(), all, "{what}");
        }
    }

    #[test]
    fn u7_programs_are_loaded_beside_the_tools_of_servers() {
        let program = || rare("run_program", ToolGroup::Skill);
        let with_foreign = |tokens: usize| {
            vec![
                tool("find_tool", ToolGroup::Agent, 100),
                program(),
                rare("list_checkpoints", ToolGroup::Read),
                tool("mcp__git__push", ToolGroup::Mcp, tokens),
            ]
        };
        let without = || with_foreign(1).into_iter().filter(|t| t.group != ToolGroup::Mcp);
        let deferred = |tools: Vec<ToolSpec>, window: u64| {
            names(&split_loading(tools, window).deferred).join(" ")
        };
        assert_eq!(deferred(without().collect(), 100_000), "run_program list_checkpoints");
        assert_eq!(deferred(with_foreign(9_000), 100_000), "list_checkpoints");
        assert_eq!(deferred(with_foreign(9_000), 0), "list_checkpoints", "nobody knows the window");
        let all = "run_program list_checkpoints mcp__git__push";
        assert_eq!(
            deferred(with_foreign(11_000), 100_000),
            all,
            "its loops are found with the tools"
        );
        // 25 % of 1,000 are 250: the tool of the server makes room first, and then it.
        assert_eq!(deferred(with_foreign(90), 1_000), "list_checkpoints mcp__git__push");
        assert_eq!(deferred(with_foreign(90), 600), all);
    }

    #[test]
    fn r6_the_smallest_prompt_has_few_schemas_and_loses_no_tool() {
        let described = json!({ "type": "object", "description": "What.", "properties": {
            "path": { "type": "string", "description": "Which." },
            "description": { "type": "string", "description": "Said of it." } },
            "required": ["path"] });
        let read = ToolSpec {
            description: format!("Reads a file. {}", "More of it. ".repeat(40)),
            input_schema: described.into(),
            ..tool("read_file", ToolGroup::Read, 300)
        };
        let list = vec![
            read,
            tool("glob", ToolGroup::Read, 300),
            tool("find_tool", ToolGroup::Agent, 100),
        ];
        let loading = split_compact(list.clone());
        assert_eq!(names(&loading.loaded), ["read_file", "find_tool"]);
        assert_eq!(*loading.deferred, vec![list[1].clone()], "what is found is whole");
        let short = &loading.loaded[0];
        assert_eq!(short.description, "Reads a file.");
        assert_eq!(
            *short.input_schema,
            json!({ "type": "object", "properties": { "path": { "type": "string" },
                "description": { "type": "string" } }, "required": ["path"] })
        );
        // Without a finder nothing can be left out.
        assert_eq!(*split_compact(list[..2].to_vec()).loaded, list[..2]);
    }

    #[test]
    fn t4_a_carried_call_is_its_own_again() {
        let input = json!({ "checkpoint": "c1" });
        let expected = Some(("restore_checkpoint".to_string(), input.clone()));
        assert_eq!(carried_call(&carry_call("restore_checkpoint", &input)), expected);
        let text = json!({ "tool": "restore_checkpoint", "arguments": "{\"checkpoint\": \"c1\"}" });
        assert_eq!(carried_call(&text), expected);
        assert_eq!(carried_call(&json!({ "tool": "a" })), Some(("a".into(), json!({}))));
        for none in [
            json!({}),
            json!({ "tool": 3 }),
            json!({ "tool": "" }),
            json!({ "tool": CARRIER, "arguments": {} }),
            json!({ "tool": "a", "arguments": [1] }),
            json!({ "tool": "a", "arguments": "no JSON" }),
        ] {
            assert_eq!(carried_call(&none), None, "{none}");
        }
    }

    #[test]
    fn t4_what_makes_room_stops_as_soon_as_it_is_enough() {
        let tools = vec![
            tool("find_tool", ToolGroup::Agent, 100),
            tool("a", ToolGroup::Skill, 400),
            tool("b", ToolGroup::Skill, 400),
            tool("c", ToolGroup::Skill, 400),
        ];
        // 1,300 tokens; 1,000 may stay: the last one alone makes the room.
        assert_eq!(names(&split_loading(tools, 4_000).deferred), ["c"]);
    }

    #[test]
    fn t4_the_order_of_the_list_is_kept_and_core_tools_are_never_left_out() {
        let marked =
            |name: &str| ToolSpec { deferred: true, ..tool(name, ToolGroup::Read, 10_000) };
        let core: Vec<&str> = names_with(ToolTrait::Essential).collect();
        let tools: Vec<ToolSpec> = core.iter().map(|name| marked(name)).collect();
        let loading = split_loading(tools, 1_000);
        assert_eq!(core.len(), 10);
        assert_eq!(names(&loading.loaded), core);
        assert!(loading.deferred.is_empty());
    }
}
