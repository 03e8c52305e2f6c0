//! Scheduled agents of a person, as the program around the server checks and opens them (S8).
//!
//! What is kept of them, and their history, is the store's; when one begins is the scheduler's.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::SessionId;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{AgentLimits, MissedTicks, OnAsk, PromptMode, ScheduledAgent};
use weir_engine::ports::Owner;
use weir_engine::schedule::SchedulerSettings;

use super::HouseError;

/// What a person wants of a scheduled agent. Whose it is follows from who says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentWish {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// What it is told to do.
    pub prompt: String,
    /// When, as a cron expression of five or six fields, or `@daily` and the like; none: only by
    /// hand or after another.
    #[serde(default)]
    pub cron: Option<String>,
    /// The zone in which the expression is read; none: that of the settings.
    #[serde(default)]
    pub timezone: Option<String>,
    /// Another agent: whenever a run of that one has completed.
    #[serde(default)]
    pub after: Option<String>,
    /// Its profile; none: that of the settings.
    #[serde(default)]
    pub profile: Option<String>,
    /// The tools that it sees; none: none.
    #[serde(default)]
    pub tools: Vec<String>,
    /// What becomes of the standard prompt.
    #[serde(default)]
    pub prompt_mode: PromptMode,
    /// Its model; none: that of profile or settings.
    #[serde(default)]
    pub model: Option<String>,
    /// Its permission mode; none: that of profile or settings.
    #[serde(default)]
    pub permission: Option<PermissionMode>,
    /// How much its model thinks: `off`, `low`, `medium`, `high`; none: that of profile or settings, or
    /// as usual for the model.
    #[serde(default)]
    pub thinking: Option<Thinking>,
    /// Bounds of each run.
    #[serde(default)]
    pub limits: AgentLimits,
    /// What becomes of ticks that nobody heard; none: what the settings say.
    #[serde(default)]
    pub missed: Option<MissedTicks>,
    /// What becomes of a call that asks.
    #[serde(default)]
    pub on_ask: OnAsk,
    /// The folder that it works in, absolute or relative to the person's own; none: that one.
    #[serde(default)]
    pub workspace: Option<String>,
}

/// An agent that was checked and is kept.
#[derive(Debug, Clone)]
pub struct DefinedAgent {
    /// It.
    pub agent: ScheduledAgent,
    /// What a person should know of it.
    pub notes: Vec<String>,
}

/// A tool that an agent may be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Its group: `read`, `edit`, …
    pub group: String,
    /// One sentence.
    pub about: String,
}

/// What the form of an agent offers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentChoices {
    /// Tools, by group.
    pub tools: Vec<OfferedTool>,
    /// Profiles with their descriptions.
    pub profiles: Vec<(String, String)>,
    /// Models that are known and have a key.
    pub models: Vec<String>,
    /// The zone of the settings.
    pub timezone: String,
}

/// Checks definitions and puts the sessions of scheduled agents together.
#[async_trait]
pub trait AgentDesk: Send + Sync {
    /// Checks a definition for everything that a run would stumble over, and keeps it. `replace`:
    /// one that has the name gives way.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it; then nothing is kept.
    async fn define(&self, wish: &AgentWish, replace: bool) -> Result<DefinedAgent, HouseError>;
    /// What can be chosen for one.
    ///
    /// # Errors
    /// The settings cannot be read.
    async fn choices(&self) -> Result<AgentChoices, HouseError>;
    /// Bounds of scheduled runs.
    ///
    /// # Errors
    /// The settings cannot be read.
    fn bounds(&self) -> Result<SchedulerSettings, HouseError>;
    /// This process, as it stands beside the runs that it has.
    fn holder(&self) -> Owner;
    /// A run's session is over, well or badly: what it left for itself in its folder goes.
    fn over(&self, agent: &ScheduledAgent, session: &SessionId);
}
