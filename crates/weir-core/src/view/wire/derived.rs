//! The schema of the lines as the types of the facts describe themselves, and that the kept text says the same.
//! Not here: what the program itself gives, which is that text.

use serde_json::{Value, json};

use super::{BLOB_EXPORTED, OUTPUT_SCHEMA};
use crate::event::Event;
use crate::record::VERSION;

/// What `output_schema` gives, made of the types.
fn derive_output_schema() -> Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let kinds = Event::schemas(&mut generator);
    let mut one_of: Vec<Value> = kinds
        .into_iter()
        .map(|(kind, schema)| {
            json!({
                "properties": { "kind": { "const": kind }, "seq": { "type": "integer", "minimum": 1 } },
                "required": ["seq"],
                "allOf": [schema],
            })
        })
        .collect();
    for (kind, subject) in
        [("text.delta", "turn"), ("thinking.delta", "turn"), ("call.output", "call")]
    {
        one_of.push(json!({
            "properties": {
                "kind": { "const": kind },
                subject: { "type": "string" },
                "text": { "type": "string" },
                "seq": false,
            },
            "required": [subject, "text"],
        }));
    }
    one_of.push(json!({
        "properties": {
            "kind": { "const": BLOB_EXPORTED },
            "blob": { "type": "string" },
            "bytes": { "type": "integer", "minimum": 0 },
            "data": { "type": "string", "contentEncoding": "base64" },
            "seq": false,
        },
        "required": ["blob", "bytes", "data"],
    }));
    let definitions = generator.take_definitions(true);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Weir event",
        "type": "object",
        "properties": {
            "v": { "const": VERSION },
            "ts": { "type": "string", "format": "date-time" },
            "session": { "type": "string" },
            "kind": { "type": "string" },
        },
        "required": ["v", "ts", "session", "kind"],
        "oneOf": one_of,
        "$defs": definitions,
    })
}

#[test]
fn c6_the_kept_schema_of_lines_is_what_the_facts_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/view/wire/output_schema.json");
    weir_test_kit::check_kept_json(path, OUTPUT_SCHEMA, &derive_output_schema());
}
