//! The log alone: what was appended is found again, whatever a power cut left of the last record,
//! and a file that is no log is known as one.

use std::fs;

use super::*;

fn object(text: &str) -> WrittenObject {
    let bytes = text.as_bytes().to_vec();
    let id = Oid::hash_object(ObjectType::Blob, &bytes).expect("hashed");
    WrittenObject { id, kind: ObjectType::Blob, bytes }
}

fn record(name: &str, texts: &[&str]) -> LogRecord {
    let objects: Vec<WrittenObject> = texts.iter().map(|text| object(text)).collect();
    let (was, tip) = (objects.first().map(|o| o.id), objects.last().map(|o| o.id));
    LogRecord { name: name.to_string(), was, tip, objects }
}

fn log_in(folder: &Path) -> CheckpointLog {
    let mut log = CheckpointLog::new(folder);
    log.boot = Some("this boot".to_string());
    log
}

fn append(log: &mut CheckpointLog, record: &LogRecord) {
    log.find_end().expect("readable");
    log.append_record(record).expect("writable");
}

/// What a record says, to be compared.
type Said = (String, Option<Oid>, Option<Oid>, Vec<Vec<u8>>);

fn said(record: LogRecord) -> Said {
    let objects = record.objects.into_iter().map(|object| object.bytes);
    (record.name, record.was, record.tip, objects.collect())
}

/// What a process finds that never saw the log.
fn found(folder: &Path) -> (LogState, Vec<Said>) {
    let mut log = log_in(folder);
    let state = log.find_end().expect("readable");
    let records = log.read_records().expect("readable").records;
    (state, records.into_iter().map(said).collect())
}

fn names(folder: &Path) -> Vec<String> {
    found(folder).1.into_iter().map(|(name, ..)| name).collect()
}

#[test]
fn d7_several_processes_append_to_one_log() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut left, mut right) = (log_in(folder.path()), log_in(folder.path()));
    let records = ["a", "b", "c", "d"].map(|name| (name, record(name, &[name, "", "more"])));
    for (at, (_, record)) in records.iter().enumerate() {
        append(if at % 2 == 0 { &mut left } else { &mut right }, record);
    }
    let (state, all) = found(folder.path());
    assert!(matches!(state, LogState::Records(boot) if boot == "this boot"));
    assert_eq!(all, records.map(|(_, record)| said(record)));
    assert!(left.has_object(object("b").id), "whoever wrote it");
    // One of them empties it, and the other notices.
    assert!(right.has_object(object("b").id));
    left.find_end().expect("readable");
    left.empty_log().expect("writable");
    assert_eq!(fs::metadata(folder.path().join(LOG_NAME)).expect("there").len(), 0);
    append(&mut right, &record("e", &["e"]));
    assert!(!right.has_object(object("b").id), "it is not in the log as it is now");
    append(&mut left, &record("f", &["f"]));
    assert_eq!(names(folder.path()), ["e", "f"]);
}

#[test]
fn d7_an_older_state_of_the_log_is_noticed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(LOG_NAME);
    let (mut left, mut right) = (log_in(folder.path()), log_in(folder.path()));
    append(&mut left, &record("a", &["a"]));
    let older = fs::read(&path).expect("readable");
    append(&mut right, &record("b", &["b"]));
    append(&mut left, &record("c", &["c"]));
    assert_eq!(["a", "b", "c"].map(|text| left.has_object(object(text).id)), [true; 3]);
    // As a backup is restored while a program runs: it has room for all three.
    fs::write(&path, &older).expect("writable");
    assert!(matches!(left.find_end().expect("readable"), LogState::Damaged));
    left.empty_log().expect("writable");
    assert!(!left.has_object(object("a").id) && !left.has_object(object("b").id));
    append(&mut left, &record("d", &["d"]));
    assert_eq!(names(folder.path()), ["d"]);
}

#[test]
fn q3_room_is_made_in_steps() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut log = log_in(folder.path());
    let long = "x".repeat(100_000);
    let bytes = || fs::metadata(folder.path().join(LOG_NAME)).expect("there").len();
    for (name, expected) in [("a", 1), ("b", 1)] {
        append(&mut log, &record(name, &[name]));
        assert_eq!(bytes(), expected * STEP_BYTES);
    }
    append(&mut log, &record("c", &[&long]));
    assert_eq!(bytes(), 2 * STEP_BYTES);
    append(&mut log, &record("d", &["d"]));
    assert_eq!(names(folder.path()), ["a", "b", "c", "d"]);
}

#[test]
fn d7_a_record_that_is_torn_at_any_byte_is_none() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(LOG_NAME);
    let mut log = log_in(folder.path());
    let end_of = |log: &CheckpointLog| log.place.as_ref().map_or(0, |place| place.end) as usize;
    append(&mut log, &record("a", &["one"]));
    let start = end_of(&log);
    append(&mut log, &record("b", &["two", "three"]));
    let end = end_of(&log);
    let whole = fs::read(&path).expect("readable");
    for cut in start..end {
        // What is missing was never written, or is what stood there: zeros.
        for length in [cut, whole.len()] {
            let mut torn = whole[..cut].to_vec();
            torn.resize(length, 0);
            fs::write(&path, &torn).expect("writable");
            let (state, records) = found(folder.path());
            assert!(matches!(state, LogState::Records(_)), "torn at {cut}");
            assert_eq!(records, [said(record("a", &["one"]))], "torn at {cut}");
            let mut next = log_in(folder.path());
            next.find_end().expect("readable");
            let has = |text: &str| next.has_object(object(text).id);
            assert_eq!(["one", "two"].map(has), [true, false], "torn at {cut}");
        }
        if cut % 40 == 0 {
            append(&mut log_in(folder.path()), &record("c", &["four"]));
            assert_eq!(names(folder.path()), ["a", "c"], "after one that was torn at {cut}");
        }
    }
    for cut in 0..start {
        fs::write(&path, &whole[..cut]).expect("writable");
        let (state, records) = found(folder.path());
        assert!(matches!(state, LogState::Empty) && records.is_empty(), "torn at {cut}");
    }
}

#[test]
fn d7_no_broken_byte_makes_a_record_say_something_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(LOG_NAME);
    let mut log = log_in(folder.path());
    let written =
        || [record("a", &["one"]), record("b", &["two", "three"]), record("c", &["four"])];
    let mut ends = vec![0];
    for record in written() {
        append(&mut log, &record);
        ends.push(log.place.as_ref().map_or(0, |place| place.end) as usize);
    }
    let whole = fs::read(&path).expect("readable");
    for at in 0..ends[3] {
        let mut broken = whole.clone();
        broken[at] ^= 0x55;
        fs::write(&path, &broken).expect("writable");
        let (state, records) = found(folder.path());
        for (name, was, tip, objects) in records {
            let same = written().into_iter().map(said).find(|record| record.0 == name);
            let (_, was_then, tip_then, objects_then) = same.expect("one of them");
            assert_eq!((was, tip), (was_then, tip_then), "broken at {at}");
            assert!(objects.iter().all(|bytes| objects_then.contains(bytes)), "broken at {at}");
        }
        let is_head = ends[..2].iter().any(|start| (*start..start + HEAD_BYTES).contains(&at));
        if is_head {
            assert!(matches!(state, LogState::Damaged), "others follow the one broken at {at}");
        }
    }
}

#[test]
fn d9_what_is_no_log_is_known() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(LOG_NAME);
    assert!(matches!(found(folder.path()).0, LogState::Empty), "there is none");
    for (bytes, is_damaged) in [
        (&b""[..], false),
        (&[0; 5000][..], false),
        (&b"wei"[..], false),
        (&b"words of somebody else, longer than a head is, and then some more of them"[..], true),
        (&[0xff; 5000][..], true),
    ] {
        fs::write(&path, bytes).expect("writable");
        let (state, records) = found(folder.path());
        assert_eq!(matches!(state, LogState::Damaged), is_damaged, "{} bytes", bytes.len());
        assert!(records.is_empty());
    }
    fs::remove_file(&path).expect("writable");
    fs::create_dir(&path).expect("writable");
    let mut log = log_in(folder.path());
    assert!(log.find_end().is_err(), "nothing can be read");
    assert!(log.append_record(&record("a", &["one"])).is_err(), "and nothing is acknowledged");
}

#[test]
fn d9_nothing_but_a_file_is_a_log() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(LOG_NAME);
    let words = folder.path().join("words");
    fs::write(&words, "words of a person, longer than the head of a record, and then some more")
        .expect("writable");
    let kept = fs::read(&words).expect("readable");
    let check = || {
        let mut log = log_in(folder.path());
        let refused = log.find_end().map(drop).expect_err("it is no file");
        assert!(refused.to_string().ends_with("is no file: move it away"), "{refused}");
        assert!(log.append_record(&record("a", &["one"])).is_err());
        assert!(log.empty_log().is_err());
    };
    std::os::unix::fs::symlink(&words, &path).expect("writable");
    check();
    assert_eq!(fs::read(&words).expect("readable"), kept);
    fs::remove_file(&path).expect("writable");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
    let mut log = log_in(folder.path());
    assert!(log.find_end().is_err() && log.append_record(&record("a", &["one"])).is_err());
}

#[test]
fn d9_no_more_is_read_than_a_log_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(LOG_NAME);
    let write = |count: u32| {
        let said = record("a", &["one"]);
        let numbers = 0..count;
        let records = numbers.map(|number| encode_record("this boot", &[7; 16], number, &said));
        let bytes: io::Result<Vec<Vec<u8>>> = records.collect();
        fs::write(&path, bytes.expect("they are short").concat()).expect("writable");
    };
    write(LOG_RECORDS_MAX);
    let (state, records) = found(folder.path());
    assert!(matches!(state, LogState::Records(_)));
    assert_eq!(records.len(), LOG_RECORDS_MAX as usize);
    write(LOG_RECORDS_MAX + 100);
    let (state, records) = found(folder.path());
    assert!(matches!(state, LogState::Damaged));
    assert_eq!(records.len(), LOG_RECORDS_MAX as usize);
}

#[test]
fn q3_a_log_ends_at_a_number_of_records() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut log = log_in(folder.path());
    append(&mut log, &record("a", &["one"]));
    assert!(!log.is_full());
    if let Some(place) = &mut log.place {
        place.number = LOG_RECORDS_MAX;
    }
    assert!(log.is_full());
    let too_long = "x".repeat(RECORD_BYTES_MAX + 1);
    assert!(log.append_record(&record("b", &[&too_long])).is_err(), "no record is so long");
}
