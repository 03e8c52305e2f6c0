//! What can be chosen in a session, as editors show it: permission mode, model, thinking, profile. Pure.
//! Not here: when a choice takes effect, which is the session's own matter.

use serde_json::Value;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::view::told::one_line;
use weir_core::view::transcript::VisibleSettings;
use weir_tui::link::{ChoiceOption, UiCommand};

use crate::rpc::RpcError;
use crate::wire::{ConfigOption, ConfigValue, ModeState, SessionMode};

/// Names of the options.
const MODE: &str = "mode";
const MODEL: &str = "model";
const THINKING: &str = "thinking";
const PROFILE: &str = "profile";
/// Most values of one option that are told.
const VALUES_MAX: usize = 500;

/// The settings that hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeldSettings {
    /// `provider/name`.
    pub(crate) model: String,
    /// Name of the profile.
    pub(crate) profile: String,
    /// Permission mode.
    pub(crate) permission: PermissionMode,
    /// How much the model thinks.
    pub(crate) thinking: Thinking,
}

impl HeldSettings {
    /// What facts say of them.
    pub(crate) fn of_visible(seen: &VisibleSettings) -> HeldSettings {
        HeldSettings {
            model: seen.model.clone(),
            profile: seen.profile.clone(),
            permission: seen.permission.unwrap_or_default(),
            thinking: seen.thinking.unwrap_or_default(),
        }
    }
}

/// What there is to choose from, as far as it was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingChoices {
    /// Models.
    pub(crate) models: Vec<ChoiceOption>,
    /// Profiles.
    pub(crate) profiles: Vec<ChoiceOption>,
}

/// Another setting, as it is wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingWish {
    /// Another permission mode.
    Mode(PermissionMode),
    /// Another model.
    Model(String),
    /// How much the model thinks.
    Thinking(Thinking),
    /// Another profile.
    Profile(String),
}

impl SettingWish {
    /// The mode of this name.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn of_mode(name: &str) -> Result<SettingWish, RpcError> {
        name.parse().map(SettingWish::Mode).map_err(|why: String| RpcError::invalid_params(why))
    }

    /// This value of this option.
    ///
    /// # Errors
    /// There is no such option or value.
    pub(crate) fn of_option(id: &str, value: &Value) -> Result<SettingWish, RpcError> {
        let Some(value) = value.as_str() else {
            return Err(RpcError::invalid_params("the value of an option is a text"));
        };
        match id {
            MODE => SettingWish::of_mode(value),
            MODEL => Ok(SettingWish::Model(value.to_owned())),
            PROFILE => Ok(SettingWish::Profile(value.to_owned())),
            THINKING => {
                let level = Thinking::ALL.into_iter().find(|level| level.as_str() == value);
                let unknown =
                    || RpcError::invalid_params(format!("{value:?} is no level of thinking"));
                level.map(SettingWish::Thinking).ok_or_else(unknown)
            }
            _ => Err(RpcError::invalid_params(format!(
                "{id:?} is no option; the options are {MODE}, {MODEL}, {THINKING}, {PROFILE}"
            ))),
        }
    }

    /// Whether it holds already.
    pub(crate) fn is_held(&self, held: &HeldSettings) -> bool {
        match self {
            SettingWish::Mode(mode) => held.permission == *mode,
            SettingWish::Model(model) => held.model == *model,
            SettingWish::Thinking(level) => held.thinking == *level,
            SettingWish::Profile(profile) => held.profile == *profile,
        }
    }

    /// As it goes to the session.
    pub(crate) fn into_command(self) -> UiCommand {
        match self {
            SettingWish::Mode(mode) => UiCommand::Mode(mode),
            SettingWish::Model(model) => UiCommand::Model(model),
            SettingWish::Thinking(level) => UiCommand::Thinking(level),
            SettingWish::Profile(profile) => UiCommand::Profile(profile),
        }
    }
}

/// The permission modes, and which one holds.
pub(crate) fn mode_state(held: PermissionMode) -> ModeState {
    let mode = |mode: PermissionMode| SessionMode {
        id: mode.as_str().to_owned(),
        name: mode_name(mode).to_owned(),
        description: mode_words(mode).to_owned(),
    };
    ModeState {
        current_mode_id: held.as_str().to_owned(),
        available_modes: PermissionMode::ALL.into_iter().map(mode).collect(),
    }
}

/// All options, and what holds of each.
pub(crate) fn config_options(held: &HeldSettings, choices: &SettingChoices) -> Vec<ConfigOption> {
    let modes = PermissionMode::ALL.into_iter().map(|mode| ConfigValue {
        value: mode.as_str().to_owned(),
        name: mode_name(mode).to_owned(),
        description: mode_words(mode).to_owned(),
    });
    let levels = Thinking::ALL.into_iter().map(|level| ConfigValue {
        value: level.as_str().to_owned(),
        name: level.as_str().to_owned(),
        description: String::new(),
    });
    let option = |id, name, category, current: &str, options| ConfigOption {
        kind: "select",
        id,
        name,
        category,
        current_value: current.to_owned(),
        options,
    };
    let model = with_current(&choices.models, &held.model);
    let profile = with_current(&choices.profiles, &held.profile);
    vec![
        option(MODE, "Permissions", "mode", held.permission.as_str(), modes.collect()),
        option(MODEL, "Model", "model", &held.model, model),
        option(THINKING, "Thinking", "thought_level", held.thinking.as_str(), levels.collect()),
        option(PROFILE, "Profile", "_profile", &held.profile, profile),
    ]
}

/// A list that holds what is chosen now: it may be no longer offered, or the list not be there yet.
fn with_current(choices: &[ChoiceOption], current: &str) -> Vec<ConfigValue> {
    let value = |choice: &ChoiceOption| ConfigValue {
        value: choice.value.clone(),
        name: choice.value.clone(),
        description: one_line(&choice.about),
    };
    let mut values: Vec<ConfigValue> = choices.iter().take(VALUES_MAX).map(value).collect();
    if !values.iter().any(|value| value.value == current) {
        let (value, name) = (current.to_owned(), current.to_owned());
        values.insert(0, ConfigValue { value, name, description: String::new() });
    }
    values
}

fn mode_name(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Plan",
        PermissionMode::Ask => "Ask",
        PermissionMode::AutoEdit => "Auto-edit",
        PermissionMode::Full => "Full",
    }
}

fn mode_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Reads and plans, changes nothing",
        PermissionMode::Ask => "Reads in the folder; asks for everything else",
        PermissionMode::AutoEdit => {
            "Also changes files of the folder and runs commands in the sandbox; asks for the rest"
        }
        PermissionMode::Full => {
            "Everything but what rules, protected paths and the hard floor stop"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r1_every_option_has_its_value_among_its_values() {
        let held = HeldSettings {
            model: "anthropic/x".into(),
            profile: "agent".into(),
            permission: PermissionMode::AutoEdit,
            thinking: Thinking::High,
        };
        let about = "a\nb".to_owned();
        let choices = SettingChoices {
            models: vec![ChoiceOption { value: "other/y".into(), about, current: false }],
            profiles: Vec::new(),
        };
        let options = config_options(&held, &choices);
        for option in &options {
            let found = option.options.iter().any(|value| value.value == option.current_value);
            assert!(found, "{option:?}");
        }
        let shown = serde_json::to_value(&options[1]).expect("plain data");
        let expected = json!({
            "type": "select", "id": "model", "name": "Model", "category": "model",
            "currentValue": "anthropic/x",
            "options": [
                {"value": "anthropic/x", "name": "anthropic/x"},
                {"value": "other/y", "name": "other/y", "description": "a b"},
            ],
        });
        assert_eq!(shown, expected);
        let modes = mode_state(held.permission);
        assert_eq!((modes.current_mode_id.as_str(), modes.available_modes.len()), ("auto-edit", 4));
    }

    #[test]
    fn r1_choices_are_read_and_what_is_none_is_refused() {
        let read = |id, value: Value| SettingWish::of_option(id, &value);
        assert_eq!(read("mode", json!("plan")), Ok(SettingWish::Mode(PermissionMode::Plan)));
        assert_eq!(read("thinking", json!("low")), Ok(SettingWish::Thinking(Thinking::Low)));
        assert_eq!(read("model", json!("a/b")), Ok(SettingWish::Model("a/b".into())));
        assert_eq!(read("profile", json!("ask")), Ok(SettingWish::Profile("ask".into())));
        for (id, value) in [
            ("mode", json!("yolo")),
            ("thinking", json!("all")),
            ("colour", json!("red")),
            ("mode", json!(true)),
        ] {
            assert!(read(id, value.clone()).is_err(), "{id} {value}");
        }
    }
}
