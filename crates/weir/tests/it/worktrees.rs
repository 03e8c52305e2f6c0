//! Sessions in a copy of the project (`--worktree`, R7): begun, killed, gone on with, merged, taken back
//! and dropped, by the real program and the real git. Not here: copies of sub-agents (`sub_agents`).

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use weir_test_kit::{RunningProgram, TestInstallation, run_git, wait_until};

/// A house whose workspace is a repository with one commit.
fn house(calls: &[(&str, Value)]) -> TestInstallation {
    let house = TestInstallation::new();
    house.write("work/a.txt", "one\ntwo\nthree\nfour\nfive\n");
    house.write("work/old.txt", "old\n");
    run_git(&house.work(), &["init", "-q", "-b", "main"]);
    run_git(&house.work(), &["add", "."]);
    run_git(&house.work(), &["commit", "-q", "-m", "first"]);
    script(&house, calls);
    house
}

fn script(house: &TestInstallation, calls: &[(&str, Value)]) {
    let turns: String =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n\n")).collect();
    house.write("s.script", &format!("{turns}says: Done.\n"));
}

/// A model that makes these calls, and stops in the last one.
fn script_of_calls(house: &TestInstallation, calls: &[(&str, Value)]) {
    let turns: Vec<String> =
        calls.iter().map(|(tool, input)| format!("calls: {tool} {input}\n")).collect();
    house.write("s.script", &turns.join("\n"));
}

/// More calls of the same model, after those that it has made.
fn go_on(house: &TestInstallation, calls: &[(&str, Value)]) {
    let before = house.read("s.script").expect("a script");
    script(house, calls);
    let more = house.read("s.script").expect("a script");
    house.write("s.script", &format!("{before}\n{more}"));
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

/// What a run with these flags printed and how it ended.
fn run(house: &TestInstallation, more: &[&str]) -> (i32, String) {
    let model = house.script_model();
    let mut all = vec!["run", "-m", &model, "--permission", "auto-edit"];
    all.extend(more);
    all.push("go");
    house.run(&all).status_and_text()
}

fn read(house: &TestInstallation, path: &str) -> String {
    house.read(&format!("work/{path}")).unwrap_or_default()
}

const COPY: &str = ".weir/worktrees/weir-worktree-fix";
const FIVE: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn r7_a_session_in_a_worktree_changes_nothing_until_it_is_merged() {
    let house =
        house(&[write("a.txt", "ONE\ntwo\nthree\nfour\nfive\n"), write("new/n.txt", "n\n")]);
    house.write("work/a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    let refs = run_git(&house.work(), &["for-each-ref"]);
    let (status, said) = run(&house, &["--worktree=fix"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("weir worktrees merge fix"), "{said}");
    assert!(said.contains("without what is not committed here"), "{said}");
    assert_eq!(read(&house, "a.txt"), "one\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(run_git(&house.work(), &["for-each-ref"]), refs, "no branch stays");
    assert_eq!(run_git(&house.work(), &["status", "--porcelain"]), " M a.txt\n");
    let listed = house.json(&["worktrees", "list", "--json"]);
    assert_eq!(listed[0]["name"], "fix", "{listed}");
    let diff = house.ok(&["worktrees", "diff", "fix"]);
    assert!(diff.contains("+ONE") && diff.contains("new/n.txt"), "{diff}");
    let dry = house.ok(&["worktrees", "merge", "fix", "--dry-run"]);
    assert!(dry.contains("Would take over 2 files"), "{dry}");
    assert_eq!(house.read("work/new/n.txt"), None, "nothing was done");
    let merged = house.ok(&["worktrees", "merge", "fix"]);
    assert!(merged.contains("Took over 2 files"), "{merged}");
    // Line by line: what was changed here meanwhile stays.
    assert_eq!(read(&house, "a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(read(&house, "new/n.txt"), "n\n");
    let id = listed[0]["sessions"][0].as_str().expect("a session").to_owned();
    assert_eq!(house.facts_of_kind(&id, "workspace.merged").len(), 1, "the journal knows");
    assert!(house.ok(&["audit", "tail", "-n", "50"]).contains("workspace.merged"));
    assert!(house.ok(&["replay", &id]).starts_with("the same"));
    house.ok(&["audit", "verify"]);
    let again = house.ok(&["worktrees", "merge", "fix"]);
    assert!(again.contains("nothing to take over"), "{again}");
    house.ok(&["undo"]);
    assert_eq!(read(&house, "a.txt"), "one\ntwo\nthree\nfour\nFIVE\n", "the merge is undone");
    assert_eq!(house.read("work/new/n.txt"), None);
    let kept = house.usage_error(&["worktrees", "drop", "fix"]);
    assert!(kept.contains("not in the project yet"), "{kept}");
    house.ok(&["worktrees", "merge", &id, "--drop"]);
    assert!(!house.at("work/.weir").exists(), "nothing of it stays");
    assert_eq!(run_git(&house.work(), &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn r7_a_merge_that_does_not_fit_changes_nothing() {
    let house = house(&[write("a.txt", "mine\n"), write("new.txt", "n\n")]);
    run(&house, &["--worktree=fix"]);
    house.write("work/a.txt", "yours\n");
    let refused = house.run(&["worktrees", "merge", "fix"]);
    let (status, said) = refused.status_and_text();
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("a.txt was changed in the project and in the worktree"), "{said}");
    assert_eq!((read(&house, "a.txt"), house.read("work/new.txt")), ("yours\n".into(), None));
    house.write("work/a.txt", FIVE);
    // What a person does by hand in the copy counts, and what is protected stays a person's.
    house.write("work/.weirprotected", "new.txt\n");
    let refused = house.run(&["worktrees", "merge", "fix"]).status_and_text();
    assert!(refused.1.contains("new.txt is not for agents to change"), "{refused:?}");
    assert_eq!(read(&house, "a.txt"), FIVE);
    house.ok(&["worktrees", "drop", "fix", "--force"]);
    assert!(house.ok(&["worktrees", "list"]).starts_with("No worktrees"));
}

/// Files that a merge takes over where it is to last a while.
const MANY: usize = 300;

#[test]
fn r7_a_merge_that_is_killed_is_made_whole_by_the_next_one() {
    // How many files are in the project when it is killed.
    for at in [0, 1, MANY / 2] {
        let made = format!("mkdir n && for i in $(seq {MANY}); do echo $i > n/$i; done");
        let made = ("run_shell", json!({ "command": made }));
        let house = house(&[write("a.txt", "ONE\ntwo\nthree\nfour\nfive\n"), made]);
        let (status, said) = run(&house, &["--worktree=fix"]);
        assert_eq!(status, 0, "{said}");
        house.write("work/a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
        let here = || -> Vec<usize> {
            let files = std::fs::read_dir(house.at("work/n")).into_iter().flatten().flatten();
            files.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect()
        };
        let mut merging = house.start(&["worktrees", "merge", "fix"]);
        wait_until("it takes files over, or is done", || {
            let is_time = here().len() >= at || merging.exit_status().is_some();
            is_time.then_some(()).ok_or("not yet")
        });
        merging.kill();
        for number in here() {
            let text = read(&house, &format!("n/{number}"));
            assert_eq!(text, format!("{number}\n"), "a file is there whole or not at all");
        }
        let mine = read(&house, "a.txt");
        assert!(mine.ends_with("four\nFIVE\n"), "what the person wrote is there: {mine}");
        house.ok(&["worktrees", "merge", "fix"]);
        assert_eq!(read(&house, "a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
        assert_eq!(here().len(), MANY, "killed at {at}");
        let left = run_git(&house.work(), &["status", "--porcelain"]);
        assert_eq!(left, " M a.txt\n?? n/\n", "nothing else is left of it");
        house.ok(&["audit", "verify"]);
        // Refused where anything of the copy is not in the project.
        house.ok(&["worktrees", "drop", "fix"]);
    }
}

#[test]
fn r7_a_script_can_be_run_after_a_merge_and_a_link_hinders_it() {
    let house = house(&[write("tool.sh", "#!/bin/sh\n"), write("b.txt", "b\n")]);
    run(&house, &["--worktree=fix"]);
    let script = house.at(&format!("work/{COPY}/tool.sh"));
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it is there");
    let link = house.at(&format!("work/{COPY}/link"));
    symlink("b.txt", &link).expect("a link");
    let diff = house.ok(&["worktrees", "diff", "fix"]);
    assert!(diff.contains("link: it is a link") && diff.contains("b/tool.sh"), "{diff}");
    let (status, said) = house.run(&["worktrees", "merge", "fix"]).status_and_text();
    assert_eq!((status, house.read("work/b.txt")), (1, None), "{said}");
    assert!(said.contains("link in the worktree: it is a link"), "{said}");
    std::fs::remove_file(&link).expect("it is there");
    house.ok(&["worktrees", "merge", "fix", "--drop"]);
    let mode = std::fs::metadata(house.at("work/tool.sh")).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o755);
}

#[test]
fn r7_a_worktree_of_which_something_is_gone_is_listed_and_left() {
    let house = house(&[write("b.txt", "b\n")]);
    run(&house, &["--worktree=fix"]);
    run(&house, &["--worktree=whole"]);
    let git = house.at(&format!("work/{COPY}/.git"));
    std::fs::remove_file(git).expect("it is there");
    let listed = house.ok(&["worktrees", "list"]);
    let row = |name: &str| listed.lines().find(|line| line.starts_with(name)).expect("a row");
    assert!(row("fix").contains("broken") && row("whole").contains("completed"), "{listed}");
    let told = house.usage_error(&["worktrees", "merge", "fix"]);
    assert!(told.contains("is broken"), "{told}");
    let told = house.usage_error(&["worktrees", "drop", "fix"]);
    assert!(told.contains("--force"), "{told}");
    assert_eq!(house.read(&format!("work/{COPY}/b.txt")).as_deref(), Some("b\n"));
    house.ok(&["worktrees", "drop", "fix", "--force"]);
    assert!(!house.at(&format!("work/{COPY}")).exists());
    assert!(house.at("work/.weir/worktrees/weir-worktree-whole/b.txt").exists());
}

#[test]
fn r7_a_killed_session_goes_on_in_its_worktree() {
    let slow = json!({ "command": "touch begun; sleep 60" });
    let house = house(&[]);
    script_of_calls(&house, &[write("a.txt", "half\n"), ("run_shell", slow)]);
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "full", "--worktree=fix", "go"];
    let killed: RunningProgram = house.start(&args);
    let begun = house.work().join(COPY).join("begun");
    wait_until("the command runs", || if begun.exists() { Ok(()) } else { Err("not yet") });
    let busy = house.usage_error(&["worktrees", "merge", "fix"]);
    assert!(busy.contains("works in the worktree fix now"), "{busy}");
    let busy = house.usage_error(&["worktrees", "drop", "fix", "--force"]);
    assert!(busy.contains("works in the worktree fix now"), "{busy}");
    killed.kill();
    let id = house.json(&["worktrees", "list", "--json"])[0]["sessions"][0].clone();
    let id = id.as_str().expect("a session").to_owned();
    go_on(&house, &[write("b.txt", "the rest\n")]);
    house.run(&["run", "-m", &model, "--resume", &id, "--permission", "full", "go on"]);
    assert_eq!(read(&house, "a.txt"), FIVE, "the project is as it was");
    assert_eq!(read(&house, &format!("{COPY}/b.txt")), "the rest\n");
    // A second session goes on in the same copy.
    script(&house, &[write("c.txt", "more\n")]);
    run(&house, &["--worktree=fix"]);
    house.ok(&["worktrees", "merge", "fix", "--drop"]);
    assert_eq!(read(&house, "a.txt"), "half\n");
    assert_eq!(read(&house, "b.txt") + &read(&house, "c.txt"), "the rest\nmore\n");
}

#[test]
fn r7_a_session_whose_worktree_was_dropped_is_no_dead_end() {
    let house = house(&[write("a.txt", "new\n")]);
    run(&house, &["--worktree=fix"]);
    let id = house.json(&["worktrees", "list", "--json"])[0]["sessions"][0].clone();
    let id = id.as_str().expect("a session").to_owned();
    house.ok(&["worktrees", "merge", "fix", "--drop"]);
    assert_eq!(read(&house, "a.txt"), "new\n");
    // What was taken over is taken back, and brought back, by the line that is printed.
    let undone = house.ok(&["undo", &id]);
    assert!(undone.contains(&format!("weir undo {id} --redo")), "{undone}");
    assert_eq!(read(&house, "a.txt"), FIVE);
    house.ok(&["undo", &id, "--redo"]);
    assert_eq!(read(&house, "a.txt"), "new\n");
    let model = house.script_model();
    let told = house.usage_error(&["run", "-m", &model, "--resume", &id, "more"]);
    assert!(told.contains("was removed") && told.contains("--fork"), "{told}");
    go_on(&house, &[write("b.txt", "b\n")]);
    let (status, said) = run(&house, &["--fork", &id]);
    assert_eq!((status, read(&house, "b.txt")), (0, "b\n".into()), "{said}");
}

#[test]
fn r7_a_worktree_without_a_name_has_that_of_its_session() {
    let house = house(&[]);
    let (status, said) = run(&house, &["--worktree"]);
    assert_eq!(status, 0, "{said}");
    let listed = house.json(&["worktrees", "list", "--json"]);
    assert_eq!(listed[0]["name"], listed[0]["sessions"][0], "{listed}");
}

#[test]
fn r7_the_terminal_says_how_a_worktree_is_merged_and_leaves_none_in_which_nothing_began() {
    let house = house(&[]);
    house.write("work/a.txt", "changed\n");
    let model = house.script_model();
    let face = |lines: &str| {
        let said = house.run_with_input(&["--plain", "-m", &model, "--worktree"], lines);
        let (status, text) = said.status_and_text();
        assert_eq!(status, 0, "{text}");
        text
    };
    let said = face("");
    assert!(said.contains("without what is not committed here"), "{said}");
    assert!(said.contains("weir worktrees merge"), "{said}");
    assert!(!house.at("work/.weir").exists(), "no session began in it");
    face("go\n");
    let listed = house.json(&["worktrees", "list", "--json"]);
    assert_eq!(listed[0]["name"], listed[0]["sessions"][0], "{listed}");
}

#[test]
fn r7_the_rules_and_the_trust_of_the_project_hold_in_its_worktree() {
    let house = house(&[write("a.txt", "x\n"), write("old.txt", "x\n")]);
    // Not committed, so it is in no copy.
    house.write(
        "work/.weir/config.toml",
        "[permissions]\ndeny = [\"Edit(old.txt)\"]\nallow = [\"Edit(a.txt)\"]\n",
    );
    let ask = |house: &TestInstallation| {
        let model = house.script_model();
        house.run(&["run", "-m", &model, "--worktree=fix", "go"]).status_and_text()
    };
    let (status, said) = ask(&house);
    assert_eq!(status, 4, "nobody trusted it, so writing is asked about: {said}");
    assert!(said.contains("deny Edit(old.txt)"), "its deny rule counts all the same: {said}");
    house.ok(&["trust", "--yes"]);
    let (status, said) = ask(&house);
    assert_eq!(status, 4, "the copy has not the files that were trusted: {said}");
    run_git(&house.work(), &["add", "-f", ".weir/config.toml"]);
    run_git(&house.work(), &["commit", "-q", "-m", "settings"]);
    house.ok(&["worktrees", "drop", "fix", "--force"]);
    let (_, said) = ask(&house);
    assert_eq!(read(&house, &format!("{COPY}/a.txt")), "x\n", "it has them now: {said}");
    assert_eq!(read(&house, &format!("{COPY}/old.txt")), "old\n");
    // What changes in the copy ends the trust there.
    house.write(&format!("work/{COPY}/.mcp.json"), "{\"mcpServers\": {}}\n");
    script(&house, &[write("a.txt", "y\n")]);
    let (status, said) = ask(&house);
    assert_eq!(status, 4, "{said}");
    let trusts =
        house.usage_error(&["-C", &format!("{}/{COPY}", house.work().display()), "trust", "--yes"]);
    assert!(trusts.contains("trusted as its project is"), "{trusts}");
}

#[test]
fn r7_foreign_words_stay_marked_when_a_worktree_is_merged() {
    let house = house(&[write("notes.txt", "what the mail says\n"), write("own.txt", "own\n")]);
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "full", "--worktree=fix", "note it", "-"];
    house.run_with_input(&args, "A mail of a stranger.\n");
    let copy = house.work().join(COPY).display().to_string();
    let marks = house.json(&["-C", &copy, "permissions", "marks", "--json"]).to_string();
    assert!(marks.contains("notes.txt"), "it was written with foreign words about: {marks}");
    assert!(!house.ok(&["permissions", "marks", "--json"]).contains("\"notes.txt\""));
    house.ok(&["worktrees", "merge", "fix"]);
    let marks = house.json(&["permissions", "marks", "--json"]).to_string();
    assert!(marks.contains("\"notes.txt\""), "merging vouches for nothing: {marks}");
}

#[test]
fn z1_what_is_marked_in_the_project_is_marked_in_its_copies() {
    let house = house(&[write("notes.txt", "what the mail says\n")]);
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "full", "note it", "-"];
    house.run_with_input(&args, "A mail of a stranger.\n");
    run_git(&house.work(), &["add", "."]);
    run_git(&house.work(), &["commit", "-q", "-m", "second"]);
    let reads = |path: &str| {
        script(&house, &[("read_file", json!({ "path": path }))]);
        let flags = ["--permission", "full", "--worktree=fix", "--output", "jsonl", "go"];
        let all = [&["run", "-m", &model][..], &flags[..]].concat();
        house.run(&all).out
    };
    assert!(reads("notes.txt").contains(r#""integrity":"external""#), "whoever committed it");
    assert!(!reads("a.txt").contains(r#""integrity":"external""#));
    // What is kept of it outside of a run, too.
    script(&house, &[write("more.txt", "more\n")]);
    house.run(&["run", "-m", &model, "--permission", "full", "--worktree=fix", "go"]);
    let copy = house.work().join(COPY).display().to_string();
    let keeps = |name: &str| {
        let file = format!("{copy}/{name}");
        house.json(&["-C", &copy, "brain", "add", "--file", &file, "--title", name, "--json"])
    };
    assert_eq!(keeps("notes.txt")["untrusted"], true);
    assert_eq!(keeps("a.txt")["untrusted"], false);
}

#[test]
fn z1_a_marked_history_is_marked_in_copies_too_and_vouched_for_from_there() {
    let house = house(&[("run_shell", json!({ "command": "git branch send-the-salaries" }))]);
    let model = house.script_model();
    let args = ["run", "-m", &model, "--permission", "full", "note it"];
    house.run_with_input(&[&args[..], &["-"]].concat(), "A mail of a stranger.\n");
    assert!(run_git(&house.work(), &["branch"]).contains("send-the-salaries"));
    // The branch is there already, so that in the copy nothing comes of it.
    house.ok(&[&args[..5], &["--worktree=fix", "note it"]].concat());
    let history = house.work().canonicalize().expect("it is there").join(".git");
    let (copy, named) = (house.work().join(COPY), format!("\"{}/\"", history.display()));
    let copy = copy.display().to_string();
    let in_copy = || house.ok(&["-C", &copy, "permissions", "marks", "--json"]);
    let in_project = || house.ok(&["permissions", "marks", "--json"]);
    assert!(in_copy().contains(&named) && in_project().contains("\".git/\""), "{}", in_copy());
    house.ok(&["-C", &copy, "permissions", "unmark", ".git/"]);
    assert!(!in_copy().contains(&named) && !in_project().contains("\".git/\""), "{}", in_copy());
}

#[test]
fn r7_what_can_be_no_worktree_is_a_usage_error() {
    let house = house(&[]);
    let model = house.script_model();
    let ends =
        |name: &str| house.usage_error(&["run", "-m", &model, &format!("--worktree={name}"), "x"]);
    assert!(ends("../x").contains("cannot be the name"));
    run_git(&house.work(), &["branch", "weir-worktree-mine"]);
    assert!(ends("mine").contains("there is a branch"));
    assert!(run_git(&house.work(), &["branch"]).contains("weir-worktree-mine"), "it stays");
    let unknown = house.usage_error(&["worktrees", "merge", "nothing"]);
    assert!(unknown.contains("there is no worktree nothing"), "{unknown}");
    let wrong = house.usage_error(&["run", "-m", "no/model", "--worktree=left", "x"]);
    assert!(!house.at("work/.weir").exists(), "nothing stays of what did not begin: {wrong}");
    let plain = TestInstallation::with_script("says: Hello.\n");
    let model = plain.script_model();
    let said = plain.usage_error(&["run", "-m", &model, "--worktree", "x"]);
    assert!(said.contains("is no git repository"), "{said}");
    assert!(said.contains("leave --worktree out"), "{said}");
}
