//! The facts of requests to the model, that a session goes on with another one (V8), and that its model is told
//! its tools in another way (V5). The kinds stand in the list of [`super::Event`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;
use crate::ids::TurnId;
use crate::label::Label;
use crate::message::MessageBlock;
use crate::model::{FailureClass, StopReason, Usage};

/// A request was encoded and is about to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelRequested {
    /// For which turn.
    pub turn: TurnId,
    /// To whom.
    pub provider: String,
    /// Name of the model, as `provider/name`.
    pub model: String,
    /// Size of the body.
    pub bytes: u64,
    /// Bytes of the request before that stand unchanged at its start.
    pub prefix_bytes: u64,
    /// Estimated tokens of the whole request.
    pub tokens_estimated: u64,
    /// Why less than the whole request before was kept, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_lost: Option<String>,
    /// The join of everything that the request contains (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}

/// A request failed in a way that may pass; it is sent again after `wait_ms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelRetried {
    /// Number of the turn in its session.
    pub turn: TurnId,
    /// The attempt that failed: 1, 2, …
    pub attempt: u32,
    /// What kind of failure.
    pub class: FailureClass,
    /// Wait before the next attempt.
    pub wait_ms: u64,
    /// What went wrong.
    pub message: String,
    /// What it used all the same, as an estimate: its stream broke off, or it was sent and nothing came.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// The cost of that, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A request failed for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelFailed {
    /// Number of the turn in its session.
    pub turn: TurnId,
    /// What kind of failure.
    pub class: FailureClass,
    /// What went wrong, and what to do.
    pub message: String,
    /// What it used all the same, as an estimate: its stream broke off, or it was sent and nothing came.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// The cost of that, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The model that is to go on in its place (V8); absent: the run ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ModelReplied {
    /// Number of the turn in its session.
    pub turn: TurnId,
    /// Text, reasoning and calls of the reply, in order.
    pub content: Vec<MessageBlock>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What the vendor counted; an estimate where it was interrupted, or the vendor counted nothing.
    pub usage: Usage,
    /// The cost of the request, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What was put right in calls that the model wrote as text, or left alone, in words (V5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<String>,
    /// The vendor counted nothing of this whole reply, so it is estimated (R11).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// Why a session is to speak with another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ToolsRefused {
    /// In which turn it was found.
    pub turn: TurnId,
    /// The model, as `provider/name`.
    pub model: String,
    /// The server's words.
    pub message: String,
}
