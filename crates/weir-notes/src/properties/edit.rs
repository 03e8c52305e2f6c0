//! Changes of single properties that leave every other byte of the note as it is: comments, order,
//! quotes, line ends, indentation.

use serde_json::Value;

use super::entries::{TableEntry, closing_quote, table_entries};
use super::yaml::{QuoteStyle, flow_item, scalar_yaml, yaml_text};
use super::{FrontmatterPlace, find_frontmatter, parse_properties, parse_yaml};
use crate::span::ByteSpan;

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyChange {
    /// Gives a property this value; it is made at the end where it is not there.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: Value,
    },
    /// Takes a property away.
    Remove {
        /// Its name.
        name: String,
    },
    /// Gives a property another name, at its place.
    Rename {
        /// Its name.
        name: String,
        /// Its new name.
        to: String,
    },
}

/// Why a change is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyError {
    /// There is no such property.
    Missing {
        /// Its name.
        name: String,
        /// Those that there are.
        there: Vec<String>,
    },
    /// The new name is taken.
    Taken {
        /// The name.
        name: String,
    },
    /// The properties as they stand cannot be read, so nothing is changed in them.
    Unreadable {
        /// Why.
        why: String,
    },
}

impl std::fmt::Display for PropertyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PropertyError::Missing { name, there } if there.is_empty() => {
                write!(f, "there is no property {name}; the note has none")
            }
            PropertyError::Missing { name, there } => {
                write!(f, "there is no property {name}; the note has {}", there.join(", "))
            }
            PropertyError::Taken { name } => {
                write!(f, "there is a property {name} already; remove it first, or set it")
            }
            PropertyError::Unreadable { why } => {
                write!(f, "the properties cannot be read: {why}; repair them with edit_file first")
            }
        }
    }
}

impl std::error::Error for PropertyError {}

/// The text with the changes made, one after the other.
///
/// # Errors
/// What of the changes cannot be made; then none is.
pub fn change_properties(text: &str, changes: &[PropertyChange]) -> Result<String, PropertyError> {
    let mut text = text.to_owned();
    for change in changes {
        text = change_one(&text, change)?;
    }
    Ok(text)
}

fn change_one(text: &str, change: &PropertyChange) -> Result<String, PropertyError> {
    let Some(place) = find_frontmatter(text) else {
        return begin_properties(text, change);
    };
    let yaml = place.yaml.slice_of(text);
    let unreadable = |why: String| PropertyError::Unreadable { why };
    let read = parse_properties(yaml).map_err(unreadable)?;
    let entries = table_entries(yaml).map_err(|why| unreadable(why.to_owned()))?;
    let end = line_end(place.block.slice_of(text));
    let changed = match change {
        PropertyChange::Set { name, value } => match find_entry(&entries, name) {
            Some(entry) if read.get(&entry.name) == Some(value) => return Ok(text.to_owned()),
            Some(entry) => set_value(yaml, entry, value, end)?,
            None => add_entry(yaml, &entries, &new_entry(name, value, end), end),
        },
        PropertyChange::Remove { name } => {
            let entry = find_entry(&entries, name).ok_or_else(|| missing_error(name, &entries))?;
            let left = remove_entry(yaml, entry);
            if left.trim().is_empty() {
                return Ok(without_block(text, place));
            }
            left
        }
        PropertyChange::Rename { name, to } => {
            let entry = find_entry(&entries, name).ok_or_else(|| missing_error(name, &entries))?;
            if name != to && entries.iter().any(|other| other.name == *to) {
                return Err(PropertyError::Taken { name: to.clone() });
            }
            replace_span(yaml, entry.name_at, &name_text(to))
        }
    };
    let whole = replace_span(text, place.yaml, &changed);
    check_only(&whole, text, change)?;
    Ok(whole)
}

/// Nothing but what was asked may read differently.
fn check_only(after: &str, before: &str, change: &PropertyChange) -> Result<(), PropertyError> {
    let read = |text: &str| {
        find_frontmatter(text)
            .map_or(Ok(serde_json::Map::new()), |at| parse_properties(at.yaml.slice_of(text)))
    };
    let why = |why: String| PropertyError::Unreadable { why };
    let (mut before, mut after) = (read(before).map_err(why)?, read(after).map_err(why)?);
    let names = match change {
        PropertyChange::Set { name, .. } | PropertyChange::Remove { name } => [name, name],
        PropertyChange::Rename { name, to } => [name, to],
    };
    for fields in [&mut before, &mut after] {
        fields.retain(|field, _| !names.iter().any(|name| field.eq_ignore_ascii_case(name)));
    }
    match before == after {
        true => Ok(()),
        false => Err(why("a change would alter other properties than the one named".into())),
    }
}

/// The note gets its first property.
fn begin_properties(text: &str, change: &PropertyChange) -> Result<String, PropertyError> {
    match change {
        PropertyChange::Set { name, value } => {
            let end = line_end(text);
            let entry = new_entry(name, value, end);
            let (mark, body) = match text.strip_prefix('\u{feff}') {
                Some(body) => ("\u{feff}", body),
                None => ("", text),
            };
            Ok(format!("{mark}---{end}{entry}---{end}{body}"))
        }
        PropertyChange::Remove { name } | PropertyChange::Rename { name, .. } => {
            Err(missing_error(name, &[]))
        }
    }
}

fn without_block(text: &str, place: FrontmatterPlace) -> String {
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    format!("{mark}{}", &text[place.block.end..])
}

fn missing_error(name: &str, entries: &[TableEntry]) -> PropertyError {
    let there = entries.iter().map(|entry| entry.name.clone()).collect();
    PropertyError::Missing { name: name.to_owned(), there }
}

/// By its exact name; else whatever the case, where only one is meant.
fn find_entry<'a>(entries: &'a [TableEntry], name: &str) -> Option<&'a TableEntry> {
    let exact = entries.iter().find(|entry| entry.name == name);
    exact.or_else(|| {
        let mut alike = entries.iter().filter(|entry| entry.name.eq_ignore_ascii_case(name));
        alike.next().filter(|_| alike.next().is_none())
    })
}

fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn replace_span(text: &str, at: ByteSpan, by: &str) -> String {
    format!("{}{by}{}", &text[..at.start], &text[at.end..])
}

fn name_text(name: &str) -> String {
    scalar_yaml(&Value::String(name.to_owned()), QuoteStyle::Plain)
}

fn new_entry(name: &str, value: &Value, end: &str) -> String {
    let mut fields = serde_json::Map::new();
    fields.insert(name.to_owned(), value.clone());
    yaml_text(&Value::Object(fields)).replace('\n', end)
}

/// Behind the last entry, as far right as the others.
fn add_entry(yaml: &str, entries: &[TableEntry], entry: &str, end: &str) -> String {
    let Some(last) = entries.last() else {
        let gap = if yaml.is_empty() || yaml.ends_with('\n') { "" } else { end };
        return format!("{yaml}{gap}{entry}");
    };
    let line = yaml[..last.name_at.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &yaml[line..last.name_at.start];
    let entry: String = entry.split_inclusive('\n').map(|line| format!("{indent}{line}")).collect();
    let before = &yaml[..last.at.end];
    let gap = if before.ends_with('\n') { "" } else { end };
    format!("{before}{gap}{entry}{}", &yaml[last.at.end..])
}

fn remove_entry(yaml: &str, entry: &TableEntry) -> String {
    let line = yaml[..entry.at.start].rfind('\n').map_or(0, |at| at + 1);
    replace_span(yaml, ByteSpan::new(line, entry.at.end), "")
}

/// Another value at the place of the old, written as that was.
fn set_value(
    yaml: &str,
    entry: &TableEntry,
    value: &Value,
    end: &'static str,
) -> Result<String, PropertyError> {
    let whole = entry.at.slice_of(yaml);
    let line_length = whole.find('\n').map_or(whole.len(), |at| at + 1);
    let first_line = ByteSpan::new(entry.after_colon, entry.at.start + line_length);
    let written = value_on_line(first_line.slice_of(yaml));
    let place = ByteSpan::new(first_line.start + written.start, first_line.start + written.end);
    let on_one_line = line_length == whole.len();
    if on_one_line && read_value(place.slice_of(yaml)) == *value {
        return Ok(yaml.to_owned());
    }
    match value {
        Value::Array(items) if !on_one_line && place.start == place.end => {
            if let Some(changed) = set_list(yaml, entry, items, end) {
                return Ok(changed);
            }
        }
        Value::Array(_) if on_one_line && place.slice_of(yaml).starts_with('[') => {
            return Ok(replace_span(yaml, place, &flow_item_list(value)));
        }
        Value::Array(_) | Value::Object(_) => {}
        scalar_value if on_one_line => {
            let old = place.slice_of(yaml);
            let style = match old.chars().next() {
                Some('"') => QuoteStyle::Double,
                Some('\'') => QuoteStyle::Single,
                _ => QuoteStyle::Plain,
            };
            let text = scalar_yaml(scalar_value, style);
            let gap = place.start == entry.after_colon && !text.is_empty();
            return Ok(replace_span(yaml, place, &format!("{}{text}", if gap { " " } else { "" })));
        }
        _ => {}
    }
    rewrite_entry(yaml, entry, value, end)
}

/// The value in a form of its own: the name and a comment on its line stay.
fn rewrite_entry(
    yaml: &str,
    entry: &TableEntry,
    value: &Value,
    end: &str,
) -> Result<String, PropertyError> {
    let made = new_entry(&entry.name, value, end);
    let line = yaml[..entry.at.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &yaml[line..entry.at.start];
    let whole = entry.at.slice_of(yaml);
    let first = whole.lines().next().unwrap_or_default();
    let value_line = &first[(entry.after_colon - entry.at.start).min(first.len())..];
    let written = value_on_line(value_line);
    let comment = value_line[written.end..].trim();
    let mut lines = made.split_inclusive('\n');
    let head = lines.next().unwrap_or_default().trim_end_matches(['\r', '\n']);
    let after_name = head.strip_prefix(name_text(&entry.name).as_str()).unwrap_or_default();
    let after_colon = after_name.trim_start_matches(':');
    let mut text = format!("{}{after_colon}", &yaml[entry.at.start..entry.after_colon]);
    if comment.starts_with('#') {
        text.push_str(&format!(" {comment}"));
    }
    text.push_str(end);
    for line in lines {
        text.push_str(&format!("{indent}{line}"));
    }
    Ok(replace_span(yaml, entry.at, &text))
}

fn flow_item_list(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow_item).collect::<Vec<_>>().join(", "))
        }
        other => flow_item(other),
    }
}

/// A list with a line for each value: lines of values that stay are kept to the byte.
fn set_list(yaml: &str, entry: &TableEntry, items: &[Value], end: &str) -> Option<String> {
    let first = entry.at.slice_of(yaml).find('\n')? + 1;
    let place = ByteSpan::new(entry.at.start + first, entry.at.end);
    let mut old: Vec<(Value, String)> = Vec::new();
    let mut lead = None;
    // Comments and blank lines go with the value below them.
    let mut above = String::new();
    for line in place.slice_of(yaml).split_inclusive('\n') {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            above.push_str(line);
            continue;
        }
        let content = line.trim_start_matches(' ');
        let item = content.strip_prefix('-').filter(|rest| rest.starts_with([' ', '\n', '\r']))?;
        let indent = line.len() - content.len();
        let gap = item.len() - item.trim_start_matches(' ').len();
        lead.get_or_insert_with(|| format!("{}-{}", " ".repeat(indent), " ".repeat(gap.max(1))));
        let value_at = value_on_line(item);
        let line = format!("{}{line}", std::mem::take(&mut above));
        old.push((read_value(&item[value_at.start..value_at.end]), line));
    }
    let lead = lead?;
    if items.is_empty()
        || items.iter().any(|item| matches!(item, Value::Array(_) | Value::Object(_)))
    {
        return None;
    }
    let style = match old.iter().find_map(|(_, line)| first_of_item(line)) {
        Some('"') => QuoteStyle::Double,
        Some('\'') => QuoteStyle::Single,
        _ => QuoteStyle::Plain,
    };
    let mut text = String::new();
    for item in items {
        match old.iter().position(|(value, _)| value == item) {
            Some(at) => {
                let line = old.remove(at).1;
                text.push_str(&line);
                if !line.ends_with('\n') {
                    text.push_str(end);
                }
            }
            None => text.push_str(&format!("{lead}{}{end}", scalar_yaml(item, style))),
        }
    }
    text.push_str(&above);
    Some(replace_span(yaml, place, &text))
}

fn first_of_item(lines: &str) -> Option<char> {
    lines.lines().last()?.trim_start_matches([' ', '-']).chars().next()
}

fn read_value(text: &str) -> Value {
    parse_yaml(text).unwrap_or(Value::Null)
}

/// Where the value stands on a line behind its colon or stroke: without blanks, comment and line end.
fn value_on_line(line: &str) -> ByteSpan {
    let bare = line.trim_end();
    let start = bare.len() - bare.trim_start().len();
    let value = &bare[start..];
    if value.is_empty() || value.starts_with('#') {
        // A name with a comment and no value.
        return ByteSpan::new(0, 0);
    }
    let end = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => closing_quote(value, quote).map(|at| at + 1),
        _ => None,
    };
    let end = end.unwrap_or_else(|| comment_start(value));
    ByteSpan::new(start, start + value[..end].trim_end().len())
}

/// Where a comment begins; the end of the line where there is none.
fn comment_start(value: &str) -> usize {
    let mut quote: Option<char> = None;
    let flow = value.starts_with(['[', '{']);
    let mut before = 'x';
    for (at, letter) in value.char_indices() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None if letter == '#' && before.is_whitespace() => return at,
            None if flow && matches!(letter, '"' | '\'') => quote = Some(letter),
            None => {}
        }
        before = letter;
    }
    value.len()
}
