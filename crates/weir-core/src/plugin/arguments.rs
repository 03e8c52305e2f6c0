//! The arguments of named commands and of API methods: what they may be, and their texts. Not here:
//! where they are put (`line`, `address`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Longest text of one argument, in bytes.
pub const ARGUMENT_BYTES_MAX: usize = 16 * 1024;

/// An argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ParamSpec {
    /// Its name, as `{{name}}` has it.
    pub name: String,
    /// Type of the value.
    #[serde(rename = "type", default)]
    pub kind: ParamKind,
    /// It must be given. One that may be left out stands for nothing then.
    #[serde(default = "yes")]
    pub required: bool,
    /// One sentence for the model: the meaning of the value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A word that begins with `-` is let through: a program may take it for an option.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_dash: bool,
}

fn yes() -> bool {
    true
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ParamKind {
    /// Any text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A text of several parts with `/` between: in an address the `/` stay, and no part is `..`.
    Path,
}

impl ParamKind {
    fn kind_text(self) -> &'static str {
        match self {
            ParamKind::String => "a text",
            ParamKind::Integer => "a whole number",
            ParamKind::Number => "a number",
            ParamKind::Boolean => "true or false",
            ParamKind::Path => "a path",
        }
    }
}

/// Texts of arguments by name; what was left out is not there.
pub type ArgumentValues = BTreeMap<String, String>;

/// The texts of `given`, held to what `params` say.
///
/// # Errors
/// A sentence for the model: what is missing, unknown or of the wrong kind.
pub fn argument_values(
    params: &[ParamSpec],
    given: &Map<String, Value>,
) -> Result<ArgumentValues, String> {
    let known = || match params {
        [] => "it takes none".to_owned(),
        _ => {
            let names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
            format!("it takes {}", names.join(", "))
        }
    };
    let is_known = |name: &String| params.iter().any(|param| param.name == *name);
    if let Some(name) = given.keys().find(|name| !is_known(name)) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        return Err(format!("there is no argument {name:?}; {}", known()));
    }
    let mut values = ArgumentValues::new();
    for param in params {
        let name = &param.name;
        let value = match given.get(name) {
            None | Some(Value::Null) if param.required => {
                return Err(format!(
                    "the argument {name} is missing ({}); {}",
                    describe_param(param),
                    known()
                ));
            }
            None | Some(Value::Null) => continue,
            Some(value) => value,
        };
        let text = text_of(param.kind, value)
            .ok_or_else(|| format!("the argument {name} must be {}", param.kind.kind_text()))?;
        if text.len() > ARGUMENT_BYTES_MAX {
            return Err(format!("the argument {name} is longer than {ARGUMENT_BYTES_MAX} bytes"));
        }
        if text.contains('\0') {
            return Err(format!("the argument {name} has a NUL byte"));
        }
        values.insert(name.clone(), text);
    }
    Ok(values)
}

fn describe_param(param: &ParamSpec) -> &str {
    if param.description.is_empty() { param.kind.kind_text() } else { &param.description }
}

fn text_of(kind: ParamKind, value: &Value) -> Option<String> {
    match (kind, value) {
        (ParamKind::String | ParamKind::Path, Value::String(text)) => Some(text.clone()),
        // Models write numbers where a text is wanted.
        (ParamKind::String, Value::Number(number)) => Some(number.to_string()),
        (ParamKind::Integer, Value::Number(number)) if !number.is_f64() => Some(number.to_string()),
        (ParamKind::Number, Value::Number(number)) => Some(number.to_string()),
        (ParamKind::Boolean, Value::Bool(truth)) => Some(truth.to_string()),
        _ => None,
    }
}

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplatePiece<'a> {
    /// Text as it stands.
    Text(&'a str),
    /// An argument of this name.
    Argument(&'a str),
}

/// The pieces of a template.
///
/// # Errors
/// A `{{` without its end, or around what is no name.
pub(super) fn split_template(template: &str) -> Result<Vec<TemplatePiece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) =
            after.split_once("}}").ok_or("has {{ without }}; write {{name}} for an argument")?;
        let name = name.trim();
        if !is_name(name) {
            return Err(format!("has {{{{{name}}}}}, which is no name of an argument"));
        }
        if !before.is_empty() {
            pieces.push(TemplatePiece::Text(before));
        }
        pieces.push(TemplatePiece::Argument(name));
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Text(rest));
    }
    Ok(pieces)
}

/// Whether this may be the name of a command, a method or an argument.
pub(super) fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && name.len() <= 64
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn param(name: &str, kind: ParamKind, required: bool) -> ParamSpec {
        let (name, description) = (name.into(), String::new());
        ParamSpec { name, kind, required, description, allow_dash: false }
    }

    fn check(given: &Value) -> Result<String, String> {
        let params = [
            param("text", ParamKind::String, true),
            param("count", ParamKind::Integer, false),
            param("dry", ParamKind::Boolean, false),
        ];
        let given = given.as_object().cloned().unwrap_or_default();
        argument_values(&params, &given).map(|values| format!("{values:?}"))
    }

    #[test]
    fn t11_arguments_are_held_to_what_was_declared() {
        for (given, expected) in [
            (json!({ "text": "a" }), Ok(r#"{"text": "a"}"#)),
            (json!({ "text": "a", "count": -3, "dry": true }), {
                Ok(r#"{"count": "-3", "dry": "true", "text": "a"}"#)
            }),
            (json!({ "text": 7, "count": null }), Ok(r#"{"text": "7"}"#)),
            (json!({}), Err("the argument text is missing (a text); it takes text, count, dry")),
            (json!({ "text": ["a"] }), Err("the argument text must be a text")),
            (json!({ "text": "a", "count": 1.5 }), {
                Err("the argument count must be a whole number")
            }),
            (json!({ "text": "a", "count": "1" }), {
                Err("the argument count must be a whole number")
            }),
            (json!({ "text": "a", "dry": "yes" }), Err("the argument dry must be true or false")),
            (json!({ "text": "a\0b" }), Err("the argument text has a NUL byte")),
            (json!({ "text": "a", "x;y": 1 }), {
                Err("there is no argument \"x;y\"; it takes text, count, dry")
            }),
        ] {
            let found = check(&given);
            let found = found.as_ref().map(String::as_str).map_err(String::as_str);
            assert_eq!(found, expected, "{given}");
        }
        let long = "x".repeat(ARGUMENT_BYTES_MAX + 1);
        assert!(check(&json!({ "text": long })).is_err_and(|why| why.contains("longer than")));
    }

    #[test]
    fn t11_templates_have_texts_and_names() {
        use TemplatePiece::{Argument, Text};
        assert_eq!(
            split_template("a {{b}}{{ c }}"),
            Ok(vec![Text("a "), Argument("b"), Argument("c")])
        );
        assert_eq!(split_template("plain"), Ok(vec![Text("plain")]));
        for bad in ["{{", "{{}}", "{{a b}}", "{{1a}}", "{{{{a}}}}"] {
            assert!(split_template(bad).is_err(), "{bad}");
        }
    }
}
