//! Names of things, as types.
//!
//! Every id that the engine counts is derived from the journal (turn 4, call 17), so a replay
//! names the same things. Nothing here generates an id: those that must be unique across
//! sessions ([`SessionId`]) are made at the edge and passed in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::read_text::read_text;

/// An id that does not have the shape its kind requires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind} id (expected {prefix:?} and a number)")]
pub struct IdError {
    text: String,
    kind: &'static str,
    prefix: &'static str,
}

macro_rules! counted_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix)
                    .and_then(|digits| digits.parse().ok())
                    .map($name)
                    .ok_or_else(|| IdError { text: text.into(), kind: $kind, prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                read_text(d, $name::from_str)
            }
        }

        #[cfg(any(test, feature = "schema"))]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": concat!("^", $prefix, "[0-9]+$")
                })
            }
        }
    };
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Wraps `text` as it is.
            pub fn new(text: impl Into<String>) -> Self {
                $name(text.into())
            }
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

counted_id!(
    /// One model request and the calls it asked for: `t4`.
    TurnId, "turn", "t"
);
counted_id!(
    /// One use of a tool: `c17`.
    CallId, "call", "c"
);
counted_id!(
    /// From an input to rest: `r2`.
    RunId, "run", "r"
);
counted_id!(
    /// Something a person (or a schedule, or a parent agent) put in: `i3`.
    InputId, "input", "i"
);

text_id!(
    /// One conversation, one journal. Opaque.
    SessionId
);
text_id!(
    /// A question to a person about one call. Unique in the store: it begins with the session's id.
    ApprovalId
);
text_id!(
    /// A question that the agent put to the person. Unique in the store.
    QuestionId
);
text_id!(
    /// A snapshot in the shadow repository: the name of its commit.
    CheckpointId
);
text_id!(
    /// A remembered fact.
    MemoryId
);
text_id!(
    /// An entry of a person's brain.
    BrainEntryId
);
text_id!(
    /// Content-addressed bytes: the lower-case hex of their SHA-256.
    BlobId
);

/// Place of a fact in its session's journal: 1, 2, 3, … without gaps.
pub type Seq = u64;

/// A moment in UTC, to the microsecond. Always passed in; nothing in this crate reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub fn micros(self) -> i64 {
        self.0
    }
    /// This moment and `ms` milliseconds, at most the last moment that a calendar has: a later one could not
    /// be written down.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Timestamp {
        let micros = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1000);
        let last = jiff::Timestamp::MAX.as_second() * 1_000_000;
        Timestamp(self.0.saturating_add(micros).min(last))
    }
    /// Milliseconds from `earlier` to this moment; 0 when `earlier` is later.
    pub fn ms_since(self, earlier: Timestamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / 1000).unwrap_or(0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment:.6}"),
            Err(_) => f.write_str("1970-01-01T00:00:00.000000Z"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;
    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        Ok(Timestamp(text.parse::<jiff::Timestamp>()?.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        read_text(d, Timestamp::from_str)
    }
}

#[cfg(any(test, feature = "schema"))]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_ids_round_trip_as_text() {
        assert_eq!(CallId(17).to_string(), "c17");
        assert_eq!("c17".parse::<CallId>(), Ok(CallId(17)));
        assert!("t17".parse::<CallId>().is_err());
        assert_eq!(serde_json::to_string(&TurnId(4)).expect("a string"), "\"t4\"");
    }

    #[test]
    fn timestamps_are_rfc_3339_in_utc() {
        let moment = Timestamp(1_700_000_000_123_456);
        assert_eq!(moment.to_string(), "2023-11-14T22:13:20.123456Z");
        assert_eq!("2023-11-14T22:13:20.123456Z".parse::<Timestamp>().ok(), Some(moment));
    }

    /// A lease "for ever" is in a snapshot what it is in the fold.
    #[test]
    fn q10_a_moment_in_the_far_future_is_written_and_read() {
        for ms in [0, 86_400_000, u64::MAX / 1_000, u64::MAX] {
            let moment = Timestamp(1_700_000_000_123_456).plus_ms(ms);
            assert_eq!(moment.to_string().parse::<Timestamp>().ok(), Some(moment), "{ms}");
        }
    }
}
