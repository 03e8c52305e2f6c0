//! The contract of checkpoints (G7), against the git one and the one in memory, and what only git
//! can show.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};
use weir_engine::ports::{
    CheckpointFilter, Checkpoints, FileContent, Snapshot, SnapshotEntry, StoreError,
};
use weir_store::{GitCheckpoints, MemoryCheckpoints};

const HERE: &str = "/home/ada/loom";

fn file(text: &str) -> FileContent {
    FileContent::File { bytes: Arc::from(text.as_bytes()), mode: 0o644 }
}

fn entry(path: &str, before: FileContent, after: FileContent) -> SnapshotEntry {
    SnapshotEntry { path: path.into(), before, after }
}

fn snapshot(session: &str, second: i64, entries: Vec<SnapshotEntry>) -> Snapshot {
    Snapshot {
        workspace: PathBuf::from(HERE),
        session: SessionId::new(session),
        run: "r1".into(),
        call: Some(CallId(u32::try_from(second).expect("small"))),
        ts: Timestamp((1_767_367_800 + second) * 1_000_000),
        label: format!("write_file number {second}"),
        entries,
    }
}

fn of_session(session: &str) -> CheckpointFilter {
    CheckpointFilter { session: Some(SessionId::new(session)), limit: None }
}

async fn ids(checkpoints: &dyn Checkpoints, filter: &CheckpointFilter) -> Vec<CheckpointId> {
    let found = checkpoints.list(Path::new(HERE), filter).await.expect("readable");
    found.into_iter().map(|info| info.id).collect()
}

macro_rules! every_kind {
    ($($name:ident)*) => {
        mod memory { $(
            #[tokio::test]
            async fn $name() { super::$name(&weir_store::MemoryCheckpoints::new()).await; }
        )* }
        mod git { $(
            #[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().expect("a temporary folder");
                super::$name(&weir_store::GitCheckpoints::open(folder.path())).await;
            }
        )* }
    };
}

every_kind! {
    g7_everything_comes_back_as_it_was
    g7_a_file_becomes_a_folder_and_back
    g7_many_files_in_one_checkpoint
    g7_lists_are_newest_first_and_filtered
    g7_an_id_may_be_shortened_but_not_ambiguous
    d9_forget_removes_one_session_only
    g7_old_and_too_many_checkpoints_are_collected
    g7_what_a_command_changed_is_found_under_the_announced_name
    g7_a_baseline_gives_back_what_it_was_given
    g7_the_newest_is_taken_away_again_and_no_other
}

async fn g7_the_newest_is_taken_away_again_and_no_other(checkpoints: &dyn Checkpoints) {
    let (here, session) = (Path::new(HERE), SessionId::new("s"));
    let take = async |session, second, before, after| {
        let entries = vec![entry("f", file(before), file(after))];
        checkpoints.take_snapshot(snapshot(session, second, entries)).await.expect("writable")
    };
    let first = take("s", 1, "0", "1").await;
    let second = take("s", 2, "changed meanwhile", "2").await;
    let other = take("t", 3, "2", "3").await;
    for (id, left) in [(&first, 2), (&other, 2), (&second, 1), (&second, 1), (&first, 0)] {
        checkpoints.void_snapshot(here, &session, id).await.expect("writable");
        assert_eq!(ids(checkpoints, &of_session("s")).await.len(), left);
    }
    assert_eq!(ids(checkpoints, &of_session("t")).await, [other]);
    let again = take("s", 4, "0", "1").await;
    assert_eq!(ids(checkpoints, &of_session("s")).await, [again]);
}

/// A name that no content can have been asked for.
fn announced(digit: &str) -> CheckpointId {
    CheckpointId::new(digit.repeat(40))
}

async fn g7_what_a_command_changed_is_found_under_the_announced_name(
    checkpoints: &dyn Checkpoints,
) {
    let here = Path::new(HERE);
    let before = vec![entry("f", file("0"), file("1"))];
    let taken = checkpoints.take_snapshot(snapshot("s", 1, before)).await.expect("writable");
    let entries = vec![
        entry("f", file("1"), file("2")),
        entry("gone", FileContent::Folder, FileContent::Absent),
        entry(
            "new",
            FileContent::Absent,
            FileContent::File { bytes: Arc::from(&b"x"[..]), mode: 0o755 },
        ),
    ];
    for _ in 0..2 {
        // The second time: the process was killed before it knew that it was done.
        let again = snapshot("s", 2, entries.clone());
        checkpoints.record_snapshot(&announced("a"), again).await.expect("writable");
    }
    let after = vec![entry("f", file("2"), file("3"))];
    let last = checkpoints.take_snapshot(snapshot("s", 3, after)).await.expect("writable");
    let all = ids(checkpoints, &of_session("s")).await;
    assert_eq!(all, [last, announced("a"), taken]);
    for id in [announced("a").as_str(), "aaaaaaaaaaaaaaaa"] {
        let (info, loaded) = checkpoints.load(here, id).await.expect("recorded");
        assert_eq!((info.id, info.call), (announced("a"), Some(CallId(2))));
        assert_eq!(loaded, entries);
    }
    let missing = checkpoints.load(here, announced("b").as_str()).await.map(drop);
    assert!(matches!(missing, Err(StoreError::Missing { .. })), "{missing:?}");
    let cut = Timestamp((1_767_367_800 + 2) * 1_000_000);
    assert_eq!(checkpoints.collect_old_snapshots(here, cut, u64::MAX).await.expect("writable"), 1);
    let (_, loaded) = checkpoints.load(here, announced("a").as_str()).await.expect("it stays");
    assert_eq!(loaded, entries);
}

async fn g7_a_baseline_gives_back_what_it_was_given(checkpoints: &dyn Checkpoints) {
    let session = SessionId::new("s");
    let open = || checkpoints.open_baseline(Path::new(HERE), &session).expect("writable");
    let mut baseline = open();
    let large: Vec<u8> = (0..=255_u8).cycle().take(3_000_000).collect();
    let pieces = [&b""[..], b"small", &large].map(|content| {
        let mut content = content;
        baseline.add_content(&mut content).expect("kept")
    });
    baseline.append_note("{\"one\":1}").expect("noted");
    baseline.sync().expect("durable");
    assert_eq!(baseline.bytes(), 3_000_005);
    // A killed process is survived.
    drop(baseline);
    let mut baseline = open();
    assert_eq!(baseline.read_notes().expect("readable"), ["{\"one\":1}"]);
    for (piece, content) in pieces.into_iter().zip([&b""[..], b"small", &large]) {
        assert_eq!(baseline.read(piece).expect("readable"), content);
    }
    baseline.remove().expect("removed");
    assert_eq!(open().read_notes().expect("readable"), Vec::<String>::new());
}

async fn g7_everything_comes_back_as_it_was(checkpoints: &dyn Checkpoints) {
    let binary: Arc<[u8]> = (0..=255_u8).cycle().take(100_000).collect();
    let entries = vec![
        entry("src/main.rs", file("fn main() {}\n"), file("fn main() { run() }\n")),
        entry("new folder/größe 🎉.txt", FileContent::Absent, file("")),
        entry(".git/hooks/post-commit", file("#!/bin/sh"), FileContent::Absent),
        entry(".gitignore", FileContent::Absent, file("target\n")),
        entry("a\nb\t\"c\"", file("odd name"), file("odd name 2")),
        entry("/etc/outside", file("absolute"), file("absolute 2")),
        entry("blob.bin", FileContent::File { bytes: binary, mode: 0o600 }, FileContent::Absent),
        entry(
            "run.sh",
            FileContent::File { bytes: Arc::from(&b"x"[..]), mode: 0o644 },
            FileContent::File { bytes: Arc::from(&b"x"[..]), mode: 0o4755 },
        ),
        entry(
            "link",
            FileContent::Link { target: "a/b".into() },
            FileContent::Link { target: "c".into() },
        ),
        entry("made", FileContent::Absent, FileContent::Folder),
        entry("gone", FileContent::Folder, FileContent::Absent),
    ];
    let taken = snapshot("s", 1, entries.clone());
    let id = checkpoints.take_snapshot(taken.clone()).await.expect("writable");
    let (info, loaded) = checkpoints.load(&taken.workspace, id.as_str()).await.expect("taken");
    assert_eq!(loaded, entries);
    assert_eq!((info.run.as_str(), info.call, info.ts), ("r1", Some(CallId(1)), taken.ts));
    assert_eq!(info.label, taken.label);
    assert_eq!(info.changes[1].after, entries[1].after.image());
    // The same again (a restore, say), and once more with everything turned round.
    let again =
        checkpoints.take_snapshot(snapshot("s", 2, entries.clone())).await.expect("writable");
    let back: Vec<SnapshotEntry> =
        entries.iter().map(|e| entry(&e.path, e.after.clone(), e.before.clone())).collect();
    let turned = checkpoints.take_snapshot(snapshot("s", 3, back.clone())).await.expect("writable");
    for (id, expected) in [(&id, &entries), (&again, &entries), (&turned, &back)] {
        let (_, loaded) = checkpoints.load(Path::new(HERE), id.as_str()).await.expect("taken");
        assert_eq!(&loaded, expected);
    }
}

async fn g7_a_file_becomes_a_folder_and_back(checkpoints: &dyn Checkpoints) {
    let forth = vec![
        entry("x", file("a file"), FileContent::Folder),
        entry("x/y", FileContent::Absent, file("below")),
    ];
    let back = vec![
        entry("x/y", file("below"), FileContent::Absent),
        entry("x", FileContent::Folder, file("a file")),
    ];
    for (second, entries) in [(1, &forth), (2, &back), (3, &forth)] {
        let id = checkpoints
            .take_snapshot(snapshot("s", second, entries.clone()))
            .await
            .expect("writable");
        let (_, loaded) = checkpoints.load(Path::new(HERE), id.as_str()).await.expect("taken");
        assert_eq!(&loaded, entries);
    }
}

async fn g7_many_files_in_one_checkpoint(checkpoints: &dyn Checkpoints) {
    let entries: Vec<SnapshotEntry> = (0..300)
        .map(|n| entry(&format!("d{}/f{n}", n % 7), file(&format!("old {n}")), file("new")))
        .collect();
    let id = checkpoints.take_snapshot(snapshot("s", 1, entries.clone())).await.expect("writable");
    let one = vec![entry("d0/f0", file("new"), file("newer"))];
    let next = checkpoints.take_snapshot(snapshot("s", 2, one.clone())).await.expect("writable");
    let (_, loaded) = checkpoints.load(Path::new(HERE), id.as_str()).await.expect("taken");
    assert_eq!(loaded, entries);
    let (_, loaded) = checkpoints.load(Path::new(HERE), next.as_str()).await.expect("taken");
    assert_eq!(loaded, one);
}

async fn g7_lists_are_newest_first_and_filtered(checkpoints: &dyn Checkpoints) {
    assert_eq!(ids(checkpoints, &CheckpointFilter::default()).await, []);
    let mut taken = Vec::new();
    for (session, second) in [("a", 1), ("b", 2), ("a", 3), ("a", 3)] {
        let entries = vec![entry("f", file("1"), file("2"))];
        taken.push(
            checkpoints.take_snapshot(snapshot(session, second, entries)).await.expect("writable"),
        );
    }
    let all = CheckpointFilter::default();
    let newest: Vec<CheckpointId> = [3, 2, 1, 0].map(|at: usize| taken[at].clone()).to_vec();
    assert_eq!(ids(checkpoints, &all).await, newest);
    assert_eq!(ids(checkpoints, &of_session("b")).await, newest[2..3]);
    let two = CheckpointFilter { session: Some(SessionId::new("a")), limit: Some(2) };
    assert_eq!(ids(checkpoints, &two).await, newest[..2]);
    let elsewhere = checkpoints.list(Path::new("/elsewhere"), &all).await.expect("readable");
    assert_eq!(elsewhere, []);
}

async fn g7_an_id_may_be_shortened_but_not_ambiguous(checkpoints: &dyn Checkpoints) {
    let mut taken = Vec::new();
    for second in 1..=20 {
        let entries = vec![entry("f", file("1"), file(&second.to_string()))];
        taken.push(
            checkpoints.take_snapshot(snapshot("s", second, entries)).await.expect("writable"),
        );
    }
    let (info, _) =
        checkpoints.load(Path::new(HERE), &taken[4].as_str()[..12]).await.expect("taken");
    assert_eq!(info.id, taken[4]);
    // Twenty ids, sixteen digits: two begin with the same one.
    let shared = (0..16).map(|digit| format!("{digit:x}")).find(|digit| {
        taken.iter().filter(|id| id.as_str().starts_with(digit.as_str())).count() > 1
    });
    for (id, says) in [
        (shared.expect("more ids than digits").as_str(), "begin so"),
        ("", "begin so"),
        ("0000000000", "does not exist"),
        ("zz/../..", "does not exist"),
    ] {
        let error = checkpoints.load(Path::new(HERE), id).await.map(drop).expect_err("not one");
        assert!(matches!(error, StoreError::Missing { .. }), "{id}: {error}");
        assert!(error.to_string().contains(says), "{id}: {error}");
    }
}

async fn d9_forget_removes_one_session_only(checkpoints: &dyn Checkpoints) {
    let shared = vec![entry("f", file("shared"), file("shared 2"))];
    let one =
        checkpoints.take_snapshot(snapshot("one", 1, shared.clone())).await.expect("writable");
    let two =
        checkpoints.take_snapshot(snapshot("two", 2, shared.clone())).await.expect("writable");
    let session = SessionId::new("one");
    checkpoints.forget(Path::new(HERE), &session).await.expect("writable");
    checkpoints.forget(Path::new(HERE), &session).await.expect("twice is no error");
    checkpoints.forget(Path::new("/elsewhere"), &session).await.expect("nothing there");
    assert_eq!(ids(checkpoints, &CheckpointFilter::default()).await, std::slice::from_ref(&two));
    let gone = checkpoints.load(Path::new(HERE), one.as_str()).await.map(drop);
    assert!(matches!(gone, Err(StoreError::Missing { .. })), "{gone:?}");
    let (_, loaded) = checkpoints.load(Path::new(HERE), two.as_str()).await.expect("kept");
    assert_eq!(loaded, shared);
    checkpoints.take_snapshot(snapshot("one", 3, shared)).await.expect("it may begin anew");
}

async fn g7_old_and_too_many_checkpoints_are_collected(checkpoints: &dyn Checkpoints) {
    let here = Path::new(HERE);
    let mut taken = Vec::new();
    let mut noise = 1_u32;
    for second in 1..=10 {
        // Text that does not compress, so that size means something.
        let text: String = (0..20_000)
            .map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(b' ' + (noise >> 24) as u8 % 90)
            })
            .collect();
        let session = if second % 3 == 0 { "a" } else { "b" };
        let entries = vec![entry("one file", FileContent::Absent, file(&text))];
        let id = checkpoints.take_snapshot(snapshot(session, second, entries.clone())).await;
        taken.push((id.expect("writable"), entries));
    }
    let cut = Timestamp((1_767_367_800 + 4) * 1_000_000);
    assert_eq!(checkpoints.collect_old_snapshots(here, cut, u64::MAX).await.expect("writable"), 3);
    let mut left = ids(checkpoints, &CheckpointFilter::default()).await;
    left.reverse();
    let expected: Vec<CheckpointId> = taken[3..].iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(left, expected, "those that stay keep their names");
    for (id, entries) in &taken[3..] {
        let (_, loaded) = checkpoints.load(here, id.as_str()).await.expect("kept");
        assert_eq!(&loaded, entries);
    }
    // Room for about three of the seven.
    let gone =
        checkpoints.collect_old_snapshots(here, Timestamp(0), 70_000).await.expect("writable");
    assert!((3..=6).contains(&gone), "{gone} went");
    let left = ids(checkpoints, &CheckpointFilter::default()).await;
    assert_eq!(left.len(), 7 - gone);
    assert_eq!(left[0], taken[9].0, "the newest stays");
    let (_, loaded) = checkpoints.load(here, left[0].as_str()).await.expect("kept");
    assert_eq!(loaded, taken[9].1);
    assert_eq!(
        checkpoints.collect_old_snapshots(here, Timestamp(0), 0).await.expect("writable"),
        left.len()
    );
    assert_eq!(ids(checkpoints, &CheckpointFilter::default()).await, []);
    checkpoints.take_snapshot(snapshot("a", 11, taken[0].1.clone())).await.expect("it goes on");
}

/// Plain git, told nothing but where the repository is.
fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git is installed where the tests run");
    let errors = String::from_utf8_lossy(&output.stderr);
    // `HEAD` names no session, and need not.
    let errors = errors.lines().filter(|line| !line.starts_with("notice:")).collect::<String>();
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &errors
}

#[tokio::test]
async fn g7_plain_git_shows_what_the_agent_changed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let checkpoints = GitCheckpoints::open(folder.path());
    let first = vec![entry("src/a.rs", file("one\n"), file("two\n"))];
    // Somebody else changes the file, then the agent again.
    let second = vec![entry("src/a.rs", file("three\n"), file("four\n"))];
    let many: Vec<SnapshotEntry> =
        (0..40).map(|n| entry(&format!("m/{n}"), FileContent::Absent, file("x\n"))).collect();
    let id = checkpoints.take_snapshot(snapshot("s", 1, first)).await.expect("writable");
    checkpoints.take_snapshot(snapshot("s", 2, second)).await.expect("writable");
    checkpoints.take_snapshot(snapshot("s", 3, many)).await.expect("writable");
    let repository = checkpoints.repository_of(Path::new(HERE));
    let log = git(&repository, &["log", "-p", "--format=%s", "refs/weir/s", "--", "src"]);
    let diffs: Vec<&str> = log
        .lines()
        .filter(|l| l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---"))
        .collect();
    assert_eq!(diffs, ["-three", "+four", "-two", "+three", "-one", "+two", "+one"]);
    assert!(git(&repository, &["show", id.as_str()]).contains("write_file number 1"));
    assert_eq!(git(&repository, &["fsck", "--full", "--strict"]).trim(), "");
    let description = std::fs::read_to_string(repository.join("description")).expect("it exists");
    assert!(description.contains(HERE), "{description}");
    // A person tidies up, and history is cut: git still reads it, and so do we.
    git(&repository, &["gc", "--quiet"]);
    git(&repository, &["pack-refs", "--all"]);
    let cut = Timestamp((1_767_367_800 + 2) * 1_000_000);
    assert_eq!(
        checkpoints.collect_old_snapshots(Path::new(HERE), cut, u64::MAX).await.expect("writable"),
        1
    );
    assert_eq!(ids(&checkpoints, &CheckpointFilter::default()).await.len(), 2);
    assert_eq!(git(&repository, &["fsck", "--full", "--strict"]).trim(), "");
    git(&repository, &["log", "-p", "refs/weir/s"]);
    let gone = git(&repository, &["cat-file", "--batch-check", "--batch-all-objects"]);
    assert!(!gone.contains(id.as_str()), "the collected commit is gone");
}

#[tokio::test]
async fn g7_only_touched_files_are_stored() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workspace = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(workspace.path().join("secret"), "not touched").expect("writable");
    let checkpoints = GitCheckpoints::open(folder.path());
    let mut taken = snapshot("s", 1, vec![entry("a", file("1"), file("2"))]);
    taken.workspace = workspace.path().to_path_buf();
    checkpoints.take_snapshot(taken).await.expect("writable");
    let repository = checkpoints.repository_of(workspace.path());
    let names = git(&repository, &["ls-tree", "-r", "--name-only", "refs/weir/s"]);
    assert_eq!(names, "a\n");
    let left: Vec<_> = std::fs::read_dir(workspace.path()).expect("readable").collect();
    assert_eq!(left.len(), 1, "nothing was put into the workspace");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g7_several_writers_share_one_repository() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (left, right) = (GitCheckpoints::open(folder.path()), GitCheckpoints::open(folder.path()));
    let take = |n: i64| {
        let who = if n % 2 == 0 { &left } else { &right };
        let entries = vec![entry(&format!("f{n}"), FileContent::Absent, file("x"))];
        who.take_snapshot(snapshot("s", n, entries))
    };
    for result in futures::future::join_all((0..12).map(take)).await {
        result.expect("writable");
    }
    assert_eq!(ids(&left, &of_session("s")).await.len(), 12);
    assert_eq!(ids(&left, &of_session("s")).await, ids(&right, &of_session("s")).await);
    let cut = Timestamp((1_767_367_800 + 6) * 1_000_000);
    left.collect_old_snapshots(Path::new(HERE), cut, u64::MAX).await.expect("writable");
    let entries = vec![entry("last", FileContent::Absent, file("y"))];
    let id =
        right.take_snapshot(snapshot("s", 20, entries.clone())).await.expect("packs were replaced");
    let (_, loaded) = left.load(Path::new(HERE), id.as_str()).await.expect("taken");
    assert_eq!(loaded, entries);
}

#[tokio::test]
async fn g7_a_checkpoint_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("checkpoints"), "in the way").expect("writable");
    let checkpoints = GitCheckpoints::open(folder.path());
    let entries = vec![entry("a", file("1"), file("2"))];
    let error = checkpoints.take_snapshot(snapshot("s", 1, entries)).await.expect_err("no folder");
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    let memory = MemoryCheckpoints::new();
    assert_eq!(ids(&memory, &CheckpointFilter::default()).await, []);
}

/// Runs this test binary again with a home whose git configuration is broken or hostile.
#[test]
fn g7_the_users_git_configuration_has_no_say() {
    for config in [
        "[core\n broken",
        "[core]\n autocrlf = true\n hooksPath = /tmp/hooks\n[commit]\n gpgsign = true\n",
    ] {
        let home = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(home.path().join(".gitconfig"), config).expect("writable");
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "checkpoints::git::g7_everything_comes_back_as_it_was"])
            .env("HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path())
            .output()
            .expect("it can be started");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.contains("1 passed"), "{config:?}: {text}");
    }
}
