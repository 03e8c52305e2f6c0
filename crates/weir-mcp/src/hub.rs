//! All servers of a session. They are started when they are first used, each by itself, and end
//! with the hub. Not here: what one server does.
//!
//! An async function is compiled anew by every crate that awaits it, with all that it awaits; a boxed future by
//! its own crate alone. So what crates beside this one ask for is boxed here and in `server` (Q23).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use weir_core::tool::{RawResult, foreign};
use weir_engine::ports::{McpServers, ProgressSink, ServerRead, Tool, ToolContext};

use crate::connect::{RequestScope, ServerListKind};
use crate::handler::ServerChange;
use crate::listing::ServerListing;
use crate::pin::ServerPin;
use crate::ports::McpOptions;
use crate::sampling::SamplingTool;
use crate::server::McpServer;
use crate::spec::ServerSpec;
use crate::state::ServerReport;
use crate::tool::ForeignTool;

/// Changes that may wait for whoever listens; older ones are dropped.
const CHANGES_MAX: usize = 256;

/// All servers of a session.
pub struct McpHub {
    servers: BTreeMap<String, Arc<McpServer>>,
    /// What a server said of itself since somebody looked.
    changes: tokio::sync::Mutex<broadcast::Receiver<ServerChange>>,
}

impl McpHub {
    /// Servers as they are declared, with what was approved of them, by name. Starts nothing. Of two
    /// servers of one name the first counts.
    pub fn new(
        specs: Vec<ServerSpec>,
        mut pins: BTreeMap<String, ServerPin>,
        options: McpOptions,
    ) -> McpHub {
        let options = Arc::new(options);
        let (changes, heard) = broadcast::channel(CHANGES_MAX);
        let mut servers = BTreeMap::new();
        for spec in specs {
            let name = spec.name.clone();
            if servers.contains_key(&name) {
                tracing::warn!(
                    name,
                    origin = spec.origin,
                    "a server of this name is there already"
                );
                continue;
            }
            let pin = pins.remove(&name);
            let server = McpServer::new(spec, pin, options.clone(), changes.clone());
            servers.insert(name, Arc::new(server));
        }
        McpHub { servers, changes: tokio::sync::Mutex::new(heard) }
    }

    /// Starts every approved server, all at once. One that fails holds up no other.
    pub async fn connect_all(&self) -> Vec<ServerReport> {
        let approved = self.servers.values().filter(|server| server.closed_reason().is_none());
        join_all(approved.map(|server| server.open_connection())).await;
        self.server_reports()
    }

    /// The approved tools of all servers whose declaration is the approved one, by name, and what stands for
    /// the questions of those that may ask the model. Known without starting any.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: BTreeMap<String, Arc<dyn Tool>> = BTreeMap::new();
        for server in self.servers.values().filter(|server| server.closed_reason().is_none()) {
            if let Some(asks) = SamplingTool::of_server(server) {
                tools.insert(asks.spec().name.clone(), Arc::new(asks));
            }
            let listed = server.pin.iter().flat_map(|pin| &pin.listing.tools);
            for (name, tool) in listed {
                let ours = foreign::foreign_tool_name(&server.spec.name, name);
                tools.entry(ours).or_insert_with(|| Arc::new(ForeignTool::new(server, name, tool)));
            }
        }
        tools.into_values().collect()
    }

    /// How each server stands.
    pub fn server_reports(&self) -> Vec<ServerReport> {
        self.servers.values().map(|server| server.report()).collect()
    }

    /// The declaration and the pin of a server.
    pub fn declaration_of(&self, server: &str) -> Option<(&ServerSpec, Option<&ServerPin>)> {
        self.servers.get(server).map(|server| (&server.spec, server.pin.as_ref()))
    }

    /// Starts a server only to see what it offers, whether anybody approved it or not, and ends it
    /// again: for a person who is about to decide.
    ///
    /// # Errors
    /// There is none of this name, or why it cannot be asked.
    pub async fn fetch_listing(&self, server: &str) -> Result<ServerListing, String> {
        self.find_server(server)?.fetch_listing().await
    }

    /// Calls a tool for a person's command, without gate or journal. The model's calls do not go
    /// this way.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        timeout_ms: u64,
    ) -> Result<Value, String> {
        self.call_for_person(server, tool, arguments, timeout_ms).await
    }

    fn call_for_person<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: Map<String, Value>,
        timeout_ms: u64,
    ) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let (cancel, progress) = (CancellationToken::new(), ProgressSink::none());
            let server = self.find_server(server)?;
            let idle_ms = server.spec.timeouts.call_ms.unwrap_or(timeout_ms).min(timeout_ms);
            let (cancel, progress) = (&cancel, &progress);
            let way = RequestScope { cancel, progress, caller: None, idle_ms, hard_ms: timeout_ms };
            let result = server.call_tool(tool, arguments, &way).await?;
            serde_json::to_value(result).map_err(|error| error.to_string())
        })
    }

    /// The resources of a server, as it describes them.
    ///
    /// # Errors
    /// Why they cannot be listed.
    pub async fn list_resources(&self, server: &str) -> Result<Vec<Value>, String> {
        self.fetch_list(server, ServerListKind::Resources).await
    }

    /// The prompts of a server, as it describes them.
    ///
    /// # Errors
    /// Why they cannot be listed.
    pub async fn list_prompts(&self, server: &str) -> Result<Vec<Value>, String> {
        self.fetch_list(server, ServerListKind::Prompts).await
    }

    fn fetch_list<'a>(
        &'a self,
        server: &'a str,
        list: ServerListKind,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>> {
        Box::pin(async move {
            let server = self.find_server(server)?;
            let connection = server.open_connection().await?;
            match connection.fetch_list(list).await {
                Ok(entries) => Ok(entries),
                Err(failed) => Err(server.after_failure(&connection, failed).await),
            }
        })
    }

    /// Signs a person in at a server, whatever tokens there are.
    ///
    /// # Errors
    /// There is none of this name, nobody can be brought there, or why it failed.
    pub async fn sign_in(&self, server: &str) -> Result<(), String> {
        let server = self.find_server(server)?;
        server.close().await;
        server.sign_in(None).await
    }

    /// Ends a server; the next use starts it again.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be started again.
    pub async fn restart_server(&self, server: &str) -> Result<(), String> {
        let server = self.find_server(server)?;
        server.close().await;
        server.open_connection().await.map(drop)
    }

    /// Ends all of them, and waits until they have.
    pub async fn close(&self) {
        join_all(self.servers.values().map(|server| server.close())).await;
    }

    fn find_server(&self, name: &str) -> Result<&Arc<McpServer>, String> {
        self.servers.get(name).ok_or_else(|| match self.servers.is_empty() {
            true => format!("There is no server {name}: none is declared here."),
            false => {
                let names: Vec<&str> = self.servers.keys().map(String::as_str).collect();
                format!("There is no server {name}; there are: {}.", names.join(", "))
            }
        })
    }
}

#[async_trait]
impl McpServers for McpHub {
    fn server_states(&self) -> Vec<(String, String)> {
        self.server_reports()
            .into_iter()
            .map(|report| (report.name, report.state.in_short()))
            .collect()
    }

    fn is_contained(&self, server: &str) -> bool {
        self.find_server(server).is_ok_and(|server| server.spec.is_contained())
    }

    fn take_tool_changes(&self) -> Vec<String> {
        self.servers.values().filter_map(|server| server.take_tool_change()).collect()
    }

    async fn tools_changed(&self) {
        let mut changes = self.changes.lock().await;
        loop {
            let changed = match changes.recv().await {
                Ok(ServerChange { server, what: "tools" | "connection" }) => vec![server],
                Ok(_) => continue,
                // Too many at once: whoever it was is among all of them.
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    self.servers.keys().cloned().collect()
                }
                Err(broadcast::error::RecvError::Closed) => return std::future::pending().await,
            };
            for server in changed.iter().filter_map(|name| self.servers.get(name)) {
                server.look_if_stale().await;
                if server.has_tool_change() {
                    return;
                }
            }
        }
    }

    async fn read_server(&self, server: &str, what: ServerRead, cx: &ToolContext) -> RawResult {
        match self.find_server(server) {
            Ok(server) => crate::read::read_server(server, what, cx).await,
            Err(why) => RawResult::error(why),
        }
    }
}
