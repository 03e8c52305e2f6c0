//! What an unknown outcome holds back, and what settles it, where calls run beside each other (D4).
//! Not here: calls one after the other (`scenarios/recovery`).

use serde_json::{Value, json};
use weir_core::event::{ApprovalRequested, Decision};
use weir_core::governance::label::Label;
use weir_core::ids::CallId;
use weir_core::input::{EffectAnswer, SessionCommand};
use weir_core::profile::PermissionMode;
use weir_core::session::SessionConfig;
use weir_core::tool::{EffectClass, Effects, Inspection};

use crate::played::{self, Played};

fn config() -> SessionConfig {
    SessionConfig { permission: PermissionMode::Full, ..played::config(&["send", "read"]) }
}

/// What is found about a call: `send` changes the world, `read` reads a file that asks.
fn inspection(tool: &str) -> Inspection {
    let mut effects = Effects::default();
    let class = if tool == "send" {
        effects.remembers.push("a word".into());
        EffectClass::Once
    } else {
        EffectClass::Read
    };
    let confirm = (tool == "read").then(|| "It asks in any case.".to_string());
    Inspection { class, summary: format!("Use {tool}"), confirm, ..played::inspection(effects) }
}

/// A session whose model has asked for these calls, all inspected.
fn after(calls: &[(&str, Value)]) -> Played {
    let mut played = Played::open(config(), "Do it.", Label::default());
    let ids = played.turn(1, calls);
    for (call, (tool, _)) in ids.into_iter().zip(calls) {
        played.inspect(call, inspection(tool));
    }
    played
}

/// The program dies, and what had started is not to be found out.
fn crash(played: &mut Played, lost: CallId) {
    played.command(SessionCommand::Resume { engine: "test".into() });
    played.answer(EffectAnswer::Lost { call: lost, reason: "it cannot be asked".into() });
}

#[test]
fn d4_a_call_that_was_allowed_before_an_outcome_became_unknown_is_asked_about() {
    let sends = [("send", json!({"n": 1})), ("send", json!({"n": 2})), ("send", json!({"n": 3}))];
    let mut played = after(&sends);
    let [first, second, third] = [CallId(1), CallId(2), CallId(3)];
    assert!(played.has_started(first) && played.has_started(second), "two run beside each other");
    assert!(!played.has_started(third), "the third waits for room");
    crash(&mut played, first);
    assert!(!played.has_started(third), "nobody knows of the first: the third does not just start");
    let asked = played.asked(third);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].unknown, [first], "the question tells of it: {}", asked[0].reason);
    assert!(asked[0].reason.contains("c1 (send {\"n\":1})"), "{}", asked[0].reason);
    played.answer(EffectAnswer::Lost { call: second, reason: "it cannot be asked either".into() });
    played.decide(third, Decision::Once);
    assert!(!played.has_started(third), "of the second it was not told");
    assert_eq!(played.asked(third)[1].unknown, [second]);
    played.decide(third, Decision::Once);
    assert!(played.has_started(third), "now it was told of both");
}

#[test]
fn d4_an_answer_to_a_question_from_before_settles_nothing() {
    let calls = [("send", json!({"n": 1})), ("read", json!({})), ("send", json!({"n": 3}))];
    let mut played = after(&calls);
    let [first, read, third] = [CallId(1), CallId(2), CallId(3)];
    assert!(played.has_started(first) && played.has_started(third));
    assert_eq!(played.asked(read).len(), 1);
    crash(&mut played, first);
    played.answer(EffectAnswer::Lost { call: third, reason: "it cannot be asked either".into() });
    played.decide(read, Decision::Once);
    assert!(played.has_started(read), "what only reads needs no word about the others");
    let rules = &config().rules;
    let context = played.session.gate_context(rules).expect("it was opened");
    let open: Vec<CallId> =
        context.unknown.iter().filter(|one| !one.settled).map(|one| one.call).collect();
    assert_eq!(open, [first, third], "and says nothing of them");
}

#[test]
fn d4_a_journal_from_before_questions_told_of_outcomes_is_read_and_settles_nothing() {
    let old = json!({
        "approval": "s-a1", "call": "c3", "tool": "send", "input": {}, "summary": "Use send",
        "reason": "An earlier call was started and nobody knows whether it took effect.",
        "binds": "x",
    });
    let read: ApprovalRequested = serde_json::from_value(old).expect("it is read");
    assert_eq!(read.unknown, [] as [CallId; 0]);
}
