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
fn f1_a_call_that_ends_badly_failed_was_not_allowed_or_was_not_done() {
    let started = || ("call.started", json!({"call": "c1"}));
    let refused = |gate: &str| {
        let (kind, mut fields) = judged("c1", "deny");
        fields["gate"] = json!(gate);
        (kind, fields)
    };
    for (between, expected) in [
        (vec![judged("c1", "allow"), started()], CallStage::Failed),
        (vec![judged("c1", "allow")], CallStage::NotDone),
        (vec![judged("c1", "deny")], CallStage::Refused),
        (vec![refused("rules")], CallStage::Refused),
        // No denial but a mistake: such arguments are none of this tool.
        (vec![refused("arguments")], CallStage::NotDone),
    ] {
        let mut seen = Transcript::default();
        let facts = [vec![proposed("c1")], between, vec![finished("c1", false, &json!([]))]];
        apply(&mut seen, &facts.concat());
        assert_eq!(stage(&seen), expected, "{facts:?}");
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
    let outcome = AskOutcome::Answered;
    assert_eq!(changes[0], TranscriptChange::AskClosed { name: "q1".into(), outcome, words });
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

fn said(input: &str) -> (&'static str, Value) {
    let fields = json!({"input": input, "by": "ada", "content": [{"type": "text", "text": input}]});
    ("input.accepted", fields)
}

#[test]
fn l12_what_was_said_before_a_run_is_untold_until_a_turn_takes_it() {
    let mut seen = Transcript::default();
    let run = || ("run.started", json!({"run": "r1", "trigger": "user"}));
    apply(&mut seen, &[said("i1"), run()]);
    assert!(seen.has_untold_input() && seen.queued_inputs().is_empty());
    let turn = json!({"turn": "t1", "iteration": 1, "inputs": ["i1"]});
    apply(&mut seen, &[("turn.started", turn)]);
    assert!(!seen.has_untold_input());
    let mut seen = Transcript::default();
    let withdrawn = || ("input.withdrawn", json!({"input": "i1"}));
    let changes = apply(&mut seen, &[said("i1"), run(), withdrawn()]);
    assert!(matches!(changes.last(), Some(TranscriptChange::InputUnsaid(_))), "{changes:?}");
    assert!(!seen.has_untold_input());
}

#[test]
fn l2_a_picture_that_the_reply_shows_is_not_shown_again() {
    let media = json!({"blob": "b1", "media_type": "image/png", "bytes": 3});
    let replied = json!({
        "turn": "t1", "content": [{"type": "image", "media": media}], "stop": "end",
        "usage": {"input": 1, "output": 1},
    });
    let made = |blob: &str| {
        ("image.produced", json!({"turn": "t1", "media_type": "image/png", "blob": blob}))
    };
    let mut seen = Transcript::default();
    let changes = apply(&mut seen, &[("model.replied", replied), made("b1"), made("b2")]);
    let images = changes.iter().filter_map(|change| match change {
        TranscriptChange::ImageAdded(at) => Some(at.fact.blob.0.as_str()),
        _ => None,
    });
    assert_eq!(images.collect::<Vec<_>>(), ["b2"]);
}

#[test]
fn l12_what_waits_leaves_the_queue_by_a_fact_alone() {
    let mut seen = Transcript::default();
    let run = ("run.started", json!({"run": "r1", "trigger": "user"}));
    let changes = apply(&mut seen, &[said("i1"), run, said("i2"), said("i3")]);
    assert!(matches!(changes[0], TranscriptChange::InputSaid(_)));
    assert_eq!(seen.queued_inputs().len(), 2);
    let turn = json!({"turn": "t2", "iteration": 2, "inputs": ["i1", "i2"]});
    let withdrawn = json!({"input": "i3", "by": "ada"});
    let changes = apply(&mut seen, &[("turn.started", turn), ("input.withdrawn", withdrawn)]);
    let kinds = [
        matches!(changes[0], TranscriptChange::InputDelivered(_)),
        matches!(changes[1], TranscriptChange::InputWithdrawn(_)),
    ];
    assert_eq!((kinds, changes.len(), seen.queued_inputs().len()), ([true, true], 2, 0));
}

#[test]
fn l12_what_is_said_between_runs_keeps_what_a_run_left_in_the_queue() {
    let mut seen = Transcript::default();
    let run = ("run.started", json!({"run": "r1", "trigger": "user"}));
    apply(&mut seen, &[said("i1"), run, said("i2"), said("i3")]);
    let ended = json!({
        "run": "r1", "status": "interrupted", "text": "", "iterations": 1, "tool_calls": 0,
        "usage": {"input": 1, "output": 1}, "denials": [], "changed_files": [],
    });
    apply(&mut seen, &[("run.finished", ended), said("i4")]);
    let queued = |seen: &Transcript| {
        seen.queued_inputs().iter().map(|said| said.fact.input.0).collect::<Vec<_>>()
    };
    assert_eq!(queued(&seen), [2, 3]);
    let turn =
        |inputs: Value| ("turn.started", json!({"turn": "t1", "iteration": 1, "inputs": inputs}));
    let changes = apply(&mut seen, &[turn(json!(["i4", "i3"]))]);
    assert!(
        matches!(&changes[..], [TranscriptChange::InputDelivered(said)] if said.fact.input.0 == 3)
    );
    assert_eq!(queued(&seen), [2]);
    let changes = apply(&mut seen, &[turn(json!(["i1", "i2"]))]);
    assert!(
        matches!(&changes[..], [TranscriptChange::InputDelivered(said)] if said.fact.input.0 == 2)
    );
    assert!(!seen.has_untold_input());
}

#[test]
fn q10_what_is_seen_is_kept_where_nothing_is_open_and_gone_on_with() {
    let told = [
        ("run.started", json!({"run": "r1", "trigger": "user"})),
        proposed("c1"),
        judged("c1", "allow"),
        ("call.started", json!({"call": "c1"})),
        finished("c1", true, &json!([])),
        proposed("c2"),
        finished("c2", false, &json!([])),
    ];
    let (mut seen, mut kept) = (Transcript::default(), Transcript::default());
    let mut places = Vec::new();
    for (n, (kind, fields)) in told.iter().enumerate() {
        let at = fact(n as Seq + 1, kind, fields);
        assert_eq!(seen.apply(&at), kept.apply(&at), "{kind}");
        let Some(settled) = kept.to_settled() else { continue };
        let text = serde_json::to_string(&settled).expect("it has a form as JSON");
        let read: SettledTranscript = serde_json::from_str(&text).expect("it is read again");
        assert_eq!(read, settled, "{text}");
        assert_eq!(seen.to_settled().as_ref(), Some(&settled), "{kind}");
        kept = read.to_transcript();
        assert!(kept.find_call(CallId(1)).is_none(), "what is over is not kept");
        places.push(settled.settled_place().seq);
    }
    assert_eq!(places, [1, 5, 7], "a call is open from its proposal to its end");
    let earlier = seen.at_earlier_place(&SettledPlace::START).expect("no words were given up");
    assert_eq!(earlier, Transcript::default());
}

#[test]
fn q10_of_calls_that_are_over_none_is_looked_at_to_know_whether_any_runs() {
    let mut seen = Transcript::default();
    let started = |call: &str| ("call.started", json!({ "call": call }));
    let none = json!([]);
    let run = ("run.started", json!({ "run": "r1", "trigger": "user" }));
    apply(&mut seen, &[run, proposed("c1"), proposed("c2"), started("c1"), started("c2")]);
    assert_eq!((seen.running.len(), seen.has_calls_at_work()), (2, true));
    apply(&mut seen, &[finished("c1", true, &none)]);
    assert_eq!((seen.running.len(), seen.has_calls_at_work()), (1, true));
    apply(&mut seen, &[finished("c2", false, &none)]);
    assert_eq!((seen.running.len(), seen.has_calls_at_work()), (0, false));
    // One that runs when its run ends is gone with it.
    apply(&mut seen, &[proposed("c3"), started("c3")]);
    assert!(seen.has_calls_at_work());
    let ended = json!({
        "run": "r1", "status": "interrupted", "text": "", "iterations": 1, "tool_calls": 3,
        "usage": {"input": 1, "output": 1}, "denials": [], "changed_files": [],
    });
    apply(&mut seen, &[("run.finished", ended)]);
    assert_eq!((seen.running.len(), seen.has_calls_at_work()), (0, false));
}

#[test]
fn q10_at_an_earlier_place_the_settings_are_those_that_held_there() {
    let mut seen = Transcript { settings: settings("script/one"), ..Transcript::default() };
    seen.apply(&fact(1, "run.started", &json!({"run": "r1", "trigger": "user"})));
    let place = seen.settled_place().expect("nothing is open");
    seen.settings = settings("script/two");
    let earlier = seen.at_earlier_place(&place).expect("no words were given up");
    assert_eq!((earlier.seq, earlier.is_running), (1, true));
    assert_eq!(earlier.settings(), &settings("script/one"));
}

fn settings(model: &str) -> VisibleSettings {
    VisibleSettings { model: model.into(), ..VisibleSettings::default() }
}

#[test]
fn r5_a_paused_run_says_who_paused_it_until_it_goes_on_or_ends() {
    let mut seen = Transcript::default();
    let started = || ("run.started", json!({"run": "r1", "trigger": "user"}));
    let paused = || ("run.paused", json!({"by": "ada"}));
    apply(&mut seen, &[paused()]);
    assert_eq!(seen.paused_by(), None, "no run is on");
    apply(&mut seen, &[started(), paused()]);
    seen.set_activity(Activity::Writing);
    assert_eq!(seen.paused_by(), Some("ada"), "what is under way changes nothing");
    assert_eq!(seen.activity().map(Activity::activity_words).as_deref(), Some("Paused by ada"));
    assert!(!seen.is_settled());
    apply(&mut seen, &[("run.resumed", json!({"by": "bob"}))]);
    assert_eq!((seen.paused_by(), seen.activity()), (None, Some(&Activity::Working)));
    let stopping = ("cancel.requested", json!({"cause": "cancelled", "by": "bob"}));
    apply(&mut seen, &[paused(), stopping]);
    assert_eq!(seen.activity(), Some(&Activity::Stopping));
}

#[test]
fn q10_calls_that_are_over_are_forgotten_and_others_go_on() {
    let started = |call: &str| ("call.started", json!({ "call": call }));
    let asked = json!({
        "question": "q1", "call": "c4", "text": "Which?", "options": [], "multiple": false,
    });
    let mut seen = Transcript::default();
    let facts = [
        proposed("c1"),
        judged("c1", "allow"),
        started("c1"),
        finished("c1", true, &json!([])),
        proposed("c2"),
        judged("c2", "allow"),
        started("c2"),
        proposed("c3"),
        judged("c3", "deny"),
        proposed("c4"),
        ("question.asked", asked),
    ];
    apply(&mut seen, &facts);
    seen.forget_settled_calls();
    let known = |call: u32| seen.find_call(CallId(call)).is_some();
    assert_eq!([1, 2, 3, 4].map(known), [false, true, true, true]);
    let changes = seen.apply(&fact(12, "call.finished", &finished("c2", true, &json!([])).1));
    assert!(changes.contains(&TranscriptChange::CallEnded(CallId(2))), "{changes:?}");
}
