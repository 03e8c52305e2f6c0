//! The audit files and their chain (G10).

use std::fs;
use std::path::{Path, PathBuf};

use weir_core::ids::Timestamp;
use weir_engine::ports::{Store, StoreError};
use weir_store::{SqliteStore, verify_audit};

use crate::support::{NOON, Scribe};

const DAY: i64 = 86_400_000_000;

async fn five_lines(folder: &Path) -> PathBuf {
    let store = SqliteStore::open(folder).expect("the folder is ours");
    let mut scribe = Scribe::new(&store, "one").await;
    for n in 0..5 {
        scribe.write_audited(&store, &format!("line {n}")).await;
    }
    folder.join("audit/2026-01-02.jsonl")
}

fn fault(folder: &Path) -> Option<(u64, String)> {
    let report = verify_audit(folder).expect("readable");
    report.fault.map(|fault| (fault.n, fault.to_string()))
}

#[tokio::test]
async fn g10_verify_accepts_an_untouched_log() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = five_lines(folder.path()).await;
    let report = verify_audit(folder.path()).expect("readable");
    assert_eq!((report.lines, report.file_lines, report.fault), (5, 5, None));
    let text = fs::read_to_string(file).expect("readable");
    let last: serde_json::Value =
        serde_json::from_str(text.lines().last().expect("five lines")).expect("JSON");
    assert_eq!(last["n"], 5);
    assert_eq!(last["entry"]["fields"]["z"], "line 4");
}

#[tokio::test]
async fn g10_verify_names_the_first_line_that_was_changed_removed_or_moved() {
    type Edit = fn(Vec<&str>) -> Vec<String>;
    let cases: [(&str, Edit, u64, &str); 6] = [
        ("changed", |l| l.iter().map(|l| l.replace("line 2", "line X")).collect(), 3, "changed"),
        (
            "removed",
            |l| l.iter().filter(|l| !l.contains("line 1")).map(|l| (*l).into()).collect(),
            2,
            "missing",
        ),
        ("moved", |l| [0, 2, 1, 3, 4].iter().map(|at| l[*at].into()).collect(), 2, "missing"),
        ("twice", |l| [0, 1, 1, 2, 3, 4].iter().map(|at| l[*at].into()).collect(), 3, "reordered"),
        ("cut short", |l| l[..3].iter().map(|l| (*l).into()).collect(), 4, "missing"),
        (
            "rubbish",
            |l| {
                l.iter()
                    .map(|l| if l.contains("line 3") { "{".into() } else { (*l).into() })
                    .collect()
            },
            4,
            "changed",
        ),
    ];
    for (name, edit, line, says) in cases {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = five_lines(folder.path()).await;
        let text = fs::read_to_string(&file).expect("readable");
        let mut edited = edit(text.lines().collect()).join("\n");
        edited.push('\n');
        fs::write(&file, edited).expect("writable");
        let found = fault(folder.path());
        assert!(
            matches!(&found, Some((n, text)) if *n == line && text.contains(says)),
            "{name}: {found:?}"
        );
    }
}

#[tokio::test]
async fn g10_verify_finds_a_changed_row_of_the_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    five_lines(folder.path()).await;
    let database = folder.path().join("weir.db");
    let mut bytes = fs::read(&database).expect("readable");
    let at = bytes.windows(6).position(|window| window == b"line 2").expect("it is stored");
    bytes[at + 5] = b'X';
    fs::write(&database, bytes).expect("writable");
    let (n, text) = fault(folder.path()).expect("it was changed");
    assert!(n == 3 && text.contains("store") && text.contains("changed"), "{text}");
}

#[tokio::test]
async fn g10_lines_that_a_crash_kept_from_the_file_are_written_by_the_next_append() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let state = folder.path().join("state");
    let store = SqliteStore::open(&state).expect("the folder is ours");
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write_audited(&store, "before").await;
    let file = state.join("audit/2026-01-02.jsonl");
    let before = fs::read_to_string(&file).expect("readable");
    scribe.write_audited(&store, "committed, not yet in the file").await;
    let whole = fs::read_to_string(&file).expect("readable");
    // The crash came between commit and file; once with half a line written.
    for kept in [before.len(), before.len() + 25] {
        let crashed = tempfile::tempdir().expect("a temporary folder");
        for name in ["weir.db", "weir.db-wal"] {
            fs::copy(state.join(name), crashed.path().join(name)).expect("readable");
        }
        fs::create_dir(crashed.path().join("audit")).expect("a new folder");
        let crashed_file = crashed.path().join("audit/2026-01-02.jsonl");
        fs::write(&crashed_file, &whole[..kept]).expect("writable");
        assert_eq!(fault(crashed.path()), None, "lines not yet written are no fault");
        let store = SqliteStore::open(crashed.path()).expect("the folder is ours");
        store.release_lease(&scribe.lease).await.expect("our own");
        let mut next = Scribe::new(&store, "one").await;
        (next.facts, next.last) = (scribe.facts, scribe.last.clone());
        next.write_audited(&store, "after").await;
        drop(store);
        let report = verify_audit(crashed.path()).expect("readable");
        assert_eq!((report.lines, report.file_lines, report.fault), (3, 3, None));
        assert!(fs::read_to_string(crashed_file).expect("readable").starts_with(&whole));
    }
}

#[tokio::test]
async fn g10_effects_stop_when_the_audit_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path()).expect("the folder is ours");
    let mut scribe = Scribe::new(&store, "one").await;
    scribe.write_audited(&store, "fine").await;
    // A folder stands where the next day's file should be.
    fs::create_dir(folder.path().join("audit/2026-01-03.jsonl")).expect("a new folder");
    let mut append = scribe.next_audited("refused");
    append.audit[0].ts = Timestamp(NOON + DAY);
    let other = Scribe::new(&store, "two").await;
    let (audited, plain) = tokio::join!(store.append(append), store.append(other.next(1)));
    assert!(matches!(audited, Err(StoreError::Io { .. })), "{audited:?}");
    plain.expect("it has no audit line");
    assert_eq!(store.read_records(&scribe.lease.session, 1, 9).await.expect("readable").len(), 1);
    assert_eq!(store.audit_lines(1, 9).await.expect("readable").len(), 1, "nothing was committed");
    fs::remove_dir(folder.path().join("audit/2026-01-03.jsonl")).expect("it is empty");
    scribe.write_audited(&store, "again").await;
    drop(store);
    assert_eq!(fault(folder.path()), None);
}

#[tokio::test]
async fn g10_days_have_their_own_files_and_a_clock_that_jumps_back_keeps_the_order() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path()).expect("the folder is ours");
    let mut scribe = Scribe::new(&store, "one").await;
    for day in [0, 1, 1, 0, 2] {
        let mut append = scribe.next_audited("x");
        append.audit[0].ts = Timestamp(NOON + day * DAY);
        store.append(append.clone()).await.expect("fits");
        scribe.wrote(&append);
    }
    drop(store);
    let lines = |name: &str| {
        let path = folder.path().join("audit").join(name);
        fs::read_to_string(path).expect("it exists").lines().count()
    };
    assert_eq!(lines("2026-01-02.jsonl"), 1);
    assert_eq!(lines("2026-01-03.jsonl"), 3);
    assert_eq!(lines("2026-01-04.jsonl"), 1);
    assert_eq!(fault(folder.path()), None);
}
