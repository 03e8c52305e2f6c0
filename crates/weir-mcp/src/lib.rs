//! Foreign tools in: the client of MCP servers (F4, Z8).
//!
//! A [`McpHub`] owns the servers of one session. It knows their tools from what a person saw and
//! approved (a [`ServerPin`]), starts a server when it is first used, compares what the server says with
//! the pin at every connection, and runs calls. Everything that comes from a server is untrusted:
//! bounded, labelled as foreign, and never believed about itself.
//!
//! Not here: where servers are declared and how they are approved (commands of `weir`), whether a
//! call may run (the gate), how a process is confined (the port [`ServerLauncher`]).
#![warn(missing_docs)]

mod auth;
mod changes;
mod connect;
mod declared;
mod handler;
mod hash;
mod http;
mod hub;
mod listing;
mod pin;
mod ports;
mod propose;
mod read;
mod result;
mod sampling;
mod schema;
mod server;
mod spec;
mod state;
mod text;
mod tool;
mod transport;
mod wire;

pub use declared::{
    DeclarationSource, DeclaredTool, ShippedDeclaration, ToolDeclarations, check_tool_pattern,
    is_literal_tool_name,
};
pub use hub::McpHub;
pub use listing::{ListedTool, ServerListing, TOOLS_MAX};
pub use pin::{DifferenceKind, PinDifference, ServerIdentity, ServerPin, in_words};
pub use ports::{
    Authorizer, Elicitation, ElicitationHandler, ElicitationOutcome, LaunchedProcess, McpOptions,
    Sampler, SamplingFailure, SamplingRequest, SamplingResult, SamplingRole, SamplingTurn,
    ServerLauncher, ServerProcess, TokenStore,
};
pub use propose::{DeclarationProposal, declaration_toml, propose_declaration};
pub use spec::{
    FromPackage, OAuthSettings, ServerReach, ServerSpec, ServerTimeouts, ServerTransport,
};
pub use state::{ServerReport, ServerState};
