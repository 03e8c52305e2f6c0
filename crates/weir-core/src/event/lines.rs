//! What a question about several steps of a program says of each (U8). Not here: which steps are asked
//! about together (`session::together`), and the question itself (`event`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::CallId;
use crate::label::Label;

/// One step of a question about several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ApprovalLine {
    /// The call that it is.
    pub call: CallId,
    /// Number of the step in its program.
    pub step: u32,
    /// Tool.
    pub tool: String,
    /// The exact arguments.
    pub input: Value,
    /// One sentence.
    pub summary: String,
    /// Unified diff of file changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why it is asked.
    pub reason: String,
    /// It is what an attacker would want: `reason` says what could happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned: bool,
    /// Whom and what outside it reaches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reaches: Vec<LineTarget>,
    /// What had decided that it is made (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}

/// A recipient, an address or a place at a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LineTarget {
    /// The recipient, address or value.
    pub to: String,
    /// Where it comes from.
    pub from: TargetSource,
}

/// Where a recipient comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetSource {
    /// It is an address of the person's own.
    Own,
    /// It stands in the person's own words.
    Said,
    /// The person agreed to a call with it before.
    Agreed,
    /// The service itself names it as one of those that it keeps: a member, a channel.
    Member,
    /// The agent chose it, and had read nothing from elsewhere.
    Agent,
    /// Words from elsewhere had been read when it was chosen, so it may come out of them.
    Read,
}

impl TargetSource {
    /// In words for a person.
    pub fn as_words(self) -> &'static str {
        match self {
            TargetSource::Own => "your own",
            TargetSource::Said => "you wrote it",
            TargetSource::Agreed => "you agreed to it before",
            TargetSource::Member => "the service names it",
            TargetSource::Agent => "the agent chose it",
            TargetSource::Read => "it may come out of what was read",
        }
    }
}
