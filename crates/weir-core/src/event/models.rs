//! The fact that a session goes on with another model (V8). The kinds stand in the list of [`super::Event`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;

/// Why a session is to speak with another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SwitchCause {
    /// The one before failed for good.
    Failure,
    /// A rule says that work of this size or kind is for it.
    Rule,
    /// It is the one that was chosen, and a run begins for which nothing else holds.
    Chosen,
}

/// The session goes on with another model, or could not (V8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSwitched {
    /// The model that was to go on, as it is named.
    pub model: String,
    /// The one before, as it is named.
    pub from: String,
    /// What made the switch necessary.
    pub cause: SwitchCause,
    /// Why, in words.
    pub reason: String,
    /// Why it cannot be spoken with here; then everything is as it was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// All settings from now on; absent where it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Arc<SessionConfig>>,
}
