//! What stands in double braces in the arguments of a step: `{{path}}`, `{{step1.result}}`. Not
//! here: what is put there.

use serde_json::Value;

/// What a placeholder names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placeholder {
    /// A parameter.
    Parameter(String),
    /// What the step of this number gave, counted from 1.
    Result(usize),
    /// Nothing that is known: its text.
    Unreadable(String),
}

/// The placeholders of a value, keys of objects included, in order.
pub(super) fn of_value(value: &Value) -> Vec<Placeholder> {
    let mut found = Vec::new();
    collect_placeholders(value, &mut found);
    found
}

fn collect_placeholders(value: &Value, found: &mut Vec<Placeholder>) {
    match value {
        Value::String(text) => found.extend(of_text(text)),
        Value::Array(items) => items.iter().for_each(|item| collect_placeholders(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                found.extend(of_text(key));
                collect_placeholders(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

/// The placeholders of a text.
pub(super) fn of_text(text: &str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(from) = rest.find("{{") {
        let after = &rest[from + 2..];
        let Some(to) = after.find("}}") else {
            found.push(Placeholder::Unreadable(rest[from..].chars().take(40).collect()));
            break;
        };
        found.push(parse_placeholder(after[..to].trim()));
        rest = &after[to + 2..];
    }
    found
}

fn parse_placeholder(name: &str) -> Placeholder {
    let step = name.strip_prefix("step").and_then(|rest| rest.strip_suffix(".result"));
    if let Some(number) = step.and_then(|digits| digits.parse().ok()) {
        return Placeholder::Result(number);
    }
    match is_parameter_name(name) {
        true => Placeholder::Parameter(name.to_string()),
        false => Placeholder::Unreadable(name.chars().take(40).collect()),
    }
}

/// Whether `name` can be the name of a parameter: `[a-z0-9_]+`.
pub(super) fn is_parameter_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn m5_placeholders_are_found_wherever_they_stand() {
        use Placeholder::{Parameter, Result, Unreadable};
        for (value, expected) in [
            (json!({"path": "notes/{{ day }}.md"}), vec![Parameter("day".into())]),
            (
                json!({"a": ["{{x}}", {"b": "{{step2.result}}"}]}),
                vec![Parameter("x".into()), Result(2)],
            ),
            (json!({"{{key}}": 1}), vec![Parameter("key".into())]),
            (json!("{{no end"), vec![Unreadable("{{no end".into())]),
            (json!("{{Two Words}}"), vec![Unreadable("Two Words".into())]),
            (json!("{{step0.result}}"), vec![Result(0)]),
            (json!("{{step1.text}}"), vec![Unreadable("step1.text".into())]),
            (json!("{one} }} {"), vec![]),
            (json!(null), vec![]),
        ] {
            assert_eq!(of_value(&value), expected, "{value}");
        }
    }
}
