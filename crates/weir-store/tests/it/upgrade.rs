//! Databases of every earlier schema are brought up to date, and lose nothing (D1).

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::json;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::record::{GENESIS, Record, verify_chain};
use weir_engine::ports::{RecallQuery, SessionFilter, Store, UsageFilter, UsageRow};
use weir_store::{SqliteStore, this_process};

use crate::support::NOON;

/// The steps of the schema, as they are kept.
fn steps() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let entries = std::fs::read_dir(folder).expect("it is in the repository");
    let mut steps: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    steps.sort();
    steps
}

fn facts() -> Vec<Record> {
    let usage = json!({ "input": 10, "output": 4, "cache_read": 1, "reasoning": 2 });
    let payloads = [
        ("input.accepted", json!({ "text": "weave" })),
        ("model.replied", json!({ "usage": usage, "cost_usd": 0.5 })),
        ("model.replied", json!({ "usage": usage })),
        ("run.finished", json!({ "run": 1 })),
    ];
    let mut last = GENESIS.to_string();
    let mut seq = 0;
    payloads
        .into_iter()
        .map(|(kind, payload)| {
            seq += 1;
            let mut record = Record {
                session: SessionId::new("one"),
                seq,
                ts: Timestamp(NOON + seq.cast_signed()),
                kind: kind.into(),
                v: 1,
                payload: payload.to_string(),
                hash: String::new(),
            };
            record.hash = record.hash_after(&last);
            last.clone_from(&record.hash);
            record
        })
        .collect()
}

fn old_database(file: &Path, version: usize) -> Connection {
    let connection = Connection::open(file).expect("a new file");
    for step in &steps()[..version] {
        let sql = std::fs::read_to_string(step).expect("readable");
        connection.execute_batch(&sql).expect("it was good once");
    }
    let set = format!("PRAGMA user_version = {version}");
    connection.execute_batch(&set).expect("writable");
    connection
}

/// Facts of sessions that were asked something before anybody kept what is open: one waits, for itself
/// and a sub-agent, another is over.
pub(crate) const ASKED_BEFORE: &[(&str, i64, &str, &str)] = &[
    ("waits", 1, "approval.requested", r#"{"approval":"waits-a1","input":{"x":"\\u0000 \u0000"}}"#),
    ("waits", 2, "approval.resolved", r#"{"approval":"waits-a1"}"#),
    ("waits", 3, "approval.requested", r#"{"approval":"waits-a2"}"#),
    ("waits", 4, "agent.asked", r#"{"agent":"waits_c1","request":{"approval":"waits_c1-a1"}}"#),
    ("waits", 5, "agent.finished", r#"{"agent":"waits_c1"}"#),
    ("waits", 6, "agent.asked", r#"{"agent":"waits_c2","request":{"approval":"waits_c2-a1"}}"#),
    ("waits", 7, "question.asked", r#"{"question":"waits-q1"}"#),
    ("waits_c2", 1, "approval.requested", r#"{"approval":"waits_c2-a1"}"#),
    ("over", 1, "approval.requested", r#"{"approval":"over-a1"}"#),
];

/// Which of them are open after the upgrade, by session and place.
pub(crate) const OPEN_AFTER: &[(&str, u64)] = &[("waits", 3), ("waits", 6), ("waits", 7)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_waited_before_the_upgrade_is_found_after_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let old = old_database(&folder.path().join("weir.db"), 7);
    for (id, status, facts) in
        [("waits", "waiting", 7), ("waits_c2", "waiting", 1), ("over", "completed", 1)]
    {
        let insert = "INSERT INTO sessions (id, epoch, facts, last_hash, workspace, title, model,
            profile, status, created, updated)
            VALUES (?1, 1, ?2, '', '/w', 't', 'm', 'p', ?3, ?4, ?4)";
        old.execute(insert, params![id, facts, status, NOON]).expect("writable");
    }
    for (session, seq, kind, payload) in ASKED_BEFORE {
        let insert = "INSERT INTO facts (session, seq, ts, kind, v, payload, hash)
            VALUES (?1, ?2, ?3, ?4, 1, ?5, '')";
        let values = params![session, seq, NOON + *seq, kind, payload];
        old.execute(insert, values).expect("writable");
    }
    old.close().expect("closed");
    let store = SqliteStore::open(folder.path()).expect("an earlier schema");
    let open = store.open_asks().await.expect("readable");
    let places: Vec<_> = open.iter().map(|fact| (fact.session.as_str(), fact.seq)).collect();
    assert_eq!(places, OPEN_AFTER);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_databases_of_every_earlier_schema_are_opened_with_all_they_hold() {
    let latest = steps().len();
    assert!(latest >= 8);
    for version in 1..=latest {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let old = old_database(&folder.path().join("weir.db"), version);
        let facts = facts();
        let insert = "INSERT INTO sessions (id, epoch, facts, last_hash, workspace, title, model,
            profile, status, created, updated)
            VALUES ('one', 1, 4, ?1, '/w', 't', 'acme/large', 'code', 'idle', ?2, ?2)";
        old.execute(insert, params![facts[3].hash, NOON]).expect("writable");
        for fact in &facts {
            let insert = "INSERT INTO facts (session, seq, ts, kind, v, payload, hash)
                VALUES ('one', ?1, ?2, ?3, 1, ?4, ?5)";
            let (seq, ts) = (fact.seq.cast_signed(), fact.ts.micros());
            let values = params![seq, ts, fact.kind, fact.payload, fact.hash];
            old.execute(insert, values).expect("writable");
        }
        let passage = "INSERT INTO passages (session, seq, text) VALUES ('one', 1, 'weave')";
        old.execute(passage, []).expect("writable");
        if version >= 2 {
            let mark = "INSERT INTO marks (workspace, path, origin, session, ts)
                VALUES ('/w/below', 'a', 'web', 'one', 1)";
            old.execute(mark, []).expect("writable");
        }
        old.close().expect("closed");
        let store = SqliteStore::open(folder.path()).expect("an earlier schema");
        let session = SessionId::new("one");
        let marks = store.file_marks("/w").await.expect("readable");
        assert_eq!(marks.len(), usize::from(version >= 2), "schema {version}");
        let found = store.read_records(&session, 1, 9).await.expect("readable");
        assert_eq!(found, facts, "schema {version}");
        verify_chain(GENESIS, 1, &found).expect("whole");
        assert_eq!(
            store.list_sessions(&SessionFilter::default()).await.expect("readable").len(),
            1
        );
        assert_eq!(store.search_passages("weave", 9).await.expect("readable").len(), 1);
        let query = RecallQuery { words: "weave".into(), limit: 9, ..RecallQuery::default() };
        assert_eq!(store.recall(&query).await.expect("readable").len(), 1);
        let used = store.usage_rows(&UsageFilter::default()).await.expect("readable");
        let expected = UsageRow {
            day: "2026-01-02".into(),
            model: "acme/large".into(),
            profile: "code".into(),
            agent: String::new(),
            usage: Usage { input: 20, output: 8, cache_read: 2, cache_write: 0, reasoning: 4 },
            cost_usd: 0.5,
            unpriced: 1,
            replies: 2,
            runs: 1,
        };
        // Where usage was counted already, nothing is counted again.
        let expected = if version < 7 { vec![expected] } else { Vec::new() };
        assert_eq!(used, expected, "schema {version}");
        let lease = store.acquire_lease(&session, &this_process("test")).await.expect("free");
        assert_eq!(lease.epoch, 2);
        store.check_integrity().await.expect("whole");
    }
}
