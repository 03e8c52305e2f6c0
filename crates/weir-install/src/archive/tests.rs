//! Backups that are written and restored in folders of their own; not here: a whole program or server.

use std::collections::BTreeMap;

use super::begun::{BegunRestore, MovedFolder, RestorePlan};
use super::restore::{RestoreTargets, apply_files, plan_restore, target_path};
use super::*;

fn dirs(folder: &Path) -> WeirFolders {
    WeirFolders {
        config: folder.join("config"),
        state: folder.join("state"),
        home: None,
        hidden: Vec::new(),
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("writable");
    fs::write(path, text).expect("writable");
}

#[tokio::test]
async fn d9_a_backup_holds_everything_but_keys_and_comes_back_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = dirs(&folder.path().join("from"));
    let store = weir_store::SqliteStore::open(&from.state).expect("opens");
    put(&from.state.join("people/p1/audit/2026-01-01.jsonl"), "line\n");
    put(&from.state.join("checkpoints/a.git/objects/ab/cd"), "object");
    put(&from.state.join("checkpoints/a.git/refs/one"), "name");
    put(&from.state.join("backups/old.tar.gz"), "old");
    put(&from.config.join("config.toml"), "permission = \"ask\"\n");
    put(&from.config.join("keys.toml"), "sk-secret");
    let archive = folder.path().join("b.tar.gz");
    let of = BackupOf { dirs: &from, database: "", keys: false, kept_keys: None };
    assert!(write_archive(&of, &archive).await.expect("written") > 0);
    assert!(write_archive(&of, &archive).await.is_err(), "it replaces nothing");
    drop(store);

    let to = dirs(&folder.path().join("to"));
    let of = BackupOf { dirs: &to, database: "", keys: false, kept_keys: None };
    assert!(restore_archive(&of, &archive, false).await.expect("restored").is_empty());
    let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text(to.state.join("people/p1/audit/2026-01-01.jsonl")), "line\n");
    assert_eq!(text(to.state.join("checkpoints/a.git/objects/ab/cd")), "object");
    assert_eq!(text(to.state.join("checkpoints/a.git/refs/one")), "name");
    assert_eq!(text(to.config.join("config.toml")), "permission = \"ask\"\n");
    assert!(!to.config.join("keys.toml").exists() && !to.state.join("backups").exists());
    let store = weir_store::SqliteStore::open(&to.state).expect("opens");
    store.check_integrity().await.expect("whole");
    drop(store);
    let left: Vec<_> = fs::read_dir(&to.state).expect("there").flatten().collect();
    assert!(!left.iter().any(|one| one.file_name().to_string_lossy().starts_with(".weir")));

    let refused = restore_archive(&of, &archive, false).await.expect_err("there is data");
    assert!(refused.to_string().contains("--replace"), "{refused}");
    let moved = restore_archive(&of, &archive, true).await.expect("moved aside");
    assert_eq!(moved.len(), 2);
    assert!(moved.iter().all(|folder| folder.is_dir()));
}

#[tokio::test]
async fn r9_a_backup_with_keys_has_those_of_the_keyring_and_not_its_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = dirs(&folder.path().join("from"));
    fs::create_dir_all(&from.state).expect("writable");
    put(&from.config.join("config.toml"), "permission = \"ask\"\n");
    put(&from.config.join("keys.toml"), "openai = \"sk-file\"\n");
    put(&from.config.join("keyring.toml"), "[names]\nanthropic = \"1\"\n");
    put(&from.config.join("keys.lock"), "");
    put(&from.config.join("config.lock"), "");
    let all = Secret::new("anthropic = \"sk-ring\"\nopenai = \"sk-file\"");
    let archive = folder.path().join("b.tar.gz");
    let of = BackupOf { dirs: &from, database: "", keys: true, kept_keys: Some(&all) };
    write_archive(&of, &archive).await.expect("written");
    let to = dirs(&folder.path().join("to"));
    let of = BackupOf { dirs: &to, database: "", keys: true, kept_keys: None };
    restore_archive(&of, &archive, false).await.expect("restored");
    let kept = to.config.join("keys.toml");
    assert_eq!(fs::read_to_string(&kept).expect("there"), all.reveal());
    assert_eq!(fs::metadata(&kept).expect("there").permissions().mode() & 0o777, 0o600);
    let other = ["keyring.toml", "keys.lock", "config.lock"];
    assert_eq!(other.map(|name| to.config.join(name).exists()), [false; 3]);
}

#[tokio::test]
async fn d9_a_file_that_is_no_backup_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = dirs(folder.path());
    put(&to.state.join("weir.db"), "data");
    let file = folder.path().join("b.tar.gz");
    put(&file, "hello");
    let of = BackupOf { dirs: &to, database: "", keys: false, kept_keys: None };
    let error = restore_archive(&of, &file, true).await.expect_err("no backup");
    assert!(error.to_string().contains("no backup of Weir"), "{error}");
    assert_eq!(fs::read_to_string(to.state.join("weir.db")).expect("there"), "data");
}

#[tokio::test]
async fn d9_a_damaged_backup_is_refused_before_anything_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = dirs(&folder.path().join("from"));
    put(&from.state.join("people/p1/audit/2026-01-01.jsonl"), "line\n");
    put(&from.config.join("config.toml"), "permission = \"ask\"\n");
    let archive = folder.path().join("b.tar.gz");
    let of = BackupOf { dirs: &from, database: "", keys: false, kept_keys: None };
    write_archive(&of, &archive).await.expect("written");
    let whole = fs::read(&archive).expect("there");
    let end = whole.len();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damages = [
        ("a bit in the middle", flipped(end / 2)),
        ("a bit of the checksum", flipped(end - 6)),
        ("a bit of the length", flipped(end - 2)),
        ("the checksum is cut off", whole[..end - 8].to_vec()),
        ("more is cut off", whole[..end - 9].to_vec()),
        ("garbage follows", [whole.as_slice(), b"x".as_slice()].concat()),
        ("another one follows", [whole.as_slice(), whole.as_slice()].concat()),
    ];
    let to = dirs(&folder.path().join("to"));
    put(&to.state.join("weir.db"), "data");
    let of = BackupOf { dirs: &to, database: "", keys: false, kept_keys: None };
    for (what, bytes) in damages {
        fs::write(&archive, bytes).expect("writable");
        let refused = restore_archive(&of, &archive, true).await.expect_err(what);
        let told = refused.to_string();
        assert!(told.contains("is damaged: "), "{what}: {told}");
        assert!(told.ends_with("; nothing was changed"), "{what}: {told}");
        let kept = fs::read_to_string(to.state.join("weir.db")).expect("there");
        assert_eq!(kept, "data", "{what}");
        assert!(!to.config.exists(), "{what}");
    }
    fs::write(&archive, &whole).expect("writable");
    assert_eq!(restore_archive(&of, &archive, true).await.expect("whole").len(), 1);
}

#[tokio::test]
async fn d9_a_log_that_stayed_without_its_database_is_not_restored_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = dirs(&folder.path().join("from"));
    drop(weir_store::SqliteStore::open(&from.state).expect("opens"));
    let archive = folder.path().join("b.tar.gz");
    let of = BackupOf { dirs: &from, database: "", keys: false, kept_keys: None };
    write_archive(&of, &archive).await.expect("written");

    // A damaged database was taken away by hand; the log that the last run left was not.
    let to = dirs(&folder.path().join("to"));
    put(&to.state.join("weir.db-wal"), "of another database");
    let of = BackupOf { dirs: &to, database: "", keys: false, kept_keys: None };
    let refused = restore_archive(&of, &archive, false).await.expect_err("there is a log");
    assert!(refused.to_string().contains("--replace"), "{refused}");
    let moved = restore_archive(&of, &archive, true).await.expect("moved aside");
    assert_eq!(moved.len(), 1);
    assert!(to.state.join("weir.db").is_file());
    assert!(!to.state.join("weir.db-wal").exists());
}

#[tokio::test]
async fn d9_r9_a_backup_lies_outside_of_what_is_backed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = dirs(&folder.path().join("from"));
    put(&from.state.join("people/p1/audit/2026-01-01.jsonl"), "line\n");
    put(&from.config.join("config.toml"), "permission = \"ask\"\n");
    put(&from.state.join("backups/old.tar.gz"), "old");
    let database = folder.path().join("database");
    put(&database.join("kept"), "kept");
    std::os::unix::fs::symlink(&from.state, folder.path().join("link")).expect("a link");
    let url = format!("sqlite:{}", database.display());
    let of = BackupOf { dirs: &from, database: &url, keys: true, kept_keys: None };
    for inside in ["from/state", "from/state/people", "from/config", "database", "link/people"] {
        let to = folder.path().join(inside).join("b.tar.gz");
        let refused = write_archive(&of, &to).await.expect_err(inside);
        let told = refused.to_string();
        assert!(told.contains("choose a folder outside of"), "{inside}: {told}");
        assert!(!to.exists(), "{inside}");
    }
    for fine in ["", "from", "from/state/backups"] {
        write_archive(&of, &folder.path().join(fine).join("b.tar.gz")).await.expect(fine);
    }
    let missing = folder.path().join("none/b.tar.gz");
    let refused = write_archive(&of, &missing).await.expect_err("no folder");
    assert!(refused.to_string().contains("nothing can be written in"), "{refused}");
}

/// An archive of which the last file cannot be put anywhere.
fn put_unrestorable(of: &BackupOf<'_>, path: &Path) {
    let mut file = ArchiveWriter::create_at(path).expect("writable");
    file.write_manifest(&build_manifest(of)).expect("written");
    for name in ["config/config.toml", "state/weir.db", "state/people/p1/a", "other/x"] {
        file.append_text("new", Path::new(name)).expect("written");
    }
    file.finish().expect("written");
}

#[tokio::test]
async fn d9_a_restore_that_fails_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("b.tar.gz");
    let to = dirs(&folder.path().join("to"));
    let of = BackupOf { dirs: &to, database: "", keys: false, kept_keys: None };
    put_unrestorable(&of, &archive);

    // Where nothing was, nothing is.
    let failed = restore_archive(&of, &archive, false).await.expect_err("no place for it");
    let told = format!("{failed:#}");
    assert!(told.contains("all is as it was before") && told.contains("other/x"), "{told}");
    assert!(!folder.path().join("to").exists());

    // What was moved aside is back, and what is no data was not touched.
    put(&to.state.join("weir.db"), "old");
    put(&to.state.join("people/p1/b"), "old");
    put(&to.config.join("SOUL.md"), "mine");
    let failed = restore_archive(&of, &archive, true).await.expect_err("no place for it");
    let told = format!("{failed:#}");
    assert!(told.contains("all is as it was before"), "{told}");
    let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text(to.state.join("weir.db")), "old");
    assert_eq!(text(to.state.join("people/p1/b")), "old");
    assert_eq!(text(to.config.join("SOUL.md")), "mine");
    assert!(!to.state.join("people/p1/a").exists() && !to.config.join("config.toml").exists());
    let names = fs::read_dir(folder.path().join("to")).expect("there").flatten();
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["config", "state"]);
}

#[test]
fn d9_data_that_cannot_be_moved_back_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    put(&state.join("weir.db"), "old");
    let aside = folder.path().join("state.before-restore-1");
    let moved = vec![MovedFolder::new(state.clone(), aside.clone()).expect("there")];
    let dirs = dirs(folder.path());
    let staging = state.join("s");
    let mut plan = RestorePlan::new(Path::new("b"), staging, moved, &dirs).expect("a plan");
    plan.add_file(&state.join("a/weir.db")).expect("it goes aside");
    let mut begun = BegunRestore::begin_restore(plan, &dirs).expect("written");
    begun.move_aside(&mut || Ok(())).expect("moved");
    drop(begun.make_file(&state.join("a/weir.db")).expect("written"));
    // Somebody took it elsewhere meanwhile.
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&aside, &elsewhere).expect("there");
    let told = format!("{:#}", begun.take_back(anyhow::anyhow!("the disk is full")));
    assert!(told.contains("the disk is full"), "{told}");
    assert!(told.contains(&aside.display().to_string()), "{told}");
    assert!(!told.contains("as it was before"), "{told}");
    drop(begun);
    // Nothing starts over it, until that is back.
    let refused = take_back_killed_restore(&dirs).expect_err("it is not there");
    assert!(refused.to_string().contains(&aside.display().to_string()), "{refused}");
    fs::rename(&elsewhere, &aside).expect("there");
    assert!(take_back_killed_restore(&dirs).expect("taken back").is_some());
    assert_eq!(fs::read_to_string(state.join("weir.db")).expect("there"), "old");
    assert!(take_back_killed_restore(&dirs).expect("nothing").is_none());
}

/// The names in a folder that begin like this.
fn names_like(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("there").flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    entries.filter(named).collect()
}

/// Somebody went on working in what a killed restore left.
#[test]
fn d9_what_was_changed_since_a_restore_was_killed_is_lost_nowhere() {
    for before in ["files", "data"] {
        let RestoreSite { folder, to, archive } = RestoreSite::where_stood(before);
        let of = backup_with_keys(&to);
        let mut changes = 0;
        // All files are there, and only then it is killed.
        let begun = loop {
            let Some(begun) = restore_up_to(&of, &archive, changes) else { break None };
            if to.state.join("people/p1/b").exists() {
                break Some(begun);
            }
            drop(begun);
            take_back_killed_restore(&to).expect("taken back");
            changes += 1;
        };
        drop(begun.expect("it ends before its end"));
        put(&to.state.join("weir.db"), "work");
        put(&to.state.join("people/p2/a"), "work");
        let said = take_back_killed_restore(&to).expect("taken back").expect("it is said");
        let kept = match before {
            "data" => {
                let halves = names_like(&folder.path().join("to"), "state.half-restored");
                assert_eq!(halves.len(), 1, "{said}");
                assert_eq!(fs::read_to_string(to.state.join("weir.db")).expect("there"), "old");
                halves[0].clone()
            }
            _ => to.state.clone(),
        };
        assert!(said.contains(&kept.display().to_string()), "{said}");
        for path in ["weir.db", "people/p2/a"] {
            assert_eq!(fs::read_to_string(kept.join(path)).expect("there"), "work", "{path}");
        }
        assert!(!is_restore_begun(&to.state));
        assert!(take_back_killed_restore(&to).expect("nothing to do").is_none());
    }
}

/// Whoever can write beside the state folder, but not in it, can write a note that looks like one.
#[test]
fn d9_a_note_beside_the_state_folder_counts_for_nothing_where_that_one_says_nothing() {
    let RestoreSite { folder, to, archive } = RestoreSite::where_stood("data");
    let of = backup_with_keys(&to);
    let marker = folder.path().join("to/state.restoring");
    drop(restore_up_to(&of, &archive, 4).expect("it ends"));
    let noted = fs::read_to_string(&marker).expect("it is noted");
    take_back_killed_restore(&to).expect("taken back");
    // The same note, for a folder that is another one by now.
    fs::rename(&to.state, folder.path().join("away")).expect("there");
    put(&to.state.join("weir.db"), "mine");
    put(&folder.path().join("to/config.before-restore-1/config.toml"), "theirs");
    let was = everything_below(folder.path());
    for text in [noted.as_str(), "{", ""] {
        put(&marker, text);
        assert!(take_back_killed_restore(&to).expect("it is none").is_none(), "{text}");
        fs::remove_file(&marker).expect("it is left alone");
        assert_eq!(everything_below(folder.path()), was, "{text}");
    }
    // A pipe is not waited for.
    let made = std::process::Command::new("mkfifo").arg(&marker).status().expect("mkfifo");
    assert!(made.success() && take_back_killed_restore(&to).expect("it is none").is_none());
}

#[test]
fn d9_settings_that_a_restore_elsewhere_changes_are_not_used_meanwhile() {
    let RestoreSite { folder, to, archive } = RestoreSite::where_stood("data");
    let of = backup_with_keys(&to);
    let other = WeirFolders { state: folder.path().join("other"), ..to.clone() };
    let begun = restore_up_to(&of, &archive, 5).expect("it ends");
    let told = |refused: anyhow::Error| refused.to_string();
    let refused = told(take_back_killed_restore(&other).expect_err("it goes on"));
    assert!(refused.contains(&to.state.display().to_string()), "{refused}");
    drop(begun);
    let refused = told(take_back_killed_restore(&other).expect_err("it was killed"));
    assert!(refused.contains("--state-dir"), "{refused}");
    assert!(take_back_killed_restore(&to).expect("taken back").is_some());
    assert!(take_back_killed_restore(&other).expect("it is over").is_none());
    assert_eq!(fs::read_to_string(to.config.join("config.toml")).expect("there"), "old");
}

#[tokio::test]
async fn d9_a_state_folder_below_what_goes_aside_is_refused_before_anything_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("to");
    let to = WeirFolders { config: config.clone(), ..dirs(&config) };
    let of = BackupOf { dirs: &to, database: "", keys: true, kept_keys: None };
    let archive = folder.path().join("b.tar.gz");
    put_whole(&of, &archive);
    put(&config.join("config.toml"), "old");
    let was = everything_below(folder.path());
    let refused = restore_archive(&of, &archive, true).await.expect_err("it would go along");
    assert!(format!("{refused:#}").contains("--state-dir"), "{refused:#}");
    assert_eq!(everything_below(folder.path()), was);
}

/// Every file below a folder, with its content, and every empty folder, which has none.
fn everything_below(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let entries: Vec<_> = fs::read_dir(&at).into_iter().flatten().flatten().collect();
        if entries.is_empty() {
            found.insert(at, None);
            continue;
        }
        for path in entries.into_iter().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let content = fs::read(&path).expect("readable");
                found.insert(path, Some(content));
            }
        }
    }
    found
}

/// An archive of files in all folders, and where it is to be restored.
struct RestoreSite {
    folder: tempfile::TempDir,
    to: WeirFolders,
    archive: PathBuf,
}

impl RestoreSite {
    /// One where this stood before: see [`put_before`].
    fn where_stood(before: &str) -> RestoreSite {
        let folder = tempfile::tempdir().expect("a folder");
        let to = dirs(&folder.path().join("to"));
        let archive = folder.path().join("b.tar.gz");
        put_whole(&backup_with_keys(&to), &archive);
        put_before(&to, before);
        RestoreSite { folder, to, archive }
    }
}

fn backup_with_keys(dirs: &WeirFolders) -> BackupOf<'_> {
    BackupOf { dirs, database: "", keys: true, kept_keys: None }
}

/// An archive with files in all folders.
fn put_whole(of: &BackupOf<'_>, path: &Path) {
    let mut file = ArchiveWriter::create_at(path).expect("writable");
    file.write_manifest(&build_manifest(of)).expect("written");
    for name in ["config/config.toml", "state/weir.db", "state/people/p1/a", "state/people/p1/b"] {
        file.append_text("new", Path::new(name)).expect("written");
    }
    file.finish().expect("written");
}

/// What stands there before a restore: nothing, files that are no data, or data.
fn put_before(to: &WeirFolders, before: &str) {
    if before != "nothing" {
        put(&to.config.join("SOUL.md"), "mine");
        put(&to.state.join("people.txt"), "mine");
    }
    if before == "data" {
        put(&to.state.join("weir.db"), "old");
        put(&to.state.join("people/p1/a"), "old");
        put(&to.config.join("config.toml"), "old");
    }
}

/// A restore that ends before the change with this number; `None`: it has no more.
fn restore_up_to(of: &BackupOf<'_>, archive: &Path, changes: usize) -> Option<BegunRestore> {
    let targets = RestoreTargets::of_backup(of);
    let plan = plan_restore(of, &targets, archive, true).expect("a plan");
    let mut begun = BegunRestore::begin_restore(plan, of.dirs).expect("noted");
    let mut left = changes;
    let mut step = || -> io::Result<()> {
        left = left.checked_sub(1).ok_or_else(|| io::Error::other("it ends here"))?;
        Ok(())
    };
    let applied = apply_files(&targets, archive, &mut begun, &mut step);
    applied.is_err().then_some(begun)
}

#[tokio::test]
async fn d9_a_restore_that_is_killed_anywhere_is_taken_back_by_the_next_start() {
    for before in ["nothing", "files", "data"] {
        let mut changes = 0;
        loop {
            let RestoreSite { folder, to, archive } = RestoreSite::where_stood(before);
            let of = backup_with_keys(&to);
            let was = everything_below(folder.path());
            // Dropped as a killed program drops it: nothing is taken back.
            let Some(begun) = restore_up_to(&of, &archive, changes) else { break };
            assert!(is_restore_begun(&to.state), "{before} {changes}");
            let busy = take_back_killed_restore(&to).expect_err("it lives");
            assert!(busy.to_string().contains("is being restored"), "{busy}");
            assert!(restore_archive(&of, &archive, true).await.is_err(), "one at a time");
            drop(begun);
            let said = take_back_killed_restore(&to).expect("taken back").expect("it is said");
            assert!(said.contains("all is as it was before"), "{said}");
            let mut now = everything_below(folder.path());
            // A folder that was made first may stay, empty.
            now.retain(|path, content| content.is_some() || was.contains_key(path));
            assert_eq!(now, was, "{before}, before change {changes}");
            assert!(take_back_killed_restore(&to).expect("nothing to do").is_none());
            // And then it can be restored.
            restore_archive(&of, &archive, true).await.expect("restored");
            for path in [to.config.join("config.toml"), to.state.join("people/p1/b")] {
                assert_eq!(fs::read_to_string(&path).expect("there"), "new", "{before} {changes}");
            }
            assert!(!is_restore_begun(&to.state));
            changes += 1;
        }
        assert!(changes > 7, "{before}: each file is met before and after it is made: {changes}");
    }
}

#[test]
fn d9_a_restore_that_fails_anywhere_leaves_everything_as_it_was() {
    for before in ["nothing", "files", "data"] {
        for changes in 0..8 {
            let RestoreSite { folder, to, archive } = RestoreSite::where_stood(before);
            let of = backup_with_keys(&to);
            let was = everything_below(folder.path());
            let begun = restore_up_to(&of, &archive, changes).expect("it ends");
            let told = format!("{:#}", begun.take_back(anyhow::anyhow!("the disk is full")));
            assert!(told.contains("all is as it was before"), "{before} {changes}: {told}");
            assert_eq!(everything_below(folder.path()), was, "{before}, before change {changes}");
        }
    }
}

/// A start that was killed while it took a restore back leaves the rest to the next one.
#[test]
fn d9_what_was_taken_back_already_is_not_taken_away() {
    let RestoreSite { folder, to, archive } = RestoreSite::where_stood("data");
    let of = backup_with_keys(&to);
    let begun = restore_up_to(&of, &archive, 6).expect("it ends");
    drop(begun);
    let marker = folder.path().join("to/state.restoring");
    let noted = fs::read_to_string(&marker).expect("it is noted beside what is moved");
    let was = |name: &str| fs::read_to_string(to.state.join(name)).unwrap_or_default();
    take_back_killed_restore(&to).expect("taken back");
    assert_eq!(was("weir.db"), "old");
    // As if the note had not been taken away any more.
    put(&marker, &noted);
    assert!(take_back_killed_restore(&to).expect("nothing to do").is_some());
    assert_eq!((was("weir.db"), was("people/p1/a")), ("old".into(), "old".into()));
    assert!(!marker.exists());
    // A note that nobody can read stops the start where its folder is not there: nobody knows what holds.
    put(&marker, &noted[..noted.len() / 2]);
    fs::rename(&to.state, folder.path().join("away")).expect("there");
    let refused = take_back_killed_restore(&to).expect_err("it is cut off");
    assert!(refused.to_string().contains("cannot be read"), "{refused}");
}

#[tokio::test]
async fn d9_a_restore_takes_away_nothing_that_it_did_not_make() {
    let RestoreSite { folder, to, archive } = RestoreSite::where_stood("nothing");
    let of = backup_with_keys(&to);
    put(&to.state.join("people.txt"), "mine");
    put(&to.config.join("config.toml.bak"), "mine");
    // One file of the archive stands there already, in a folder that counts as empty of data.
    put(&to.config.join("profiles/a.toml"), "mine");
    let mut file = ArchiveWriter::create_at(&folder.path().join("c.tar.gz")).expect("writable");
    file.write_manifest(&build_manifest(&of)).expect("written");
    file.append_text("new", Path::new("config/profiles/a.toml")).expect("written");
    file.finish().expect("written");
    let was = everything_below(folder.path());
    let refused = restore_archive(&of, &folder.path().join("c.tar.gz"), true).await;
    let told = format!("{:#}", refused.expect_err("it is in the way"));
    assert!(told.contains("a.toml is in the way") && told.contains("as it was before"), "{told}");
    assert_eq!(everything_below(folder.path()), was);
    restore_archive(&of, &archive, false).await.expect("nothing is in the way");
    assert_eq!(fs::read_to_string(to.config.join("profiles/a.toml")).expect("there"), "mine");
    // Several within one second have folders of their own for what was there.
    let mut aside = Vec::new();
    for _ in 0..3 {
        aside.extend(restore_archive(&of, &archive, true).await.expect("moved aside"));
    }
    aside.sort();
    aside.dedup();
    assert_eq!(aside.len(), 6);
}

#[tokio::test]
async fn d9_a_database_elsewhere_is_restored_to_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = dirs(&folder.path().join("from"));
    put(&from.config.join("config.toml"), "new");
    let database = folder.path().join("database");
    drop(weir_store::SqliteStore::open(&database).expect("opens"));
    let url = format!("sqlite:{}", database.display());
    let of = BackupOf { dirs: &from, database: &url, keys: false, kept_keys: None };
    let archive = folder.path().join("b.tar.gz");
    write_archive(&of, &archive).await.expect("written");
    let moved = restore_archive(&of, &archive, true).await.expect("restored");
    assert_eq!(moved.len(), 2, "the database and the settings: {moved:?}");
    assert!(database.join("weir.db").is_file() && !from.state.join("weir.db").exists());
}

#[test]
fn d9_names_in_a_backup_lead_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let dirs = dirs(folder.path());
    let of = BackupOf { dirs: &dirs, database: "", keys: false, kept_keys: None };
    let targets = RestoreTargets::of_backup(&of);
    let at = |name: &str| target_path(&targets, Path::new(name), folder.path());
    let noted = ["state/.weir-backup-restoring", "config/.weir-backup-elsewhere"];
    let elsewhere = ["../x", "/etc/passwd", "state/../../x", "other/x", "x", "state/a/../../../x"];
    for name in elsewhere.into_iter().chain(noted) {
        assert!(at(name).is_err(), "{name}");
    }
    let found = at("state/people/a.db").expect("a name").expect("a place");
    assert_eq!(found, dirs.state.join("people/a.db"));
}
