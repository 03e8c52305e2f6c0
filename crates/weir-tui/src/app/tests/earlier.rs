//! A session that begins at a settled place: what is seen first, and that everything before it is there
//! afterwards, up to its very first entry.

use std::sync::Arc;

use crossterm::event::KeyCode;
use serde_json::{Value, json};
use weir_core::event::Event;
use weir_core::ids::Timestamp;
use weir_core::view::transcript::{PlacedFact, SettledTranscript, Transcript};

use super::made::Face;
use crate::link::UiUpdate;

/// Runs of the session.
const RUNS: usize = 120;
/// Runs before the place at which it begins.
const RUNS_BEFORE: usize = 40;

/// The journal of the session: a question and its answer in each run.
fn journal() -> Vec<PlacedFact> {
    let mut facts = Vec::new();
    let mut add = |kind: &str, fields: &Value| {
        let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
        let seq = facts.len() as u64 + 1;
        facts.push(PlacedFact {
            seq,
            ts: Timestamp(1_700_000_000_000_000),
            event: Arc::new(event),
        });
    };
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
