//! What a tool takes, as JSON Schema. Shared by whoever holds the tool, because every session and
//! every request has the list of its tools, and a schema is a tree of hundreds of small pieces.
//!
//! Checking arguments against a schema is not here: that is the engine's toolbox.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The schema of a tool's input. Copies cost nothing; it never changes.
///
/// Its text is kept beside the tree, because it is written far more often than it is looked into: into
/// each journal, and as bytes of a prompt. The tree of one that came as text is made when it is asked for.
#[derive(Clone)]
pub struct InputSchema(Arc<SharedSchema>);

struct SharedSchema {
    /// Compact JSON.
    text: Cow<'static, RawValue>,
    value: OnceLock<Value>,
}

impl InputSchema {
    /// The schema that a part of the program is. `text` is compact JSON and is written as it stands.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn from_static(text: &'static str) -> Result<InputSchema, serde_json::Error> {
        let text: &'static RawValue = serde_json::from_str(text)?;
        Ok(InputSchema::from_parts(Cow::Borrowed(text), OnceLock::new()))
    }

    fn from_parts(text: Cow<'static, RawValue>, value: OnceLock<Value>) -> InputSchema {
        InputSchema(Arc::new(SharedSchema { text, value }))
    }

    /// It as compact JSON.
    pub fn text(&self) -> &str {
        self.0.text.get()
    }

    /// How many bytes it has as compact JSON.
    pub fn bytes(&self) -> usize {
        self.text().len()
    }
}

impl From<Value> for InputSchema {
    fn from(value: Value) -> InputSchema {
        let text = serde_json::value::to_raw_value(&value).expect("a value is JSON");
        InputSchema::from_parts(Cow::Owned(text), value.into())
    }
}

/// What a journal or a snapshot told is mostly only written again, and the tree has many times the bytes of
/// its text: it is made where somebody looks into it (Q18).
impl<'de> Deserialize<'de> for InputSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InputSchema, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = serde_json::value::to_raw_value(&value).map_err(D::Error::custom)?;
        Ok(InputSchema::from_parts(Cow::Owned(text), OnceLock::new()))
    }
}

impl Deref for InputSchema {
    type Target = Value;
    fn deref(&self) -> &Value {
        // A text that nests too deeply to be read is none that a call could be checked against.
        self.0.value.get_or_init(|| serde_json::from_str(self.text()).unwrap_or_default())
    }
}

impl PartialEq for InputSchema {
    fn eq(&self, other: &InputSchema) -> bool {
        self.text() == other.text() || **self == **other
    }
}

impl fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InputSchema").field(&self.text()).finish()
    }
}

impl Serialize for InputSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.text.serialize(serializer)
    }
}

impl fmt::Display for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_what_it_was_made_of_and_its_copies_are_the_same_one() {
        let value = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let schema = InputSchema::from(value.clone());
        assert_eq!(*schema, value);
        assert_eq!(
            (schema.bytes(), schema.to_string()),
            (value.to_string().len(), value.to_string())
        );
        assert!(std::ptr::eq::<Value>(&*schema.clone(), &*schema), "a copy costs nothing");
        let text = serde_json::to_string(&schema).expect("JSON");
        assert_eq!(text, value.to_string());
        let told = serde_json::from_str::<InputSchema>(&text).expect("JSON");
        assert_eq!(told, schema);
        assert!(told.0.value.get().is_none(), "nobody has looked into it");
        assert_eq!(*told, value);
    }
    #[test]
    fn q1_a_schema_that_came_as_text_is_the_same_one_and_written_as_it_stands() {
        let read = InputSchema::from_static(r#"{"type":"object","required":["b","a"]}"#);
        let read = read.expect("JSON");
        let value = json!({ "required": ["b", "a"], "type": "object" });
        let before = format!("{read:?}");
        assert_eq!(*read, value);
        assert_eq!(format!("{read:?}"), before, "that it was looked into does not show");
        assert_eq!(read, InputSchema::from(value.clone()), "the order of fields says nothing");
        assert_ne!(read, InputSchema::from(json!({ "type": "object" })));
        assert_eq!(serde_json::to_value(&read).expect("JSON"), value);
        assert_eq!(serde_json::to_string(&read).expect("JSON"), read.text());
        assert_eq!((read.bytes(), read.to_string().as_str()), (read.text().len(), read.text()));
        for broken in ["", "{", "{}}", "not"] {
            assert!(InputSchema::from_static(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn q1_a_schema_that_nests_too_deeply_is_none() {
        let deep: &'static str = format!("{}{}", "[".repeat(500), "]".repeat(500)).leak();
        let read = InputSchema::from_static(deep);
        assert!(read.is_err() || read.is_ok_and(|schema| schema.is_null()));
    }
}
