//! What a form of a page sends, read into the type that programs send as JSON, so that both have one
//! description. Not here: which handlers take it (`request::body`).
//!
//! A form has no types and sends every field that it shows: an option whose fields are all empty is
//! left out, a box that is ticked is `true`, a name that is there several times is a list, and what only
//! the guard looks at (`csrf`) belongs to no type.

use std::collections::BTreeMap;

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};

/// The field that the guard has looked at already.
const GUARD_FIELD: &str = "csrf";

/// Reads the fields of a form into `T`.
///
/// # Errors
/// A field is missing, is not one of the type's, or is not what the type wants there.
pub(super) fn read_form<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    let mut fields: BTreeMap<String, FieldValues> = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(bytes) {
        if name != GUARD_FIELD {
            fields.entry(name.into_owned()).or_default().0.push(value.into_owned());
        }
    }
    T::deserialize(MapDeserializer::new(fields.into_iter()))
}

/// Everything that stands under one name.
#[derive(Debug, Default)]
struct FieldValues(Vec<String>);

impl FieldValues {
    fn first_value(&self) -> &str {
        self.0.first().map(String::as_str).unwrap_or_default()
    }

    fn parse_first<N: std::str::FromStr>(&self, what: &str) -> Result<N, Error> {
        let text = self.first_value().trim();
        text.parse().map_err(|_| Error::custom(format!("{text:?} is no {what}")))
    }
}

impl IntoDeserializer<'_> for FieldValues {
    type Deserializer = FieldValues;
    fn into_deserializer(self) -> FieldValues {
        self
    }
}

impl<'de> Deserializer<'de> for FieldValues {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0.into_iter().next().unwrap_or_default())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.iter().all(|value| value.trim().is_empty()) {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.first_value() {
            "on" | "yes" | "true" => visitor.visit_bool(true),
            "" | "no" | "false" => visitor.visit_bool(false),
            other => Err(Error::custom(format!("{other:?} is neither yes nor no"))),
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u8(self.parse_first("whole number up to 255")?)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(self.parse_first("whole number")?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.parse_first("whole number")?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let said = self.0.into_iter().filter(|value| !value.trim().is_empty());
        visitor.visit_seq(SeqDeserializer::new(said.map(|value| FieldValues(vec![value]))))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.first_value().trim().into_deserializer().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Level {
        #[default]
        Low,
        VeryHigh,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Sent {
        words: String,
        days: Option<u32>,
        level: Option<Level>,
        all: bool,
        many: Vec<String>,
    }

    #[test]
    fn s10_a_form_is_read_into_the_type_that_programs_send() {
        let nothing = Sent::default;
        for (form, expected) in [
            ("", nothing()),
            ("csrf=x", nothing()),
            ("days=&level=&many=&all=&words=", nothing()),
            ("words=a+b%26c", Sent { words: "a b&c".into(), ..nothing() }),
            ("days=+7", Sent { days: Some(7), ..nothing() }),
            ("level=very_high", Sent { level: Some(Level::VeryHigh), ..nothing() }),
            ("all=on", Sent { all: true, ..nothing() }),
            ("all=yes&all=no", Sent { all: true, ..nothing() }),
            ("many=a&many=&many=b", Sent { many: vec!["a".into(), "b".into()], ..nothing() }),
        ] {
            assert_eq!(read_form::<Sent>(form.as_bytes()).expect(form), expected, "{form}");
        }
    }

    #[test]
    fn s10_what_is_no_form_of_the_type_is_refused_with_the_reason() {
        for (form, why) in [
            ("days=soon", "\"soon\" is no whole number"),
            ("level=top", "unknown variant `top`, expected `low` or `very_high`"),
            ("all=perhaps", "\"perhaps\" is neither yes nor no"),
            (
                "other=1",
                "unknown field `other`, expected one of `words`, `days`, `level`, `all`, `many`",
            ),
        ] {
            assert_eq!(read_form::<Sent>(form.as_bytes()).expect_err(form).to_string(), why);
        }
    }
}
