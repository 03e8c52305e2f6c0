//! Why a session could not be opened or went down, for whoever has it. Not here: what a model is told.

use crate::ports::StoreError;

/// Why a session could not be opened or went down.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store refused: effects have stopped.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session exists already, or does not exist.
    #[error("{0}")]
    Session(String),
    /// The loop is gone.
    #[error("the session has stopped")]
    Stopped,
    /// The loop met a bug of its own; other sessions go on.
    #[error("the engine crashed in this session; the log says where")]
    Crashed,
    /// The command answers nothing that is open.
    #[error("{0}")]
    Refused(String),
}
