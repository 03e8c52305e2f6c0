//! Values of bases: types, how they read as text, when they are equal, which is larger. Not here:
//! functions.

use std::cmp::Ordering;

use jiff::civil::DateTime;
use serde_json::{Map, json};

use super::date::{DateValue, DurationValue};
use super::evaluate::TEXT_BYTES_MAX;
use crate::properties::PropertyKind;

/// Bytes of text that take one step more.
pub(super) const BYTES_A_STEP: usize = 8;
/// Deepest lists in lists: whatever goes over a value calls itself for each.
const NESTING_MAX: usize = 100;
/// Of a value that does not fit, so much is told.
const MESSAGE_CHARS_MAX: usize = 100;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BaseValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Date(DateValue),
    Duration(DurationValue),
    List(Vec<BaseValue>),
    Object(Vec<(String, BaseValue)>),
    Link(LinkValue),
    /// A file of the vault, by its path.
    File(String),
    Pattern {
        source: String,
        flags: String,
    },
    /// What a view draws: `html`, `image`, `icon`.
    Drawn {
        what: &'static str,
        text: String,
    },
}

/// A link, to a file where there is one of that name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinkValue {
    /// As it is written.
    pub(super) path: String,
    /// The file it leads to.
    pub(super) target: Option<String>,
    pub(super) display: Option<String>,
}

impl BaseValue {
    pub(super) fn from_text(text: impl Into<String>) -> BaseValue {
        BaseValue::Text(text.into())
    }
    pub(super) fn from_count(count: usize) -> BaseValue {
        BaseValue::Number(u32::try_from(count).map_or(f64::MAX, f64::from))
    }
    /// The word of `isType`.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            BaseValue::Null => "null",
            BaseValue::Bool(_) => "boolean",
            BaseValue::Number(_) => "number",
            BaseValue::Text(_) => "string",
            BaseValue::Date(_) => "date",
            BaseValue::Duration(_) => "duration",
            BaseValue::List(_) => "list",
            BaseValue::Object(_) => "object",
            BaseValue::Link(_) => "link",
            BaseValue::File(_) => "file",
            BaseValue::Pattern { .. } => "regexp",
            BaseValue::Drawn { what, .. } => what,
        }
    }
    pub(super) fn is_truthy(&self) -> bool {
        match self {
            BaseValue::Null => false,
            BaseValue::Bool(yes) => *yes,
            BaseValue::Number(number) => *number != 0.0 && !number.is_nan(),
            BaseValue::Text(text) => !text.is_empty(),
            BaseValue::List(items) => !items.is_empty(),
            BaseValue::Object(fields) => !fields.is_empty(),
            BaseValue::Date(_)
            | BaseValue::Duration(_)
            | BaseValue::Link(_)
            | BaseValue::File(_) => true,
            BaseValue::Pattern { .. } | BaseValue::Drawn { .. } => true,
        }
    }
    /// Whether a cell with it is empty.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            BaseValue::Null => true,
            BaseValue::Text(text) => text.is_empty(),
            BaseValue::List(items) => items.is_empty(),
            BaseValue::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }
    /// Its words, as `toString` and tables have them.
    pub(super) fn to_text(&self) -> String {
        match self {
            BaseValue::Null => String::new(),
            BaseValue::Bool(yes) => yes.to_string(),
            BaseValue::Number(number) => number_text(*number),
            BaseValue::Text(text) => text.clone(),
            BaseValue::Date(date) => date.to_text(),
            BaseValue::Duration(duration) => duration.to_text(),
            BaseValue::List(items) => {
                items.iter().map(BaseValue::to_text).collect::<Vec<_>>().join(", ")
            }
            BaseValue::Object(_) => self.to_json().to_string(),
            BaseValue::Link(link) => link.display.clone().unwrap_or_else(|| link.path.clone()),
            BaseValue::File(path) => path.clone(),
            BaseValue::Pattern { source, flags } => format!("/{source}/{flags}"),
            BaseValue::Drawn { text, .. } => text.clone(),
        }
    }
    /// The same, where it is not too long.
    ///
    /// # Errors
    /// A sentence that says so.
    pub(super) fn to_text_within_bound(&self) -> Result<String, String> {
        let mut text = String::new();
        self.write_text(&mut text)?;
        Ok(text)
    }
    /// Puts its words behind others.
    ///
    /// # Errors
    /// All of it would be too long; what was written until then stands.
    pub(super) fn write_text(&self, text: &mut String) -> Result<(), String> {
        match self {
            BaseValue::Text(own) => push_text(text, own),
            BaseValue::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        push_text(text, ", ")?;
                    }
                    item.write_text(text)?;
                }
                Ok(())
            }
            BaseValue::Object(_) => {
                let bytes = usize::try_from(self.measure_weight()?).unwrap_or(usize::MAX);
                require_length(bytes.saturating_mul(BYTES_A_STEP) / 2)?;
                push_text(text, &self.to_text())
            }
            other => push_text(text, &other.to_text()),
        }
    }
    /// Its words for a message: the first few.
    pub(super) fn describe_short(&self) -> String {
        let words = match self {
            BaseValue::List(_) | BaseValue::Object(_) => format!("a {}", self.type_name()),
            other => other.to_text(),
        };
        words.chars().take(MESSAGE_CHARS_MAX).collect()
    }
    /// How much it is, in steps: one for each value in it and for each few bytes of its texts.
    ///
    /// # Errors
    /// It is nested deeper than a value may be.
    pub(super) fn measure_weight(&self) -> Result<u64, String> {
        self.weigh(0)
    }
    fn weigh(&self, depth: usize) -> Result<u64, String> {
        if depth > NESTING_MAX {
            return Err(format!("a value nested deeper than {NESTING_MAX} would be made"));
        }
        let bytes = |text: &str| 1 + (text.len() / BYTES_A_STEP) as u64;
        Ok(match self {
            BaseValue::Null
            | BaseValue::Bool(_)
            | BaseValue::Number(_)
            | BaseValue::Date(_)
            | BaseValue::Duration(_) => 1,
            BaseValue::Text(text) | BaseValue::File(text) | BaseValue::Drawn { text, .. } => {
                bytes(text)
            }
            BaseValue::Pattern { source, .. } => bytes(source),
            BaseValue::Link(link) => bytes(&link.path) + link.display.as_deref().map_or(0, bytes),
            BaseValue::List(items) => {
                let mut all = 1;
                for item in items {
                    all += item.weigh(depth + 1)?;
                }
                all
            }
            BaseValue::Object(fields) => {
                let mut all = 1;
                for (name, value) in fields {
                    all += bytes(name) + value.weigh(depth + 1)?;
                }
                all
            }
        })
    }
    /// The same for programs.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            BaseValue::Null => serde_json::Value::Null,
            BaseValue::Bool(yes) => json!(yes),
            BaseValue::Number(number) => match whole_number(*number) {
                Some(whole) => json!(whole),
                None => json!(number),
            },
            BaseValue::List(items) => items.iter().map(BaseValue::to_json).collect(),
            BaseValue::Object(fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), value.to_json()));
                serde_json::Value::Object(fields.collect::<Map<_, _>>())
            }
            other => json!(other.to_text()),
        }
    }
    /// A property's value.
    pub(super) fn of_property(
        value: &serde_json::Value,
        link: &dyn Fn(&str) -> Option<BaseValue>,
    ) -> BaseValue {
        match value {
            serde_json::Value::Null => BaseValue::Null,
            serde_json::Value::Bool(yes) => BaseValue::Bool(*yes),
            serde_json::Value::Number(number) => {
                BaseValue::Number(number.as_f64().unwrap_or(f64::NAN))
            }
            serde_json::Value::String(text) => match PropertyKind::of_value(value) {
                PropertyKind::Date | PropertyKind::DateTime => DateValue::parse_date(text)
                    .map_or_else(|| BaseValue::from_text(text.as_str()), BaseValue::Date),
                _ => link(text).unwrap_or_else(|| BaseValue::from_text(text.as_str())),
            },
            serde_json::Value::Array(items) => BaseValue::List(
                items.iter().map(|item| BaseValue::of_property(item, link)).collect(),
            ),
            serde_json::Value::Object(fields) => BaseValue::Object(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), BaseValue::of_property(value, link)))
                    .collect(),
            ),
        }
    }
    /// Whether two values are the same: a link is the file it leads to, a text the date it names.
    pub(super) fn is_equal_to(&self, other: &BaseValue) -> bool {
        match (self, other) {
            (BaseValue::Link(a), BaseValue::Link(b)) => match (&a.target, &b.target) {
                (Some(a), Some(b)) => a == b,
                (None, None) => a.path == b.path,
                _ => false,
            },
            (BaseValue::Link(link), BaseValue::File(path))
            | (BaseValue::File(path), BaseValue::Link(link)) => {
                link.target.as_deref() == Some(path.as_str())
            }
            (BaseValue::Link(link), BaseValue::Text(text))
            | (BaseValue::Text(text), BaseValue::Link(link)) => {
                let inner = text.trim_start_matches("[[").trim_end_matches("]]");
                link.path == inner || link.target.as_deref() == Some(inner)
            }
            (BaseValue::Date(date), BaseValue::Text(text))
            | (BaseValue::Text(text), BaseValue::Date(date)) => {
                DateValue::parse_date(text).is_some_and(|other| other.at == date.at)
            }
            (BaseValue::Date(a), BaseValue::Date(b)) => a.at == b.at,
            (BaseValue::List(a), BaseValue::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_equal_to(b))
            }
            (a, b) => a == b,
        }
    }
    /// Which is larger, of values that can be compared.
    pub(super) fn compare_to(&self, other: &BaseValue) -> Option<Ordering> {
        match (self, other) {
            (BaseValue::Date(date), BaseValue::Text(text)) => {
                Some(date.at.cmp(&DateValue::parse_date(text)?.at))
            }
            (BaseValue::Text(text), BaseValue::Date(date)) => {
                Some(DateValue::parse_date(text)?.at.cmp(&date.at))
            }
            (BaseValue::Date(a), BaseValue::Date(b)) => Some(a.at.cmp(&b.at)),
            (BaseValue::Duration(a), BaseValue::Duration(b)) => {
                a.ms_about().partial_cmp(&b.ms_about())
            }
            (BaseValue::Text(a), BaseValue::Text(b)) => Some(a.cmp(b)),
            (a, b) => a.as_number()?.partial_cmp(&b.as_number()?),
        }
    }
    fn as_number(&self) -> Option<f64> {
        match self {
            BaseValue::Number(number) => Some(*number),
            BaseValue::Bool(yes) => Some(f64::from(u8::from(*yes))),
            BaseValue::Text(text) => text.trim().parse().ok(),
            BaseValue::Duration(duration) => Some(duration.ms_about()),
            _ => None,
        }
    }
    /// The order of a sorted column: by kind, then by value; what is empty comes last.
    pub(super) fn sort_order(&self, other: &BaseValue) -> Ordering {
        let rank = |value: &BaseValue| match value {
            BaseValue::Bool(_) | BaseValue::Number(_) | BaseValue::Duration(_) => 0,
            BaseValue::Date(_) => 1,
            value if value.is_empty() => 3,
            _ => 2,
        };
        rank(self).cmp(&rank(other)).then_with(|| {
            let words = || {
                let (a, b) = (self.to_text(), other.to_text());
                a.to_lowercase().cmp(&b.to_lowercase()).then(a.cmp(&b))
            };
            match (self, other) {
                (BaseValue::Text(_), BaseValue::Text(_)) => words(),
                (BaseValue::Date(a), BaseValue::Date(b)) => a.at.cmp(&b.at),
                _ => match (self.sort_number(), other.sort_number()) {
                    // What is no number comes behind those that are.
                    (Some(a), Some(b)) => a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(&b)),
                    _ => words(),
                },
            }
        })
    }
    /// The number by which it is sorted: of values of the first rank, always one.
    fn sort_number(&self) -> Option<f64> {
        match self {
            BaseValue::Bool(_) | BaseValue::Number(_) | BaseValue::Duration(_) => self.as_number(),
            _ => None,
        }
    }
}

/// A text of so many bytes is not too long.
pub(super) fn require_length(bytes: usize) -> Result<(), String> {
    match bytes > TEXT_BYTES_MAX {
        true => Err(format!("a text of more than {TEXT_BYTES_MAX} bytes would be made")),
        false => Ok(()),
    }
}

/// Puts a text behind another, where both together are not too long.
pub(super) fn push_text(text: &mut String, more: &str) -> Result<(), String> {
    require_length(text.len() + more.len())?;
    text.push_str(more);
    Ok(())
}

/// A number that is whole and fits.
#[expect(clippy::cast_possible_truncation, reason = "it is whole and within bounds")]
fn whole_number(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

/// A number as JavaScript writes it.
pub(super) fn number_text(number: f64) -> String {
    match whole_number(number) {
        Some(whole) => whole.to_string(),
        None if number.is_nan() => "NaN".into(),
        None if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        None => number.to_string(),
    }
}

/// A date from a moment.
pub(super) fn date_time(at: DateTime) -> BaseValue {
    BaseValue::Date(DateValue { at, has_time: true })
}
