//! What the store costs beside the disk: durable appends (Q11), opening (Q1), reading (Q10), finding
//! again (X4), the memory (M4), checkpoints and undo (Q14).
//!
//! `disk_sync` is the yardstick of the same run: one 4 KiB append and `fdatasync`, which is the
//! least that anything durable can cost. Set `WEIR_BENCH_DIR` to measure another disk than that of
//! the temporary folder.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use divan::Bencher;
use divan::counter::ItemsCount;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, SessionId, Timestamp};
use weir_core::memory::{MemoryKind, MemorySource, MemoryStatus, NewMemory};
use weir_core::record::{GENESIS, Record};
use weir_engine::ports::{
    Append, AuditEntry, Checkpoints, FileContent, IndexedText, Lease, MemoryFilter, RecallQuery,
    SessionMeta, Snapshot, SnapshotEntry, Store,
};
use weir_store::{GitCheckpoints, PostgresStore, PostgresStores, SqliteStore, this_process};

fn main() {
    divan::main();
}

fn folder() -> TempDir {
    let place = std::env::var_os("WEIR_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    TempDir::new_in(place).expect("a temporary folder")
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A session that appends three facts of 300 bytes at a time, one with an audit line.
struct Writer {
    lease: Lease,
    facts: u64,
    last: String,
    payload: String,
}

impl Writer {
    async fn new(store: &dyn Store, name: &str) -> Writer {
        let session = SessionId::new(name);
        let lease = store.acquire_lease(&session, &this_process("bench")).await.expect("free");
        let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(300));
        Writer { lease, facts: 0, last: GENESIS.to_string(), payload }
    }

    fn next(&mut self, count: u64) -> Append {
        let session = self.lease.session.clone();
        let expected = self.facts;
        let mut records = Vec::new();
        for seq in expected + 1..=expected + count {
            let mut record = Record {
                session: session.clone(),
                seq,
                ts: Timestamp(1_767_367_800_000_000 + seq.cast_signed()),
                kind: "call.finished".into(),
                v: 1,
                payload: self.payload.clone(),
                hash: String::new(),
            };
            record.hash = record.hash_after(&self.last);
            self.last.clone_from(&record.hash);
            records.push(record);
        }
        self.facts += count;
        let updated = Timestamp(1_767_367_800_000_000);
        let fields = serde_json::json!({ "tool": "read_file", "verdict": "allow" });
        Append {
            audit: vec![AuditEntry { ts: updated, session: session.clone(), seq: 1, fields }],
            ..Append::of_records(
                self.lease.clone(),
                expected,
                records,
                SessionMeta {
                    id: session,
                    workspace: "/home/ada/loom".into(),
                    title: "Weave".into(),
                    model: "m".into(),
                    profile: "code".into(),
                    status: "running".into(),
                    created: updated,
                    updated,
                    facts: self.facts,
                    parent: None,
                },
            )
        }
    }
}

#[divan::bench(sample_count = 200)]
fn disk_sync(bencher: Bencher<'_, '_>) {
    let folder = folder();
    let mut file = File::create(folder.path().join("file")).expect("writable");
    bencher.bench_local(|| {
        file.write_all(&[7; 4096]).expect("writable");
        file.sync_data().expect("writable");
    });
}

#[divan::bench(sample_count = 200)]
fn q11_append_of_one_session(bencher: Bencher<'_, '_>) {
    let (folder, runtime) = (folder(), runtime());
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let mut writer = runtime.block_on(Writer::new(&store, "one"));
    bencher.bench_local(|| {
        let append = writer.next(3);
        runtime.block_on(store.append(append)).expect("it fits");
    });
}

#[divan::bench(sample_count = 20)]
fn q11_append_of_1000_sessions_at_once(bencher: Bencher<'_, '_>) {
    let (folder, runtime) = (folder(), runtime());
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let mut writers = Vec::new();
    for n in 0..1000 {
        writers.push(runtime.block_on(Writer::new(&store, &format!("session-{n}"))));
    }
    bencher.counter(ItemsCount::new(1000_usize)).bench_local(|| {
        let appends = writers.iter_mut().map(|writer| store.append(writer.next(3)));
        for result in runtime.block_on(futures::future::join_all(appends)) {
            result.expect("it fits");
        }
    });
}

/// A database of its own in the server that `WEIR_TEST_POSTGRES` names (one at 127.0.0.1:5432
/// otherwise), left behind under its name `weir_bench_…`. `None`: there is no such server.
async fn postgres() -> Option<PostgresStore> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let local = "postgres://postgres@127.0.0.1:5432/postgres";
    let url = std::env::var("WEIR_TEST_POSTGRES").unwrap_or_else(|_| local.to_string());
    let options: PgConnectOptions = url.parse().expect("a URL");
    let name =
        format!("weir_bench_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut connection = options.connect().await.ok()?;
    connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.ok()?;
    let end = url.rfind('/').expect("a URL with a database");
    let stores = PostgresStores::connect(&format!("{}/{name}", &url[..end])).await;
    Some(stores.expect("a new database").store_of_owner("ada").await.expect("a plain name"))
}

#[divan::bench(sample_count = 200)]
fn d8_append_of_one_session_in_postgresql(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    let Some(store) = runtime.block_on(postgres()) else { return };
    let mut writer = runtime.block_on(Writer::new(&store, "one"));
    bencher.bench_local(|| {
        let append = writer.next(3);
        runtime.block_on(store.append(append)).expect("it fits");
    });
    runtime.block_on(async { drop(store) });
}

#[divan::bench(sample_count = 20)]
fn d8_append_of_1000_sessions_at_once_in_postgresql(bencher: Bencher<'_, '_>) {
    let runtime = runtime();
    let Some(store) = runtime.block_on(postgres()) else { return };
    let mut writers = Vec::new();
    for n in 0..1000 {
        writers.push(runtime.block_on(Writer::new(&store, &format!("session-{n}"))));
    }
    bencher.counter(ItemsCount::new(1000_usize)).bench_local(|| {
        let appends = writers.iter_mut().map(|writer| store.append(writer.next(3)));
        for result in runtime.block_on(futures::future::join_all(appends)) {
            result.expect("it fits");
        }
    });
    runtime.block_on(async { drop(store) });
}

#[divan::bench(sample_count = 50)]
fn q1_open_acquire_and_close_an_existing_store(bencher: Bencher<'_, '_>) {
    let (folder, runtime) = (folder(), runtime());
    drop(SqliteStore::open(folder.path()).expect("a new store"));
    let mut n = 0;
    bencher.bench_local(|| {
        n += 1;
        let store = SqliteStore::open(folder.path()).expect("an existing store");
        runtime.block_on(Writer::new(&store, &format!("session-{n}")));
    });
}

#[divan::bench(sample_count = 10)]
fn q10_read_100000_facts(bencher: Bencher<'_, '_>) {
    let (folder, runtime) = (folder(), runtime());
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let mut writer = runtime.block_on(Writer::new(&store, "one"));
    for _ in 0..100 {
        let append = writer.next(1000);
        runtime.block_on(store.append(append)).expect("it fits");
    }
    let session = writer.lease.session.clone();
    bencher.counter(ItemsCount::new(100_000_usize)).bench_local(|| {
        let facts =
            runtime.block_on(store.read_records(&session, 1, usize::MAX)).expect("readable");
        assert_eq!(facts.len(), 100_000);
    });
}

/// Text of one fact of a long session: some words are everywhere, one is only here.
fn said(n: usize) -> String {
    let mut text = format!("turn{n} the agent reads and writes the files of the workspace ");
    for word in 0..60 {
        text.push_str(&format!("word{} ", (n * 31 + word * 7) % 5000));
    }
    text
}

/// A session of 10,000 turns: a reply, a call's arguments and its result in each, all indexed.
fn long_session(folder: &TempDir, runtime: &Runtime) -> (SqliteStore, SessionId) {
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let mut writer = runtime.block_on(Writer::new(&store, "one"));
    for batch in 0..100 {
        let mut append = writer.next(300);
        for (n, record) in append.records.iter_mut().enumerate() {
            let text = |subject: &str, text: String| IndexedText {
                seq: record.seq,
                call: (n % 3 > 0).then(|| CallId(u32::try_from(batch * 100 + n / 3).unwrap_or(0))),
                subject: subject.into(),
                text,
            };
            append.texts.push(text("read_file src/main.rs", said(batch * 300 + n)));
        }
        runtime.block_on(store.append(append)).expect("it fits");
    }
    let session = writer.lease.session.clone();
    // The index is made when something is first looked for.
    runtime.block_on(store.search_passages("turn1", 1)).expect("readable");
    (store, session)
}

/// Looks for something in 10,000 turns: at most 50 ms are wanted (X4).
#[divan::bench(
    sample_count = 50,
    args = ["turn17777", "word17 word4021", "the agent reads", "missing the workspace", ""]
)]
fn x4_recall_in_10000_turns(bencher: Bencher<'_, '_>, words: &str) {
    let (folder, runtime) = (folder(), runtime());
    let (store, session) = long_session(&folder, &runtime);
    let query = RecallQuery {
        session: Some(session),
        words: words.into(),
        limit: 10,
        ..Default::default()
    };
    bencher.bench_local(|| {
        let found = runtime.block_on(store.recall(&query)).expect("readable");
        assert!(!found.is_empty());
    });
}

/// The same with a filter that fits almost nothing.
#[divan::bench(sample_count = 50, args = ["the agent reads", ""])]
fn x4_recall_of_one_call_in_10000_turns(bencher: Bencher<'_, '_>, words: &str) {
    let (folder, runtime) = (folder(), runtime());
    let (store, session) = long_session(&folder, &runtime);
    let query = RecallQuery {
        session: Some(session),
        words: words.into(),
        call: Some(CallId(17)),
        subject: Some("main.rs".into()),
        limit: 10,
        ..Default::default()
    };
    bencher.bench_local(|| {
        let found = runtime.block_on(store.recall(&query)).expect("readable");
        assert!(!found.is_empty());
    });
}

/// A result of 40 kB with its passages, beside the same without.
#[divan::bench(sample_count = 100, args = [false, true])]
fn x4_append_of_a_long_result(bencher: Bencher<'_, '_>, indexed: bool) {
    let (folder, runtime) = (folder(), runtime());
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let mut writer = runtime.block_on(Writer::new(&store, "one"));
    let mut n = 0;
    bencher.bench_local(|| {
        let mut append = writer.next(3);
        n += 20;
        let texts: Vec<String> = (n..n + 20).map(|n| said(n).repeat(4)).collect();
        let bytes: Arc<[u8]> = Arc::from(texts.concat().as_bytes());
        let id = weir_core::record::sha256_hex(&bytes);
        append.blobs = vec![(weir_core::ids::BlobId::new(id), bytes)];
        if indexed {
            let seq = append.expected + 1;
            let subject = || "shell".to_string();
            let passage =
                |text| IndexedText { seq, call: Some(CallId(1)), subject: subject(), text };
            append.texts = texts.into_iter().map(passage).collect();
        }
        runtime.block_on(store.append(append)).expect("it fits");
    });
}

/// Facts that fit a message, of 2,000 that are remembered.
#[divan::bench(sample_count = 100, args = ["", "where is the release script of this workspace"])]
fn m4_memories_of_2000(bencher: Bencher<'_, '_>, words: &str) {
    let (folder, runtime) = (folder(), runtime());
    let store = SqliteStore::open(folder.path()).expect("a new store");
    let here = Some("/home/ada/loom".to_string());
    for n in 0..2000 {
        let new = NewMemory {
            text: format!("The script of workspace {n} is scripts/release-{n}.sh"),
            kind: MemoryKind::Project,
            topics: vec![format!("topic{n}")],
            importance: 3,
            workspace: here.clone(),
            source: MemorySource::default(),
            label: Label::default(),
            status: MemoryStatus::Kept,
            supersedes: None,
        };
        runtime.block_on(store.remember_fact(&new, Timestamp(n))).expect("writable");
    }
    let filter = MemoryFilter {
        words: words.into(),
        statuses: vec![MemoryStatus::Kept],
        workspace: here,
        limit: Some(50),
    };
    bencher.bench_local(|| {
        let found = runtime.block_on(store.find_memories(&filter)).expect("readable");
        assert_eq!(found.len(), 50);
    });
}

/// Source text of about `bytes` bytes that nothing else repeats.
fn source(bytes: usize, seed: usize) -> FileContent {
    let mut text = String::new();
    let mut n = seed * 7919;
    while text.len() < bytes {
        n += 1;
        text.push_str(&format!("    let value_{n} = compute({}, \"{}\");\n", n * 31, n % 97));
    }
    FileContent::File { bytes: Arc::from(text.as_bytes()), mode: 0o644 }
}

fn snapshot(entries: Vec<SnapshotEntry>) -> Snapshot {
    Snapshot {
        workspace: PathBuf::from("/home/ada/loom"),
        session: SessionId::new("one"),
        run: "r1".into(),
        call: None,
        ts: Timestamp(1_767_367_800_000_000),
        label: "edit_file".into(),
        entries,
    }
}

/// Takes a checkpoint, then undoes it: loads it and takes the one of the restore.
fn take_and_undo(runtime: &Runtime, checkpoints: &GitCheckpoints, entries: Vec<SnapshotEntry>) {
    runtime.block_on(async {
        let id = checkpoints.take_snapshot(snapshot(entries)).await.expect("writable");
        let here = Path::new("/home/ada/loom");
        let (_, loaded) = checkpoints.load(here, id.as_str()).await.expect("taken");
        let back = loaded.into_iter().map(|entry| SnapshotEntry {
            path: entry.path,
            before: entry.after,
            after: entry.before,
        });
        checkpoints.take_snapshot(snapshot(back.collect())).await.expect("writable");
    });
}

#[divan::bench(sample_count = 50)]
fn q14_checkpoint_and_undo_of_one_file(bencher: Bencher<'_, '_>) {
    let (folder, runtime) = (folder(), runtime());
    let checkpoints = GitCheckpoints::open(folder.path());
    let mut n = 0;
    bencher
        .with_inputs(|| {
            n += 2;
            vec![SnapshotEntry {
                path: "src/main.rs".into(),
                before: source(100_000, n),
                after: source(100_000, n + 1),
            }]
        })
        .bench_local_values(|entries| take_and_undo(&runtime, &checkpoints, entries));
}

#[divan::bench(sample_count = 5)]
fn q14_checkpoint_and_undo_of_1000_files(bencher: Bencher<'_, '_>) {
    let (folder, runtime) = (folder(), runtime());
    let checkpoints = GitCheckpoints::open(folder.path());
    let mut n = 0;
    bencher
        .with_inputs(|| {
            n += 2000;
            let entry = |at: usize| SnapshotEntry {
                path: format!("src/{}/{at}.rs", at % 20),
                before: source(2000, n + at),
                after: source(2000, n + 1000 + at),
            };
            (0..1000).map(entry).collect::<Vec<_>>()
        })
        .bench_local_values(|entries| take_and_undo(&runtime, &checkpoints, entries));
}
