//! A clock that was wrong (D9): a session whose journal tells of moments that are yet to come, as one
//! has that was used before the clock was set right, is gone on with at once. What schedules make of
//! it is in `weir-scenario`.

use std::sync::Arc;

use serde_json::Value;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::record::GENESIS;
use weir_core::view::wire;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{Append, SessionFilter, Store as _};
use weir_store::{SqliteStore, this_process};
use weir_test_kit::TestInstallation;

const SCRIPT: &str = "name: test\n\nsays: The first answer.\n\nsays: The second answer.\n\n\
    calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\nsays: The third answer.\n";

fn house() -> TestInstallation {
    TestInstallation::with_scripted_model(SCRIPT, "")
}

/// Writes the newest session of `house` again under another name, as if the clock had run ahead by
/// so many hours when it was used.
async fn from_the_future(house: &TestInstallation, hours: i64) -> SessionId {
    let store = Arc::new(SqliteStore::open(&house.at("state/weir")).expect("it opens"));
    let meta = store.list_sessions(&SessionFilter::default()).await.expect("readable").remove(0);
    let id = SessionId::new("01a20000000000000000000000000001");
    let later = |ts: Timestamp| Timestamp(ts.micros() + hours * 3_600_000_000);
    let mut hash = GENESIS.to_string();
    let mut records = Vec::new();
    for old in store.read_records(&meta.id, 1, 1_000).await.expect("readable") {
        let fact = fact_of(&old).expect("ours");
        let record = wire::fact_record(&id, old.seq, later(old.ts), &fact.event, &hash);
        hash.clone_from(&record.hash);
        records.push(record);
    }
    let lease = store.acquire_lease(&id, &this_process("test")).await.expect("free");
    let (created, updated) = (later(meta.created), later(meta.updated));
    let append = Append::of_records(
        lease.clone(),
        0,
        records,
        weir_engine::ports::SessionMeta { id: id.clone(), created, updated, ..meta },
    );
    store.append(append).await.expect("writable");
    store.release_lease(&lease).await.expect("writable");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn d9_a_session_that_the_clock_ran_ahead_of_goes_on_at_once() {
    for hours in [5, 3 * 365 * 24] {
        let house = house();
        house.ok(&["run", "Say something."]);
        let id = from_the_future(&house, hours).await;
        for (words, answer) in [("More.", "The second answer."), ("Write.", "The third answer.")] {
            let args = ["run", "--permission", "full", "--resume", id.as_str(), words];
            let said = house.start(&args).close_input_until_end().await;
            assert_eq!(said.status, 0, "{hours} hours: {}", said.err);
            assert_eq!(said.out.trim(), answer);
        }
        let export = house.ok(&["sessions", "export", id.as_str()]);
        let facts: Vec<Value> =
            export.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let seqs: Vec<u64> = facts.iter().filter_map(|fact| fact["seq"].as_u64()).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "gapless");
        let times: Vec<&str> = facts.iter().filter_map(|fact| fact["ts"].as_str()).collect();
        assert!(times.is_sorted(), "the order of facts is that of their moments: {times:?}");
    }
}
