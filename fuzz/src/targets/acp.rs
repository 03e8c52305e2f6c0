//! Lines of an editor: however they come in pieces they are the same lines, every one is understood or
//! refused under its own name, and the servers that it brings get names that rules can have and keep their
//! secrets. Not here: what a session does then.

use serde_json::{Value, json};
use weir_acp::outside::{read_lines, read_servers, refuse_line};

use crate::input::random_of;
use crate::seeds;

/// Lines that are longer are refused here.
const LINE_BYTES_MAX: usize = 4_000;

pub(super) const ACP_WORDS: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"",
    "\"id\":null,",
    "\"id\":\"a\",",
    "\"id\":1.5,",
    "\"id\":[],",
    "\"method\":\"session/prompt\",",
    "session/new",
    "session/load",
    "session/fork",
    "session/set_mode",
    "session/set_config_option",
    "\"params\":{",
    "\"sessionId\":\"s\",",
    "\"cwd\":\"/\",",
    "\"additionalDirectories\":[\"/\"],",
    "\"mcpServers\":[",
    "{\"name\":\"a\",\"command\":\"x\",\"args\":[],\"env\":[{\"name\":\"A\",\"value\":\"hush-hush\"}]}",
    "{\"type\":\"http\",\"name\":\"a b\",\"url\":\"http://h\",\"headers\":[{\"name\":\"A\",\"value\":\"hush-hush\"}]}",
    "\"type\":\"sse\",",
    "\"prompt\":[{\"type\":\"text\",\"text\":\"",
    "\"type\":\"resource_link\",\"uri\":\"file:///a\",",
    "\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"image/png\"",
    "\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"once\"}}",
    "\"error\":{\"code\":-32601,\"message\":\"no\"}",
    "\"choice-0\"",
    "null",
    "{}",
    "}",
    "]",
    "\n",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "\\ud800",
];

pub(super) fn acp_seeds() -> Vec<Vec<u8>> {
    let servers = json!([
        {"name": "files", "command": "/bin/x", "args": ["-a"], "env": [{"name": "T", "value": "hush-hush"}]},
        {"type": "http", "name": "My notes", "url": "https://h/mcp",
         "headers": [{"name": "Authorization", "value": "hush-hush"}]},
        {"type": "sse", "name": "old", "url": "https://h", "headers": []},
    ]);
    let requests = [
        ("initialize", json!({"protocolVersion": 1, "clientCapabilities": {"terminal": true}})),
        (
            "session/new",
            json!({"cwd": "/w", "mcpServers": servers, "additionalDirectories": ["/l"]}),
        ),
        ("session/load", json!({"sessionId": "s", "cwd": "/w", "mcpServers": []})),
        (
            "session/prompt",
            json!({"sessionId": "s", "prompt": [
                {"type": "text", "text": "Look at "},
                {"type": "resource_link", "name": "a", "uri": "file:///w/a.rs#L1"},
                {"type": "resource", "resource": {"uri": "file:///w/b", "text": "x", "mimeType": "y"}},
                {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            ]}),
        ),
        (
            "session/set_config_option",
            json!({"sessionId": "s", "configId": "mode", "value": "plan"}),
        ),
        ("session/list", json!({"cursor": "50"})),
    ];
    let lines = requests.iter().enumerate().map(|(id, (method, params))| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    });
    let answers = [
        json!({"jsonrpc": "2.0", "id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "once"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "no"}}),
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}),
    ];
    let all: Vec<String> = lines.chain(answers.iter().map(Value::to_string)).collect();
    let whole = all.join("\n");
    let mut texts: Vec<&str> = all.iter().map(String::as_str).collect();
    texts.push(&whole);
    seeds::texts(&texts)
}

pub(super) fn acp(data: &[u8]) {
    let mut random = random_of(data);
    let lines = read_lines(data, data.len(), LINE_BYTES_MAX);
    let in_pieces = read_lines(data, 1 + random.below(64), LINE_BYTES_MAX);
    assert_eq!(lines, in_pieces, "pieces change nothing");
    for line in lines.into_iter().flatten() {
        assert!(!line.contains(&b'\n') && line.len() <= LINE_BYTES_MAX);
        check_line(&line);
    }
}

fn check_line(line: &[u8]) {
    let value = serde_json::from_slice::<Value>(line).unwrap_or_default();
    if let Some((id, why)) = refuse_line(line) {
        assert!(!why.is_empty(), "a refusal says why");
        assert!(id.is_null() || value.get("id") == Some(&id), "it is answered under its own name");
    }
    let Some(servers) = value["params"]["mcpServers"].as_array() else { return };
    let Some((names, remarks)) = read_servers(servers) else { return };
    assert!(names.len() + remarks.len() == servers.len(), "each is declared or spoken of");
    for (at, name) in names.iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let fits = !name.is_empty() && name.len() <= 24 && name.chars().all(is_plain);
        assert!(fits && !name.contains("__"), "{name:?} is a name");
        assert!(!names[..at].contains(name), "{name:?} is there once");
    }
    // Others stand in any words.
    for given in values_of(servers).iter().filter(|given| given.contains("hush-hush")) {
        let is_told = remarks.iter().any(|remark| remark.contains(given));
        assert!(!is_told || is_named_too(servers, given), "a value is told");
    }
}

/// The values of variables and headers.
fn values_of(servers: &[Value]) -> Vec<String> {
    let lists = servers.iter().flat_map(|one| [&one["env"], &one["headers"]]);
    let given = lists.filter_map(Value::as_array).flatten();
    given.filter_map(|one| one["value"].as_str().map(str::to_owned)).collect()
}

/// Whether these words stand in something else too that is told: a name, a transport.
fn is_named_too(servers: &[Value], words: &str) -> bool {
    let named = servers.iter().flat_map(|one| {
        let lists = [&one["env"], &one["headers"]].map(Value::as_array);
        let names = lists.into_iter().flatten().flatten().map(|given| &given["name"]);
        names.chain([&one["name"], &one["type"]]).collect::<Vec<_>>()
    });
    named.filter_map(Value::as_str).any(|name| name.contains(words))
}
