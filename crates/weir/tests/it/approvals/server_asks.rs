//! A foreign server wants to know something while its call runs (R3): asked of whoever attends,
//! answered from another terminal, shown whole before it is sent, declined where nobody is.

use weir_test_kit::TestInstallation;

use super::*;

/// A server whose one tool asks for a size first, and says what came back.
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
    printf '{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"Which size?","requestedSchema":{"type":"object","properties":{"size":{"type":"integer","minimum":1}},"required":["size"]}}}\n'
    IFS= read -r reply
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"it got %s %s."}]}}\n' "$id" "$(said action)" "$(said size)" ;;
  *'"id":'*)
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not known"}}\n' "$id" ;;
  esac
done
"#;

fn house_with_server(expected: &str) -> TestInstallation {
    let call = "calls: mcp__fake__order {}";
    let house = house(&format!("{call}\n\nexpect: result \"{expected}\"\nsays: Done.\n"));
    house.write(&house.at("work/server.sh"), SERVER);
    house.ok(&["mcp-servers", "add", "fake", "--yes", "--", "/bin/sh", "server.sh"]);
    house
}

const ALLOWED: [&str; 3] = ["--allow", "Mcp(fake:*)", "order it"];

#[test]
fn r3_what_a_server_asks_is_answered_by_a_person_and_shown_before_it_is_sent() {
    let house = house_with_server("it got accept 7.");
    let run = start(&house, &ALLOWED);
    let first = opened(&house, "questions", "question", &[]);
    let (id, asked) = (text(&first["question"]), text(&first["text"]));
    assert!(asked.starts_with("The server fake asks you:\n> Which size?"), "{asked}");
    assert_eq!(answer(&house, &id, &["--text", "0"]).status, 0);
    let second = opened(&house, "questions", "question", &[&id]);
    let again = text(&second["question"]);
    assert!(text(&second["text"]).contains("out of the bounds"), "{second}");
    assert_eq!(answer(&house, &again, &["--text", "7"]).status, 0);
    let last = opened(&house, "questions", "question", &[&id, &again]);
    let shown = text(&last["text"]);
    assert!(shown.contains("This is sent to the server fake") && shown.contains("\"size\": 7"));
    let session = text(&last["session"]);
    assert_eq!(answer(&house, &text(&last["question"]), &["--text", "Send"]).status, 0);
    let output = run.wait_for_end();
    assert_eq!((output.status, output.out), (0, "Done.\n".into()));
    let journaled = house.facts_of_kind(&session, "question.asked");
    assert_eq!(journaled.len(), 3);
    assert!(journaled.iter().all(|fact| fact["server"] == "fake"), "{journaled:?}");
    assert_eq!(house.facts_of_kind(&session, "question.answered").len(), 3);
    let replayed = house.run(&["replay", &session]);
    assert_eq!(replayed.status, 0, "{}{}", replayed.out, replayed.err);
}

#[test]
fn r3_where_nobody_attends_a_server_is_declined_and_it_is_journaled() {
    let house = house_with_server("it got decline .");
    let script = house.script_model();
    let mut args = vec!["run", "-m", &script, "--output", "json"];
    args.extend(ALLOWED);
    let said = house.run(&args);
    assert_eq!(said.status, 0, "{}", said.err);
    let finished: Value = serde_json::from_str(&said.out).expect("JSON");
    let session = text(&finished["session"]);
    let answered = house.facts_of_kind(&session, "question.answered");
    assert_eq!(answered.len(), 1);
    assert_eq!(
        (&answered[0]["by"], answered[0].get("answer")),
        (&"nobody".into(), Some(&Value::Null))
    );
    assert_eq!(list(&house)["questions"], Value::Array(Vec::new()));
}

#[test]
fn r3_a_run_that_is_ended_leaves_no_question_of_a_server_open() {
    let house = house_with_server("nothing");
    let run = start(&house, &ALLOWED);
    let open = opened(&house, "questions", "question", &[]);
    let session = text(&open["session"]);
    run.signal("-INT");
    assert_eq!(run.wait_for_end().status, 130);
    let answered = house.facts_of_kind(&session, "question.answered");
    assert_eq!(answered.len(), 1, "{answered:?}");
    assert_eq!(list(&house)["questions"], Value::Array(Vec::new()));
}
