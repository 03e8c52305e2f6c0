//! Whatever a model writes, what is shown while it comes is the beginning of what is recorded (V5).
//!
//! Not here: what is found in it, which the corpus says.

use proptest::prelude::*;
use serde_json::json;
use weir_providers::text_calls::{
    CallHabit, FoundPiece, HeldText, OfferedTool, OfferedTools, find_calls,
};

/// Pieces of replies: marks, code, thinking, and what looks like them.
const PIECES: &[&str] = &[
    "<tool_call>",
    "</tool_call>",
    "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
    "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
    "[{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}]",
    "read_file(path='a')",
    "functions.read_file(path='a')",
    "tools.read_file{\"path\": \"a\"}</function>",
    "print(default_api.read_file(path='a'))",
    "[read_file(path='a'), read_file(path='b')]",
    "read_file\n{\"path\": \"a\"}",
    ">>>read_file\n{\"path\": \"a\"}",
    "<read_file><path>a</path></read_file>",
    "functools[{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}]",
    "<tool>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool>",
    "Action: read_file\nAction Input: {\"path\": \"a\"}",
    "Observation: it is so",
    "commentary to=functions.read_file json{\"path\": \"a\"}",
    "<function=read_file>",
    "<parameter=path>a</parameter></function>",
    "<tool_response>",
    "<tool>",
    "functools",
    "[Docs](https://example.org)",
    "[",
    "{",
    "{x}",
    "{{h4}}",
    "{{h",
    "f",
    "func",
    "read",
    "```",
    "```json\n",
    "```python\n",
    "```tool_code\n",
    "```rust\n",
    "- ```\n",
    "> ```\n",
    "1. ~~~\n",
    "~~~",
    "````\n",
    "`",
    "``",
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<thi",
    "> ",
    "- ",
    "\"",
    "\n",
    "\n",
    "\n",
    "\n\n",
    "  ",
    "    ",
    "\t",
    "\r\n",
    " ",
    "words",
    "Words of prose.",
    "<seed:think>",
    "</seed:think>",
    "<|channel>thought",
    "<channel|>",
    "<![CDATA[",
    "]]>",
    "<function name=\"read_file\">",
    "<param name=\"path\">a</param></function>",
    "<tool_call>read_file\n{\"path\": \"a\"}</tool_call>",
    "<tool_call|>",
    "✿FUNCTION✿: read_file\n✿ARGS✿: {\"path\": \"a\"}",
    "é✿",
    "<|im_end|>",
    "}",
    "]",
];

fn check_shown(reply: &str, habit: CallHabit, size: usize) {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tools = [OfferedTool { name: "read_file", schema: &schema }];
    let tools = OfferedTools::new(&tools, habit);
    let found = find_calls(reply, &tools, &|_| false);
    let said = found.pieces.iter().map(|piece| match piece {
        FoundPiece::Said(text) => text.as_str(),
        FoundPiece::Call(_) => "",
    });
    let said: String = said.collect();
    let (mut held, mut shown) = (HeldText::default(), String::new());
    let characters: Vec<char> = reply.chars().collect();
    for piece in characters.chunks(size) {
        let piece: String = piece.iter().collect();
        shown.push_str(held.feed_text(&piece, &tools).unwrap_or_default());
    }
    assert!(said.starts_with(&shown), "{reply:?}: {shown:?} was shown of {said:?}");
    shown.push_str(held.unshown_rest(&said));
    assert_eq!(shown, said, "{reply:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn v05_what_is_shown_is_the_beginning_of_what_is_recorded(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..14),
        size in 1_usize..9,
    ) {
        let reply: String = pieces.concat();
        for habit in [CallHabit::OnlyText, CallHabit::AlsoText] {
            check_shown(&reply, habit, size);
        }
    }
}
