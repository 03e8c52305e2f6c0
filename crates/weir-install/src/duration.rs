//! Lengths of time as people write them: `500ms`, `90s`, `5m`, `2h`, `30d`.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// Length in milliseconds.
    pub ms: u64,
}

/// Units, largest first.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Understands `text`: numbers with units, several in a row (`1h30m`); a bare number is seconds.
///
/// # Errors
/// A sentence that says what is accepted.
pub fn parse_time_span(text: &str) -> Result<TimeSpan, String> {
    let refused = || format!("{text:?} is not a duration; write 500ms, 90s, 5m, 2h or 1h30m");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(refused());
    }
    if rest.bytes().all(|b| b.is_ascii_digit()) {
        let seconds: u64 = rest.parse().map_err(|_| refused())?;
        return Ok(TimeSpan { ms: seconds.checked_mul(1_000).ok_or_else(refused)? });
    }
    let mut ms: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().map_err(|_| refused())?;
        rest = &rest[digits..];
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_lowercase()).len();
        let (unit, after) = rest.split_at(letters);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refused)?;
        let part = number.checked_mul(*factor).ok_or_else(refused)?;
        ms = ms.checked_add(part).ok_or_else(refused)?;
        rest = after;
    }
    Ok(TimeSpan { ms })
}

/// In the largest unit that divides it: `120s`, `2m` is written `2m`.
impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Seconds stay seconds below ten minutes: that is how limits are usually thought of.
        let units = if self.ms < 600_000 { &UNITS[3..] } else { &UNITS[..] };
        let fits = units.iter().find(|(_, factor)| self.ms.is_multiple_of(*factor));
        match fits {
            Some((unit, factor)) => write!(f, "{}{unit}", self.ms / factor),
            None => write!(f, "{}ms", self.ms),
        }
    }
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(d)?;
        parse_time_span(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(any(test, feature = "schema"))]
impl schemars::JsonSchema for TimeSpan {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^([0-9]+(ms|s|m|h|d)?)+$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c2_durations_are_understood_and_written_back() {
        for (text, ms, written) in [
            ("500ms", 500, "500ms"),
            ("90", 90_000, "90s"),
            ("120s", 120_000, "120s"),
            ("2m", 120_000, "120s"),
            ("1h30m", 5_400_000, "90m"),
            ("30d", 2_592_000_000, "30d"),
        ] {
            let understood = parse_time_span(text).expect(text);
            assert_eq!((understood.ms, understood.to_string().as_str()), (ms, written), "{text}");
            assert_eq!(parse_time_span(&understood.to_string()), Ok(understood));
        }
        for text in ["", "x", "5 m", "5y", "-1s", "99999999999999999999s", "999999999999999999d"] {
            assert!(parse_time_span(text).is_err(), "{text}");
        }
    }
}
