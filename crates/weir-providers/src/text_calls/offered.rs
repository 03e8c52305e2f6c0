//! The tools that a request offered, by name, and how its model calls: made once for each request.
//!
//! Not here: what a call is made of.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::call::{CALLS_MAX, whole_value};
use super::value::Notation;

/// Name spaces that some formats put before the name of a tool.
const NAME_SPACES: &[&str] = &["functions.", "tools.", "default_api."];

/// A tool that the model was offered.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool<'a> {
    /// Its name, as the model was told it.
    pub name: &'a str,
    /// JSON Schema of its arguments.
    pub schema: &'a Value,
}

/// Whether text is the only way in which a model can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallHabit {
    /// It has no other: what looks like a call most likely is one.
    #[default]
    OnlyText,
    /// It has calls of its own and writes one as text by mistake, so what may be an explanation is one.
    AlsoText,
}

/// The offered tools by name.
#[derive(Debug, Default)]
pub struct OfferedTools {
    /// With the properties of its arguments, where its schema names them.
    by_name: HashMap<String, Map<String, Value>>,
    pub(super) habit: CallHabit,
}

impl OfferedTools {
    /// The tools of one request.
    pub fn new(tools: &[OfferedTool<'_>], habit: CallHabit) -> OfferedTools {
        let by_name = tools.iter().map(|tool| {
            let properties = tool.schema.get("properties").and_then(Value::as_object);
            (tool.name.to_owned(), properties.cloned().unwrap_or_default())
        });
        OfferedTools { by_name: by_name.collect(), habit }
    }

    /// Whether nothing was offered, so that nothing can be called.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The offered name that `written` means: itself, or without the name space that some formats
    /// put before it and the number that Kimi's puts behind it.
    pub(super) fn find_tool(&self, written: &str) -> Option<&str> {
        let written = written.trim();
        let (bare, number) = written.rsplit_once(':').unwrap_or((written, ""));
        let bare = if number.bytes().all(|b| b.is_ascii_digit()) { bare } else { written };
        let within = NAME_SPACES.iter().find_map(|space| bare.strip_prefix(space));
        [Some(written), Some(bare), within]
            .into_iter()
            .flatten()
            .find_map(|name| self.by_name.get_key_value(name).map(|(name, _)| name.as_str()))
    }

    /// Whether `text`, as far as it came, may be the name of a tool and `after`.
    pub(super) fn may_name(&self, text: &str, after: &str) -> bool {
        let is_named = |text: &str| {
            self.by_name.keys().any(|tool| {
                let goes_on = |more: &str| more.starts_with(after) || after.starts_with(more);
                tool.starts_with(text) || text.strip_prefix(tool.as_str()).is_some_and(goes_on)
            })
        };
        let within = NAME_SPACES.iter().find_map(|space| text.strip_prefix(space));
        NAME_SPACES.iter().any(|space| space.starts_with(text))
            || is_named(text)
            || within.is_some_and(is_named)
    }

    pub(super) fn has_property(&self, tool: &str, property: &str) -> bool {
        self.by_name.get(tool).is_some_and(|all| all.contains_key(property))
    }

    /// The only argument that the tool has.
    pub(super) fn only_property(&self, tool: &str) -> Option<&str> {
        let all = self.by_name.get(tool)?;
        (all.len() == 1).then(|| all.keys().next().map(String::as_str))?
    }

    /// A text argument as the schema wants it: `5` is a number only where a number is wanted.
    pub(super) fn typed_value(&self, tool: &str, property: &str, raw: &str) -> Value {
        let text = || Value::String(without_outer_breaks(raw).to_owned());
        let Some(schema) = self.by_name.get(tool).and_then(|all| all.get(property)) else {
            return text();
        };
        if allows_type(schema, "string") {
            return text();
        }
        whole_value(raw, Notation::Python).map_or_else(text, |(value, _)| value)
    }
}

/// Whether a schema takes a value of this type, or says nothing of types.
fn allows_type(schema: &Value, wanted: &str) -> bool {
    let any = ["anyOf", "oneOf", "allOf"].iter().find_map(|name| schema[*name].as_array());
    if let Some(any) = any {
        return any.iter().take(CALLS_MAX).any(|one| one["type"] == wanted);
    }
    match &schema["type"] {
        Value::String(one) => one == wanted,
        Value::Array(types) => types.iter().any(|one| one == wanted),
        _ => schema["enum"].as_array().is_none_or(|all| all.iter().all(Value::is_string)),
    }
}

/// Without the one line break that markup puts on either side of a value.
fn without_outer_breaks(raw: &str) -> &str {
    let raw = raw.strip_prefix("\r\n").or(raw.strip_prefix('\n')).unwrap_or(raw);
    raw.strip_suffix("\r\n").or(raw.strip_suffix('\n')).unwrap_or(raw)
}
