//! The properties of a note: where they stand, what they say, of which type a value is. Not here: how
//! one is changed (`edit`).

use serde_json::{Map, Value};

use crate::span::ByteSpan;

mod edit;
mod entries;
mod yaml;

pub use edit::{PropertyChange, PropertyError, change_properties};
pub use yaml::yaml_text;

/// Deepest nesting of values.
const DEPTH_MAX: usize = 64;
/// Most values of a note's properties, or of a base.
const NODES_MAX: usize = 50_000;
/// Most bytes of YAML that are read.
const YAML_BYTES_MAX: usize = 2_000_000;

/// Where the properties of a note stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontmatterPlace {
    /// Both lines of strokes included, and the line end behind them.
    pub block: ByteSpan,
    /// What stands between them.
    pub yaml: ByteSpan,
}

/// The properties at the beginning of a text: between two lines `---`. `None`: there are none.
pub fn find_frontmatter(text: &str) -> Option<FrontmatterPlace> {
    let skipped = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = text[skipped..].split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return None;
    }
    let start = skipped + first.len();
    let mut at = start;
    for line in lines {
        let next = at + line.len();
        if line.trim_end() == "---" && line.starts_with('-') {
            let (block, yaml) = (ByteSpan::new(0, next), ByteSpan::new(start, at));
            return Some(FrontmatterPlace { block, yaml });
        }
        at = next;
    }
    None
}

/// Reads a table of YAML, in its order. JSON is YAML too.
///
/// # Errors
/// A sentence that says what is wrong and where.
pub fn parse_properties(yaml: &str) -> Result<Map<String, Value>, String> {
    match parse_yaml(yaml)? {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        other => Err(format!("the properties are {}, not names with values", value_noun(&other))),
    }
}

/// Reads any YAML: one document, bounded in depth and size, `no` and `on` are words.
///
/// # Errors
/// A sentence that says what is wrong and where.
pub fn parse_yaml(yaml: &str) -> Result<Value, String> {
    if yaml.trim().is_empty() {
        return Ok(Value::Null);
    }
    if yaml.len() > YAML_BYTES_MAX {
        return Err(format!("the YAML has more than {YAML_BYTES_MAX} bytes"));
    }
    let mut budget = serde_saphyr::Budget::default();
    budget.max_depth = DEPTH_MAX;
    budget.flow_nesting_limit = DEPTH_MAX;
    budget.max_nodes = NODES_MAX;
    budget.max_events = NODES_MAX * 4;
    budget.max_documents = 1;
    budget.max_total_scalar_bytes = YAML_BYTES_MAX;
    let options = serde_saphyr::options! {
        budget: Some(budget),
        with_snippet: false,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options::<Value>(yaml, options).map_err(|why| {
        let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        why.chars().take(300).collect()
    })
}

/// What a value is, in words.
fn value_noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a checkbox",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// The texts of a property that goes by these names, whatever their case: one text, or each of a list.
pub fn property_texts(properties: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    let named = |name: &str| names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted));
    let mut texts = Vec::new();
    for (_, value) in properties.iter().filter(|(name, _)| named(name)) {
        match value {
            Value::Array(items) => texts.extend(items.iter().filter_map(scalar_text)),
            value => texts.extend(scalar_text(value)),
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    texts
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The types that Obsidian gives properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PropertyKind {
    /// One line of text.
    Text,
    /// Several values.
    List,
    /// A number.
    Number,
    /// True or false.
    Checkbox,
    /// `2020-08-21`
    Date,
    /// `2020-08-21T10:30:00`
    DateTime,
    /// Values within values, which Obsidian keeps and does not show.
    Table,
    /// No value.
    Empty,
}

impl PropertyKind {
    /// The type of a value.
    pub fn of_value(value: &Value) -> PropertyKind {
        match value {
            Value::Null => PropertyKind::Empty,
            Value::Bool(_) => PropertyKind::Checkbox,
            Value::Number(_) => PropertyKind::Number,
            Value::Array(_) => PropertyKind::List,
            Value::Object(_) => PropertyKind::Table,
            Value::String(text)
                if text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10 =>
            {
                PropertyKind::Date
            }
            Value::String(text) if is_date_time(text) => PropertyKind::DateTime,
            Value::String(_) => PropertyKind::Text,
        }
    }
    /// Its name, as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            PropertyKind::Text => "text",
            PropertyKind::List => "list",
            PropertyKind::Number => "number",
            PropertyKind::Checkbox => "checkbox",
            PropertyKind::Date => "date",
            PropertyKind::DateTime => "date & time",
            PropertyKind::Table => "table",
            PropertyKind::Empty => "empty",
        }
    }
}

fn is_date_time(text: &str) -> bool {
    text.len() >= 16
        && text.as_bytes().get(4) == Some(&b'-')
        && matches!(text.as_bytes().get(10), Some(b'T' | b' '))
        && text.parse::<jiff::civil::DateTime>().is_ok()
}
