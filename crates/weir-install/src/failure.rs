//! The error of a person who used the installation wrongly. Not here: exit statuses, which are the
//! program's.

use std::fmt;

use weir_engine::engine::EngineError;
use weir_engine::ports::StoreError;

/// A usage or configuration error: nothing was run. Its text says what is wrong and what to do.
#[derive(Debug)]
pub struct UsageError(String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// A usage or configuration error: nothing was run.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
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
