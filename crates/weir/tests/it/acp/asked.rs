//! Questions that an editor with forms and pages is asked as such: of the agent, and of MCP servers (R1, R3).

use serde_json::{Value, json};
use weir_test_kit::TestInstallation;

use super::editor::Editor;
use super::house;

/// A server whose one tool asks for something first, and says what came back.
const SERVER: &str = r#"
said() { printf '%s' "$reply" | sed -n "s/.*\"$1\":\"*\([a-z0-9]*\).*/\1/p"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"order","description":"Orders.","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  *'"method":"tools/call"'*)
    printf '{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":ASKED}\n'
    IFS= read -r reply
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"it got %s %s."}]}}\n' "$id" "$(said action)" "$(said size)" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not known"}}\n' "$id" ;;
  esac
done
"#;

/// A house with a server that asks so, and a model that is told this of it.
fn house_with_server(asked: &Value, expected: &str) -> TestInstallation {
    let script =
        format!("calls: mcp__fake__order {{}}\n\nexpect: result \"{expected}\"\nsays: Done.\n");
    let house = house(&script);
    house.write(&house.at("work/server.sh"), &SERVER.replace("ASKED", &asked.to_string()));
    house.ok(&["mcp-servers", "add", "fake", "--yes", "--", "/bin/sh", "server.sh"]);
    house
}

fn start(house: &TestInstallation) -> Editor {
    Editor::start_able(house, &[], &json!({"elicitation": {"form": {}, "url": {}}}))
}

fn next_form(editor: &mut Editor) -> Value {
    editor.next("a form", |line| line["method"] == "elicitation/create")
}

fn send_answer(editor: &mut Editor, question: &Value, result: &Value) {
    editor.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

#[test]
fn r1_questions_of_the_agent_are_forms_where_the_editor_has_forms() {
    let script = "calls: ask_followup_question {\"question\": \"Which colours?\", \"options\": [\"red\", \
        \"blue\"], \"multiple\": true}\n\nexpect: result \"red, blue\"\n\
        calls: ask_followup_question {\"question\": \"And why?\"}\n\n\
        expect: result \"I like it.\"\nsays: Thanks.\n";
    let house = house(script);
    let mut editor = start(&house);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Paint.");
    let form = next_form(&mut editor);
    let params = &form["params"];
    let asked = (&params["sessionId"], &params["mode"], &params["message"]);
    assert_eq!(asked, (&json!(session), &json!("form"), &json!("Which colours?")));
    let call = editor.all_updates("tool_call")[0]["toolCallId"].clone();
    assert_eq!(params["toolCallId"], call, "{form}");
    let choices = &params["requestedSchema"]["properties"]["choices"];
    assert_eq!(
        (&choices["type"], &choices["items"]["anyOf"][1]["const"]),
        (&json!("array"), &json!("blue"))
    );
    let chosen = json!({"action": "accept", "content": {"choices": ["red", "blue"]}});
    send_answer(&mut editor, &form, &chosen);
    let form = next_form(&mut editor);
    assert_eq!(form["params"]["requestedSchema"]["required"], json!(["answer"]));
    let said = json!({"action": "accept", "content": {"answer": "I like it."}});
    send_answer(&mut editor, &form, &said);
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert_eq!(editor.words("agent_message_chunk"), "Thanks.", "nothing was asked in words");
}

#[test]
fn r1_a_form_that_is_closed_leaves_the_question_to_the_next_prompt() {
    let script = "calls: ask_followup_question {\"question\": \"And why?\"}\n\n\
        expect: result \"I like it.\"\nsays: Thanks.\n";
    let house = house(script);
    for outcome in [
        json!({"result": {"action": "cancel"}}),
        json!({"error": {"code": -32601, "message": "no"}}),
    ] {
        let mut editor = start(&house);
        let session = editor.open_new();
        let prompt = editor.begin_prompt(&session, "Paint.");
        let form = next_form(&mut editor);
        let mut answer = outcome.clone();
        (answer["jsonrpc"], answer["id"]) = ("2.0".into(), form["id"].clone());
        editor.send(&answer);
        assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
        assert!(editor.words("agent_message_chunk").contains("And why?"));
        let prompt = editor.begin_prompt(&session, "I like it.");
        assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    }
}

#[test]
fn r1_a_form_that_somebody_answers_elsewhere_is_taken_back() {
    let script = "calls: ask_followup_question {\"question\": \"And why?\"}\n\n\
        expect: result \"I like it.\"\nsays: Thanks.\n";
    let house = house(script);
    let mut editor = start(&house);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Paint.");
    let form = next_form(&mut editor);
    let open = house.json(&["approvals", "list", "--json"])["questions"][0]["question"].clone();
    let open = open.as_str().expect("a question waits").to_owned();
    house.ok(&["approvals", "answer", &open, "--text", "I like it."]);
    let taken = editor.next("the end of the form", |line| line["method"] == "$/cancel_request");
    assert_eq!(taken["params"]["requestId"], form["id"]);
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    // What the editor still says of it counts for nothing.
    send_answer(&mut editor, &form, &json!({"action": "accept", "content": {"answer": "late"}}));
    let answered = house.facts_of_kind(&session, "question.answered");
    assert_eq!(answered.len(), 1, "{answered:?}");
    assert_eq!(answered[0]["answer"], "I like it.");
}

#[test]
fn r1_a_form_of_a_server_is_asked_by_type_and_default_and_sent_after_a_yes() {
    let size = json!({"type": "integer", "minimum": 1, "default": 3});
    let schema = json!({"type": "object", "properties": {"size": size}, "required": ["size"]});
    let asked = json!({"message": "Which size?", "requestedSchema": schema});
    let house = house_with_server(&asked, "it got accept 7.");
    let mut editor = start(&house);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Order it.");
    editor.decide("once");
    let form = next_form(&mut editor);
    let field = &form["params"]["requestedSchema"]["properties"]["answer"];
    let expected = json!({"type": "integer", "minimum": 1, "title": "size", "default": 3});
    assert_eq!(field, &expected, "{form}");
    let message = form["params"]["message"].as_str().expect("words");
    assert!(message.starts_with("The server fake asks you:\n> Which size?"), "{message}");
    send_answer(&mut editor, &form, &json!({"action": "accept", "content": {"answer": 7}}));
    // What would be sent is shown whole, as a choice.
    let question = editor.decide("choice-0");
    assert!(
        question["toolCall"]["content"].to_string().contains("This is sent to the server fake")
    );
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let journaled = house.facts_of_kind(&session, "question.answered");
    let said: Vec<&str> = journaled.iter().filter_map(|fact| fact["answer"].as_str()).collect();
    assert_eq!(said, ["7", "Send"]);
    let replayed = house.run(&["replay", &session]);
    assert_eq!(replayed.status, 0, "{}{}", replayed.out, replayed.err);
}

#[test]
fn r1_a_page_of_a_server_is_opened_by_the_person_and_completed_or_declined() {
    let asked = json!({
        "mode": "url", "message": "Sign in.", "url": "https://a.example/x", "elicitationId": "e1",
    });
    for (action, expected) in [("accept", "it got accept ."), ("decline", "it got decline .")] {
        let house = house_with_server(&asked, expected);
        let mut editor = start(&house);
        let session = editor.open_new();
        let prompt = editor.begin_prompt(&session, "Order it.");
        editor.decide("once");
        let page = next_form(&mut editor);
        let params = &page["params"];
        assert_eq!(
            (&params["mode"], &params["url"]),
            (&json!("url"), &json!("https://a.example/x"))
        );
        send_answer(&mut editor, &page, &json!({"action": action}));
        let done = editor.next("its end", |line| line["method"] == "elicitation/complete");
        assert_eq!(done["params"]["elicitationId"], params["elicitationId"]);
        assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    }
}

#[test]
fn r1_without_forms_a_field_of_a_server_is_a_choice_or_words_as_before() {
    let schema = json!({"type": "object", "properties": {"size": {"type": "boolean"}}});
    let asked = json!({"message": "Large?", "requestedSchema": schema});
    let house = house_with_server(&asked, "it got accept true.");
    let mut editor = Editor::start(&house, &[]);
    let session = editor.open_new();
    let prompt = editor.begin_prompt(&session, "Order it.");
    editor.decide("once");
    editor.decide("choice-0");
    editor.decide("choice-0");
    assert_eq!(editor.answer_to(prompt)["result"]["stopReason"], "end_turn");
    assert!(editor.lines().iter().all(|line| line["method"] != "elicitation/create"));
}
