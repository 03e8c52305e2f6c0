//! The arguments of a tool as its schema names them, and what the words of their names say. Pure. Not
//! here: what follows from that.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_core::tool::ArgumentPath;

use super::{CONTENT, words_of};

/// Most arguments of a schema that are looked at. What stands in no list counts as a recipient.
const ARGUMENTS_MAX: usize = 200;
/// Deepest argument that is looked at.
const DEPTH_MAX: usize = 8;

/// One argument that a call can give.
pub(super) struct Argument {
    pub(super) path: ArgumentPath,
    /// The words of its own name.
    words: Vec<String>,
    /// It takes what nobody listed: no flag, no member of a closed set.
    pub(super) free: bool,
    /// It takes text or a list of texts, and nothing else.
    plain_text: bool,
}

impl Argument {
    pub(super) fn has_word(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }

    pub(super) fn last_is(&self, words: &[&str]) -> bool {
        self.words.last().is_some_and(|word| words.contains(&word.as_str()))
    }

    /// `email_body` is content; `message_id` and `content_type` are not.
    pub(super) fn is_content(&self) -> bool {
        self.plain_text && self.last_is(CONTENT)
    }
}

/// The arguments of a schema, each once.
pub(super) fn collect_arguments(schema: &Value) -> Vec<Argument> {
    let mut found = ArgumentWalk { arguments: Vec::new(), seen: BTreeSet::new() };
    found.walk_fields("", schema, 0);
    found.arguments
}

struct ArgumentWalk {
    arguments: Vec<Argument>,
    seen: BTreeSet<ArgumentPath>,
}

impl ArgumentWalk {
    fn walk_fields(&mut self, above: &str, schema: &Value, depth: usize) {
        let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
        for (name, field) in fields {
            // A name with such a sign would read as a path of several parts.
            if depth < DEPTH_MAX && !name.contains(['.', '[', ']', '"']) && !name.is_empty() {
                self.walk_argument(format!("{above}{name}"), name, field, depth);
            }
        }
    }

    fn walk_argument(&mut self, path: String, name: &str, schema: &Value, depth: usize) {
        if schema.get("properties").is_some_and(Value::is_object) {
            return self.walk_fields(&format!("{path}."), schema, depth + 1);
        }
        let items = schema.get("items");
        if let Some(items) =
            items.filter(|items| items.get("properties").is_some_and(Value::is_object))
        {
            return self.walk_fields(&format!("{path}[]."), items, depth + 1);
        }
        let Ok(path) = ArgumentPath::try_from(path) else { return };
        if self.arguments.len() >= ARGUMENTS_MAX || !self.seen.insert(path.clone()) {
            return;
        }
        let (free, plain_text) = (is_free(schema), is_plain_text(schema, 0));
        self.arguments.push(Argument { path, words: words_of(name), free, plain_text });
    }
}

fn is_free(schema: &Value) -> bool {
    schema.get("enum").is_none()
        && schema.get("const").is_none()
        && schema.get("type").and_then(Value::as_str) != Some("boolean")
}

/// Whether a schema takes nothing but text and lists of it: an object could hold a recipient.
fn is_plain_text(schema: &Value, depth: usize) -> bool {
    if depth >= DEPTH_MAX {
        return false;
    }
    let parts: Vec<&Value> = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(*key)?.as_array())
        .flatten()
        .filter(|part| part.get("type").and_then(Value::as_str) != Some("null"))
        .collect();
    if !parts.is_empty() {
        return parts.into_iter().all(|part| is_plain_text(part, depth + 1));
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return false,
    };
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "null").collect();
    let fits = |kind: &&str| match *kind {
        "string" => true,
        "array" => schema.get("items").is_some_and(|items| is_plain_text(items, depth + 1)),
        _ => false,
    };
    !kinds.is_empty() && kinds.iter().all(fits)
}
