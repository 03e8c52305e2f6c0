//! Foreign servers, for the tool that looks at what they offer. Calls of their tools do not go this
//! way: each of those is a tool of its own. Not here: how a server is reached.

use async_trait::async_trait;
use serde_json::Value;
use weir_core::tool::RawResult;

use super::ToolContext;

/// What is read of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerRead {
    /// The names of the tools, resources and prompts that the server offers.
    Overview,
    /// One tool with its schema.
    Tool(String),
    /// A resource, by its address.
    Resource(String),
    /// A prompt, filled in.
    Prompt {
        /// Name of the prompt.
        name: String,
        /// Values for the parameters of the prompt, as a JSON object.
        arguments: Value,
    },
}

/// The foreign servers of a session (F4).
#[async_trait]
pub trait McpServers: Send + Sync {
    /// Their names, and in a few words how each stands.
    fn server_states(&self) -> Vec<(String, String)>;
    /// Whether what this server is told stays on this machine: its sandbox has no network and no
    /// place to write. What is not known is not contained.
    fn is_contained(&self, _server: &str) -> bool {
        false
    }
    /// What was not told yet of servers whose tools are not as a person approved them: a sentence for each, with
    /// what to do. What was told once is not told again as long as it stays so.
    fn take_tool_changes(&self) -> Vec<String> {
        Vec::new()
    }
    /// Waits until there may be something of that kind to tell. It starts no server, and may be dropped at any
    /// time.
    async fn tools_changed(&self) {
        std::future::pending().await
    }
    /// Reads of one. It is started when it does not run. All that it gives back is foreign.
    async fn read_server(&self, server: &str, what: ServerRead, cx: &ToolContext) -> RawResult;
}

/// There are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServers;

#[async_trait]
impl McpServers for NoServers {
    fn server_states(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    async fn read_server(&self, server: &str, _: ServerRead, _: &ToolContext) -> RawResult {
        RawResult::error(format!("There is no server {server}: none is declared here."))
    }
}
