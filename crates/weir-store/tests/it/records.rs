//! What a server keeps beside sessions: the contract of `Records`, against each of them.

use std::sync::Arc;

use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records};
use weir_store::{MemoryRecords, SqliteRecords, open_records};
use weir_test_kit::PATIENCE;

use crate::support::NOON;

macro_rules! every_records {
    ($($name:ident)*) => {
        mod memory { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(&super::MemoryRecords::default()).await; }
        )* }
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let records = super::SqliteRecords::open(folder.path()).await.expect("a new one");
                super::$name(&records).await;
            }
        )* }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let Some((records, _database)) = crate::postgres::records().await else { return };
                super::$name(&*records).await;
            }
        )* }
    };
}

every_records! {
    d1_an_entry_comes_back_as_it_was_put
    d1_of_two_who_put_at_once_one_is_told
    d1_what_has_ended_is_not_there
    d1_entries_are_listed_by_kind_and_owner
    d1_a_change_is_announced
}

fn now(seconds: i64) -> Timestamp {
    Timestamp(NOON + seconds * 1_000_000)
}

fn entry(kind: &str, name: &str, owner: &str) -> RecordEntry {
    RecordEntry {
        kind: kind.into(),
        name: name.into(),
        owner: owner.into(),
        text: "{\"said\":\"ü \\u0000 🎉\"}".into(),
        version: 0,
        expires: None,
        ts: now(0),
    }
}

async fn d1_an_entry_comes_back_as_it_was_put(records: &dyn Records) {
    records.check_alive().await.expect("it answers");
    let one = entry("person", "ada's \0 'name'", "ada");
    assert_eq!(records.get("person", &one.name, now(0)).await.expect("readable"), None);
    assert_eq!(records.put(&one, Some(0)).await.expect("writable"), PutOutcome::Kept(1));
    let kept = records.get("person", &one.name, now(0)).await.expect("readable");
    assert_eq!(kept, Some(RecordEntry { version: 1, ..one.clone() }));
    let two = RecordEntry { text: "{}".into(), expires: Some(now(9)), ts: now(1), ..one.clone() };
    assert_eq!(records.put(&two, None).await.expect("writable"), PutOutcome::Kept(2));
    let kept = records.get("person", &one.name, now(1)).await.expect("readable");
    assert_eq!(kept, Some(RecordEntry { version: 2, ..two }));
    assert_eq!(records.get("login", &one.name, now(1)).await.expect("readable"), None);
    assert!(records.remove("person", &one.name).await.expect("writable"));
    assert!(!records.remove("person", &one.name).await.expect("writable"));
    assert_eq!(records.get("person", &one.name, now(1)).await.expect("readable"), None);
}

async fn d1_of_two_who_put_at_once_one_is_told(records: &dyn Records) {
    let one = entry("setting", "a", "");
    assert_eq!(records.put(&one, Some(3)).await.expect("writable"), PutOutcome::Changed(0));
    let tries = (0..8).map(|_| records.put(&one, Some(0)));
    let came: Vec<PutOutcome> = futures::future::join_all(tries)
        .await
        .into_iter()
        .map(|put| put.expect("writable"))
        .collect();
    assert_eq!(came.iter().filter(|put| **put == PutOutcome::Kept(1)).count(), 1, "{came:?}");
    assert_eq!(came.iter().filter(|put| **put == PutOutcome::Changed(1)).count(), 7, "{came:?}");
    assert_eq!(records.put(&one, Some(1)).await.expect("writable"), PutOutcome::Kept(2));
    assert_eq!(records.put(&one, Some(1)).await.expect("writable"), PutOutcome::Changed(2));
}

async fn d1_what_has_ended_is_not_there(records: &dyn Records) {
    let one = RecordEntry { expires: Some(now(10)), ..entry("login", "a", "ada") };
    records.put(&one, None).await.expect("writable");
    records.put(&entry("login", "b", "ada"), None).await.expect("writable");
    let there =
        async |at: i64| records.get("login", "a", now(at)).await.expect("readable").is_some();
    assert!(there(9).await);
    assert!(!there(10).await);
    assert_eq!(records.list("login", None, now(10)).await.expect("readable").len(), 1);
    let again = RecordEntry { ts: now(11), expires: Some(now(20)), ..one.clone() };
    let put = records.put(&again, Some(0)).await.expect("writable");
    assert!(
        matches!(put, PutOutcome::Kept(version) if version > 1),
        "no version comes twice: {put:?}"
    );
    assert_eq!(records.purge(now(19)).await.expect("writable"), 0);
    assert_eq!(records.purge(now(20)).await.expect("writable"), 1);
    assert_eq!(records.list("login", None, now(0)).await.expect("readable").len(), 1);
}

async fn d1_entries_are_listed_by_kind_and_owner(records: &dyn Records) {
    for (kind, name, owner) in
        [("login", "b", "ada"), ("login", "a", "bob"), ("login", "C", "ada"), ("share", "a", "ada")]
    {
        records.put(&entry(kind, name, owner), None).await.expect("writable");
    }
    let names = async |kind: &str, owner: Option<&str>| -> Vec<String> {
        let found = records.list(kind, owner, now(0)).await.expect("readable");
        found.into_iter().map(|entry| entry.name).collect()
    };
    assert_eq!(names("login", None).await, ["C", "a", "b"]);
    assert_eq!(names("login", Some("ada")).await, ["C", "b"]);
    assert_eq!(names("share", Some("bob")).await, [""; 0]);
    assert_eq!(records.remove_owned("ada").await.expect("writable"), 3);
    assert_eq!(names("login", None).await, ["a"]);
    assert_eq!(records.remove_owned("ada").await.expect("writable"), 0);
}

async fn d1_a_change_is_announced(records: &dyn Records) {
    let heard = async {
        let waited = tokio::time::timeout(PATIENCE, records.wait_for_change());
        waited.await.expect("it hears of it");
    };
    let put = async {
        tokio::task::yield_now().await;
        records.put(&entry("setting", "a", ""), None).await.expect("writable");
    };
    futures::future::join(heard, put).await;
}

#[tokio::test]
async fn d1_records_survive_closing_and_two_processes_share_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let open =
        async || -> Arc<dyn Records> { open_records("", folder.path()).await.expect("it opens") };
    let (one, two) = (open().await, open().await);
    one.put(&entry("person", "ada", "ada"), None).await.expect("writable");
    assert!(two.get("person", "ada", now(0)).await.expect("readable").is_some());
    assert_eq!(
        two.put(&entry("person", "ada", "ada"), Some(0)).await.expect("writable"),
        PutOutcome::Changed(1)
    );
    drop((one, two));
    assert!(open().await.get("person", "ada", now(0)).await.expect("readable").is_some());
    let newer = folder.path().join("newer");
    drop(SqliteRecords::open(&newer).await.expect("a new one"));
    let set = std::process::Command::new("python3")
        .args([
            "-c",
            "import sqlite3,sys;sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version=99')",
        ])
        .arg(newer.join("server.db"))
        .status();
    if set.is_ok_and(|status| status.success()) {
        let refused = SqliteRecords::open(&newer).await.err().expect("a newer schema");
        assert!(refused.to_string().contains("newer Weir"), "{refused}");
    }
}

#[tokio::test]
async fn d1_an_unknown_database_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (location, says) in [
        ("mysql://host", "unknown kind"),
        ("sqlite:", "unknown kind"),
        ("postgres://user:secret@/x?sslmode=sometimes", "not like postgres://"),
        ("postgres://user:secret@127.0.0.1:1/x", "check that it runs"),
    ] {
        let refused = open_records(location, folder.path()).await.err().expect("refused");
        let refused = refused.to_string();
        assert!(refused.contains(says), "{location}: {refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_what_was_removed_is_not_left_in_the_log_of_the_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records = SqliteRecords::open(folder.path()).await.expect("a new one");
    let secret = RecordEntry { text: "xyzzysecret".into(), ..entry("token", "t1", "ada") };
    records.put(&secret, None).await.expect("writable");
    assert!(records.remove("token", "t1").await.expect("writable"));
    drop(records);
    assert!(!folder.path().join("server.db-wal").exists(), "whoever closes it copies it back");
    let bytes = std::fs::read(folder.path().join("server.db")).expect("readable");
    assert!(!bytes.windows(11).any(|window| window == b"xyzzysecret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_log_of_the_server_whose_database_is_gone_is_not_thrown_away() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records = SqliteRecords::open(folder.path()).await.expect("a new one");
    records.put(&entry("person", "ada", "ada"), None).await.expect("writable");
    let (database, aside) = (folder.path().join("server.db"), folder.path().join("aside.db"));
    let log = folder.path().join("server.db-wal");
    assert!(log.metadata().is_ok_and(|log| log.len() > 0), "it is open: its log has the entry");
    std::fs::rename(&database, &aside).expect("it is ours");
    let refused = SqliteRecords::open(folder.path()).await.err().expect("facts are in the log");
    assert!(refused.to_string().contains("server.db-wal"), "{refused}");
    assert!(!database.exists(), "no other one was made");
    std::fs::rename(&aside, &database).expect("it is ours");
    drop(records);
    let records = SqliteRecords::open(folder.path()).await.expect("all of it is back");
    assert!(records.get("person", "ada", now(0)).await.expect("readable").is_some());
}
