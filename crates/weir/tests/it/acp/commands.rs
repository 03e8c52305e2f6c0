//! What is typed as `/name` in an editor and done without the model, and what an editor is told of the session as
//! a whole: its name, its context, the images in it (R1).

use serde_json::{Value, json};
use weir_test_kit::TestInstallation;

use super::editor::Editor;
use super::{WRITES, house};

/// A PNG of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

/// The turn of a command, and what was said in it.
fn typed(editor: &mut Editor, session: &str, line: &str) -> String {
    let before = editor.words("agent_message_chunk").len();
    let prompt = editor.begin_prompt(session, line);
    let ended = editor.answer_to(prompt);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{line}: {ended}");
    editor.words("agent_message_chunk")[before..].to_owned()
}

#[test]
fn r1_commands_of_the_face_are_offered_done_without_the_model_and_journaled() {
    let house = house(WRITES);
    let mut editor = Editor::start(&house, &["--permission", "auto-edit"]);
    let session = editor.open_new();
    let offered = editor.update("available_commands_update");
    let offered = offered["availableCommands"].as_array().expect("a list").clone();
    let names: Vec<&str> = offered.iter().filter_map(|one| one["name"].as_str()).collect();
    for name in ["undo", "compact", "model", "context", "cost", "usage", "help"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let compact = offered.iter().find(|one| one["name"] == "compact").expect("it is there");
    assert_eq!(compact["input"], json!({"hint": "[what to keep]"}));
    assert!(typed(&mut editor, &session, "/undo").contains("nothing was done yet"));
    assert!(typed(&mut editor, &session, "/compact").contains("nothing was said yet"));

    let prompt = editor.begin_prompt(&session, "Write.");
    editor.answer_to(prompt);
    assert_eq!(house.read("work/a.txt").as_deref(), Some("one\n"));
    let said = typed(&mut editor, &session, "/undo");
    assert!(said.contains("put back: a.txt"), "{said}");
    assert_eq!(house.read("work/a.txt"), None);
    assert_eq!(house.facts_of_kind(&session, "checkpoint.restored").len(), 1);

    for (line, words) in [
        ("/help", "/compact [what to keep]"),
        ("/cost", "This session:"),
        ("/usage", "This session:"),
        ("/context", "free"),
        ("/model", "The model is"),
        ("/model nobody/nothing", "nothing was changed"),
    ] {
        let said = typed(&mut editor, &session, line);
        assert!(said.contains(words), "{line}: {said}");
    }
    let asked = house.facts_of_kind(&session, "input.accepted");
    assert_eq!(asked.len(), 1, "no command was said to the model: {asked:?}");
    // A change of somebody else is not undone.
    assert!(
        typed(&mut editor, &session, "/undo").contains("put back: a.txt"),
        "once more brings it back"
    );
    assert_eq!(house.read("work/a.txt").as_deref(), Some("one\n"));
    house.write(&house.at("work/a.txt"), "mine\n");
    let said = typed(&mut editor, &session, "/undo");
    assert!(said.contains("somebody changed"), "{said}");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("mine\n"));
}

#[test]
fn r1_commands_that_are_typed_at_once_are_each_answered_with_their_own_line() {
    let house = house(WRITES);
    let mut editor = Editor::start(&house, &["--permission", "auto-edit"]);
    let session = editor.open_new();
    let prompts = ["/undo", "/model nobody/nothing", "/undo"];
    let prompts = prompts.map(|line| editor.begin_prompt(&session, line));
    for prompt in prompts {
        let ended = editor.answer_to(prompt);
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    }
    let said = editor.words("agent_message_chunk");
    for (words, times) in [("nothing was done yet", 2), ("nothing was changed", 1)] {
        assert_eq!(said.matches(words).count(), times, "{words}: {said}");
    }
}

#[test]
fn r1_compacting_is_typed_and_told_with_its_summary() {
    let house = TestInstallation::new();
    let mut script = "name: test\norder: requests\n\n".to_owned();
    for name in ["a", "b", "c", "d"] {
        let text = format!("{name} has a line of text\n").repeat(40);
        house.write(&house.work().join(format!("{name}.txt")), &text);
        script.push_str(&format!("calls: read_file {{\"path\": \"{name}.txt\"}}\n\n"));
    }
    script.push_str("says: All four were read.\n");
    let helper = house.at("helper.script");
    house.write(&helper, "says: <summary>Four files with forty lines each.</summary>\n");
    let helpers = format!("[helpers]\ncondense = \"script:{}\"\n", helper.display());
    house.set_scripted_model(&script, &helpers);
    let mut editor = Editor::start_able(&house, &[], &json!({"session": {"compaction": {}}}));
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Read the four files.");
    editor.answer_to(prompt);
    typed(&mut editor, &session, "/compact");
    let status = |updates: Vec<Value>| -> Vec<(Value, Value)> {
        updates
            .into_iter()
            .map(|one| (one["compactionId"].clone(), one["status"].clone()))
            .collect()
    };
    let told = status(editor.all_updates("compaction_update"));
    let [(first, begun), (last, done)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((begun, done), (&json!("in_progress"), &json!("completed")));
    assert_eq!(first, last);
    let chunks = editor.all_updates("compaction_summary_chunk");
    assert_eq!(chunks[0]["compactionId"], *first);
    let summary = chunks[0]["content"]["text"].as_str().expect("text");
    assert!(summary.contains("Four files with forty lines each."), "{summary}");
    assert_eq!(house.facts_of_kind(&session, "context.condensed").len(), 1);
    // Who loads it is told the same at the same place.
    editor.program.kill();
    let mut editor = Editor::start_able(&house, &[], &json!({"session": {"compaction": {}}}));
    editor.load(&session);
    assert_eq!(status(editor.all_updates("compaction_update")), told);
}

#[test]
fn r1_a_session_has_its_name_in_the_editors_list_and_its_images_are_there_when_it_is_loaded() {
    let house = house("says: A dot.\n\n");
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = json!([
        {"type": "text", "text": "What is it?\nLook."},
        {"type": "image", "data": DOT, "mimeType": "image/png"},
    ]);
    let prompt = editor.begin("session/prompt", &json!({"sessionId": session, "prompt": prompt}));
    let info = editor.update("session_info_update");
    assert_eq!(info["title"], "What is it?");
    let ended = editor.answer_to(prompt);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    let listed = editor.ask("session/list", &json!({}));
    let listed = &listed["result"]["sessions"][0];
    assert_eq!(listed["title"], info["title"], "it is the name of the list");
    let told = editor.all_updates("session_info_update");
    assert!(told.len() > 1 && told[1].get("title").is_none(), "{told:?}");
    editor.program.kill();

    let mut editor = Editor::start(&house, &[]);
    editor.load(&session);
    let info = editor.update("session_info_update");
    assert_eq!(info["title"], "What is it?");
    let chunks = editor.all_updates("user_message_chunk");
    let image = chunks.iter().find(|one| one["content"]["type"] == "image");
    let image = &image.unwrap_or_else(|| panic!("{chunks:?}"))["content"];
    assert_eq!((&image["data"], &image["mimeType"]), (&json!(DOT), &json!("image/png")));
    assert!(!editor.words("user_message_chunk").contains("image-1.png"), "{chunks:?}");
}
