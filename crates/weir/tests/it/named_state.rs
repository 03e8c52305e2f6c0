//! What `--state-dir` names, with the real program (C1): which commands make a store where there is none, and
//! what the others say. Not here: what a command does with a store that is there.

use weir_test_kit::TestInstallation;

/// What is about something that is kept already: what looks, and what changes that.
const ABOUT_KEPT: [&[&str]; 49] = [
    &["sessions", "list"],
    &["sessions", "show", "0198"],
    &["sessions", "export", "0198"],
    &["replay", "0198"],
    &["usage"],
    &["audit", "verify"],
    &["checkpoints", "list"],
    &["approvals", "list"],
    &["undo"],
    &["pause", "something is wrong"],
    &["release"],
    &["backup", "weir.tar.gz"],
    &["run", "--continue", "go on"],
    &["run", "--resume", "0198", "go on"],
    &["--continue"],
    &["memory", "list"],
    &["memory", "search", "harbour"],
    &["memory", "inbox"],
    &["memory", "forget", "0198"],
    &["memory", "export"],
    &["brain", "list"],
    &["brain", "search", "harbour"],
    &["brain", "delete", "0198"],
    &["recipes", "list"],
    &["recipes", "accept", "0198"],
    &["skills", "list"],
    &["skills", "inbox"],
    &["agents", "list"],
    &["agents", "run", "nightly"],
    &["config", "inbox"],
    &["config", "reject", "model"],
    &["mcp-servers", "list"],
    &["mcp-servers", "remove", "github"],
    &["tools", "list"],
    &["tools", "disable", "sums"],
    &["plugins", "list"],
    &["workflows", "list"],
    &["worktrees", "list"],
    &["permissions", "explain", "read_file", "{\"path\": \"a\"}"],
    &["permissions", "marks"],
    &["permissions", "add", "deny", "Edit(x)", "--session", "0198"],
    &["context"],
    &["phone"],
    &["phone", "list"],
    &["trust", "list"],
    &["trust", "--list"],
    &["trust", "remove"],
    &["import", "--undo"],
    &["doctor", "--offline"],
];

/// What is about files of its own.
const ELSEWHERE: [&[&str]; 7] = [
    &["config", "show"],
    &["config", "path"],
    &["models"],
    &["auth", "list"],
    &["profiles", "list"],
    &["schema", "events"],
    &["trust", "--json"],
];

/// What may be the first that is kept. Each has a `list`.
const BEGINNING: [&[&str]; 4] = [
    &["memory", "add", "The harbour is closed."],
    &["brain", "add", "The harbour is closed."],
    &["agents", "add", "nightly", "--prompt", "Look."],
    &["trust", "--yes"],
];

const NOTE: &str = "does not exist; a new store is made there";

fn house() -> TestInstallation {
    TestInstallation::with_scripted_model("says: Done.\n", "")
}

#[test]
fn c1_a_misspelled_state_folder_is_an_error_for_what_is_kept() {
    let house = house();
    let typo = house.at("stat").display().to_string();
    for words in ABOUT_KEPT {
        let said = house.usage_error(&[words, &["--state-dir", &typo]].concat());
        assert!(said.contains("--state-dir") && said.contains(&typo), "{words:?}: {said}");
        assert!(said.contains("there is no such folder"), "{words:?}: {said}");
        assert!(!house.at("stat").exists(), "{words:?}: nothing is made");
    }
    // A folder that is there and in which nothing was kept is no store either.
    std::fs::create_dir(house.at("empty")).expect("a folder");
    let empty = house.at("empty").display().to_string();
    let said = house.usage_error(&["sessions", "list", "--state-dir", &empty]);
    assert!(said.contains("nothing was ever kept in that folder"), "{said}");
    // A server whose sessions are in another database keeps people alone in it.
    house.write("of-a-server/people/ada/kept", "");
    let of_server = house.at("of-a-server").display().to_string();
    house.ok(&["pause", "--state-dir", &of_server]);
    house.ok(&["release", "--state-dir", &of_server]);
    // One that keeps its people there too has its key in it, and says where it listens.
    for name in ["server.key", "serve.json"] {
        let folder = house.at(&format!("with-{name}"));
        house.write(&folder.join(name), "");
        house.ok(&["sessions", "list", "--state-dir", &folder.display().to_string()]);
    }
}

#[test]
fn c1_what_is_about_files_of_its_own_does_not_look_for_a_store() {
    let house = house();
    let typo = house.at("stat").display().to_string();
    for words in ELSEWHERE {
        let said = house.run(&[words, &["--state-dir", &typo]].concat());
        assert_eq!(said.status, 0, "{words:?}: {}", said.err);
        assert!(!said.err.contains("--state-dir"), "{words:?}: {}", said.err);
        assert!(!house.at("stat").exists(), "{words:?}: nothing is made");
    }
}

#[test]
fn c1_what_is_kept_beside_the_settings_begins_no_store() {
    let house = house();
    let typo = house.at("stat").display().to_string();
    house.write("given/tides/SKILL.md", "---\nname: tides\ndescription: Tides.\n---\nRead them.\n");
    let given = house.at("given/tides").display().to_string();
    for words in [
        &["skills", "add", &given, "--state-dir", &typo][..],
        &["mcp-servers", "add", "a", "--no-start", "--state-dir", &typo, "--", "none-such"],
    ] {
        let said = house.run(words);
        assert_eq!(
            (said.status, said.err.matches(NOTE).count()),
            (0, 0),
            "{words:?}: {}",
            said.err
        );
        assert!(!house.at("stat").exists(), "{words:?}: nothing is made");
    }
}

#[test]
fn c1_what_begins_a_store_says_so_once() {
    let house = house();
    for (number, words) in BEGINNING.into_iter().enumerate() {
        let new = house.at(&format!("new-{number}")).display().to_string();
        let said = house.run(&[words, &["--state-dir", &new]].concat());
        let notes = said.err.matches(NOTE).count();
        assert_eq!((said.status, notes), (0, 1), "{words:?}: {}", said.err);
        // What was begun is there.
        house.ok(&[words[0], "list", "--state-dir", &new]);
    }
    let new = house.at("new").display().to_string();
    let first = house.run(&["run", "--state-dir", &new, "Do it."]);
    assert_eq!((first.status, first.err.matches(NOTE).count()), (0, 1), "{}", first.err);
    let again = house.run(&["run", "--state-dir", &new, "Do it."]);
    assert!(again.status == 0 && !again.err.contains(NOTE), "{}", again.err);
    let listed = house.json(&["sessions", "list", "--json", "--state-dir", &new]);
    assert_eq!(listed.as_array().or(listed["sessions"].as_array()).map(Vec::len), Some(2));
}
