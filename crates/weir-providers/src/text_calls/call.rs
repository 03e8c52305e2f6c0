//! From a value to a call: whose name it bears, which of it are arguments, and of what type.
//!
//! A call counts only when its name is one of the tools that were offered. Not here: how the value was
//! written down.

use serde_json::{Map, Value};

use super::offered::OfferedTools;
use super::repair::{Repair, Repairs};
use super::value::{ARGUMENT_NAMES, Notation, OpenEnd, ValueForm, ValueReader};

/// Most calls of one reply.
pub(super) const CALLS_MAX: usize = 64;
/// Names under which the name of the tool stands.
const TOOL_NAMES: &[&str] = &["name", "tool_name", "tool", "function", "function_name", "action"];
/// What else may stand beside name and arguments.
const ALSO: &[&str] = &[
    "id",
    "type",
    "index",
    "call_id",
    "tool_call_id",
    "thought",
    "thoughts",
    "reasoning",
    "role",
    "content",
];

/// A call that was found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCall {
    /// Name of an offered tool.
    pub tool: String,
    /// What the model wrote for it.
    pub arguments: Map<String, Value>,
}

/// How sure a place makes it that a call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sure {
    /// Marks say that it is a call.
    Marked,
    /// It only looks like one, so it must look exactly like one.
    Unmarked,
}

/// The value that all of `raw` is, and what of it was put right.
pub(super) fn whole_value(raw: &str, notation: Notation) -> Option<(Value, Repairs)> {
    let raw = raw.trim();
    let form = ValueForm { notation, open_end: OpenEnd::Unmarked };
    let mut reader = ValueReader::new(raw, 0, form);
    let value = reader.read_value()?;
    (reader.at == raw.len()).then_some((value, reader.repairs))
}

/// The calls that `value` is; `None` when any part of it is something else.
pub(super) fn calls_of(
    value: Value,
    tools: &OfferedTools,
    sure: Sure,
    repairs: &mut Repairs,
) -> Option<Vec<TextCall>> {
    match value {
        Value::Array(list) if !list.is_empty() && list.len() <= CALLS_MAX => {
            list.into_iter().map(|one| call_of(one, tools, sure, repairs)).collect()
        }
        Value::Object(mut map) => match map.remove("tool_calls") {
            Some(Value::Array(list)) => calls_of(Value::Array(list), tools, sure, repairs),
            Some(_) => None,
            None => call_of(Value::Object(map), tools, sure, repairs).map(|call| vec![call]),
        },
        _ => None,
    }
}

fn call_of(
    value: Value,
    tools: &OfferedTools,
    sure: Sure,
    repairs: &mut Repairs,
) -> Option<TextCall> {
    let Value::Object(mut map) = value else { return None };
    // OpenAI's own form: its arguments are a text by rule, so that is no repair.
    if let Some(Value::Object(inner)) = map.get_mut("function") {
        let mut inner = std::mem::take(inner);
        // Some write the arguments beside the function.
        let outer = ARGUMENT_NAMES.iter().find_map(|key| map.remove_entry(*key));
        if let Some((key, value)) = outer
            && !ARGUMENT_NAMES.iter().any(|key| inner.contains_key(*key))
        {
            inner.insert(key, value);
        }
        let mut quiet = Repairs::default();
        let call = call_of(Value::Object(inner), tools, sure, &mut quiet);
        quiet.remove(Repair::EncodedArguments);
        repairs.add_all(quiet);
        return call;
    }
    let Some((name_key, tool)) = TOOL_NAMES.iter().find_map(|key| {
        let name = map.get(*key)?.as_str()?;
        Some((*key, tools.find_tool(name)?))
    }) else {
        return keyed_call(map, tools, sure);
    };
    map.remove(name_key);
    let given = ARGUMENT_NAMES.iter().find(|key| map.contains_key(**key));
    let arguments = match given.and_then(|key| map.remove(*key)) {
        Some(value) => arguments_of(value, repairs)?,
        None => arguments_beside(&mut map, tool, tools, sure, repairs)?,
    };
    let exact = map.keys().all(|key| ALSO.contains(&key.as_str()));
    (exact || sure == Sure::Marked).then(|| TextCall { tool: tool.to_owned(), arguments })
}

/// `{"read_file": {"path": "a"}}`, which only marks make a call.
fn keyed_call(map: Map<String, Value>, tools: &OfferedTools, sure: Sure) -> Option<TextCall> {
    let mut entries = map.into_iter();
    let (Some((name, Value::Object(arguments))), None) = (entries.next(), entries.next()) else {
        return None;
    };
    let tool = tools.find_tool(&name).filter(|_| sure == Sure::Marked)?;
    Some(TextCall { tool: tool.to_owned(), arguments })
}

/// What stands under a name for arguments.
pub(super) fn arguments_of(value: Value, repairs: &mut Repairs) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) if is_schema(&map) => None,
        Value::Object(map) => Some(map),
        Value::Null => Some(Map::new()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => {
            let (value, read) = whole_value(&text, Notation::Json)?;
            let Value::Object(map) = value else { return None };
            repairs.add_all(read);
            repairs.add_repair(Repair::EncodedArguments);
            (!is_schema(&map)).then_some(map)
        }
        _ => None,
    }
}

/// A model that repeats the definition of a tool does not call it.
fn is_schema(map: &Map<String, Value>) -> bool {
    map.get("type").is_some_and(|kind| kind == "object")
        && map.get("properties").is_some_and(Value::is_object)
}

fn arguments_beside(
    map: &mut Map<String, Value>,
    tool: &str,
    tools: &OfferedTools,
    sure: Sure,
    repairs: &mut Repairs,
) -> Option<Map<String, Value>> {
    if sure == Sure::Unmarked {
        return None;
    }
    let beside: Map<String, Value> = std::mem::take(map)
        .into_iter()
        .filter(|(key, _)| tools.has_property(tool, key) || !ALSO.contains(&key.as_str()))
        .collect();
    if !beside.keys().all(|key| tools.has_property(tool, key)) {
        return None;
    }
    if !beside.is_empty() {
        repairs.add_repair(Repair::BesideName);
    }
    Some(beside)
}
