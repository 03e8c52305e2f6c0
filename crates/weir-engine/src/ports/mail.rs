//! Letters to a session from another process: how any face answers what another one asked (G4).

use serde::{Deserialize, Serialize};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::input::PersonCommand;

/// A person's command to a session that another process may be running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteCommand {
    /// Its number in the store, given when it is posted; 0 before.
    pub id: u64,
    /// To which session.
    pub session: SessionId,
    /// From whom.
    pub by: String,
    /// When the command was sent, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// What the session is told.
    pub command: PersonCommand,
}
