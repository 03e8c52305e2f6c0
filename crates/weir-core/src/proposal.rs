//! Settings that an agent may propose to a person (K14): the one list of their keys, and what a value
//! must look like. What is not on the list cannot be proposed at all. Not here: types and bounds of
//! settings, and setting them, which only a person does (`weir-install`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::safe_text::visible_text;

/// Longest value, in characters.
const VALUE_CHARACTERS_MAX: usize = 200;
/// Longest reason, in characters.
const REASON_CHARACTERS_MAX: usize = 500;

/// A value of a setting that an agent proposes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingProposal {
    /// Key of the setting: `limits.max_iterations`.
    pub key: String,
    /// The value, as JSON writes its type.
    pub value: Value,
    /// Why, in the agent's words.
    pub reason: String,
}

/// What an accepted value may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingDirection {
    /// It changes neither what is allowed, nor what is kept, nor what a run may use.
    Any,
    /// It may only allow, keep or use less than what holds.
    Narrower,
}

use SettingDirection::{Any, Narrower};

/// Whether a text is one line that is shown as it is: nothing in it is invisible, turns direction or
/// ends the line, so that a person accepts what they see.
fn is_plain_line(text: &str) -> bool {
    !text.chars().any(char::is_control) && visible_text(text) == text
}

/// Every setting that can be proposed. No rule, no trust, no secret, no address, no program, no
/// detector and no profile is among them: those change by a person's own doing alone (G5). A setting
/// that nobody thought about is not on the list, and cannot be proposed for that reason.
const PROPOSABLE: &[(&str, SettingDirection)] = &[
    ("model", Any),
    ("thinking", Any),
    ("helpers.condense", Any),
    ("helpers.plan", Any),
    ("helpers.titles", Any),
    ("helpers.flagship", Any),
    ("context.condensing_enabled", Any),
    ("context.condensing_threshold", Any),
    ("context.externalize_over", Any),
    ("prompt.timezone", Any),
    ("limits.power_steering_frequency", Any),
    ("permission", Narrower),
    ("limits.max_iterations", Narrower),
    ("limits.max_tool_calls", Narrower),
    ("limits.max_subtask_depth", Narrower),
    ("limits.consecutive_mistake_limit", Narrower),
    ("limits.rate_limit_ms", Narrower),
    ("limits.budget_usd", Narrower),
    ("limits.budget_tokens", Narrower),
    ("limits.run_timeout", Narrower),
    ("limits.tool_timeout", Narrower),
    ("limits.approval_timeout", Narrower),
    ("memory.enabled", Narrower),
    ("memory.accept", Narrower),
    ("memory.after_run", Narrower),
    ("recipes.enabled", Narrower),
    ("recipes.fast_path", Narrower),
    ("recipes.learn", Narrower),
    ("recipes.accept_learned", Narrower),
    ("recipes.floor", Narrower),
];

/// Settings that name a model: what `configure_model` proposes, and no other tool.
const OF_MODELS: &[&str] = &[
    "model",
    "thinking",
    "helpers.condense",
    "helpers.plan",
    "helpers.titles",
    "helpers.flagship",
];

/// The keys of all settings that can be proposed.
pub fn proposable_keys() -> impl Iterator<Item = &'static str> {
    PROPOSABLE.iter().map(|(key, _)| *key)
}

/// Whether a setting is about which model does what.
pub fn is_model_setting(key: &str) -> bool {
    OF_MODELS.contains(&key)
}

/// Whether an accepted value of this setting may only allow, keep or use less than what holds. Of a
/// setting that cannot be proposed: `true`.
pub fn only_narrows(key: &str) -> bool {
    PROPOSABLE.iter().all(|(name, direction)| *name != key || *direction == Narrower)
}

impl SettingProposal {
    /// Why it cannot be proposed, in a sentence; `None`: it can.
    pub fn problem(&self) -> Option<String> {
        let key = self.key.as_str();
        if !proposable_keys().any(|known| known == key) {
            let all: Vec<&str> = proposable_keys().collect();
            return Some(format!(
                "{key:?} cannot be proposed: only the person changes it. What can be proposed: {}",
                all.join(", ")
            ));
        }
        match &self.value {
            Value::Null => return Some(format!("{key} needs a value")),
            Value::Array(_) | Value::Object(_) => {
                return Some(format!("{key} takes a text, a number, true or false"));
            }
            Value::String(text) if text.chars().count() > VALUE_CHARACTERS_MAX => {
                return Some(format!("the value has more than {VALUE_CHARACTERS_MAX} characters"));
            }
            Value::String(text) if text.trim().is_empty() || !is_plain_line(text) => {
                return Some("the value must be one line of visible characters".into());
            }
            Value::String(_) | Value::Bool(_) | Value::Number(_) => {}
        }
        if let Some(problem) = model_problem(key, &self.value) {
            return Some(problem);
        }
        let reason = self.reason.trim();
        if reason.is_empty() || !is_plain_line(reason) {
            return Some("say in one line of visible characters why; the person reads it".into());
        }
        (reason.chars().count() > REASON_CHARACTERS_MAX)
            .then(|| format!("the reason has more than {REASON_CHARACTERS_MAX} characters"))
    }

    /// What would be set, as one line: `limits.max_iterations = 20`.
    pub fn describe_change(&self) -> String {
        format!("{} = {}", self.key, self.value)
    }

    /// Reads a proposal as it was kept.
    ///
    /// # Errors
    /// It is none.
    pub fn from_text(text: &str) -> Result<SettingProposal, String> {
        serde_json::from_str(text).map_err(|error| format!("the proposal is damaged: {error}"))
    }
}

/// Why a value is no name of a model. A model that is a file would be a program of the agent's own.
fn model_problem(key: &str, value: &Value) -> Option<String> {
    if !is_model_setting(key) || key == "thinking" {
        return None;
    }
    let name = value.as_str().unwrap_or_default();
    let parts = name.split_once('/');
    let is_name = parts.is_some_and(|(provider, model)| {
        !provider.is_empty() && !model.is_empty() && !name.chars().any(char::is_whitespace)
    });
    (!is_name || name.starts_with("script:"))
        .then(|| format!("{key} names a model as provider/name; {value} does not"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(key: &str, value: Value) -> Option<String> {
        SettingProposal { key: key.into(), value, reason: "It was asked for.".into() }.problem()
    }

    #[test]
    fn k14_what_is_not_on_the_list_cannot_be_proposed() {
        for key in [
            "permissions.allow",
            "permissions.deny",
            "security.canary",
            "security.confirmation",
            "sandbox.tier",
            "web.allow_hosts",
            "web.search.url",
            "providers.acme.base_url",
            "secrets.x.env",
            "hooks.Stop",
            "mcp_servers.x.command",
            "commands.x.run",
            "plugins.x",
            "profile",
            "prompt.instructions",
            "helpers.judge",
            "helpers.embed",
            "models.\"a/b\".price",
            "server.bind",
            "telemetry.otlp_endpoint",
            "agents.max_concurrent_runs",
            "limits",
            "",
            "model ",
        ] {
            let why = problem(key, json!("x")).unwrap_or_default();
            assert!(why.contains("cannot be proposed"), "{key}: {why}");
            assert!(only_narrows(key), "{key}");
        }
    }

    #[test]
    fn k14_a_value_is_checked_before_it_is_proposed() {
        for (key, value, fine) in [
            ("limits.max_iterations", json!(20), true),
            ("limits.max_iterations", json!([20]), false),
            ("limits.max_iterations", json!({}), false),
            ("limits.max_iterations", Value::Null, false),
            ("permission", json!("plan"), true),
            ("permission", json!(" "), false),
            ("permission", json!("plan\nfull"), false),
            ("model", json!("acme/\u{202e}egral"), false),
            ("model", json!("ac\u{200b}me/large"), false),
            ("prompt.timezone", json!("x".repeat(201)), false),
            ("model", json!("acme/large"), true),
            ("model", json!("acme/large:free"), true),
            ("model", json!("script:/tmp/x"), false),
            ("model", json!("large"), false),
            ("model", json!(7), false),
            ("helpers.plan", json!("acme/"), false),
            ("thinking", json!("high"), true),
        ] {
            assert_eq!(problem(key, value.clone()).is_none(), fine, "{key} {value}");
        }
        let without_reason = |reason: &str| SettingProposal {
            key: "model".into(),
            value: json!("a/b"),
            reason: reason.into(),
        };
        assert!(without_reason(" ").problem().is_some());
        assert!(without_reason("a\nb").problem().is_some());
        assert!(without_reason("a\u{202e}b").problem().is_some());
        assert!(without_reason(&"x".repeat(501)).problem().is_some());
        assert_eq!(without_reason("Cheaper.").problem(), None);
    }

    #[test]
    fn k14_a_proposal_is_read_as_it_was_kept() {
        let proposal = SettingProposal {
            key: "limits.budget_usd".into(),
            value: json!(1.5),
            reason: "Long runs.".into(),
        };
        let text = serde_json::to_string(&proposal).expect("it is data");
        assert_eq!(SettingProposal::from_text(&text), Ok(proposal.clone()));
        assert_eq!(proposal.describe_change(), "limits.budget_usd = 1.5");
        assert!(SettingProposal::from_text("{}").is_err());
    }
}
