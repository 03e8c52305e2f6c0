//! Settings of Weir as an MCP server (R2). Not here: serving (`mcp_serving`).

use serde::{Deserialize, Serialize};

/// Weir as an MCP server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct McpServeSettings {
    /// How you are asked about calls of another agent: ask (by its own program where that can show a
    /// form, and everywhere else), elsewhere (not by its program) or deny (nobody is asked: what needs
    /// an answer is refused). Where nobody set it, /mcp of a server has elsewhere. With ask and foreign trust
    /// a form decides about ordinary changes and commands without network only.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "ApprovalWay"))]
    pub approvals: ApprovalWay,
    /// Whose words the calls of another agent are: foreign (what it has read is not known here) or own
    /// (yours, as those of an agent of Weir's that has read nothing).
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "ClientTrust"))]
    pub trust: ClientTrust,
    /// What it means which folders another agent says that it has open (roots), for `weir mcp`: ignore
    /// (nothing) or follow (its calls and files are refused unless the folder of `weir mcp` is among
    /// them). It never opens anything. An agent that says nothing of folders is served as with ignore.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "ClientRoots"))]
    pub roots: ClientRoots,
    /// Another agent may call extract_fields, and its own model answers it (sampling): it reads what
    /// stands behind handles, and what it says comes back in fields alone.
    pub sampling: bool,
}

/// How a person is asked about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalWay {
    /// By the client, where it can show a form (elicitation); everywhere else at the same time.
    #[default]
    Ask,
    /// Not by the client: in a terminal, browser or chat of Weir's, or with `weir approvals answer`.
    Elsewhere,
    /// Nobody is asked: what needs an answer is refused at once.
    Deny,
}

/// What a client's own folders mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClientRoots {
    /// Nothing: the folder is the one that was chosen here.
    #[default]
    Ignore,
    /// The folder that was chosen here must be among them, or nothing is called.
    Follow,
}

/// Whose words a client's calls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClientTrust {
    /// Anybody's: what it may have read is not known here, so its calls count as decided by foreign words.
    #[default]
    Foreign,
    /// The person's own, as those of an agent of Weir's that has read nothing yet.
    Own,
}
