//! What a client sends otherwise than one whole request a line: parameters that are wrong, several messages in
//! one, and a last line without an end (R2). Not here: what a call does.

use serde_json::{Value, json};
use weir_test_kit::RunningProgram;

use super::{HANDSHAKE, McpClient, house};

/// The revision that has batches.
const WITH_BATCHES: &str = "2025-03-26";

fn beginning(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "Other Agent", "version": "1.2"}
    })
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn r2_wrong_parameters_are_told_apart_from_a_method_that_is_not_there() {
    let house = house("");
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let told = client.ask("initialize", json!({"protocolVersion": HANDSHAKE}));
    assert_eq!(told["error"]["code"], -32602, "before the beginning too: {told}");
    let told = client.ask("initialize", beginning(HANDSHAKE));
    assert_eq!(told["result"]["protocolVersion"], HANDSHAKE, "{told}");
    for (method, params, part) in [
        ("tools/call", json!({}), "missing field `name`"),
        ("tools/call", json!({"name": "read_file", "arguments": "a.txt"}), "tools/call"),
        ("tools/call", json!(["read_file"]), "must be an object"),
        ("resources/read", json!({"url": "file:///x"}), "missing field `uri`"),
        ("prompts/get", json!({}), "missing field `name`"),
        ("logging/setLevel", json!({"level": "loud"}), "unknown variant"),
    ] {
        let told = client.ask(method, params.clone());
        assert_eq!(told["error"]["code"], -32602, "{method} {params}: {told}");
        let message = told["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(method) && message.contains(part), "{method} {params}: {told}");
    }
    let told = client.ask("tools/sing", json!({}));
    assert_eq!(told["error"]["code"], -32601, "{told}");
    assert!(client.call("read_file", json!({"path": "a.txt"})).0, "the next one works");
    assert_eq!(client.leave().status, 0);
}

#[test]
fn r2_a_batch_is_answered_as_one_array_where_the_revision_has_batches() {
    let house = house("");
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let told = client.ask("initialize", beginning(WITH_BATCHES));
    assert_eq!(told["result"]["protocolVersion"], WITH_BATCHES, "{told}");
    client.send(&json!([
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(11, "tools/list", &json!({})),
        request(12, "tools/call", &json!({"name": "read_file", "arguments": {"path": "a.txt"}})),
        request(13, "tools/call", &json!({})),
        request(14, "initialize", &beginning(WITH_BATCHES)),
        7,
    ]));
    let answer = client.next("answer to the batch", Value::is_array);
    let all = answer.as_array().expect("an array");
    let of = |id: Value| {
        let found: Vec<&Value> = all.iter().filter(|one| one["id"] == id).collect();
        assert_eq!(found.len(), 1, "{id}: {answer}");
        found[0]
    };
    assert_eq!(all.len(), 5, "each request once: {answer}");
    assert!(of(json!(11))["result"]["tools"].is_array(), "{answer}");
    assert!(of(json!(12))["result"].to_string().contains("old"), "{answer}");
    assert_eq!(of(json!(13))["error"]["code"], -32602, "{answer}");
    assert_eq!(of(json!(14))["error"]["code"], -32600, "{answer}");
    assert_eq!(of(Value::Null)["error"]["code"], -32600, "{answer}");
    client.program.type_line("[]");
    let refused = client.next("refusal", |line| line["error"]["code"] == -32600);
    assert!(refused.get("id").is_some_and(Value::is_null), "{refused}");
    // What asks nothing is not answered, and a message alone is answered alone.
    client.send(&json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]));
    let told = client.ask("ping", json!({}));
    assert!(told["result"].is_object(), "{told}");
    let text = client.program.output_text();
    assert_eq!(text.lines().count(), 4, "no line more: {text}");
    assert_eq!(client.leave().status, 0);
}

#[test]
fn r2_a_batch_is_refused_where_the_revision_has_none() {
    let house = house("");
    let mut client = McpClient::start(&house, &[], &json!({}));
    client.send(&json!([request(11, "ping", &json!({}))]));
    let refused = client.next("refusal", |line| line["error"]["code"] == -32600);
    assert!(refused.get("id").is_some_and(Value::is_null), "{refused}");
    let why = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains(WITH_BATCHES), "{refused}");
    assert_eq!(client.leave().status, 0);
}

#[test]
fn r2_a_last_line_without_an_end_is_answered() {
    let house = house("");
    let begin = request(1, "initialize", &beginning(HANDSHAKE));
    let list = request(2, "tools/list", &json!({}));
    let said = house.run_with_input(&["mcp"], &format!("{begin}\n{list}"));
    assert_eq!(said.status, 0, "{}", said.err);
    let answers = said.json_lines();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)], "{}", said.out);
    assert!(answers[1]["result"]["tools"].is_array(), "{}", said.out);
    let said = house.run_with_input(&["mcp"], &format!("{begin}\n{{\"jsonrpc\":"));
    assert_eq!(said.json_lines().last().map(|last| &last["error"]["code"]), Some(&json!(-32700)));
}
