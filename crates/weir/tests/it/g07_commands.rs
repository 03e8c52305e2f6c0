//! Checkpoints of commands, with the real program, real files and real processes (G7).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{CommandOutput, SmallDisk, TestInstallation};

/// A model that makes these calls, one after the other.
fn house(calls: &[(&str, Value)]) -> TestInstallation {
    let house = TestInstallation::new();
    let turns: String =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n\n")).collect();
    house.write(&house.at("s.script"), &format!("{turns}says: Done.\n"));
    house
}

fn shell(command: &str) -> (&'static str, Value) {
    ("run_shell", json!({ "command": command }))
}

fn args(house: &TestInstallation, more: &[&str]) -> Vec<String> {
    let script = house.script_model();
    let mut all = vec!["run".to_owned(), "-m".into(), script];
    all.extend(["--permission", "full", "--output", "jsonl"].map(String::from));
    all.extend(more.iter().map(|arg| (*arg).to_owned()));
    all
}

fn run(house: &TestInstallation, more: &[&str]) -> CommandOutput {
    let all = args(house, more);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    house.run(&all)
}

fn events(output: &CommandOutput) -> Vec<Value> {
    let events = output.json_lines();
    assert!(!events.is_empty(), "{}", output.err);
    events
}

fn kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

/// Every path below `folder` with mode and content.
fn tree(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("readable") {
            let path = entry.expect("an entry").path();
            let meta = fs::symlink_metadata(&path).expect("it is there");
            let below = path.strip_prefix(folder).expect("below").to_path_buf();
            if meta.is_dir() {
                folders.push(path);
                found.push((below, 0, Vec::new()));
            } else if meta.is_symlink() {
                let target = fs::read_link(&path).expect("a link").into_os_string();
                found.push((below, 0, target.into_encoded_bytes()));
            } else {
                let mode = meta.permissions().mode() & 0o7777;
                found.push((below, mode, fs::read(&path).expect("readable")));
            }
        }
    }
    found.sort();
    found
}

fn furnish(house: &TestInstallation) {
    for (path, text) in [
        ("edited.txt", "old\n"),
        ("deleted.bin", "\u{0}\u{1}gone"),
        ("run.sh", "#!/bin/sh\n"),
        ("from/a.txt", "moving\n"),
        ("from/b/c.txt", "moving too\n"),
        ("untouched.txt", "marker-of-the-untouched"),
    ] {
        house.write(&house.work().join(path), text);
    }
    std::os::unix::fs::symlink("edited.txt", house.work().join("link")).expect("a link");
}

const CHANGES: &str = "echo new > edited.txt; rm deleted.bin; chmod 755 run.sh; mv from to; \
                       mkdir -p made/deep; echo x > made/deep/file; ln -sfn run.sh link";

#[test]
fn g7_what_a_command_did_is_undone_and_brought_back() {
    let house = house(&[shell(CHANGES), shell("echo newer > edited.txt; exit 3")]);
    furnish(&house);
    let before = tree(&house.work());
    let output = run(&house, &["go"]);
    let events = events(&output);
    let after = tree(&house.work());
    assert_ne!(before, after);
    let taken = kind(&events, "checkpoint.taken");
    assert_eq!(taken.len(), 2);
    let finished = kind(&events, "call.finished");
    let changed = [
        "deleted.bin",
        "edited.txt",
        "from",
        "from/a.txt",
        "from/b",
        "from/b/c.txt",
        "link",
        "made",
        "made/deep",
        "made/deep/file",
        "run.sh",
        "to",
        "to/a.txt",
        "to/b",
        "to/b/c.txt",
    ];
    assert_eq!(finished[0]["changed"], json!(changed));
    assert_eq!(finished[1]["changed"], json!(["edited.txt"]));
    assert!(
        finished[0]["summary"].as_str().is_some_and(|s| s.ends_with("; 15 paths changed")),
        "{}",
        finished[0]["summary"]
    );
    assert_eq!(kind(&events, "run.finished")[0]["changed_files"], json!(changed));
    // The checkpoints are found under the names that were announced.
    let listed = house.json(&["checkpoints", "list", "--json"]);
    for (at, fact) in [(1, taken[0]), (0, taken[1])] {
        assert_eq!(listed[at]["id"], fact["checkpoint"]);
    }
    let first = taken[0]["checkpoint"].as_str().expect("a name");
    let diff = house.ok(&["checkpoints", "diff", first, "--call"]);
    assert!(diff.contains("-old") && diff.contains("+new") && diff.contains("755"), "{diff}");
    house.ok(&["undo"]);
    assert_eq!(tree(&house.work()), before);
    house.ok(&["undo", "--redo"]);
    assert_eq!(tree(&house.work()), after);
}

#[test]
fn g7_an_undo_says_what_it_did_and_whose_changes_there_are() {
    let house = house(&[shell("echo new > made.txt")]);
    run(&house, &["go"]);
    let first = house.ok(&["undo"]);
    assert!(first.starts_with("Restored: run r1"), "{first}");
    // The second one takes the first one back, and says so.
    let second = house.ok(&["undo"]);
    assert!(second.starts_with("Brought back: run r1"), "{second}");
    assert!(second.contains("the undo of run r1") && second.contains("--run RUN"), "{second}");
    assert!(house.at("work/made.txt").exists());
    assert!(house.ok(&["undo"]).starts_with("Restored: run r1"), "the third one takes away again");
    assert!(!house.at("work/made.txt").exists());
    house.write("s.script", "says: Done.\n");
    run(&house, &["look"]);
    let idle = house.json(&["sessions", "list", "--json"])[0]["id"].clone();
    let idle = idle.as_str().expect("an id");
    let told = house.usage_error(&["undo", idle]);
    assert!(told.contains(&format!("session {idle} changed no file")), "{told}");
}

#[test]
fn g7_an_undo_of_a_part_of_a_run_says_what_comes_back() {
    let house = house(&[shell("echo new > a.txt; echo new > b.txt")]);
    run(&house, &["go"]);
    for path in ["a.txt", "b.txt"] {
        let told = house.ok(&["undo", "--path", path]);
        assert!(told.starts_with("Restored: run r1"), "{told}");
    }
    let back = house.ok(&["undo"]);
    assert!(back.starts_with("Brought back: run r1"), "{back}");
    assert!(house.at("work/b.txt").exists() && !house.at("work/a.txt").exists());
    let again = house.ok(&["undo", "--redo"]);
    assert!(again.starts_with("Restored: run r1"), "{again}");
    assert!(!house.at("work/b.txt").exists());
}

#[test]
fn g7_undo_leaves_alone_what_a_person_changed_after_the_command() {
    let house = house(&[shell("echo new > a.txt; echo new > b.txt; mkdir d; echo x > d/made")]);
    house.write(&house.at("work/a.txt"), "old\n");
    run(&house, &["go"]);
    house.write(&house.at("work/b.txt"), "mine\n");
    house.write(&house.at("work/d/mine"), "mine\n");
    let said = house.run(&["undo"]);
    assert_eq!(said.status, 1, "{}{}", said.out, said.err);
    let read = |path: &str| fs::read_to_string(house.work().join(path)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("old\n"), "{}", said.out);
    assert_eq!(read("b.txt").as_deref(), Some("mine\n"));
    assert_eq!((read("d/made"), read("d/mine").as_deref()), (None, Some("mine\n")));
}

#[test]
fn g7_a_command_that_changes_nothing_leaves_no_checkpoint_and_no_copy() {
    let house = house(&[shell("cat untouched.txt > /dev/null"), shell("echo x > made")]);
    furnish(&house);
    let output = run(&house, &["go"]);
    let events = events(&output);
    assert_eq!(kind(&events, "checkpoint.taken").len(), 2);
    let listed = house.json(&["checkpoints", "list", "--json"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    // Only what was touched is stored, never the whole tree.
    for (path, _, content) in tree(&house.at("state")) {
        if path.components().any(|part| part.as_os_str() == "checkpoints") {
            let text = String::from_utf8_lossy(&content);
            assert!(!text.contains("marker-of-the-untouched"), "{}", path.display());
        }
    }
}

#[test]
fn g7_a_command_that_is_ended_is_compared_all_the_same() {
    let timed = json!({ "command": "echo new > a.txt; sleep 60", "timeout_seconds": 5 });
    let house = house(&[("run_shell", timed)]);
    house.write(&house.at("work/a.txt"), "old\n");
    let output = run(&house, &["go"]);
    assert_eq!(kind(&events(&output), "call.finished")[0]["changed"], json!(["a.txt"]));
    house.ok(&["undo"]);
    assert_eq!(fs::read_to_string(house.at("work/a.txt")).expect("there"), "old\n");
}

#[test]
fn g7_what_a_background_job_changes_is_saved_when_it_ends_or_the_session_does() {
    let job = json!({ "command": "echo 1 > early; sleep 1; echo new > a.txt; sleep 600",
                      "background": true });
    let wait = shell("until grep -q new a.txt; do sleep 0.1; done");
    let house = house(&[("run_shell", job), wait, ("kill_shell", json!({ "job": "j1" }))]);
    house.write(&house.at("work/a.txt"), "old\n");
    let output = run(&house, &["go"]);
    let changed: Vec<String> = kind(&events(&output), "call.finished")
        .iter()
        .flat_map(|fact| fact["changed"].as_array().cloned().unwrap_or_default())
        .map(|path| path.as_str().expect("a path").to_owned())
        .collect();
    assert!(changed.contains(&"a.txt".to_owned()), "{changed:?}");
    assert!(changed.contains(&"early".to_owned()), "{changed:?}");
    house.ok(&["undo"]);
    assert_eq!(fs::read_to_string(house.at("work/a.txt")).expect("there"), "old\n");
    assert!(!house.at("work/early").exists());
}

#[test]
fn g7_after_kill_9_in_a_command_undo_still_knows_what_it_did() {
    let house = house(&[shell("echo new > a.txt; rm b.txt; touch begun; sleep 600")]);
    house.write(&house.at("work/a.txt"), "old\n");
    house.write(&house.at("work/b.txt"), "b\n");
    let all = args(&house, &["go"]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut child =
        house.command(&all).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let begun = Instant::now();
    while !house.at("work/begun").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the command never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    let output = run(&house, &["--continue"]);
    let events = events(&output);
    let finished = kind(&events, "call.finished");
    assert_eq!(finished[0]["changed"], json!(["a.txt", "b.txt", "begun"]), "{events:?}");
    house.ok(&["undo"]);
    let read = |path: &str| fs::read_to_string(house.work().join(path)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("old\n"));
    assert_eq!(read("b.txt").as_deref(), Some("b\n"));
    assert_eq!(read("begun"), None);
}

#[test]
fn g7_on_a_full_disk_the_command_does_not_run_and_says_why() {
    let house = house(&[shell("echo new > a.txt")]);
    // More than the disk of the state has, and nothing that a compressing disk could make small.
    let mut noise = 1_u32;
    let noise: Vec<u8> = (0..24 << 20)
        .map(|_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        })
        .collect();
    fs::write(house.at("work/large"), noise).expect("writable");
    house.write(&house.at("work/a.txt"), "old\n");
    let Some(disk) = SmallDisk::under(&house, 16) else { return };
    let house = house.on_disk(&disk);
    let output = run(&house, &["go"]);
    let events = events(&output);
    assert!(kind(&events, "checkpoint.taken").is_empty(), "{events:?}");
    assert!(kind(&events, "call.started").is_empty(), "{events:?}");
    let finished = kind(&events, "call.finished");
    assert_eq!(finished.len(), 1, "{events:?} {output:?}");
    let text = finished[0]["result"].to_string();
    assert!(text.contains("could not be saved first"), "{text}");
    assert!(text.contains("No space left on device"), "{text}");
    assert_eq!(fs::read_to_string(house.at("work/a.txt")).expect("there"), "old\n");
    // What was half kept does not keep the disk full.
    assert_eq!(kind(&events, "run.finished")[0]["status"], "completed", "{events:?}");
}
