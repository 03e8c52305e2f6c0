//! What only a file can get wrong: power, space, permissions, other processes, damage (D9).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use weir_engine::ports::{RUNNING, SessionFilter, Store, StoreError};
use weir_store::{SqliteOptions, SqliteStore, this_process};

use crate::snapshots::snapshot;
use crate::support::Scribe;

fn store_in(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder).expect("the folder is ours")
}

#[tokio::test]
async fn c5_database_and_folder_are_private() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let state = folder.path().join("deep/state");
    let store = store_in(&state);
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write_audited(&store, "x").await;
    let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    for file in ["weir.db", "weir.db-wal", "weir.db-shm", "audit/2026-01-02.jsonl"] {
        assert_eq!(mode(&state.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&state.join("audit")), 0o700);
}

#[tokio::test]
async fn d1_facts_survive_closing_and_a_copy_taken_while_open() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let state = folder.path().join("state");
    let store = store_in(&state);
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write(&store, 5).await;
    // What a power cut leaves: the files as they are on the disk now.
    let torn = folder.path().join("torn");
    fs::create_dir(&torn).expect("a new folder");
    for file in ["weir.db", "weir.db-wal"] {
        fs::copy(state.join(file), torn.join(file)).expect("it can be read");
    }
    drop(store);
    for place in [&state, &torn] {
        let store = store_in(place);
        let session = &scribe.lease.session;
        assert_eq!(store.read_records(session, 1, 9).await.expect("readable").len(), 5);
        let meta = store.session_meta(session).await.expect("readable");
        assert_eq!(meta, Some(scribe.meta(5)));
        store.check_integrity().await.expect("whole");
    }
}

#[tokio::test]
async fn d2_a_torn_log_keeps_whole_transactions_only() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let state = folder.path().join("state");
    let store = store_in(&state);
    let mut scribe = Scribe::new(&store, "one").await;
    let mut acknowledged = Vec::new();
    for facts in 1..=6 {
        scribe.write(&store, 2).await;
        let length = fs::metadata(state.join("weir.db-wal")).expect("it exists").len();
        acknowledged.push((facts * 2, length));
    }
    let log = fs::read(state.join("weir.db-wal")).expect("readable");
    let end = acknowledged.last().expect("six of them").1;
    for cut in (0..end).step_by(1531).chain([end]) {
        let torn = tempfile::tempdir().expect("a temporary folder");
        fs::copy(state.join("weir.db"), torn.path().join("weir.db")).expect("readable");
        let cut_log = &log[..usize::try_from(cut).expect("small")];
        fs::write(torn.path().join("weir.db-wal"), cut_log).expect("writable");
        let store = store_in(torn.path());
        let found = store.read_records(&scribe.lease.session, 1, 99).await.expect("readable");
        let least = acknowledged.iter().filter(|(_, length)| *length <= cut).map(|(n, _)| *n).max();
        let found_count = found.len() as u64;
        assert!(found_count >= least.unwrap_or(0), "{found_count} facts after {cut} bytes");
        assert_eq!(found_count % 2, 0, "half an append after {cut} bytes");
        let meta = store.session_meta(&scribe.lease.session).await.expect("readable");
        assert_eq!(meta.map_or(0, |meta| meta.facts), found_count);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d2_group_commit_needs_far_fewer_transactions_than_appends() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribes = Vec::new();
    for n in 0..1000 {
        scribes.push(Scribe::new(&store, &format!("s{n}")).await);
    }
    let before = store.stats();
    let appends = scribes.iter().map(|scribe| store.append(scribe.next(1)));
    for result in futures::future::join_all(appends).await {
        result.expect("each of them fits");
    }
    let after = store.stats();
    assert_eq!(after.appends - before.appends, 1000);
    let transactions = after.transactions - before.transactions;
    assert!(transactions < 100, "{transactions} transactions for 1,000 appends");
}

#[tokio::test]
async fn d2_two_stores_on_one_folder_share_leases_and_audit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (left, right) = (store_in(folder.path()), store_in(folder.path()));
    let mut one = Scribe::new(&left, "one").await;
    let held = right.acquire_lease(&one.lease.session, &this_process("test")).await;
    assert!(matches!(held, Err(StoreError::Held { .. })), "{held:?}");
    let mut two = Scribe::new(&right, "two").await;
    for _ in 0..5 {
        one.write_audited(&left, "left").await;
        two.write_audited(&right, "right").await;
    }
    assert_eq!(left.read_records(&two.lease.session, 1, 99).await.expect("readable").len(), 5);
    drop((left, right));
    let report = weir_store::verify_audit(folder.path()).expect("readable");
    assert_eq!((report.lines, report.file_lines, report.fault), (10, 10, None));
}

#[test]
fn d2_stores_that_open_a_new_folder_at_once_wait_for_each_other() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let begin = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().build();
                    begin.wait();
                    runtime.expect("a runtime").block_on(async {
                        let store = store_in(folder.path());
                        store.list_sessions(&SessionFilter::default()).await.expect("it opens");
                    });
                });
            }
        });
    }
}

#[tokio::test]
async fn l14_another_store_on_the_folder_hears_of_a_pause() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (left, right) = (store_in(folder.path()), store_in(folder.path()));
    let pause = weir_engine::ports::StorePause {
        since: weir_core::ids::Timestamp(1),
        by: "ada".into(),
        reason: String::new(),
    };
    let change = async { left.set_paused(Some(pause.clone())).await.expect("writable") };
    let both = async { tokio::join!(right.pause_changed(), change) };
    tokio::time::timeout(weir_test_kit::PATIENCE, both).await.expect("announced");
    assert_eq!(right.pause_state().await.expect("readable"), Some(pause.clone()));
    drop((left, right));
    let later = store_in(folder.path());
    assert_eq!(
        later.pause_state().await.expect("readable"),
        Some(pause),
        "it holds across restarts"
    );
}

#[tokio::test]
async fn g04_another_store_on_the_folder_hears_of_a_letter() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (left, right) = (store_in(folder.path()), store_in(folder.path()));
    let session = weir_core::ids::SessionId::new("one");
    let mail = weir_engine::ports::RemoteCommand {
        id: 0,
        session: session.clone(),
        by: "ada".into(),
        ts: weir_core::ids::Timestamp(1),
        command: weir_core::input::PersonCommand::Cancel,
    };
    let post = async { left.post_remote_command(mail.clone()).await.expect("writable") };
    let both = async { tokio::join!(right.mail_changed(), post).1 };
    let id = tokio::time::timeout(weir_test_kit::PATIENCE, both).await.expect("announced");
    let expected = [weir_engine::ports::RemoteCommand { id, ..mail }];
    assert_eq!(right.waiting_remote_commands(&session).await.expect("readable"), expected);
    drop((left, right));
    let later = store_in(folder.path());
    assert_eq!(
        later.waiting_remote_commands(&session).await.expect("readable"),
        expected,
        "it survives restarts"
    );
}

/// A database as the first version of the schema left it.
#[tokio::test]
async fn d1_an_older_database_is_brought_up_to_date_and_keeps_its_facts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write(&store, 3).await;
    drop(store);
    let database = folder.path().join("weir.db");
    downgrade(&database);

    let store = store_in(folder.path());
    let session = scribe.lease.session.clone();
    assert_eq!(store.read_records(&session, 1, 9).await.expect("readable").len(), 3);
    assert_eq!(store.waiting_remote_commands(&session).await.expect("the table was made"), []);
    let mut append = scribe.next(1);
    append.marks = vec![weir_engine::ports::FileMark {
        workspace: "/w".into(),
        path: "a".into(),
        origin: "web".into(),
        session,
        ts: weir_core::ids::Timestamp(1),
    }];
    store.append(append).await.expect("the lease is still ours");
    assert_eq!(store.file_marks("/w").await.expect("the table was made").len(), 1);
    store.check_integrity().await.expect("whole");
}

/// Takes away what every step of the schema but the first brought.
fn downgrade(database: &Path) {
    let connection = rusqlite::Connection::open(database).expect("it is a database");
    let undo = "DROP TABLE mail; DROP TABLE marks; DROP TABLE memories; DROP TABLE memories_words;
        DROP TABLE memories_said; DROP TABLE proposals; DROP TABLE kept; DROP TABLE agent_runs;
        DROP TABLE recipe_counts; DROP TABLE solved_runs; DROP TABLE usage;
        DROP TABLE asks; DROP TABLE ended_runs; DROP TABLE snapshots;
        DROP TABLE looks;
        DROP INDEX facts_of_asks; DROP INDEX passages_place;
        CREATE INDEX passages_session ON passages (session);
        ALTER TABLE passages DROP COLUMN kind; ALTER TABLE passages DROP COLUMN ts;
        ALTER TABLE passages DROP COLUMN call; ALTER TABLE passages DROP COLUMN subject;
        PRAGMA user_version = 1";
    connection.execute_batch(undo).expect("it had both");
    connection.close().expect("written");
}

#[tokio::test]
async fn d9_a_full_disk_is_said_and_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = SqliteOptions { max_pages: Some(60), ..Default::default() };
    let store = SqliteStore::open_with(folder.path(), &options).expect("the folder is ours");
    let mut scribe = Scribe::new(&store, "one").await;
    let error = loop {
        let append = scribe.next(50);
        match store.append(append.clone()).await {
            Ok(()) => scribe.wrote(&append),
            Err(error) => break error,
        }
        assert!(scribe.facts < 100_000, "60 pages cannot hold that");
    };
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert!(scribe.facts > 0);
    let kept = store.read_records(&scribe.lease.session, 1, 100_000).await.expect("readable");
    assert_eq!(kept.len() as u64, scribe.facts);
    assert_eq!(kept.last().map(|record| record.hash.clone()), Some(scribe.last.clone()));
}

#[tokio::test]
async fn d9_one_append_too_large_fails_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = SqliteOptions { max_pages: Some(200), ..Default::default() };
    let store = SqliteStore::open_with(folder.path(), &options).expect("the folder is ours");
    let (one, two) = (Scribe::new(&store, "one").await, Scribe::new(&store, "two").await);
    let mut large = one.next(1);
    large.texts = vec![crate::support::indexed(1, "x".repeat(3_000_000))];
    let (large, small) = tokio::join!(store.append(large), store.append(two.next(1)));
    assert!(matches!(large, Err(StoreError::Io { .. })), "{large:?}");
    small.expect("it has nothing to do with the large one");
}

#[tokio::test]
async fn d9_a_damaged_page_is_named_as_damage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    for _ in 0..80 {
        scribe.write(&store, 20).await;
    }
    drop(store);
    let database = folder.path().join("weir.db");
    let mut bytes = fs::read(&database).expect("readable");
    // Everything but the first pages, where the schema stands.
    for at in (72 * 4096..bytes.len()).step_by(7) {
        bytes[at] ^= 0xff;
    }
    fs::write(&database, &bytes).expect("writable");
    let store = store_in(folder.path());
    let read = store.read_records(&scribe.lease.session, 1, 10_000).await;
    let error = read.map(|facts| facts.len()).expect_err("damaged");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let error = store.check_integrity().await.expect_err("damaged");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

/// Every page in turn: whatever is hit, all facts come back or an error does.
#[tokio::test]
async fn d9_no_damage_ever_shortens_a_journal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    for _ in 0..20 {
        scribe.write(&store, 20).await;
    }
    let written = store.read_records(&scribe.lease.session, 1, 10_000).await.expect("readable");
    assert_eq!(written.len(), 400);
    drop(store);
    let database = folder.path().join("weir.db");
    let whole = fs::read(&database).expect("readable");
    let mut noticed = 0;
    for page in 0..whole.len() / 4096 {
        let mut bytes = whole.clone();
        // The head of a page: its kind, its cells' number and places.
        for at in (page * 4096..page * 4096 + 64).step_by(5) {
            bytes[at] ^= 0x5a;
        }
        let hit = tempfile::tempdir().expect("a temporary folder");
        fs::write(hit.path().join("weir.db"), bytes).expect("writable");
        let read = match SqliteStore::open(hit.path()) {
            Ok(store) => store.read_records(&scribe.lease.session, 1, 10_000).await,
            Err(error) => Err(error),
        };
        match read {
            Ok(facts) => assert_eq!(facts.len(), 400, "page {page}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed > 10, "{noticed} pages noticed");
}

/// Changes a database behind the store's back.
fn tamper(folder: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(folder.join("weir.db")).expect("it is a database");
    connection.execute_batch(sql).expect("it is plain SQL");
    connection.close().expect("written");
}

#[tokio::test]
async fn d9_nothing_runs_that_a_database_brings_along() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write_audited(&store, "before").await;
    drop(store);
    let forgets = "CREATE TRIGGER forgets AFTER INSERT ON facts BEGIN DELETE FROM audit; END";
    tamper(folder.path(), forgets);
    let store = store_in(folder.path());
    scribe.write_audited(&store, "after").await;
    assert_eq!(store.audit_lines(1, 9).await.expect("readable").len(), 2);
    drop(store);
    let asks =
        "DROP TABLE asks; CREATE VIEW asks AS SELECT 'one' AS session, 'a' AS name, 1 AS seq";
    tamper(folder.path(), asks);
    let error = store_in(folder.path()).open_asks().await.expect_err("a view is no table");
    assert!(error.to_string().contains("prohibited"), "{error}");
}

#[tokio::test]
async fn d9_numbers_that_cannot_be_are_damage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write_audited(&store, "one").await;
    drop(store);
    tamper(folder.path(), "UPDATE sessions SET facts = -1");
    let store = store_in(folder.path());
    let session = scribe.lease.session.clone();
    let error = store.read_records(&session, 1, 9).await.expect_err("there are not so many");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    drop(store);
    tamper(folder.path(), "UPDATE sessions SET facts = 1; UPDATE audit SET n = -1");
    let store = store_in(folder.path());
    let error = store.append(scribe.next_audited("two")).await.expect_err("nothing follows");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    store.append(scribe.next(1)).await.expect("it has no audit line, and the store lives");
}

#[tokio::test]
async fn d9_what_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = folder.path().join("weir.db");
    let text = "my diary, not a database. ".repeat(200);
    fs::write(&database, &text).expect("writable");
    let error = SqliteStore::open(folder.path()).map(drop).expect_err("no database");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read_to_string(&database).expect("readable"), text);
}

#[tokio::test]
async fn d1_a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(store_in(folder.path()));
    let database = folder.path().join("weir.db");
    let mut bytes = fs::read(&database).expect("readable");
    // The header keeps `user_version` at byte 60, big-endian.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&database, bytes).expect("writable");
    let error = SqliteStore::open(folder.path()).map(drop).expect_err("too new");
    assert!(error.to_string().contains("newer Weir (schema 99"), "{error}");
}

#[tokio::test]
async fn d9_a_place_that_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    fs::write(&file, "x").expect("writable");
    let error = SqliteStore::open(&file.join("state")).map(drop).expect_err("not a folder");
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    for (location, says) in [
        ("postgres://db/weir", "comes with the server"),
        ("sqlite:", "name the folder"),
        ("redis://x", "unknown kind of store"),
        ("", "unknown kind of store"),
    ] {
        let error = weir_store::open_store(location).map(drop).expect_err("no such store");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_backup_while_running_is_complete_and_private() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(&folder.path().join("state"));
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write(&store, 20).await;
    let copy = folder.path().join("copy/weir.db");
    fs::create_dir(folder.path().join("copy")).expect("a new folder");
    let more = scribe.next(3);
    let (backup, append) = tokio::join!(store.write_backup(&copy), store.append(more));
    backup.expect("there is space");
    append.expect("it fits");
    assert_eq!(fs::metadata(&copy).expect("it exists").permissions().mode() & 0o777, 0o600);
    let error = store.write_backup(&copy).await.expect_err("it exists");
    assert!(error.to_string().contains("exists already"), "{error}");
    let restored = store_in(&folder.path().join("copy"));
    let facts = restored.read_records(&scribe.lease.session, 1, 99).await.expect("readable").len();
    assert!(facts == 20 || facts == 23, "{facts} facts");
}

#[tokio::test]
async fn d9_deleted_text_is_gone_from_the_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write_text(&store, "xyzzysecret in a passage").await;
    scribe.write_blob(&store, b"xyzzysecret in a blob").await;
    store.search_passages("xyzzysecret", 1).await.expect("indexed");
    // Folds that were replaced, and taken away, leave nothing either.
    let said = "xyzzysecret in a fold, ".repeat(10_000);
    for (seq, state) in [(1, said.as_str()), (2, "short"), (2, said.as_str())] {
        store.write_snapshot(&snapshot("one", seq, state)).await.expect("writable");
    }
    store.drop_snapshot(&scribe.lease.session).await.expect("writable");
    store.write_snapshot(&snapshot("one", 2, &said)).await.expect("writable");
    store.delete_session(&scribe.lease.session).await.expect("it exists");
    drop(store);
    for entry in fs::read_dir(folder.path()).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("readable");
            let found = bytes.windows(11).any(|window| window == b"xyzzysecret");
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn q2_a_log_that_is_kept_is_gone_on_with_and_never_grows_long() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("weir.db-wal");
    let length = || fs::metadata(&log).map_or(0, |log| log.len());
    let keeping = || {
        let store = store_in(folder.path());
        store.keep_write_ahead_log();
        store
    };
    let store = keeping();
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write(&store, 5).await;
    drop(store);
    let first = length();
    assert!(first > 0, "it stays");
    let mut longest = first;
    for _ in 0..60 {
        let store = keeping();
        scribe.write(&store, 20).await;
        let facts = store.read_records(&scribe.lease.session, 1, 9999).await.expect("readable");
        assert_eq!(facts.len() as u64, scribe.facts);
        drop(store);
        longest = longest.max(length());
    }
    assert!(longest > first, "the next program goes on with it");
    assert!(longest < 2 * 1024 * 1024, "{longest} bytes");
    // Whoever does not ask for it leaves the whole database in one file.
    drop(store_in(folder.path()));
    assert!(!log.exists());
    let copy = tempfile::tempdir().expect("a temporary folder");
    fs::copy(folder.path().join("weir.db"), copy.path().join("weir.db")).expect("readable");
    let store = store_in(copy.path());
    let facts = store.read_records(&scribe.lease.session, 1, 9999).await.expect("readable");
    assert_eq!(facts.len() as u64, scribe.facts);
    store.check_integrity().await.expect("whole");
}

#[tokio::test]
async fn d9_a_log_whose_database_is_gone_is_not_thrown_away() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    store.keep_write_ahead_log();
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write(&store, 5).await;
    drop(store);
    let (database, aside) = (folder.path().join("weir.db"), folder.path().join("aside.db"));
    fs::rename(&database, &aside).expect("it is ours");
    let error = SqliteStore::open(folder.path()).map(drop).expect_err("facts are in the log");
    assert!(error.to_string().contains("weir.db-wal"), "{error}");
    assert!(!database.exists(), "no other one was made");
    fs::rename(&aside, &database).expect("it is ours");
    let store = store_in(folder.path());
    let facts = store.read_records(&scribe.lease.session, 1, 9).await.expect("readable");
    assert_eq!(facts.len(), 5);
}

#[tokio::test]
async fn d9_deleted_text_does_not_stay_in_a_log_that_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    store.keep_write_ahead_log();
    let database = folder.path().join("weir.db");
    // The second one as well: what is set for a deletion is set again.
    for session in ["one", "two"] {
        let mut scribe = Scribe::new(&store, session).await;
        scribe.write_text(&store, &"xyzzysecret in a passage, ".repeat(2000)).await;
        store.delete_session(&scribe.lease.session).await.expect("it exists");
    }
    drop(store);
    for file in [database, folder.path().join("weir.db-wal")] {
        let bytes = fs::read(&file).unwrap_or_default();
        let found = bytes.windows(11).any(|window| window == b"xyzzysecret");
        assert!(!found, "{}", file.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q6_many_read_at_once_while_others_write() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    for _ in 0..10 {
        scribe.write(&store, 20).await;
    }
    let session = scribe.lease.session.clone();
    let reads = futures::future::join_all((0..40).map(|_| store.read_records(&session, 1, 999)));
    let writes = async {
        for _ in 0..10 {
            scribe.write(&store, 1).await;
        }
    };
    let (reads, ()) = tokio::join!(reads, writes);
    for read in reads {
        let facts = read.expect("readable").len();
        assert!((200..=210).contains(&facts), "{facts} facts");
    }
    // One that nobody waits for any more keeps nobody from closing.
    {
        let mut check = std::pin::pin!(store.check_integrity());
        let _ = futures::poll!(&mut check);
    }
    drop(store);
    assert_eq!(
        store_in(folder.path()).read_records(&session, 1, 999).await.expect("readable").len(),
        210
    );
}

#[tokio::test]
async fn d2_an_append_does_not_wait_until_a_search_has_its_index() {
    const PASSAGES: u64 = 20_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store_in(folder.path());
    let mut scribe = Scribe::new(&store, "one").await;
    let mut many = scribe.next(1);
    many.texts = (0..PASSAGES).map(|_| crate::support::indexed(1, "weave")).collect();
    store.append(many.clone()).await.expect("it fits");
    scribe.wrote(&many);
    let beside = rusqlite::Connection::open(folder.path().join("weir.db")).expect("a database");
    let search = async { store.search_passages("weave", 9).await.expect("readable").len() };
    let append = async {
        store.append(scribe.next(1)).await.expect("it fits");
        let indexed = "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM settings
            WHERE key = 'passages_indexed'";
        beside.query_row(indexed, [], |row| row.get::<_, i64>(0)).expect("readable")
    };
    let (found, indexed) = tokio::join!(search, append);
    assert!(indexed.cast_unsigned() < PASSAGES, "{indexed} came before the append");
    assert_eq!(found, 9, "a search finds what was written before it");
}

#[tokio::test]
async fn d8_who_goes_to_work_after_nobody_was_at_it_is_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (store, other) = (store_in(folder.path()), store_in(folder.path()));
    let found = async || {
        let found = store.list_abandoned_sessions().await.expect("readable");
        found.into_iter().map(|meta| meta.id.to_string()).collect::<Vec<_>>()
    };
    let mut scribe = Scribe::new(&other, "one").await;
    scribe.write(&other, 1).await;
    // What was written a moment ago is looked at again in any case.
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    for name in ["weir.db", "weir.db-wal"] {
        let file = fs::File::options().write(true).open(folder.path().join(name)).expect("there");
        file.set_modified(long_ago).expect("it is ours");
    }
    for _ in 0..2 {
        assert_eq!(found().await, [] as [String; 0]);
    }
    let mut begun = scribe.next(1);
    begun.meta.status = RUNNING.into();
    other.append(begun.clone()).await.expect("it fits");
    scribe.wrote(&begun);
    for _ in 0..2 {
        assert_eq!(found().await, ["one"]);
    }
    scribe.write(&other, 1).await;
    assert_eq!(found().await, [] as [String; 0]);
}
