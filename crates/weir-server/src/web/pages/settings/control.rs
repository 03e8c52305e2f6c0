//! One setting as a control with its meaning, default and origin.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde_json::Value;
use weir_install::user_space::{Setting, SettingShape};

use crate::web::parts::render_badge;

/// Most suggestions in one page's list.
const SUGGESTIONS_MAX: usize = 700;

/// For whom the controls are, and what was typed and not taken.
pub(super) struct ControlContext<'a> {
    pub(super) for_all: bool,
    pub(super) typed: &'a BTreeMap<String, String>,
}

impl ControlContext<'_> {
    /// Whether a control can be there at all.
    pub(super) fn may_set(&self, setting: &Setting) -> bool {
        let is_theirs = if self.for_all { setting.for_all } else { setting.yours };
        is_theirs && setting.shape != SettingShape::Other
    }

    fn set_value<'s>(&self, setting: &'s Setting) -> Option<&'s Value> {
        if self.for_all { setting.house.as_ref() } else { setting.own.as_ref() }
    }

    /// The text in the control.
    fn control_text(&self, setting: &Setting) -> String {
        let typed = self.typed.get(&format!("v:{}", setting.key));
        typed
            .cloned()
            .unwrap_or_else(|| self.set_value(setting).map(value_text).unwrap_or_default())
    }
}

/// Words of which a key is made: `limits.max_iterations` is "Max iterations".
pub(super) fn setting_title(key: &str) -> String {
    match key {
        "prompt.timezone" => return "Time zone".into(),
        "prompt.instructions" => return "Instructions for every agent".into(),
        "limits.budget_usd" => return "Budget in US dollars".into(),
        _ => (),
    }
    let last = key.rsplit('.').next().unwrap_or(key).replace('_', " ");
    let mut letters = last.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The element of a setting.
pub(super) fn element_id(key: &str) -> String {
    format!("s-{}", key.replace(['.', '_'], "-"))
}

/// A value in a control: what is typed is read back the same.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What was typed, as the setting's type; `None`: nothing. What does not fit stays a text, and is
/// refused with its reason where types are known.
pub(super) fn parse_value(setting: &Setting, text: &str) -> Option<Value> {
    let text = text.replace("\r\n", "\n");
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return None;
    }
    let as_text = || Value::from(trimmed);
    Some(match setting.shape {
        SettingShape::Toggle => match trimmed {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => as_text(),
        },
        SettingShape::Whole => trimmed.parse::<u64>().map_or_else(|_| as_text(), Value::from),
        SettingShape::Number => trimmed.parse::<f64>().map_or_else(|_| as_text(), Value::from),
        SettingShape::LongText => Value::from(text),
        SettingShape::Text | SettingShape::Choice | SettingShape::Other => as_text(),
    })
}

/// All of these.
pub(super) fn render_group(settings: &[&Setting], asked: &ControlContext<'_>) -> Markup {
    html! {
        @for setting in settings { (render_setting(setting, asked)) }
    }
}

fn render_setting(setting: &Setting, asked: &ControlContext<'_>) -> Markup {
    let id = element_id(&setting.key);
    html! {
        div.field.setting {
            label for=(id) { (setting_title(&setting.key)) " " code { (setting.key) } }
            @if asked.may_set(setting) {
                (render_control(setting, asked, &id))
            } @else {
                output id=(id) { (display_value(&setting.value)) }
            }
            p.hint id={ (id) "-hint" } { (setting.description) }
            p.hint {
                "Current: " strong { (display_value(&setting.value)) } " "
                (origin_badge(setting)) " "
                @if setting.value != setting.default { "Default: " (display_value(&setting.default)) }
            }
        }
    }
}

fn origin_badge(setting: &Setting) -> Markup {
    match setting.origin.as_str() {
        "built in" => render_badge("", "default"),
        from if from.starts_with("set in the browser") => render_badge("info", from),
        from => render_badge("", from),
    }
}

/// A value for people.
fn display_value(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::Bool(true) => "on".into(),
        Value::Bool(false) => "off".into(),
        Value::String(text) if text.is_empty() => "none".into(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(", "),
        other => value_text(other),
    }
}

fn render_control(setting: &Setting, asked: &ControlContext<'_>, id: &str) -> Markup {
    let name = format!("v:{}", setting.key);
    let text = asked.control_text(setting);
    let hint = format!("{id}-hint");
    let list = format!("{id}-list");
    match setting.shape {
        SettingShape::Toggle => render_select(
            &name,
            id,
            &text,
            &[("true".into(), "on".into()), ("false".into(), "off".into())],
        ),
        SettingShape::Choice => {
            let words: Vec<(String, String)> =
                setting.choices.iter().map(|word| (word.clone(), word.clone())).collect();
            render_select(&name, id, &text, &words)
        }
        SettingShape::LongText => html! {
            textarea id=(id) name=(name) rows="8" aria-describedby=(hint) { (text) }
        },
        SettingShape::Whole => html! {
            input id=(id) name=(name) value=(text) type="number" min="0" step="1"
                inputmode="numeric" placeholder=(display_value(&setting.value)) aria-describedby=(hint);
        },
        SettingShape::Number => html! {
            input id=(id) name=(name) value=(text) type="number" min="0" step="any"
                inputmode="decimal" placeholder=(display_value(&setting.value)) aria-describedby=(hint);
        },
        SettingShape::Text | SettingShape::Other => html! {
            input id=(id) name=(name) value=(text) type="text" autocomplete="off"
                placeholder=(display_value(&setting.value)) aria-describedby=(hint)
                list=[(!setting.suggestions.is_empty()).then_some(&list)];
            @if !setting.suggestions.is_empty() {
                datalist id=(list) {
                    @for word in setting.suggestions.iter().take(SUGGESTIONS_MAX) {
                        option value=(word) {}
                    }
                }
            }
        },
    }
}

/// A choice whose first entry leaves it to what is below.
fn render_select(name: &str, id: &str, text: &str, words: &[(String, String)]) -> Markup {
    html! {
        select id=(id) name=(name) aria-describedby={ (id) "-hint" } {
            option value="" selected[text.is_empty()] { "Inherit" }
            @for (value, word) in words {
                option value=(value) selected[value == text] { (word) }
            }
        }
    }
}
