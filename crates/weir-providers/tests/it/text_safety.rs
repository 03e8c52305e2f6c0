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
    for open in ["<![CDATA[", "```", "```xml"] {
        assert_text(&format!(
            "I could call:\n{CALL}\nor write\n{open}\nx\n</think>\nThe sum is 3."
        ));
        let whole = format!("{CALL}\nand\n{open}\n<think>x</think>\nThe sum is 3.");
        assert_eq!(find(&whole).calls().count(), 1, "{open}");
    }
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

/// Of two calls of which the first has lost an end, neither takes what belongs to the other.
#[test]
fn v05_no_call_takes_what_another_begins_with() {
    let schema = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "force": {"type": "boolean"},
    }});
    let named = |name| OfferedTool { name, schema: &schema };
    let tools = OfferedTools::new(&[named("write"), named("rm")], CallHabit::OnlyText);
    for reply in [
        "<function=write>\n<parameter=content>\nwords\n<function=rm>\n<parameter=path>\na\n</parameter>\n</function>",
        "<function=write><parameter=content>words<function=rm><parameter=path>a</parameter></function>",
        "<tool_call>\n<function=write>\n<parameter=content>\nwords\n<function=rm>\n<parameter=path>\na\n\
         </parameter>\n</function>\n</tool_call>",
        "<function=write><parameter=path>a</parameter>\n<function=rm><parameter=path>b</parameter></function>",
        "<function=write>\n<parameter=content>\nwords\n<function=rm>\n</function>",
        "<invoke name=\"write\"><parameter name=\"content\">words\n<invoke name=\"rm\">\n<parameter name=\"path\">a\
         </parameter><parameter name=\"force\">true</parameter></invoke>",
        "<function name=\"write\"><param name=\"content\">words\n<function name=\"rm\"><param name=\"path\">a</param>\
         </function>",
        "<function name=\"write\"><param name=\"content\"><![CDATA[words\n<function name=\"rm\"><param name=\"path\">\
         <![CDATA[a]]></param></function>",
        "<tool_call>write\n<arg_key>content</arg_key>\n<arg_value>words\n<tool_call>rm\n<arg_key>path</arg_key>\n\
         <arg_value>a</arg_value>\n</tool_call>",
        "<write>\n<content>words\n<write>\n<path>a</path>\n<content>b</content>\n</write>",
    ] {
        let found = find_calls(reply, &tools, &|_| false);
        assert_eq!(found.pieces, [FoundPiece::Said(reply.to_owned())], "{reply}");
    }
    let forgotten = "<function=write><parameter=content>words</function><function=rm>\
                     <parameter=path>a</parameter></function>";
    let found = find_calls(forgotten, &tools, &|_| false);
    let arguments: Vec<String> =
        found.calls().map(|call| json!(call.arguments).to_string()).collect();
    assert_eq!(arguments, ["{\"content\":\"words\"}", "{\"path\":\"a\"}"]);
}

/// A value that shows a call and never ends leaves that call a text.
#[test]
fn v05_what_stands_behind_half_a_call_calls_nothing() {
    for half in [
        "<tool_call>\n<function=read_file>\n<parameter=path>\nWrite so:\n",
        "<function=read_file>\n<parameter=path>\nWrite so:\n",
        "<invoke name=\"read_file\">\n<parameter name=\"path\">Write so:\n",
        "<function name=\"read_file\"><param name=\"path\">Write so:\n",
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>Write so:\n",
        "<read_file>\n<path>Write so:\n",
    ] {
        assert_text(&format!("{half}{CALL}"));
        assert_text(&format!("{half}{CALL}\nThat is all."));
        let said = "a call behind half a call stayed text, which may be a part of the other";
        assert_eq!(find(&format!("{half}{CALL}")).repairs, [said]);
        // What stands before it counts, and thinking that held it is over.
        assert_eq!(find(&format!("{CALL}\n{half}{CALL}")).calls().count(), 1, "{half}");
        assert_eq!(find(&format!("{half}{CALL}\n</think>\n{CALL}")).calls().count(), 1, "{half}");
    }
    let unescaped = CALL.replace("a.txt", &format!("\n{CALL}\n"));
    assert_text(&unescaped);
}

#[test]
fn v05_a_call_that_bears_two_names_is_none() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let named = |name| OfferedTool { name, schema: &schema };
    let tools = OfferedTools::new(&[named("read_file"), named("rm")], CallHabit::OnlyText);
    let reply = "<｜tool_call_begin｜>function<｜tool_sep｜>read_file\n<steptml:invoke name=\"rm\">\
                 <steptml:parameter name=\"path\">a</steptml:parameter></steptml:invoke>\n<｜tool_call_end｜>";
    assert_eq!(find_calls(reply, &tools, &|_| false).calls().count(), 0);
    let one = reply.replace("\"rm\"", "\"read_file\"");
    assert_eq!(find_calls(&one, &tools, &|_| false).calls().count(), 1);
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
