//! A session that begins at a settled place: what is seen first, and that everything before it is there
//! afterwards, up to its very first entry.

use std::sync::Arc;

use crossterm::event::KeyCode;
use serde_json::{Value, json};
use weir_core::event::{Decision, Event};
use weir_core::ids::Timestamp;
use weir_core::view::transcript::{PlacedFact, SettledTranscript, Transcript};

use super::keys::decided;
use super::made::Face;
use crate::link::UiUpdate;

/// Runs of the session.
const RUNS: usize = 120;
/// Runs before the place at which it begins.
const RUNS_BEFORE: usize = 40;

fn add_fact(facts: &mut Vec<PlacedFact>, kind: &str, fields: &Value) {
    let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
    let (seq, ts) = (facts.len() as u64 + 1, Timestamp(1_700_000_000_000_000));
    facts.push(PlacedFact { seq, ts, event: Arc::new(event) });
}

/// The journal of the session: a question and its answer in each run.
fn journal() -> Vec<PlacedFact> {
    let mut facts = Vec::new();
    let mut add = |kind: &str, fields: &Value| add_fact(&mut facts, kind, fields);
    add("session.opened", &super::made::opened());
    for n in 1..=RUNS {
        let (input, run, turn) = (format!("i{n}"), format!("r{n}"), format!("t{n}"));
        let text = |words: &str| json!([{"type": "text", "text": format!("{words} {n}.")}]);
        let usage = json!({"input": 1_000, "output": 50});
        add("input.accepted", &json!({"input": input, "content": text("question"), "by": "ada"}));
        add("run.started", &json!({"run": run, "trigger": "user"}));
        add("turn.started", &json!({"turn": turn, "iteration": 1, "inputs": [input]}));
        let reply = json!({"turn": turn, "content": text("answer"), "stop": "end", "usage": usage,
            "cost_usd": 0.01});
        add("model.replied", &reply);
        let end = json!({"run": run, "status": "completed", "text": "", "cost_usd": 0.01,
            "iterations": 1, "usage": usage, "tool_calls": 0, "denials": [], "changed_files": [],
            "error": null});
        add("run.finished", &end);
    }
    facts
}

/// What is seen after these facts, at which nothing is open.
fn settled(facts: &[PlacedFact]) -> SettledTranscript {
    let mut seen = Transcript::default();
    for fact in facts {
        seen.apply(fact);
    }
    seen.to_settled().expect("nothing is open")
}

fn tell(face: &mut Face, facts: &[PlacedFact]) {
    for at in facts {
        face.news(&UiUpdate::Fact { seq: at.seq, ts: at.ts, event: at.event.clone() });
    }
}

fn entries(face: &Face) -> Vec<String> {
    let entries = face.app.fold.transcript.entries().iter();
    entries.map(|entry| format!("{entry:?}")).collect()
}

#[test]
fn q10_a_session_that_begins_at_a_settled_place_can_be_scrolled_to_its_first_entry() {
    let facts = journal();
    let known = facts.len() as u64;
    let mut whole = Face::shut(80, 12);
    whole.opened(known);
    tell(&mut whole, &facts);
    let mut face = Face::shut(80, 12);
    face.opened(known);
    let (before, after) = facts.split_at(1 + 5 * RUNS_BEFORE);
    face.news(&UiUpdate::Settled(Box::new(settled(before))));
    assert_eq!(face.app.fold.settings.model, "script/demo", "what holds is known at once");
    tell(&mut face, after);
    face.shot();
    let printed = face.printed.join("\n");
    assert!(printed.contains("… earlier entries: Ctrl-O shows them"), "{printed}");
    assert!(printed.contains("answer 120.") && !printed.contains("question 41."), "{printed}");
    assert_eq!(face.app.fold.view.meters(), whole.app.fold.view.meters());

    // Somebody who is at the first entry that was told stays there while others come in above it.
    face.control('o');
    face.press(KeyCode::Home);
    assert!(face.shot().contains("question 41."));
    let (some, rest) = before.split_at(77);
    face.news(&UiUpdate::Earlier(some.to_vec()));
    assert!(entries(&face).len() < entries(&whole).len(), "not all of them are there");
    // What was told already counts once.
    face.news(&UiUpdate::Earlier([&some[70..], rest].concat()));
    assert!(face.shot().contains("> ") && face.shot().contains("question 41."));
    face.press(KeyCode::PageUp);
    let above = face.shot();
    let is_seen = |n: usize| above.contains(&format!("answer {n}."));
    assert!((30..=RUNS_BEFORE).any(is_seen), "what came in stands above: {above}");
    face.press(KeyCode::Home);
    let first = face.shot();
    assert!(first.contains("question 1.") && first.contains("answer 1."), "{first}");
    assert_eq!(entries(&face), entries(&whole));
}

/// Adds a run that waits for a person.
fn add_question(facts: &mut Vec<PlacedFact>) {
    let content = json!([{"type": "text", "text": "Run it."}]);
    let input = json!({"command": "make"});
    for (kind, fields) in [
        ("input.accepted", json!({"input": "i121", "content": content, "by": "ada"})),
        ("run.started", json!({"run": "r121", "trigger": "user"})),
        ("turn.started", json!({"turn": "t121", "iteration": 1, "inputs": ["i121"]})),
        (
            "call.proposed",
            json!({"call": "c1", "turn": "t121", "tool": "run_shell", "input": input}),
        ),
        (
            "approval.requested",
            json!({"approval": "a1", "call": "c1", "tool": "run_shell", "input": input,
                "summary": "Run make", "reason": "commands are asked", "binds": "x", "rules": []}),
        ),
    ] {
        add_fact(facts, kind, &fields);
    }
}

#[test]
fn c2_what_waits_for_a_person_can_be_answered_before_and_after_earlier_entries_come() {
    for comes_first in [false, true] {
        let mut facts = journal();
        add_question(&mut facts);
        let known = facts.len();
        let mut face = Face::shut(80, 24);
        face.opened(known as u64);
        let (before, after) = facts.split_at(1 + 5 * RUNS_BEFORE);
        let earlier = UiUpdate::Earlier(before.to_vec());
        face.news(&UiUpdate::Settled(Box::new(settled(before))));
        tell(&mut face, after);
        assert!(face.shot().contains("Run make"), "it is asked at once");
        if comes_first {
            face.news(&earlier);
            assert!(face.shot().contains("Run make"), "it is still asked");
        }
        face.wait(1_000);
        face.wished();
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), decided(Decision::Once, None), "{comes_first}");
        if !comes_first {
            face.news(&earlier);
        }
        let answered = json!({"approval": "a1", "call": "c1", "decision": "once", "by": "ada"});
        add_fact(&mut facts, "approval.resolved", &answered);
        let result = json!([{"type": "text", "text": "made"}]);
        let done = json!({"call": "c1", "tool": "run_shell", "ok": true, "summary": "1 line",
            "result": result, "confirmed": false, "bytes": 4, "duration_ms": 1});
        add_fact(&mut facts, "call.finished", &done);
        tell(&mut face, &facts[known..]);
        let found = entries(&face);
        assert_eq!(found.iter().filter(|entry| entry.contains("Run it.")).count(), 1);
        let is_done = |entry: &String| entry.contains("stage: Done");
        assert!(found.iter().any(is_done), "its own row is told how it ended: {found:?}");
        let place = |words: &str| found.iter().position(|entry| entry.contains(words));
        let (first, later) = (place("question 1."), place("question 41."));
        assert!(first.is_some() && first < later, "{first:?} stands above {later:?}");
    }
}
