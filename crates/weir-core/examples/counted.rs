//! What `cargo xtask instructions` counts of this crate: `counted fold N` folds a journal N times, `counted
//! read N` reads its records and folds them, `counted view N` folds what a person sees of it, `counted gate N`
//! judges each kind of call N times with 200 rules. The difference of two N is what one
//! more costs, without what made the input. It is not shipped, and it measures no time: the benches do.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::Session;
use weir_core::view::transcript::{PlacedFact, Transcript};

#[path = "../benches/inputs/journal.rs"]
mod journal;
#[path = "../benches/inputs/rules.rs"]
mod rules;

/// Turns of the journal, of some nine facts each.
const TURNS: u32 = 500;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, times] = words.as_slice() else { return ExitCode::FAILURE };
    let Ok(times) = times.parse::<u32>() else { return ExitCode::FAILURE };
    match what.as_str() {
        "fold" => fold(times),
        "read" => read(times),
        "view" => view(times),
        "gate" => judge(times),
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn fold(times: u32) {
    let facts = journal::journal(TURNS);
    for _ in 0..times {
        let facts = facts.iter().map(|(ts, event)| (*ts, event));
        black_box(Session::replay(SessionId::new("counted"), facts));
    }
}

fn read(times: u32) {
    let facts = journal::journal(TURNS);
    let records: Vec<_> =
        facts.iter().map(|(ts, event)| (*ts, event.kind(), event.payload())).collect();
    for _ in 0..times {
        let mut session = Session::new(SessionId::new("counted"));
        for (ts, kind, payload) in &records {
            let event = Event::from_payload(kind, payload).expect("a fact");
            session.apply(*ts, &event);
        }
        black_box(session);
    }
}

fn view(times: u32) {
    let facts = (1..).zip(journal::journal(TURNS));
    let facts: Vec<PlacedFact> =
        facts.map(|(seq, (ts, event))| PlacedFact { seq, ts, event: Arc::new(event) }).collect();
    for _ in 0..times {
        let mut transcript = Transcript::default();
        for fact in &facts {
            black_box(transcript.apply(fact));
        }
    }
}

fn judge(times: u32) {
    let calls = rules::KINDS.map(rules::JudgedCall::new);
    for _ in 0..times {
        for call in &calls {
            black_box(call.judge());
        }
    }
}
