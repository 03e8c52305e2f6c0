//! The types of the protocol, version 1, as far as they are spoken here. What is sent serializes to what the
//! published schema says; what is received ignores what it does not know. Not here: what any of it means.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

mod beginning;
mod content;
mod elicitation;
mod update;

pub(crate) use beginning::{
    AgentCapabilities, AuthMethod, AuthenticateParams, ClientAuth, ClientFs, EmptyCapability,
    Implementation, InitializeParams, InitializeResult, McpCapabilities, PromptCapabilities,
    SessionCapabilities,
};
pub(crate) use content::{ContentBlock, ResourceContents};
pub(crate) use elicitation::{ElicitationMode, ElicitationParams, ElicitationResult};
pub(crate) use update::{
    AvailableCommand, CommandInput, CompactionStatus, Cost, MessageChunk, PlanEntry, SessionUpdate,
    ToolCallChange, ToolCallContent, ToolCallLocation, ToolCallStart, ToolCallStatus, ToolKind,
};

/// The version of the protocol.
pub(crate) const PROTOCOL_VERSION: u16 = 1;

/// Parameters of `session/new`, `session/load`, `session/resume` and `session/fork`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenParams {
    /// The folder, absolute.
    pub(crate) cwd: String,
    /// Which session; absent for a new one.
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    /// Folders beside it, absolute: all of them.
    #[serde(default)]
    pub(crate) additional_directories: Option<Vec<String>>,
    /// Servers of the editor.
    #[serde(default)]
    pub(crate) mcp_servers: Option<Vec<Value>>,
}

/// The answer to them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenResult {
    /// Which session, of one that is new or a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
    /// Permission modes.
    pub(crate) modes: ModeState,
    /// What else can be chosen.
    pub(crate) config_options: Vec<ConfigOption>,
}

/// Permission modes, and which one holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModeState {
    /// The one that holds.
    pub(crate) current_mode_id: String,
    /// All of them.
    pub(crate) available_modes: Vec<SessionMode>,
}

/// A permission mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SessionMode {
    /// Its word.
    pub(crate) id: String,
    /// For people.
    pub(crate) name: String,
    /// For people.
    pub(crate) description: String,
}

/// Something that can be chosen from a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigOption {
    /// `select`.
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    /// Its name.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) name: &'static str,
    /// What it is to an editor that knows it.
    pub(crate) category: &'static str,
    /// What holds.
    pub(crate) current_value: String,
    /// What there is.
    pub(crate) options: Vec<ConfigValue>,
}

/// One that can be chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ConfigValue {
    /// Its name.
    pub(crate) value: String,
    /// For people.
    pub(crate) name: String,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
}

/// Parameters of what names a session and nothing else.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    /// Which.
    pub(crate) session_id: String,
}

/// Parameters of `session/list`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListParams {
    /// Of this folder alone.
    pub(crate) cwd: Option<String>,
    /// Where the list before ended.
    pub(crate) cursor: Option<String>,
}

/// The answer to it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResult {
    /// The newest first.
    pub(crate) sessions: Vec<SessionInfo>,
    /// There are more: from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    /// Which.
    pub(crate) session_id: String,
    /// Its folder.
    pub(crate) cwd: String,
    /// Folders beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) additional_directories: Vec<String>,
    /// Its first words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) title: String,
    /// When something last happened.
    pub(crate) updated_at: String,
}

/// Parameters of `session/set_mode`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModeParams {
    /// Which session.
    pub(crate) session_id: String,
    /// Which mode.
    pub(crate) mode_id: String,
}

/// Parameters of `session/set_config_option`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetOptionParams {
    /// Which session.
    pub(crate) session_id: String,
    /// Which option.
    pub(crate) config_id: String,
    /// What is chosen.
    pub(crate) value: Value,
}

/// The answer to it: all options as they are now.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetOptionResult {
    /// All of them.
    pub(crate) config_options: Vec<ConfigOption>,
}

/// Parameters of `session/prompt`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptParams {
    /// Which session.
    pub(crate) session_id: String,
    /// What is said.
    pub(crate) prompt: Vec<ContentBlock>,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnEnd {
    /// Nothing is left to do.
    EndTurn,
    /// The model ran into its output limit.
    MaxTokens,
    /// A limit of the run was reached.
    MaxTurnRequests,
    /// The model would not.
    Refusal,
    /// Somebody ended it.
    Cancelled,
}

/// The answer to `session/prompt`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptResult {
    /// Why it ended.
    pub(crate) stop_reason: TurnEnd,
}

/// Parameters of `session/update`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateParams<'a> {
    /// Which session.
    pub(crate) session_id: &'a str,
    /// What is new.
    pub(crate) update: &'a SessionUpdate,
}

/// Parameters of `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionParams {
    /// Which session.
    pub(crate) session_id: String,
    /// What is asked about.
    pub(crate) tool_call: ToolCallChange,
    /// How it can be answered.
    pub(crate) options: Vec<PermissionOption>,
}

/// A way to answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    /// Its name in the answer.
    pub(crate) option_id: String,
    /// For people.
    pub(crate) name: String,
    /// What it is to an editor.
    pub(crate) kind: PermissionKind,
}

/// What an answer is to an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PermissionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, for longer.
    AllowAlways,
    /// No, this time.
    RejectOnce,
}

/// The answer to it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PermissionResult {
    /// What was chosen.
    pub(crate) outcome: PermissionOutcome,
}

/// What was chosen.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum PermissionOutcome {
    /// Nothing: the turn was ended.
    Cancelled,
    /// One of the ways.
    #[serde(rename_all = "camelCase")]
    Selected {
        /// Its name.
        option_id: String,
    },
}

/// What every answer without content is.
pub(crate) type EmptyResult = BTreeMap<String, Value>;
