//! What is offered, what is shown, and what answers mean.

use serde_json::json;
use weir_core::event::{Event, SharedFact};

use super::*;

fn asked(more: &Value) -> ApprovalRequested {
    let mut fields = json!({
        "approval": "s-a1", "call": "c1", "tool": "run_shell", "input": {"command": "cargo test"},
        "summary": "Run cargo test", "reason": "The mode asks.", "binds": "x",
    });
    for (name, value) in more.as_object().expect("an object") {
        fields[name] = value.clone();
    }
    match Event::from_payload("approval.requested", &fields.to_string()) {
        Ok(Event::ApprovalRequested(asked)) => asked,
        other => panic!("{other:?}"),
    }
}

fn rule() -> Value {
    json!({"action": "allow", "rule": "Shell(cargo test:*)", "source": "answer"})
}

fn question(more: &Value) -> PermissionParams {
    let ask = PendingAsk::Approval(SharedFact::from(asked(more)));
    permission_question("s", &ask, &Transcript::default(), "/w").expect("it can be asked")
}

fn offered(params: &PermissionParams) -> Vec<(&str, PermissionKind)> {
    params.options.iter().map(|option| (option.option_id.as_str(), option.kind)).collect()
}

#[test]
fn r1_an_approval_offers_once_session_always_and_no() {
    use PermissionKind::{AllowAlways, AllowOnce, RejectOnce};
    let rules = json!({"rules": [rule()]});
    let all = [
        ("once", AllowOnce),
        ("session", AllowAlways),
        ("always", AllowAlways),
        ("deny", RejectOnce),
    ];
    assert_eq!(offered(&question(&rules)), all);
    // What is asked exactly is allowed once or not at all.
    let exact = question(&json!({}));
    assert_eq!(offered(&exact), [("once", AllowOnce), ("deny", RejectOnce)]);
    let bound = question(&json!({"rules": [rule()], "bound": true}));
    assert_eq!(offered(&bound), [all[0], all[1], all[3]]);
    let often = question(&json!({"rules": [rule()], "often": true}));
    assert_eq!(offered(&often), [all[1], all[0], all[2], all[3]]);
}

#[test]
fn r1_a_question_shows_the_whole_call_and_nothing_of_it_is_markdown() {
    let params = question(&json!({
        "input": {"command": "echo ```\n![x](http://evil.example/)"},
        "reason": "![y](http://evil.example/)",
    }));
    let shown = serde_json::to_value(&params).expect("plain data");
    assert_eq!(shown["toolCall"]["toolCallId"], "c1");
    assert_eq!(shown["toolCall"]["title"], "Run cargo test");
    let texts = shown["toolCall"]["content"].as_array().expect("a list");
    let why = texts[0]["content"]["text"].as_str().expect("text");
    assert!(why.contains("Why you are asked") && !why.contains("![y]("), "{why}");
    let arguments = texts[1]["content"]["text"].as_str().expect("text");
    assert!(arguments.starts_with("````json\n") && arguments.ends_with("\n````"), "{arguments}");
    assert!(arguments.contains("{\n  \"command\""), "its lines are lines: {arguments}");
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let shown = serde_json::to_value(question(&json!({"diff": diff}))).expect("plain data");
    let change =
        json!({"type": "diff", "path": "/w/a.txt", "oldText": "old\n", "newText": "new\n"});
    assert_eq!(shown["toolCall"]["content"][1], change);
}

#[test]
fn r1_answers_mean_what_was_offered_and_nothing_else_is_a_yes() {
    let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    for (answer, expected) in [
        (Ok(selected("once")), PermissionReply::Decided(Decision::Once)),
        (Ok(selected("session")), PermissionReply::Decided(Decision::Session)),
        (Ok(selected("always")), PermissionReply::Decided(Decision::Always)),
        (Ok(selected("deny")), PermissionReply::Decided(Decision::Deny)),
        (Ok(selected("choice-2")), PermissionReply::Chosen(2)),
        (Ok(selected("words")), PermissionReply::Nothing),
        (Ok(json!({"outcome": {"outcome": "cancelled"}})), PermissionReply::Nothing),
    ] {
        assert_eq!(read_reply(answer.clone()), expected, "{answer:?}");
    }
    let method_not_found = Err(RpcError::new(-32601, "no such method"));
    let odd = [
        Ok(Value::Null),
        Ok(json!({"outcome": {}})),
        Ok(selected("ONCE")),
        Ok(selected("choice-")),
    ];
    for answer in odd.into_iter().chain([method_not_found]) {
        let reply = read_reply(answer.clone());
        assert!(matches!(reply, PermissionReply::Unable(_)), "{answer:?}: {reply:?}");
    }
}

#[test]
fn r1_a_question_with_answers_is_a_choice_and_one_without_is_answered_in_words() {
    let question = |options: &Value, multiple: bool| {
        let fields = json!({
            "question": "s-q1", "call": "c1", "text": "Which colour?", "options": options,
            "multiple": multiple,
        });
        match Event::from_payload("question.asked", &fields.to_string()) {
            Ok(Event::QuestionAsked(asked)) => PendingAsk::Question(SharedFact::from(asked)),
            other => panic!("{other:?}"),
        }
    };
    let view = Transcript::default();
    let choice = permission_question("s", &question(&json!(["red", "blue"]), false), &view, "/w");
    let choice = choice.expect("it can be chosen");
    let names: Vec<&str> = choice.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["red", "blue", "Answer in my own words"]);
    for (options, multiple) in [(json!([]), false), (json!(["a", "b"]), true)] {
        let ask = question(&options, multiple);
        assert_eq!(permission_question("s", &ask, &view, "/w"), None);
    }
}

#[test]
fn r1_a_question_about_a_server_shows_its_lines_and_no_hidden_sign() {
    let call =
        || ToolCallChange { tool_call_id: "mcp-server-a".into(), ..ToolCallChange::default() };
    let text = "a (the editor)\n  starts: /bin/x \u{202E}y\n```\n";
    let params = server_question("s", call(), ServerQuestion::Start, text);
    let shown = serde_json::to_value(&params).expect("plain data");
    let shown = shown["toolCall"]["content"][0]["content"]["text"].as_str().expect("text");
    assert_eq!(shown, "````\na (the editor)\n  starts: /bin/x <U+202E>y\n```\n````");
    let kinds = |asked| -> Vec<PermissionKind> {
        let params = server_question("s", call(), asked, text);
        params.options.iter().map(|option| option.kind).collect()
    };
    let (once, always, no) =
        (PermissionKind::AllowOnce, PermissionKind::AllowAlways, PermissionKind::RejectOnce);
    assert_eq!(kinds(ServerQuestion::Start), [once, always, no]);
    assert_eq!(kinds(ServerQuestion::Tools), [once, no]);
    let long = "x".repeat(SERVER_BYTES_MAX + 5);
    let params = server_question("s", call(), ServerQuestion::Tools, &long);
    assert!(serde_json::to_string(&params).expect("plain data").contains("5 more bytes"));
}
