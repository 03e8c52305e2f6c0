//! What the file of a workspace that is not trusted may set: it can narrow, never widen (C5, C8).

use std::fmt;

use serde::Deserialize as _;
use serde_json::Value;
use weir_core::governance::rules::RuleAction;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::file::{ConfigLayer, PlacedValue, SettingPath, key_text};
use super::settings::{LimitSettings, Settings};

#[cfg(test)]
mod tests;

/// A project's layer without what it may not set.
pub(super) struct NarrowedLayer {
    pub(super) layer: ConfigLayer,
    pub(super) withheld: Vec<WithheldSetting>,
    /// The mode that its file names: the most that passes here.
    pub(super) permission: Option<PermissionMode>,
}

/// Something of a project's file that only trust lets in.
#[derive(Debug, Clone, PartialEq)]
pub struct WithheldSetting {
    /// The rule or setting that is withheld.
    pub what: WithheldPart,
    /// File and line.
    pub place: String,
    /// The line alone, where it is known.
    pub line: Option<u32>,
    /// Why it takes trust.
    why: String,
}

/// What only trust lets in.
#[derive(Debug, Clone, PartialEq)]
pub enum WithheldPart {
    /// An allow rule.
    AllowRule(String),
    /// A setting and its value.
    Setting(Vec<String>, Value),
}

impl fmt::Display for WithheldSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.what {
            WithheldPart::AllowRule(text) => format!("the allow rule {text}"),
            WithheldPart::Setting(key, _) => key_text(key),
        };
        write!(f, "{}: {what} is ignored: {}", self.place, self.why)
    }
}

/// Whole tables that only a trusted workspace may set: endpoints, keys, prices, programs.
const TABLES: &[&str] = &[
    "providers",
    "models",
    "routing",
    "helpers",
    "web",
    // Whoever names the person's addresses says where their words may go.
    "person",
    "secrets",
    "keys",
    "sandbox",
    "hooks",
    "mcp_servers",
    "commands",
    "plugins",
    "agents",
    "server",
    "telemetry",
];

/// Limits, and whether a larger value is wider.
const LIMITS: &[&str] = &[
    "max_iterations",
    "max_tool_calls",
    "consecutive_mistake_limit",
    "max_subtask_depth",
    "program_steps",
    "budget_usd",
    "budget_tokens",
    "run_timeout",
    "tool_timeout",
    "approval_timeout",
    "rate_limit_ms",
    "parallel_calls",
];

/// Leaves out of `project` what it may not set while it is not trusted.
pub(super) fn narrow_project_layer(
    project: ConfigLayer,
    user: Option<&ConfigLayer>,
) -> anyhow::Result<NarrowedLayer> {
    let below = settings_of(user)?;
    let mut narrowed =
        NarrowedLayer { layer: ConfigLayer::default(), withheld: Vec::new(), permission: None };
    for (key, placed) in project.values {
        let refusal = refusal_reason(&key, &placed, &below);
        if key == ["permission"] && refusal.is_none() {
            narrowed.permission = placed.json.as_str().and_then(|word| word.parse().ok());
        }
        match refusal {
            Some(why) => narrowed.withheld.push(WithheldSetting {
                place: placed.origin.to_string(),
                line: placed.origin.line(),
                what: WithheldPart::Setting(key, placed.json),
                why,
            }),
            None => {
                narrowed.layer.values.insert(key, placed);
            }
        }
    }
    for rule in project.rules {
        if rule.action == RuleAction::Allow {
            narrowed.withheld.push(WithheldSetting {
                place: rule.origin.to_string(),
                line: rule.origin.line,
                what: WithheldPart::AllowRule(rule.text),
                why: "a workspace that is not trusted cannot allow".into(),
            });
        } else {
            narrowed.layer.rules.push(rule);
        }
    }
    Ok(narrowed)
}

/// The settings that hold without the project.
pub(super) fn settings_of(user: Option<&ConfigLayer>) -> anyhow::Result<Settings> {
    let mut json = serde_json::Value::Object(serde_json::Map::new());
    for (key, placed) in user.iter().flat_map(|layer| &layer.values) {
        super::file::insert(&mut json, key, placed.json.clone());
    }
    Ok(Settings::deserialize(&json)?)
}

/// Why the project may not set this; `None`: it may.
fn refusal_reason(key: &SettingPath, placed: &PlacedValue, below: &Settings) -> Option<String> {
    let first = key.first().map(String::as_str).unwrap_or_default();
    let second = key.get(1).map(String::as_str).unwrap_or_default();
    if TABLES.contains(&first) {
        return Some("a workspace that is not trusted cannot set it".into());
    }
    match (first, second) {
        ("permission", _) => wider_mode(placed, below.permission),
        // One of the person's own may have another model, a wider mode and more tools, and one of the
        // workspace is words that would stand where a person's stand. Who wants it says --profile.
        ("profile", _) => Some(
            "a workspace that is not trusted cannot choose the profile; choose it yourself with \
             --profile"
                .into(),
        ),
        ("security", "confirmation" | "canary" | "validate_output" | "screen_results") => {
            (placed.json == false)
                .then(|| "a workspace that is not trusted cannot switch a detector off".into())
        }
        ("prompt", "instructions") => Some(
            "they count as yours; those of a workspace stand in AGENTS.md or .weir/rules".into(),
        ),
        ("memory", name @ ("enabled" | "accept" | "after_run")) => {
            let ours = match name {
                "enabled" => below.memory.enabled,
                "accept" => below.memory.accept,
                _ => below.memory.after_run,
            };
            (placed.json == true && !ours)
                .then(|| "a workspace that is not trusted cannot have more remembered".to_owned())
        }
        ("brain", "agent_may_keep") => (placed.json == true && !below.brain.agent_may_keep)
            .then(|| "a workspace that is not trusted cannot have more kept".to_owned()),
        ("recipes", "floor") => {
            let lower = placed.json.as_f64().is_none_or(|floor| floor < below.recipes.floor);
            lower
                .then(|| "a workspace that is not trusted cannot have more recipes used".to_owned())
        }
        ("recipes", name @ ("enabled" | "fast_path" | "learn" | "accept_learned")) => {
            let ours = match name {
                "enabled" => below.recipes.enabled,
                "fast_path" => below.recipes.fast_path,
                "learn" => below.recipes.learn,
                _ => below.recipes.accept_learned,
            };
            (placed.json == true && !ours)
                .then(|| "a workspace that is not trusted cannot have more recipes used".to_owned())
        }
        ("limits", limit) if LIMITS.contains(&limit) => {
            is_wider_limit(limit, placed, &below.limits).then(|| {
                "it is wider than what holds, and this workspace is not trusted".to_owned()
            })
        }
        ("spending", name) => is_wider_cap(name, placed, below)
            .then(|| "it is wider than what holds, and this workspace is not trusted".to_owned()),
        // A script is what it says, and to a vendor go the words, on the person's key and money.
        ("model", _) => Some("a workspace that is not trusted cannot choose the model".into()),
        ("thinking", _) => thinks_more(placed, below)
            .then(|| "it is more than what holds, and this workspace is not trusted".to_owned()),
        // What changes neither what is allowed nor what is kept, sent or paid for. How the window is used
        // and how often the agent is reminded are not of these: each costs, one way or the other.
        ("prompt", "timezone") => None,
        // A setting that is not named here was not thought about: it takes trust.
        _ => Some("a workspace that is not trusted cannot set it".into()),
    }
}

/// Whether a value allows, keeps or uses more than `below`. Of a setting that nobody thought about: it
/// does.
pub(super) fn allows_more(key: &SettingPath, placed: &PlacedValue, below: &Settings) -> bool {
    refusal_reason(key, placed, below).is_some()
}

/// Whether a level is above the most that whoever is not trusted may ask for.
fn thinks_more(placed: &PlacedValue, below: &Settings) -> bool {
    let Ok(level) = Thinking::deserialize(&placed.json) else { return true };
    exceeds_thinking(level, below)
}

/// Whether a model would think more on this level than these settings have it think; where they say
/// nothing, than is usual.
pub(crate) fn exceeds_thinking(level: Thinking, below: &Settings) -> bool {
    let rank = |level: Thinking| Thinking::ALL.iter().position(|known| *known == level);
    rank(level) > rank(below.thinking.unwrap_or(Thinking::Medium))
}

/// Why a mode is not for a workspace that is not trusted: it is wider than `ours`, or none.
fn wider_mode(placed: &PlacedValue, ours: PermissionMode) -> Option<String> {
    let Some(mode) = placed.json.as_str().and_then(|word| word.parse::<PermissionMode>().ok())
    else {
        return Some("it is no permission mode".to_owned());
    };
    (permission_mode_rank(mode) > permission_mode_rank(ours))
        .then(|| format!("{mode} is wider than {ours}, and this workspace is not trusted"))
}

fn permission_mode_rank(mode: PermissionMode) -> usize {
    PermissionMode::ALL.iter().position(|m| *m == mode).unwrap_or(0)
}

/// Whether a value of `spending` lets more be spent than what holds below it.
pub(super) fn is_wider_cap(name: &str, placed: &PlacedValue, below: &Settings) -> bool {
    let Some(new) = placed.json.as_f64().filter(|usd| usd.is_finite()) else { return true };
    let caps = &below.spending;
    let or_none = |value: f64| if value > 0.0 { value } else { f64::INFINITY };
    let ours = match name {
        "session_usd" => caps.session_usd.unwrap_or(f64::INFINITY),
        "day_usd" => caps.day_usd.unwrap_or(f64::INFINITY),
        "person_usd" => caps.person_usd.unwrap_or(f64::INFINITY),
        "server_usd" => caps.server_usd.unwrap_or(f64::INFINITY),
        "schedule_usd" => or_none(caps.schedule_usd),
        "schedule_run_usd" => or_none(caps.schedule_run_usd),
        "schedule_run_tokens" => or_none(caps.schedule_run_tokens as f64),
        _ => return true,
    };
    or_none(new) > ours
}

/// Whether the project's value of a limit lets more happen than the one below it.
pub(super) fn is_wider_limit(limit: &str, placed: &PlacedValue, below: &LimitSettings) -> bool {
    let mut json = serde_json::Value::Object(serde_json::Map::new());
    super::file::insert(&mut json, &[limit.to_owned()], placed.json.clone());
    let Ok(new) = LimitSettings::deserialize(&json) else { return true };
    // "No bound" is the widest of all.
    let optional =
        |new: Option<u64>, old: Option<u64>| new.unwrap_or(u64::MAX) > old.unwrap_or(u64::MAX);
    let or_off = |value: u32| if value == 0 { u32::MAX } else { value };
    match limit {
        "max_iterations" => new.max_iterations > below.max_iterations,
        "max_tool_calls" => {
            optional(new.max_tool_calls.map(u64::from), below.max_tool_calls.map(u64::from))
        }
        "consecutive_mistake_limit" => {
            or_off(new.consecutive_mistake_limit) > or_off(below.consecutive_mistake_limit)
        }
        "max_subtask_depth" => new.max_subtask_depth > below.max_subtask_depth,
        "program_steps" => new.program_steps > below.program_steps,
        "budget_usd" => {
            new.budget_usd.unwrap_or(f64::INFINITY) > below.budget_usd.unwrap_or(f64::INFINITY)
        }
        "budget_tokens" => optional(new.budget_tokens, below.budget_tokens),
        "run_timeout" => optional(new.run_timeout.map(|s| s.ms), below.run_timeout.map(|s| s.ms)),
        "tool_timeout" => new.tool_timeout > below.tool_timeout,
        "approval_timeout" => new.approval_timeout > below.approval_timeout,
        "rate_limit_ms" => new.rate_limit_ms < below.rate_limit_ms,
        "parallel_calls" => new.parallel_calls > below.parallel_calls,
        _ => true,
    }
}
