//! An MCP server as it is declared for a workspace (C8). Not here: reading the declarations
//! (`crate::servers`).

use crate::config::McpServerSettings;

/// A declared server.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredServer {
    /// Name of the server.
    pub name: String,
    /// File and line, or who brings it.
    pub place: String,
    /// Whose file that is.
    pub whose: ServerOwner,
    /// What is said of it, variables filled in.
    pub settings: McpServerSettings,
    /// Why it cannot be used, and what to do.
    pub problem: Option<String>,
}

/// Whose file declares a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerOwner {
    /// The person's settings.
    User,
    /// The settings of the trusted workspace.
    Project,
    /// `.mcp.json` of the trusted workspace.
    McpJson,
    /// No file: an editor brings it to the sessions that it opens (R1).
    Editor,
}

/// Every declared server, by name, and notes for a person.
pub type DeclaredServers = (Vec<DeclaredServer>, Vec<String>);
