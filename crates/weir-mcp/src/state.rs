//! How a server stands, as people and the model are told. Not here: how that comes about.

use crate::listing::ServerListing;

/// How a server stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// Approved, and nobody needed it yet.
    NotStarted,
    /// It is being started.
    Starting,
    /// Connected.
    Ready {
        /// How many tools it offers.
        tools: usize,
        /// Whether it has resources.
        resources: bool,
        /// Whether it has prompts.
        prompts: bool,
        /// The revision of the protocol that both speak.
        protocol: String,
    },
    /// It could not be started or reached, or died.
    Failed {
        /// The reason, as a sentence for people.
        why: String,
    },
    /// Nobody has approved it: none of its words reach a model.
    Unpinned,
    /// It is not as it was approved; what differs is closed.
    Changed {
        /// What differs, in words for a person. They quote the server.
        diff: String,
    },
    /// Switched off where it is declared.
    Disabled,
}

impl ServerState {
    /// A few words without anything that the server said of itself.
    pub fn in_short(&self) -> String {
        match self {
            ServerState::NotStarted => "not started yet".into(),
            ServerState::Starting => "being started".into(),
            ServerState::Ready { tools, protocol, .. } => {
                format!("connected, {tools} tools, protocol {protocol}")
            }
            ServerState::Failed { .. } => "failed".into(),
            ServerState::Unpinned => "not approved by anybody yet".into(),
            ServerState::Changed { .. } => "not as it was approved".into(),
            ServerState::Disabled => "switched off".into(),
        }
    }
}

/// What is known of a server, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerReport {
    /// Name of the server.
    pub name: String,
    /// File and line of the declaration.
    pub origin: String,
    /// How it stands.
    pub state: ServerState,
    /// What it offers, as far as it is known: as approved, or as it said last.
    pub listing: Option<ServerListing>,
    /// The end of what its process wrote to standard error.
    pub errors: String,
}
