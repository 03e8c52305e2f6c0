//! What an agent is allowed and how long it may go on: profiles, permission modes, limits.

use serde::{Deserialize, Serialize};

use crate::model::Thinking;
use crate::open_name::open_names;
use crate::tool::ToolGroup;
use crate::tool::built_in::{ToolTrait, names_with};

/// How much passes without asking (C3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Hash)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Reads only.
    Plan,
    /// Reads inside the workspace pass, everything else asks.
    #[default]
    Ask,
    /// Reads and writes inside the workspace pass, everything else asks.
    AutoEdit,
    /// Everything passes but deny rules, protected paths and the hard floor.
    Full,
}

impl PermissionMode {
    /// All of them, narrowest first.
    pub const ALL: [PermissionMode; 4] =
        [PermissionMode::Plan, PermissionMode::Ask, PermissionMode::AutoEdit, PermissionMode::Full];

    /// The mode of the two that lets fewer calls pass.
    #[must_use]
    pub fn narrower_mode(self, other: PermissionMode) -> PermissionMode {
        let rank = |mode| PermissionMode::ALL.iter().position(|known| *known == mode);
        if rank(other) < rank(self) { other } else { self }
    }

    /// The word people write.
    pub fn as_str(self) -> &'static str {
        match self {
            PermissionMode::Plan => "plan",
            PermissionMode::Ask => "ask",
            PermissionMode::AutoEdit => "auto-edit",
            PermissionMode::Full => "full",
        }
    }
}

impl std::str::FromStr for PermissionMode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        PermissionMode::ALL.into_iter().find(|m| m.as_str() == text).ok_or_else(|| {
            format!("{text:?} is not a permission mode; it is one of plan, ask, auto-edit, full")
        })
    }
}

impl std::fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Steps of one program, where nobody says anything else (U7).
pub const PROGRAM_STEPS: u32 = 200;

/// Every bound of a run, in one struct (L4). `None` and 0 mean "no such bound" where the field
/// says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Model calls per run; at 60 % of it one note asks the agent to wrap up.
    pub max_iterations: u32,
    /// Calls of tools per run; `None`: no bound.
    pub max_tool_calls: Option<u32>,
    /// Errors in a row that end the run; 0: off.
    pub consecutive_mistake_limit: u32,
    /// Least milliseconds between two iterations; 0: off.
    pub rate_limit_ms: u64,
    /// After so many model calls the agent is reminded of its role; 0: off (L10).
    #[serde(default)]
    pub power_steering_frequency: u32,
    /// Deepest sub-agent.
    pub max_subtask_depth: u32,
    /// Reads in flight at once.
    pub parallel_calls: u32,
    /// Steps that one program may ask for (U7).
    pub program_steps: u32,
    /// Most USD a run may cost; `None`: no bound.
    pub budget_usd: Option<f64>,
    /// Most tokens a run may use; `None`: no bound.
    pub budget_tokens: Option<u64>,
    /// Most USD the whole session may cost, all its runs together; `None`: no bound (R11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_usd: Option<f64>,
    /// Wall time of a run in milliseconds; `None`: no bound.
    pub run_timeout_ms: Option<u64>,
    /// Wall time of a call in milliseconds, where its tool sets none.
    pub tool_timeout_ms: u64,
    /// Milliseconds in which an approval can be answered before it is a denial; `None`: no bound.
    #[serde(default)]
    pub approval_timeout_ms: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_iterations: 25,
            max_tool_calls: None,
            consecutive_mistake_limit: 0,
            rate_limit_ms: 0,
            power_steering_frequency: 0,
            max_subtask_depth: 2,
            parallel_calls: 8,
            program_steps: PROGRAM_STEPS,
            budget_usd: None,
            budget_tokens: None,
            session_usd: None,
            run_timeout_ms: None,
            tool_timeout_ms: 120_000,
            approval_timeout_ms: Some(24 * 60 * 60 * 1_000),
        }
    }
}

impl Limits {
    /// Of each bound the narrower of both.
    #[must_use]
    pub fn with_narrower_bounds(&self, other: &Limits) -> Limits {
        // 0 errors in a row are no bound.
        let set = |errors: u32| (errors > 0).then_some(errors);
        let mistakes = narrower_bound(
            set(self.consecutive_mistake_limit),
            set(other.consecutive_mistake_limit),
        );
        Limits {
            max_iterations: self.max_iterations.min(other.max_iterations),
            max_tool_calls: narrower_bound(self.max_tool_calls, other.max_tool_calls),
            consecutive_mistake_limit: mistakes.unwrap_or(0),
            rate_limit_ms: self.rate_limit_ms.max(other.rate_limit_ms),
            power_steering_frequency: self.power_steering_frequency,
            max_subtask_depth: self.max_subtask_depth.min(other.max_subtask_depth),
            parallel_calls: self.parallel_calls.min(other.parallel_calls),
            program_steps: self.program_steps.min(other.program_steps),
            budget_usd: narrower_bound(self.budget_usd, other.budget_usd),
            budget_tokens: narrower_bound(self.budget_tokens, other.budget_tokens),
            session_usd: narrower_bound(self.session_usd, other.session_usd),
            run_timeout_ms: narrower_bound(self.run_timeout_ms, other.run_timeout_ms),
            tool_timeout_ms: self.tool_timeout_ms.min(other.tool_timeout_ms),
            approval_timeout_ms: narrower_bound(
                self.approval_timeout_ms,
                other.approval_timeout_ms,
            ),
        }
    }
}

/// The narrower of two bounds; `None` is no bound.
pub(crate) fn narrower_bound<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}

open_names! {
    /// A bound that a run can reach (L4).
    pub enum LimitName {
        /// Errors in a row.
        ConsecutiveMistakes = "consecutive_mistake_limit",
        /// Refused calls in a row.
        ConsecutiveRefusals = "consecutive_refusals",
        /// Calls of tools.
        MaxToolCalls = "max_tool_calls",
        /// Model calls.
        MaxIterations = "max_iterations",
        /// Tokens.
        BudgetTokens = "budget_tokens",
        /// Money of a run.
        BudgetUsd = "budget_usd",
        /// Money of a session (R11).
        SessionUsd = "session_usd",
        /// Money of a day of one person, UTC (R11).
        DayUsd = "day_usd",
        /// Money of a calendar month of one person, UTC (R11).
        PersonUsd = "person_usd",
        /// Money of a day of one scheduled agent, UTC (R11).
        ScheduleUsd = "schedule_usd",
        /// Money of a day of everybody on the server, UTC (R11).
        ServerUsd = "server_usd",
        /// Money of agents that are at work together, of what their run or session had left (R11).
        AgentsUsd = "agents_usd",
        /// The same in tokens (R11).
        AgentsTokens = "agents_tokens",
        /// Wall time.
        RunTimeout = "run_timeout",
        /// A request that no longer fits the model's window (X2).
        Window = "window",
    }
}

impl LimitName {
    /// Whether it is an amount of US dollars.
    pub fn is_money(&self) -> bool {
        *self == LimitName::BudgetUsd || *self == LimitName::SessionUsd || self.is_shared_money()
    }

    /// Whether a session is told by those who run it that it is reached: it cannot know by itself.
    pub fn is_told_from_outside(&self) -> bool {
        *self == LimitName::AgentsTokens || self.is_shared_money()
    }

    /// Whether it is an amount that sessions have in common: what is left of it is known outside of
    /// each of them.
    pub fn is_shared_money(&self) -> bool {
        match self {
            LimitName::DayUsd
            | LimitName::PersonUsd
            | LimitName::ScheduleUsd
            | LimitName::ServerUsd
            | LimitName::AgentsUsd => true,
            LimitName::ConsecutiveMistakes
            | LimitName::ConsecutiveRefusals
            | LimitName::MaxToolCalls
            | LimitName::MaxIterations
            | LimitName::BudgetTokens
            | LimitName::BudgetUsd
            | LimitName::SessionUsd
            | LimitName::AgentsTokens
            | LimitName::RunTimeout
            | LimitName::Window
            | LimitName::Other(_) => false,
        }
    }
}

/// The tools, sections and rules of an agent (P7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Profile {
    /// Name of the profile.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Role definition: section 1 of the prompt.
    pub role: String,
    /// Custom instructions of the profile: part of section 14.
    #[serde(default)]
    pub instructions: String,
    /// Groups whose tools it has.
    pub groups: Vec<ToolGroup>,
    /// Tools it has besides those of its groups.
    #[serde(default)]
    pub extra_tools: Vec<String>,
    /// Tools it has not, whatever its groups.
    #[serde(default)]
    pub denied_tools: Vec<String>,
    /// Permission mode, where it sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionMode>,
    /// Model, where it sets one: `provider/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much the model thinks, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// `max_iterations`, where it sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Kind of workspace whose conventions stand in the prompt: `notes` or `code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conventions: Option<String>,
    /// Skills that are active from the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// For a small window: a short prompt and the schemas of a few tools; the others are found (R6).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compact: bool,
}

/// Name of the built-in profile for small windows.
pub const COMPACT: &str = "compact";
/// A model with a smaller window has the profile [`COMPACT`] where nobody chose one, in tokens.
pub const COMPACT_BELOW: u64 = 32_768;

impl Profile {
    /// Whether a tool of this name and group is one of the profile's.
    pub fn has_tool(&self, tool: &str, group: ToolGroup) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        !named(&self.denied_tools) && (self.groups.contains(&group) || named(&self.extra_tools))
    }
}

fn build_profile(name: &str, description: &str, role: &str, groups: &[ToolGroup]) -> Profile {
    Profile {
        name: name.into(),
        description: description.into(),
        role: role.into(),
        instructions: String::new(),
        groups: groups.to_vec(),
        extra_tools: Vec::new(),
        denied_tools: Vec::new(),
        permission: None,
        model: None,
        thinking: None,
        max_iterations: None,
        conventions: None,
        skills: Vec::new(),
        compact: false,
    }
}

/// The profiles that every installation has.
pub fn built_in_profiles() -> Vec<Profile> {
    use ToolGroup::{Agent, Edit, Mcp, Read, Skill, Vault, Web};
    let tools = |wanted| names_with(wanted).map(str::to_owned).collect::<Vec<_>>();
    vec![
        build_profile(
            "agent",
            "Does a task in the workspace with every kind of tool.",
            "You are Weir, an agent that does the person's task in their workspace: you look before \
             you act, change only what the task needs, and say plainly what you did and what you \
             could not do.",
            &[Read, Vault, Edit, Web, Agent, Mcp, Skill],
        ),
        Profile {
            extra_tools: tools(ToolTrait::ForReaders),
            permission: Some(PermissionMode::Plan),
            ..build_profile(
                "ask",
                "Answers questions about the workspace; cannot change anything.",
                "You are Weir, answering questions about the person's workspace. You can read and \
                 search it; you cannot change it. Ground each answer in what you read and name the \
                 files.",
                &[Read, Vault],
            )
        },
        Profile {
            extra_tools: tools(ToolTrait::ForReaders),
            permission: Some(PermissionMode::Plan),
            ..build_profile(
                "plan",
                "Studies the workspace and writes a plan; changes nothing.",
                "You are Weir, planning a piece of work. Read what you need, then answer with a \
                 plan: steps in order, the files each touches, the risks, and how to check the \
                 result. You change nothing.",
                &[Read, Vault, Web],
            )
        },
        Profile {
            extra_tools: tools(ToolTrait::FindsPast),
            conventions: Some("code".into()),
            ..build_profile(
                "code",
                "Works on a code repository: reads, edits, runs and tests.",
                "You are Weir, a careful software engineer at work in the person's repository. You \
                 follow its conventions, make the smallest change that solves the problem, and run \
                 its checks before you say that it works.",
                &[Read, Edit, Web, Agent, Mcp, Skill],
            )
        },
        build_profile(
            "assistant",
            "A personal assistant: conversation, notes and errands.",
            "You are Weir, a personal assistant. You are brief and friendly, you remember what the \
             person told you in this conversation, and you ask before you do anything on their \
             behalf that others would notice.",
            &[Read, Vault, Edit, Web, Agent],
        ),
        Profile {
            compact: true,
            ..build_profile(
                COMPACT,
                "The same with a short prompt and few tools at once, for models with a small window.",
                "You are Weir, an agent that does the person's task in their workspace. Look before you \
                 act, change only what the task needs, and say plainly what you did and what you could \
                 not do.",
                &[Read, Vault, Edit, Web, Agent, Mcp, Skill],
            )
        },
    ]
}
