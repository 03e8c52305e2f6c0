//! Facts about what the model is told beside the conversation: profile, condensing, recall, skills,
//! memory. The kinds stand in the list of [`super::Event`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;
use crate::ids::{CallId, TurnId};
use crate::knowledge::memory::MemoryNote;
use crate::label::Label;
use crate::message::Message;
use crate::usage::Usage;

use super::keep::KeepRequest;

/// The agent has another profile (P7). The prompt was rebuilt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ProfileSwitched {
    /// The new profile.
    pub profile: String,
    /// Name of the profile before the switch.
    pub from: String,
    /// Why, in the words of whoever wanted it.
    pub reason: String,
    /// Tools and settings of the new profile that are missing here, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All settings from now on.
    pub config: Arc<SessionConfig>,
}

/// Why the context is condensed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CondenseReason {
    /// The next request would pass the threshold (X2).
    Threshold,
    /// The vendor said that the request does not fit (X3).
    Overflow,
    /// A person wants it.
    Asked,
}

/// Condensing begins: nothing has changed yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextCondensing {
    /// What made condensing necessary.
    pub reason: CondenseReason,
    /// What the person who wants it wants the summary to keep, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeepRequest>,
    /// Estimated tokens of the next request.
    pub tokens: u64,
    /// Tokens that the model's window has.
    pub window: u64,
    /// The reply whose request the server had cut: it is not used (R6). Absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutRequest>,
}

/// A reply to less than what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CutRequest {
    /// What the server counted: it was used, so it counts.
    pub usage: Usage,
    /// The cost of the request, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// What a helper model made of the part that will be hidden. Nothing has changed yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextSummarised {
    /// Its words; absent: none were needed, or none came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why none came, when they were needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Facts that were put into memory first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryNote>,
    /// Tokens of the helper: they count.
    #[serde(default)]
    pub usage: Usage,
    /// The cost of the tokens, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Where an entry of the model's view comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MessageOrigin {
    /// What a person said.
    Person,
    /// What the model said.
    Model,
    /// Results of calls, and notes of the engine.
    Told,
    /// What stands for hidden messages.
    Summary,
}

/// An entry of the model's view with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HistoryEntry {
    /// Whether a person, the model, the engine or a summary speaks in it.
    pub origin: MessageOrigin,
    /// The entry, shared with the view that it is taken from.
    pub message: Arc<Message>,
}

/// The model's view became shorter; the journal did not (X2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextCondensed {
    /// What made condensing necessary.
    pub reason: CondenseReason,
    /// The last pass that was needed: 1 shortened results, 2 dropped noise, 3 summarised.
    pub pass: u8,
    /// What now stands before the messages that were kept.
    pub head: Vec<HistoryEntry>,
    /// How many messages at the end were kept word for word.
    pub kept: u32,
    /// How many messages are hidden or shortened.
    pub hidden: u32,
    /// The last turn that is hidden or shortened.
    pub through: TurnId,
    /// Estimated tokens of the next request before.
    pub tokens_before: u64,
    /// And after.
    pub tokens_after: u64,
    /// The strictest label of what is hidden.
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}

/// The last condensing was taken back: the model sees again what it hid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextUncondensed {
    /// Name of the person who undid the condensing.
    pub by: String,
}

/// The model found something that it no longer saw (X4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ContextRecalled {
    /// By which call.
    pub call: CallId,
    /// The words that were searched for.
    pub words: String,
    /// Facts whose text it was given.
    pub passages: Vec<u64>,
}

/// The agent was reminded of its role (L10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SteeringReminded {
    /// After which model call of the run.
    pub iteration: u32,
    /// The reminder as the model reads it.
    pub text: String,
}

/// A skill is active from now on (M1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SkillActivated {
    /// Name of the skill.
    pub skill: String,
    /// Path of the file, or the plugin, that the skill is from.
    pub source: String,
    /// What made it active: `trigger`, `person`, `profile`, `read_skill`, `invoke_skill`.
    pub by: String,
}

/// A fact waits in the inbox of the memory (M4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct MemoryProposed {
    /// The remembered fact with its id.
    #[serde(flatten)]
    pub note: MemoryNote,
}

/// A fact was put into memory without asking, because a person lets such facts through (M4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct MemoryWritten {
    /// The remembered fact with its id.
    #[serde(flatten)]
    pub note: MemoryNote,
}

/// A finished run was looked through for facts worth keeping (M4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RunRemembered {
    /// Facts that were put into memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryNote>,
    /// Why none could be looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Tokens of the helper: they count.
    #[serde(default)]
    pub usage: Usage,
    /// The cost of the tokens, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A helper model was asked beside all runs, or for what a run had no use for any more (R11): what that used
/// counts for the session, and for no run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HelperAsked {
    /// What it was asked for: `title`, the name of the chat; `judge`, a call that was not judged by the answer,
    /// since the run was cancelled meanwhile or the call is looked at once more.
    pub work: String,
    /// Tokens of the helper: they count.
    #[serde(default)]
    pub usage: Usage,
    /// The cost of the tokens, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
