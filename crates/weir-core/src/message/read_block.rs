//! Reading a piece of a message, of which journals are full. What is written names its type first, so its fields
//! are read straight into their places; where others put the type elsewhere, they are gathered until it is
//! known. Not here: which pieces there are.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer as _, MapAccess, Visitor,
};
use serde_json::{Map, Value};

use super::{CallBlock, MessageBlock, StoredMedia, VendorSeal};
use crate::ids::CallId;

/// The field that says which piece it is.
const TYPE: &str = "type";

/// The words of that field: a text, and no object that stands for one.
#[derive(Clone, Copy, serde::Deserialize)]
#[serde(variant_identifier, rename_all = "snake_case")]
enum BlockType {
    Text,
    Thinking,
    Call,
    Result,
    Image,
    Document,
}

#[derive(serde::Deserialize)]
struct TextFields {
    text: String,
    #[serde(default)]
    citations: Vec<Value>,
    #[serde(default)]
    seal: Option<VendorSeal>,
}

#[derive(serde::Deserialize)]
struct ThinkingFields {
    text: String,
    #[serde(default)]
    seal: Option<VendorSeal>,
}

#[derive(serde::Deserialize)]
struct ResultFields {
    call: CallId,
    ok: bool,
    blocks: Vec<MessageBlock>,
}

#[derive(serde::Deserialize)]
struct MediaFields {
    media: StoredMedia,
}

/// A name, borrowed where nothing in it is escaped.
#[derive(serde::Deserialize)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

impl BlockType {
    /// The piece with the fields that `deserializer` has.
    fn read_fields<'de, D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<MessageBlock, D::Error> {
        Ok(match self {
            BlockType::Text => {
                let TextFields { text, citations, seal } = Deserialize::deserialize(deserializer)?;
                MessageBlock::Text { text, citations, seal }
            }
            BlockType::Thinking => {
                let ThinkingFields { text, seal } = Deserialize::deserialize(deserializer)?;
                MessageBlock::Thinking { text, seal }
            }
            BlockType::Call => MessageBlock::Call(CallBlock::deserialize(deserializer)?),
            BlockType::Result => {
                let ResultFields { call, ok, blocks } = Deserialize::deserialize(deserializer)?;
                MessageBlock::Result { call, ok, blocks }
            }
            BlockType::Image => {
                MessageBlock::Image { media: MediaFields::deserialize(deserializer)?.media }
            }
            BlockType::Document => {
                MessageBlock::Document { media: MediaFields::deserialize(deserializer)?.media }
            }
        })
    }
}

impl<'de> Deserialize<'de> for MessageBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MessageBlock, D::Error> {
        deserializer.deserialize_map(BlockVisitor)
    }
}

struct BlockVisitor;

impl<'de> Visitor<'de> for BlockVisitor {
    type Value = MessageBlock;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a piece of a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageBlock, A::Error> {
        let mut fields = Map::new();
        while let Some(FieldName(name)) = map.next_key()? {
            if name != TYPE {
                gather_field(&mut fields, name, &mut map)?;
                continue;
            }
            let kind: BlockType = map.next_value()?;
            let mut rest = FieldsAfterType(map);
            if fields.is_empty() {
                return kind.read_fields(MapAccessDeserializer::new(rest));
            }
            while let Some(name) = rest.next_key::<String>()? {
                gather_field(&mut fields, name.into(), &mut rest)?;
            }
            return kind.read_fields(Value::Object(fields)).map_err(A::Error::custom);
        }
        Err(A::Error::missing_field(TYPE))
    }
}

/// Keeps the value of a field until the type is known. Of two with one name neither is the right one.
fn gather_field<'de, A: MapAccess<'de>>(
    fields: &mut Map<String, Value>,
    name: Cow<'de, str>,
    map: &mut A,
) -> Result<(), A::Error> {
    if fields.contains_key(&*name) {
        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
    }
    fields.insert(name.into_owned(), map.next_value()?);
    Ok(())
}

/// The fields behind the type. Another type among them is refused, whatever it says.
struct FieldsAfterType<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for FieldsAfterType<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some(FieldName(name)) = self.0.next_key()? else { return Ok(None) };
        if name == TYPE {
            return Err(A::Error::duplicate_field(TYPE));
        }
        let name: CowStrDeserializer<'_, A::Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Pieces of every type, as they are written.
    fn pieces() -> Vec<Value> {
        let seal = json!({ "dialect": "anthropic", "data": { "b": 1, "a": [1.5, null] } });
        let media = json!({ "media_type": "image/png", "blob": "00", "bytes": 7, "name": "a.png" });
        let call = json!({
            "type": "call", "call": "c7", "wire_id": "w", "tool": "look",
            "input": { "path": "a \"b\"\n", "n": [1, -2, 1e300, 18_446_744_073_709_551_615_u64] },
            "seal": seal,
        });
        let text =
            json!({ "type": "text", "text": "a \"b\"\n\u{1b}…", "citations": [1], "seal": seal });
        vec![
            json!({ "type": "text", "text": "" }),
            json!({ "type": "thinking", "text": "hm", "seal": seal }),
            json!({ "type": "result", "call": "c7", "ok": false, "blocks": [text, call] }),
            json!({ "type": "image", "media": media }),
            json!({ "type": "document", "media": media }),
            text,
            call,
        ]
    }

    /// The same object with its last field first, in it and in all that it holds.
    fn turned(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().rev();
                Value::Object(fields.map(|(name, value)| (name.clone(), turned(value))).collect())
            }
            Value::Array(items) => items.iter().map(turned).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    #[test]
    fn q10_a_piece_is_read_as_it_was_written_wherever_its_type_stands() {
        for piece in pieces() {
            let text = piece.to_string();
            let read: MessageBlock = serde_json::from_str(&text).expect("a piece");
            assert_eq!(serde_json::to_string(&read).expect("JSON"), text);
            let other = turned(&piece);
            assert_ne!(other.to_string(), text);
            let again: MessageBlock = serde_json::from_str(&other.to_string()).expect("a piece");
            assert_eq!(again, read, "{other}");
            for tree in [piece, other] {
                assert_eq!(serde_json::from_value::<MessageBlock>(tree).expect("a piece"), read);
            }
        }
    }

    #[test]
    fn c6_a_field_of_tomorrow_is_left_out_and_what_is_missing_is_named() {
        let read = |text: &str| serde_json::from_str::<MessageBlock>(text);
        let plain = MessageBlock::text("a");
        for text in [
            r#"{"type":"text","text":"a","later":{"type":"call"}}"#,
            r#"{"later":[1],"type":"text","text":"a"}"#,
            r#"{"t\u0079pe":"te\u0078t","text":"a","seal":null}"#,
        ] {
            assert_eq!(read(text).expect("a piece"), plain, "{text}");
        }
        for (text, why) in [
            (r#"{"text":"a"}"#, "missing field `type`"),
            ("{}", "missing field `type`"),
            (r#"{"type":"text"}"#, "missing field `text`"),
            (r#"{"text":"a","type":"call"}"#, "missing field `call`"),
            (r#"{"type":"tune","text":"a"}"#, "unknown variant `tune`"),
            (r#"{"type":"text","text":7}"#, "invalid type: integer `7`"),
            (r#"{"type":{"text":null},"text":"a"}"#, "invalid type: map"),
            ("\"a\"", "a piece of a message"),
        ] {
            let found = read(text).expect_err("no piece").to_string();
            assert!(found.contains(why), "{text}: {found}");
        }
    }

    /// Of two fields with one name a reader takes the first and another the last: none of them is believed.
    #[test]
    fn c6_a_piece_that_says_something_twice_is_refused() {
        for (text, name) in [
            (r#"{"type":"text","text":"a","type":"thinking"}"#, "type"),
            (r#"{"type":"text","type":"text","text":"a"}"#, "type"),
            (r#"{"type":"text","text":"a","t\u0079pe":"text"}"#, "type"),
            (r#"{"text":"a","type":"text","type":"thinking"}"#, "type"),
            (r#"{"type":"text","text":"a","text":"b"}"#, "text"),
            (r#"{"text":"a","text":"b","type":"text"}"#, "text"),
            (r#"{"text":"a","type":"text","text":"b"}"#, "text"),
        ] {
            let found = serde_json::from_str::<MessageBlock>(text).expect_err("no piece");
            let found = found.to_string();
            assert!(found.contains(&format!("duplicate field `{name}`")), "{text}: {found}");
        }
    }
}
