//! Facts about sub-agents, in the journal of the session that started them (M6). Not here: what a
//! sub-agent does itself; it has a journal of its own.

use serde::{Deserialize, Serialize};

use super::{ApprovalRequested, Decision, Denial, Event, RunStatus};
use crate::ids::{ApprovalId, CallId, RunId, SessionId};
use crate::model::Usage;
use crate::profile::PermissionMode;

/// A call started a sub-agent. Its authority was computed once and stands whole in its own
/// `session.opened`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AgentSpawned {
    /// Id of the sub-agent's session.
    pub agent: SessionId,
    /// The call that started it.
    pub call: CallId,
    /// Number of the run in which it was started.
    pub run: RunId,
    /// Name of the profile.
    pub profile: String,
    /// The task in words, as the sub-agent reads it.
    pub task: String,
    /// How many agents stand above it.
    pub depth: u32,
    /// How much passes without asking.
    pub permission: PermissionMode,
    /// The model it speaks with.
    pub model: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// The part of the parent's budget that it may use.
    #[serde(default)]
    pub share: BudgetShare,
    /// It may change the workspace of the agent that started it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes: bool,
    /// The folder that it works in, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
}

/// A sub-agent, or one below it, needs a person. Answered under the approval's own name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AgentAsked {
    /// The session that asks.
    pub agent: SessionId,
    /// The call of this session that it works for.
    pub call: CallId,
    /// The profiles on the way to it, from the agent that this session started on.
    pub path: Vec<String>,
    /// The sub-agent's own request for an approval.
    pub request: Box<ApprovalRequested>,
}

/// What a sub-agent asked was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AgentAnswered {
    /// The session that asked.
    pub agent: SessionId,
    /// The call of this session that it works for.
    pub call: CallId,
    /// Id of the approval.
    pub approval: ApprovalId,
    /// The decision.
    pub decision: Decision,
    /// Name of the person who decided.
    pub by: String,
}

/// A sub-agent came to rest. What it used counts here, once, and nowhere else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AgentFinished {
    /// Id of the sub-agent's session.
    pub agent: SessionId,
    /// The call that started it.
    pub call: CallId,
    /// How its run ended.
    pub status: RunStatus,
    /// The beginning of its answer; the call's result and its own journal have all of it.
    pub text: String,
    /// Tokens, with those of the agents that it started itself.
    pub usage: Usage,
    /// Cost, where every price is known.
    pub cost_usd: Option<f64>,
    /// Files of this session's workspace that it changed.
    #[serde(default)]
    pub changed_files: Vec<String>,
    /// Calls of it that were not allowed.
    #[serde(default)]
    pub denials: Vec<Denial>,
    /// What went wrong, when something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bits that it told by following links, with those of the agents that it started itself (K10).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub link_bits: u32,
}

/// What is heard of a sub-agent.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentNews {
    /// It is about to begin.
    Spawned(Box<AgentSpawned>),
    /// It needs a person.
    Asked(Box<AgentAsked>),
    /// That was answered.
    Answered(AgentAnswered),
    /// It came to rest.
    Finished(Box<AgentFinished>),
}

impl AgentNews {
    /// The call that it is about.
    pub fn call(&self) -> CallId {
        match self {
            AgentNews::Spawned(f) => f.call,
            AgentNews::Asked(f) => f.call,
            AgentNews::Answered(f) => f.call,
            AgentNews::Finished(f) => f.call,
        }
    }

    /// The news that this fact was recorded for.
    pub fn from_event(event: &Event) -> Option<AgentNews> {
        Some(match event.clone() {
            Event::AgentSpawned(f) => AgentNews::Spawned(Box::new(f)),
            Event::AgentAsked(f) => AgentNews::Asked(Box::new(f)),
            Event::AgentAnswered(f) => AgentNews::Answered(f),
            Event::AgentFinished(f) => AgentNews::Finished(Box::new(f)),
            _ => return None,
        })
    }
}

impl From<AgentNews> for Event {
    fn from(news: AgentNews) -> Event {
        match news {
            AgentNews::Spawned(f) => (*f).into(),
            AgentNews::Asked(f) => (*f).into(),
            AgentNews::Answered(f) => f.into(),
            AgentNews::Finished(f) => (*f).into(),
        }
    }
}

/// What a sub-agent may use up of what its parent has left; `None`: as much as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BudgetShare {
    /// USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// Wall time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_timeout_ms: Option<u64>,
    /// Bits that following links may tell (K10).
    #[serde(skip_serializing_if = "is_zero")]
    pub link_bits: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
