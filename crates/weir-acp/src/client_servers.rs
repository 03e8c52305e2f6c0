//! MCP servers that an editor brings to a session, as servers that are declared for it. Pure. Not here:
//! asking about them (`crate::session::servers`), starting them.

use serde::Deserialize;
use serde_json::Value;
use weir_core::view::told::one_line;
use weir_install::config::{McpServerSettings, find_server_problem, name_problem};
use weir_install::servers::{DeclaredServer, ServerOwner};

use crate::rpc::RpcError;

/// Where they are declared, in words.
const PLACE: &str = "the editor";
/// Servers that an editor may bring to one session.
const SERVERS_MAX: usize = 32;
/// Bytes of what is shown of one before it is started: everything of it is.
const SHOWN_BYTES_MAX: usize = 16 << 10;
/// Characters of a name that are kept; a number may follow.
const NAME_CHARS_MAX: usize = 20;

/// What an editor brings.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ClientServers {
    /// Those that can be declared.
    pub(crate) declared: Vec<DeclaredServer>,
    /// Why others cannot be: lines for the person.
    pub(crate) remarks: Vec<String>,
}

/// A server as the protocol has it.
#[derive(Deserialize)]
struct ClientServer {
    name: String,
    /// `http`, `sse`; absent: a program.
    #[serde(rename = "type")]
    transport: Option<String>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<Vec<NamedValue>>,
    url: Option<String>,
    headers: Option<Vec<NamedValue>>,
}

/// A variable or header. Its value may be a secret: it is shown nowhere.
#[derive(Deserialize)]
struct NamedValue {
    name: String,
    value: String,
}

impl ClientServers {
    /// What these are.
    ///
    /// # Errors
    /// One is none of the protocol, or there are too many.
    pub(crate) fn read(servers: &[Value]) -> Result<ClientServers, RpcError> {
        if servers.len() > SERVERS_MAX {
            let why = format!("mcpServers has more than {SERVERS_MAX} servers");
            return Err(RpcError::invalid_params(why));
        }
        let mut read = ClientServers::default();
        for (at, server) in servers.iter().enumerate() {
            // What is wrong in it is not repeated: it may stand beside a secret.
            let server = ClientServer::deserialize(server).map_err(|_| {
                let why = format!("mcpServers: entry {} is no server of the protocol", at + 1);
                RpcError::invalid_params(why)
            })?;
            read.add_server(server);
        }
        Ok(read)
    }

    fn add_server(&mut self, server: ClientServer) {
        let told = one_line(&server.name);
        let name = self.free_name(&server.name);
        match settings_of(server) {
            Ok(settings) => self.declared.push(DeclaredServer {
                name,
                place: PLACE.into(),
                whose: ServerOwner::Editor,
                settings,
                problem: None,
            }),
            Err(why) => {
                self.remarks
                    .push(format!("the MCP server {told} of the editor is not used: it {why}"));
            }
        }
    }

    /// A name that rules can have, for one that people read.
    fn free_name(&self, told: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let words: String = told.chars().map(plain).collect();
        let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
        let short: String = words.join("-").chars().take(NAME_CHARS_MAX).collect();
        let short = match short.trim_end_matches('-') {
            "" => "server",
            short => short,
        };
        let is_free = |name: &String| {
            name_problem(name).is_none() && !self.declared.iter().any(|known| known.name == *name)
        };
        let whole = told.to_owned();
        // What stands before the number never looks like a name that was shortened by a mark.
        let numbered = (2..100).map(|number| format!("{short}-{number}"));
        let mut names = [whole, short.to_owned()].into_iter().chain(numbered);
        // Of more than can be declared there are names enough.
        names.find(is_free).unwrap_or_default()
    }
}

/// What is declared of it.
///
/// # Errors
/// Why it cannot be used, in words that follow its name.
fn settings_of(server: ClientServer) -> Result<McpServerSettings, String> {
    let pairs = |values: Option<Vec<NamedValue>>| {
        values.into_iter().flatten().map(|one| (one.name, one.value)).collect()
    };
    let settings = match server.transport.as_deref() {
        None | Some("stdio") => McpServerSettings {
            command: server.command.unwrap_or_default(),
            args: server.args.unwrap_or_default(),
            env: pairs(server.env),
            ..McpServerSettings::default()
        },
        Some("http") => McpServerSettings {
            url: server.url.unwrap_or_default(),
            headers: pairs(server.headers),
            ..McpServerSettings::default()
        },
        Some("sse") => {
            return Err("speaks SSE, which has gone from the protocol; use its http address".into());
        }
        Some(other) => {
            return Err(format!("has a transport that is not known here: {}", one_line(other)));
        }
    };
    if let Some((field, why)) = find_server_problem(&settings) {
        return Err(format!("{field} {why}").trim_start().to_owned());
    }
    let words = settings.args.iter().chain([&settings.command, &settings.url]);
    let names = settings.env.keys().chain(settings.headers.keys());
    if words.chain(names).map(String::len).sum::<usize>() > SHOWN_BYTES_MAX {
        return Err("is too long to be shown before it is started".into());
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r1_servers_of_an_editor_are_declared_as_they_are_brought() {
        let read = ClientServers::read(&[
            json!({"name": "Files of mine", "command": "/bin/x", "args": ["-a", "b c"],
                   "env": [{"name": "TOKEN", "value": "t"}], "_meta": {"more": 1}}),
            json!({"type": "http", "name": "files-of-mine", "url": "https://h/mcp",
                   "headers": [{"name": "Authorization", "value": "Bearer t"}]}),
            json!({"type": "http", "name": "Files/of/mine", "url": "https://h/2", "headers": []}),
            json!({"name": "..", "command": "y", "args": null, "env": null}),
        ])
        .expect("they are of the protocol");
        let names: Vec<&str> = read.declared.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["Files-of-mine", "files-of-mine", "Files-of-mine-2", "server"]);
        assert!(read.declared.iter().all(|one| one.whose == ServerOwner::Editor));
        let (program, address) = (&read.declared[0].settings, &read.declared[1].settings);
        assert_eq!((program.command.as_str(), program.args.len()), ("/bin/x", 2));
        assert_eq!(program.env.get("TOKEN").map(String::as_str), Some("t"));
        assert!(
            !program.unconfined && program.hosts.is_empty(),
            "it has nothing of its own accord"
        );
        assert_eq!(address.headers.get("Authorization").map(String::as_str), Some("Bearer t"));
        assert_eq!(read.remarks, [""; 0]);
    }

    #[test]
    fn r1_servers_that_cannot_be_used_are_said_and_those_of_no_protocol_refused() {
        let long = "x".repeat(SHOWN_BYTES_MAX);
        let read = ClientServers::read(&[
            json!({"type": "sse", "name": "old", "url": "https://h", "headers": []}),
            json!({"type": "acp", "name": "new", "id": "1"}),
            json!({"name": "none", "command": "", "args": [], "env": []}),
            json!({"name": "bad", "command": "x", "args": [], "env": [{"name": "A=B", "value": "hush"}]}),
            json!({"name": "long", "command": "x", "args": [long], "env": []}),
            json!({"type": "http", "name": "far", "url": "ftp://h", "headers": []}),
        ])
        .expect("they are of the protocol");
        assert_eq!(read.declared, []);
        for (remark, part) in read.remarks.iter().zip([
            "SSE",
            "not known here: acp",
            "says neither",
            "no name of a variable",
            "too long",
            "no address",
        ]) {
            assert!(remark.contains(part) && !remark.contains("hush"), "{remark}");
        }
        let secret = json!({"name": "a", "command": "x", "args": [], "env": "hush-hush"});
        let refused = ClientServers::read(&[json!({"name": "b", "command": "x"}), secret]);
        let why = refused.expect_err("it is none").message;
        assert_eq!(why, "mcpServers: entry 2 is no server of the protocol");
        let many = vec![json!({"name": "a", "command": "x"}); SERVERS_MAX + 1];
        assert!(ClientServers::read(&many).is_err());
    }
}
