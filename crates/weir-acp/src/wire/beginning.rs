//! How an editor and its agent begin: what each can do, and how a model is made ready.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the editor says of itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct InitializeParams {
    /// What it can do.
    pub(crate) client_capabilities: ClientCapabilities,
    /// Its name and version.
    pub(crate) client_info: Option<Value>,
}

/// What the editor can do, as far as it matters here.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientCapabilities {
    /// How somebody signs in.
    pub(crate) auth: ClientAuth,
    /// What it does about its files.
    pub(crate) fs: ClientFs,
    /// It makes terminals.
    pub(crate) terminal: bool,
    /// What it does about sessions.
    pub(crate) session: Option<ClientSession>,
    /// How it asks a person.
    pub(crate) elicitation: Option<ClientElicitation>,
}

/// How somebody signs in.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClientAuth {
    /// It can start the agent in a terminal.
    pub(crate) terminal: bool,
}

/// What the editor does about its files.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientFs {
    /// It gives their text, with what is not saved.
    pub(crate) read_text_file: bool,
    /// It takes text and saves it.
    pub(crate) write_text_file: bool,
}

/// What the editor does about sessions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClientSession {
    /// It shows notices.
    pub(crate) notices: Option<Value>,
    /// It shows how the context is made shorter.
    pub(crate) compaction: Option<Value>,
}

/// How the editor asks a person.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClientElicitation {
    /// By a form.
    pub(crate) form: Option<Value>,
    /// By opening a page.
    pub(crate) url: Option<Value>,
}

/// The answer to `initialize`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InitializeResult {
    /// The version that is spoken.
    pub(crate) protocol_version: u16,
    /// What can be done.
    pub(crate) agent_capabilities: AgentCapabilities,
    /// How a model is made ready.
    pub(crate) auth_methods: Vec<AuthMethod>,
    /// Who answers.
    pub(crate) agent_info: Implementation,
}

/// A program by its name.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Implementation {
    /// For programs.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) title: &'static str,
    /// Its version.
    pub(crate) version: &'static str,
}

/// What can be done here.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentCapabilities {
    /// Sessions can be loaded.
    pub(crate) load_session: bool,
    /// What a prompt may hold beside text and links.
    pub(crate) prompt_capabilities: PromptCapabilities,
    /// Which servers are taken from the editor.
    pub(crate) mcp_capabilities: McpCapabilities,
    /// Methods beyond those that everybody has.
    pub(crate) session_capabilities: SessionCapabilities,
}

/// What a prompt may hold beside text and links.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptCapabilities {
    /// Images.
    pub(crate) image: bool,
    /// Sound.
    pub(crate) audio: bool,
    /// Files with their content.
    pub(crate) embedded_context: bool,
}

/// Which servers are taken from the editor.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct McpCapabilities {
    /// Over HTTP.
    pub(crate) http: bool,
    /// Over server-sent events.
    pub(crate) sse: bool,
}

/// A capability that is there and has no options.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EmptyCapability {}

/// Methods beyond those that everybody has.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionCapabilities {
    /// `session/list`.
    pub(crate) list: EmptyCapability,
    /// `session/resume`.
    pub(crate) resume: EmptyCapability,
    /// `session/close`.
    pub(crate) close: EmptyCapability,
    /// `session/delete`.
    pub(crate) delete: EmptyCapability,
    /// `session/fork`, which is not in the stable protocol yet.
    pub(crate) fork: EmptyCapability,
    /// A session may have folders beside its own.
    pub(crate) additional_directories: EmptyCapability,
}

/// A way to make a model ready.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AuthMethod {
    /// `terminal`: the editor starts the agent in a terminal. None: it is done elsewhere.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    /// Its name in `authenticate`.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) description: &'static str,
    /// What is added to the command line of the agent, in a terminal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) args: Vec<&'static str>,
}

/// Parameters of `authenticate`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthenticateParams {
    /// Which way.
    pub(crate) method_id: String,
}
