//! Errors of the installation: of a person who used it wrongly, and of what could not be done for a
//! person on a server. Not here: exit statuses, which are the program's.

use std::fmt;

use weir_engine::engine::EngineError;
use weir_engine::ports::StoreError;

/// A usage or configuration error: nothing was run. Its text says what is wrong and what to do.
#[derive(Debug)]
pub struct UsageError {
    message: String,
    /// It was decided about something that is another one meanwhile.
    is_stale: bool,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

/// A usage or configuration error: nothing was run.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError { message: message.into(), is_stale: false }.into()
}

/// The same, where nothing is wrong with what was asked but that it is about something that changed
/// since it was looked at: looking again and deciding anew may do.
pub fn stale(message: impl Into<String>) -> anyhow::Error {
    UsageError { message: message.into(), is_stale: true }.into()
}

/// An engine's error: a session that somebody else runs is a usage error that names them (C2).
pub fn engine_failure(error: EngineError) -> anyhow::Error {
    match &error {
        EngineError::Store(StoreError::Held { .. }) => {
            usage(format!("{error}; wait until it ends, or end it, and try again"))
        }
        EngineError::Store(_)
        | EngineError::Session(_)
        | EngineError::Stopped
        | EngineError::Crashed
        | EngineError::Refused(_) => error.into(),
    }
}

/// Something could not be done for a person.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// What was asked for cannot be: a sentence that says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// It is about something that changed since it was looked at: a sentence. Nothing was done.
    #[error("{0}")]
    Stale(String),
    /// There is no such thing.
    #[error("{0} does not exist")]
    Missing(String),
    /// It failed here: a program, a file.
    #[error("{0}")]
    Failed(String),
    /// The store refused: disk or database.
    #[error(transparent)]
    Store(#[from] weir_engine::ports::StoreError),
}

/// An error in words for whoever asked.
pub fn refused(error: &anyhow::Error) -> InstallationError {
    let of_store = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref() {
        Some(EngineError::Store(error)) => Some(error.clone()),
        _ => cause.downcast_ref::<StoreError>().cloned(),
    };
    match error.chain().find_map(of_store) {
        // Nobody who asks can do anything about that.
        Some(error @ (StoreError::Damaged { .. } | StoreError::Io { .. })) => error.into(),
        _ if error.downcast_ref::<UsageError>().is_some_and(|error| error.is_stale) => {
            InstallationError::Stale(format!("{error:#}"))
        }
        _ => InstallationError::Refused(format!("{error:#}")),
    }
}
