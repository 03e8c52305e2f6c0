//! What is seen of sessions that random and made facts tell.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::event::Event;

fn fact(seq: Seq, kind: &str, fields: &Value) -> PlacedFact {
    let event = Event::from_payload(kind, &fields.to_string())
        .unwrap_or_else(|error| panic!("{kind}: {error}"));
    PlacedFact { seq, ts: Timestamp(seq as i64 * 1_000_000), event: Arc::new(event) }
}

fn apply(seen: &mut Transcript, facts: &[(&str, Value)]) -> Vec<TranscriptChange> {
    let mut changes = Vec::new();
    for (at, (kind, fields)) in facts.iter().enumerate() {
        changes.extend(seen.apply(&fact(at as Seq + 1, kind, fields)));
    }
    changes
}

fn proposed(call: &str) -> (&'static str, Value) {
    ("call.proposed", json!({"call": call, "turn": "t1", "tool": "read_file", "input": {}}))
}

fn judged(call: &str, verdict: &str) -> (&'static str, Value) {
    let inspection = json!({"known": true, "class": "read", "effects": {}, "summary": "It"});
    ("call.judged", json!({"call": call, "verdict": verdict, "inspection": inspection}))
}

fn finished(call: &str, ok: bool, news: &Value) -> (&'static str, Value) {
    let fields = json!({
        "call": call, "tool": "read_file", "ok": ok, "summary": "s", "result": [],
        "confirmed": false, "bytes": 0, "duration_ms": 0, "news": news,
    });
    ("call.finished", fields)
}

fn stage(seen: &Transcript) -> CallStage {
    seen.find_call(CallId(1)).expect("it was asked for").stage
}

#[test]
fn f1_a_call_that_fails_before_it_runs_was_not_forbidden() {
    for (verdict, expected) in [("allow", CallStage::Failed), ("deny", CallStage::Refused)] {
        let mut seen = Transcript::default();
        let facts = [proposed("c1"), judged("c1", verdict), finished("c1", false, &json!([]))];
        apply(&mut seen, &facts);
        assert_eq!(stage(&seen), expected, "{verdict}");
    }
}

#[test]
fn f1_a_question_of_the_agent_waits_and_one_of_a_server_lets_its_call_go_on() {
    let asked = |server: Option<&str>| {
        let fields = json!({
            "question": "q1", "call": "c1", "text": "Which?", "options": [], "multiple": false,
            "server": server,
        });
        ("question.asked", fields)
    };
    let answered = || ("question.answered", json!({"question": "q1", "answer": "a", "by": "ada"}));
    let mut seen = Transcript::default();
    apply(&mut seen, &[proposed("c1"), asked(None)]);
    assert_eq!((stage(&seen), seen.asks().len()), (CallStage::Waiting, 1));
    let changes = apply(&mut seen, &[answered()]);
    assert_eq!((stage(&seen), seen.asks().len()), (CallStage::Proposed, 0));
    let words = "ada answered: a".to_owned();
    assert_eq!(changes[0], TranscriptChange::AskClosed { name: "q1".into(), words });
    apply(&mut seen, &[("call.started", json!({"call": "c1"})), asked(Some("files"))]);
    assert_eq!(stage(&seen), CallStage::Waiting);
    apply(&mut seen, &[answered()]);
    assert_eq!(stage(&seen), CallStage::Running);
}

#[test]
fn q18_what_a_call_used_elsewhere_counts() {
    let used = json!([{"news": "used", "usage": {"input": 5, "output": 7}, "cost_usd": 0.25}]);
    let mut seen = Transcript::default();
    apply(&mut seen, &[proposed("c1"), finished("c1", true, &used)]);
    assert_eq!((seen.meters().tokens, seen.meters().cost_usd), (12, 0.25));
}

#[test]
fn d4_only_the_approval_that_told_of_an_unknown_outcome_settles_it() {
    let unknown = |call: &str| {
        ("call.unknown", json!({"call": call, "tool": "run_shell", "reason": "killed"}))
    };
    let asked = |name: &str, told: &[&str]| {
        let fields = json!({
            "approval": name, "call": "c3", "tool": "run_shell", "input": {}, "summary": "s",
            "reason": "r", "unknown": told, "binds": "b",
        });
        ("approval.requested", fields)
    };
    let resolved = |name: &str, decision: &str| {
        let fields = json!({"approval": name, "call": "c3", "decision": decision, "by": "ada"});
        ("approval.resolved", fields)
    };
    let mut seen = Transcript::default();
    let calls = [proposed("c1"), proposed("c2"), unknown("c1"), unknown("c2"), proposed("c3")];
    apply(&mut seen, &calls);
    let left =
        |seen: &Transcript| seen.unknown_calls().iter().map(|it| it.call.0).collect::<Vec<_>>();
    assert_eq!(left(&seen), [1, 2]);
    apply(&mut seen, &[asked("a1", &[]), resolved("a1", "once")]);
    apply(&mut seen, &[asked("a2", &["c1"]), resolved("a2", "deny")]);
    assert_eq!(left(&seen), [1, 2]);
    apply(&mut seen, &[asked("a3", &["c1"]), resolved("a3", "once")]);
    assert_eq!(left(&seen), [2]);
}

#[test]
fn l12_what_waits_leaves_the_queue_by_a_fact_alone() {
    let said = |input: &str| {
        let fields = json!({
            "input": input, "by": "ada", "content": [{"type": "text", "text": input}],
        });
        ("input.accepted", fields)
    };
    let mut seen = Transcript::default();
    let run = ("run.started", json!({"run": "r1", "trigger": "user"}));
    let changes = apply(&mut seen, &[said("i1"), run, said("i2"), said("i3")]);
    assert!(matches!(changes[0], TranscriptChange::InputSaid(_)));
    assert_eq!(seen.queued_inputs().count(), 2);
    let turn = json!({"turn": "t2", "iteration": 2, "inputs": ["i1", "i2"]});
    let withdrawn = json!({"input": "i3", "by": "ada"});
    let changes = apply(&mut seen, &[("turn.started", turn), ("input.withdrawn", withdrawn)]);
    let kinds = [
        matches!(changes[0], TranscriptChange::InputDelivered(_)),
        matches!(changes[1], TranscriptChange::InputWithdrawn(_)),
    ];
    assert_eq!((kinds, changes.len(), seen.queued_inputs().count()), ([true, true], 2, 0));
}
