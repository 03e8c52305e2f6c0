//! Calls that a model wrote as text: whatever it writes, what is found is offered, bounded and agrees with
//! what was shown while it came. Not here: which calls are found, which the corpus says.

use serde_json::{Value, json};
use weir_providers::text_calls::{
    CallHabit, FoundCalls, FoundPiece, HeldText, OfferedTool, OfferedTools, find_calls,
};

use crate::input::text;
use crate::seeds;

/// Most calls that one reply may hold.
const CALLS_MAX: usize = 64;

pub(super) const CALL_WORDS: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
    "<function=read_file>",
    "<parameter=path>",
    "</parameter>",
    "</function>",
    "<invoke name=\"read_file\">",
    "<parameter name=\"path\">",
    "</invoke>",
    "<function_calls>",
    "<arg_key>",
    "<arg_value>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<|tool_call_begin|>functions.read_file:0",
    "<|tool_call_argument_begin|>",
    "<|channel|>commentary to=functions.read_file",
    "<|message|>",
    "<|call|>",
    "<|python_tag|>",
    "read_file(path=\"a\")",
    "[read_file(path='a'), ",
    "<|tool_call>call:read_file{path:<|\"|>",
    "```json\n",
    "```tool_code\n",
    "```\n",
    "````",
    "`",
    "~~~",
    "<think>",
    "</think>",
    "Action: read_file\nAction Input: ",
    "Observation:",
    ">>>read_file\n",
    "<read_file>",
    "<path>",
    "</read_file>",
    "{{",
    "\\ud83d",
    "“",
    "'",
    "\n\n",
    "    ",
    "> ",
    "- ```\n",
    "1. ~~~\n",
    "{{h4}}",
    "functions.read_file(path='a')",
    "<tool_response>",
    "<function name=\"read_file\">",
    "<param name=\"path\">",
    "</param></function>",
    "<![CDATA[",
    "]]>",
    "<｜tool_calls_begin｜><｜tool_call_begin｜>",
    "<seed:think>",
    "</seed:think>",
];

/// So much of a reply is fed in pieces.
const SHOWN_BYTES_MAX: usize = 2_048;

/// Every call bears an offered name; a reply without one stays as it is; what was told is not called; and
/// what was shown in pieces is what is recorded.
pub(super) fn text_calls(data: &[u8]) {
    let reply = text(data);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let numbers = json!({"type": "object", "properties": {"count": {"type": "integer"}}});
    let tools = [
        OfferedTool { name: "read_file", schema: &schema },
        OfferedTool { name: "repeat", schema: &numbers },
    ];
    // Each with pieces of another length: a look at a long reply takes milliseconds in a debug build.
    for (habit, piece) in [(CallHabit::OnlyText, 1), (CallHabit::AlsoText, 61)] {
        check_found(&reply, &OfferedTools::new(&tools, habit), piece);
    }
}

fn check_found(reply: &str, tools: &OfferedTools, piece: usize) {
    let found = find_calls(reply, tools, &|_| false);
    assert!(found.calls().count() <= CALLS_MAX, "too many calls");
    for call in found.calls() {
        let is_offered = matches!(call.tool.as_str(), "read_file" | "repeat");
        assert!(is_offered, "{} was not offered", call.tool);
    }
    if found.calls().next().is_none() {
        assert_eq!(found.pieces, [FoundPiece::Said(reply.to_owned())], "text was changed");
    }
    // The bare name of a tool, as in `read_file()`, is nobody's words.
    let refused = find_calls(reply, tools, &|_| true);
    assert!(refused.calls().all(|call| call.arguments.is_empty()), "a quotation was called");
    let head = &reply[..reply.floor_char_boundary(SHOWN_BYTES_MAX)];
    check_shown(head, &find_calls(head, tools, &|_| false), tools, piece);
}

fn check_shown(reply: &str, found: &FoundCalls, tools: &OfferedTools, piece: usize) {
    let said: String = found.pieces.iter().filter_map(said_text).collect();
    let mut held = HeldText::default();
    let mut shown = String::new();
    let characters: Vec<char> = reply.chars().collect();
    // One character at a time costs a look for each of them.
    for chunk in characters.chunks(piece.max(characters.len() / 400)) {
        let chunk: String = chunk.iter().collect();
        shown.push_str(held.feed_text(&chunk, tools).unwrap_or_default());
    }
    assert!(said.starts_with(&shown), "{shown:?} was shown of {said:?}");
    shown.push_str(held.unshown_rest(&said));
    assert_eq!(shown, said, "what was shown is not what is recorded");
}

fn said_text(piece: &FoundPiece) -> Option<&str> {
    match piece {
        FoundPiece::Said(text) => Some(text),
        FoundPiece::Call(_) => None,
    }
}

pub(super) fn text_call_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for file in seeds::files("crates/weir-providers/tests/text_calls", ".md") {
        let file = String::from_utf8_lossy(&file).into_owned();
        for case in file.split("--- reply\n").skip(1) {
            let reply = case.split("\n--- found").next().unwrap_or_default();
            // Whatever tool a case has, here it is one of those that are offered.
            let name = case.lines().find_map(|line| line.strip_prefix("call ")?.split(' ').next());
            let reply = name.map_or(reply.to_owned(), |name| reply.replace(name, "read_file"));
            seeds.push(reply.into_bytes());
        }
    }
    let arguments: Value = json!({"name": "read_file", "arguments": {"path": "a"}});
    seeds.push(arguments.to_string().into_bytes());
    seeds
}
