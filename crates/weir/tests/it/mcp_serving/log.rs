//! Lines of the log for a client that asks for them: what became of its calls, at the level that it wants.

use super::*;

/// The lines that were told until now: level, tool, words.
fn lines(client: &McpClient) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().expect("words").to_owned();
    let told = client.lines().into_iter().filter(|line| line["method"] == "notifications/message");
    told.map(|line| {
        let params = &line["params"];
        assert_eq!(params["logger"], "weir", "{line}");
        (text(&params["level"]), text(&params["data"]["tool"]), text(&params["data"]["message"]))
    })
    .collect()
}

fn has(told: &[(String, String, String)], level: &str, tool: &str, words: &str) -> bool {
    told.iter().any(|(l, t, w)| l == level && t == tool && w.contains(words))
}

#[test]
fn r2_a_client_that_asks_for_it_is_told_what_becomes_of_its_calls_and_nobody_else_is() {
    let house = house("");
    let mut client = McpClient::start(&house, &["--approvals", "deny"], &json!({}));
    assert!(client.call("read_file", json!({"path": "a.txt"})).0);
    assert_eq!(lines(&client), [], "nobody asked for it");

    let set = client.ask("logging/setLevel", json!({"level": "info"}));
    assert_eq!(set["result"], json!({}), "{set}");
    assert!(client.call("list_files", json!({})).0);
    assert!(!client.call("write_file", json!({"path": "b.txt", "content": "geheim"})).0);
    let told = lines(&client);
    assert!(has(&told, "info", "list_files", "allowed"), "{told:?}");
    assert!(has(&told, "info", "list_files", "done in"), "{told:?}");
    assert!(has(&told, "notice", "write_file", "is asked about"), "{told:?}");
    assert!(has(&told, "warning", "write_file", "Denied by nobody"), "{told:?}");
    assert!(!told.iter().any(|(level, _, words)| level == "debug" || words.contains("geheim")));

    let before = told.len();
    assert!(client.ask("logging/setLevel", json!({"level": "warning"}))["result"].is_object());
    assert!(client.call("glob", json!({"pattern": "*.txt"})).0);
    assert_eq!(lines(&client).len(), before, "what goes as it should is no warning");
    // What is no level changes nothing.
    assert!(client.ask("logging/setLevel", json!({"level": "loud"}))["error"].is_object());
    assert!(client.call("glob", json!({"pattern": "*.rs"})).0);
    assert_eq!(lines(&client).len(), before);
}

#[test]
fn r2_without_a_handshake_each_call_says_itself_which_lines_it_wants() {
    let house = house("");
    let meta = |level: Option<&str>| {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "New Agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = level.into();
        }
        meta
    };
    let program = RunningProgram::start_with_input(house.command(&["mcp"]));
    let mut client = McpClient { program, sent: 0, seen: 0 };
    let call = |pattern: &str, level| json!({"name": "glob", "arguments": {"pattern": pattern}, "_meta": meta(level)});
    assert!(client.ask("tools/call", call("*.a", None))["result"].is_object());
    assert_eq!(lines(&client), []);
    assert!(client.ask("tools/call", call("*.b", Some("debug")))["result"].is_object());
    let told = lines(&client);
    assert!(
        has(&told, "debug", "glob", "runs") && has(&told, "info", "glob", "done in"),
        "{told:?}"
    );
    assert!(client.ask("tools/call", call("*.c", None))["result"].is_object());
    assert_eq!(lines(&client).len(), told.len(), "it was for that call");
    let set = client.ask("logging/setLevel", json!({"level": "debug", "_meta": meta(None)}));
    assert_eq!(set["error"]["code"], -32601, "{set}");
}
