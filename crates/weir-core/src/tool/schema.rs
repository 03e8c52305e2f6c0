//! What a tool takes, as JSON Schema. Shared by whoever holds the tool, because every session and
//! every request has the list of its tools, and a schema is a tree of hundreds of small pieces.
//!
//! Checking arguments against a schema is not here: that is the engine's toolbox.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// The schema of a tool's input. Copies cost nothing; it never changes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub struct InputSchema(Arc<SharedSchema>);

#[derive(Debug, PartialEq)]
struct SharedSchema {
    value: Value,
    bytes: usize,
}

impl InputSchema {
    /// How many bytes it has as compact JSON.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }
}

impl From<Value> for InputSchema {
    fn from(value: Value) -> InputSchema {
        let bytes = value.to_string().len();
        InputSchema(Arc::new(SharedSchema { value, bytes }))
    }
}

impl Deref for InputSchema {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.0.value
    }
}

impl Serialize for InputSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

impl fmt::Display for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
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
        assert_eq!(serde_json::from_str::<InputSchema>(&text).expect("JSON"), schema);
    }
}
