//! The commands that look back: sessions, checkpoints, undo, replay, audit, script; on sessions
//! that the program itself ran with a scripted model.

use std::path::{Path, PathBuf};

use weir_test_kit::TestInstallation;

mod replay;
mod sessions;

/// Longer than what audit lines show as it is.
const LONG: usize = 400;
/// Stands in the content of a file, and nowhere else.
const MARKER: &str = "a marker in a file";
const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// Changes a file, makes one, deletes a binary one; then says what it was told since.
const CHANGES: &str = r#"
name: tester
price: input=3 output=15

think: I should look first.
says: Looking closely at <b>everything</b>.
calls: read_file {"path": "a.txt"}
calls: list_files {"path": "."}

calls: edit_file {"path": "a.txt", "old_text": "two", "new_text": "TWO"}
calls: write_file {"path": "n.txt", "content": "CONTENT"}

calls: delete_file {"path": "b.bin"}
calls: run_shell {"command": "git push --force"}

says: All three are changed.

expect: text "took changes back"
says: I know that it was undone.
"#;

/// A house whose workspace has files, and a script that changes them.
fn house() -> TestInstallation {
    let house = TestInstallation::new();
    house.write(&house.at("work/a.txt"), LINES);
    std::fs::write(house.at("work/b.bin"), b"x\0y").expect("writable");
    let content = format!("{MARKER}{}", "-".repeat(LONG));
    house.write(&house.at("t.script"), &CHANGES.replace("CONTENT", &content));
    house
}

/// The same after the run; the session's id.
fn changed() -> (TestInstallation, String) {
    let house = house();
    house.ok(&run_of(&["change things"]));
    let id = newest(&house);
    (house, id)
}

fn run_of<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", "-m", "script:../t.script", "--permission", "auto-edit"];
    args.extend(rest);
    args
}

fn newest(house: &TestInstallation) -> String {
    let list = house.json(&["sessions", "list", "--json"]);
    list[0]["id"].as_str().expect("a session").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("readable")
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn holds(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).expect("readable");
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Changes bytes of a file in place, wherever `from` stands.
fn patch(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len(), "the file keeps its form");
    let mut bytes = std::fs::read(path).expect("readable");
    let places: Vec<usize> = (0..bytes.len().saturating_sub(from.len()))
        .filter(|at| bytes[*at..].starts_with(from.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "{from} stands in {}", path.display());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(path, bytes).expect("writable");
}

#[test]
fn g7_undo_takes_a_run_back_and_a_second_undo_brings_it_again() {
    let (house, id) = changed();
    let work = |name: &str| house.at("work").join(name);
    let is_done = || {
        assert_eq!(read(&work("a.txt")), LINES.replace("two", "TWO"));
        assert!(!work("b.bin").exists() && holds(&work("n.txt"), MARKER));
    };
    let is_undone = || {
        assert_eq!(read(&work("a.txt")), LINES);
        assert_eq!(std::fs::read(work("b.bin")).expect("it is back"), b"x\0y");
        assert!(!work("n.txt").exists());
    };
    is_done();
    let told = house.ok(&["undo", "--dry-run"]);
    assert!(told.contains("a.txt  changed, +1 -1") && told.contains("b.bin  created"), "{told}");
    is_done();
    let said = house.json(&["undo", "--json"]);
    assert_eq!(said["session"], id.as_str());
    assert_eq!(said["restored"].as_array().map(Vec::len), Some(3), "{said}");
    is_undone();
    house.ok(&["undo"]);
    is_done();
    house.ok(&["undo", &id, "--redo"]);
    is_undone();
    // Nothing is there twice: the run's own changes are as before already.
    let again = house.json(&["undo", "--run", "r1", "--json"]);
    assert_eq!(again["already"].as_array().map(Vec::len), Some(3), "{again}");
    assert!(house.usage_error(&["undo", "--run", "r9"]).contains("runs that did: r1"));
    // The journal knows, the audit knows, and the agent is told when it goes on.
    let facts = house.ok(&["sessions", "show", &id, "--all"]);
    assert_eq!(facts.matches("checkpoint.restored").count(), 3, "{facts}");
    assert!(house.ok(&["audit", "tail", "-n", "50"]).contains("checkpoint.restored"));
    let mut resume = run_of(&["--resume", "last"]);
    resume.push("go on");
    assert_eq!(house.ok(&resume).trim(), "I know that it was undone.");
    assert!(house.ok(&["replay", &id]).starts_with("the same"));
    house.ok(&["audit", "verify"]);
}

#[test]
fn g7_undo_leaves_what_a_person_changed_and_merges_only_when_asked() {
    let house = house();
    house.write(&house.at("work/c.txt"), LINES);
    let script = "calls: edit_file {\"path\": \"a.txt\", \"old_text\": \"two\", \"new_text\": \"TWO\"}\n\
                  calls: edit_file {\"path\": \"c.txt\", \"old_text\": \"two\", \"new_text\": \"TWO\"}\n\
                  calls: write_file {\"path\": \"n.txt\", \"content\": \"new\"}\n\n\
                  says: done\n";
    house.write(&house.at("t.script"), script);
    house.ok(&run_of(&["change"]));
    let mine = LINES.replace("two", "TWO").replace("seven", "mine");
    house.write(&house.at("work/a.txt"), &mine);
    let overlapping = LINES.replace("two", "TWO and mine");
    house.write(&house.at("work/c.txt"), &overlapping);
    let said = house.run(&["undo"]);
    assert_eq!(said.status, 1, "conflicts were left: {}", said.out);
    assert!(said.out.contains("a.txt  the changes do not overlap: --merge"), "{}", said.out);
    assert!(said.out.contains("c.txt  the same lines were changed"), "{}", said.out);
    assert_eq!(read(&house.at("work/a.txt")), mine, "what a person wrote stays");
    assert!(!house.at("work/n.txt").exists(), "the rest was taken back");
    let said = house.run(&["undo", "--run", "r1", "--merge"]);
    assert_eq!(said.status, 1, "{}", said.out);
    assert_eq!(read(&house.at("work/a.txt")), LINES.replace("seven", "mine"));
    assert_eq!(read(&house.at("work/c.txt")), overlapping, "never markers");
    assert!(house.ok(&["replay", "last"]).starts_with("the same"));
}

#[test]
fn g7_undo_of_one_file_leaves_the_others() {
    let (house, _) = changed();
    house.ok(&["undo", "--path", "a.txt"]);
    assert_eq!(read(&house.at("work/a.txt")), LINES);
    assert!(house.at("work/n.txt").exists() && !house.at("work/b.bin").exists());
    house.ok(&["undo", "--path", "b.bin"]);
    assert!(house.at("work/b.bin").exists() && house.at("work/n.txt").exists());
    assert!(house.usage_error(&["undo", "--path", "other"]).contains("a.txt"));
    let elsewhere = house.at("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a new folder");
    let elsewhere = elsewhere.display().to_string();
    assert!(house.usage_error(&["undo", "-C", &elsewhere]).contains("nothing to undo"));
}

#[test]
fn g7_checkpoints_are_listed_compared_restored_and_collected() {
    let (house, id) = changed();
    let list = house.json(&["checkpoints", "list", "--session", &id, "--json"]);
    let rows = list.as_array().expect("a list");
    assert_eq!(rows.len(), 3);
    let of = |path: &str| {
        let row = rows.iter().find(|row| row["changes"][0]["path"] == path).expect(path);
        row["id"].as_str().expect("a name")[..8].to_owned()
    };
    let (a, b) = (of("a.txt"), of("b.bin"));
    let diff = house.ok(&["checkpoints", "diff", &a]);
    assert!(diff.contains("--- a/a.txt\n+++ b/a.txt\n") && diff.contains("-two\n+TWO\n"), "{diff}");
    assert!(house.ok(&["checkpoints", "diff", &b, "b.bin"]).contains("binary content of 3 bytes"));
    assert!(house.usage_error(&["checkpoints", "diff", &a, "b.bin"]).contains("a.txt"));
    assert!(house.usage_error(&["checkpoints", "diff", "ffffffff"]).contains("checkpoints list"));
    house.ok(&["checkpoints", "restore", &b]);
    assert!(house.at("work/b.bin").exists() && house.at("work/n.txt").exists());
    let call = house.ok(&["checkpoints", "diff", &b]);
    assert!(call.contains("No difference"), "{call}");
    assert!(house.ok(&["checkpoints", "list"]).contains("restore"));
    let kept = house.json(&["checkpoints", "gc", "--older-than", "1h", "--json"]);
    assert_eq!(kept["removed"], 0);
    let gone = house.json(&["checkpoints", "gc", "--older-than", "0s", "--json"]);
    assert_eq!(gone["removed"], 4);
    assert!(house.ok(&["checkpoints", "list"]).contains("no checkpoint"));
}
