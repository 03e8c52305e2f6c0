//! What a person does about the run that is on without ending it: it is paused, and goes on (R5). Not here:
//! the kill switch, which ends runs ([`super::CancelRequested`]).

use serde::{Deserialize, Serialize};

/// A person paused the run: what is under way is finished, nothing new begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RunPaused {
    /// Name of the person who paused it.
    pub by: String,
}

/// A person let the run go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RunResumed {
    /// Name of the person who let it go on.
    pub by: String,
}
