//! The settings of a session, journaled with it. Not here: where they come from (profiles, files,
//! flags), and what each of them does.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::governance::lease::AnswerRight;
use crate::governance::rules::RuleSet;
use crate::model::{ModelInfo, Thinking};
use crate::profile::{Limits, PermissionMode, Profile};
use crate::routing::ModelRouting;
use crate::tool::ToolSpec;
use crate::tool::built_in::OPEN_HANDLE;

/// All settings of a session. Journaled whole, so that a replay never depends on today's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SessionConfig {
    /// Root of its workspace.
    pub workspace: String,
    /// The tools, sections and rules of the agent.
    pub profile: Profile,
    /// The model it speaks with.
    pub model: ModelInfo,
    /// The models that it may speak with besides, and when (V8).
    #[serde(default, skip_serializing_if = "ModelRouting::is_off")]
    pub routing: ModelRouting,
    /// How much that model should think.
    #[serde(default)]
    pub thinking: Thinking,
    /// How much passes without asking.
    pub permission: PermissionMode,
    /// Rules from every source.
    pub rules: RuleSet,
    /// Every bound.
    pub limits: Limits,
    /// File and line of the budget in USD, where a workspace's file set it and not the person (L4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_place: Option<String>,
    /// The tools that the model is told of, in a fixed order; no other may be called.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Tools of which the model is told the names only: callable once `find_tool` has loaded them
    /// (T4).
    #[serde(default, skip_serializing_if = "are_none")]
    pub deferred: Arc<Vec<ToolSpec>>,
    /// How the model's window is kept from bursting (X2).
    #[serde(default)]
    pub condensing: CondensingSettings,
    /// What may be remembered beyond the session (M4).
    #[serde(default)]
    pub memory: MemoryPolicy,
    /// What may be done with recipes (M5, L16).
    #[serde(default)]
    pub recipes: RecipePolicy,
    /// How many agents stand above it: 0 for the one that a person speaks with (M6).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// The system prompt: sections 1 to 8, frozen (P2).
    pub system: Arc<str>,
    /// Results with more characters are externalised; 0: never (X1).
    pub externalize_over: usize,
    /// JSON Schema of the final answer, where one is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Any denial fails the run.
    #[serde(default)]
    pub strict: bool,
    /// Somebody can answer approvals and questions. If not, an ask is a denial at once and a
    /// question ends the run (C2).
    pub attended: bool,
    /// The guards that are switched on.
    #[serde(default)]
    pub guards: Guards,
    /// Addresses of the person's own, in lower case (U5).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub own_addresses: BTreeSet<String>,
    /// Whom it may answer once: a mail of theirs started it (U5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerRight>,
    /// Most bits that following links may tell, where that is less than a session of its own may (K10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bits: Option<u32>,
}

impl SessionConfig {
    /// A session of which nothing else was said: no tools, rules, instructions or guards, nobody
    /// attends, everything else as it is by default. What is said goes before it:
    /// `SessionConfig { strict, ..SessionConfig::with_defaults(workspace, profile, model) }`.
    pub fn with_defaults(
        workspace: impl Into<String>,
        profile: Profile,
        model: ModelInfo,
    ) -> SessionConfig {
        SessionConfig {
            workspace: workspace.into(),
            profile,
            model,
            routing: ModelRouting::default(),
            thinking: Thinking::default(),
            permission: PermissionMode::default(),
            rules: RuleSet::default(),
            limits: Limits::default(),
            budget_place: None,
            tools: Arc::default(),
            deferred: Arc::default(),
            condensing: CondensingSettings::default(),
            memory: MemoryPolicy::default(),
            recipes: RecipePolicy::default(),
            depth: 0,
            system: Arc::from(""),
            externalize_over: 0,
            output_schema: None,
            strict: false,
            attended: false,
            guards: Guards::default(),
            own_addresses: BTreeSet::new(),
            answer: None,
            link_bits: None,
        }
    }

    /// Every tool that the session may use: those that the model is told of, and those of which it
    /// is told the names.
    pub fn all_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().chain(self.deferred.iter())
    }

    /// The budget of a run in USD, with who set it where that was not the person.
    pub(crate) fn budget_in_words(&self) -> String {
        match &self.budget_place {
            Some(place) => format!("the budget in USD that {place} sets (limits.budget_usd)"),
            None => "a budget in USD".to_owned(),
        }
    }

    /// Whether foreign words are kept beside the context (U6): where the agent can open them.
    pub fn keeps_handles(&self) -> bool {
        self.all_tools().any(|tool| tool.name == OPEN_HANDLE)
    }
}

/// How the model's window is kept from bursting (X2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CondensingSettings {
    /// Old turns are condensed before the window is full. What a vendor refuses as too long is
    /// condensed in any case (X3).
    pub enabled: bool,
    /// How full the window may become, in per cent.
    pub threshold: u32,
}

impl Default for CondensingSettings {
    fn default() -> CondensingSettings {
        CondensingSettings { enabled: true, threshold: 70 }
    }
}

/// What may be remembered beyond the session (M4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryPolicy {
    /// Nothing is remembered and nothing is told from memory.
    pub off: bool,
    /// Facts that nothing foreign went into are kept without waiting for a person.
    pub accepts: bool,
    /// A finished run is looked through for facts worth keeping.
    pub after_run: bool,
}

/// What may be done with recipes (M5, L16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RecipePolicy {
    /// None is matched, told, learned or followed.
    pub off: bool,
    /// One that has worked often enough is followed without asking the model after each step.
    pub fast: bool,
    /// Recipes are made from runs and proposed.
    pub learn: bool,
    /// Those that nothing foreign went into count without waiting for a person.
    pub accepts: bool,
    /// What fits less well, in per cent, is no match.
    pub floor: u32,
}

impl Default for RecipePolicy {
    fn default() -> RecipePolicy {
        RecipePolicy { off: false, fast: true, learn: true, accepts: false, floor: 50 }
    }
}

/// What a session with settings `new` may do that one with `old` may not, in words; empty: nothing
/// (P7).
pub fn describe_widening(old: &SessionConfig, new: &SessionConfig) -> Vec<String> {
    let mut words = Vec::new();
    let rank = |mode: PermissionMode| PermissionMode::ALL.iter().position(|m| *m == mode);
    if rank(new.permission) > rank(old.permission) {
        words.push(format!("permission {} instead of {}", new.permission, old.permission));
    }
    let has = |tool: &str| old.all_tools().any(|known| known.name == tool);
    let more: Vec<&str> =
        new.all_tools().map(|tool| tool.name.as_str()).filter(|tool| !has(tool)).collect();
    if !more.is_empty() {
        words.push(format!("the tools {}", more.join(", ")));
    }
    let (ours, theirs) = (&old.limits, &new.limits);
    if theirs.max_iterations > ours.max_iterations {
        words.push(format!("{} model calls per run", theirs.max_iterations));
    }
    let more = [
        (is_more(ours.max_tool_calls, theirs.max_tool_calls), "more calls of tools"),
        (is_more(ours.budget_usd, theirs.budget_usd), "more money"),
        (is_more(ours.budget_tokens, theirs.budget_tokens), "more tokens"),
        (is_more(ours.session_usd, theirs.session_usd), "more money in all"),
        (is_more(ours.run_timeout_ms, theirs.run_timeout_ms), "more time"),
    ];
    words.extend(more.iter().filter(|(is, _)| *is).map(|(_, what)| (*what).to_string()));
    // Those without words of their own, whichever they are.
    let others = Limits {
        max_iterations: ours.max_iterations,
        max_tool_calls: ours.max_tool_calls,
        budget_usd: ours.budget_usd,
        budget_tokens: ours.budget_tokens,
        session_usd: ours.session_usd,
        run_timeout_ms: ours.run_timeout_ms,
        ..*theirs
    };
    if others.with_narrower_bounds(ours) != others {
        words.push("wider limits".to_owned());
    }
    let had = &old.rules.context().added_folders;
    let added = new.rules.context().added_folders.iter().filter(|folder| !had.contains(folder));
    words.extend(added.map(|folder| format!("the folder {folder}")));
    if new.model.model != old.model.model {
        words.push(format!("the model {}", new.model.model));
    }
    let had: BTreeSet<&str> = old.routing.other_models().collect();
    let others = new.routing.other_models().filter(|name| !had.contains(name));
    words.extend(others.map(|name| format!("the model {name}")));
    words
}

/// Whether a bound is wider than the one before; `None`: there is none.
fn is_more<T: PartialOrd>(old: Option<T>, new: Option<T>) -> bool {
    old.is_some_and(|old| new.is_none_or(|new| new > old))
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn are_none(tools: &Arc<Vec<ToolSpec>>) -> bool {
    tools.is_empty()
}

/// Guards that settings switch on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Guards {
    /// A word that stands in the prompt and must never leave (gate `canary`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// The day on which that word was made, `2026-11-22`; empty: it was made before words had one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub canary_day: String,
    /// Words of earlier days, the newest first: they stood in prompts and are still watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub canaries_before: Vec<String>,
    /// Nobody is asked: what the permission mode would ask about passes as in mode `full`. What a
    /// rule denies, protected paths and the hard floor hold all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// A judge model compares each action with what was asked for (gate `intent`).
    pub validate_output: bool,
    /// A judge model looks for instructions in foreign content (filter `screen`).
    pub screen_results: bool,
    /// Hooks are asked before a run may end as completed (G11 `StopReason`).
    pub stop_hooks: bool,
}

impl Guards {
    /// The mode by which calls are judged in a session of mode `mode`. Plan stays plan: it is a
    /// promise that nothing changes, and no question.
    pub fn effective_mode(&self, mode: PermissionMode) -> PermissionMode {
        match (self.unconfirmed, mode) {
            (false, mode) | (true, mode @ PermissionMode::Plan) => mode,
            (true, PermissionMode::Ask | PermissionMode::AutoEdit | PermissionMode::Full) => {
                PermissionMode::Full
            }
        }
    }
}
