//! What an editor is told of facts.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::ids::{Seq, Timestamp};

use super::*;

fn fact(seq: Seq, kind: &str, fields: &Value) -> PlacedFact {
    let event = Event::from_payload(kind, &fields.to_string())
        .unwrap_or_else(|error| panic!("{kind}: {error}"));
    PlacedFact { seq, ts: Timestamp(seq as i64 * 1_000_000), event: Arc::new(event) }
}

fn told_of(render: &mut SessionRender, age: FactAge, facts: &[(&str, Value)]) -> Vec<Value> {
    let mut told = Vec::new();
    for (at, (kind, fields)) in facts.iter().enumerate() {
        let rendered = render.take_fact(&fact(at as Seq + 1, kind, fields), age);
        told.extend(rendered.updates.iter().map(as_json));
    }
    told
}

fn reading(notices: NoticeStyle) -> EditorReading {
    EditorReading { notices, ..EditorReading::default() }
}

fn as_json(update: &SessionUpdate) -> Value {
    serde_json::to_value(update).expect("plain data")
}

fn said(client_id: Option<&str>) -> (&'static str, Value) {
    let content = json!([{"type": "text", "text": "Write it."}]);
    let fields = json!({"input": "i1", "content": content, "by": "ada", "client_id": client_id});
    ("input.accepted", fields)
}

fn replied(text: &str) -> (&'static str, Value) {
    let usage =
        json!({"input": 90, "output": 10, "cache_read": 0, "cache_write": 0, "reasoning": 0});
    let content = json!([{"type": "text", "text": text}]);
    ("model.replied", json!({"turn": "t1", "content": content, "stop": "end", "usage": usage}))
}

/// A call that writes a file, from its proposal to its end.
fn written() -> Vec<(&'static str, Value)> {
    let path = json!({"path": "a.txt", "access": "write", "place": "inside"});
    let inspection = json!({
        "known": true, "class": "file", "summary": "Replace 1 line in a.txt",
        "effects": {"paths": [path]},
        "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -3 +3 @@\n-old\n+new\n",
    });
    vec![
        (
            "call.proposed",
            json!({"call": "c1", "turn": "t1", "tool": "edit_file", "input": {"path": "a.txt"}}),
        ),
        ("call.judged", json!({"call": "c1", "verdict": "allow", "inspection": inspection})),
        ("call.started", json!({"call": "c1"})),
        (
            "call.finished",
            json!({
                "call": "c1", "tool": "edit_file", "ok": true, "summary": "Replaced 1 line", "bytes": 4,
                "result": [{"type": "text", "text": "Done"}], "confirmed": false, "duration_ms": 1,
            }),
        ),
    ]
}

#[test]
fn f3_a_call_is_told_with_kind_status_place_and_change() {
    let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    let told = told_of(&mut render, FactAge::Fresh, &written());
    let change =
        json!({"type": "diff", "path": "/w/a.txt", "oldText": "old\n", "newText": "new\n"});
    assert_eq!(
        told,
        [
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "edit_file", "name": "edit_file",
                "kind": "edit", "status": "pending", "rawInput": {"path": "a.txt"},
            }),
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "c1",
                "title": "Replace 1 line in a.txt", "kind": "edit", "content": [change],
                "locations": [{"path": "/w/a.txt", "line": 3}],
            }),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}),
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed",
                "content": [change], "rawOutput": "Done",
            }),
        ]
    );
}

#[test]
fn f3_of_what_is_over_only_the_beginning_and_the_end_are_told() {
    let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    let facts = [vec![said(Some("m1"))], written(), vec![replied("It is written.")]].concat();
    render.note_own_input("m1");
    let told = told_of(&mut render, FactAge::Old, &facts);
    let kinds: Vec<&str> =
        told.iter().map(|update| update["sessionUpdate"].as_str().expect("it has one")).collect();
    // What this editor itself said once is told too: it forgot.
    let expected = ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"];
    assert_eq!(kinds, expected);
    assert_eq!(told[2]["status"], "completed");
    assert_eq!(told[2]["title"], "Replace 1 line in a.txt");
    assert_eq!(told[3]["content"]["text"], "It is written.");
}

#[test]
fn f3_an_editor_is_not_told_what_it_said_itself_but_what_others_say() {
    for (client_id, expected) in [(Some("m1"), 0), (Some("m2"), 1), (None, 1)] {
        let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
        render.note_own_input("m1");
        let told = told_of(&mut render, FactAge::Fresh, &[said(client_id)]);
        assert_eq!(told.len(), expected, "{client_id:?}: {told:?}");
    }
}

#[test]
fn f3_what_a_call_prints_is_told_in_bounds_and_as_no_markdown() {
    let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    told_of(&mut render, FactAge::Fresh, &written()[..3]);
    assert!(!render.has_progress());
    for _ in 0..10_000 {
        assert_eq!(render.take_signal(SignalKind::Output, "c1", "![x](http://x) ```\n"), None);
    }
    assert!(render.has_progress());
    let told: Vec<Value> = render.take_progress().iter().map(as_json).collect();
    let text = told[0]["content"][0]["content"]["text"].as_str().expect("text");
    assert!(
        text.len() < 20_000 && text.starts_with("````\n") && text.ends_with("\n````"),
        "{text}"
    );
    assert!(!render.has_progress());
    // Of a call that nobody knows, or that is over, nothing is told.
    render.take_signal(SignalKind::Output, "c9", "x");
    render.take_signal(SignalKind::Output, "what", "x");
    assert!(!render.has_progress());
}

#[test]
fn f3_a_result_that_stands_in_no_reply_and_a_task_list_are_told() {
    let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    let items =
        json!([{"text": "One", "status": "done"}, {"text": "Two", "status": "in_progress"}]);
    let usage = json!({"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "reasoning": 0});
    let end = |text: &str| {
        let fields = json!({
            "run": "r1", "status": "completed", "text": text, "usage": usage, "cost_usd": null,
            "iterations": 1, "tool_calls": 0, "denials": [], "changed_files": [], "error": null,
        });
        ("run.finished", fields)
    };
    let plan = ("plan.updated", json!({"items": items, "call": "c1"}));
    let told = told_of(&mut render, FactAge::Fresh, &[plan, replied("Said."), end("Said.")]);
    assert_eq!(told.len(), 2, "{told:?}");
    let entry =
        |text: &str, status: &str| json!({"content": text, "priority": "medium", "status": status});
    assert_eq!(told[0]["entries"], json!([entry("One", "completed"), entry("Two", "in_progress")]));
    let told = told_of(&mut render, FactAge::Fresh, &[end("The result.")]);
    assert_eq!(told[0]["content"]["text"], "The result.");
}

#[test]
fn f3_lines_for_the_person_are_notices_where_an_editor_shows_them() {
    let of = |style| SessionRender::new("/w".into(), reading(style));
    let notice =
        of(NoticeStyle::Notices).remark_update(FactTone::Quiet, "a\nb").expect("it is told");
    let expected = json!({"sessionUpdate": "notice", "severity": "info", "title": "a b"});
    assert_eq!(as_json(&notice), expected);
    assert_eq!(of(NoticeStyle::Messages).remark_update(FactTone::Quiet, "a"), None);
    let message = of(NoticeStyle::Messages).remark_update(FactTone::Bad, "a").expect("it is told");
    assert_eq!(as_json(&message)["content"]["text"], "\n\n> Weir: a\n\n");
}

#[test]
fn r1_what_a_call_gave_back_is_told_as_it_is_and_in_bounds() {
    let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    let long = "x".repeat((64 << 10) + 7);
    let mut facts = written();
    facts[3].1["result"][0]["text"] = long.into();
    let told = told_of(&mut render, FactAge::Fresh, &facts);
    let output = told[3]["rawOutput"].as_str().expect("text");
    assert!(
        output.len() < (64 << 10) + 40 && output.ends_with("\n… 7 more bytes"),
        "{}",
        output.len()
    );
}

#[test]
fn r1_the_name_of_a_session_is_told_once_and_when_something_happened_after_each_run() {
    let reads = EditorReading { additions: true, ..EditorReading::default() };
    let mut render = SessionRender::new("/w".into(), reads);
    assert_eq!(render.info_update(), None, "nothing happened yet");
    render.note_own_input("m1");
    let usage = json!({"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "reasoning": 0});
    let end = json!({
        "run": "r1", "status": "completed", "text": "", "usage": usage, "cost_usd": null,
        "iterations": 1, "tool_calls": 0, "denials": [], "changed_files": [], "error": null,
    });
    let facts = [said(Some("m1")), said(Some("m1")), ("run.finished", end)];
    let info = |title: Option<&str>, second: u8| {
        let at = format!("1970-01-01T00:00:0{second}Z");
        let mut info = json!({"sessionUpdate": "session_info_update", "updatedAt": at});
        if let Some(title) = title {
            info["title"] = title.into();
        }
        info
    };
    let told = told_of(&mut render, FactAge::Fresh, &facts);
    assert_eq!(told, [info(Some("Write it."), 1), info(None, 3)]);
    let whole = render.info_update().expect("it is known");
    assert_eq!(as_json(&whole), info(Some("Write it."), 3));
    // Of what is old the whole is told when it is opened.
    let mut loaded = SessionRender::new("/w".into(), reads);
    let told = told_of(&mut loaded, FactAge::Old, &facts);
    assert!(told.iter().all(|one| one["sessionUpdate"] != "session_info_update"), "{told:?}");
    // An editor of before is told nothing of it.
    let mut early = SessionRender::new("/w".into(), EditorReading::default());
    told_of(&mut early, FactAge::Fresh, &facts);
    assert_eq!(early.info_update(), None);
}

#[test]
fn r1_making_the_context_shorter_is_told_with_its_summary_where_it_is_shown() {
    let usage = json!({"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "reasoning": 0});
    let begin =
        || ("context.condensing", json!({"reason": "asked", "tokens": 900, "window": 1000}));
    let made = json!({"summary": "Goal: weave", "usage": usage});
    let failed = json!({"failed": "no answer", "usage": usage});
    let condensed = json!({
        "reason": "asked", "pass": 3, "head": [], "kept": 1, "hidden": 4, "through": "t2",
        "tokens_before": 900, "tokens_after": 300,
    });
    let facts = [
        begin(),
        ("context.summarised", made),
        ("context.condensed", condensed),
        begin(),
        ("context.summarised", failed),
        begin(),
    ];
    let reads = EditorReading { compaction: true, ..EditorReading::default() };
    let mut render = SessionRender::new("/w".into(), reads);
    let mut told = told_of(&mut render, FactAge::Fresh, &facts);
    told.retain(|one| one["sessionUpdate"] != "agent_message_chunk");
    let update = |id: &str, status: &str| json!({"sessionUpdate": "compaction_update", "compactionId": id, "status": status});
    let chunk = json!({
        "sessionUpdate": "compaction_summary_chunk", "compactionId": "compaction-1",
        "content": {"type": "text", "text": "Goal: weave"},
    });
    let mut gone = update("compaction-4", "failed");
    gone["error"] = "no answer".into();
    let expected = [
        update("compaction-1", "in_progress"),
        chunk,
        update("compaction-1", "completed"),
        update("compaction-4", "in_progress"),
        gone,
        update("compaction-6", "in_progress"),
    ];
    assert_eq!(told, expected);
    let mut other = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    let told = told_of(&mut other, FactAge::Fresh, &facts);
    assert!(!Value::from(told).to_string().contains("compaction"));
}

#[test]
fn r1_an_image_of_the_person_is_named_and_can_be_put_there() {
    let media = |kind: &str, name: &str| json!({"media_type": kind, "blob": "b1", "bytes": 4, "name": name});
    let content = json!([
        {"type": "text", "text": "Look."},
        {"type": "image", "media": media("image/png", "image-1.png")},
        {"type": "document", "media": media("application/pdf", "a.pdf")},
    ]);
    let input = json!({"input": "i1", "content": content, "by": "ada"});
    let mut render = SessionRender::new("/w".into(), reading(NoticeStyle::Messages));
    let rendered = render.take_fact(&fact(1, "input.accepted", &input), FactAge::Old);
    let words: Vec<Value> =
        rendered.updates.iter().map(|one| as_json(one)["content"]["text"].clone()).collect();
    let expected = ["Look.", "[image-1.png: image/png]", "[a.pdf: application/pdf]"];
    assert_eq!(words, expected);
    let places: Vec<usize> = rendered.images.iter().map(|image| image.at).collect();
    assert_eq!(places, [1]);
    let next = render.take_fact(&fact(2, "input.accepted", &said(None).1), FactAge::Old);
    assert_eq!(next.images, []);
}
