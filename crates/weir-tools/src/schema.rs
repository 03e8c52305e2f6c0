//! JSON schemas of tool inputs: compact, self-contained, in the words that every vendor accepts.
//!
//! What is made of the input structs is kept as text, because making it anew would cost every start of the
//! program more than reading its settings (Q1), and code for each of the structs (Q23). Not here: making it,
//! which a test does (`derived`), and holding arguments against it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Value, json};
use weir_core::tool::InputSchema;

#[cfg(test)]
mod derived;

#[cfg(test)]
pub(crate) use derived::input_schema;
/// What describes itself. In tests alone: the program has what was said as text.
#[cfg(test)]
pub(crate) use schemars::JsonSchema as HasSchema;

/// What describes itself in tests: everything, as the program does not ask.
#[cfg(not(test))]
pub(crate) trait HasSchema {}
#[cfg(not(test))]
impl<T> HasSchema for T {}

/// The schemas of all tools, one a line. A test writes and compares it.
const KEPT: &str = include_str!("schemas.jsonl");
/// What stands before and behind the name of a tool in its line.
const NAME: (&str, &str) = ("{\"name\":\"", "\",\"input_schema\":");

/// The schema of the tool of this name. One without, which a test finds, takes no arguments.
pub(crate) fn kept_schema(name: &str) -> InputSchema {
    let none = || InputSchema::from(json!({ "type": "object", "maxProperties": 0 }));
    find_kept_schema(name).unwrap_or_else(none)
}

fn find_kept_schema(name: &str) -> Option<InputSchema> {
    static BY_NAME: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let split = |line: &'static str| {
            let (name, rest) = line.strip_prefix(NAME.0)?.split_once(NAME.1)?;
            Some((name, rest.strip_suffix('}')?))
        };
        KEPT.lines().filter_map(split).collect()
    });
    InputSchema::from_static(BY_NAME.get(name)?).ok()
}

/// The fields of an input schema as a Markdown list.
pub(crate) fn fields_markdown(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|r| r.iter().any(|n| n == name))
    };
    let mut list = String::new();
    for (name, field) in properties {
        let kind = field.get("type").and_then(Value::as_str).unwrap_or("any");
        let must = if required(name) { ", required" } else { "" };
        let text = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let opening = if list.is_empty() { "\n" } else { "" };
        let _ = writeln!(list, "{opening}- `{name}` ({kind}{must}): {text}");
    }
    list
}
