//! What a person wants of one session beside their settings, with the files they name already read.
//! Not here: flags (`weir`), what of it wins (`wiring`).

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use weir_core::governance::lease::AnswerRight;
use weir_core::model::Thinking;
use weir_core::profile::{PermissionMode, Profile};
use weir_core::schedule::ScheduledAgent;
use weir_engine::ports::Mailbox;

/// What a person wants of one session, beside their settings: flags.
#[derive(Debug, Clone, Default)]
pub struct SessionOverrides {
    /// `provider/name`, or `script:FILE`.
    pub model: Option<String>,
    /// Name of a profile.
    pub profile: Option<String>,
    /// Permission mode.
    pub permission: Option<PermissionMode>,
    /// How much the model thinks.
    pub thinking: Option<Thinking>,
    /// Folders that belong to its workspace beside its own (R7).
    pub add_dirs: Vec<PathBuf>,
    /// Those are all that it has beside its own: what it had before and is not among them goes.
    pub only_add_dirs: bool,
    /// Allow rules.
    pub allow: Vec<String>,
    /// Deny rules.
    pub deny: Vec<String>,
    /// As in `Limits`.
    pub max_iterations: Option<u32>,
    /// As in `Limits`.
    pub max_tool_calls: Option<u32>,
    /// The same where nobody says anything: no flag, no setting, no profile.
    pub tool_calls_default: Option<u32>,
    /// As in `Limits`.
    pub budget_usd: Option<f64>,
    /// As in `Limits`.
    pub budget_tokens: Option<u64>,
    /// As in `Limits`.
    pub run_timeout_ms: Option<u64>,
    /// Another system prompt.
    pub prompt: PromptWish,
    /// JSON Schema of the final answer.
    pub output_schema: Option<Value>,
    /// Any denial fails the run.
    pub strict: bool,
    /// Somebody can be asked.
    pub attended: bool,
    /// These tools and no others, whatever the profile (T3); none: those of the profile.
    pub only_tools: Option<Vec<String>>,
    /// These tools never, whatever the profile.
    pub denied: Vec<String>,
    /// Hosts that need no asking, beside those of the settings. Private addresses stay closed.
    pub hosts: Vec<String>,
    /// Mail that it may use.
    pub mail: MailWish,
    /// The scheduled agent that it is a run of; none: no schedule began it.
    pub schedule: Option<ScheduleWish>,
    /// Whom it may answer once.
    pub answer: Option<AnswerRight>,
}

/// A run of a scheduled agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleWish {
    /// Name of the agent.
    pub agent: String,
    /// Most USD that it may cost on one day; none: what the settings say.
    pub day_usd: Option<f64>,
}

/// Mail that a session may use.
#[derive(Clone, Default)]
pub struct MailWish {
    /// The account of the tool `email`; none: there is no such tool.
    pub mailbox: Option<Arc<dyn Mailbox>>,
    /// Who may be written to without asking: an address, or all of a domain: `@example.org`.
    pub recipients: Vec<String>,
}

impl std::fmt::Debug for MailWish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let account = self.mailbox.as_ref().map(|mailbox| mailbox.address());
        f.debug_struct("MailWish")
            .field("account", &account)
            .field("recipients", &self.recipients)
            .finish()
    }
}

/// What to do with the system prompt (P5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PromptWish {
    /// Weir's own.
    #[default]
    Own,
    /// This instead.
    Replaced(String),
    /// This, then Weir's own.
    Preceded(String),
}

impl SessionOverrides {
    /// The profile with those tools that are wanted.
    pub fn narrow_profile(&self, profile: Profile) -> Profile {
        let mut profile = match &self.only_tools {
            Some(tools) => ScheduledAgent::narrow_profile(tools, profile),
            None => profile,
        };
        profile.denied_tools.extend(self.denied.iter().cloned());
        profile
    }
}
