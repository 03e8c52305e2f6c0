//! What of sessions is not the engine's: taking them along, removing them, naming them.

use async_trait::async_trait;
use weir_core::ids::SessionId;

use super::HouseError;

/// In which form a session is taken along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Every fact a line, and the bytes that they mention (C6).
    Jsonl,
    /// For reading.
    Markdown,
    /// For reading, in one file.
    Html,
}

/// A person's sessions beside their engine.
#[async_trait]
pub trait SessionDesk: Send + Sync {
    /// A session as a file.
    ///
    /// # Errors
    /// There is none, or its journal does not hold together.
    async fn export(
        &self,
        session: &SessionId,
        format: ExportFormat,
    ) -> Result<Vec<u8>, HouseError>;
    /// Removes a session with its sub-agents: journals, blobs, checkpoints, results, records of
    /// commands (D9). What is kept of them in the server's own records is the caller's.
    ///
    /// # Errors
    /// Somebody has one of them now, or something could not be removed: it can be done again.
    async fn delete(&self, session: &SessionId) -> Result<(), HouseError>;
    /// Whether a helper model names chats.
    fn names_chats(&self) -> bool;
    /// A short name for a chat that began with `said` and the answer `answer`; none: no helper model
    /// does this.
    ///
    /// # Errors
    /// The model cannot be asked.
    async fn title(&self, said: &str, answer: &str) -> Result<Option<String>, HouseError>;
}
