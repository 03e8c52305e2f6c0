//! Texts with placeholders taken apart, and put together again with values. Not here: which values.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Depth of arguments that is looked into.
pub(super) const DEPTH_MAX: usize = 32;

/// A piece of a text with placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlaceholderPart<'a> {
    Text(&'a str),
    /// `{{name}}`
    Name(&'a str),
    /// `{{step1.result}}`
    Step(usize),
}

pub(super) fn split_placeholders(text: &str) -> Vec<PlaceholderPart<'_>> {
    let mut parts = Vec::new();
    let (mut done, mut from) = (0, 0);
    while let Some(open) = text[from..].find("{{").map(|at| from + at) {
        let end = text[open + 2..].find("}}").map(|at| open + 2 + at);
        let Some(end) = end else { break };
        match parse_placeholder(&text[open + 2..end]) {
            Some(part) => {
                if done < open {
                    parts.push(PlaceholderPart::Text(&text[done..open]));
                }
                parts.push(part);
                done = end + 2;
                from = done;
            }
            None => from = open + 1,
        }
    }
    if done < text.len() {
        parts.push(PlaceholderPart::Text(&text[done..]));
    }
    parts
}

fn parse_placeholder(name: &str) -> Option<PlaceholderPart<'_>> {
    let name = name.trim();
    let step = name.strip_prefix("step").and_then(|rest| rest.strip_suffix(".result"));
    if let Some(Ok(step)) = step.map(str::parse) {
        return Some(PlaceholderPart::Step(step));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some(PlaceholderPart::Name(name))
}

fn collect_texts<'a>(value: &'a Value, depth: usize, out: &mut Vec<&'a str>) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err("the arguments are nested too deeply".into());
    }
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => {
            for item in items {
                collect_texts(item, depth + 1, out)?;
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                out.push(key);
                collect_texts(item, depth + 1, out)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
    Ok(())
}

/// The earlier calls whose results arguments wait for.
pub(super) fn steps_in(input: &Value) -> Result<Vec<usize>, String> {
    let mut found = Vec::new();
    collect_texts(input, 0, &mut found)?;
    let step = |part: PlaceholderPart<'_>| match part {
        PlaceholderPart::Step(step) => Some(step),
        PlaceholderPart::Name(_) | PlaceholderPart::Text(_) => None,
    };
    Ok(found.into_iter().flat_map(split_placeholders).filter_map(step).collect())
}

/// The names that arguments leave open.
pub(super) fn names_in(input: &Value) -> Result<Vec<&str>, String> {
    let mut found = Vec::new();
    collect_texts(input, 0, &mut found)?;
    let name = |part| match part {
        PlaceholderPart::Name(name) => Some(name),
        PlaceholderPart::Step(_) | PlaceholderPart::Text(_) => None,
    };
    Ok(found.into_iter().flat_map(split_placeholders).filter_map(name).collect())
}

/// What a placeholder becomes; `None`: it stays as it is.
pub(super) type PlaceholderFill<'a> =
    dyn Fn(&PlaceholderPart<'_>) -> Result<Option<Value>, String> + 'a;

/// `value` with its placeholders replaced, once. A text that is one placeholder becomes the value
/// itself; one that becomes null is left out of its object.
pub(super) fn replace_placeholders(
    value: &Value,
    put: &PlaceholderFill<'_>,
    depth: usize,
) -> Result<Value, String> {
    if depth > DEPTH_MAX {
        return Err("the arguments are nested too deeply".into());
    }
    match value {
        Value::String(text) => replaced_text(text, put),
        Value::Array(items) => {
            let items: Result<Vec<Value>, String> =
                items.iter().map(|item| replace_placeholders(item, put, depth + 1)).collect();
            Ok(Value::Array(items?))
        }
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, item) in map {
                let new = replace_placeholders(item, put, depth + 1)?;
                let Value::String(key) = replaced_text(key, put)? else {
                    return Err(format!("{key:?} names a field and is no text"));
                };
                if !new.is_null() || item.is_null() {
                    out.insert(key, new);
                }
            }
            Ok(Value::Object(out))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

fn replaced_text(text: &str, put: &PlaceholderFill<'_>) -> Result<Value, String> {
    let parts = split_placeholders(text);
    if let [only] = parts.as_slice() {
        return Ok(put(only)?.unwrap_or_else(|| Value::String(text.into())));
    }
    let mut out = String::with_capacity(text.len());
    for part in &parts {
        match (put(part)?, part) {
            (Some(Value::String(value)), _) => out.push_str(&value),
            (Some(Value::Null), _) => (),
            (Some(value @ (Value::Bool(_) | Value::Number(_))), _) => {
                out.push_str(&value.to_string());
            }
            (Some(Value::Array(_) | Value::Object(_)), _) => {
                return Err("a list or object cannot stand within a text".into());
            }
            (None, PlaceholderPart::Text(text)) => out.push_str(text),
            (None, PlaceholderPart::Name(name)) => {
                let _ = write!(out, "{{{{{name}}}}}");
            }
            (None, PlaceholderPart::Step(step)) => {
                let _ = write!(out, "{{{{step{step}.result}}}}");
            }
        }
    }
    Ok(Value::String(out))
}
