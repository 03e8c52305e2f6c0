//! The facts that a session goes on with another model (V8), and that its model is told its tools in another way
//! (V5). The kinds stand in the list of [`super::Event`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;
use crate::ids::TurnId;

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

/// The server of the model takes no tools with a request: from now on they stand in the prompt, and calls are read
/// from the text (V5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsRefused {
    /// In which turn it was found.
    pub turn: TurnId,
    /// The model, as `provider/name`.
    pub model: String,
    /// The server's words.
    pub message: String,
}
