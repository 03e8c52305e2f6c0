//! The form of a server: a flat schema of plain values, read, and answers held against it. Pure,
//! and total: what is no such form is no form.

use serde_json::{Number, Value, json};
use weir_core::view::plain::visible_text;

/// Most fields of a form.
const FIELDS_MAX: usize = 20;
/// Most choices of a field.
const CHOICES_MAX: usize = 40;
/// Longest title or description, in characters.
const TEXT_CHARS_MAX: usize = 500;
/// Longest answer, in characters.
const ANSWER_CHARS_MAX: usize = 10_000;

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormField {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) required: bool,
    pub(super) kind: FieldKind,
    /// What the server proposes, where it fits the field.
    pub(super) default: Option<Value>,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldKind {
    /// Text of so many characters; in this format, which is for faces alone and not held against the answer.
    Text { min: usize, max: usize, format: Option<&'static str> },
    /// Text that says of itself that it is a password.
    Password,
    /// A number in these bounds.
    Number { whole: bool, min: Option<f64>, max: Option<f64> },
    /// Yes or no.
    Truth,
    /// One of these: what is sent, and how it is called.
    One(Vec<(String, String)>),
    /// Several of these.
    Several(Vec<(String, String)>),
}

/// The fields of a form, in their order.
///
/// # Errors
/// It is no flat schema of plain values, or too large.
pub(super) fn parse_form_fields(schema: &Value) -> Result<Vec<FormField>, ()> {
    let none = serde_json::Map::new();
    let properties = match schema.get("properties") {
        None => &none,
        Some(properties) => properties.as_object().ok_or(())?,
    };
    if properties.len() > FIELDS_MAX {
        return Err(());
    }
    let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let field = |(name, schema): (&String, &Value)| {
        let text = |key: &str| {
            let text = schema.get(key).and_then(Value::as_str).unwrap_or_default();
            text.chars().take(TEXT_CHARS_MAX).collect::<String>()
        };
        let title = text("title");
        let name_shown: String = name.chars().take(TEXT_CHARS_MAX).collect();
        let kind = parse_field_kind(schema)?;
        let default = schema.get("default").filter(|value| kind.fits(value)).cloned();
        Ok(FormField {
            title: match title.is_empty() || title == name_shown {
                true => name_shown,
                false => format!("{title} [{name_shown}]"),
            },
            name: name.clone(),
            description: text("description"),
            required: required.contains(&name.as_str()),
            kind,
            default,
        })
    };
    properties.iter().map(field).collect()
}

fn parse_field_kind(schema: &Value) -> Result<FieldKind, ()> {
    if let Some(choices) = parse_choices(schema)? {
        return Ok(FieldKind::One(choices));
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let count = |key: &str| {
        let count = schema.get(key).and_then(Value::as_u64);
        count.and_then(|count| usize::try_from(count).ok())
    };
    let (min, max) = (number("minimum"), number("maximum"));
    Ok(match schema.get("type").and_then(Value::as_str) {
        Some("string") if schema.get("format").and_then(Value::as_str) == Some("password") => {
            FieldKind::Password
        }
        Some("string") => FieldKind::Text {
            min: count("minLength").unwrap_or(0),
            max: count("maxLength").unwrap_or(ANSWER_CHARS_MAX).min(ANSWER_CHARS_MAX),
            format: schema.get("format").and_then(Value::as_str).and_then(known_format),
        },
        Some("number") => FieldKind::Number { whole: false, min, max },
        Some("integer") => FieldKind::Number { whole: true, min, max },
        Some("boolean") => FieldKind::Truth,
        Some("array") => {
            let choices = parse_choices(schema.get("items").ok_or(())?)?;
            FieldKind::Several(choices.ok_or(())?)
        }
        _ => return Err(()),
    })
}

/// A format of texts that faces know.
fn known_format(name: &str) -> Option<&'static str> {
    ["email", "uri", "date", "date-time"].into_iter().find(|known| *known == name)
}

/// The members of a closed set, in one of the ways in which schemas say it.
fn parse_choices(schema: &Value) -> Result<Option<Vec<(String, String)>>, ()> {
    let named = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    let choices: Vec<(String, String)> = if let Some(all) = named {
        let one = |choice: &Value| {
            let value = choice.get("const")?.as_str()?.to_owned();
            let title = choice.get("title").and_then(Value::as_str).unwrap_or(&value).to_owned();
            Some((value, title))
        };
        all.iter().map(one).collect::<Option<_>>().ok_or(())?
    } else if let Some(all) = schema.get("enum").and_then(Value::as_array) {
        let titles = schema.get("enumNames").and_then(Value::as_array);
        let one = |(at, value): (usize, &Value)| {
            let value = value.as_str()?.to_owned();
            let title = titles.and_then(|titles| titles.get(at)?.as_str()).unwrap_or(&value);
            Some((value.clone(), title.to_owned()))
        };
        all.iter().enumerate().map(one).collect::<Option<_>>().ok_or(())?
    } else {
        return Ok(None);
    };
    match choices.is_empty() || choices.len() > CHOICES_MAX {
        true => Err(()),
        false => Ok(Some(choices)),
    }
}

impl FormField {
    /// What fits, as a JSON Schema of one plain value, for faces that offer more than words. What hides in the
    /// server's words is named in it; values stay as they are sent.
    pub(super) fn to_schema(&self) -> Value {
        let mut schema = self.kind.to_schema();
        schema["title"] = visible_text(&self.title).into();
        if !self.description.is_empty() {
            schema["description"] = visible_text(&self.description).into();
        }
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        schema
    }
}

impl FieldKind {
    fn to_schema(&self) -> Value {
        let choices = |all: &[(String, String)]| -> Vec<Value> {
            let one = |(value, title): &(String, String)| json!({"const": value, "title": visible_text(title)});
            all.iter().map(one).collect()
        };
        match self {
            FieldKind::Text { min, max, format } => {
                let mut schema = json!({"type": "string", "minLength": min, "maxLength": max});
                if let Some(format) = format {
                    schema["format"] = (*format).into();
                }
                schema
            }
            // Never asked for.
            FieldKind::Password => json!({"type": "string"}),
            FieldKind::Number { whole, min, max } => {
                let mut schema = json!({"type": if *whole { "integer" } else { "number" }});
                // Bounds of whole numbers are whole: that is how the schema has them.
                let bounds =
                    [("minimum", *min, min.map(f64::ceil)), ("maximum", *max, max.map(f64::floor))];
                for (name, bound, rounded) in bounds {
                    let whole_bound = rounded.and_then(|at| format!("{at:.0}").parse::<i64>().ok());
                    let value = match *whole {
                        true => whole_bound.map(Value::from),
                        false => bound.and_then(Number::from_f64).map(Value::Number),
                    };
                    if let Some(value) = value {
                        schema[name] = value;
                    }
                }
                schema
            }
            FieldKind::Truth => json!({"type": "boolean"}),
            FieldKind::One(all) => json!({"type": "string", "oneOf": choices(all)}),
            FieldKind::Several(all) => json!({"type": "array", "items": {"anyOf": choices(all)}}),
        }
    }

    /// For the person.
    pub(super) fn in_words(&self) -> String {
        let bounds = |min: &Option<f64>, max: &Option<f64>| match (min, max) {
            (Some(min), Some(max)) => format!(" from {min} to {max}"),
            (Some(min), None) => format!(" from {min} on"),
            (None, Some(max)) => format!(" up to {max}"),
            (None, None) => String::new(),
        };
        match self {
            FieldKind::Text { .. } | FieldKind::Password => "text".into(),
            FieldKind::Number { whole: true, min, max } => {
                format!("a whole number{}", bounds(min, max))
            }
            FieldKind::Number { whole: false, min, max } => format!("a number{}", bounds(min, max)),
            FieldKind::Truth => "yes or no".into(),
            FieldKind::One(_) => "one of these".into(),
            FieldKind::Several(_) => "several of these, with commas between".into(),
        }
    }

    /// What can be chosen.
    pub(super) fn choice_titles(&self) -> Vec<&str> {
        match self {
            FieldKind::Truth => vec!["yes", "no"],
            FieldKind::One(all) | FieldKind::Several(all) => {
                all.iter().map(|(_, t)| t.as_str()).collect()
            }
            FieldKind::Text { .. } | FieldKind::Password | FieldKind::Number { .. } => Vec::new(),
        }
    }

    /// Whether a value that the server proposes is one that a person could answer.
    fn fits(&self, value: &Value) -> bool {
        let is_answer = |said: &str| self.parse_answer(said).is_ok_and(|read| read == *value);
        match (self, value) {
            (FieldKind::Several(all), Value::Array(values)) => values.iter().all(|value| {
                value.as_str().is_some_and(|value| all.iter().any(|(known, _)| known == value))
            }),
            (FieldKind::One(all), Value::String(value)) => {
                all.iter().any(|(known, _)| known == value)
            }
            (_, Value::String(said)) => is_answer(said),
            (_, Value::Bool(_) | Value::Number(_)) => is_answer(&value.to_string()),
            _ => false,
        }
    }

    /// A value of the field as the person would say it.
    pub(super) fn value_in_words(&self, value: &Value) -> String {
        let titled = |value: &Value| {
            let (FieldKind::One(all) | FieldKind::Several(all)) = self else {
                return value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            };
            let known = all.iter().find(|(known, _)| value.as_str() == Some(known));
            known.map_or_else(|| value.to_string(), |(_, title)| title.clone())
        };
        match value {
            Value::Bool(true) => "yes".into(),
            Value::Bool(false) => "no".into(),
            Value::Array(values) => values.iter().map(titled).collect::<Vec<_>>().join(", "),
            value => titled(value),
        }
    }

    /// What a person typed, as a value.
    pub(super) fn parse_answer(&self, said: &str) -> Result<Value, String> {
        match self {
            FieldKind::Password => Err("a password is not sent".into()),
            FieldKind::Text { min, max, .. } => match said.chars().count() {
                count if count < *min => Err(format!("it takes at least {min} characters")),
                count if count > *max => Err(format!("it takes at most {max} characters")),
                _ => Ok(json!(said)),
            },
            FieldKind::Number { whole, min, max } => parse_number(said, *whole, *min, *max),
            FieldKind::Truth => match said.to_lowercase().as_str() {
                "yes" | "y" | "true" => Ok(json!(true)),
                "no" | "n" | "false" => Ok(json!(false)),
                _ => Err("say yes or no".into()),
            },
            FieldKind::One(all) => parse_choice(all, said).map(Value::from),
            FieldKind::Several(all) => {
                // A face that knows the field sends a list: a choice may have a comma in it.
                let listed = serde_json::from_str::<Vec<String>>(said).unwrap_or_else(|_| {
                    let words = said.split(',').map(str::trim).filter(|word| !word.is_empty());
                    words.map(str::to_owned).collect()
                });
                let values = listed.iter().map(|word| parse_choice(all, word).map(Value::from));
                values.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
        }
    }
}

fn parse_number(
    said: &str,
    whole: bool,
    min: Option<f64>,
    max: Option<f64>,
) -> Result<Value, String> {
    let wrong = || if whole { "say a whole number" } else { "say a number" };
    let value = match said.parse::<i64>() {
        Ok(value) => Number::from(value),
        Err(_) if whole => return Err(wrong().into()),
        Err(_) => said.parse().ok().and_then(Number::from_f64).ok_or_else(wrong)?,
    };
    let as_float = value.as_f64().ok_or_else(wrong)?;
    if min.is_some_and(|min| as_float < min) || max.is_some_and(|max| as_float > max) {
        return Err("it is out of the bounds".into());
    }
    Ok(Value::Number(value))
}

/// The value of a choice, by its title or by itself.
fn parse_choice(all: &[(String, String)], said: &str) -> Result<String, String> {
    let found = all.iter().find(|(value, title)| title == said || value == said);
    let found = found.or_else(|| {
        all.iter().find(|(v, t)| t.eq_ignore_ascii_case(said) || v.eq_ignore_ascii_case(said))
    });
    found.map(|(value, _)| value.clone()).ok_or_else(|| "choose one of those".to_owned())
}
