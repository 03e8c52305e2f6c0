//! Schemas of foreign tools, made harmless: references inside are put in place, cycles and
//! references to the outside are cut, everything is bounded. A validator or a vendor that is given
//! the result never fetches, loops or grows. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::text::visible_text;

/// Largest schema, in bytes of JSON.
const BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting.
const DEPTH_MAX: usize = 24;
/// Most values of the result: references that multiply end here.
const NODES_MAX: usize = 5_000;
/// Longest pattern.
const PATTERN_CHARS_MAX: usize = 500;
/// Keywords that are dropped: they name other schemas, or nothing that a model needs.
const DROPPED: [&str; 11] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
];
/// Keywords whose value maps names to schemas: a name there is not a keyword.
const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Keywords whose value is data, not a schema.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

/// A schema that harms nobody.
pub(crate) struct HarmlessSchema {
    /// The schema: always of an object.
    pub(crate) schema: Value,
    /// What was done to it.
    pub(crate) notes: Vec<String>,
}

/// Makes a schema harmless.
pub(crate) fn make_harmless(raw: &Value) -> HarmlessSchema {
    let any = |why: &str| HarmlessSchema {
        schema: json!({ "type": "object" }),
        notes: vec![format!("its schema was replaced by any object: {why}")],
    };
    if !raw.is_object() {
        return any("it is no object");
    }
    if !is_shallow(raw, DEPTH_MAX * 2) {
        return any("it is too deep");
    }
    if raw.to_string().len() > BYTES_MAX {
        return any("it is too large");
    }
    let mut walk = SchemaWalk { root: raw, open: Vec::new(), nodes: 0, notes: BTreeSet::new() };
    let Some(mut schema) = walk.walk_schema(raw, 0) else {
        return any("it grows without end");
    };
    let Some(fields) = schema.as_object_mut() else {
        return any("it is no object");
    };
    // What a call is given is an object; whoever says otherwise could never be called.
    if fields.get("type") != Some(&json!("object")) {
        if fields.contains_key("type") {
            return any("it is not that of an object");
        }
        fields.insert("type".into(), json!("object"));
    }
    HarmlessSchema { schema, notes: walk.notes.into_iter().map(str::to_owned).collect() }
}

fn is_shallow(value: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().all(|item| is_shallow(item, left)),
        Value::Object(fields) => fields.values().all(|item| is_shallow(item, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

struct SchemaWalk<'a> {
    root: &'a Value,
    /// References that are being put in place.
    open: Vec<String>,
    nodes: usize,
    notes: BTreeSet<&'static str>,
}

/// A value without characters that cannot be seen: what hides from the person who approves a schema
/// reaches no model either (Z8).
fn strip_invisible(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible_text(text, usize::MAX)),
        Value::Array(items) => Value::Array(items.iter().map(strip_invisible).collect()),
        Value::Object(fields) => {
            let clean = fields
                .iter()
                .map(|(key, value)| (visible_text(key, usize::MAX), strip_invisible(value)));
            Value::Object(clean.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

impl SchemaWalk<'_> {
    /// `None`: there is no end to it.
    fn walk_schema(&mut self, raw: &Value, depth: usize) -> Option<Value> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return None;
        }
        if depth > DEPTH_MAX {
            self.notes.insert("its schema was cut where it is too deep");
            return Some(json!({}));
        }
        match raw {
            Value::Object(fields) => self.walk_fields(fields, depth),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.walk_schema(item, depth + 1));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Some(strip_invisible(raw))
            }
        }
    }

    fn walk_fields(&mut self, fields: &Map<String, Value>, depth: usize) -> Option<Value> {
        let mut made = match fields.get("$ref") {
            Some(reference) => match self.resolve_reference(reference, depth)? {
                Value::Object(target) => target,
                other => return Some(other),
            },
            None => Map::new(),
        };
        for (key, value) in fields {
            if key == "$ref" || DROPPED.contains(&key.as_str()) {
                continue;
            }
            let value = if NAMED.contains(&key.as_str()) {
                self.walk_named_schemas(value, depth)?
            } else if DATA.contains(&key.as_str()) {
                self.nodes += 1;
                strip_invisible(value)
            } else if key == "pattern" && !is_plain_pattern(value) {
                self.notes.insert("a pattern in its schema was left out");
                continue;
            } else {
                self.walk_schema(value, depth + 1)?
            };
            made.insert(key.clone(), value);
        }
        Some(Value::Object(made))
    }

    fn walk_named_schemas(&mut self, value: &Value, depth: usize) -> Option<Value> {
        let Value::Object(fields) = value else { return Some(json!({})) };
        let mut made = Map::new();
        for (name, schema) in fields {
            if !is_plain_pattern(&json!(name)) {
                self.notes.insert("a pattern in its schema was left out");
                continue;
            }
            if visible_text(name, usize::MAX) != *name {
                self.notes.insert("a name with characters that cannot be seen was left out");
                continue;
            }
            made.insert(name.clone(), self.walk_schema(schema, depth + 1)?);
        }
        Some(Value::Object(made))
    }

    fn resolve_reference(&mut self, reference: &Value, depth: usize) -> Option<Value> {
        let Some(text) = reference.as_str() else { return Some(json!({})) };
        let Some(pointer) = text.strip_prefix('#') else {
            self.notes.insert("its schema names another one elsewhere, which is not fetched");
            return Some(json!({}));
        };
        if self.open.iter().any(|open| open == text) {
            self.notes.insert("its schema contains itself; it was cut there");
            return Some(json!({}));
        }
        let Some(target) = self.root.pointer(pointer) else {
            self.notes.insert("its schema names a part that it does not have");
            return Some(json!({}));
        };
        self.open.push(text.to_owned());
        let made = self.walk_schema(target, depth + 1);
        self.open.pop();
        made
    }
}

/// Whether a pattern can be matched in bounded time: nothing that looks back or ahead.
fn is_plain_pattern(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "(?>", "\\k", "\\g", "(?("];
    let refers = || {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\\' && chars.next().is_some_and(|next| matches!(next, '1'..='9')) {
                return true;
            }
        }
        false
    };
    text.chars().count() <= PATTERN_CHARS_MAX
        && !looks.iter().any(|l| text.contains(l))
        && !refers()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(what, schema, expected, a word of the notes; empty: none)`
    #[test]
    fn z8_schemas_are_made_harmless() {
        let deep = (0..200).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
        let object = json!({ "type": "object" });
        let cases = [
            (
                "plain",
                json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
                json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
                "",
            ),
            ("no type", json!({}), object.clone(), ""),
            (
                "a property called $ref is none",
                json!({ "properties": { "id": { "type": "null" } } }),
                json!({ "properties": { "id": { "type": "null" } }, "type": "object" }),
                "",
            ),
            (
                "put in place",
                json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "object", "title": "x" } } }),
                json!({ "type": "object", "title": "x" }),
                "",
            ),
            (
                "a cycle",
                json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }),
                json!({ "type": "object", "properties": { "next": {
                    "type": "object", "properties": { "next": {} } } } }),
                "contains itself",
            ),
            (
                "from elsewhere",
                json!({ "type": "object", "$ref": "http://127.0.0.1/x" }),
                object.clone(),
                "not fetched",
            ),
            (
                "a file",
                json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } }),
                json!({ "properties": { "a": {} }, "type": "object" }),
                "not fetched",
            ),
            (
                "nowhere",
                json!({ "type": "object", "$ref": "#/$defs/none" }),
                object.clone(),
                "does not have",
            ),
            ("no object", json!([1]), object.clone(), "replaced"),
            ("of a string", json!({ "type": "string" }), object.clone(), "replaced"),
            ("too deep", deep, object.clone(), "too deep"),
            ("too large", json!({ "description": "x".repeat(100_000) }), object.clone(), "large"),
            (
                "looks back",
                json!({ "properties": { "a": { "pattern": "(?<=x)y" } } }),
                json!({ "properties": { "a": {} }, "type": "object" }),
                "pattern",
            ),
        ];
        for (what, raw, expected, word) in cases {
            let made = make_harmless(&raw);
            assert_eq!(made.schema, expected, "{what}");
            let notes = made.notes.join("; ");
            assert!(notes.contains(word) && notes.is_empty() == word.is_empty(), "{what}: {notes}");
        }
    }

    #[test]
    fn z8_what_cannot_be_seen_is_in_no_schema() {
        let made = make_harmless(&json!({
            "type": "object",
            "description": "a\u{200b}b",
            "properties": { "x\u{e0041}": {}, "y": { "enum": ["c\u{202e}d"] } },
        }));
        let clean = json!({
            "type": "object",
            "description": "ab",
            "properties": { "y": { "enum": ["cd"] } },
        });
        assert_eq!(made.schema, clean);
        assert!(made.notes.iter().any(|note| note.contains("cannot be seen")), "{:?}", made.notes);
    }

    #[test]
    fn z8_references_that_multiply_end() {
        let mut defs = Map::new();
        for n in 0..24 {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            defs.insert(format!("d{n}"), json!({ "properties": { "a": next, "b": next } }));
        }
        defs.insert("d24".into(), json!({ "type": "string" }));
        let made = make_harmless(&json!({ "$ref": "#/$defs/d0", "$defs": defs }));
        assert!(made.schema.to_string().len() < 1_000_000);
        assert!(!made.notes.is_empty());
    }
}
