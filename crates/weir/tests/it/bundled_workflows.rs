//! The workflows that come with the program (R7), on a real repository: what the model is told, and that
//! what it then does lands there. Not here: workflows of the workspace and the person.

use weir_test_kit::{TestInstallation, run_git};

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
