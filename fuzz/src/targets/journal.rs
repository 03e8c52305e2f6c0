//! What is stored and played again: arguments, facts, records, scripts.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use weir_core::event::Event;
use weir_core::ids::Seq;
use weir_core::model::parse_arguments;
use weir_core::record::{GENESIS, Record, verify_chain};
use weir_core::view::wire::output_schema;
use weir_scripted_model::{Script, from_journal};

use crate::input::{join, parts, random_of, text};
use crate::seeds;

pub(super) const SCRIPT_WORDS: &[&str] = &[
    "says: ",
    "says: |\n  ",
    "says-json: \"\"",
    "think: ",
    "calls: read_file {",
    "}",
    "raw-arguments: ",
    "error: 429 ",
    "error: cut\n",
    "expect: result \"",
    "expect-not: ",
    "loop 3\n",
    "loop ",
    "end\n",
    "when /",
    "/\n",
    "usage: input=1 output=2\n",
    "stop: end\n",
    "delay: 5ms\n",
    "pace: 1s\n",
    "repeat: 9\n",
    "call-ids: a, b\n",
    "image: dot\n",
    "name: x\n",
    "dialect: gemini\n",
    "window: ",
    "price: ",
    "order: requests\n",
    "#",
    "\n\n",
    "  ",
    "\t",
    "\r\n",
    "18446744073709551615",
    "|",
];

// ------------------------------------------------------------ arguments

/// Arguments are an object or a sentence.
pub(super) fn arguments(data: &[u8]) {
    let text = text(data);
    match parse_arguments(&text) {
        Ok(value) => {
            assert!(value.is_object(), "{value}");
            assert_eq!(parse_arguments(&value.to_string()), Ok(value));
        }
        Err(why) => {
            assert!(why.starts_with("The arguments ") && why.ends_with('.'), "{why:?}");
            assert!(why.len() < 500, "a sentence of {} bytes", why.len());
        }
    }
}

pub(super) fn json_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::files("crates/weir-tools/tests/cases", "call.json");
    seeds.extend(seeds::files("crates/weir-providers/tests/wire", "reply.json"));
    seeds.extend(seeds::texts(&[
        "",
        "{\"n\":1.0,\"m\":-0.0,\"big\":123456789012345678901234567890,\"e\":1e-7}",
        "{\"b\":[{\"d\":1,\"c\":2}],\"a\":\"\\u00e9\\ud83e\\udd80\"}",
    ]));
    seeds
}

// ------------------------------------------------------------ facts

/// A fact that was read is written as one that is read as the same.
pub(super) fn event(data: &[u8]) {
    let [kind, payload] = parts::<2>(data).map(text);
    let event = match Event::from_payload(&kind, &payload) {
        Ok(event) => event,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(event.kind(), kind);
    let written = event.payload();
    match Event::from_payload(&kind, &written) {
        Ok(again) => assert_eq!(again, event, "written and read"),
        Err(error) => panic!("what was written cannot be read: {error}"),
    }
}

/// One fact of every kind, made of its schema.
pub(super) fn event_seeds() -> Vec<Vec<u8>> {
    let schema = output_schema();
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    let lines = schema["oneOf"].as_array().cloned().unwrap_or_default();
    // Lines that are no facts have no fields of a kind.
    let seeds = lines.iter().filter_map(|line| {
        let kind = line["properties"]["kind"]["const"].as_str()?;
        let payload = sample(line["allOf"].get(0)?, &definitions, 0).to_string();
        Some(join(&[kind.as_bytes(), payload.as_bytes()]))
    });
    seeds.collect()
}

/// Some value that fits a schema: every field, the last form where there are several.
fn sample(schema: &Value, definitions: &Map<String, Value>, depth: usize) -> Value {
    let below = |schema: &Value| sample(schema, definitions, depth + 1);
    if depth > 24 {
        return Value::Null;
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.last().cloned().unwrap_or_default();
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return definitions.get(name).map(below).unwrap_or_default();
    }
    if let Some(object) = schema.get("properties").and_then(Value::as_object) {
        let fields = object.iter().map(|(name, schema)| (name.clone(), below(schema)));
        return Value::Object(fields.collect());
    }
    for forms in ["oneOf", "anyOf", "allOf"] {
        if let Some(form) = schema.get(forms).and_then(Value::as_array).and_then(|all| all.first())
        {
            return below(form);
        }
    }
    plain_sample(schema, below)
}

fn plain_sample(schema: &Value, below: impl Fn(&Value) -> Value) -> Value {
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
        kind => kind.as_str().unwrap_or_default(),
    };
    match kind {
        "string" if schema["format"] == "date-time" => json!("2026-01-01T00:00:00.000001Z"),
        "string" => match schema["pattern"].as_str() {
            // The ids that the engine counts: `^t[0-9]+$`.
            Some(pattern) => json!(format!("{}1", &pattern.get(1..2).unwrap_or_default())),
            None => json!("x"),
        },
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => schema.get("items").map_or_else(|| json!([]), |item| json!([below(item)])),
        "object" => json!({}),
        _ => Value::Null,
    }
}

// ------------------------------------------------------------ records

/// A record is read as it was written; of a whole chain, nothing can be changed, left out or put in
/// another order without notice.
pub(super) fn record(data: &[u8]) {
    let Ok(mut records) = serde_json::from_slice::<Vec<Record>>(data) else { return };
    records.truncate(20);
    let written = serde_json::to_vec(&records).expect("records are JSON");
    let again: Vec<Record> = serde_json::from_slice(&written).expect("what was written is read");
    assert_eq!(again, records);
    drop(verify_chain(GENESIS, 1, &records));
    let mut last = GENESIS.to_owned();
    for (record, seq) in records.iter_mut().zip(1 as Seq..) {
        record.seq = seq;
        record.hash = record.hash_after(&last);
        last.clone_from(&record.hash);
    }
    assert_eq!(verify_chain(GENESIS, 1, &records), Ok(last));
    let Some(at) = (!records.is_empty()).then(|| random_of(data).below(records.len())) else {
        return;
    };
    let mut changed = records.clone();
    changed[at].payload.push(' ');
    assert!(verify_chain(GENESIS, 1, &changed).is_err(), "a changed payload is not noticed");
    let mut changed = records.clone();
    changed[at].kind.push('x');
    assert!(verify_chain(GENESIS, 1, &changed).is_err(), "a changed kind is not noticed");
    if at + 1 < records.len() {
        records.remove(at);
        assert!(verify_chain(GENESIS, 1, &records).is_err(), "a missing record is not noticed");
    }
}

pub(super) fn record_seeds() -> Vec<Vec<u8>> {
    let record = |seq: Seq, payload: Value| {
        json!({
            "session": "s1", "seq": seq, "ts": "2026-01-01T00:00:00.000001Z", "kind": "turn.started",
            "v": 1, "payload": payload.to_string(), "hash": GENESIS,
        })
    };
    let records = [record(1, json!({"turn": "t1"})), record(2, json!({})), record(3, json!("é"))];
    vec![json!(records).to_string().into_bytes(), json!(records[..1]).to_string().into_bytes()]
}

// ------------------------------------------------------------ scripts

/// A script that cannot be read names one of its lines; one that can has as many replies as it says.
pub(super) fn script(data: &[u8]) {
    let text = text(data);
    match Script::parse(&text) {
        Ok(script) => drop(script.reply_count()),
        Err(error) => {
            let lines = text.lines().count() + 1;
            assert!(error.line <= lines, "line {} of {lines}", error.line);
            assert!(!error.why.is_empty());
        }
    }
}

pub(super) fn script_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::blocks("scenarios", "script");
    seeds.extend(seeds::files("examples", ".script"));
    seeds
}

/// Whatever a journal holds becomes a script that can be read, with one reply for each of the
/// model's.
pub(super) fn script_of_journal(data: &[u8]) {
    let text = text(data);
    let facts: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).take(50).collect();
    let written = from_journal(&facts);
    let script = match Script::parse(&written) {
        Ok(script) => script,
        Err(error) => panic!("its own script cannot be read ({error})\n{written}"),
    };
    let replies = facts.iter().filter(|fact| fact["kind"] == "model.replied").count() as u64;
    let failing = facts.iter().rev().take_while(|fact| fact["kind"] != "model.replied");
    let ends_failing = failing.filter(|fact| fact["kind"] == "model.retried").count() > 0;
    let expected = match replies {
        0 => 1,
        replies => replies + u64::from(ends_failing),
    };
    assert_eq!(script.reply_count(), expected, "{written}");
}

static FACTS: LazyLock<String> = LazyLock::new(|| {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "call", "call": "c1", "wire_id": "w1", "tool": "read_file",
                      "input": {"path": "a"}});
    let facts = [
        json!({"kind": "session.opened", "model": "script/x"}),
        json!({"kind": "model.retried", "class": "rate_limited", "message": "wait \"a\" # b"}),
        json!({"kind": "model.replied", "content": [text("one\n\n  two "), call], "stop": "calls",
               "usage": {"input": 1, "output": 2}}),
        json!({"kind": "context.condensed"}),
        json!({"kind": "model.replied", "content": [text("# no remark"), text("|")], "stop": "end"}),
    ];
    facts.map(|fact| fact.to_string()).join("\n")
});

pub(super) fn fact_seeds() -> Vec<Vec<u8>> {
    vec![FACTS.clone().into_bytes()]
}
