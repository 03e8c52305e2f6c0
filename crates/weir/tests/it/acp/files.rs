//! Files that an editor has open: what is not saved is read, what is written stands in it, and when it fails
//! the disk counts (R1).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_test_kit::{PATIENCE, TestInstallation};

use super::editor::Editor;
use super::house;
use crate::mcp_servers_run::confined;

fn house_with_note(script: &str) -> TestInstallation {
    let house = house(script);
    house.write("work/note.txt", "saved\n");
    house
}

fn note_path(house: &TestInstallation) -> String {
    house.work().canonicalize().expect("it exists").join("note.txt").display().to_string()
}

fn results(house: &TestInstallation, session: &str) -> String {
    Value::from(house.facts_of_kind(session, "call.finished")).to_string()
}

const READS_AND_APPENDS: &str = "calls: read_file {\"path\": \"note.txt\"}\n\n\
    calls: append_to_file {\"path\": \"note.txt\", \"content\": \"more\\n\"}\n\nsays: Done.\n\n";

#[test]
fn r1_what_is_not_saved_is_read_kept_and_changed() {
    let house = house_with_note(READS_AND_APPENDS);
    let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
    editor.files.unsaved.insert(note_path(&house), "typed, not saved\n".into());
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Read, then append.");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let told = results(&house, &session);
    assert!(told.contains("typed, not saved"), "{told}");
    assert_eq!(house.read("work/note.txt").as_deref(), Some("typed, not saved\nmore\n"));
    assert_eq!(
        editor.files.saved,
        ["typed, not saved\n"],
        "what was typed is saved before it is changed"
    );
    let diff = editor.all_updates("tool_call_update");
    assert!(json!(diff).to_string().contains("more"), "{diff:#?}");
    let ended = editor.ask("session/close", &json!({"sessionId": session}));
    assert_eq!(ended["result"], json!({}), "{ended}");
    // What was typed is what an undo brings back.
    house.ok(&["undo"]);
    assert_eq!(house.read("work/note.txt").as_deref(), Some("typed, not saved\n"));
}

#[test]
fn r1_an_open_file_gets_what_was_written_to_the_disk() {
    let house = house_with_note(READS_AND_APPENDS);
    let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
    // It has the file open as it is saved, and does not look at the disk again.
    let session = editor.open_new();
    editor.files.unsaved.insert(note_path(&house), "saved\n".into());
    let prompt = editor.begin_prompt(&session, "Read, then append.");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.files.saved, ["saved\nmore\n"]);
    assert_eq!(house.read("work/note.txt").as_deref(), Some("saved\nmore\n"));
}

#[test]
fn r1_when_an_editor_fails_the_disk_counts_and_that_is_said_once() {
    for (why, said) in [
        ("the project is closed", "the project is closed"),
        ("", "does not answer about its files"),
    ] {
        let house = house_with_note(READS_AND_APPENDS);
        let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
        editor.files.fails = Some(why);
        let session = editor.open_new();
        let prompt = editor.begin_prompt(&session, "Read, then append.");
        assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
        assert_eq!(house.read("work/note.txt").as_deref(), Some("saved\nmore\n"));
        let words = editor.words("agent_message_chunk");
        assert_eq!(words.matches(said).count(), 1, "{words}");
    }
}

#[test]
fn r1_an_editor_is_asked_about_nothing_that_is_closed_or_outside() {
    let script = "calls: read_file {\"path\": \".env\"}\n\ncalls: read_file {\"path\": \"/etc/hostname\"}\n\n\
        calls: read_file {\"path\": \"hidden.txt\"}\n\nsays: Done.\n\n";
    let house = house_with_note(script);
    house.write("work/.env", "SECRET=1\n");
    house.write("work/hidden.txt", "hidden\n");
    house.write("work/.weirignore", "hidden.txt\n");
    let mut editor = Editor::start_with_files(&house, &["--permission", "full"]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Read.");
    let is_question = |line: &Value| line["method"] == "session/request_permission";
    loop {
        let line =
            editor.next("a question or the end", |line| is_question(line) || line["id"] == prompt);
        if !is_question(&line) {
            break;
        }
        editor.answer_question(&line, "deny");
    }
    let asked = editor.files.asked.join(" ");
    for closed in ["hidden.txt", "hostname"] {
        assert!(!asked.contains(closed), "{asked}");
    }
}

#[test]
fn r1_a_kill_while_the_editor_saves_loses_nothing_and_writes_once() {
    let house = house_with_note(READS_AND_APPENDS);
    let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
    editor.files.unsaved.insert(note_path(&house), "typed, not saved\n".into());
    let session = editor.open_new();
    editor.begin_prompt(&session, "Read, then append.");
    // It is killed before the editor has answered what it was given to save.
    let is_save = |line: &Value| line["method"] == "fs/write_text_file";
    editor.files.stops_at_saving = true;
    editor.next("a text to save", is_save);
    editor.program.kill();
    let before = house.read("work/note.txt").expect("it is there");
    assert_eq!(before, "saved\n", "nothing was written yet");
    let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
    editor.files.unsaved.insert(note_path(&house), "typed, not saved\n".into());
    editor.load(&session);
    editor.next("the last words", |line| {
        line["params"]["update"]["content"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("Done."))
    });
    let after = house.read("work/note.txt").expect("it is there");
    assert!(after == "saved\n" || after == "typed, not saved\nmore\n", "{after}");
}

/// Whether a line shows a terminal.
fn shows_terminal(line: &Value) -> bool {
    line["params"]["update"]["content"].to_string().contains("\"terminalId\":\"0\"")
}

#[test]
fn r1_a_command_is_shown_in_a_terminal_of_the_editor_and_runs_in_the_sandbox() {
    if !confined() {
        return;
    }
    let command = "printf 'one\\033[31m\\n'; sleep 1; echo two > made.txt; echo two";
    let call = json!({"command": command});
    let house = house_with_note(&format!("calls: run_shell {call}\n\nsays: Done.\n\n"));
    let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Run.");
    editor.next("a terminal", shows_terminal);
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let until = Instant::now() + PATIENCE;
    while editor.terminals.released == 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        editor.serve();
    }
    let started = &editor.terminals.started[0];
    assert_eq!(started[1], "__tail", "the editor runs nothing of the command: {started:?}");
    assert!(!started.join(" ").contains("sleep"), "{started:?}");
    assert_eq!(
        editor.terminals.printed,
        ["one\ntwo\n"],
        "what it printed, and nothing that steers"
    );
    assert_eq!(house.read("work/made.txt").as_deref(), Some("two\n"), "it ran once, here");
    let ended = editor.lines().into_iter().rfind(shows_terminal).expect("it is still shown");
    assert_eq!(ended["params"]["update"]["status"], "completed", "{ended}");
    assert!(results(&house, &session).contains("two"));
    weir_test_kit::wait_until("its files are gone", || {
        let left = std::fs::read_dir(house.at("state/weir/editor-terminals"));
        match left.map(|left| left.flatten().count()) {
            Ok(0) => Ok(()),
            left => Err(format!("{left:?}")),
        }
    });
}

#[test]
fn r1_without_a_terminal_what_a_command_prints_is_text() {
    if !confined() {
        return;
    }
    let call = json!({"command": "echo one; sleep 1; echo two"});
    let house = house_with_note(&format!("calls: run_shell {call}\n\nsays: Done.\n\n"));
    let mut editor = Editor::start_with_files(&house, &["--permission", "auto-edit"]);
    editor.terminals.fails = true;
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Run.");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let told = json!(editor.all_updates("tool_call_update")).to_string();
    assert!(told.contains("two") && !told.contains("terminalId"), "{told}");
}
