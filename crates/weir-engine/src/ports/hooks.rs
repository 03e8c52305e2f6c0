//! Hooks: commands of the person that are told what happens and may narrow it (G11). Not here: how
//! they are found or run.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::ids::SessionId;
use weir_core::profile::PermissionMode;

/// When hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookMoment {
    /// Before a call is judged: may deny it or have a person asked.
    PreToolUse,
    /// After a call: may tell the model something.
    PostToolUse,
    /// Before an input is accepted: may refuse it.
    UserPromptSubmit,
    /// A session was opened or taken up.
    SessionStart,
    /// A session is closed.
    SessionEnd,
    /// Before the history is condensed.
    PreCompact,
    /// A sub-agent is about to end.
    SubagentStop,
    /// A run is about to end as completed: may keep it going.
    Stop,
    /// A person is needed.
    Notification,
}

impl HookMoment {
    /// Every moment, in the order of the documentation.
    pub const ALL: [HookMoment; 9] = [
        HookMoment::PreToolUse,
        HookMoment::PostToolUse,
        HookMoment::UserPromptSubmit,
        HookMoment::SessionStart,
        HookMoment::SessionEnd,
        HookMoment::PreCompact,
        HookMoment::SubagentStop,
        HookMoment::Stop,
        HookMoment::Notification,
    ];

    /// The word in settings and on hooks' standard input.
    pub fn as_str(self) -> &'static str {
        match self {
            HookMoment::PreToolUse => "PreToolUse",
            HookMoment::PostToolUse => "PostToolUse",
            HookMoment::UserPromptSubmit => "UserPromptSubmit",
            HookMoment::SessionStart => "SessionStart",
            HookMoment::SessionEnd => "SessionEnd",
            HookMoment::PreCompact => "PreCompact",
            HookMoment::SubagentStop => "SubagentStop",
            HookMoment::Stop => "Stop",
            HookMoment::Notification => "Notification",
        }
    }

    /// Whether a hook that fails or hangs blocks, where its settings do not say.
    pub fn blocks_on_failure(self) -> bool {
        matches!(self, HookMoment::PreToolUse | HookMoment::UserPromptSubmit)
    }
}

/// What hooks are told.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// The moment for which the hook was set up.
    pub moment: HookMoment,
    /// Id of the session.
    pub session: SessionId,
    /// Absolute path of the workspace.
    pub cwd: String,
    /// Permission mode at that time.
    pub mode: PermissionMode,
    /// Tool that it is about; matchers are held against it.
    pub tool: Option<String>,
    /// More fields of the JSON object on standard input: `tool_input`, `tool_use_id`, `prompt`, …
    pub fields: Value,
}

/// What a hook decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookDecision {
    /// Nothing against it.
    Pass,
    /// A person should be asked.
    Ask,
    /// It is blocked.
    Deny,
}

/// One hook's answer. Hooks that have nothing to say give none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// The hook with its place: `hooks.PreToolUse[0] (.weir/config.toml:12)`.
    pub hook: String,
    /// Whether the hook lets the call pass, asks or denies.
    pub decision: HookDecision,
    /// What the hook says, in its own words.
    pub reason: String,
    /// Text that the hook wants the model to read.
    pub context: Option<String>,
}

/// Runs hooks.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// Whether any hook listens: costs nothing.
    fn has_listener(&self, moment: HookMoment) -> bool;
    /// Runs all hooks that match, at once, each within its time limit. One that fails or hangs
    /// answers as its settings say: `Deny` where it blocks, nothing otherwise.
    async fn run_hooks(&self, call: HookCall) -> Vec<HookAnswer>;
}

/// No hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait]
impl Hooks for NoHooks {
    fn has_listener(&self, _moment: HookMoment) -> bool {
        false
    }
    async fn run_hooks(&self, _call: HookCall) -> Vec<HookAnswer> {
        Vec::new()
    }
}
