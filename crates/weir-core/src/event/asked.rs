//! The question whether a call may run, as it stands in the journal. Not here: its answer (`event`), and
//! what it says of several steps (`lines`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::governance::rules::Rule;
use crate::ids::{ApprovalId, CallId, Timestamp};
use crate::label::Label;
use crate::tool::NamedGrant;

use super::ApprovalLine;

/// A person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ApprovalRequested {
    /// Id of the approval.
    pub approval: ApprovalId,
    /// About which call.
    pub call: CallId,
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
    /// Calls of unknown outcome that `reason` tells of: to allow this call settles them (D4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<CallId>,
    /// The allow rules that "session" and "always" would add; empty: they cannot be offered.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What "session" grants by its name, instead of the rules (U13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<NamedGrant>,
    /// The person said yes to questions of this kind often in this session, each time to one call
    /// (U13): "session" is what saves the next.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub often: bool,
    /// Hash of tool, canonical arguments and effects that an answer is bound to.
    pub binds: String,
    /// When no answer is a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What the model had read when it asked for the call (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
    /// What `rules` allow holds for this session only, and as long as nothing from elsewhere is read: then
    /// also where a person is asked about exactly this (U8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// Steps of one program that are asked about together: an answer is for each of them and for nothing
    /// else. Empty: the question is about `call` alone (U8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<ApprovalLine>,
}

impl ApprovalRequested {
    /// The calls that an answer is for.
    pub fn calls(&self) -> Vec<CallId> {
        match self.lines.is_empty() {
            true => vec![self.call],
            false => self.lines.iter().map(|line| line.call).collect(),
        }
    }
}
