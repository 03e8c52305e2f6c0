//! Settings that people made in the browser of a server: the installation's, which hold for everybody, and
//! each person's own (C8, S6). Here they are understood, bounded and become layers. Not here: where
//! they are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_core::ids::Timestamp;

use super::file::{ConfigLayer, PlacedValue, SettingPath, key_text};
use super::narrow::{self, settings_of};
use super::settings::MODEL_CALLS_MAX;
use super::{SettingOrigin, WorkspaceConfig};

/// Longest text of a value.
const TEXT_CHARS_MAX: usize = 20_000;
/// Model calls per run that a person may set where nobody bounded them: as many as there are then.
const ITERATIONS_UNBOUNDED: u64 = MODEL_CALLS_MAX as u64;

/// What an admin may set for everybody. Whatever names a program, a key or a folder stays in files.
const INSTALLATION: &[&str] = &[
    "model",
    "profile",
    "thinking",
    "permission",
    "limits",
    "spending",
    "helpers",
    "context",
    "memory",
    "recipes",
    "agents",
    "prompt",
    "web.search",
    "security",
];

/// What a person may set for themselves.
const PERSON: &[&str] = &[
    "model",
    "profile",
    "thinking",
    "permission",
    "limits",
    "spending",
    "context",
    "memory",
    "brain",
    "person",
    "recipes",
    "prompt",
];

/// For whom a value was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// For everybody.
    Installation,
    /// For whoever made it.
    Person,
}

impl SettingScope {
    /// Whether `key` is to be set here at all.
    pub fn may_set(self, key: &str) -> bool {
        let keys = match self {
            SettingScope::Installation => INSTALLATION,
            SettingScope::Person => PERSON,
        };
        let below = |table: &&str| {
            key.strip_prefix(*table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        keys.iter().any(below)
    }
}

/// A value that somebody made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeValue {
    /// The value, as its type is written in JSON.
    pub value: Value,
    /// Who made it.
    pub by: String,
    /// When.
    pub ts: Timestamp,
}

/// Values by key.
pub type MadeValues = BTreeMap<String, MadeValue>;

/// Everything that was made in the browser and holds for one person.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BrowserSettings {
    /// For everybody.
    pub installation: MadeValues,
    /// For them alone.
    pub person: MadeValues,
    /// They have no role admin: their model is one of the catalogue, never a file.
    pub is_guest: bool,
}

/// The layers of what was made.
pub(super) struct MadeLayers {
    pub(super) installation: ConfigLayer,
    pub(super) person: ConfigLayer,
    /// What was left out, and why: one line each.
    pub(super) notes: Vec<String>,
}

/// The layers above `user`. What no longer fits is left out: a program that was renewed, or an
/// admin who lowered a bound, must not keep anybody from working.
pub(super) fn browser_layers(
    made: &BrowserSettings,
    user: Option<&ConfigLayer>,
) -> anyhow::Result<MadeLayers> {
    let mut notes = Vec::new();
    let mut installation = ConfigLayer::default();
    for (key, value) in &made.installation {
        match place_browser_value(SettingScope::Installation, key, value) {
            Ok((key, placed)) => drop(installation.values.insert(key, placed)),
            Err(why) => {
                notes.push(format!("{}: {why}", browser_origin(SettingScope::Installation, value)))
            }
        }
    }
    let below = stack_layers([user, Some(&installation)]);
    let mut person = ConfigLayer::default();
    for (key, value) in &made.person {
        let fits =
            place_browser_value(SettingScope::Person, key, value).and_then(|(path, placed)| {
                match too_wide(made, &path, &placed, &below)? {
                    Some(why) => Err(format!("{key} {why}")),
                    None => Ok((path, placed)),
                }
            });
        match fits {
            Ok((key, placed)) => drop(person.values.insert(key, placed)),
            Err(why) => {
                notes.push(format!("{}: {why}", browser_origin(SettingScope::Person, value)))
            }
        }
    }
    Ok(MadeLayers { installation, person, notes })
}

/// Values of all of these, later ones over earlier ones. Rules and hooks are none of it.
pub(super) fn stack_layers<'a>(
    layers: impl IntoIterator<Item = Option<&'a ConfigLayer>>,
) -> ConfigLayer {
    let mut all = ConfigLayer::default();
    for layer in layers.into_iter().flatten() {
        all.values.extend(layer.values.iter().map(|(key, placed)| (key.clone(), placed.clone())));
    }
    all
}

/// A trusted workspace cannot switch off what an admin switched on for everybody. Says what was
/// left out.
pub(super) fn hold_security_settings(
    installation: &ConfigLayer,
    project: &mut ConfigLayer,
) -> Vec<String> {
    let is_held = |key: &SettingPath, placed: &PlacedValue| {
        let ours = installation.values.get(key).map(|ours| &ours.json);
        key.first().is_some_and(|first| first == "security")
            && ours == Some(&Value::Bool(true))
            && placed.json == Value::Bool(false)
    };
    let mut notes = Vec::new();
    project.values.retain(|key, placed| {
        let held = is_held(key, placed);
        if held {
            notes.push(format!(
                "{}: {} is ignored: an admin switched it on for everybody",
                placed.origin,
                key_text(key)
            ));
        }
        !held
    });
    notes
}

/// Why this value may not be made; `Ok`: it may.
///
/// # Errors
/// The reason, in words for whoever wanted it.
pub fn check_browser_value(
    scope: SettingScope,
    key: &str,
    value: &MadeValue,
) -> Result<(), String> {
    place_browser_value(scope, key, value).map(drop)
}

/// A value with its place, where it may be set and is of its type.
fn place_browser_value(
    scope: SettingScope,
    key: &str,
    value: &MadeValue,
) -> Result<(SettingPath, PlacedValue), String> {
    if !scope.may_set(key) {
        return Err(match scope {
            SettingScope::Installation if key.starts_with("permissions") => {
                "rules are changed with `weir permissions` or in config.toml".to_owned()
            }
            SettingScope::Installation => format!("{key} is set in config.toml alone"),
            SettingScope::Person => format!("{key} is not yours to set; ask an admin"),
        });
    }
    if value.value.as_str().is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX) {
        return Err(format!("{key} has more than {TEXT_CHARS_MAX} characters"));
    }
    let parts: SettingPath = key.split('.').map(str::to_owned).collect();
    let placed = PlacedValue { json: value.value.clone(), origin: browser_origin(scope, value) };
    let mut layer = ConfigLayer::default();
    layer.values.insert(parts.clone(), placed.clone());
    let known = super::catalogue::describe_all_settings()
        .iter()
        .any(|one| one.key == parts && !one.is_table);
    if !known {
        return Err(format!("there is no setting {key}"));
    }
    WorkspaceConfig::of_layer(layer).map_err(|error| {
        let why = error.to_string();
        let why = why.strip_prefix("the settings do not fit together: ").unwrap_or(&why);
        let why = why.strip_prefix(&format!("{}: ", placed.origin)).unwrap_or(why);
        let why = why.strip_prefix(&format!("{key} ")).unwrap_or(why);
        format!("{key} {why}")
    })?;
    Ok((parts, placed))
}

fn browser_origin(scope: SettingScope, value: &MadeValue) -> SettingOrigin {
    SettingOrigin::Browser { by: value.by.clone(), for_all: scope == SettingScope::Installation }
}

/// Why a person's value is wider than what the installation lets them have.
fn too_wide(
    made: &BrowserSettings,
    key: &SettingPath,
    placed: &PlacedValue,
    below: &ConfigLayer,
) -> Result<Option<String>, String> {
    let settings = settings_of(Some(below)).map_err(|error| error.to_string())?;
    let names: Vec<&str> = key.iter().map(String::as_str).collect();
    let wide = match names.as_slice() {
        ["model"] => {
            let is_file = placed.json.as_str().is_some_and(|text| text.starts_with("script:"));
            return Ok((made.is_guest && is_file)
                .then(|| "names a file; choose one of the models".to_owned()));
        }
        ["limits", "max_iterations"] if below.get(&["limits", "max_iterations"]).is_none() => {
            placed.json.as_u64().is_none_or(|calls| calls > ITERATIONS_UNBOUNDED)
        }
        ["limits", "rate_limit_ms"] => {
            placed.json.as_u64().is_none_or(|ms| ms < settings.limits.rate_limit_ms)
        }
        ["limits", "parallel_calls"] => {
            let ours = u64::from(settings.limits.parallel_calls);
            placed.json.as_u64().is_none_or(|calls| calls > ours)
        }
        ["limits", "power_steering_frequency"] => false,
        // What guards others is an admin's; whoever is one may lower their own, and so may everybody.
        ["spending", cap] => narrow::is_wider_cap(cap, placed, &settings),
        ["limits", limit] => narrow::is_wider_limit(limit, placed, &settings.limits),
        _ => false,
    };
    Ok(wide.then(|| "is wider than the installation allows".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(value: Value) -> MadeValue {
        MadeValue { value, by: "ann".into(), ts: Timestamp(0) }
    }

    fn made(installation: &[(&str, Value)], person: &[(&str, Value)]) -> BrowserSettings {
        let values = |of: &[(&str, Value)]| {
            of.iter().map(|(key, json)| ((*key).to_owned(), value(json.clone()))).collect()
        };
        BrowserSettings {
            installation: values(installation),
            person: values(person),
            is_guest: true,
        }
    }

    fn person_keys(made: &BrowserSettings) -> Vec<String> {
        let layers = browser_layers(made, None).expect("layers");
        layers.person.values.keys().map(|key| key_text(key)).collect()
    }

    #[test]
    fn s5_nobody_sets_for_themselves_what_guards_others() {
        let keys = [
            "providers.acme.base_url",
            "sandbox.tier",
            "hooks.PreToolUse",
            "mcp_servers.x.command",
            "commands.x.run",
            "secrets.x.env",
            "security.canary",
            "server.bind",
            "helpers.judge",
            "agents.max_concurrent_runs",
            "web.allow_hosts",
            "web.search.url",
            "permissions.allow",
            "telemetry.otlp_endpoint",
            "modelx",
        ];
        for key in keys {
            assert!(!SettingScope::Person.may_set(key), "{key}");
        }
        for key in ["providers.acme.base_url", "sandbox.tier", "hooks.Stop", "secrets.x.env"] {
            assert!(!SettingScope::Installation.may_set(key), "{key}");
        }
    }

    #[test]
    fn c8_a_wrong_value_is_refused_with_its_reason() {
        let why = |key, json| {
            check_browser_value(SettingScope::Installation, key, &value(json)).expect_err("refused")
        };
        assert!(why("limits.max_iterations", json!(0)).contains("no run could begin"));
        assert!(why("limits.max_iterations", json!("x")).contains("write a whole number"));
        assert!(why("prompt.timezone", json!("Mars")).contains("no known time zone"));
        assert!(why("limits", json!({})).contains("no setting limits"));
        assert!(why("limits.nothing", json!(1)).contains("no setting"));
        assert_eq!(
            check_browser_value(
                SettingScope::Installation,
                "limits.max_iterations",
                &value(json!(7))
            ),
            Ok(())
        );
    }

    #[test]
    fn l4_what_was_stored_for_calls_of_tools_beats_the_variable() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let files = super::super::ConfigFiles {
            user: at("u"),
            project: at("p"),
            here: at("h"),
            draft: None,
            state: at("s"),
        };
        let environment =
            crate::environment::ProcessEnvironment::of(&[("WEIR_MAX_TOOL_CALLS", "9")]);
        let calls = |made: &BrowserSettings| {
            let config =
                WorkspaceConfig::load_with(&files, &environment, true, made).expect("readable");
            config.settings.limits.max_tool_calls
        };
        let key = "limits.max_tool_calls";
        assert_eq!(
            calls(&BrowserSettings::default()),
            Some(9),
            "the variable, where nothing is stored"
        );
        assert_eq!(calls(&made(&[(key, json!(12))], &[])), Some(12));
        assert_eq!(calls(&made(&[], &[(key, json!(5))])), Some(5));
        assert_eq!(calls(&made(&[(key, json!(12))], &[(key, json!(11))])), Some(11));
        // Nobody sets more for themselves than what holds for everybody.
        assert_eq!(calls(&made(&[], &[(key, json!(10))])), Some(9));
        assert_eq!(calls(&made(&[(key, json!(4))], &[(key, json!(5))])), Some(4));
    }

    #[test]
    fn s6_a_person_stays_below_the_limits_of_the_house() {
        let installation =
            [("limits.max_iterations", json!(10)), ("limits.budget_usd", json!(1.0))];
        let wide = made(
            &installation,
            &[
                ("limits.max_iterations", json!(11)),
                ("limits.budget_usd", json!(2.0)),
                ("limits.parallel_calls", json!(9)),
                ("limits.tool_timeout", json!("10m")),
                ("model", json!("script:/etc/passwd")),
            ],
        );
        assert_eq!(person_keys(&wide), Vec::<String>::new());
        let narrow = made(
            &installation,
            &[("limits.max_iterations", json!(9)), ("limits.budget_usd", json!(0.5))],
        );
        assert_eq!(person_keys(&narrow), ["limits.budget_usd", "limits.max_iterations"]);
        assert_eq!(person_keys(&made(&[], &[("limits.max_iterations", json!(1_001))])).len(), 0);
        assert_eq!(person_keys(&made(&[], &[("limits.max_iterations", json!(1_000))])).len(), 1);
    }
}
