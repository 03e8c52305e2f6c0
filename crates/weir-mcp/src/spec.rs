//! What a person declares of a server: how it is reached and what it may do. Not here: where that
//! is written down.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_core::secret::Secret;

use crate::declared::ToolDeclarations;

/// A server as a person declared it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// Its name, unique among those of a session.
    pub name: String,
    /// Where it is declared, for people: `.mcp.json`, `config.toml: mcp_servers.git`.
    pub origin: String,
    /// How it is reached.
    pub transport: ServerTransport,
    /// The installed package that its program is part of, if it is.
    pub package: Option<FromPackage>,
    /// What its process may touch. Counts for [`ServerTransport::Stdio`] only.
    pub reach: ServerReach,
    /// How long it may take.
    pub timeouts: ServerTimeouts,
    /// What is said of its tools.
    pub declared: ToolDeclarations,
    /// It may ask the session's model questions of its own (sampling).
    pub sampling: bool,
    /// The revision of the protocol to speak; none: the newest that both know.
    pub protocol: Option<String>,
    /// How to sign in. Counts for [`ServerTransport::Http`] only.
    pub oauth: OAuthSettings,
    /// Off: it is listed and never started.
    pub enabled: bool,
}

impl ServerSpec {
    /// Whether its process can neither reach anything nor write anywhere but where its own temporary
    /// files are: the sandbox in which it is started holds it to that.
    pub fn is_contained(&self) -> bool {
        self.changes_workspace_only() && !self.reach.writes_workspace
    }

    /// Whether its process can reach nothing, and write nowhere but in the workspace and where its own
    /// temporary files are: a checkpoint stands before what it does.
    pub(crate) fn changes_workspace_only(&self) -> bool {
        let reach = &self.reach;
        matches!(self.transport, ServerTransport::Stdio { .. })
            && !reach.unconfined
            && reach.hosts.is_empty()
            && reach.writes.is_empty()
            && !self.sampling
    }

    /// A server that is reached by `transport`, with nothing further said about it.
    pub fn new(
        name: impl Into<String>,
        origin: impl Into<String>,
        transport: ServerTransport,
    ) -> ServerSpec {
        ServerSpec {
            name: name.into(),
            origin: origin.into(),
            transport,
            package: None,
            reach: ServerReach::default(),
            timeouts: ServerTimeouts::default(),
            declared: ToolDeclarations::default(),
            sampling: false,
            protocol: None,
            oauth: OAuthSettings::default(),
            enabled: true,
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A child process that speaks on its standard streams.
    Stdio {
        /// The program: a path, or a name on the search path.
        command: String,
        /// Arguments after the program, one word each.
        args: Vec<String>,
        /// The variables that it gets beside a search path, a language and a home of its own.
        env: BTreeMap<String, Secret>,
        /// The folder that it runs in; none: the workspace.
        cwd: Option<PathBuf>,
    },
    /// A server on the network (streamable HTTP).
    Http {
        /// Address of the server.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, Secret>,
    },
}

/// A package that was installed for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromPackage {
    /// Its name, exact version and checksums: a person approves these.
    pub pinned: String,
    /// Where it lies. The process may read it.
    pub folder: PathBuf,
}

/// What the process of a server may touch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerReach {
    /// Hosts that it may reach, through the proxy; empty: no network.
    pub hosts: Vec<String>,
    /// Absolute folders and files below the home that it may read. The rest of the home is hidden.
    pub reads: Vec<PathBuf>,
    /// Absolute folders and files that it may write.
    pub writes: Vec<PathBuf>,
    /// It may write in the workspace, which it otherwise only reads.
    pub writes_workspace: bool,
    /// It may run where no sandbox works, or outside of it.
    pub unconfined: bool,
}

/// How long a server may take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTimeouts {
    /// To start and to say what it offers.
    pub start_ms: u64,
    /// To answer a call, when it says nothing meanwhile; none: the session's `tool_timeout`, which
    /// is the most in any case.
    pub call_ms: Option<u64>,
}

impl Default for ServerTimeouts {
    fn default() -> ServerTimeouts {
        ServerTimeouts { start_ms: 10_000, call_ms: None }
    }
}

/// How to sign in at an HTTP server (OAuth 2.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OAuthSettings {
    /// The client that was registered by hand; none: it is registered when first needed.
    pub client_id: Option<String>,
    /// The secret of that client, where it has one.
    pub client_secret: Option<Secret>,
    /// An address at which the client describes itself, for servers that want no registration.
    pub client_metadata_url: Option<String>,
    /// What to ask for; empty: what the server names.
    pub scopes: Vec<String>,
    /// The port on loopback at which the answer comes in; none: any.
    pub callback_port: Option<u16>,
}
