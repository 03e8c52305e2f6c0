//! Power cuts that never were: what was not synced is taken from a repository, and a process of the
//! next boot finds every checkpoint that was acknowledged.

use std::process::Command;
use std::sync::Arc;

use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};
use weir_engine::ports::{CheckpointFilter, CheckpointInfo, FileContent, Snapshot, SnapshotEntry};

use super::super::merge::SMALL_PACKS_MAX;
use super::*;

/// What a power cut leaves of a file that was not synced.
#[derive(Debug, Clone, Copy)]
enum Left {
    Nothing,
    NoContent,
    Garbage,
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("a.git")
    }

    fn log(&self) -> PathBuf {
        self.path().join("weir.log")
    }

    /// A process of this boot.
    fn process(&self, boot: &str) -> ShadowRepository {
        let mut shadow = ShadowRepository::new(self.path(), PathBuf::from("/home/ada/loom"));
        shadow.log.boot = Some(boot.to_string());
        shadow
    }

    fn lose_file(path: &Path, left: Left) {
        fs::remove_file(path).expect("writable");
        match left {
            Left::Nothing => {}
            Left::NoContent => fs::write(path, "").expect("writable"),
            Left::Garbage => fs::write(path, "garbage").expect("writable"),
        }
    }

    fn loose_objects(&self) -> Vec<PathBuf> {
        let folders = loose_folders(&self.path()).expect("readable");
        folders.iter().flat_map(|folder| files_of(folder).expect("readable")).collect()
    }

    /// Takes everything that was not synced: what the log notes.
    fn cut_power(&self, left: Left) {
        let mut shadow = self.process("none");
        shadow.log.find_end().expect("readable");
        let mut paths = BTreeSet::new();
        for record in shadow.log.read_records().expect("readable").records {
            paths.insert(shadow.refs_folder().join(&record.name));
            paths.extend(record.objects.iter().map(|object| shadow.loose_file(object.id)));
        }
        assert!(!paths.is_empty(), "there is something to lose");
        for path in paths.iter().filter(|path| path.exists()) {
            Place::lose_file(path, left);
        }
    }

    fn check_with_git(&self) {
        self.git(&["fsck", "--full", "--strict"]);
    }

    fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(self.path())
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git is installed where the tests run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
}

fn file(text: &str) -> FileContent {
    FileContent::File { bytes: Arc::from(text.as_bytes()), mode: 0o644 }
}

fn snapshot(session: &str, second: u32, texts: [&str; 2]) -> Snapshot {
    let [before, after] = texts.map(file);
    Snapshot {
        workspace: PathBuf::from("/home/ada/loom"),
        session: SessionId::new(session),
        run: "r1".into(),
        call: Some(CallId(second)),
        ts: Timestamp((1_767_367_800 + i64::from(second)) * 1_000_000),
        label: format!("write_file number {second}"),
        entries: vec![SnapshotEntry { path: "src/a.rs".into(), before, after }],
    }
}

fn take(
    shadow: &mut ShadowRepository,
    session: &str,
    second: u32,
    texts: [&str; 2],
) -> CheckpointId {
    let snapshot = snapshot(session, second, texts);
    shadow.with_file_lock(|shadow| shadow.take_checkpoint(&snapshot)).expect("writable")
}

/// Every checkpoint with all contents.
fn all(shadow: &mut ShadowRepository) -> Vec<(CheckpointInfo, Vec<SnapshotEntry>)> {
    let found = shadow.with_file_lock(|shadow| {
        let listed = shadow.list_checkpoints(&CheckpointFilter::default())?;
        let loaded = listed.iter().map(|info| shadow.load_checkpoint(info.id.as_str()));
        loaded.collect::<Result<Vec<_>, StoreError>>()
    });
    found.expect("readable")
}

fn log_bytes(place: &Place) -> u64 {
    fs::metadata(place.log()).expect("there is a log").len()
}

/// Three checkpoints of two sessions, and one of a command.
fn take_some(place: &Place, boot: &str) -> Vec<(CheckpointInfo, Vec<SnapshotEntry>)> {
    let mut shadow = place.process(boot);
    take(&mut shadow, "s", 1, ["0", "1"]);
    take(&mut shadow, "t", 2, ["1", "2"]);
    // Somebody else changed the file meanwhile.
    take(&mut shadow, "s", 3, ["changed", "3"]);
    let announced = CheckpointId::new("a".repeat(40));
    let of_command = snapshot("s", 4, ["3", "4"]);
    let record = |shadow: &mut ShadowRepository| shadow.record_checkpoint(&announced, &of_command);
    shadow.with_file_lock(record).expect("writable");
    all(&mut shadow)
}

#[test]
fn d7_what_a_power_cut_took_is_put_back() {
    for left in [Left::Nothing, Left::NoContent, Left::Garbage] {
        let place = Place::new();
        let taken = take_some(&place, "one");
        assert_eq!(taken.len(), 4);
        place.cut_power(left);
        let mut next = place.process("two");
        assert_eq!(all(&mut next), taken, "{left:?}");
        assert_eq!(log_bytes(&place), 0, "all of it is durable elsewhere");
        place.check_with_git();
        let id = take(&mut next, "s", 5, ["4", "5"]);
        place.cut_power(left);
        let found = all(&mut place.process("three"));
        assert_eq!(found[0].0.id, id, "{left:?}");
        assert_eq!(found[1..], taken, "{left:?}");
    }
}

#[test]
fn d7_the_tree_of_nothing_is_put_back_too() {
    for left in [Left::Nothing, Left::NoContent, Left::Garbage] {
        let place = Place::new();
        let mut first = snapshot("s", 1, ["", "1"]);
        first.entries[0].before = FileContent::Absent;
        let mut shadow = place.process("one");
        shadow.with_file_lock(|shadow| shadow.take_checkpoint(&first)).expect("writable");
        place.cut_power(left);
        assert_eq!(all(&mut place.process("two"))[0].1, first.entries, "{left:?}");
        place.check_with_git();
    }
}

#[test]
fn d7_what_is_left_of_one_that_nobody_was_told_of_is_written_again() {
    for left in [Left::NoContent, Left::Garbage] {
        let place = Place::new();
        take(&mut place.process("one"), "s", 1, ["0", "1"]);
        // As if the power had been cut before the log had it.
        place.loose_objects().iter().for_each(|path| Place::lose_file(path, left));
        fs::remove_file(place.log()).expect("writable");
        fs::remove_file(place.path().join("refs/weir/s")).expect("writable");
        let mut next = place.process("two");
        let mut many = snapshot("many", 1, ["", ""]);
        let entry = |number| SnapshotEntry {
            path: format!("m/{number}"),
            before: FileContent::Absent,
            after: file("1"),
        };
        many.entries = (0..40).map(entry).collect();
        next.with_file_lock(|shadow| shadow.take_checkpoint(&many)).expect("writable");
        take(&mut next, "s", 1, ["0", "1"]);
        let found = all(&mut next);
        assert_eq!((found.len(), &found[0].1), (2, &many.entries), "{left:?}");
        assert_eq!(found[1].1, snapshot("s", 1, ["0", "1"]).entries, "{left:?}");
        place.check_with_git();
    }
}

#[test]
fn d7_what_the_log_has_is_put_back_where_a_pack_lost_it() {
    let place = Place::new();
    let taken = take_some(&place, "one");
    let log = fs::read(place.log()).expect("readable");
    let mut shadow = place.process("one");
    let settle = |shadow: &mut ShadowRepository| shadow.settle_log(PossibleLoss::Nothing);
    shadow.with_file_lock(settle).expect("writable");
    let packs = files_of(&shadow.pack_folder()).expect("readable");
    drop(shadow);
    let is_pack = |path: &PathBuf| path.extension().is_some_and(|end| end == "pack");
    let pack = packs.into_iter().find(is_pack).expect("there is one");
    let mut bytes = fs::read(&pack).expect("readable");
    let end = bytes.len() - 20;
    bytes[12..end].fill(0);
    fs::remove_file(&pack).expect("writable");
    fs::write(&pack, bytes).expect("writable");
    let broken = fs::File::options().write(true).open(&pack).expect("writable");
    // Libgit2 asks the youngest first.
    broken.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("writable");
    fs::write(place.log(), &log).expect("writable");
    assert_eq!(all(&mut place.process("two")), taken);
}

#[test]
fn d7_refs_alone_may_be_lost() {
    let place = Place::new();
    let taken = take_some(&place, "one");
    Place::lose_file(&place.path().join("refs/weir/t"), Left::NoContent);
    assert_eq!(all(&mut place.process("two")), taken);
}

#[test]
fn d7_refs_are_read_whatever_a_power_cut_or_a_person_made_of_them() {
    let place = Place::new();
    let taken = take_some(&place, "one");
    // What was to become a ref.
    let half = place.path().join("refs/weir/u.new");
    fs::write(&half, [0xff, 0xfe]).expect("writable");
    assert_eq!(all(&mut place.process("one")), taken);
    fs::remove_file(half).expect("writable");
    place.git(&["pack-refs", "--all"]);
    // A backup has no empty folders; and this is no log.
    if place.path().join("refs/weir").exists() {
        fs::remove_dir(place.path().join("refs/weir")).expect("it is empty");
    }
    fs::write(place.log(), [0xff; 100]).expect("writable");
    assert_eq!(all(&mut place.process("two")), taken);
    take(&mut place.process("two"), "s", 5, ["4", "5"]);
    place.cut_power(Left::Garbage);
    let found = all(&mut place.process("three"));
    assert_eq!((found.len(), &found[1..]), (5, &taken[..]));
}

#[test]
fn d9_a_copy_is_made_whole_by_its_log() {
    let place = Place::new();
    let mut shadow = ShadowRepository::new(place.path(), PathBuf::from("/home/ada/loom"));
    take(&mut shadow, "s", 1, ["0", "1"]);
    let id = take(&mut shadow, "s", 2, ["1", "2"]);
    assert_eq!(boot_of(&place.path()), boot_of(&place.path()));
    let copy = place.0.path().join("copy.git");
    let copied = Command::new("cp").arg("-a").args([&place.path(), &copy]).status();
    assert!(copied.expect("it can be started").success());
    // It was made while checkpoints were taken.
    fs::remove_file(copy.join("refs/weir/s")).expect("writable");
    let mut shadow = ShadowRepository::new(copy, PathBuf::from("/home/ada/loom"));
    assert_eq!(all(&mut shadow)[0].0.id, id);
}

#[test]
fn q3_within_one_boot_nothing_is_put_back() {
    let place = Place::new();
    let taken = take_some(&place, "one");
    let (bytes, objects) = (log_bytes(&place), place.loose_objects().len());
    assert_eq!(all(&mut place.process("one")), taken);
    assert_eq!((log_bytes(&place), place.loose_objects().len()), (bytes, objects));
    place.check_with_git();
}

#[test]
fn d7_where_the_boot_cannot_be_told_every_process_puts_back() {
    let place = Place::new();
    let taken = take_some(&place, "");
    place.cut_power(Left::NoContent);
    let mut next = place.process("");
    assert_eq!(all(&mut next), taken);
    take(&mut next, "s", 5, ["4", "5"]);
    let bytes = log_bytes(&place);
    assert_eq!(all(&mut next).len(), 5);
    assert_eq!(log_bytes(&place), bytes, "one that looked does not look again");
    assert_eq!(all(&mut place.process("")).len(), 5);
    assert_eq!(log_bytes(&place), 0);
}

#[test]
fn d7_several_processes_share_one_log() {
    let place = Place::new();
    let (mut left, mut right) = (place.process("one"), place.process("one"));
    for second in (1..9).step_by(2) {
        let texts = [second - 1, second, second + 1].map(|number| number.to_string());
        take(&mut left, "s", second, [&texts[0], &texts[1]]);
        take(&mut right, "s", second + 1, [&texts[1], &texts[2]]);
    }
    let taken = all(&mut left);
    assert_eq!(taken.len(), 8);
    // One of them empties the log, and the other goes on.
    left.with_file_lock(|shadow| shadow.settle_log(PossibleLoss::Nothing)).expect("writable");
    let last = take(&mut right, "s", 9, ["8", "9"]);
    place.cut_power(Left::Nothing);
    // What was settled was synced, its ref too, which the log names again.
    let found = all(&mut place.process("two"));
    assert_eq!(found[0].0.id, last);
    assert_eq!(found[1..], taken);
}

#[test]
fn q14_what_another_process_logged_is_not_logged_again() {
    let place = Place::new();
    let long = "x".repeat(100_000);
    take(&mut place.process("one"), "s", 1, ["0", &long]);
    let logged = log_bytes(&place);
    let mut next = place.process("one");
    take(&mut next, "s", 2, [&long, "2"]);
    assert_eq!(log_bytes(&place), logged, "there was room for what is new");
    let taken = all(&mut next);
    place.cut_power(Left::Nothing);
    assert_eq!(all(&mut place.process("two")), taken);
}

#[test]
fn d7_settling_makes_few_files_and_loses_nothing() {
    let place = Place::new();
    let taken = take_some(&place, "one");
    let log = fs::read(place.log()).expect("readable");
    let mut shadow = place.process("one");
    let settle = |shadow: &mut ShadowRepository| shadow.settle_log(PossibleLoss::Nothing);
    shadow.with_file_lock(settle).expect("writable");
    assert_eq!((log_bytes(&place), place.loose_objects().len()), (0, 0));
    let packs = fs::read_dir(shadow.pack_folder()).expect("readable").count();
    assert_eq!(packs, 2, "a pack and its index");
    place.check_with_git();
    // A process that was killed before it emptied the log: all of it is done again.
    fs::write(place.log(), &log).expect("writable");
    assert_eq!(all(&mut place.process("one")), taken);
    assert_eq!(all(&mut place.process("two")), taken);
    assert_eq!(log_bytes(&place), 0);
    assert_eq!(all(&mut shadow), taken, "who had it open finds everything");
}

#[test]
fn d9_a_restored_backup_has_no_empty_folders() {
    let restored = || {
        let place = Place::new();
        let taken = take_some(&place, "one");
        for folder in ["objects/pack", "objects/info", "refs/heads"] {
            fs::remove_dir(place.path().join(folder)).expect("it is empty");
        }
        (place, taken)
    };
    let (place, taken) = restored();
    place.cut_power(Left::Nothing);
    assert_eq!(all(&mut place.process("two")), taken);
    assert_eq!(log_bytes(&place), 0, "what it had is in a pack");
    place.check_with_git();

    let (place, taken) = restored();
    let mut shadow = place.process("one");
    let none = shadow.with_file_lock(|shadow| shadow.collect_old(Timestamp(0), u64::MAX));
    assert_eq!(none.expect("nothing is too old, nor too large"), 0);
    let newest = taken[0].0.ts;
    let gone = shadow.with_file_lock(|shadow| shadow.collect_old(newest, u64::MAX));
    assert_eq!(gone.expect("writable"), 3);
    assert_eq!(all(&mut shadow), taken[..1]);
    place.check_with_git();

    let (place, _) = restored();
    let mut shadow = place.process("one");
    let mut many = snapshot("many", 9, ["", ""]);
    many.entries = (0..40)
        .map(|number| SnapshotEntry {
            path: format!("m/{number}"),
            before: FileContent::Absent,
            after: file("x"),
        })
        .collect();
    shadow.with_file_lock(|shadow| shadow.take_checkpoint(&many)).expect("writable");
    assert_eq!(all(&mut shadow)[0].1, many.entries);
}

#[test]
fn d7_a_pack_has_no_name_before_it_is_durable() {
    let place = Place::new();
    take_some(&place, "one");
    let mut shadow = place.process("one");
    // What is left of a process that was killed while it made one.
    fs::create_dir(shadow.unfinished_folder()).expect("writable");
    fs::write(shadow.unfinished_folder().join("pack-1.pack"), "half").expect("writable");
    let settle = |shadow: &mut ShadowRepository| shadow.settle_log(PossibleLoss::Nothing);
    shadow.with_file_lock(settle).expect("writable");
    assert!(!shadow.unfinished_folder().exists());
    assert_eq!(files_of(&shadow.pack_folder()).expect("readable").len(), 2);
    // It cannot be put into its place: nothing of it is there, and the log keeps everything.
    take(&mut shadow, "s", 5, ["4", "5"]);
    let bytes = log_bytes(&place);
    fs::rename(shadow.pack_folder(), place.path().join("aside")).expect("writable");
    fs::write(shadow.pack_folder(), "in the way").expect("writable");
    shadow.with_file_lock(settle).expect_err("it has no place");
    assert_eq!(log_bytes(&place), bytes);
    fs::remove_file(shadow.pack_folder()).expect("writable");
    fs::rename(place.path().join("aside"), shadow.pack_folder()).expect("writable");
    shadow.with_file_lock(settle).expect("writable");
    assert_eq!(all(&mut shadow).len(), 5);
    place.check_with_git();
}

#[test]
fn q14_many_small_packs_become_one() {
    let place = Place::new();
    let (mut shadow, mut other) = (place.process("one"), place.process("one"));
    let settle = |shadow: &mut ShadowRepository| shadow.settle_log(PossibleLoss::Nothing);
    let packs = || files_of(&place.path().join("objects/pack")).expect("readable").len() / 2;
    for second in 1..=40_u32 {
        let texts = [second - 1, second].map(|number| number.to_string());
        take(&mut shadow, "s", second, [&texts[0], &texts[1]]);
        if second == 1 {
            assert_eq!(all(&mut other).len(), 1);
        }
        shadow.with_file_lock(settle).expect("writable");
        if packs() < second as usize {
            assert_eq!((packs(), second as usize), (1, SMALL_PACKS_MAX));
            break;
        }
    }
    assert_eq!(all(&mut other).len(), SMALL_PACKS_MAX);
    assert_eq!(all(&mut shadow), all(&mut place.process("one")));
    place.check_with_git();
}

#[test]
fn q14_a_long_log_is_emptied_on_the_way() {
    let place = Place::new();
    let mut shadow = place.process("one");
    let mut noise = 1_u32;
    let mut text = || -> String {
        let mut next = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b' ' + (noise >> 24) as u8 % 90)
        };
        (0..400_000).map(|_| next()).collect()
    };
    let mut before = String::new();
    for second in 1..=14 {
        let after = text();
        take(&mut shadow, "s", second, [&before, &after]);
        before = after;
    }
    assert!(log_bytes(&place) < 14 * 400_000, "{}", log_bytes(&place));
    assert!(fs::read_dir(shadow.pack_folder()).expect("readable").count() > 0);
    let found = all(&mut place.process("one"));
    assert_eq!(found.len(), 14);
    assert_eq!(found[0].1[0].after, file(&before));
    place.check_with_git();
}

#[test]
fn d7_what_is_too_large_for_the_log_is_synced_and_its_ref_is_logged() {
    let place = Place::new();
    let mut shadow = place.process("one");
    let large = "large ".repeat(200_000);
    let id = take(&mut shadow, "s", 1, ["", &large]);
    assert_eq!(log_bytes(&place), 64 << 10);
    place.cut_power(Left::Garbage);
    let found = all(&mut place.process("two"));
    assert_eq!(found[0].0.id, id);
    assert_eq!(found[0].1[0].after, file(&large));
}

#[test]
fn g7_what_was_taken_away_stays_away_after_a_power_cut() {
    let place = Place::new();
    let mut shadow = place.process("one");
    let kept = take(&mut shadow, "s", 1, ["0", "1"]);
    let voided = take(&mut shadow, "s", 2, ["changed meanwhile", "2"]);
    let only = take(&mut shadow, "t", 3, ["0", "1"]);
    for (session, id) in [("s", &voided), ("t", &only)] {
        let session = SessionId::new(session);
        let void = |shadow: &mut ShadowRepository| shadow.void_checkpoint(&session, id);
        shadow.with_file_lock(void).expect("writable");
    }
    // The refs as they were before that.
    fs::write(place.path().join("refs/weir/s"), format!("{}\n", voided.as_str()))
        .expect("writable");
    fs::write(place.path().join("refs/weir/t"), format!("{}\n", only.as_str())).expect("writable");
    let found = all(&mut place.process("two"));
    let ids: Vec<&CheckpointId> = found.iter().map(|(info, _)| &info.id).collect();
    assert_eq!(ids, [&kept]);
}

#[test]
fn d9_a_session_that_is_forgotten_leaves_nothing_in_the_log() {
    let place = Place::new();
    let mut shadow = place.process("one");
    take(&mut shadow, "gone", 1, ["", "words that nobody shall read"]);
    let kept = take(&mut shadow, "s", 2, ["", "kept"]);
    let has_words = || {
        let log = fs::read(place.log()).expect("readable");
        log.windows(5).any(|bytes| bytes == b"words")
    };
    assert!(has_words());
    let session = SessionId::new("gone");
    shadow.with_file_lock(|shadow| shadow.forget_session(&session)).expect("writable");
    assert!(!has_words());
    for boot in ["one", "two"] {
        let found = all(&mut place.process(boot));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0.id, kept);
    }
    // It may begin anew, with the same words, and they are durable again.
    take(&mut shadow, "gone", 3, ["", "words that nobody shall read"]);
    place.cut_power(Left::Nothing);
    let found = all(&mut place.process("three"));
    assert_eq!(found[0].1[0].after, file("words that nobody shall read"));
}

#[test]
fn d9_what_was_taken_away_before_leaves_nothing_in_the_log_either() {
    let place = Place::new();
    let mut shadow = place.process("one");
    let kept = take(&mut shadow, "s", 1, ["", "kept"]);
    let voided = take(&mut shadow, "gone", 2, ["", "words that nobody shall read"]);
    let session = SessionId::new("gone");
    let void = |shadow: &mut ShadowRepository| shadow.void_checkpoint(&session, &voided);
    shadow.with_file_lock(void).expect("writable");
    assert!(log_bytes(&place) > 0);
    shadow.with_file_lock(|shadow| shadow.forget_session(&session)).expect("writable");
    assert_eq!((log_bytes(&place), place.loose_objects().len()), (0, 0));
    let read = |shadow: &mut ShadowRepository| shadow.load_checkpoint(voided.as_str()).map(drop);
    let mut next = place.process("one");
    next.with_file_lock(read).expect_err("it is gone");
    assert_eq!(all(&mut next)[0].0.id, kept);
}

#[test]
fn g7_what_another_collected_is_logged_again() {
    let place = Place::new();
    let (mut left, mut right) = (place.process("one"), place.process("one"));
    take(&mut left, "gone", 1, ["", "the same words"]);
    let session = SessionId::new("gone");
    right.with_file_lock(|shadow| shadow.forget_session(&session)).expect("writable");
    take(&mut left, "s", 2, ["", "the same words"]);
    place.cut_power(Left::Nothing);
    let found = all(&mut place.process("two"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1[0].after, file("the same words"));
}

#[test]
fn d9_a_damaged_log_is_begun_anew_and_nothing_is_lost() {
    let foreign = b"words of somebody else, longer than a head is, and more".to_vec();
    for at in 0..2 {
        let place = Place::new();
        let taken = take_some(&place, "one");
        let mut log = fs::read(place.log()).expect("readable");
        if at == 0 {
            log.clone_from(&foreign);
        } else {
            log[60] ^= 0xff;
        }
        fs::write(place.log(), &log).expect("writable");
        let mut next = place.process("one");
        assert_eq!(all(&mut next), taken);
        assert_eq!(log_bytes(&place), 0);
        take(&mut next, "s", 5, ["4", "5"]);
        assert_eq!(all(&mut place.process("one")).len(), 5);
        place.check_with_git();
    }
}

#[test]
fn d9_a_log_that_breaks_under_its_process_takes_nothing_with_it() {
    let place = Place::new();
    let mut shadow = place.process("one");
    take(&mut shadow, "s", 1, ["0", "1"]);
    let end = fs::read(place.log()).expect("readable").iter().rposition(|byte| *byte != 0);
    take(&mut shadow, "s", 2, ["1", "2"]);
    let taken = all(&mut shadow);
    // An object of the first record; then the head of the second.
    for at in [end.expect("a record"), end.expect("a record") + 10] {
        let mut log = fs::read(place.log()).expect("readable");
        log[at] ^= 0xff;
        fs::write(place.log(), log).expect("writable");
        let is_whole = shadow.log.read_records().expect("readable").is_whole;
        assert!(!is_whole, "it is noticed");
    }
    let settle = |shadow: &mut ShadowRepository| shadow.settle_log(PossibleLoss::Nothing);
    shadow.with_file_lock(settle).expect("writable");
    assert_eq!(log_bytes(&place), 0);
    assert_eq!(all(&mut shadow), taken);
    place.check_with_git();
}

#[test]
fn g7_who_went_on_without_the_log_is_not_taken_back() {
    let place = Place::new();
    let mut shadow = place.process("one");
    take(&mut shadow, "s", 1, ["0", "1"]);
    let log = fs::read(place.log()).expect("readable");
    let last = take(&mut shadow, "s", 2, ["1", "2"]);
    // A Weir that knew no log synced its own checkpoint.
    fs::write(place.log(), log).expect("writable");
    let found = all(&mut place.process("two"));
    assert_eq!((found.len(), &found[0].0.id), (2, &last));
}

#[test]
fn g7_no_checkpoint_without_its_log() {
    let place = Place::new();
    let mut shadow = place.process("one");
    shadow.with_file_lock(|_| Ok(())).expect("writable");
    fs::create_dir(place.log()).expect("writable");
    let snapshot = snapshot("s", 1, ["0", "1"]);
    let taken = shadow.with_file_lock(|shadow| shadow.take_checkpoint(&snapshot));
    assert!(matches!(taken, Err(StoreError::Io { .. })), "{taken:?}");
    fs::remove_dir(place.log()).expect("writable");
    assert!(all(&mut shadow).is_empty(), "nothing names it");
    take(&mut shadow, "s", 1, ["0", "1"]);
}

#[test]
fn g7_names_of_the_log_stay_in_their_folder() {
    for name in ["", "..", "a/b", "../../config", "a.lock", "ü"] {
        assert!(!is_ref_name(name), "{name}");
    }
    for session in ["s", "a/../b.lock", "", "größe", "0190-ab_c"] {
        assert!(is_ref_name(&ref_name(session)), "{session}");
    }
}
