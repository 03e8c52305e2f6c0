//! Values that JSON holds as a text (ids, moments, names), read from it without a copy of the text. Not here:
//! what the texts are.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Reads a text and makes of it what `parse` does.
///
/// # Errors
/// It is no text, or not one that `parse` takes.
pub(crate) fn read_text<'de, D, T, E>(
    deserializer: D,
    parse: fn(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: fmt::Display,
{
    deserializer.deserialize_str(TextVisitor { parse })
}

struct TextVisitor<T, E> {
    parse: fn(&str) -> Result<T, E>,
}

impl<'de, T, E: fmt::Display> Visitor<'de> for TextVisitor<T, E> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<R: Error>(self, text: &str) -> Result<T, R> {
        (self.parse)(text).map_err(R::custom)
    }
}

#[cfg(test)]
mod tests {
    use crate::governance::GateName;
    use crate::ids::{CallId, Timestamp};

    #[test]
    fn q10_an_id_is_read_wherever_its_text_stands() {
        let moment = Timestamp(1_700_000_000_123_456);
        let texts = [
            r#"["c17","2023-11-14T22:13:20.123456Z","rules"]"#, // as it is written
            r#"["\u006317","2023-11-14T22:13:20.123456\u005a","r\u0075les"]"#,
        ];
        for text in texts {
            let read: (CallId, Timestamp, GateName) = serde_json::from_str(text).expect("three");
            assert_eq!(read, (CallId(17), moment, GateName::Rules), "{text}");
            let tree: serde_json::Value = serde_json::from_str(text).expect("JSON");
            let read: (CallId, Timestamp, GateName) = serde_json::from_value(tree).expect("three");
            assert_eq!(read, (CallId(17), moment, GateName::Rules), "{text}");
        }
        for wrong in ["17", "null", "\"t17\"", "\"c\"", "[\"c17\"]"] {
            assert!(serde_json::from_str::<CallId>(wrong).is_err(), "{wrong}");
        }
        let why = serde_json::from_str::<CallId>("\"t17\"").expect_err("another id").to_string();
        assert!(why.contains("is not a call id"), "{why}");
    }
}
