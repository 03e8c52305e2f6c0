//! Ordinary commands of an ordinary day, with the real program and the sandbox of this machine: what
//! asks nothing, and what a setting opens (U13). Not here: attacks.

use std::process::{Output, Stdio};

use serde_json::json;
use weir_test_kit::TestInstallation;

fn house(commands: &[&str]) -> TestInstallation {
    let house = TestInstallation::new();
    let call = |command: &&str| format!("calls: run_shell {}\n\n", json!({ "command": command }));
    let turns: String = commands.iter().map(call).collect();
    house.write(&house.at("s.script"), &format!("{turns}says: Done.\n"));
    house
}

fn run(house: &TestInstallation, mode: &str, environment: &[(&str, &str)]) -> Output {
    let script = house.script_model();
    let all = ["run", "-m", &script, "--permission", mode, "--output", "jsonl", "go"];
    let mut command = house.command(&all);
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    command.output().expect("the program starts")
}

#[test]
fn u13_what_reads_asks_nothing_in_the_mode_ask() {
    let house = house(&[
        "ls -la && pwd",
        "git --version; cat notes.md 2>/dev/null | head -3",
        "find . -name '*.md' | wc -l",
        "grep -rn todo . || true",
    ]);
    let output = run(&house, "ask", &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("approval.requested"), "{said}");
    assert!(said.matches("Exit code 0").count() >= 4, "each ran to its end: {said}");
}

#[test]
fn u13_a_confined_command_asks_nothing_in_auto_edit_and_everything_in_ask() {
    let house = house(&["printf hello > made.txt"]);
    assert_eq!(run(&house, "ask", &[]).status.code(), Some(4), "nobody is there to answer");
    assert!(!house.at("work/made.txt").exists());
    assert_eq!(run(&house, "auto-edit", &[]).status.code(), Some(0));
    assert!(house.at("work/made.txt").exists());
}

#[test]
fn t8_a_variable_that_the_settings_name_is_seen_by_commands() {
    let house = house(&["printenv APP_MODE DB_PASSWORD; true"]);
    let variables = [("APP_MODE", "staging-4711"), ("DB_PASSWORD", "hunter-2")];
    let before = run(&house, "full", &variables);
    assert!(!String::from_utf8_lossy(&before.stdout).contains("staging-4711"));
    house.ok(&["config", "set", "commands.env", "[\"APP_MODE\", \"DB_PASSWORD\"]"]);
    let after = run(&house, "full", &variables);
    let said = String::from_utf8_lossy(&after.stdout);
    assert!(said.contains("staging-4711"), "{said}");
    assert!(!said.contains("hunter-2"), "what looks like a key is never passed on: {said}");
}
