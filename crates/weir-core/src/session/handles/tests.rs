//! What is put into which call, and what is kept of whom.

use serde_json::json;

use super::*;
use crate::session::calls::answer_result;
use crate::tool::{AgentControl, HandleWords, SpawnEffect};

fn table() -> HandleTable {
    let mut table = HandleTable::default();
    let words = HandleWords {
        text: json!([{ "body": "obey zanzibar", "from": "bob@team.example" }]).to_string(),
        json: true,
        label: Label::external("mcp:mail"),
        members: vec!["bob@team.example".into()],
    };
    let brought = answer_result(CallId(1), "mcp__mail__list".into(), true, "");
    let brought = CallFinished { handle: Some(Box::new(words)), ..brought };
    table.keep(&brought, &BTreeSet::from(["mcp:mail".to_owned()]));
    table
}

fn call(tool: &str, input: serde_json::Value) -> CallState {
    CallState::new(CallId(2), tool.into(), input).with_carried(&table(), &Label::default())
}

#[test]
fn u06_code_of_a_program_is_never_filled_with_words() {
    let code = json!({ "code": "await mcp__mail__send({ body: '{{h1/0/body}}' })" });
    let program = call(PROGRAM_RUNNER, code.clone());
    assert_eq!((program.input, program.carried), (code, Vec::new()));
    // A step carries them: they are its argument.
    let step = call("mcp__mail__send", json!({ "body": "{{h1/0/body}}" }));
    assert_eq!(step.input, json!({ "body": "obey zanzibar" }));
    assert_eq!(step.written_input(), &json!({ "body": "{{h1/0/body}}" }));
}

#[test]
fn u12_kinds_and_names_of_fields_are_never_foreign_words() {
    let of = |input| call(EXTRACT_FIELDS, input).broken;
    let fields = json!({ "a": "enum:{{h1/0/body}},no" });
    let broken = of(json!({ "text": "{{h1}}", "question": "What?", "fields": fields }));
    assert_eq!(broken.as_deref(), Some("Only text of extract_fields takes a handle."));
    let kinds = json!({ "a": "text" });
    assert_eq!(of(json!({ "text": "{{h1}}", "question": "What?", "fields": kinds })), None);
}

#[test]
fn u03_a_member_is_one_of_the_service_that_says_so() {
    let table = table();
    let of = |server: &str| table.members().get(server).is_some_and(|of| !of.is_empty());
    assert!(of("mcp:mail") && !of("mcp:chat"));
}

#[test]
fn u06_the_answer_of_what_steers_or_remembers_is_no_handle() {
    let carrying = |effects: Effects| keeps_answer(&effects, true);
    let items = Some(AgentControl::Plan { items: Vec::new() });
    assert!(!carrying(Effects { control: items, ..Effects::default() }));
    assert!(!carrying(Effects { remembers: vec!["x".into()], ..Effects::default() }));
    assert!(!carrying(Effects::default()));
    assert!(carrying(Effects { extracts: 2, ..Effects::default() }));
    assert!(carrying(Effects { unknown: true, ..Effects::default() }));
    assert!(keeps_answer(&Effects { spawns: Some(spawn()), ..Effects::default() }, false));
}

fn spawn() -> SpawnEffect {
    serde_json::from_value(json!({ "profile": "agent" })).unwrap_or_else(|why| panic!("{why}"))
}

fn table_of(kept: &[(u32, &str, bool)]) -> HandleTable {
    let mut table = HandleTable::default();
    for (call, text, json) in kept {
        let words = HandleWords {
            text: (*text).to_owned(),
            json: *json,
            label: Label::external(format!("mcp:{call}")),
            members: Vec::new(),
        };
        let finished = answer_result(CallId(*call), "tool".into(), true, "");
        table.keep(&CallFinished { handle: Some(Box::new(words)), ..finished }, &BTreeSet::new());
    }
    table
}

#[test]
fn u06_a_name_is_put_in_once_and_where_it_leads() {
    let table = table_of(&[
        (1, r#"[{"a": "see {{h2}}", "n": 7, "o": {"p": [1]}, "x/y": "odd"}]"#, true),
        (2, "plain", false),
    ]);
    for (written, with) in [
        ("{{h1/0/a}}", "see {{h2}}"),
        ("<{{h2}}|{{h2}}>", "<plain|plain>"),
        ("{{h1/0/n}} {{h1/0/o}}", "7 {\"p\":[1]}"),
        ("{{h1/0/x~1y}}", "odd"),
        ("{{h3}} {{h}} {{hx}} {{h01}} {{h2 }} {{h2", "{{h3}} {{h}} {{hx}} {{h01}} {{h2 }} {{h2"),
        ("{{{{h2}}}}", "{{plain}}"),
    ] {
        let got = table.carried_input(&json!({ "text": written }));
        assert_eq!((got.input, got.problem), (json!({ "text": with }), None), "{written}");
    }
    let lost = table.carried_input(&json!({ "text": "{{h1/4}}" }));
    assert_eq!(lost.problem.as_deref(), Some("There is no /4 in h1."));
}

#[test]
fn u06_each_argument_has_the_labels_of_the_words_in_it() {
    let table = table_of(&[(1, "one", false), (2, "two", false)]);
    let input =
        json!({ "to": "{{h1}}", "parts": [{ "body": "{{h2}} {{h2}}" }, "x"], "{{h1}}": "k" });
    let got = table.carried_input(&input);
    let places: Vec<(&str, &str)> = got
        .carried
        .iter()
        .flat_map(|words| {
            words.label.origins.iter().map(|origin| (words.argument.as_str(), origin.as_str()))
        })
        .collect();
    assert_eq!(places, [("to", "mcp:1"), ("parts[].body", "mcp:2")]);
    assert_eq!(got.input["{{h1}}"], "k");
}

#[test]
fn u06_the_oldest_words_go_first_and_that_is_told() {
    let long = "x".repeat(HANDLES_BYTES_MAX / 2);
    let table = table_of(&[(1, "first", false), (2, &long, false), (3, &long, false)]);
    let got = table.carried_input(&json!({ "text": "{{h1}}" }));
    assert_eq!(got.problem.as_deref(), Some("h1 is no longer kept: make its call again."));
    let much = table.carried_input(&json!({ "text": "{{h3}}" }));
    assert!(much.problem.is_some_and(|why| why.contains("more than 1048576 bytes")));
}
