//! `weir restore` that is killed (D9): who starts next has what was there before, or all of the backup. Not here:
//! each moment at which it can be killed, which the tests of `weir-install` have.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use weir_test_kit::TestInstallation;

/// Files that a restore makes, each of them durable before the next: killed in a moment, it is somewhere among them.
const OBJECTS: usize = 300;

fn objects(house: &TestInstallation) -> usize {
    let folder = house.at("state/weir/checkpoints/a.git/objects/ab");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn d9_a_restore_that_is_killed_leaves_the_old_data_or_the_new() {
    let house = TestInstallation::new();
    house.write("config/weir/config.toml", "permission = \"ask\"\n");
    house.ok(&["sessions", "list"]);
    for number in 0..OBJECTS {
        house.write(&format!("state/weir/checkpoints/a.git/objects/ab/{number}"), "object");
    }
    let archive = house.at("b.tar.gz").display().to_string();
    house.ok(&["backup", &archive]);
    let mut taken_back = 0;
    for pause_ms in [0, 5, 15, 30, 60, 120, 240] {
        house.write("state/weir/old", "not in the backup");
        let restore = house.start(&["restore", &archive, "--replace"]);
        std::thread::sleep(Duration::from_millis(pause_ms));
        restore.kill();
        let next = house.run(&["sessions", "list"]);
        assert_eq!(next.status, 0, "{pause_ms}: {}", next.err);
        assert_eq!(objects(&house), OBJECTS, "{pause_ms}: never a part of it");
        let is_old = house.at("state/weir/old").exists();
        if next.err.contains("ended before it was done") {
            assert!(is_old, "{pause_ms}: {}", next.err);
            taken_back += 1;
        }
        assert!(!house.at("state/weir.restoring").exists(), "{pause_ms}");
    }
    println!("{taken_back} of them were killed on the way");
    house.ok(&["restore", &archive, "--replace"]);
    assert!(!house.at("state/weir/old").exists());
}

#[test]
fn d9_what_a_killed_restore_left_is_taken_back_before_anything_is_looked_for() {
    let house = TestInstallation::new();
    house.ok(&["sessions", "list"]);
    let state = house.at("state/weir");
    let aside = house.at("state/weir.before-restore-1");
    // As it is when the program is killed behind the first file.
    std::fs::rename(&state, &aside).expect("there");
    house.write("state/weir/half/a", "half");
    let stamp = Duration::from_millis(1_700_000_000_001);
    let half = std::fs::File::options().write(true).open(state.join("half/a")).expect("there");
    half.set_modified(std::time::SystemTime::UNIX_EPOCH + stamp).expect("its time can be set");
    house.write("state/weir/.weir-backup-proof-p1", "");
    let proof = state.join(".weir-backup-proof-p1");
    let own = std::fs::File::options().write(true).open(&proof).expect("there");
    own.set_modified(std::time::SystemTime::UNIX_EPOCH + stamp).expect("its time can be set");
    let inode = std::fs::metadata(&aside).expect("there").ino();
    let plan = serde_json::json!({
        "archive": "b.tar.gz",
        "postgres": false,
        "staging": state.join("staging"),
        "proof": "p1",
        "stamp_ns": 1_700_000_000_001_000_000_u64,
        "moved": [{ "folder": state, "aside": aside, "inode": inode }],
        "made": [state, proof, state.join("half"), state.join("half/a"), state.join("weir.db")],
    });
    house.write("state/weir.restoring", &plan.to_string());
    let named = state.display().to_string();
    let first = house.run(&["--state-dir", &named, "sessions", "list"]);
    assert_eq!(first.status, 0, "{}", first.err);
    let words = "restoring b.tar.gz ended before it was done: all is as it was before it";
    assert!(first.err.contains(words), "{}", first.err);
    assert!(state.join("weir.db").is_file() && !state.join("half").exists());
    assert!(!aside.exists());
    let doctor = house.run(&["doctor", "--offline"]);
    assert!(!doctor.err.contains("ended before"), "it is said once: {}", doctor.err);
}
