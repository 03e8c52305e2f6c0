//! `.mcp.json`: servers in the shape that other agents read too. An unknown key is an error with
//! its line, as in the settings: what would be ignored might have been meant to narrow.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use weir_engine::misspelling::name_what_was_meant;

use crate::config::{McpServerSettings, find_server_problem, name_problem, read_text};
use crate::duration::TimeSpan;

/// Name of the file, in the workspace's root.
pub const FILE: &str = ".mcp.json";

/// A server as it stands in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct McpJsonServer {
    /// Name of the server.
    pub name: String,
    /// The line of its name.
    pub line: usize,
    /// What is said of it, variables not yet filled in.
    pub settings: McpServerSettings,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct McpJsonFile {
    #[serde(default)]
    mcp_servers: McpJsonEntries,
}

/// How a server is reached, as other agents call it.
#[derive(Clone, Copy, Deserialize)]
enum McpJsonTransport {
    #[serde(rename = "stdio")]
    Stdio,
    #[serde(rename = "http", alias = "streamable-http", alias = "streamableHttp")]
    Http,
    #[serde(rename = "sse")]
    Sse,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpJsonEntry {
    r#type: Option<McpJsonTransport>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Milliseconds.
    timeout: Option<u64>,
}

/// The servers in their order. A name that is there twice is an error: which one counts would be a
/// matter of the reader.
#[derive(Default)]
struct McpJsonEntries(Vec<(String, McpJsonEntry)>);

impl<'de> Deserialize<'de> for McpJsonEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<McpJsonEntries, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = McpJsonEntries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of servers")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<McpJsonEntries, A::Error> {
                let mut servers: Vec<(String, McpJsonEntry)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if servers.iter().any(|(known, _)| *known == name) {
                        let why = format!("the server {name:?} is there twice");
                        return Err(serde::de::Error::custom(why));
                    }
                    servers.push((name, map.next_value()?));
                }
                Ok(McpJsonEntries(servers))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// The text of the workspace's file; `None`: there is none. Whether the workspace is trusted is
/// asked by the caller.
///
/// # Errors
/// It cannot be read, with its name.
pub(super) fn read_mcp_json(workspace: &Path) -> Result<Option<String>, String> {
    read_text(&workspace.join(FILE)).map_err(|why| format!("{FILE}: {why}"))
}

/// Understands the file.
///
/// # Errors
/// `LINE: what is wrong`.
pub fn parse_mcp_json(text: &str) -> Result<Vec<McpJsonServer>, String> {
    let file: McpJsonFile = serde_json::from_str(text).map_err(|error| {
        let told = error.to_string();
        // The place stands in front already.
        let why = told.split(" at line ").next().unwrap_or(&told);
        format!("{}: {}", error.line().max(1), name_what_was_meant(why))
    })?;
    let servers = file.mcp_servers.0.into_iter().map(|(name, server)| {
        let line = line_of(text, &name);
        let wrong = |why: String| format!("{line}: the server {name:?} {why}");
        if let Some(why) = name_problem(&name) {
            return Err(wrong(why));
        }
        let settings = server_settings(server).map_err(wrong)?;
        if let Some((field, why)) = find_server_problem(&settings) {
            let why = format!("{field} {why}");
            return Err(wrong(why.trim_start().to_owned()));
        }
        Ok(McpJsonServer { name, line, settings })
    });
    servers.collect()
}

fn server_settings(server: McpJsonEntry) -> Result<McpServerSettings, String> {
    let McpJsonEntry { r#type, command, args, env, url, headers, timeout } = server;
    match (r#type, &command, &url) {
        (Some(McpJsonTransport::Sse), _, _) => {
            return Err("has the type sse, a transport that is gone from the protocol; use the \
                        server's http address"
                .into());
        }
        (Some(McpJsonTransport::Http), Some(_), _) => {
            return Err("has the type http and a command".into());
        }
        (Some(McpJsonTransport::Stdio), _, Some(_)) => {
            return Err("has the type stdio and a url".into());
        }
        _ => {}
    }
    Ok(McpServerSettings {
        command: command.unwrap_or_default(),
        args,
        env,
        url: url.unwrap_or_default(),
        headers,
        timeout: timeout.map(|ms| TimeSpan { ms }),
        ..McpServerSettings::default()
    })
}

/// The line of a server's name. Names have no sign that JSON would have to escape.
fn line_of(text: &str, name: &str) -> usize {
    let from = text.find("\"mcpServers\"").unwrap_or(0);
    let quoted = format!("\"{name}\"");
    let is_key = |at: &usize| text[at + quoted.len()..].trim_start().starts_with(':');
    let mut found = text[from..].match_indices(&quoted).map(|(at, _)| from + at);
    let at = found.find(is_key).unwrap_or(0);
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f4_the_file_of_other_agents_is_read_as_it_is() {
        let text = r#"{
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "server", "${HOME}"], "env": {"A": "${B:-c}"}},
    "remote": {
      "type": "http", "url": "https://mcp.example/mcp", "headers": {"X-Team": "blue"},
      "timeout": 5000
    }
  }
}"#;
        let servers = parse_mcp_json(text).expect("it is right");
        assert_eq!(
            servers.iter().map(|s| (s.name.as_str(), s.line)).collect::<Vec<_>>(),
            [("files", 3), ("remote", 4)]
        );
        assert_eq!(servers[0].settings.args, ["-y", "server", "${HOME}"]);
        assert_eq!(servers[1].settings.timeout, Some(TimeSpan { ms: 5000 }));
        assert_eq!(parse_mcp_json("{}").expect("no server"), []);
    }

    #[test]
    fn f4_what_is_wrong_in_it_is_told_with_its_line() {
        for (text, begin, part) in [
            ("{\n\"mcpServers\": {\n", "3:", "EOF"),
            ("{\n\"servers\": {}}", "2:", "unknown field `servers`"),
            ("{\"mcpServers\": {\n\"a\": {\n\"comand\": \"x\"}}}", "3:", "did you mean `command`?"),
            ("{\"mcpServers\": {\n\"a\": {}}}", "2:", "says neither"),
            ("{\"mcpServers\": {\n\"a b\": {\"command\": \"x\"}}}", "2:", "is no name"),
            ("{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"a\": {}}}", "2:", "twice"),
            ("{\"mcpServers\": {\"a\": {\"type\": \"sse\", \"url\": \"http://h\"}}}", "1:", "sse"),
            (
                "{\"mcpServers\": {\"a\": {\"type\": \"http\", \"command\": \"x\"}}}",
                "1:",
                "a command",
            ),
            ("{\"mcpServers\": {\"a\": {\"command\": 7}}}", "1:", "invalid type"),
            ("{\"mcpServers\": []}", "1:", "invalid type"),
            ("", "1:", "EOF"),
        ] {
            let why = parse_mcp_json(text).expect_err(text);
            assert!(why.starts_with(begin) && why.contains(part), "{text}: {why}");
        }
    }
}
