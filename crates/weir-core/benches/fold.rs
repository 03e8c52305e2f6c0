//! Q10: folding a journal, in facts a second; as it is read from records and as it is in memory.

use weir_core::event::Event;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::session::Session;

#[path = "inputs/journal.rs"]
mod inputs;

use inputs::journal;

/// Turns of the journal.
const TURNS: u32 = 2_000;

fn main() {
    divan::main();
}

#[divan::bench]
fn q10_fold(bencher: divan::Bencher<'_, '_>) {
    let facts = journal(TURNS);
    bencher.counter(divan::counter::ItemsCount::new(facts.len())).bench(|| {
        Session::replay(SessionId::new("bench"), facts.iter().map(|(ts, event)| (*ts, event)))
    });
}

#[divan::bench]
fn q10_read_and_fold(bencher: divan::Bencher<'_, '_>) {
    let records: Vec<(Timestamp, &'static str, String)> =
        journal(TURNS).into_iter().map(|(ts, event)| (ts, event.kind(), event.payload())).collect();
    bencher.counter(divan::counter::ItemsCount::new(records.len())).bench(|| {
        let mut session = Session::new(SessionId::new("bench"));
        for (ts, kind, payload) in &records {
            let event = Event::from_payload(kind, payload).expect("a fact");
            session.apply(*ts, &event);
        }
        session
    });
}
