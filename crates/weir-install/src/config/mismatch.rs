//! A value that is not of its type: which key it is, and what is to be written there. Not here: what types
//! cannot say (`check`).

use std::ops::Range;

use serde::Deserialize as _;
use serde_json::Value;
use toml::de::{DeTable, DeValue};
use weir_engine::misspelling::name_what_was_meant;

use super::Settings;
use super::catalogue::expected_value;
use super::file::{SettingPath, key_text};

/// What is wrong in the text of a file, without file and line.
pub(super) fn describe_file_mismatch(text: &str, error: &toml::de::Error) -> String {
    let message = name_what_was_meant(&error.message().lines().collect::<Vec<_>>().join("; "));
    let mut key = SettingPath::new();
    let table = DeTable::parse(text).ok();
    let is_found = table
        .zip(error.span())
        .is_some_and(|(table, span)| find_key_at(table.get_ref(), &span, &mut key));
    // A key at the top that nobody knows stands in the message.
    if !is_found || key.len() == 1 && message.starts_with("unknown field") {
        return message;
    }
    format!("{}: {}", key_text(&key), with_expected_value(&key, &message))
}

/// What is wrong with values that were put together, beginning with its key; `None`: no key is to blame.
pub(super) fn describe_merged_mismatch(
    merged: &Value,
    error: &serde_json::Error,
) -> Option<(String, String)> {
    let key = find_misfit(merged)?;
    let message = name_what_was_meant(&error.to_string());
    let told = with_expected_value(&key, &message);
    let link = if told == message { "" } else { "has an " };
    Some((key_text(&key), format!("{link}{told}")))
}

/// What was found, and what is to be written instead: the types of a person's file, and not those of the
/// program.
fn with_expected_value(key: &[String], message: &str) -> String {
    let found = match message.split_once(", expected ") {
        Some((found, _)) if found.starts_with("invalid type") => found,
        None if message.starts_with("wanted ") => "invalid type",
        _ => return message.to_owned(),
    };
    match expected_value(key) {
        Some(expected) => format!("{found}; write {expected}"),
        None => message.to_owned(),
    }
}

/// Whether a key or value of the table stands at this place; `key` is it then.
fn find_key_at(table: &DeTable<'_>, place: &Range<usize>, key: &mut SettingPath) -> bool {
    let holds = |span: Range<usize>| span.start <= place.start && place.end <= span.end;
    for (name, value) in table {
        key.push(name.get_ref().to_string());
        if let DeValue::Table(inner) = value.get_ref()
            && find_key_at(inner, place, key)
        {
            return true;
        }
        if holds(name.span()) || holds(value.span()) {
            return true;
        }
        key.pop();
    }
    false
}

/// The innermost value without which the others fit.
fn find_misfit(merged: &Value) -> Option<SettingPath> {
    let mut key = SettingPath::new();
    while let Some(Value::Object(table)) = value_at(merged, &key) {
        let misfit = table.keys().find(|name| fits_without(merged, &key, name));
        let Some(name) = misfit else { break };
        key.push(name.clone());
    }
    (!key.is_empty()).then_some(key)
}

fn value_at<'v>(values: &'v Value, key: &[String]) -> Option<&'v Value> {
    key.iter().try_fold(values, |value, part| value.get(part))
}

fn fits_without(merged: &Value, table: &[String], name: &str) -> bool {
    let mut left = merged.clone();
    let found = table.iter().try_fold(&mut left, |value, part| value.get_mut(part));
    if let Some(Value::Object(fields)) = found {
        fields.remove(name);
    }
    Settings::deserialize(&left).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn c8_a_value_of_the_wrong_type_is_named_by_its_key_with_what_is_expected() {
        for (text, told) in [
            (
                "[context]\nhandles = false\n",
                "context.handles: invalid type; write \"auto\" or \"off\"",
            ),
            ("context = false\n", "context: invalid type: boolean `false`; write a table"),
            ("limits.max_iterations = \"many\"", "write a whole number"),
            (
                "[memory]\nenabled = 1\n",
                "memory.enabled: invalid type: integer `1`; write true or false",
            ),
            (
                "[models.\"acme/large\"]\nwindow = []\n",
                "models.\"acme/large\".window: invalid type",
            ),
            ("limits = { max_iteration = 3 }", "limits.max_iteration: unknown field"),
            ("modle = 3", "unknown field `modle`; did you mean `model`?"),
            ("[limits]\nmax_iteration = 3\n", "`max_iteration`; did you mean `max_iterations`?"),
            ("colour = 3", "unknown field `colour`, expected one of"),
        ] {
            let error = toml::from_str::<Settings>(text).expect_err("it is wrong");
            let said = describe_file_mismatch(text, &error);
            assert!(said.contains(told), "{text:?}: {said}");
        }
    }

    #[test]
    fn c8_of_values_that_were_put_together_the_one_that_does_not_fit_is_named() {
        let merged = json!({"limits": {"max_iterations": 5}, "context": {"handles": false}});
        let error = serde_json::from_value::<Settings>(merged.clone()).expect_err("it is wrong");
        let (key, told) = describe_merged_mismatch(&merged, &error).expect("one is to blame");
        assert_eq!(key, "context.handles");
        assert!(told.starts_with("has an invalid type"), "{told}");
        assert!(told.ends_with("write \"auto\" or \"off\""), "{told}");
    }
}
