//! The text format of scripts: what each line becomes, and what is refused with which words.

use std::time::Duration;

use weir_core::model::{StopReason, Usage};

use super::*;
use crate::fault::ScriptedFault;
use crate::step::{ExpectedContent, FoundStep};

fn script(text: &str) -> Script {
    parse_script(text, None).unwrap_or_else(|error| panic!("{error}"))
}

fn steps(text: &str) -> Vec<ScriptStep> {
    let script = script(text);
    (0..script.reply_count())
        .map(|index| (*script.find_step(index).expect("counted").step).clone())
        .collect()
}

fn call(tool: &str, arguments: &str) -> ScriptedPiece {
    ScriptedPiece::Call { tool: tool.to_owned(), arguments: arguments.to_owned() }
}

#[test]
fn v6_a_step_with_everything() {
    let text = "\
# comment
think: I should look first.
says: Let me look.
calls: read_file {\"path\": \"a # b\"}        # several calls are parallel
calls: list_files
usage: input=1200 output=40 cache_read=1000   # reported
stop: calls
error: 529 overloaded
error: 429 retry-after=1
error: cut
delay: 200ms
pace: 20ms
repeat: 10_000
call-ids: a, a
expect: text \"old\"
expect-not: system \"secret\"
raw-arguments: write_file {\"path\": broken
";
    let status = |status, retry_after: Option<&str>, message: &str| ScriptedFault::Status {
        status,
        retry_after: retry_after.map(str::to_owned),
        message: message.to_owned(),
    };
    let expected = ScriptStep {
        line: 2,
        says: vec![
            ScriptedPiece::Thinking("I should look first.".to_owned()),
            ScriptedPiece::Text("Let me look.".to_owned()),
            call("read_file", "{\"path\":\"a # b\"}"),
            call("list_files", "{}"),
            call("write_file", "{\"path\": broken"),
        ],
        errors: vec![
            status(529, None, "overloaded"),
            status(429, Some("1"), ""),
            ScriptedFault::Cut,
        ],
        expects: vec![
            ScriptExpectation {
                line: 15,
                what: ExpectedContent::Text("old".to_owned()),
                not: false,
            },
            ScriptExpectation {
                line: 16,
                what: ExpectedContent::System("secret".to_owned()),
                not: true,
            },
        ],
        usage: Some(Usage { input: 1200, output: 40, cache_read: 1000, ..Usage::default() }),
        stop: Some(StopReason::Calls),
        delay: Duration::from_millis(200),
        pace: Duration::from_millis(20),
        repeat: 10_000,
        call_ids: vec!["a".to_owned(), "a".to_owned()],
    };
    assert_eq!(steps(text), [expected]);
}

#[test]
fn v6_steps_end_at_empty_lines_and_dashes() {
    let text = "says: one\n\n# between\n\nsays: two\n---\nsays: three\r\nmodel: says four\nmodel: calls t {}\n";
    let says: Vec<Vec<ScriptedPiece>> = steps(text).into_iter().map(|step| step.says).collect();
    let one = |text: &str| vec![ScriptedPiece::Text(text.to_owned())];
    assert_eq!(says, [one("one"), one("two"), one("three"), one("four"), vec![call("t", "{}")]]);
}

#[test]
fn v6_texts_of_several_lines() {
    let text = "says: |\n  # Title\n\n    indented\n  last\ncalls: w {\n  \"text\": \"x\"\n}\n";
    let error = parse_script(text, None).expect_err("the closing brace is not indented");
    assert_eq!(error.line, 8);
    let text = "says: |\n  # Title\n\n    indented\n  last\n\nsays: first\n   second\n\nsays-json: \" x\\r\\n\"\n";
    let says: Vec<ScriptedPiece> = steps(text).into_iter().flat_map(|step| step.says).collect();
    let texts = ["# Title\n\n  indented\nlast", "first\nsecond", " x\r\n"];
    assert_eq!(says, texts.map(|text| ScriptedPiece::Text(text.to_owned())));
}

#[test]
fn v6_loops_need_no_memory() {
    let script = script(
        "says: a\n\nloop: 1000000\ncalls: t {\"i\":{{i}}} # n\n\nloop: 3\nsays: {{i}}\nend\nend\nsays: z\n",
    );
    assert_eq!(script.reply_count(), 4_000_002);
    let at = |index| {
        script.find_step(index).map(|FoundStep { step, round }| (step.says[0].clone(), round))
    };
    assert_eq!(at(0), Some((ScriptedPiece::Text("a".to_owned()), None)));
    assert_eq!(at(1), Some((call("t", "{\"i\":{{i}}}"), Some(1))));
    assert_eq!(at(5), Some((call("t", "{\"i\":{{i}}}"), Some(2))));
    assert_eq!(at(8), Some((ScriptedPiece::Text("{{i}}".to_owned()), Some(3))));
    assert_eq!(at(4_000_001), Some((ScriptedPiece::Text("z".to_owned()), None)));
    assert_eq!(at(4_000_002), None);
}

#[test]
fn v6_header_and_rules() {
    let script = script(
        "dialect: gemini\nwindow: 8_000 # small\nprice: input=3 output=15\norder: requests\n\nwhen: \"summari[sz]e \\d+\"\nsays: s\nend\n\nsays: t\n",
    );
    assert_eq!(script.header.dialect.as_deref(), Some("gemini"));
    assert_eq!(script.header.window, Some(8_000));
    assert_eq!(script.header.order, StepOrder::Requests);
    assert_eq!(script.header.price.map(|price| price.output), Some(15.0));
    assert!(script.rules[0].pattern.is_match("please summarise 12 notes"));
    assert_eq!(script.reply_count(), 1);
}

#[test]
fn v6_errors_name_the_line_and_what_is_wrong() {
    for (text, line, part) in [
        ("", 0, "has no step"),
        ("# only a comment\n", 0, "has no step"),
        ("hello\n", 1, "`hello` is not `word: value`"),
        ("  indented\n", 1, "none before it"),
        ("says: a\nsay: b\n", 2, "`say:` is no word of a script"),
        ("usage: input=1\n", 1, "this step says nothing"),
        ("says: a\nusage: inputs=1\n", 2, "`inputs` is none of input"),
        ("says: a\nusage: input\n", 2, "not `name=number`"),
        ("calls: t [1]\n", 1, "not a JSON object"),
        ("calls: t {\"a\"\n", 1, "not JSON"),
        ("calls: t {} {}\n", 1, "stands after the arguments"),
        ("calls: {}\n", 1, "name of a tool is missing"),
        ("error: 200\n", 1, "neither a status"),
        ("error: explode\n", 1, "neither a status"),
        ("says: a\nstop: soon\n", 2, "none of end"),
        ("says: a\ndelay: 5\n", 2, "no duration"),
        ("says: a\nrepeat: 0\n", 2, "no whole number"),
        ("says: a\nexpect: colour \"x\"\n", 2, "none of text"),
        ("says: a\nexpect: pattern \"(\"\n", 2, "no regular expression"),
        ("image: x.png\n", 1, "not a file"),
        ("image: data:image/png;base64,***\n", 1, "not base64"),
        ("loop: 3\nsays: a\n", 1, "has no `end`"),
        ("loop: 3\nend\n", 1, "nothing stands between"),
        ("says: a\nend\n", 2, "without a `loop:`"),
        ("loop: 2\nwhen: x\nsays: a\nend\nend\n", 2, "top level"),
        ("when: (\nsays: a\nend\n", 1, "no regular expression"),
        ("says: a\n\nwindow: 5\n", 3, "before the first step"),
        ("order: chaos\nsays: a\n", 1, "neither `history`"),
        ("model: gpt\nsays: a\n", 1, "`name:` gives the model its name"),
    ] {
        let error = parse_script(text, None).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.why.contains(part), "{text:?}: {error}");
    }
    let error = ScriptError { file: Some("a.script".to_owned()), line: 3, why: "no".to_owned() };
    assert_eq!(error.to_string(), "script a.script, line 3: no");
}
