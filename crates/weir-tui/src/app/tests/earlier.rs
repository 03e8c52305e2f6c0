//! A session that begins at a settled place: what is seen first, and that everything before it is read when
//! somebody comes near it and never before, up to its very first entry.

use std::sync::Arc;

use crossterm::event::KeyCode;
use serde_json::{Value, json};
use weir_core::event::{Decision, Event};
use weir_core::ids::Timestamp;
use weir_core::view::transcript::{PlacedFact, SettledPlace, SettledTranscript, Transcript};

use super::keys::decided;
use super::made::Face;
use crate::app::TerminalAction;
use crate::app::entries::EarlierReach;
use crate::link::{CommandTicket, NoticeTone, UiCommand, UiUpdate};

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

/// Facts of so many runs, with the one that opened the session.
fn facts_of(runs: usize) -> usize {
    1 + 5 * runs
}

/// A face that is told all, and one that begins after [`RUNS_BEFORE`].
fn whole_and_begun(facts: &[PlacedFact]) -> (Face, Face) {
    let known = facts.len() as u64;
    let mut whole = Face::shut(80, 12);
    whole.opened(known);
    tell(&mut whole, facts);
    let mut face = Face::shut(80, 12);
    face.opened(known);
    let (before, after) = facts.split_at(facts_of(RUNS_BEFORE));
    face.news(&UiUpdate::Settled(Box::new(settled(before))));
    assert_eq!(face.app.fold.settings.model, "script/demo", "what holds is known at once");
    tell(&mut face, after);
    (whole, face)
}

/// The one wish for a part since the last look: the last fact that is wanted, and its ticket.
fn wished_part(face: &mut Face) -> Option<(usize, CommandTicket)> {
    let wished = face.wished();
    let mut parts = wished.iter().filter_map(|wish| match wish {
        UiCommand::Earlier { last, ticket, .. } => {
            Some((usize::try_from(*last).expect("it is a small number"), *ticket))
        }
        _ => None,
    });
    let part = parts.next();
    assert!(parts.next().is_none(), "one at a time");
    part
}

/// What is on the screen, without what was printed.
fn screen(face: &mut Face) -> String {
    let shot = face.shot();
    let (_, live) = shot.split_once("════ live ════").expect("it stands there");
    live.to_owned()
}

/// The part from after so many runs on, as it was wished for.
fn part(facts: &[PlacedFact], runs: usize, wish: (usize, CommandTicket)) -> UiUpdate {
    let ((last, ticket), first) = (wish, if runs == 0 { 0 } else { facts_of(runs) });
    let from = match first {
        0 => SettledPlace::START,
        first => settled(&facts[..first]).settled_place().clone(),
    };
    UiUpdate::Earlier { ticket, from: Box::new(from), facts: facts[first..last].to_vec() }
}

#[test]
fn q10_a_session_that_begins_at_a_settled_place_can_be_scrolled_to_its_first_entry() {
    let facts = journal();
    let (whole, mut face) = whole_and_begun(&facts);
    face.shot();
    let printed = face.printed.join("\n");
    assert!(printed.contains("… earlier entries: Ctrl-O shows them"), "{printed}");
    assert!(printed.contains("answer 120.") && !printed.contains("question 41."), "{printed}");
    assert_eq!(face.app.fold.view.meters(), whole.app.fold.view.meters());
    face.control('o');
    face.shot();
    assert_eq!(wished_part(&mut face), None, "who only looks at the end has nothing read");

    // Who goes up has a part read that stands above what they look at; they stay where they are.
    let mut above = RUNS;
    let wish = loop {
        if let Some(wish) = wished_part(&mut face) {
            break wish;
        }
        face.press(KeyCode::PageUp);
        let seen = screen(&mut face);
        above = (41..=RUNS).find(|n| seen.contains(&format!("question {n}."))).unwrap_or(above);
        assert!(!seen.contains("question 40."), "it is not there");
    };
    assert_eq!(wish.0, facts_of(RUNS_BEFORE), "what stands before the place");
    face.news(&part(&facts, 30, wish));
    let seen = screen(&mut face);
    assert!(seen.contains(&format!("question {above}.")), "it stands where it stood: {seen}");
    assert!(entries(&face).len() < entries(&whole).len(), "not all of them are there");
    // Facts that come meanwhile stand at the end, and a part that nobody wished for counts nowhere.
    face.news(&part(&facts, 0, (facts_of(30), 1_000)));
    assert!(!entries(&face)[0].contains("question 1."), "nobody wished for it");
    // The beginning is reached over the parts that are left.
    face.press(KeyCode::Home);
    for runs in [20, 0] {
        let wish = wished_part(&mut face).expect("more is left");
        assert!(screen(&mut face).contains("reading earlier entries"));
        face.news(&part(&facts, runs, wish));
    }
    let first = screen(&mut face);
    assert!(first.contains("question 1.") && first.contains("answer 1."), "{first}");
    assert_eq!(wished_part(&mut face), None, "nothing is left");
    assert_eq!(entries(&face), entries(&whole), "the parts are the whole");
}

#[test]
fn q10_a_part_that_cannot_be_read_can_be_wished_for_again_and_the_session_goes_on() {
    let mut facts = journal();
    let (_, mut face) = whole_and_begun(&facts);
    face.control('o');
    face.shot();
    face.press(KeyCode::Home);
    let (_, ticket) = wished_part(&mut face).expect("it is wished for");
    // Keys do what they do while it is read, and what happens is told.
    face.press(KeyCode::End);
    face.press(KeyCode::Home);
    assert_eq!(wished_part(&mut face), None, "it is under way");
    let known = facts.len();
    let said = json!([{"type": "text", "text": "one more"}]);
    add_fact(&mut facts, "input.accepted", &json!({"input": "i121", "content": said, "by": "ada"}));
    tell(&mut face, &facts[known..]);
    face.news(&UiUpdate::Failed { ticket, why: "the disk is away".into() });
    let seen = face.shot();
    assert!(seen.contains("cannot be read (go up to try again): the disk is away"), "{seen}");
    face.press(KeyCode::Up);
    let wish = wished_part(&mut face).expect("it is tried again");
    // What came is not what was asked for.
    face.news(&part(&facts[..facts_of(39)], 0, (facts_of(39), wish.1)));
    assert!(face.shot().contains("cannot be read"));
    face.press(KeyCode::Home);
    let wish = wished_part(&mut face).expect("it is tried again");
    face.news(&part(&facts, 0, wish));
    let mut whole = Face::shut(80, 12);
    whole.opened(known as u64);
    tell(&mut whole, &facts);
    assert!(face.shot().contains("question 1."));
    let texts = |face: &Face| face.app.fold.transcript.entries().iter().map(|at| at.seq).collect();
    let (found, expected): (Vec<u64>, Vec<u64>) = (texts(&face), texts(&whole));
    assert_eq!(found, expected);
}

#[test]
fn q10_a_copy_waits_until_the_last_answer_is_read() {
    // The last answer stands before the place: after it only something was said.
    let mut facts = journal();
    facts.truncate(facts_of(RUNS_BEFORE));
    let content = json!([{"type": "text", "text": "go on"}]);
    let said = json!({"input": "i41", "content": content, "by": "ada"});
    add_fact(&mut facts, "input.accepted", &said);
    let (_, mut face) = whole_and_begun(&facts);
    face.app.typed("/copy");
    face.wishes.extend(face.app.take_wishes());
    let wish = wished_part(&mut face).expect("it is read");
    assert!(face.app.take_acts().is_empty(), "there is nothing yet");
    face.news(&UiUpdate::Failed { ticket: wish.1, why: "the disk is away".into() });
    let hint = face.app.hint.as_ref().map(|hint| (hint.tone, hint.text.clone()));
    let why = "The last answer cannot be read: the disk is away";
    assert_eq!(hint, Some((NoticeTone::Bad, why.into())));
    face.app.typed("/copy");
    face.wishes.extend(face.app.take_wishes());
    let wish = wished_part(&mut face).expect("it is tried again");
    // What came is not what was asked for: it is not asked for once more by itself.
    face.news(&part(&facts[..facts_of(39)], 0, (facts_of(39), wish.1)));
    assert_eq!(wished_part(&mut face), None, "nobody asked again");
    face.app.typed("/copy");
    face.wishes.extend(face.app.take_wishes());
    let wish = wished_part(&mut face).expect("it is tried again");
    face.news(&part(&facts, 20, wish));
    assert_eq!(face.app.take_acts(), [TerminalAction::Copy("answer 40.".into())]);
}

#[test]
fn q10_going_back_is_offered_where_all_messages_stand_before_the_place() {
    let mut facts = journal();
    facts.truncate(facts_of(RUNS_BEFORE));
    let (_, mut face) = whole_and_begun(&facts);
    face.shot();
    face.press(KeyCode::Esc);
    assert!(face.app.hint.as_ref().is_some_and(|hint| hint.text.contains("Esc again")));
    face.press(KeyCode::Esc);
    let wish = wished_part(&mut face).expect("the last message is read at once");
    face.news(&part(&facts, 20, wish));
    assert!(screen(&mut face).contains("question 40."));
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
        let read = |face: &mut Face, facts: &[PlacedFact]| {
            face.app.read_earlier(EarlierReach::Far);
            face.wishes.extend(face.app.take_wishes());
            let wish = wished_part(face).expect("it is wished for");
            face.news(&part(facts, 0, wish));
        };
        let mut facts = journal();
        add_question(&mut facts);
        let known = facts.len();
        let mut face = Face::shut(80, 24);
        face.opened(known as u64);
        let (before, after) = facts.split_at(facts_of(RUNS_BEFORE));
        face.news(&UiUpdate::Settled(Box::new(settled(before))));
        tell(&mut face, after);
        assert!(face.shot().contains("Run make"), "it is asked at once");
        if comes_first {
            read(&mut face, &facts);
            assert!(face.shot().contains("Run make"), "it is still asked");
        }
        face.wait(1_000);
        face.wished();
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), decided(Decision::Once, None), "{comes_first}");
        if !comes_first {
            read(&mut face, &facts);
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
