//! A value that an agent proposed, held against the settings that hold now: it is of its type, and
//! where it may only narrow, it allows no more than what holds here, and no more than what holds for the
//! person elsewhere, since that is where it will count. Not here: which settings can be
//! proposed (`weir_core::proposal`), and who accepts one.

use serde_json::Value;
use weir_core::proposal::{SettingProposal, only_narrows};

use super::file::{ConfigLayer, PlacedValue, SettingPath};
use super::{BrowserSettings, ConfigFiles, SettingOrigin, Settings, WorkspaceConfig, narrow};

/// What a setting that may only narrow is held against.
#[derive(Debug)]
pub struct AcceptanceBounds<'a> {
    /// What holds in the folder that is worked in: its file and the environment may have narrowed it.
    here: &'a Settings,
    /// What holds for the person everywhere: a trusted folder may have more.
    everywhere: Settings,
}

impl<'a> AcceptanceBounds<'a> {
    /// The bounds for whoever has these files and settings, in one folder.
    ///
    /// # Errors
    /// A file that cannot be read or has a mistake.
    pub fn read_bounds(
        here: &'a WorkspaceConfig,
        files: &ConfigFiles,
        made: &BrowserSettings,
    ) -> anyhow::Result<AcceptanceBounds<'a>> {
        let everywhere = WorkspaceConfig::own_settings(files, made)?;
        Ok(AcceptanceBounds { here: &here.settings, everywhere })
    }
}

/// Why a person cannot accept this now; `Ok`: they can.
///
/// # Errors
/// The reason, in words for them.
pub fn check_proposed_setting(
    bounds: &AcceptanceBounds<'_>,
    proposal: &SettingProposal,
) -> Result<(), String> {
    if let Some(problem) = proposal.problem() {
        return Err(problem);
    }
    let key = proposal.key.as_str();
    let known = super::catalogue::describe_all_settings()
        .iter()
        .any(|one| !one.is_table && one.key == parts_of(key));
    if !known {
        return Err(format!("there is no setting {key}"));
    }
    let (parts, placed) = placed_value(key, &proposal.value);
    let mut layer = ConfigLayer::default();
    layer.values.insert(parts.clone(), placed.clone());
    WorkspaceConfig::of_layer(layer).map_err(|error| error.to_string())?;
    let is_wider = |below: &Settings| narrow::allows_more(&parts, &placed, below);
    match only_narrows(key) && (is_wider(bounds.here) || is_wider(&bounds.everywhere)) {
        true => Err(format!(
            "{} would allow, keep or use more than what holds now; only you set that yourself, with \
             `weir config set`",
            proposal.describe_change()
        )),
        false => Ok(()),
    }
}

fn parts_of(key: &str) -> SettingPath {
    key.split('.').map(str::to_owned).collect()
}

fn placed_value(key: &str, value: &Value) -> (SettingPath, PlacedValue) {
    (parts_of(key), PlacedValue { json: value.clone(), origin: SettingOrigin::BuiltIn })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::proposal::proposable_keys;

    use super::*;
    use crate::config::file::key_text;

    fn settings(pairs: &[(&str, Value)]) -> Settings {
        let mut layer = ConfigLayer::default();
        for (key, value) in pairs {
            let (parts, placed) = placed_value(key, value);
            layer.values.insert(parts, placed);
        }
        WorkspaceConfig::of_layer(layer).expect("they fit").settings
    }

    fn verdict_within(
        here: &[(&str, Value)],
        everywhere: &[(&str, Value)],
        key: &str,
        value: Value,
    ) -> Result<(), String> {
        let reason = "It was asked for.".to_owned();
        let proposal = SettingProposal { key: key.into(), value, reason };
        let bounds = AcceptanceBounds { here: &settings(here), everywhere: settings(everywhere) };
        check_proposed_setting(&bounds, &proposal)
    }

    fn verdict(key: &str, value: Value) -> Result<(), String> {
        verdict_within(&[], &[], key, value)
    }

    /// A trusted folder that allows more is no measure of what its person allows elsewhere, and one
    /// that allows less is not widened by the way.
    #[test]
    fn k14_what_narrows_is_held_against_both_what_holds_here_and_everywhere() {
        let mode = |mode: &str| [("permission", json!(mode))];
        for (here, everywhere, proposed, fine) in [
            ("full", "ask", "auto-edit", false),
            ("full", "ask", "ask", true),
            ("full", "full", "auto-edit", true),
            ("plan", "full", "auto-edit", false),
            ("plan", "full", "plan", true),
        ] {
            let told =
                verdict_within(&mode(here), &mode(everywhere), "permission", json!(proposed));
            assert_eq!(
                told.is_ok(),
                fine,
                "{proposed} with {here} here and {everywhere}: {told:?}"
            );
        }
        let calls = |n: u32| [("limits.max_tool_calls", json!(n))];
        let told = verdict_within(&calls(500), &calls(10), "limits.max_tool_calls", json!(100));
        assert!(told.is_err(), "{told:?}");
    }

    /// Tables of which nothing may ever be proposed.
    const CLOSED: &[&str] = &[
        "permissions",
        "providers",
        "models",
        "web",
        "secrets",
        "keys",
        "security",
        "sandbox",
        "hooks",
        "mcp_servers",
        "commands",
        "plugins",
        "agents",
        "server",
        "telemetry",
    ];

    #[test]
    fn k14_every_setting_is_on_the_list_or_cannot_be_proposed() {
        let all: Vec<String> = super::super::catalogue::describe_all_settings()
            .iter()
            .filter(|one| !one.is_table)
            .map(|one| key_text(&one.key))
            .collect();
        for key in proposable_keys() {
            assert!(all.iter().any(|known| known == key), "there is no setting {key}");
        }
        let samples = [
            json!(1),
            json!(true),
            json!(false),
            json!("x"),
            json!("a/b"),
            json!("plan"),
            json!("1s"),
        ];
        for key in &all {
            let table = key.split('.').next().unwrap_or_default();
            let listed = proposable_keys().any(|known| known == key);
            let accepted = samples.iter().any(|value| verdict(key, value.clone()).is_ok());
            assert!(listed || !accepted, "{key} can be proposed and is not on the list");
            assert!(!(listed && CLOSED.contains(&table)), "{key} must not be on the list");
        }
        // What is set by name has no key of its own in the list of settings.
        for key in CLOSED.iter().map(|table| format!("{table}.x.y")) {
            assert!(verdict(&key, json!("x")).is_err(), "{key}");
        }
        for key in ["profile", "prompt.instructions", "helpers.judge", "helpers.embed"] {
            assert!(verdict(key, json!("agent")).is_err(), "{key}");
        }
    }

    /// `(key, a value that allows less, one that allows more)`, for each that may only narrow.
    fn bounds() -> Vec<(&'static str, Value, Value)> {
        vec![
            ("permission", json!("plan"), json!("full")),
            ("limits.max_iterations", json!(10), json!(1_001)),
            ("limits.max_tool_calls", json!(10), Value::Null),
            ("limits.max_subtask_depth", json!(1), json!(3)),
            ("limits.consecutive_mistake_limit", json!(2), json!(0)),
            ("limits.rate_limit_ms", json!(500), Value::Null),
            ("limits.budget_usd", json!(1.5), Value::Null),
            ("limits.budget_tokens", json!(9_000), Value::Null),
            ("limits.run_timeout", json!("10m"), Value::Null),
            ("limits.tool_timeout", json!("1m"), json!("10m")),
            ("limits.approval_timeout", json!("1h"), json!("48h")),
            ("memory.enabled", json!(false), Value::Null),
            ("memory.accept", json!(false), json!(true)),
            ("memory.after_run", json!(false), json!(true)),
            ("recipes.enabled", json!(false), Value::Null),
            ("recipes.fast_path", json!(false), Value::Null),
            ("recipes.learn", json!(false), Value::Null),
            ("recipes.accept_learned", json!(false), json!(true)),
            ("recipes.floor", json!(0.9), json!(0.1)),
        ]
    }

    #[test]
    fn k14_what_may_only_narrow_is_refused_where_it_widens() {
        let bounds = bounds();
        let tried: Vec<&str> = bounds.iter().map(|(key, _, _)| *key).collect();
        let narrowing: Vec<&str> = proposable_keys().filter(|key| only_narrows(key)).collect();
        assert_eq!(tried, narrowing, "each is tried");
        for (key, less, more) in bounds {
            assert_eq!(verdict(key, less.clone()), Ok(()), "{key} = {less}");
            let why = verdict(key, more.clone());
            assert!(why.is_err(), "{key} = {more} allows more");
        }
    }

    #[test]
    fn k14_a_value_of_another_type_is_refused() {
        for (key, value) in [
            ("limits.max_iterations", json!("many")),
            ("limits.max_iterations", json!(0)),
            ("prompt.timezone", json!("Mars")),
            ("thinking", json!("very")),
            ("context.condensing_threshold", json!(true)),
        ] {
            assert!(verdict(key, value.clone()).is_err(), "{key} = {value}");
        }
        for (key, value) in [
            ("prompt.timezone", json!("Europe/Zurich")),
            ("thinking", json!("high")),
            ("model", json!("acme/large")),
            ("helpers.plan", json!("acme/small")),
            ("context.condensing_threshold", json!(60)),
        ] {
            assert_eq!(verdict(key, value.clone()), Ok(()), "{key} = {value}");
        }
    }
}
