//! What is no call though it looks like one (V5), and what is shown at once because it cannot become one.
//!
//! Not here: the formats, whose cases are in `tests/text_calls`, and what of a history a model was told, which
//! the tests of `text_tools` hold.

use serde_json::json;
use weir_providers::text_calls::{
    CallHabit, FoundCalls, FoundPiece, HeldText, OfferedTool, OfferedTools, ToldWords, find_calls,
};

const JSON: &str = "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}";
const CALL: &str =
    "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>";

fn offered() -> OfferedTools {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    OfferedTools::new(&[OfferedTool { name: "read_file", schema: &schema }], CallHabit::OnlyText)
}

fn find(reply: &str) -> FoundCalls {
    find_calls(reply, &offered(), &|_| false)
}

/// The same where everything with `a.txt` in it was told.
fn find_untold(reply: &str) -> FoundCalls {
    find_calls(reply, &offered(), &|call| call.contains("a.txt"))
}

fn assert_text(reply: &str) {
    assert_eq!(find(reply).pieces, [FoundPiece::Said(reply.to_owned())]);
}

/// What is shown while `reply` comes, one character at a time.
fn shown_of(reply: &str) -> String {
    let (mut held, tools) = (HeldText::default(), offered());
    let pieces = reply.chars().map(String::from).collect::<Vec<_>>();
    pieces.iter().fold(String::new(), |shown, piece| {
        shown + held.feed_text(piece, &tools).unwrap_or_default()
    })
}

#[test]
fn v05_a_call_of_many_lines_is_known_however_it_was_shown() {
    let lines = [
        "<function=read_file>",
        "<parameter=path>",
        "12: a.txt",
        "  - \"b\\d\"",
        "</parameter>",
        "</function>",
    ];
    let (call, other) = (lines.join("\n"), lines.join("\n").replace("a.txt", "b.txt"));
    let numbers = lines.iter().enumerate().map(|(index, line)| format!("{}\t{line}\n", index + 1));
    let numbered: String = numbers.collect();
    let marked: String = lines.iter().map(|line| format!("> + {line}\r\n")).collect();
    let escaped = json!([numbered.as_str()]).to_string();
    let twice = json!([escaped.as_str()]).to_string();
    let by_number = call.replace('<', "\\u003c").replace('\n', "\\n");
    let unclosed = lines[..5].join("\n");
    for shown in [&call, &numbered, &marked, &escaped, &twice, &by_number, &unclosed] {
        let told = ToldWords::of_texts(["Of files.", shown, "And so on."]);
        assert!(told.holds_call(&call), "{shown}");
        assert!(!told.holds_call(&other), "{shown}");
    }
    let apart = ToldWords::of_texts([lines[..3].join("\n"), lines[3..].join("\n")]);
    assert!(!apart.holds_call(&call) && !apart.holds_call(""));
}

/// Writes a call of a path in one format.
type WriteCalls = fn(&str) -> String;

/// In no format does a call that was told pass in one block with another.
#[test]
fn v05_each_call_of_a_block_is_looked_for_by_itself() {
    let forms: [(&str, WriteCalls, &str); 5] = [
        ("[", |path| format!("read_file(path='{path}')"), "]"),
        (
            "<function_calls>",
            |path| {
                format!(
                    "<invoke name=\"read_file\"><parameter name=\"path\">{path}</parameter></invoke>"
                )
            },
            "</function_calls>",
        ),
        (
            "",
            |path| format!("<function=read_file><parameter=path>{path}</parameter></function>"),
            "",
        ),
        (
            "<|tool_calls_section_begin|>",
            |path| {
                let begin = "<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>";
                format!("{begin}{{\"path\": \"{path}\"}}<|tool_call_end|>")
            },
            "<|tool_calls_section_end|>",
        ),
        ("[TOOL_CALLS] [", |path| JSON.replace("a.txt", path), "]"),
    ];
    for (open, write, close) in forms {
        let comma = if open.ends_with('[') { ", " } else { "" };
        for (first, second) in [("own.txt", "a.txt"), ("a.txt", "own.txt")] {
            let reply = format!("{open}{}{comma}{}{close}", write(first), write(second));
            assert_eq!(find(&reply).calls().count(), 2, "{reply}");
            assert_eq!(find_untold(&reply).pieces, [FoundPiece::Said(reply)]);
        }
    }
}

/// What counts only where the reply ends does not count before a quotation.
#[test]
fn v05_words_that_were_told_end_no_reply() {
    let reply = format!("I look.\n\n{}\n{CALL}", JSON.replace("a.txt", "own.txt"));
    assert_eq!(find(&reply).calls().count(), 2);
    assert_eq!(find_untold(&reply).pieces, [FoundPiece::Said(reply)]);
}

/// Chat templates begin the reply with the mark, so that only its end is there.
#[test]
fn v05_thinking_that_lost_its_beginning_calls_nothing() {
    assert_text(&format!("I could call:\n{CALL}\nBut no.\n</think>\nThe sum is 3."));
    assert_text(&format!("First.\n{CALL}\n<tool_response>\n1\n</tool_response>\n</think>\nDone."));
    let found = find(&format!("Let me see.\n{CALL}\n</think>\nI look.\n{CALL}"));
    assert_eq!(found.calls().count(), 1);
}

#[test]
fn v05_thinking_that_never_ends_calls_only_at_its_end() {
    assert_text(&format!("<think>\nFor example:\n{CALL}\nThat would be rash, so I ask."));
    assert_text(&format!("I see.\n<think>\n{CALL}\nOr not?\n"));
    assert_eq!(find(&format!("<think>\nI must look.\n{CALL}\n{CALL}")).calls().count(), 2);
    let found = find(&format!("{CALL}\nThen.\n<think>\nHm."));
    assert_eq!((found.calls().count(), found.repairs), (1, Vec::new()));
}

#[test]
fn v05_thinking_calls_nothing_in_whatever_marks() {
    for (open, close) in [
        ("<think>", "</think>"),
        ("<seed:think>", "</seed:think>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|channel>thought", "<channel|>"),
    ] {
        let thought = format!("{open}\nI could call:\n{CALL}\nBut no.\n{close}");
        assert_text(&format!("{thought}\nThe sum is 3."));
        assert_eq!(find(&format!("{thought}\n{CALL}")).calls().count(), 1, "{open}");
    }
}

#[test]
fn v05_a_literal_of_markup_holds_no_call() {
    assert_text(&format!("<![CDATA[\n{CALL}\n]]>"));
    assert_text(&format!("It begins so:\n<![CDATA[\n{CALL}"));
    assert_eq!(find(&format!("<![CDATA[\n{CALL}\n]]>\n{CALL}")).calls().count(), 1);
}

#[test]
fn v05_a_name_and_nothing_behind_it_is_half_a_call() {
    for half in [
        "<invoke name=\"read_file\">",
        "<function=read_file>",
        "<function name=\"read_file\">",
        "<tool_call>read_file\n",
    ] {
        assert_text(half);
    }
}

/// Behind a place at which looking had become too costly, code was no code.
#[test]
fn v05_a_reply_that_cannot_be_looked_through_calls_nothing() {
    let widths: Vec<String> = (1..88).map(|width| "`".repeat(width)).collect();
    let costly = format!("x{}\n\n", widths.join("x")).repeat(3);
    for quoted in [format!("```\n{CALL}\n```\n"), format!("<think>\n{CALL}\n</think>\n")] {
        let reply = format!("{costly}{quoted}So it is.\n\n{CALL}");
        assert_text(&reply);
        let said = "a reply that takes too long to look through stayed text";
        assert_eq!(find(&reply).repairs, [said]);
        assert!(reply.starts_with(&shown_of(&reply)));
    }
}

#[test]
fn v05_a_fence_in_a_point_of_a_list_is_code() {
    for (point, indent) in [("- ", "  "), ("1. ", "   "), ("> ", "> "), ("    ", "    ")] {
        for ticks in ["```", "~~~"] {
            let inside = format!("{indent}first\n\n{CALL}\n{indent}");
            let code = format!("Write so:\n\n{point}{ticks}xml\n{inside}{ticks}\n");
            assert_text(&format!("{code}\nThat is the form."));
            let found = find(&format!("{code}\nI do it.\n\n{CALL}"));
            assert_eq!(found.calls().count(), 1, "{code}");
        }
    }
    // Whether the second fence ends the first or begins another, it quotes.
    assert_text(&format!("- ```\n\n```\n{CALL}\n```\n"));
    assert_text(&format!("- ```json\n  {JSON}\n  ```"));
}

#[test]
fn v05_an_observation_is_cut_off_only_behind_the_format_that_has_them() {
    let found = find(&format!("{CALL}\nObservation: the file is small."));
    assert_eq!(
        found.pieces.last(),
        Some(&FoundPiece::Said("Observation: the file is small.".into()))
    );
    let react = "Action: read_file\nAction Input: {\"path\": \"a.txt\"}\nObservation: it is small.";
    assert!(matches!(find(react).pieces[..], [FoundPiece::Call(_)]));
}

#[test]
fn v05_an_indented_call_behind_words_is_never_shown() {
    for call in [JSON, "functions.read_file(path='a')", "[tools.read_file(path='a')]"] {
        let reply = format!("I look.\n\n   {call}");
        assert_eq!((find(&reply).calls().count(), shown_of(&reply).as_str()), (1, "I look."));
    }
    let reply = format!("   {JSON}");
    assert_eq!((find(&reply).calls().count(), shown_of(&reply).as_str()), (1, ""));
}

#[test]
fn v05_what_cannot_become_a_call_is_shown_at_once() {
    let lines = [
        "[Docs](https://example.org)",
        "{x} is a set",
        "{{h4}} is a handle",
        "Of Python's functools there is more",
        "functools helps",
        "The element <tool> is one",
        "Look:\n\n```python\nread_file('a')\n```",
        "Look:\n\n```text\nwords\n```",
        "Look:\n\n- ```sh\n  ls\n  ```",
    ];
    for line in lines {
        let shown = shown_of(&format!("{line}\nAnd so on.\n{}", "More words.\n".repeat(20)));
        assert!(shown.contains("And so on."), "{shown}");
    }
    let paragraph = "A sentence of some words. ".repeat(4);
    assert_eq!(shown_of(&paragraph), paragraph.trim_end());
    let open = format!("Look:\n\n```python\n{}", "x = 1\n".repeat(30));
    assert!(shown_of(&open).contains("x = 1"));
}
