//! Schemas of tools, reduced to what each vendor takes (V3).
//!
//! A reduced schema only ever says less: what the model may send is checked against the full schema
//! by the gate, so nothing is lost but a hint.

use serde_json::{Map, Value, json};

/// How deep a schema is followed. Deeper parts accept anything.
const DEPTH_MAX: usize = 24;
/// How many parts of one schema are followed: resolved references can multiply.
const PARTS_MAX: usize = 4000;

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaTarget {
    /// Draft 2020-12, an object at the top, names of properties in `[a-zA-Z0-9_.-]{1,64}`.
    Anthropic,
    /// An object at the top, every array with `items`.
    OpenAi,
    /// Google's list of keywords; no references.
    Gemini,
}

/// What Google documents for `parametersJsonSchema`.
const GEMINI_KEYWORDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "properties",
    "additionalProperties",
    "required",
];
/// Never of use to a model.
const DROPPED_KEYWORDS: &[&str] = &["$schema", "$id", "$comment", "examples", "$anchor"];
/// Not allowed at the top by two vendors.
const TOP_COMBINATORS: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum"];

/// `schema`, as `target` takes it: always an object schema with `properties`.
pub(crate) fn reduce_schema(schema: &Value, target: SchemaTarget) -> Value {
    let mut reducer = SchemaReducer { root: schema, target, parts: 0 };
    let top = flatten_top(schema);
    let mut out = match reducer.reduce_part(&top, 0) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for name in TOP_COMBINATORS {
        out.remove(*name);
    }
    out.insert("type".into(), "object".into());
    if !out.get("properties").is_some_and(Value::is_object) {
        out.insert("properties".into(), json!({}));
    }
    Value::Object(out)
}

/// The top as one object: a reference resolved, the properties of combined schemas put together.
fn flatten_top(schema: &Value) -> Value {
    let mut top = schema.as_object().cloned().unwrap_or_default();
    if let Some(target) =
        top.get("$ref").and_then(Value::as_str).and_then(|r| resolve_reference(schema, r))
    {
        let target = target.as_object().cloned().unwrap_or_default();
        top.remove("$ref");
        for (name, value) in target {
            top.entry(name).or_insert(value);
        }
    }
    for (combinator, all) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        let Some(Value::Array(members)) = top.remove(combinator) else { continue };
        for member in &members {
            let member = match member.get("$ref").and_then(Value::as_str) {
                Some(reference) => resolve_reference(schema, reference).unwrap_or(member),
                None => member,
            };
            merge_object(&mut top, member, all);
        }
    }
    Value::Object(top)
}

/// Adds the properties of `member`; what it requires counts only when every member holds.
fn merge_object(top: &mut Map<String, Value>, member: &Value, all: bool) {
    if let Some(Value::Object(new)) = member.get("properties") {
        let known = top.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(known) = known {
            for (name, value) in new {
                known.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    if let (true, Some(Value::Array(new))) = (all, member.get("required")) {
        let known = top.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(known) = known {
            known.extend(new.iter().cloned());
        }
    }
}

/// What a local reference means.
fn resolve_reference<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

struct SchemaReducer<'a> {
    root: &'a Value,
    target: SchemaTarget,
    parts: usize,
}

impl SchemaReducer<'_> {
    fn reduce_part(&mut self, schema: &Value, depth: usize) -> Value {
        self.parts += 1;
        let Value::Object(map) = schema else { return json!({}) };
        if depth > DEPTH_MAX || self.parts > PARTS_MAX {
            return json!({});
        }
        if self.target == SchemaTarget::Gemini
            && let Some(reference) = map.get("$ref").and_then(Value::as_str)
        {
            return match resolve_reference(self.root, reference) {
                Some(meant) => self.reduce_part(meant, depth + 1),
                None => json!({}),
            };
        }
        let mut out = Map::new();
        for (name, value) in map {
            self.reduce_keyword(name, value, depth, &mut out);
        }
        if self.target == SchemaTarget::Gemini {
            tidy_gemini(map, &mut out);
        }
        if out.get("type").is_some_and(|kind| has_type(kind, "array"))
            && !out.contains_key("items")
            && !out.contains_key("prefixItems")
        {
            out.insert("items".into(), json!({}));
        }
        drop_unknown_required(&mut out);
        Value::Object(out)
    }

    fn reduce_keyword(
        &mut self,
        name: &str,
        value: &Value,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        let gemini = self.target == SchemaTarget::Gemini;
        let known = !gemini || GEMINI_KEYWORDS.contains(&name) || matches!(name, "oneOf" | "allOf");
        if !known || DROPPED_KEYWORDS.contains(&name) {
            return;
        }
        let reduced = match (name, value) {
            ("type", kind) => plain_type(kind),
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(map)) => {
                let kept = map
                    .iter()
                    .filter(|(key, _)| name != "properties" || self.can_send_property(key));
                let kept: Vec<_> = kept.collect();
                Some(Value::Object(
                    kept.into_iter()
                        .map(|(k, v)| (k.clone(), self.reduce_part(v, depth + 1)))
                        .collect(),
                ))
            }
            ("properties" | "$defs" | "definitions" | "patternProperties", _) => None,
            ("items" | "additionalProperties" | "not", Value::Bool(_)) => {
                if name == "items" {
                    Some(json!({}))
                } else {
                    Some(value.clone())
                }
            }
            // Draft 4 to 7 put a list here; what it means is `prefixItems` now.
            ("items", Value::Array(list)) => list
                .first()
                .map_or(Some(json!({})), |first| Some(self.reduce_part(first, depth + 1))),
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                part,
            ) => Some(self.reduce_part(part, depth + 1)),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                let parts: Vec<Value> =
                    list.iter().map(|p| self.reduce_part(p, depth + 1)).collect();
                (!parts.is_empty()).then_some(Value::Array(parts))
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", _) => None,
            ("required" | "enum", list) => {
                list.as_array().is_some_and(|list| !list.is_empty()).then(|| list.clone())
            }
            ("description" | "title" | "format", text) => text.is_string().then(|| text.clone()),
            (_, other) => Some(other.clone()),
        };
        if let Some(reduced) = reduced {
            out.insert(name.to_owned(), reduced);
        }
    }

    /// Whether a property of this name can be sent.
    fn can_send_property(&self, name: &str) -> bool {
        self.target != SchemaTarget::Anthropic
            || ((1..=64).contains(&name.len())
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')))
    }
}

/// Types as JSON Schema knows them; some tool servers write those of a programming language.
fn plain_type(kind: &Value) -> Option<Value> {
    let plain = |name: &str| match name {
        "object" | "array" | "string" | "number" | "integer" | "boolean" | "null" => {
            Some(name.to_owned())
        }
        "dict" | "map" | "OBJECT" => Some("object".into()),
        "float" | "double" | "NUMBER" => Some("number".into()),
        "int" | "long" | "INTEGER" => Some("integer".into()),
        "str" | "String" | "char" | "STRING" => Some("string".into()),
        "bool" | "Boolean" | "BOOLEAN" => Some("boolean".into()),
        "list" | "tuple" | "ArrayList" | "Array" | "ARRAY" => Some("array".into()),
        _ => None,
    };
    match kind {
        Value::String(name) => plain(name).map(Value::String),
        Value::Array(names) => {
            let names: Vec<Value> =
                names.iter().filter_map(|n| plain(n.as_str()?).map(Value::String)).collect();
            (!names.is_empty()).then_some(Value::Array(names))
        }
        _ => None,
    }
}

fn has_type(kind: &Value, name: &str) -> bool {
    kind == name || kind.as_array().is_some_and(|kinds| kinds.iter().any(|k| k == name))
}

/// `const`, `oneOf` and `allOf` in Google's words.
fn tidy_gemini(original: &Map<String, Value>, out: &mut Map<String, Value>) {
    if let Some(value) = original.get("const") {
        out.insert("enum".into(), json!([value]));
    }
    if let Some(list) = out.remove("oneOf") {
        out.entry("anyOf").or_insert(list);
    }
    if let Some(Value::Array(list)) = out.remove("allOf") {
        for member in &list {
            merge_object(out, member, true);
            for (name, value) in member.as_object().into_iter().flatten() {
                if name != "required" {
                    out.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
    if let Some(Value::Array(values)) = out.get_mut("enum") {
        values.retain(|value| value.is_string() || value.is_number());
        if values.is_empty() {
            out.remove("enum");
        }
    }
}

/// A vendor rejects a required property that is not described.
fn drop_unknown_required(out: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = out.get("properties") else {
        return;
    };
    let names: Vec<String> = properties.keys().cloned().collect();
    if let Some(Value::Array(required)) = out.get_mut("required") {
        let mut seen: Vec<String> = Vec::new();
        required.retain(|name| {
            let name = name.as_str().unwrap_or_default();
            let keeps = names.iter().any(|n| n == name) && !seen.iter().any(|n| n == name);
            if keeps {
                seen.push(name.to_owned());
            }
            keeps
        });
        if required.is_empty() {
            out.remove("required");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: SchemaTarget, schema: &Value, expected: &Value) {
        assert_eq!(&reduce_schema(schema, target), expected, "{target:?} of {schema}");
    }

    #[test]
    fn v3_the_top_is_always_an_object_without_combinators() {
        for target in [SchemaTarget::Anthropic, SchemaTarget::OpenAi, SchemaTarget::Gemini] {
            check(target, &json!(true), &json!({"type": "object", "properties": {}}));
            check(
                target,
                &json!({"$schema": "x", "anyOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"$ref": "#/$defs/b"}
                ], "allOf": [{"properties": {"c": {"type": "dict"}}, "required": ["c"]}]}),
                &json!({
                    "properties": {"c": {"type": "object"}, "a": {"type": "string"}},
                    "required": ["c"], "type": "object"
                }),
            );
        }
    }

    #[test]
    fn v3_gemini_gets_no_references_and_only_known_keywords() {
        check(
            SchemaTarget::Gemini,
            &json!({"type": "object", "$defs": {"node": {"type": "object", "properties": {
                "next": {"type": "string", "pattern": "^a", "const": "x"}}}},
                "properties": {"n": {"$ref": "#/$defs/node"}, "k": {"oneOf": [
                    {"type": "string", "minLength": 3}, {"type": "null"}]}, "l": {"type": "array"}},
                "required": ["n", "gone"]}),
            &json!({"type": "object", "properties": {
                "n": {"type": "object", "properties": {"next": {"type": "string", "enum": ["x"]}}},
                "k": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "l": {"type": "array", "items": {}}},
                "required": ["n"]}),
        );
    }

    #[test]
    fn v3_a_schema_that_contains_itself_ends() {
        let own = json!({"type": "object", "properties": {
            "a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#/nowhere"}}});
        assert!(reduce_schema(&own, SchemaTarget::Gemini).to_string().len() < 200_000);
    }
}
