//! A workspace of several folders (`--add-dir`, R7): the real program, its checkpoints, its sandbox and
//! its lists in a folder that a person added. Not here: the gate's table about such paths
//! (`scenarios/gate`, `weir-core`).

use std::path::PathBuf;

use serde_json::{Value, json};
use weir_test_kit::{TestInstallation, run_git};

/// A house with a workspace, a folder `lib` beside it, and a model that makes these calls.
fn house(calls: &[(&str, Value)]) -> TestInstallation {
    let house = TestInstallation::new();
    house.write("work/a.txt", "in the workspace\n");
    house.write("lib/b.txt", "in the added folder\n");
    script(&house, calls);
    house
}

fn script(house: &TestInstallation, calls: &[(&str, Value)]) {
    let turns: String =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n\n")).collect();
    house.write("s.script", &format!("{turns}says: Done.\n"));
}

/// More calls of the same model, after those that it has made.
fn go_on(house: &TestInstallation, calls: &[(&str, Value)]) {
    let before = house.read("s.script").expect("a script");
    script(house, calls);
    let more = house.read("s.script").expect("a script");
    house.write("s.script", &format!("{before}\n{more}"));
}

/// Everything that calls of a session brought.
fn results(house: &TestInstallation, ended: &Value) -> String {
    let id = ended["session"].as_str().expect("an id");
    Value::from(house.facts_of_kind(id, "call.finished")).to_string()
}

fn lib(house: &TestInstallation) -> PathBuf {
    std::fs::canonicalize(house.at("lib")).expect("it is there")
}

fn path_in_lib(house: &TestInstallation, name: &str) -> String {
    lib(house).join(name).display().to_string()
}

/// The end of a run with these flags, as `--output json` tells it.
fn run(house: &TestInstallation, more: &[&str]) -> Value {
    let (script, lib) = (house.script_model(), path_in_lib(house, ""));
    let lib = lib.trim_end_matches('/');
    let mut all = vec!["run", "-m", &script, "--add-dir", lib, "--output", "json"];
    all.extend(more);
    all.push("go");
    let output = house.run(&all);
    serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{output:?}"))
}

fn read(house: &TestInstallation, path: &str) -> String {
    house.read(path).unwrap_or_default()
}

#[test]
fn r7_files_and_commands_in_an_added_folder_are_undone_with_the_rest() {
    let house = house(&[]);
    let b = path_in_lib(&house, "b.txt");
    script(
        &house,
        &[
            ("write_file", json!({ "path": "a.txt", "content": "new a\n" })),
            ("write_file", json!({ "path": b, "content": "new b\n" })),
            (
                "run_shell",
                json!({ "command": format!("echo made > {}", path_in_lib(&house, "made.txt")) }),
            ),
        ],
    );
    let ended = run(&house, &["--permission", "full"]);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["changed_files"].as_array().map(Vec::len), Some(3), "{ended}");
    assert_eq!(
        (read(&house, "work/a.txt"), read(&house, "lib/b.txt")),
        ("new a\n".into(), "new b\n".into())
    );
    assert_eq!(read(&house, "lib/made.txt"), "made\n", "a command writes there");
    let told = house.ok(&["undo"]);
    assert!(
        told.contains("a.txt") && told.contains("b.txt") && told.contains("made.txt"),
        "{told}"
    );
    assert_eq!(read(&house, "work/a.txt"), "in the workspace\n");
    assert_eq!(read(&house, "lib/b.txt"), "in the added folder\n");
    assert_eq!(house.read("lib/made.txt"), None);
}

#[test]
fn r7_auto_edit_holds_in_an_added_folder_and_nowhere_beside_it() {
    let house = house(&[]);
    house.write("other/c.txt", "elsewhere\n");
    let other = house.at("other/c.txt").display().to_string();
    let b = path_in_lib(&house, "b.txt");
    script(
        &house,
        &[
            ("write_file", json!({ "path": b, "content": "new b\n" })),
            ("write_file", json!({ "path": other, "content": "no\n" })),
        ],
    );
    let ended = run(&house, &["--permission", "auto-edit"]);
    assert_eq!(ended["status"], "needs_input", "{ended}");
    assert_eq!(read(&house, "lib/b.txt"), "new b\n");
    assert_eq!(read(&house, "other/c.txt"), "elsewhere\n");
}

#[test]
fn r7_the_lists_and_rules_of_an_added_folder_count_and_its_permissions_do_not() {
    let house = house(&[]);
    house.write("lib/.weirignore", "secret.txt\n");
    house.write("lib/.weirprotected", "fixed.txt\n");
    house.write("lib/secret.txt", "4711\n");
    house.write("lib/fixed.txt", "fixed\n");
    house.write("lib/src/x.rs", "fn x() {}\n");
    house.write("work/src/x.rs", "fn x() {}\n");
    house.write(
        "lib/.weir/config.toml",
        "permission = \"full\"\n[permissions]\nallow = [\"Shell(*)\"]\ndeny = [\"Edit(src/**)\"]\n",
    );
    let at = |name: &str| path_in_lib(&house, name);
    let shown = format!("cat {}", at("secret.txt"));
    script(
        &house,
        &[
            ("read_file", json!({ "path": at("secret.txt") })),
            ("write_file", json!({ "path": at("fixed.txt"), "content": "x\n" })),
            ("write_file", json!({ "path": at("src/x.rs"), "content": "x\n" })),
            ("write_file", json!({ "path": "src/x.rs", "content": "changed\n" })),
            ("run_shell", json!({ "command": shown })),
        ],
    );
    // Even what is trusted there widens nothing here.
    let lib = lib(&house).display().to_string();
    house.ok(&["trust", "--yes", &lib]);
    let ended = run(&house, &["--permission", "auto-edit"]);
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(read(&house, "lib/fixed.txt"), "fixed\n");
    assert_eq!(read(&house, "lib/src/x.rs"), "fn x() {}\n", "its deny rule is its own");
    assert_eq!(read(&house, "work/src/x.rs"), "changed\n", "the workspace has no such rule");
    let told = results(&house, &ended);
    assert!(!told.contains("4711"), "{told}");
    assert!(told.contains(".weirprotected:1"), "the list is named: {told}");
    script(&house, &[("run_shell", json!({ "command": "touch made.txt" }))]);
    let ended = run(&house, &["--permission", "ask"]);
    assert_eq!(
        ended["status"], "needs_input",
        "its allow rule is for whoever works in it: {ended}"
    );
}

#[test]
fn r7_a_command_sees_no_hidden_file_of_an_added_folder() {
    let house = house(&[]);
    house.write("lib/.weirignore", "secret.txt\n");
    house.write("lib/secret.txt", "4711\n");
    let command = format!("cat {0}/secret.txt; cat {0}/b.txt", lib(&house).display());
    script(&house, &[("run_shell", json!({ "command": command }))]);
    let ended = run(&house, &["--permission", "full"]);
    let told = results(&house, &ended);
    assert!(told.contains("in the added folder"), "{told}");
    assert!(!told.contains("4711"), "{told}");
}

#[test]
fn r7_a_session_keeps_its_added_folders() {
    let house = house(&[]);
    let b = path_in_lib(&house, "b.txt");
    script(&house, &[("write_file", json!({ "path": b, "content": "first\n" }))]);
    let id =
        run(&house, &["--permission", "auto-edit"])["session"].as_str().expect("id").to_owned();
    go_on(&house, &[("write_file", json!({ "path": b, "content": "second\n" }))]);
    let model = house.script_model();
    house.ok(&["run", "-m", &model, "--resume", &id, "more"]);
    assert_eq!(read(&house, "lib/b.txt"), "second\n", "without the flag");
    go_on(&house, &[("write_file", json!({ "path": b, "content": "third\n" }))]);
    house.ok(&["run", "-m", &model, "--fork", &id, "more"]);
    assert_eq!(read(&house, "lib/b.txt"), "third\n", "the fork too");
    // A link in its place leads where nobody wanted to go.
    std::fs::rename(house.at("lib"), house.at("lib.old")).expect("moved");
    house.write("elsewhere/b.txt", "mine\n");
    std::os::unix::fs::symlink(house.at("elsewhere"), house.at("lib")).expect("linked");
    let again = house.run(&["run", "-m", &model, "--resume", &id, "more"]);
    assert!(again.err.contains("no longer part of this session"), "{again:?}");
    // The session itself has not made its third call yet.
    assert_eq!(again.status, 4, "writing there is asked about: {again:?}");
    assert_eq!(read(&house, "elsewhere/b.txt"), "mine\n");
}

#[test]
fn r7_what_cannot_be_added_is_a_usage_error() {
    let house = house(&[]);
    house.write("file.txt", "x\n");
    let model = house.script_model();
    let (missing, file, above) = (house.at("missing"), house.at("file.txt"), house.at(""));
    for (folder, why) in
        [(missing, "No such file"), (file, "not a folder"), (above, "it holds the workspace")]
    {
        let folder = folder.display().to_string();
        let said = house.usage_error(&["run", "-m", &model, "--add-dir", &folder, "go"]);
        assert!(said.contains(why) && said.contains("--add-dir"), "{said}");
    }
    let inside = house.at("work").display().to_string();
    let said = house.run(&["run", "-m", &model, "--add-dir", &inside, "go"]);
    assert!(said.err.contains("in the workspace already"), "{said:?}");
    house.write("lib/.weir/config.toml", "[permissions]\ndeny = [\"Edit(\"]\n");
    let lib = lib(&house).display().to_string();
    let said = house.usage_error(&["run", "-m", &model, "--add-dir", &lib, "go"]);
    assert!(said.contains("config.toml:2"), "what it forbids is not known: {said}");
}

#[test]
fn r7_the_model_is_told_of_added_folders_and_of_their_instructions() {
    let house = house(&[]);
    house.write("lib/AGENTS.md", "Speak of lib with respect.\n");
    run_git(&house.at("lib"), &["init", "-q", "-b", "trunk"]);
    let b = path_in_lib(&house, "b.txt");
    script(&house, &[("read_file", json!({ "path": b }))]);
    let ended = run(&house, &[]);
    assert_eq!(ended["status"], "completed", "reading there is free: {ended}");
    let told = results(&house, &ended);
    assert!(told.contains("Speak of lib with respect"), "{told}");
    let (model, lib) = (house.script_model(), lib(&house).display().to_string());
    let told = house.ok(&["run", "-m", &model, "--add-dir", &lib, "--dry-run", "go"]);
    assert!(told.contains(&format!("{lib} (git branch trunk)")), "{told}");
}
