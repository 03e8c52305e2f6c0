//! `[mcp_servers.NAME]`: what a person says of a server whose tools the agent may use, and what of
//! it cannot hold. Not here: the servers of `.mcp.json` (`crate::servers`), and starting any.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_core::tool::{ToolDeclaration, foreign};

use super::file::key_text;
use super::settings::{SecretSettings, Settings};
use crate::duration::TimeSpan;

/// Most servers.
const SERVERS_MAX: usize = 64;
/// Longest time that a call may take.
const TIMEOUT_MS_MAX: u64 = 24 * 3_600_000;

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct McpServerSettings {
    /// The program that is started, in the sandbox.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside what every command sees.
    pub env: BTreeMap<String, String>,
    /// Its address, instead of a program.
    pub url: String,
    /// Headers that are sent along to that address.
    pub headers: BTreeMap<String, String>,
    /// Variables (of a program) or headers (for an address) that hold a secret: `[secrets]` names
    /// it. The server must not reach a host that the secret is not for.
    pub secrets: BTreeMap<String, String>,
    /// Hosts that the program may reach: ["api.github.com"]. None: no network.
    pub hosts: Vec<String>,
    /// Folders beside the workspace that the program may read: ["/opt/server"].
    pub reads: Vec<String>,
    /// Folders that the program may change; "." is the workspace.
    pub writes: Vec<String>,
    /// The folder that the program starts in; empty: the workspace.
    pub cwd: String,
    /// The program may run outside the sandbox, with your own rights.
    pub unconfined: bool,
    /// Its tools that only read, as patterns over their names: ["list_*"].
    pub read_tools: Vec<String>,
    /// Its tools that send something and answer that it was sent, as patterns: ["send_*"]. An
    /// acknowledgement of theirs (`ok`, an id) is not foreign text.
    pub send_tools: Vec<String>,
    /// What its tools do, argument by argument, by names or patterns (U2):
    /// `[mcp_servers.NAME.tools.send_mail]`, `sends = { to = ["to"], content = ["body"] }`.
    pub tools: BTreeMap<String, ToolDeclaration>,
    /// A tool that says of itself that it only reads is believed.
    pub trust_annotations: bool,
    /// An answer that it labels as public is not private. Its words stay foreign.
    pub trust_labels: bool,
    /// It may ask the session's model to write something (sampling).
    pub sampling: bool,
    /// Most time a call may take; none: limits.tool_timeout.
    pub timeout: Option<TimeSpan>,
    /// Most time it may take to start; none: 10s.
    pub start_timeout: Option<TimeSpan>,
    /// It is used at all.
    pub enabled: bool,
    /// The revision of the protocol to speak; empty: the newest that both know.
    pub protocol: String,
    /// How one signs in at that address.
    pub oauth: McpOauthSettings,
}

impl Default for McpServerSettings {
    fn default() -> McpServerSettings {
        McpServerSettings {
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            url: String::new(),
            headers: BTreeMap::new(),
            secrets: BTreeMap::new(),
            hosts: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            cwd: String::new(),
            unconfined: false,
            read_tools: Vec::new(),
            send_tools: Vec::new(),
            tools: BTreeMap::new(),
            trust_annotations: false,
            trust_labels: false,
            sampling: false,
            timeout: None,
            start_timeout: None,
            enabled: true,
            protocol: String::new(),
            oauth: McpOauthSettings::default(),
        }
    }
}

/// Signing in (OAuth). Most servers need none of this: Weir registers itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct McpOauthSettings {
    /// The id under which Weir is registered there already.
    pub client_id: String,
    /// The secret of that id: `[secrets]` names it.
    pub client_secret: String,
    /// The https address of a document that describes Weir to servers, used as its id.
    pub client_metadata_url: String,
    /// What is asked for; empty: what the server says.
    pub scopes: Vec<String>,
    /// The port of this machine that the browser comes back to; 0: any free one.
    pub callback_port: u16,
}

/// The first thing that is wrong with a server: its key and what.
pub(super) fn find_server_complaint(settings: &Settings) -> Option<(String, String)> {
    let servers = &settings.mcp_servers;
    if servers.len() > SERVERS_MAX {
        return Some(("mcp_servers".into(), format!("has more than {SERVERS_MAX} entries")));
    }
    servers.iter().find_map(|(name, server)| {
        let key = |field: &str| match field {
            "" => key_text(&["mcp_servers", name]),
            field => format!("{}.{field}", key_text(&["mcp_servers", name])),
        };
        if let Some(why) = name_problem(name) {
            return Some((key(""), why));
        }
        let found = find_server_problem(server)?;
        Some((key(found.0), found.1))
    })
}

/// What of all servers together cannot hold, before a file is changed: its key and what.
pub fn server_complaint(settings: &Settings) -> Option<(String, String)> {
    find_server_complaint(settings).or_else(|| secret_complaint(settings))
}

/// The first server that names a secret which is not there or not for it. Asked of all files
/// together: a workspace's server may name a secret of the person's.
pub(super) fn secret_complaint(settings: &Settings) -> Option<(String, String)> {
    settings.mcp_servers.iter().find_map(|(name, server)| {
        let (field, why) = secret_problem(server, &settings.secrets)?;
        Some((format!("{}.{field}", key_text(&["mcp_servers", name])), why))
    })
}

/// Why this is no name of a server; `None`: it is one. It stands in the names of its tools and in
/// rules (`Mcp(NAME:*)`), so it must be able to stand there as it is.
pub fn name_problem(name: &str) -> Option<String> {
    let fits = !name.is_empty() && foreign::server_part(name) == name;
    (!fits).then(|| {
        "is no name of a server: use at most 24 letters, digits, - and single _ between them".into()
    })
}

type FieldProblem = Option<(&'static str, String)>;

/// What cannot hold, whoever declares the server: the field and why.
pub fn find_server_problem(server: &McpServerSettings) -> FieldProblem {
    let wrong = |field, why: &str| Some((field, why.to_owned()));
    for (field, span) in [("timeout", server.timeout), ("start_timeout", server.start_timeout)] {
        if span.is_some_and(|span| span.ms == 0 || span.ms > TIMEOUT_MS_MAX) {
            return wrong(field, "is not between 1ms and 24h");
        }
    }
    for (name, declared) in &server.tools {
        if let Err(problem) = declared.act_kind() {
            return Some(("tools", format!("of {name:?} {problem}")));
        }
        if let Err(error) = weir_mcp::check_tool_pattern(name) {
            return Some(("tools", format!("has {name:?}, which is no pattern of names: {error}")));
        }
    }
    match (server.command.trim().is_empty(), server.url.is_empty()) {
        (true, true) => wrong("", "says neither command (a program) nor url (an address)"),
        (false, false) => wrong("", "has both command and url; keep one"),
        (false, true) => of_program(server),
        (true, false) => of_address(server),
    }
}

fn of_program(server: &McpServerSettings) -> FieldProblem {
    let wrong = |field, why: String| Some((field, why));
    if !server.headers.is_empty() {
        return wrong("headers", "are for an address; a program has env".into());
    }
    if server.oauth != McpOauthSettings::default() {
        return wrong("oauth", "is for an address; a program has env and secrets".into());
    }
    let words = std::iter::once(&server.command).chain(&server.args);
    if words.chain(server.env.values()).any(|word| word.contains('\0')) {
        return wrong("", "has a NUL in it, which no program can be given".into());
    }
    let names = server.env.keys().chain(server.secrets.keys());
    if let Some(name) = names.into_iter().find(|name| !is_variable(name)) {
        return wrong("env", format!("has {name:?}, which is no name of a variable"));
    }
    if let Some(name) = server.secrets.keys().find(|name| server.env.contains_key(*name)) {
        return wrong("env", format!("has {name}, which secrets has too; keep one"));
    }
    let host = server.hosts.iter().find_map(|host| host_problem(host));
    if let Some(why) = host {
        return wrong("hosts", why);
    }
    let cwd = std::slice::from_ref(&server.cwd);
    let cwd = if server.cwd.is_empty() { &[] } else { cwd };
    for (field, folders) in
        [("reads", &server.reads[..]), ("writes", &server.writes[..]), ("cwd", cwd)]
    {
        if let Some(folder) = folders.iter().find(|folder| !is_folder(folder)) {
            let why = format!("has {folder:?}; write /…, ~/…, or ./… in the workspace");
            return wrong(field, why);
        }
    }
    None
}

fn of_address(server: &McpServerSettings) -> FieldProblem {
    let wrong = |field, why: String| Some((field, why));
    let parsed = url::Url::parse(&server.url);
    let fits = parsed.is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    });
    if !fits {
        return wrong("url", "is no address; write https://HOST/PATH, without a password".into());
    }
    let of_programs = [
        ("args", server.args.is_empty()),
        ("env", server.env.is_empty()),
        ("hosts", server.hosts.is_empty()),
        ("reads", server.reads.is_empty()),
        ("writes", server.writes.is_empty()),
        ("cwd", server.cwd.is_empty()),
        ("unconfined", !server.unconfined),
    ];
    if let Some((field, _)) = of_programs.iter().find(|(_, is_empty)| !is_empty) {
        return wrong(field, "is for a program, and this server has an address".into());
    }
    let mut headers = server.headers.keys().chain(server.secrets.keys());
    if let Some(name) = headers.find(|name| !is_header(name)) {
        return wrong("headers", format!("has {name:?}, which is no name of a header"));
    }
    let is_plain = |text: &String| text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if let Some((name, _)) = server.headers.iter().find(|(_, value)| !is_plain(value)) {
        // The value may be a secret: it is not repeated.
        return wrong("headers", format!("has a value for {name} with signs that no header has"));
    }
    let document = &server.oauth.client_metadata_url;
    if !document.is_empty() && !document.starts_with("https://") {
        return wrong(
            "oauth",
            "has a client_metadata_url that does not begin with https://".into(),
        );
    }
    if server.oauth.client_id.is_empty() && !server.oauth.client_secret.is_empty() {
        return wrong("oauth", "has a client_secret and no client_id".into());
    }
    None
}

fn is_folder(path: &str) -> bool {
    path == "." || ["/", "~/", "./"].iter().any(|start| path.starts_with(start))
}

/// A host as the proxy's list takes it: a name or an address, perhaps with a port.
fn host_problem(host: &str) -> Option<String> {
    let parsed = url::Url::parse(&format!("http://{host}/"));
    let is_host = parsed.is_ok_and(|url| {
        url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
    });
    let wide = host.is_empty() || host.contains('*') || host.contains(char::is_whitespace);
    (!is_host || wide).then(|| format!("has {host:?}, which is no host; write api.example.org"))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !name.contains(char::is_whitespace)
}

fn is_header(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// A secret goes to its own hosts only (Z7): a program that reaches others is not given it, nor an
/// address that is not among them.
fn secret_problem(
    server: &McpServerSettings,
    secrets: &BTreeMap<String, SecretSettings>,
) -> FieldProblem {
    let own = |host: &str| vec![host.to_owned()];
    let reached = match url::Url::parse(&server.url) {
        Ok(url) => {
            let host = url.host_str().unwrap_or_default();
            own(&url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
        }
        Err(_) => server.hosts.clone(),
    };
    for (place, name) in &server.secrets {
        let Some(secret) = secrets.get(name) else {
            let why = format!("names {name:?} for {place}, and there is no [secrets.{name}]");
            return Some(("secrets", why));
        };
        if let Some(host) = reached.iter().find(|host| !secret.hosts.contains(host)) {
            let why = format!(
                "gives {name} to a server that reaches {host}; [secrets.{name}] is not for that host"
            );
            return Some(("secrets", why));
        }
    }
    let name = &server.oauth.client_secret;
    if !name.is_empty() && !secrets.contains_key(name) {
        let why = format!("names {name:?} as client_secret, and there is no [secrets.{name}]");
        return Some(("oauth", why));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Result<(), String> {
        let settings: Settings = toml::from_str(text).map_err(|error| error.to_string())?;
        server_complaint(&settings).map_or(Ok(()), |(key, why)| Err(format!("{key} {why}")))
    }

    #[test]
    fn f4_servers_that_cannot_hold_are_named() {
        for (text, part) in [
            ("[mcp_servers.a]\n", "mcp_servers.a says neither"),
            ("[mcp_servers.a]\ncommand = \"x\"\nurl = \"http://h\"\n", "has both"),
            ("[mcp_servers.a]\nurl = \"ftp://h\"\n", "mcp_servers.a.url is no address"),
            ("[mcp_servers.a]\nurl = \"https://u:p@h\"\n", "mcp_servers.a.url"),
            ("[mcp_servers.a]\nurl = \"https://h\"\nargs = [\"x\"]\n", ".args is for a program"),
            ("[mcp_servers.a]\ncommand = \"x\"\nheaders = { a = \"b\" }\n", ".headers are for"),
            ("[mcp_servers.a]\ncommand = \"x\"\nhosts = [\"*\"]\n", ".hosts has \"*\""),
            ("[mcp_servers.a]\ncommand = \"x\"\nhosts = [\"h/p\"]\n", ".hosts has"),
            ("[mcp_servers.a]\ncommand = \"x\"\nreads = [\"lib\"]\n", ".reads has \"lib\""),
            ("[mcp_servers.a]\ncommand = \"x\"\nenv = { \"a=b\" = \"\" }\n", ".env has"),
            ("[mcp_servers.a]\ncommand = \"x\"\ntimeout = \"0s\"\n", ".timeout is not"),
            (
                "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools.b]\ncontent = [\"c\"]\n",
                ".tools of \"b\" says nothing",
            ),
            (
                "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools.b]\nreads = true\nown = true\n",
                "more than one",
            ),
            (
                "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools.\"[\"]\nreads = true\n",
                "no pattern",
            ),
            ("[mcp_servers.a__b]\ncommand = \"x\"\n", "is no name of a server"),
            ("[mcp_servers.\"a b\"]\ncommand = \"x\"\n", "is no name of a server"),
            (
                "[mcp_servers.a]\nurl = \"https://h\"\nheaders = { \"a b\" = \"\" }\n",
                "no name of a header",
            ),
            (
                "[mcp_servers.a]\nurl = \"https://h\"\noauth = { client_secret = \"s\" }\n",
                "no client_id",
            ),
            (
                "[mcp_servers.a]\ncommand = \"x\"\nsecrets = { T = \"s\" }\n",
                "there is no [secrets.s]",
            ),
        ] {
            let why = server(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
        for text in [
            "[mcp_servers.a]\ncommand = \"x\"\nhosts = [\"h.example\", \"127.0.0.1:8080\"]\nwrites = [\".\"]\n",
            "[mcp_servers.a-1_b]\nurl = \"http://127.0.0.1:1/mcp\"\nheaders = { x-team = \"blue\" }\n",
        ] {
            assert_eq!(server(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn z7_a_secret_is_given_only_to_servers_that_reach_its_hosts() {
        let with = |server: &str| {
            format!(
                "[secrets.s]\nenv = \"T\"\nhosts = [\"api.example\"]\n[mcp_servers.a]\n{server}\n"
            )
        };
        let given = "secrets = { T = \"s\" }";
        assert_eq!(server(&with(&format!("command = \"x\"\n{given}"))), Ok(()));
        let own = format!("command = \"x\"\nhosts = [\"api.example\"]\n{given}");
        assert_eq!(server(&with(&own)), Ok(()));
        let other = format!("command = \"x\"\nhosts = [\"evil.example\"]\n{given}");
        assert!(server(&with(&other)).is_err_and(|why| why.contains("evil.example")));
        let address = format!("url = \"https://api.example/mcp\"\n{given}");
        assert_eq!(server(&with(&address)), Ok(()));
        let address = format!("url = \"https://api.example:8443/mcp\"\n{given}");
        assert!(server(&with(&address)).is_err_and(|why| why.contains(":8443")));
    }
}
