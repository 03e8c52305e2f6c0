//! Paths to arguments of a call, as declarations name them: `to`, `message.to`, `events[].attendees`.
//! Pure. Not here: what an argument means.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest path, in characters.
const PATH_CHARS_MAX: usize = 200;
/// Deepest argument that is looked at one by one; what lies deeper is one value, as it is written.
const DEPTH_MAX: usize = 16;

/// A path to arguments: names with dots between, `[]` for each item of a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(any(test, feature = "schema"), schemars(with = "String"))]
pub struct ArgumentPath(String);

impl TryFrom<String> for ArgumentPath {
    type Error = String;
    fn try_from(text: String) -> Result<ArgumentPath, String> {
        let is_name = |name: &str| !name.is_empty() && !name.contains(['[', ']', '"']);
        let parts_ok = text.split('.').all(|part| is_name(part.trim_end_matches("[]")));
        let fits = text.chars().count() <= PATH_CHARS_MAX && !text.chars().any(char::is_control);
        match fits && parts_ok {
            true => Ok(ArgumentPath(text)),
            false => Err(format!(
                "{text:?} is no path to an argument: names with dots between, `[]` for the items of a \
                 list, at most {PATH_CHARS_MAX} characters"
            )),
        }
    }
}

impl From<ArgumentPath> for String {
    fn from(path: ArgumentPath) -> String {
        path.0
    }
}

impl fmt::Display for ArgumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ArgumentPath {
    /// Whether the argument at `name` is the one that is meant, or lies in it.
    fn covers(&self, name: &str) -> bool {
        name.strip_prefix(self.0.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    /// How exactly the path means the argument at `name`; none: it does not.
    pub(super) fn exactness_for(&self, name: &str) -> Option<usize> {
        self.covers(name).then_some(self.0.len())
    }

    /// Whether a tool with this schema has the argument. What a schema leaves open has any.
    pub(super) fn is_in_schema(&self, schema: &Value) -> bool {
        let mut at = schema;
        for part in self.0.split('.') {
            let name = part.trim_end_matches("[]");
            let Some(properties) = at.get("properties").and_then(Value::as_object) else {
                return !is_scalar(at) && !is_list(at);
            };
            let Some(found) = properties.get(name) else { return false };
            at = found;
            for _ in 0..(part.len() - name.len()) / 2 {
                let Some(items) = at.get("items") else { return !is_scalar(at) };
                at = items;
            }
        }
        true
    }
}

/// Whether a schema says that the value is no object and no list.
fn is_scalar(schema: &Value) -> bool {
    let is_plain =
        |kind: &Value| kind.as_str().is_some_and(|kind| !matches!(kind, "object" | "array"));
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().all(is_plain),
        kind => is_plain(kind),
    }
}

fn is_list(schema: &Value) -> bool {
    schema.get("items").is_some() || schema["type"] == "array"
}

/// The present place on a way through arguments or fields, as declarations name it.
#[derive(Debug, Default)]
pub(crate) struct ArgumentPlace(String);

impl ArgumentPlace {
    /// Where it is.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
    /// Goes into the items of a list, and gives what leads back.
    pub(crate) fn enter_items(&mut self) -> usize {
        let length = self.0.len();
        self.0.push_str("[]");
        length
    }
    /// Goes into a field of an object, and gives what leads back.
    pub(crate) fn enter_field(&mut self, name: &str) -> usize {
        let length = self.0.len();
        if length > 0 {
            self.0.push('.');
        }
        self.0.push_str(&path_word(name));
        length
    }
    /// Goes back to where one came from.
    pub(crate) fn leave(&mut self, back: usize) {
        self.0.truncate(back);
    }
}

/// How an argument was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentChoice {
    /// Freely.
    Free,
    /// Out of a closed set of the tool's own schema: a flag, a member of an enumeration.
    Closed,
}

/// What is told of an argument: its path, its value as a word, how it was chosen.
pub(super) type HearArgument<'a> = dyn FnMut(&str, &str, ArgumentChoice) + 'a;

/// Every value of `input` that says something, with its path: nothing empty.
pub(super) fn for_each_argument(input: &Value, schema: &Value, hear: &mut HearArgument<'_>) {
    let Value::Object(fields) = input else { return };
    let mut place = ArgumentPlace::default();
    for (name, value) in fields {
        walk_field(&mut place, ObjectField { name, value, schema }, 1, hear);
    }
}

/// A field of an object that has this schema.
#[derive(Clone, Copy)]
struct ObjectField<'a> {
    name: &'a str,
    value: &'a Value,
    schema: &'a Value,
}

/// A field of the object at `place`. A name that the schema does not have was chosen freely: where its value
/// says nothing, the name can (`{"eve@evil.example": true}`), and is heard as in a question (`query`).
fn walk_field(
    place: &mut ArgumentPlace,
    field: ObjectField<'_>,
    depth: usize,
    hear: &mut HearArgument<'_>,
) {
    let ObjectField { name, value, schema } = field;
    let declared = schema["properties"].get(name);
    let back = place.enter_field(name);
    if declared.is_none() && says_nothing(value) {
        hear(place.as_str(), name, ArgumentChoice::Free);
    }
    walk_argument(place, value, declared.unwrap_or(&Value::Null), depth, hear);
    place.leave(back);
}

/// Whether no word stands in a value: flags and blanks alone. The names of fields are words.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(says_nothing),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// A name as a part of a path: one that would read as several parts is quoted, and no path has such a
/// part.
fn path_word(name: &str) -> String {
    match name.contains(['.', '[', ']', '"']) || name.is_empty() {
        true => format!("{name:?}"),
        false => name.to_owned(),
    }
}

fn walk_argument(
    place: &mut ArgumentPlace,
    value: &Value,
    schema: &Value,
    depth: usize,
    hear: &mut HearArgument<'_>,
) {
    let is_member = schema["enum"].as_array().is_some_and(|set| set.contains(value))
        || schema.get("const").is_some_and(|only| only == value);
    let choice = if is_member { ArgumentChoice::Closed } else { ArgumentChoice::Free };
    match value {
        Value::Null => (),
        Value::Bool(flag) => hear(place.as_str(), &flag.to_string(), ArgumentChoice::Closed),
        Value::Number(number) => hear(place.as_str(), &number_word(number), choice),
        Value::String(text) if text.trim().is_empty() => (),
        Value::String(text) => hear(place.as_str(), text, choice),
        Value::Array(_) | Value::Object(_) if is_member || depth >= DEPTH_MAX => {
            hear(place.as_str(), &value.to_string(), choice);
        }
        Value::Array(items) => {
            let back = place.enter_items();
            for item in items {
                walk_argument(place, item, &schema["items"], depth + 1, hear);
            }
            place.leave(back);
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                walk_field(place, ObjectField { name, value: field, schema }, depth + 1, hear);
            }
        }
    }
}

/// A number as a word, the same for all the ways to write it: a server takes `3.0` for `3`.
pub(super) fn number_word(number: &serde_json::Number) -> String {
    /// Below it each whole number is a float of its own.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < WHOLE_MAX => {
            // A zero below zero is a zero.
            format!("{:.0}", float + 0.0)
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> ArgumentPath {
        ArgumentPath::try_from(text.to_owned()).expect(text)
    }

    #[test]
    fn u2_a_path_covers_what_lies_in_it_and_nothing_that_begins_alike() {
        assert!(path("body").covers("body") && path("body").covers("body.text"));
        assert!(path("body").covers("body[]") && path("a[].b").covers("a[].b"));
        assert!(!path("body").covers("body_html") && !path("a[].b").covers("a.b"));
    }

    #[test]
    fn u2_what_is_no_path_is_refused() {
        for text in ["", ".", "a.", "[]", "a..b", "a\nb", &"x".repeat(201)] {
            assert!(ArgumentPath::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn u2_deep_and_odd_arguments_are_heard_whole() {
        let mut deep = json!("eve@evil.example");
        for _ in 0..200 {
            deep = json!([deep]);
        }
        let mut heard = Vec::new();
        let input = json!({ "a": deep, "b": 1.5, "c": null, "d": " ", "e.f": "x" });
        for_each_argument(&input, &json!({}), &mut |name, value, _| {
            heard.push((name.to_owned(), value.to_owned()));
        });
        assert!(heard.iter().any(|(_, value)| value.contains("eve@evil.example")));
        assert!(heard.contains(&("b".to_owned(), "1.5".to_owned())));
        assert!(heard.contains(&("\"e.f\"".to_owned(), "x".to_owned())));
        // Nobody declared these names, and nothing else stands in what they name.
        assert!(heard.contains(&("c".to_owned(), "c".to_owned())));
        assert!(heard.contains(&("d".to_owned(), "d".to_owned())));
        assert_eq!(heard.len(), 5);
    }

    #[test]
    fn u2_a_number_is_one_word_however_it_is_written() {
        let words = |text: &str| {
            let mut heard = Vec::new();
            let input: Value = serde_json::from_str(text).expect("JSON");
            for_each_argument(&input, &json!({}), &mut |_, value, _| heard.push(value.to_owned()));
            heard
        };
        assert_eq!(words(r#"{ "a": 4, "b": 4.0, "c": 4e0, "d": 0.4e1 }"#), ["4", "4", "4", "4"]);
        assert_eq!(words(r#"{ "a": -0.0, "b": 4.5, "c": 1e300 }"#), ["0", "4.5", "1e+300"]);
    }
}
