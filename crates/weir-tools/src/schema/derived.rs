//! The schemas as the input structs describe themselves, and that the kept ones are these. No schema is written
//! by hand, and none is validated here.

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{KEPT, NAME, find_kept_schema, kept_schema};
use crate::built::BuiltInTool;

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
    // Bound to an account, it stands in no list.
    let email = kept_line("email", &crate::email::derived_schema());
    let lines: String = tools.iter().map(line).chain([email]).collect();
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
        let kept = find_kept_schema(&spec.name).expect("each built-in tool has one");
        assert_eq!((kept.text(), &*kept), (derived.to_string().as_str(), &derived));
        assert_eq!(spec.input_schema.text(), kept.text(), "{}", spec.name);
    }
    let kept = find_kept_schema("email").expect("it has one");
    assert_eq!(*kept, crate::email::derived_schema());
}

#[test]
fn t1_a_tool_whose_schema_is_not_kept_takes_no_arguments() {
    for name in ["", "no_such_tool", "email\",\"input_schema\":"] {
        assert_eq!(find_kept_schema(name), None);
        let expected = serde_json::json!({ "type": "object", "maxProperties": 0 });
        assert_eq!(*kept_schema(name), expected);
    }
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
