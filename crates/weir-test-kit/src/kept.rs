//! Texts that the program keeps because they are the same in each build: a test makes them anew of the types, and
//! compares or writes them. Not here: what they are made of.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

/// Longest value that stands on a line by itself, in bytes; a larger one has a line for each of its parts.
const LINE_BYTES_MAX: usize = 200;

/// Holds the text `kept`, which lies at `path`, against what was made; with `UPDATE` it is written there instead.
///
/// # Panics
/// It is not what was made, or cannot be written.
pub fn check_kept_json(path: &str, kept: &str, made: &Value) {
    let text = kept_text(made);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, text).expect("the kept text can be written");
        return;
    }
    assert!(kept == text, "{path} is not what the types say: run this test with UPDATE=1");
}

/// JSON of which each change shows as a few lines.
fn kept_text(value: &Value) -> String {
    let mut text = String::new();
    push_value(value, &mut text);
    text.push('\n');
    text
}

fn push_value(value: &Value, text: &mut String) {
    let whole = value.to_string();
    match value {
        _ if whole.len() <= LINE_BYTES_MAX => text.push_str(&whole),
        Value::Object(members) => {
            text.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                text.push_str(if index == 0 { "\n" } else { ",\n" });
                let _ = write!(text, "{}:", Value::from(name.as_str()));
                push_value(member, text);
            }
            text.push_str("\n}");
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "\n" } else { ",\n" });
                push_value(item, text);
            }
            text.push_str("\n]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&whole),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn q23_what_is_kept_is_the_same_value_with_its_parts_on_lines() {
        let long = "w\u{f6}rds\n".repeat(LINE_BYTES_MAX);
        let value = json!({
            "short": { "a": [1, null, 1.5] },
            "long": { "text": long, "list": [long, [], {}, true] },
        });
        let text = kept_text(&value);
        assert!(
            text.contains("\n\"short\":{\"a\":[1,null,1.5]},\n\"long\":{\n\"text\":"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
        assert_ne!(kept_text(&json!({ "short": 1 })), kept_text(&json!({ "short": 2 })));
    }
}
