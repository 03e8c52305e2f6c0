//! A fact as the outside sees it: one JSON object a line (C6).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::event::Event;
use crate::ids::{Seq, SessionId, Timestamp};
use crate::record::{GENESIS, Record, VERSION};

/// Kind of the lines by which an exported session carries its bytes: `blob`, `bytes` (how many) and
/// `data` (base64). They have no place in the journal.
pub const BLOB_EXPORTED: &str = "blob.exported";

/// The envelope and the fields of the kind in one object.
pub fn fact_json(session: &SessionId, seq: Seq, ts: Timestamp, event: &Event) -> Value {
    let mut out = envelope_fields(session, Some(seq), ts, event.kind());
    if let Ok(Value::Object(fields)) = serde_json::from_str(&event.payload()) {
        out.extend(fields);
    }
    Value::Object(out)
}

/// The same as text.
pub fn fact_text(session: &SessionId, seq: Seq, ts: Timestamp, event: &Event) -> String {
    let payload = event.payload();
    let (kind, fields) = (event.kind(), RawFields::default());
    let mut text = line_text(&FactLine { session, seq, ts, kind, fields }, payload.len());
    // No kind has a field that an envelope has, so its fields follow as they were just written.
    if let Some(fields) = payload.strip_prefix('{').filter(|fields| *fields != "}") {
        text.pop();
        text.push(',');
        text.push_str(fields);
    }
    text
}

/// A fact that is written as its one object, alone or as a part of another. Its fields are taken over as the
/// payload has them, and no tree is made: the fact that opens a session has the schemas of all its tools.
pub struct WireFact<'a> {
    /// The session whose fact it is.
    pub session: &'a SessionId,
    /// Its place there.
    pub seq: Seq,
    /// When it was recorded, in microseconds since 1970.
    pub ts: Timestamp,
    /// What happened.
    pub event: &'a Event,
}

impl<'a> WireFact<'a> {
    fn as_line<'p>(&self, payload: &'p str) -> FactLine<'p>
    where
        'a: 'p,
    {
        let WireFact { session, seq, ts, event } = *self;
        let fields = serde_json::from_str(payload).unwrap_or_default();
        FactLine { session, seq, ts, kind: event.kind(), fields }
    }
}

impl Serialize for WireFact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_line(&self.event.payload()).serialize(serializer)
    }
}

/// Bytes of an envelope, roughly.
const ENVELOPE_BYTES: usize = 160;

fn line_text(line: &FactLine<'_>, payload: usize) -> String {
    let mut text = Vec::with_capacity(payload + ENVELOPE_BYTES);
    serde_json::to_writer(&mut text, line).expect("facts hold only string keys");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// The names of the envelope of a fact, in their order.
const ENVELOPE_NAMES: [&str; 5] = ["v", "seq", "ts", "session", "kind"];

/// An envelope, and the fields of a kind behind it. A field of the same name takes its place there.
struct FactLine<'a> {
    session: &'a SessionId,
    seq: Seq,
    ts: Timestamp,
    kind: &'a str,
    fields: RawFields<'a>,
}

/// The fields of an object, in their order, as they are written.
#[derive(Default)]
struct RawFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl RawFields<'_> {
    /// Writes what stands at `name` in an envelope: the field of that name, or else `value`.
    fn write_envelope<M: SerializeMap>(
        &self,
        map: &mut M,
        name: &'static str,
        value: &impl Serialize,
    ) -> Result<(), M::Error> {
        match self.0.iter().find(|(field, _)| field == name) {
            Some((_, field)) => map.serialize_entry(name, field),
            None => map.serialize_entry(name, value),
        }
    }
}

impl Serialize for FactLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FactLine { session, seq, ts, kind, fields } = self;
        let [v_name, seq_name, ts_name, session_name, kind_name] = ENVELOPE_NAMES;
        let mut map = serializer.serialize_map(None)?;
        fields.write_envelope(&mut map, v_name, &VERSION)?;
        fields.write_envelope(&mut map, seq_name, seq)?;
        fields.write_envelope(&mut map, ts_name, ts)?;
        fields.write_envelope(&mut map, session_name, session)?;
        fields.write_envelope(&mut map, kind_name, kind)?;
        let is_own = |name: &str| !ENVELOPE_NAMES.contains(&name);
        for (name, field) in fields.0.iter().filter(|(name, _)| is_own(name)) {
            map.serialize_entry(name, field)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawFields<'de>, D::Error> {
        deserializer.deserialize_map(RawFieldsVisitor)
    }
}

struct RawFieldsVisitor;

impl<'de> Visitor<'de> for RawFieldsVisitor {
    type Value = RawFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fields of a fact")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((FieldName(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(RawFields(fields))
    }
}

/// A name, borrowed where nothing in it is escaped.
#[derive(serde::Deserialize)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

/// A signal: it has no place in the journal.
pub fn signal_json(session: &SessionId, ts: Timestamp, kind: &str, fields: Value) -> Value {
    let mut out = envelope_fields(session, None, ts, kind);
    if let Value::Object(fields) = fields {
        out.extend(fields);
    }
    Value::Object(out)
}

/// A piece of streamed text with what its JSON line says of it.
pub struct StreamedSignal<'a> {
    /// The session in which it streams.
    pub session: &'a SessionId,
    /// When it is told, in microseconds since 1970.
    pub ts: Timestamp,
    /// The kind of the line: `text.delta`.
    pub kind: &'static str,
    /// The field that names the subject: `turn` or `call`.
    pub subject_field: &'static str,
    /// Id of the turn or call that the text belongs to.
    pub subject: &'a str,
    /// The piece itself.
    pub text: &'a str,
}

/// A piece of streamed text as the text of one object. A server writes thousands of these a second,
/// so no tree is made for them.
pub fn streamed_signal_text(signal: &StreamedSignal<'_>) -> String {
    serde_json::to_string(signal).unwrap_or_default()
}

impl Serialize for StreamedSignal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(6))?;
        map.serialize_entry("v", &VERSION)?;
        map.serialize_entry("ts", &self.ts)?;
        map.serialize_entry("session", self.session)?;
        map.serialize_entry("kind", self.kind)?;
        map.serialize_entry(self.subject_field, self.subject)?;
        map.serialize_entry("text", self.text)?;
        map.end()
    }
}

fn envelope_fields(
    session: &SessionId,
    seq: Option<Seq>,
    ts: Timestamp,
    kind: &str,
) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("v".into(), json!(VERSION));
    if let Some(seq) = seq {
        out.insert("seq".into(), json!(seq));
    }
    out.insert("ts".into(), json!(ts));
    out.insert("session".into(), json!(session));
    out.insert("kind".into(), json!(kind));
    out
}

/// The record by which a fact is stored, after the record with hash `previous`.
pub fn fact_record(
    session: &SessionId,
    seq: Seq,
    ts: Timestamp,
    event: &Event,
    previous: &str,
) -> Record {
    let mut record = Record {
        session: session.clone(),
        seq,
        ts,
        kind: event.kind().into(),
        v: VERSION,
        payload: event.payload(),
        hash: String::new(),
    };
    let previous = if seq == 1 { GENESIS } else { previous };
    record.hash = record.hash_after(previous);
    record
}

/// The schema of the lines, as text: made of the types of the facts by a test, which compares it.
const OUTPUT_SCHEMA: &str = include_str!("wire/output_schema.json");

/// JSON Schema of one line of `--output jsonl`: every kind of fact and signal.
pub fn output_schema() -> Value {
    serde_json::from_str(OUTPUT_SCHEMA).unwrap_or_default()
}

#[cfg(test)]
mod derived;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Names of which some stand in an envelope, and values of every kind.
    fn payloads() -> impl Strategy<Value = Value> {
        let name = prop_oneof![
            prop::sample::select(vec!["v", "seq", "ts", "session", "kind"]).prop_map(String::from),
            "[a-z\"\\\\\u{e9}\n]{0,3}",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has none", |f| f.is_finite()).prop_map(Value::from),
            "\\PC{0,8}|[\"\\\\\n\u{1b}]{0,4}".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z]{0,3}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        });
        prop::collection::vec((name, value), 0..6)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn c6_a_fact_is_the_same_as_text_and_as_a_tree(payload in payloads()) {
            let session = SessionId::new("s");
            let mut tree = envelope_fields(&session, Some(7), Timestamp(1), "a.b");
            tree.extend(payload.as_object().cloned().unwrap_or_default());
            let payload = payload.to_string();
            let fields = serde_json::from_str(&payload).expect("an object");
            let (seq, ts, kind) = (7, Timestamp(1), "a.b");
            let line = FactLine { session: &session, seq, ts, kind, fields };
            let text = line_text(&line, payload.len());
            prop_assert_eq!(text, Value::Object(tree).to_string());
        }
    }

    #[test]
    fn c6_the_text_of_a_fact_is_that_of_its_tree() {
        let (session, ts) = (SessionId::new("s\"1"), Timestamp(1));
        let finished = json!({
            "call": "c1", "tool": "t", "ok": true, "summary": "\"é\" \\ \n", "result": [],
            "confirmed": false, "bytes": 0, "duration_ms": 0, "news": [],
        });
        for (kind, fields) in
            [("call.started", json!({ "call": "c1" })), ("call.finished", finished)]
        {
            let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
            let tree = fact_json(&session, 7, ts, &event).to_string();
            assert_eq!(fact_text(&session, 7, ts, &event), tree);
            let alone = WireFact { session: &session, seq: 7, ts, event: &event };
            assert_eq!(serde_json::to_string(&alone).expect("a line"), tree);
        }
    }

    /// All names that an object of this schema may have.
    fn collect_names(schema: &Value, whole: &Value, found: &mut Vec<String>) {
        assert!(
            !matches!(
                schema.get("additionalProperties"),
                Some(Value::Bool(true) | Value::Object(_))
            ),
            "any name: {schema}"
        );
        if let Some(of) = schema["$ref"].as_str() {
            let of = whole.pointer(of.trim_start_matches('#')).expect("a definition");
            collect_names(of, whole, found);
        }
        let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|of| schema[of].as_array());
        parts.flatten().for_each(|part| collect_names(part, whole, found));
        found.extend(schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned());
    }

    #[test]
    fn c6_no_fact_has_a_field_that_its_envelope_has() {
        let whole = output_schema();
        let lines = whole["oneOf"].as_array().expect("a list");
        let facts: Vec<&Value> = lines.iter().filter(|line| line["allOf"].is_array()).collect();
        assert!(facts.len() > 50, "{}", facts.len());
        for fact in facts {
            let mut names = Vec::new();
            collect_names(&fact["allOf"][0], &whole, &mut names);
            let is_own = |name: &String| !ENVELOPE_NAMES.contains(&name.as_str());
            assert!(names.iter().all(is_own), "{}: {names:?}", fact["properties"]["kind"]);
        }
    }

    #[test]
    fn c6_streamed_text_is_written_as_any_other_signal() {
        let (session, ts) = (SessionId::new("s"), Timestamp(1_700_000_000_000_000));
        for text in ["", "plain", "\"quoted\" \\ \n \u{1b}[0m ü 🦀"] {
            let tree =
                signal_json(&session, ts, "text.delta", json!({ "turn": "t1", "text": text }));
            let line = streamed_signal_text(&StreamedSignal {
                session: &session,
                ts,
                kind: "text.delta",
                subject_field: "turn",
                subject: "t1",
                text,
            });
            assert_eq!(line, tree.to_string());
        }
    }
}
