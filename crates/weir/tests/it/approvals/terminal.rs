//! Approvals at a terminal, answered there or elsewhere (G4). The terminal is the one that
//! `script` of util-linux makes.

use serde_json::Value;
use weir_test_kit::{RunningProgram, TestInstallation};

use super::{APPENDS, ASKS, answer, asked, house, read, start, text, write_of};

/// A run with a terminal in front of it.
pub(super) fn run_at_terminal(house: &TestInstallation, args: &[&str]) -> RunningProgram {
    let script = house.script_model();
    let args = [&["run", "-m", &script], args].concat();
    RunningProgram::start_with_input(house.command_at_terminal(&args))
}

pub(super) const PROMPT: &str = "[y] once";

#[test]
fn g4_what_is_typed_answers() {
    let house = house(&format!("{}{}says: Done.\n", write_of("a.txt", 1), write_of("b.txt", 2)));
    let mut terminal = run_at_terminal(&house, &["count"]);
    terminal.wait_for(PROMPT, 1);
    terminal.type_text("y\n");
    terminal.wait_for(PROMPT, 2);
    terminal.type_text("n not that one\n");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("answered elsewhere"), "{screen}");
    assert_eq!((read(&house, "work/a.txt"), read(&house, "work/b.txt")), ("1".into(), "".into()));
}

#[test]
fn z2_so_many_calls_are_allowed_at_the_terminal() {
    let script: String = (1..=3).map(|n| write_of("a.txt", n)).collect();
    let house = house(&format!("{script}says: Done.\n"));
    let mut terminal = run_at_terminal(&house, &["count"]);
    terminal.wait_for(PROMPT, 1);
    terminal.type_text("s 1\n");
    terminal.wait_for(PROMPT, 2);
    assert_eq!(read(&house, "work/a.txt"), "2");
    terminal.type_text("s five\n");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!((code, read(&house, "work/a.txt").as_str()), (0, "2"), "{screen}");
}

#[test]
fn g4_what_was_typed_for_an_answered_one_does_not_answer_the_next() {
    let house = house(&format!("{}{}says: Done.\n", write_of("a.txt", 1), write_of("b.txt", 2)));
    let mut terminal = run_at_terminal(&house, &["count"]);
    terminal.wait_for(PROMPT, 1);
    // Half a line: the person hesitates, and somebody else answers.
    terminal.type_text("y");
    terminal.wait_for_end_of_text("y");
    let first = text(&asked(&house, &[])["approval"]);
    assert_eq!(answer(&house, &first, &["deny", "--reason", "mine"]).status, 0);
    terminal.wait_for("answered elsewhere: denied", 1);
    terminal.wait_for(PROMPT, 2);
    terminal.type_text("n\n");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(
        (read(&house, "work/a.txt"), read(&house, "work/b.txt")),
        ("old\n".into(), "".into())
    );

    // And the next line typed is for the next one: nothing is eaten.
    let house =
        self::house(&format!("{}{}says: Done.\n", write_of("a.txt", 1), write_of("b.txt", 2)));
    let mut terminal = run_at_terminal(&house, &["count"]);
    terminal.wait_for(PROMPT, 1);
    let first = text(&asked(&house, &[])["approval"]);
    assert_eq!(answer(&house, &first, &["once"]).status, 0);
    terminal.wait_for(PROMPT, 2);
    terminal.type_text("y\n");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 0, "{screen}");
    assert_eq!((read(&house, "work/a.txt"), read(&house, "work/b.txt")), ("1".into(), "2".into()));
}

#[test]
fn c2_when_the_input_ends_nobody_is_left_to_ask() {
    let house = house(APPENDS);
    let mut terminal = run_at_terminal(&house, &["append"]);
    terminal.wait_for(PROMPT, 1);
    terminal.type_text("\u{4}");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("nobody can be asked from now on"), "{screen}");
    assert_eq!(read(&house, "work/log.txt"), "");

    let house = self::house(ASKS);
    let mut terminal = run_at_terminal(&house, &["--output", "json", "paint"]);
    terminal.wait_for("Which colour?", 1);
    terminal.type_text("\u{4}");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!(code, 4, "{screen}");
    assert!(screen.contains("\"status\":\"needs_input\""), "{screen}");
    let open = house.json(&["approvals", "list", "--json"]);
    assert_eq!(open["questions"].as_array().map(Vec::len), Some(1), "the question stays open");
}

#[test]
fn c2_when_the_lines_of_the_face_end_nobody_answers_in_a_persons_name() {
    let face = |script: &str, line: &str| {
        let house = house(script);
        let model = house.script_model();
        let (code, text) = house.run_with_input(&["--plain", "-m", &model], line).status_and_text();
        assert_eq!(code, 4, "{text}");
        assert!(text.contains("nobody can be asked from now on"), "{text}");
        house
    };
    let house = face(APPENDS, "append\n");
    let id = text(&house.json(&["sessions", "list", "--json"])[0]["id"]);
    let denied = house.facts_of_kind(&id, "approval.resolved");
    assert_eq!(denied.len(), 1);
    assert!(denied[0].to_string().contains("\"by\":\"nobody\""), "{denied:?}");
    assert_eq!(read(&house, "work/log.txt"), "");
    let ended = house.facts_of_kind(&id, "run.finished");
    assert!(ended[0].to_string().contains("\"status\":\"needs_input\""), "{ended:?}");

    let house = face(ASKS, "paint\n");
    let open = house.json(&["approvals", "list", "--json"]);
    assert_eq!(open["questions"].as_array().map(Vec::len), Some(1), "the question stays open");
}

#[test]
fn g4_a_resumed_run_asks_again_what_was_not_answered() {
    let house = house(APPENDS);
    let run = start(&house, &["append"]);
    let session = text(&asked(&house, &[])["session"]);
    run.kill();
    let mut terminal = run_at_terminal(&house, &["--resume", &session]);
    terminal.wait_for(PROMPT, 1);
    terminal.type_text("y\n");
    let (code, screen) = terminal.wait_for_end().status_and_text();
    assert_eq!((code, read(&house, "work/log.txt").as_str()), (0, "once\n"), "{screen}");
    let resolved: Vec<Value> = house.facts_of_kind(&session, "approval.resolved");
    assert_eq!((resolved.len(), &resolved[0]["by"]), (1, &Value::from("person")));
}
