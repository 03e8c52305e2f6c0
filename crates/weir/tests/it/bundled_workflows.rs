//! The workflows that come with the program (R7), on a real repository: what the model is told, and that
//! what it then does lands there. Not here: workflows of the workspace and the person.

use std::os::unix::fs::PermissionsExt;

use weir_test_kit::{TestInstallation, run_git, wait_until};

/// A repository with one commit and one change to it.
fn changed_repository(script: &str) -> TestInstallation {
    let house = TestInstallation::new();
    house.write(&house.at("work/README.md"), "# Harbour\n");
    house.write(&house.at("work/lamp.sh"), "echo on\n");
    run_git(&house.work(), &["init", "-q", "-b", "main"]);
    run_git(&house.work(), &["config", "user.name", "Ada"]);
    run_git(&house.work(), &["config", "user.email", "ada@example.org"]);
    run_git(&house.work(), &["add", "."]);
    run_git(&house.work(), &["commit", "-q", "-m", "first"]);
    house.write(&house.at("work/lamp.sh"), "echo off\n");
    house.write(&house.at("s.script"), script);
    house
}

fn run(house: &TestInstallation, mode: &str, prompt: &str) -> String {
    let script = house.script_model();
    house.ok(&["run", "-m", &script, "--permission", mode, "--strict", prompt])
}

#[test]
fn r7_init_writes_a_first_agents_md() {
    let house = changed_repository(
        "expect: body \"Write a first AGENTS.md\"\n\
         expect: body \"/init stands for (comes with Weir)\"\n\
         calls: read_file {\"path\": \"README.md\"}\n\n\
         expect: result \"Harbour\"\n\
         calls: write_file {\"path\": \"AGENTS.md\", \"content\": \"The harbour's lamps.\\n\"}\n\nsays: Written.\n",
    );
    // What later sessions are told is written by nobody unasked.
    let script = house.script_model();
    let refused = house.run(&["run", "-m", &script, "--permission", "auto-edit", "/init"]);
    assert_ne!(refused.status, 0, "{}{}", refused.out, refused.err);
    assert!(!house.at("work/AGENTS.md").exists());
    let allowed = house.run(&[
        "run",
        "-m",
        &script,
        "--permission",
        "auto-edit",
        "--allow",
        "Edit(AGENTS.md)",
        "--strict",
        "/init",
    ]);
    assert_eq!((allowed.status, allowed.out.as_str()), (0, "Written.\n"), "{}", allowed.err);
    assert!(house.at("work/AGENTS.md").exists());
}

#[test]
fn r7_review_looks_at_what_is_not_committed_and_changes_nothing() {
    let house = changed_repository(
        "expect: body \"Review what the arguments name.\"\n\
         calls: run_shell {\"command\": \"git diff HEAD\"}\n\n\
         expect: result \"-echo on\"\n\
         says: lamp.sh:1: the lamp goes off.\n\n\
         expect: body \"Arguments: lamp.sh\"\n\
         says: The same.\n",
    );
    let before = run_git(&house.work(), &["status", "--porcelain"]);
    assert_eq!(run(&house, "plan", "/review"), "lamp.sh:1: the lamp goes off.\n");
    assert_eq!(run_git(&house.work(), &["status", "--porcelain"]), before);
    assert_eq!(
        house.ok(&["run", "-m", &house.script_model(), "--continue", "/review lamp.sh"]),
        "The same.\n"
    );
}

#[test]
fn r7_commit_commits_and_pushes_nothing() {
    let house = changed_repository(
        "expect: body \"Commit the changes of this repository.\"\n\
         calls: run_shell {\"command\": \"git status --porcelain && git diff HEAD\"}\n\n\
         expect: result \"lamp.sh\"\n\
         calls: run_shell {\"command\": \"git add lamp.sh && git commit -q -m 'The lamp goes off'\"}\n\n\
         expect: result \"Exit code 0\"\n\
         says: One commit.\n",
    );
    assert_eq!(run(&house, "auto-edit", "/commit"), "One commit.\n");
    assert_eq!(run_git(&house.work(), &["log", "--format=%s"]), "The lamp goes off\nfirst\n");
    assert_eq!(run_git(&house.work(), &["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn r7_pr_is_told_to_force_nothing_and_names_what_a_person_opens() {
    let house = changed_repository(
        "expect: body \"Open a pull request for the branch that is checked out.\"\n\
         expect: body \"never with force\"\n\
         expect: body \"Arguments: into main\"\n\
         calls: run_shell {\"command\": \"git log --oneline main\"}\n\n\
         expect: result \"first\"\n\
         says: Nothing to open: this is main and has no remote.\n",
    );
    assert!(run(&house, "auto-edit", "/pr into main").starts_with("Nothing to open"));
}

/// Stands in for GitHub's program, which needs an account: it keeps what it was told.
fn with_gh(house: TestInstallation) -> TestInstallation {
    let (gh, told) = (house.at("bin/gh"), house.at("gh-was-told"));
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\necho https://example.org/harbour/pull/1\n",
        told.display()
    );
    house.write(&gh, &script);
    std::fs::set_permissions(&gh, PermissionsExt::from_mode(0o755)).expect("it is there");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", house.at("bin").display());
    house.with_variable("PATH", &path)
}

#[test]
fn r7_pr_pushes_and_opens_a_request_after_a_persons_yes() {
    let opens = "git push -q -u origin lamp && gh pr create --base main --title 'The lamp goes off' \
                 --body 'Tried by hand.'";
    let opens = serde_json::json!({ "command": opens, "outside_sandbox": true });
    let house = with_gh(changed_repository(&format!(
        "expect: body \"Open a pull request for the branch that is checked out.\"\n\
         calls: run_shell {{\"command\": \"git log --oneline main..HEAD && git remote\"}}\n\n\
         expect: result \"The lamp goes off\"\n\
         expect: result \"origin\"\n\
         calls: run_shell {opens}\n\n\
         expect: result \"https://example.org/harbour/pull/1\"\n\
         says: Opened.\n"
    )));
    let far = house.at("far.git");
    let git = |args: &[&str]| run_git(&house.work(), args);
    git(&["clone", "-q", "--bare", ".", &far.display().to_string()]);
    git(&["remote", "add", "origin", &far.display().to_string()]);
    git(&["switch", "-q", "-c", "lamp"]);
    git(&["commit", "-q", "-a", "-m", "The lamp goes off"]);
    let script = house.script_model();
    let flags = ["--permission", "auto-edit", "--ask-elsewhere"];
    let run = house.start(&[&["run", "-m", &script], &flags[..], &["/pr"]].concat());
    let asked = wait_until("the push is asked about", || {
        let open = house.json(&["approvals", "list", "--json"]);
        open["approvals"].get(0).cloned().ok_or(open)
    });
    assert!(asked["summary"].as_str().is_some_and(|words| words.contains("git push")), "{asked}");
    assert_eq!(run_git(&far, &["branch", "--list", "lamp"]), "", "nothing has left yet");
    assert_eq!(house.read("gh-was-told"), None);
    house.ok(&["approvals", "answer", asked["approval"].as_str().expect("an id"), "once"]);
    let said = run.wait_for_end();
    assert_eq!((said.status, said.out.as_str()), (0, "Opened.\n"), "{}", said.err);
    assert_eq!(run_git(&far, &["log", "--format=%s", "lamp"]), "The lamp goes off\nfirst\n");
    let told = house.read("gh-was-told").expect("it was called");
    assert!(told.starts_with("pr\ncreate\n--base\nmain\n"), "{told}");
}

#[test]
fn r7_what_comes_with_weir_is_listed_and_gives_way() {
    let house = TestInstallation::new();
    house.write(&house.at("work/.weir/commands/review.md"), "My own review.\n");
    let rows = house.json(&["workflows", "list", "--json"]);
    let rows = rows.as_array().expect("a list");
    let of = |name: &str| -> Vec<(&str, bool)> {
        let named = rows.iter().filter(|row| row["name"] == name);
        named.map(|row| (row["source"].as_str().expect("words"), row["shadowed"] == true)).collect()
    };
    assert_eq!(of("pr"), [("comes with Weir", false)]);
    assert_eq!(of("review"), [(".weir/commands/review.md", false)]);
    assert_eq!(of("weir:review"), [("comes with Weir", false)]);
    assert!(house.ok(&["workflows", "show", "weir:review"]).contains("Change nothing"));
    assert!(house.ok(&["workflows", "show", "commit"]).contains("Do not push"));
}
