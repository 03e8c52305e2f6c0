//! `weir acp` from outside: lines of the protocol, as an editor sends them, to the real program; its end by
//! SIGKILL, and another one that goes on (F3, R1).

use serde_json::{Value, json};
use weir_test_kit::{SmallDisk, TestInstallation, file_writing_script};

mod asked;
mod commands;
mod editor;
mod files;
mod servers;
mod sessions;

use editor::Editor;

fn house(script: &str) -> TestInstallation {
    TestInstallation::with_scripted_model(&format!("name: test\n\n{script}"), "")
}

const WRITES: &str = "says: I write.\ncalls: append_to_file {\"path\": \"a.txt\", \"content\": \"one\\n\"}\n\n\
    says: It is written.\n\n";

#[test]
fn f3_an_editor_prompts_approves_sees_the_change_cancels_and_loads_after_a_kill() {
    let script = format!(
        "{WRITES}says: Again.\ncalls: append_to_file {{\"path\": \"a.txt\", \"content\": \"two\\n\"}}\n\n\
         says: Twice.\n\nerror: hang\nsays: Never.\n"
    );
    let house = house(&script);
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Write.");
    let call = editor.update("tool_call");
    assert_eq!((&call["status"], &call["rawInput"]["path"]), (&json!("pending"), &json!("a.txt")));
    assert_eq!(call["name"], "append_to_file");
    let question = editor.decide("once");
    assert_eq!(question["toolCall"]["toolCallId"], call["toolCallId"]);
    let path = house.work().join("a.txt").display().to_string();
    let diff = json!({"type": "diff", "path": path, "newText": "one\n"});
    let contents = question["toolCall"]["content"].as_array().expect("a list").clone();
    assert!(contents.contains(&diff), "{question:#}");
    let done = editor
        .next("the end of the call", |line| line["params"]["update"]["status"] == "completed");
    assert_eq!(done["params"]["update"]["content"], json!([diff]));
    assert!(done["params"]["update"]["rawOutput"].is_string(), "{done}");
    let ended = editor.answer_to(prompt);
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("one\n"));
    assert!(editor.words("agent_message_chunk").contains("It is written."));
    assert_eq!(editor.words("user_message_chunk"), "", "an editor shows what it said itself");
    for kind in ["usage_update", "available_commands_update"] {
        let mut told = editor.all_updates(kind);
        let before = told.len();
        told.dedup();
        assert!(before > 0 && told.len() == before, "{kind} is told where it changed: {before}");
    }

    // In another mode nothing is asked.
    let set = json!({"sessionId": session, "modeId": "auto-edit"});
    let set = editor.ask("session/set_mode", &set);
    assert_eq!(set["result"], json!({}), "{set}");
    let prompt = editor.begin_prompt(&session, "Again.");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(house.read("work/a.txt").as_deref(), Some("one\ntwo\n"));

    // The model does not answer: the editor ends it.
    let prompt = editor.begin_prompt(&session, "Wait.");
    let kind = |line: &Value| line["kind"].as_str().unwrap_or_default().to_owned();
    let requested = || {
        let shown = house.json(&["sessions", "show", &session, "--all", "--json"]);
        let facts = shown["events"].as_array().expect("events").clone();
        facts.iter().filter(|fact| kind(fact) == "model.requested").count()
    };
    weir_test_kit::wait_until("the model is asked", || match requested() {
        5.. => Ok(()),
        n => Err(n),
    });
    editor.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "cancelled");
    editor.program.kill();

    let mut editor = Editor::start(&house, &[]);
    let listed = editor.ask("session/list", &json!({"cwd": editor.cwd}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session.as_str(), "{listed}");
    let loaded = editor.load(&session);
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "auto-edit", "{loaded}");
    assert_eq!(editor.words("user_message_chunk"), "Write.Again.Wait.");
    let said = editor.words("agent_message_chunk");
    assert!(said.contains("It is written.") && said.contains("Twice."), "{said}");
    let closed = editor.ask("session/close", &json!({"sessionId": session}));
    assert_eq!(closed["result"], json!({}), "{closed}");
}

#[test]
fn r1_a_call_that_was_refused_says_why() {
    let house = house(WRITES);
    for (answer, why) in [("deny", "Denied by"), ("perhaps", "its answer is none that was offered")]
    {
        let mut editor = Editor::start(&house, &[]);
        let session = editor.open_new();
        let prompt = editor.begin_prompt(&session, "Write.");
        editor.decide(answer);
        editor.answer_to(prompt);
        let told = editor.all_updates("tool_call_update");
        assert!(told.iter().any(|update| update["status"] == "failed"), "{told:#?}");
        let last = told.last().expect("updates");
        assert!(last["content"].to_string().contains(why), "{answer}: {told:#?}");
        assert_eq!(house.read("work/a.txt"), None);
    }
}

#[test]
fn r1_a_question_outlives_a_kill_and_its_call_happens_once() {
    let house = house(WRITES);
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    editor.begin_prompt(&session, "Write.");
    editor.next("a question", |line| line["method"] == "session/request_permission");
    editor.program.kill();
    assert_eq!(house.read("work/a.txt"), None);
    let mut editor = Editor::start(&house, &[]);
    let loaded = editor.load(&session);
    assert!(loaded.get("result").is_some(), "{loaded}");
    editor.decide("once");
    editor.next("the last words", |line| {
        line["params"]["update"]["content"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("written."))
    });
    assert_eq!(house.read("work/a.txt").as_deref(), Some("one\n"));
    // The session is the same one in a terminal.
    let text = house.ok(&["sessions", "export", &session, "--format", "markdown"]);
    assert!(text.contains("It is written."), "{text}");
}

#[test]
fn r1_several_sessions_are_open_at_once_and_have_settings_of_their_own() {
    let house = house("says: Hello.\n");
    let mut editor = Editor::start(&house, &["--permission", "plan"]);
    let (one, two) = (editor.open_new(), editor.open_new());
    assert_ne!(one, two);
    let chosen = json!({"sessionId": one, "configId": "thinking", "value": "high"});
    let chosen = editor.ask("session/set_config_option", &chosen);
    let values = |options: &Value| -> Vec<String> {
        let all = options.as_array().expect("a list").iter();
        all.map(|option| format!("{}={}", option["id"], option["currentValue"])).collect()
    };
    let values = values(&chosen["result"]["configOptions"]);
    assert!(values.contains(&"\"thinking\"=\"high\"".to_owned()), "{chosen}");
    assert!(values.contains(&"\"mode\"=\"plan\"".to_owned()), "{chosen}");
    let prompts = [editor.begin_prompt(&one, "a"), editor.begin_prompt(&two, "b")];
    for prompt in [prompts[0], prompts[1]] {
        let is_it = |line: &Value| line["id"] == prompt && line.get("method").is_none();
        // Either may be first.
        editor.seen = 0;
        let ended = editor.next("the end of a turn", is_it);
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    }
    let updates = editor.lines().into_iter().filter(|line| line["method"] == "session/update");
    let spoke: Vec<String> = updates
        .filter(|line| line["params"]["update"]["content"]["text"] == "Hello.")
        .map(|line| line["params"]["sessionId"].as_str().expect("it names one").to_owned())
        .collect();
    assert!(spoke.contains(&one) && spoke.contains(&two), "{spoke:?}");
}

#[test]
fn r1_bad_lines_get_errors_and_the_next_one_is_served() {
    let house = house("says: Hello.\n");
    let mut editor = Editor::start(&house, &[]);
    let code = |line: &Value| line["error"]["code"].as_i64();
    for (line, expected) in [
        ("nonsense", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":900,"method":"session/what"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":901,"method":"session/prompt","params":[1]}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":902,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}"#,
            -32002,
        ),
        (
            r#"{"jsonrpc":"2.0","id":903,"method":"session/load","params":{"sessionId":"x","cwd":"/"}}"#,
            -32002,
        ),
        (
            r#"{"jsonrpc":"2.0","id":904,"method":"session/new","params":{"cwd":"relative"}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":905,"method":"session/new","params":{"cwd":"/no/such/folder"}}"#,
            -32602,
        ),
    ] {
        editor.program.type_line(line);
        let refused = editor.next("an error", |line| code(line).is_some());
        assert_eq!(code(&refused), Some(expected), "{line}: {refused}");
    }
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Hello?");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
}

#[test]
fn r1_without_a_model_an_editor_is_told_how_to_get_one() {
    let house = TestInstallation::new();
    let mut editor = Editor::start(&house, &[]);
    let refused = editor.ask("session/new", &json!({"cwd": editor.cwd, "mcpServers": []}));
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    let why = refused["error"]["message"].as_str().expect("words");
    assert!(why.contains("weir auth set"), "{why}");
    let still = editor.ask("authenticate", &json!({"methodId": "weir-auth"}));
    assert_eq!(still["error"]["code"], -32000, "{still}");
}

#[tokio::test]
async fn f3_when_the_editor_goes_the_program_ends_and_prints_nothing_else() {
    let house = house("says: Hello.\n");
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Hello?");
    editor.answer_to(prompt);
    let ended = editor.program.close_input_until_end().await;
    assert_eq!(ended.status, 0, "{}", ended.err);
    for line in ended.out.lines() {
        serde_json::from_str::<Value>(line).expect("each line is a message");
    }
}

#[test]
fn r1_questions_of_the_agent_are_chosen_from_or_answered_by_the_next_prompt() {
    let script = "calls: ask_followup_question {\"question\": \"Which colour?\", \"options\": [\"red\", \"blue\"]}\n\n\
        expect: result \"blue\"\ncalls: ask_followup_question {\"question\": \"And why?\"}\n\n\
        expect: result \"I like it.\"\nsays: Thanks.\n";
    let house = house(script);
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Paint.");
    let question = editor.decide("choice-1");
    assert_eq!(question["toolCall"]["title"], "Which colour?", "{question}");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(editor.words("agent_message_chunk").contains("And why?"));
    let prompt = editor.begin_prompt(&session, "I like it.");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(editor.words("agent_message_chunk").ends_with("Thanks."));
}

#[test]
fn r1_a_turn_that_is_stopped_while_it_asks_does_nothing() {
    let house = house(WRITES);
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Write.");
    let is_question = |line: &Value| line["method"] == "session/request_permission";
    let question = editor.next("a question", is_question);
    editor.notify("session/cancel", &json!({"sessionId": session}));
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    editor.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "cancelled");
    assert_eq!(house.read("work/a.txt"), None);
}

#[test]
fn d9_r1_a_turn_that_cannot_be_written_is_answered_and_the_next_takes_it_up() {
    let house = TestInstallation::with_scripted_model(&file_writing_script(16), "");
    let Some(disk) = SmallDisk::under(&house, 48) else { return };
    let house = house.on_disk(&disk);
    house.ok(&["sessions", "list"]);
    let mut editor = Editor::start(&house, &["--permission", "full"]);
    let session = editor.open_new();
    disk.fill(1024 * 1024);
    let turn = editor.begin_prompt(&session, "Write it.");
    let answer = editor.answer_to(turn);
    let why = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("the journal could not be written"), "{answer}");
    disk.empty();
    let turn = editor.begin_prompt(&session, "Go on.");
    let answer = editor.answer_to(turn);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
}
