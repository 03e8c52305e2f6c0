//! JSON schemas of tool inputs: compact, self-contained, in the words that every vendor accepts.
//!
//! Made from the input structs; no schema is written by hand, and none is validated here. What is made of
//! the built-in tools' is kept as text, because making it anew would cost every start of the program more
//! than reading its settings (Q1).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use weir_core::tool::InputSchema;

/// The schemas of the built-in tools, one a line. A test writes and compares it.
const KEPT: &str = include_str!("schemas.jsonl");
/// What stands before and behind the name of a tool in its line.
const NAME: (&str, &str) = ("{\"name\":\"", "\",\"input_schema\":");

/// The schema of the built-in tool of this name; `None`: none is kept.
pub(crate) fn kept_schema(name: &str) -> Option<InputSchema> {
    static BY_NAME: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let split = |line: &'static str| {
            let (name, rest) = line.strip_prefix(NAME.0)?.split_once(NAME.1)?;
            Some((name, rest.strip_suffix('}')?))
        };
        KEPT.lines().filter_map(split).collect()
    });
    InputSchema::from_static(BY_NAME.get(name)?).ok()
}

/// The schema of `Input` as an object without references, titles and `null`s.
pub(crate) fn input_schema<Input: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Input>().to_value();
    compact_schema(&mut schema);
    if let Value::Object(map) = &mut schema {
        map.remove("description");
        map.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Takes out what costs bytes and helps no model: titles, integer formats, empty defaults, `null`
/// alternatives of optional fields. Unknown fields are refused by the structs themselves.
fn compact_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for key in ["$schema", "title", "format", "additionalProperties"] {
                if map.get(key).is_some_and(|v| !v.is_object()) {
                    map.remove(key);
                }
            }
            let is_empty = |value: &Value| match value {
                Value::Null | Value::Bool(false) => true,
                Value::Array(items) => items.is_empty(),
                Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
            };
            if map.get("default").is_some_and(is_empty) {
                map.remove("default");
            }
            // Of an unsigned number; a negative one is refused when the arguments are parsed.
            if map.get("minimum").is_some_and(|least| least.as_u64() == Some(0)) {
                map.remove("minimum");
            }
            drop_null(map);
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            map.values_mut().for_each(compact_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(compact_schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    if let Some(Value::Array(mut options)) = map.remove("anyOf") {
        options.retain(|o| o.get("type").is_none_or(|t| t != "null"));
        match (options.len(), options.pop()) {
            (1, Some(Value::Object(only))) => {
                for (key, value) in only {
                    map.entry(key).or_insert(value);
                }
            }
            (_, last) => {
                options.extend(last);
                map.insert("anyOf".into(), Value::Array(options));
            }
        }
    }
}

/// The fields of an input schema as a Markdown list.
pub(crate) fn fields_markdown(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|r| r.iter().any(|n| n == name))
    };
    let mut list = String::new();
    for (name, field) in properties {
        let kind = field.get("type").and_then(Value::as_str).unwrap_or("any");
        let must = if required(name) { ", required" } else { "" };
        let text = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let opening = if list.is_empty() { "\n" } else { "" };
        let _ = writeln!(list, "{opening}- `{name}` ({kind}{must}): {text}");
    }
    list
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde::Deserialize;

    use super::*;
    use crate::built::BuiltInTool;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Example {
        /// Where to
        /// look.
        path: String,
        /// How many.
        #[serde(default)]
        limit: Option<u32>,
        /// Which.
        #[serde(default)]
        kind: Option<Kind>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Old,
        New,
    }

    /// A tool and its schema as a line of the kept ones.
    fn kept_line(name: &str, schema: &Value) -> String {
        format!("{}{name}{}{schema}}}\n", NAME.0, NAME.1)
    }

    #[test]
    fn q1_the_kept_schemas_are_those_of_the_structs() {
        let tools: Vec<_> = crate::file_tools().into_iter().chain(crate::acting_tools()).collect();
        let name = |tool: &Arc<dyn BuiltInTool>| tool.spec().name.clone();
        let line = |tool: &Arc<dyn BuiltInTool>| kept_line(&name(tool), &tool.derived_schema());
        let lines: String = tools.iter().map(line).collect();
        if std::env::var_os("UPDATE").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/schemas.jsonl");
            std::fs::write(path, &lines).expect("writing the schemas");
            return;
        }
        assert!(
            KEPT == lines,
            "weir-tools/src/schemas.jsonl is not what the structs say: run this test with UPDATE=1"
        );
        for tool in &tools {
            let (derived, spec) = (tool.derived_schema(), tool.spec());
            let kept = kept_schema(&spec.name).expect("each built-in tool has one");
            assert_eq!((kept.text(), &*kept), (derived.to_string().as_str(), &derived));
            assert_eq!(spec.input_schema.text(), kept.text(), "{}", spec.name);
        }
        assert_eq!(kept_schema("email"), None);
        assert_eq!(kept_schema(""), None);
    }

    #[test]
    fn t1_schemas_are_compact_and_hold_no_reference() {
        let expected = serde_json::json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "Where to look." },
                "limit": { "type": "integer", "description": "How many." },
                "kind": { "type": "string", "enum": ["old", "new"], "description": "Which." },
            },
            "required": ["path"],
        });
        assert_eq!(input_schema::<Example>(), expected);
    }
}
