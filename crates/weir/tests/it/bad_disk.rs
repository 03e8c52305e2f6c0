//! `weir run` and a disk that is full, read-only or damaged (D9): a clear error, nothing that was
//! confirmed is lost, effects stop. The server's side is in the tests of
//! `weir-server` (`bad_input.rs`).

use serde_json::Value;
use weir_test_kit::{SmallDisk, TestInstallation, damage_page, file_writing_script, written_files};

const MEGABYTE: u64 = 1024 * 1024;

fn house(script: &str) -> TestInstallation {
    TestInstallation::with_scripted_model(script, "")
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

#[test]
fn d9_on_a_full_disk_a_run_ends_with_a_clear_error_and_goes_on_when_there_is_room() {
    let house = house(&file_writing_script(16));
    let Some(disk) = SmallDisk::under(&house, 48) else { return };
    let house = house.on_disk(&disk);
    // The folder is made while there is room.
    house.ok(&["sessions", "list"]);
    disk.fill(MEGABYTE);
    let said = house.run(&["run", "--permission", "full", "--output", "jsonl", "Write it."]);
    assert_eq!(said.status, 1, "{}", said.err);
    assert!(said.err.contains("free some space"), "what to do: {}", said.err);
    assert!(said.err.contains("weir run --resume"), "how to go on: {}", said.err);
    let told = said.json_lines();
    let last = told.last().expect("something was told");
    assert_eq!((&last["kind"], &last["status"]), (&"run.finished".into(), &"failed".into()));
    assert!(last["seq"].is_null(), "no journal has it: {last}");
    let session = told[0]["session"].as_str().expect("an id").to_owned();
    let before = written_files(&house);
    assert!(!before.is_empty() && before.len() < 16, "it got somewhere: {before:?}");

    disk.empty();
    let journal = house.run(&["sessions", "export", &session]);
    assert_eq!(journal.status, 0, "{}", journal.err);
    let kept = journal.json_lines();
    for fact in told.iter().filter(|event| event["seq"].is_u64()) {
        let there =
            kept.iter().any(|kept| kept["seq"] == fact["seq"] && kept["kind"] == fact["kind"]);
        assert!(there, "what was told is kept: {fact}");
    }
    // Nothing was done without its fact: each file has a call that started.
    let started = of_kind(&kept, "call.started").len();
    assert!(before.len() <= started, "{} files, {started} calls began", before.len());

    let again =
        house.run(&["run", "--permission", "full", "--output", "jsonl", "--resume", &session]);
    assert_eq!(again.status, 0, "{}", again.err);
    assert!(written_files(&house).contains("w15.txt"), "the work went on to its end");
    let kept = house.run(&["sessions", "export", &session]).json_lines();
    // A call for which there was no room did nothing and says so; each other was done once.
    let done = of_kind(&kept, "call.finished").iter().filter(|call| call["ok"] == true).count();
    assert_eq!(written_files(&house).len(), done);
    let seqs: Vec<u64> = kept.iter().filter_map(|fact| fact["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "gapless");
    assert_eq!(of_kind(&kept, "run.finished").len(), 1);
    house.ok(&["audit", "verify"]);
}

#[tokio::test]
async fn d9_lines_from_a_pipe_end_with_the_reason_where_nothing_can_be_written() {
    let house = house(&file_writing_script(16));
    let Some(disk) = SmallDisk::under(&house, 48) else { return };
    let house = house.on_disk(&disk);
    house.ok(&["sessions", "list"]);
    disk.fill(MEGABYTE);
    let mut face = house.start_face(&[], &["--permission", "full"]);
    face.type_line("Write it.");
    let told = face.close_input_until_end().await;
    assert_ne!(told.status, 0, "{}", told.err);
    let all = format!("{}{}", told.out, told.err);
    assert!(all.contains("the journal could not be written"), "{all}");
}

#[test]
fn d9_with_no_room_at_all_nothing_is_run_and_it_is_said() {
    let house = house(&file_writing_script(1));
    let Some(disk) = SmallDisk::under(&house, 8) else { return };
    let house = house.on_disk(&disk);
    disk.fill(0);
    let said = house.run(&["run", "--permission", "full", "--output", "json", "Write it."]);
    assert!(said.status == 1 || said.status == 2, "{} {}", said.status, said.err);
    assert!(said.err.contains("full") || said.err.contains("No space left"), "{}", said.err);
    assert!(written_files(&house).is_empty());
    disk.empty();
    let said = house.run(&["run", "--permission", "full", "Write it."]);
    assert_eq!(said.status, 0, "{}", said.err);
    assert_eq!(written_files(&house).len(), 1);
}

#[test]
fn d9_on_a_read_only_disk_nothing_is_run_and_it_is_said() {
    let house = house(&file_writing_script(1));
    let Some(disk) = SmallDisk::under(&house, 16) else { return };
    let house = house.on_disk(&disk);
    disk.make_read_only();
    for fresh in [true, false] {
        let said = house.run(&["run", "--permission", "full", "--output", "json", "Write it."]);
        assert_eq!(said.status, 1, "fresh: {fresh}: {}", said.err);
        assert!(said.err.contains("read-only"), "fresh: {fresh}: {}", said.err);
        assert!(written_files(&house).is_empty(), "fresh: {fresh}");
        let doctor = house.run(&["doctor", "--offline"]);
        assert_eq!(doctor.status, 1);
        assert!(doctor.out.contains("read-only"), "{}", doctor.out);
        disk.make_writable();
        if fresh {
            house.ok(&["sessions", "list"]);
            disk.make_read_only();
        }
    }
    assert_eq!(house.run(&["run", "--permission", "full", "Write it."]).status, 0);
}

#[test]
fn d9_a_damaged_page_is_said_and_nothing_is_done() {
    // The facts' root is the third page; the first is the head of the file.
    for (page, words) in [(1, "not a database"), (3, "malformed")] {
        let house = house(&file_writing_script(2));
        let first = house.run(&["run", "--permission", "full", "--output", "json", "Write it."]);
        assert_eq!(first.status, 0, "{}", first.err);
        let finished: Value = serde_json::from_str(&first.out).expect("JSON");
        let session = finished["session"].as_str().expect("an id").to_owned();
        for name in written_files(&house) {
            std::fs::remove_file(house.work().join(name)).expect("there");
        }
        // What lies in the log beside it would heal it: the next who looks moves that into it.
        house.ok(&["sessions", "list"]);
        damage_page(&house.at("state/weir/weir.db"), page);
        let resume = ["run", "--permission", "full", "--resume", &session, "Again."];
        for args in [&["run", "--permission", "full", "Write it."][..], &resume] {
            let said = house.run(args);
            assert_eq!(said.status, 1, "{args:?}: {}", said.err);
            assert!(said.err.contains("damaged") && said.err.contains(words), "{}", said.err);
            assert!(said.err.contains("backup"), "what to do: {}", said.err);
        }
        assert!(written_files(&house).is_empty(), "effects stop");
        let doctor = house.run(&["doctor", "--offline"]);
        assert_eq!(doctor.status, 1);
        assert!(doctor.out.contains("-> restore it from a backup"), "{}", doctor.out);
    }
}

#[test]
fn g10_a_run_whose_audit_cannot_be_written_says_why_and_what_to_do() {
    let house = house(&file_writing_script(2));
    house.ok(&["sessions", "list"]);
    let audit = house.at("state/weir/audit");
    // Something else stands where the folder belongs. Several times: who reports first is chance.
    let _ = std::fs::remove_dir_all(&audit);
    house.write(&audit, "no folder");
    for _ in 0..6 {
        let said = house.run(&["run", "--permission", "full", "Write it."]);
        assert_eq!(said.status, 1, "{}", said.err);
        for words in ["writing the audit log in", "this user can write"] {
            assert!(said.err.contains(words), "{words}: {}", said.err);
        }
        assert!(written_files(&house).is_empty(), "nothing was done");
    }
    let doctor = house.run(&["doctor", "--offline"]);
    assert_eq!(doctor.status, 1);
    for words in ["writing the audit log in", "this user can write", "every run stops"] {
        assert!(doctor.out.contains(words), "{words}: {}", doctor.out);
    }
    std::fs::remove_file(&audit).expect("it is a file");
    let doctor = house.run(&["doctor", "--offline"]);
    assert!(!doctor.out.contains("audit log"), "{}", doctor.out);
}
