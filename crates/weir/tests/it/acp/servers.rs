//! MCP servers that an editor brings to its sessions: asked about, started, approved, refused (R1, Z8).

use std::path::Path;

use serde_json::{Value, json};
use weir_test_kit::{HttpAnswer, HttpStandIn, TestInstallation};

use super::editor::Editor;
use super::house;
use crate::mcp_servers_run::{SERVER, confined};

/// What is given to the server and must be shown to nobody.
const HUSH: &str = "hush-hush-4711";

const LOOKS: &str =
    "calls: mcp__sh__look {}\n\nsays: Done.\n\ncalls: mcp__sh__look {}\n\nsays: Again.\n\n";

fn house_with_server(script: &str) -> TestInstallation {
    let house = house(script);
    let home = house.at("home").canonicalize().expect("it exists");
    house.write("work/server.sh", &SERVER.replace("REALHOME", &home.display().to_string()));
    house
}

/// The parameters of a session to which the editor brings the server.
fn brought(house: &TestInstallation, editor: &Editor) -> Value {
    let server = house.work().canonicalize().expect("it exists").join("server.sh");
    let env = json!([{"name": "MODE", "value": "brought"}, {"name": "API_TOKEN", "value": HUSH}]);
    let server = json!({"name": "sh", "command": "/bin/sh", "args": [server], "env": env});
    json!({"cwd": editor.cwd, "mcpServers": [server]})
}

fn load(editor: &mut Editor, session: &str, params: &Value) {
    let mut params = params.clone();
    params["sessionId"] = session.into();
    let loaded = editor.ask("session/load", &params);
    assert!(loaded.get("result").is_some(), "{loaded}");
}

fn title(question: &Value) -> &str {
    question["toolCall"]["title"].as_str().expect("a title")
}

/// Whether these words stand in any file below a folder.
fn stands_below(folder: &Path, words: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => stands_below(&path, words),
        false => std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(words.len()).any(|part| part == words.as_bytes())),
    })
}

/// What was asked about the server came to this end.
fn settled(editor: &mut Editor, status: &str) {
    editor.next("the end of it", |line| {
        let update = &line["params"]["update"];
        update["toolCallId"] == "mcp-server-sh" && update["status"] == status
    });
}

#[test]
fn r1_a_server_of_the_editor_is_asked_about_used_through_the_gate_and_asked_about_once() {
    if !confined() {
        return;
    }
    let house = house_with_server(LOOKS);
    let mut editor = Editor::start(&house, &[]);
    let params = brought(&house, &editor);
    let session = editor.open_with(&params);
    // A prompt that comes at once waits for what it may need.
    let prompt = editor.begin_prompt(&session, "Look.");
    let question = editor.decide("once");
    assert_eq!(title(&question), "Start the MCP server sh of the editor?");
    let text = question["toolCall"]["content"].to_string();
    for part in ["/bin/sh", "server.sh", "MODE, API_TOKEN", "in the sandbox", "reaches: nothing"] {
        let part = part.replace("MODE, API_TOKEN", "API_TOKEN, MODE");
        assert!(text.contains(&part), "{part} in {text}");
    }
    let question = editor.decide("once");
    assert_eq!(title(&question), "Use the tools of the MCP server sh?");
    let text = question["toolCall"]["content"].to_string();
    assert!(text.contains("mcp__sh__look") && text.contains("DESCRIPTION"), "{text}");
    let question = editor.decide("once");
    assert!(title(&question).contains("look"), "the gate asks about the call: {question}");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let results = Value::from(house.facts_of_kind(&session, "call.finished")).to_string();
    assert!(results.contains("mode=brought"), "{results}");
    assert!(!editor.program.output_text().contains(HUSH), "a value is told to nobody");
    editor.program.kill();

    let mut editor = Editor::start(&house, &[]);
    load(&mut editor, &session, &params);
    let prompt = editor.begin_prompt(&session, "Look again.");
    let question = editor.decide("once");
    assert!(title(&question).contains("look"), "nothing is asked twice: {question}");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.questions().len(), 1);
    // Declared otherwise it is another one.
    let closed = editor.ask("session/close", &json!({"sessionId": session}));
    assert_eq!(closed["result"], json!({}), "{closed}");
    let mut other = params.clone();
    other["mcpServers"][0]["args"].as_array_mut().expect("a list").push("--more".into());
    load(&mut editor, &session, &other);
    let question = editor.decide("deny");
    let text = question["toolCall"]["content"].to_string();
    assert!(text.contains("Changes since you approved it") && text.contains("--more"), "{text}");
    editor.program.kill();
    assert!(!stands_below(&house.at("state"), HUSH), "a value is kept nowhere");
    // What was said of it is seen where it can be taken back.
    let list = house.json(&["mcp-servers", "list", "--json"]);
    let row = list.as_array().expect("a list").iter().find(|row| row["source"] == "editor");
    let row = row.unwrap_or_else(|| panic!("{list}"));
    assert_eq!((&row["name"], &row["approved"]), (&json!("sh"), &json!(true)), "{list}");
    assert!(row["by"].is_string() && row["reached"].as_str().is_some_and(|r| r.contains("sh")));
    let text = house.ok(&["mcp-servers", "list"]);
    for part in ["approved", "tools, by ", "an editor, in this folder"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    house.ok(&["mcp-servers", "remove", "sh"]);
    assert_eq!(house.json(&["mcp-servers", "list", "--json"]), json!([]));
}

#[test]
fn r1_a_server_that_was_refused_is_not_started_nor_asked_about_again() {
    if !confined() {
        return;
    }
    let house = house_with_server("says: Hello.\n\nsays: Hello again.\n\n");
    let mut editor = Editor::start(&house, &[]);
    let params = brought(&house, &editor);
    let session = editor.open_with(&params);
    editor.decide("deny");
    settled(&mut editor, "failed");
    let prompt = editor.begin_prompt(&session, "Hello?");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    editor.program.kill();
    let list = house.json(&["mcp-servers", "list", "--json"]);
    assert_eq!((&list[0]["state"], &list[0]["approved"]), (&json!("refused"), &json!(false)));
    let mut editor = Editor::start(&house, &[]);
    load(&mut editor, &session, &params);
    let prompt = editor.begin_prompt(&session, "And now?");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.questions(), [Value::Null; 0], "no was an answer");
    // Another session is another matter.
    editor.open_with(&params);
    assert!(title(&editor.decide("deny")).contains("Start"));
    let opened = Value::from(house.facts_of_kind(&session, "session.opened")).to_string();
    assert!(!opened.contains("mcp__sh__look"), "{opened}");
}

#[test]
fn r1_a_server_that_nobody_answers_about_holds_up_no_prompt_and_may_come_later() {
    if !confined() {
        return;
    }
    let house = house_with_server("says: Hello.\n\ncalls: mcp__sh__look {}\n\nsays: Done.\n\n");
    let mut editor = Editor::start(&house, &[]);
    let params = brought(&house, &editor);
    let session = editor.open_with(&params);
    let asked = editor.next("a question", |line| line["method"] == "session/request_permission");
    let prompt = editor.begin_prompt(&session, "Hello?");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let words = editor.words("agent_message_chunk");
    assert!(words.contains("sh of the editor is not used yet"), "{words}");
    editor.answer_question(&asked, "always");
    settled(&mut editor, "completed");
    let prompt = editor.begin_prompt(&session, "Look.");
    assert!(title(&editor.decide("once")).contains("look"), "its tools were not asked about");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
}

#[test]
fn r1_a_server_that_offers_something_else_than_was_approved_is_asked_about_again() {
    if !confined() {
        return;
    }
    let script =
        "calls: mcp__sh__look {}\n\nsays: Closed.\n\ncalls: mcp__sh__look {}\n\nsays: Done.\n\n";
    let house = house_with_server(script);
    let mut editor = Editor::start(&house, &[]);
    let params = brought(&house, &editor);
    let session = editor.open_with(&params);
    editor.decide("always");
    settled(&mut editor, "completed");
    let server = house.read("work/server.sh").expect("it is there");
    house.write("work/server.sh", &server.replace("DESCRIPTION", "Another description"));
    let prompt = editor.begin_prompt(&session, "Look.");
    let question = editor.decide("once");
    assert!(title(&question).contains("look"), "{question}");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    editor.seen = 0;
    let asks = |line: &Value| {
        line["method"] == "session/request_permission"
            && title(&line["params"]).contains("Use the tools")
    };
    let asked = editor.next("a question about what it offers now", asks);
    assert!(asked.to_string().contains("Another description"), "{asked}");
    editor.answer_question(&asked, "once");
    settled(&mut editor, "completed");
    let prompt = editor.begin_prompt(&session, "Once more.");
    editor.decide("once");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let finished = house.facts_of_kind(&session, "call.finished");
    let ok: Vec<&Value> = finished.iter().map(|fact| &fact["ok"]).collect();
    assert_eq!(ok, [&json!(false), &json!(true)], "{finished:#?}");
}

#[test]
fn r1_a_server_of_the_editor_may_be_an_address() {
    let server = HttpStandIn::start(|request, _| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let answer = |result: Value| {
            HttpAnswer::json(200, &json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
        };
        match asked["method"].as_str() {
            Some("initialize") => answer(json!({
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            })),
            Some("tools/list") => answer(json!({"tools": [
                {"name": "greet", "description": "Greets.", "inputSchema": {"type": "object"}},
            ]})),
            Some("tools/call") => {
                answer(json!({"content": [{"type": "text", "text": "Good morning"}]}))
            }
            Some(_) if asked["id"].is_null() => HttpAnswer::empty(202),
            Some(_) => {
                let error = json!({"code": -32601, "message": "there is no such method"});
                HttpAnswer::json(200, &json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}))
            }
            None => HttpAnswer::empty(405),
        }
    });
    let house =
        house("calls: mcp__far__greet {}\n\nexpect: result \"Good morning\"\nsays: Done.\n\n");
    let mut editor = Editor::start(&house, &[]);
    let url = format!("http://{}/mcp", server.address());
    let headers = json!([{"name": "Authorization", "value": HUSH}]);
    let far = json!({"type": "http", "name": "far", "url": url, "headers": headers});
    let old = json!({"type": "sse", "name": "old", "url": url, "headers": []});
    let session = editor.open_with(&json!({"cwd": editor.cwd, "mcpServers": [far, old]}));
    let prompt = editor.begin_prompt(&session, "Greet.");
    let asked = editor.next("a question", |line| line["method"] == "session/request_permission");
    assert!(server.requests().is_empty(), "nothing is connected to before a yes");
    let text = asked["params"].to_string();
    assert!(
        text.contains(&url) && text.contains("Authorization") && !text.contains(HUSH),
        "{text}"
    );
    editor.answer_question(&asked, "always");
    assert!(title(&editor.decide("once")).contains("greet"));
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(
        server.requests().iter().all(|request| request.head.contains(HUSH)),
        "it has its header"
    );
    assert!(
        editor.words("agent_message_chunk").contains("MCP server old"),
        "SSE is said not to be used"
    );
    assert!(!stands_below(&house.at("state"), HUSH), "a value is kept nowhere");
}

#[test]
fn r1_a_server_of_the_persons_own_keeps_its_name() {
    let house = house("says: Hello.\n\n");
    let declared = "\n[mcp_servers.sh]\ncommand = \"/bin/true\"\n";
    let config = std::fs::read_to_string(house.user_config()).expect("there is one");
    house.write(&house.user_config(), &format!("{config}{declared}"));
    let mut editor = Editor::start(&house, &[]);
    let params = brought(&house, &editor);
    let session = editor.open_with(&params);
    let prompt = editor.begin_prompt(&session, "Hello?");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.questions(), [Value::Null; 0]);
    let bad = json!({"cwd": editor.cwd, "mcpServers": [{"name": "sh", "args": HUSH}]});
    let refused = editor.ask("session/new", &bad);
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(!refused.to_string().contains(HUSH), "{refused}");
}
