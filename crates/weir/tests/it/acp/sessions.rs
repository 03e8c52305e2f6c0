//! Sessions as an editor has them beside each other: with more folders than one, copied, deleted.

use serde_json::{Value, json};
use weir_test_kit::TestInstallation;

use super::editor::Editor;
use super::house;

/// A house whose model writes into a folder beside the workspace.
fn house_with_lib(times: usize) -> (TestInstallation, String) {
    let house = house("");
    house.write("lib/b.txt", "first\n");
    let lib = std::fs::canonicalize(house.at("lib")).expect("it is there");
    let input = json!({"path": lib.join("b.txt"), "content": "more\n"});
    let turns = format!("calls: append_to_file {input}\n\nsays: Done.\n\n").repeat(times);
    house.set_scripted_model(&format!("name: test\n\n{turns}"), "");
    (house, lib.display().to_string())
}

fn has_notice(editor: &Editor, words: &str) -> bool {
    editor.words("agent_message_chunk").contains(words)
}

fn listed(editor: &mut Editor, session: &str) -> Option<Value> {
    let listed = editor.ask("session/list", &json!({}));
    let all = listed["result"]["sessions"].as_array().expect("a list").clone();
    all.into_iter().find(|one| one["sessionId"] == session)
}

#[test]
fn r1_folders_beside_the_session_are_worked_in_and_those_that_are_not_named_go() {
    let (house, lib) = house_with_lib(2);
    let flags = ["--permission", "auto-edit"];
    let mut editor = Editor::start(&house, &flags);
    let params = json!({"cwd": editor.cwd, "additionalDirectories": [lib], "mcpServers": []});
    let session = editor.open_with(&params);
    let prompt = editor.begin_prompt(&session, "Write.");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(house.read("lib/b.txt").as_deref(), Some("first\nmore\n"), "nobody was asked");
    let entry = listed(&mut editor, &session).expect("it is listed");
    assert_eq!(entry["additionalDirectories"], json!([lib]));
    let same = json!({"sessionId": session, "cwd": editor.cwd, "additionalDirectories": [lib]});
    assert!(editor.ask("session/resume", &same).get("result").is_some());
    let others = json!({"sessionId": session, "cwd": editor.cwd});
    let refused = editor.ask("session/resume", &others);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    editor.program.kill();

    // Whoever loads it without the folder has it without the folder.
    let mut editor = Editor::start(&house, &flags);
    editor.load(&session);
    let what = format!("{lib} is no longer part of this session");
    editor.next("a remark", |line| line.to_string().contains(&what));
    let prompt = editor.begin_prompt(&session, "Again.");
    let question = editor.decide("deny");
    assert!(question.to_string().contains("b.txt"), "it is asked about now: {question}");
    editor.answer_to(prompt);
    assert_eq!(house.read("lib/b.txt").as_deref(), Some("first\nmore\n"));
    let entry = listed(&mut editor, &session).expect("it is listed");
    assert_eq!(entry.get("additionalDirectories"), None, "{entry}");
}

#[test]
fn r1_folders_that_cannot_be_added_are_refused_at_once() {
    let house = house("says: Hello.\n");
    house.write("file.txt", "x\n");
    let mut editor = Editor::start(&house, &[]);
    let (missing, file, above) = (house.at("missing"), house.at("file.txt"), house.at(""));
    for (folder, why) in [
        ("lib".into(), "not an absolute path"),
        (missing.display().to_string(), "No such file"),
        (file.display().to_string(), "not a folder"),
        (above.display().to_string(), "it holds the workspace"),
    ] {
        let folders = json!([folder]);
        let params = json!({"cwd": editor.cwd, "mcpServers": [], "additionalDirectories": folders});
        let refused = editor.ask("session/new", &params);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let said = refused["error"]["message"].as_str().expect("words");
        assert!(said.contains("additionalDirectories") && said.contains(why), "{said}");
    }
    let many: Vec<String> = (0..21).map(|_| editor.cwd.clone()).collect();
    let params = json!({"cwd": editor.cwd, "mcpServers": [], "additionalDirectories": many});
    let refused = editor.ask("session/new", &params);
    assert!(refused.to_string().contains("more than 20"), "{refused}");
}

#[test]
fn r1_a_session_is_deleted_with_everything_unless_somebody_has_it() {
    let house = house(super::WRITES);
    let mut editor = Editor::start(&house, &["--permission", "auto-edit"]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Write.");
    editor.answer_to(prompt);
    let named = json!({"sessionId": session});
    let refused = editor.ask("session/delete", &named);
    assert_eq!(refused["error"]["code"], -32602, "it is open here: {refused}");

    // Another editor is another process: it does not take away what somebody has.
    let mut other = Editor::start(&house, &[]);
    let refused = other.ask("session/delete", &named);
    let why = refused["error"]["message"].as_str().expect("words");
    assert!(why.contains("weir"), "it says who has it: {refused}");
    assert!(listed(&mut other, &session).is_some());

    let closed = editor.ask("session/close", &named);
    assert_eq!(closed["result"], json!({}), "{closed}");
    assert_eq!(editor.ask("session/delete", &named)["result"], json!({}));
    assert_eq!(listed(&mut editor, &session), None);
    assert_eq!(editor.load(&session)["error"]["code"], -32002);
    // What is gone already, and what never was, is deleted.
    assert_eq!(editor.ask("session/delete", &named)["result"], json!({}));
    let never = json!({"sessionId": "nothing"});
    assert_eq!(other.ask("session/delete", &never)["result"], json!({}));
    assert_eq!(house.read("work/a.txt").as_deref(), Some("one\n"), "files stay");
}

#[test]
fn r1_a_copy_goes_on_by_itself_and_the_session_stays_as_it_was() {
    let script = "says: Hello.\n\nexpect: text \"Two\"\nsays: And hello again.\n";
    let house = house(script);
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "One");
    editor.answer_to(prompt);
    let params = json!({"sessionId": session, "cwd": editor.cwd, "mcpServers": []});
    let forked = editor.ask("session/fork", &params);
    let fork = forked["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{forked}"));
    let fork = fork.to_owned();
    assert_ne!(fork, session);
    assert!(forked["result"]["configOptions"].is_array(), "{forked}");
    assert_eq!(editor.words("user_message_chunk"), "", "nothing of before is told");
    let prompt = editor.begin_prompt(&fork, "Two");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(has_notice(&editor, "And hello again."), "{:#?}", editor.lines());
    let facts = |id: &str| house.json(&["sessions", "show", id, "--all", "--json"]).to_string();
    assert!(facts(&fork).contains("hello again") && !facts(&session).contains("hello again"));
    let unknown = json!({"sessionId": "nothing", "cwd": editor.cwd, "mcpServers": []});
    assert_eq!(editor.ask("session/fork", &unknown)["error"]["code"], -32002);
    let fresh = editor.open_new();
    let nothing = json!({"sessionId": fresh, "cwd": editor.cwd, "mcpServers": []});
    let refused = editor.ask("session/fork", &nothing);
    assert_eq!(refused["error"]["code"], -32002, "nothing was said in it yet: {refused}");
}

/// Whether a line is what is waited for.
type LineTest = fn(&Value) -> bool;

/// What an editor is told of a turn, in order: whether a line is it.
const MOMENTS: [(&str, LineTest); 5] = [
    ("the prompt", |_| true),
    ("the call", |line| line["params"]["update"]["sessionUpdate"] == "tool_call"),
    ("the work", |line| line["params"]["update"]["status"] == "in_progress"),
    ("its end", |line| line["params"]["update"]["status"] == "completed"),
    ("the words", |line| line.to_string().contains("It is written.")),
];

#[test]
fn r1_a_kill_at_any_moment_of_a_turn_loses_nothing_and_does_nothing_twice() {
    for (what, moment) in MOMENTS {
        let house = house(super::WRITES);
        let mut editor = Editor::start(&house, &["--permission", "auto-edit"]);
        let session = editor.open_new();
        editor.begin_prompt(&session, "Write.");
        editor.next(what, moment);
        editor.program.kill();
        let mut editor = Editor::start(&house, &["--permission", "auto-edit"]);
        let loaded = editor.load(&session);
        // What was not acknowledged may have got lost: then the editor says it again.
        let is_there = editor.words("user_message_chunk").contains("Write.");
        if loaded["error"]["code"] == -32002 || !is_there {
            assert_eq!(what, "the prompt", "{what}: it was acknowledged: {loaded}");
            continue;
        }
        if !editor.words("agent_message_chunk").contains("It is written.") {
            editor.next("the last words", |line| line.to_string().contains("It is written."));
        }
        assert_eq!(house.read("work/a.txt").as_deref(), Some("one\n"), "{what}");
    }
}
