//! A tool as programs call it (U7): a line of TypeScript, made from its schema. Not here: whether
//! arguments fit the schema, which the engine's toolbox says.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ToolSpec;

/// Deepest type that is written out.
const DEPTH_MAX: usize = 4;
/// Longest line, in bytes; of a larger tool the names of its arguments do not fit either.
const LINE_BYTES_MAX: usize = 1_200;

/// The declaration of the function that `tool` is in a program.
///
/// ```
/// use serde_json::json;
/// use weir_core::tool::{ToolGroup, ToolSpec, declare};
///
/// let tool = ToolSpec {
///     name: "find".into(),
///     description: String::new(),
///     group: ToolGroup::Read,
///     input_schema: json!({
///         "type": "object",
///         "properties": { "word": { "type": "string" }, "most": { "type": ["integer", "null"] } },
///         "required": ["word"],
///     })
///     .into(),
///     deferred: false,
///     parallel_safe: true,
///     poll: false,
///     keeps_result: false,
///     timeout_ms: None,
/// };
/// let line = "declare function find(args: { most?: number | null; word: string }): Promise<any>";
/// assert_eq!(declare::function_declaration(&tool), line);
/// ```
pub fn function_declaration(tool: &ToolSpec) -> String {
    let line = |arguments: &str| {
        format!("declare function {}(args: {arguments}): Promise<any>", tool.name)
    };
    let schema: &Value = &tool.input_schema;
    let whole = line(&type_text(schema));
    if whole.len() <= LINE_BYTES_MAX { whole } else { line("object") }
}

/// What a schema describes, as a type in TypeScript: `{ id: number; labels: string[] }`.
pub fn type_text(schema: &Value) -> String {
    type_of(schema, schema, 0)
}

fn type_of(schema: &Value, root: &Value, depth: usize) -> String {
    if depth > DEPTH_MAX {
        return "any".into();
    }
    if let Some(to) = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#')) {
        return root.pointer(to).map_or("any".into(), |to| type_of(to, root, depth + 1));
    }
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    if let Some(values) = schema["enum"].as_array() {
        return union_of(values.iter().map(literal));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(kinds) = schema[key].as_array() {
            return union_of(kinds.iter().map(|kind| type_of(kind, root, depth + 1)));
        }
    }
    match &schema["type"] {
        Value::Array(names) => {
            let named = |name: &Value| type_named(name.as_str(), schema, root, depth);
            union_of(names.iter().map(named))
        }
        name => type_named(name.as_str(), schema, root, depth),
    }
}

fn type_named(name: Option<&str>, schema: &Value, root: &Value, depth: usize) -> String {
    match name {
        Some("string") => "string".into(),
        Some("integer" | "number") => "number".into(),
        Some("boolean") => "boolean".into(),
        Some("null") => "null".into(),
        Some("array") => {
            let items = schema.get("items");
            let item = items.map_or("any".into(), |items| type_of(items, root, depth + 1));
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        Some("object") => object_type(schema, root, depth),
        _ => "any".into(),
    }
}

fn object_type(schema: &Value, root: &Value, depth: usize) -> String {
    let Some(properties) = schema["properties"].as_object() else { return "object".into() };
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort_unstable();
    let field = |name: &String| {
        let optional = if required.contains(name.as_str()) { "" } else { "?" };
        format!("{}{optional}: {}", key_of(name), type_of(&properties[name], root, depth + 1))
    };
    if names.is_empty() {
        return "{}".into();
    }
    format!("{{ {} }}", names.into_iter().map(field).collect::<Vec<_>>().join("; "))
}

/// The name of a property, quoted where it is no plain one: whoever wrote the schema may be foreign.
fn key_of(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    match starts && name.chars().all(plain) {
        true => name.to_owned(),
        false => literal(&Value::from(name)),
    }
}

fn literal(value: &Value) -> String {
    value.to_string()
}

fn union_of(kinds: impl Iterator<Item = String>) -> String {
    let mut seen = BTreeSet::new();
    let kinds: Vec<String> = kinds.filter(|kind| seen.insert(kind.clone())).collect();
    if kinds.is_empty() { "any".into() } else { kinds.join(" | ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u7_a_schema_is_a_type_of_one_line() {
        for (schema, line) in [
            (json!({ "type": "object" }), "object"),
            (json!({ "type": "object", "properties": {} }), "{}"),
            (
                json!({ "type": "object", "properties": {
                    "mode": { "enum": ["a", "b"] },
                    "rows": { "type": "array", "items": { "anyOf": [
                        { "type": "string" }, { "type": "number" },
                    ] } },
                    "at": { "$ref": "#/$defs/Place" },
                    "a\nb": { "type": "boolean" },
                    "9": true,
                }, "required": ["at"], "$defs": { "Place": {
                    "type": "object", "properties": { "line": { "type": "integer" } },
                } } }),
                "{ \"9\"?: any; \"a\\nb\"?: boolean; at: { line?: number }; mode?: \"a\" | \"b\"; \
                 rows?: (string | number)[] }",
            ),
            // A type that holds itself ends somewhere.
            (
                json!({ "type": "object", "properties": { "n": { "$ref": "#" } } }),
                "{ n?: { n?: { n?: any } } }",
            ),
        ] {
            let told = type_of(&schema, &schema, 0);
            assert_eq!(told, line);
            assert!(!told.contains('\n'), "{told}");
        }
    }

    #[test]
    fn u7_a_tool_too_large_for_a_line_takes_an_object() {
        let fields: serde_json::Map<String, Value> =
            (0..200).map(|n| (format!("field_{n}"), json!({ "type": "string" }))).collect();
        let spec = ToolSpec {
            name: "large".into(),
            description: String::new(),
            group: crate::tool::ToolGroup::Mcp,
            input_schema: json!({ "type": "object", "properties": fields }).into(),
            deferred: true,
            parallel_safe: false,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        };
        let line = "declare function large(args: object): Promise<any>";
        assert_eq!(function_declaration(&spec), line);
    }
}
