//! Values as YAML, the way Obsidian writes them: quotes only where they are needed, lists with a line
//! for each value. Not here: where they go in a note (`edit`).

use serde_json::Value;

/// How a text is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    /// Only where it must be, then doubly.
    Plain,
    Single,
    Double,
}

/// A table or list as a whole YAML text, two blanks a level; nothing else is told from it.
pub fn yaml_text(value: &Value) -> String {
    let mut text = String::new();
    write_block(value, 0, &mut text);
    text
}

fn write_block(value: &Value, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                text.push_str(&format!(
                    "{pad}{}:",
                    scalar_yaml(&Value::String(name.clone()), QuoteStyle::Plain)
                ));
                write_below(value, indent + 2, text);
            }
        }
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(fields) if !fields.is_empty() => {
                        let mut inner = String::new();
                        write_block(item, indent + 2, &mut inner);
                        text.push_str(&format!("{pad}- {}", inner.trim_start_matches(' ')));
                    }
                    item => {
                        text.push_str(&format!("{pad}-"));
                        write_below(item, indent + 2, text);
                    }
                }
            }
        }
        scalar_value => {
            text.push_str(&format!("{pad}{}\n", scalar_yaml(scalar_value, QuoteStyle::Plain)))
        }
    }
}

/// A value behind its name or stroke: on the same line, or on those below.
fn write_below(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Null => text.push('\n'),
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            write_block(value, indent, text);
        }
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            write_block(value, indent, text);
        }
        value => {
            text.push(' ');
            text.push_str(&flow_text(value));
            text.push('\n');
        }
    }
}

/// A value on one line.
pub(super) fn flow_text(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow_item).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                format!("{}: {}", flow_item(&Value::String(name.clone())), flow_item(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        value => scalar_yaml(value, QuoteStyle::Plain),
    }
}

/// Within brackets a comma or bracket ends a text too.
pub(super) fn flow_item(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains([',', '[', ']', '{', '}']) => double_quoted(text),
        Value::Null => "null".into(),
        value => flow_text(value),
    }
}

/// A value without parts, in the given quotes.
pub(super) fn scalar_yaml(value: &Value, style: QuoteStyle) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => match style {
            _ if text.chars().any(char::is_control) => double_quoted(text),
            QuoteStyle::Double => double_quoted(text),
            QuoteStyle::Single => format!("'{}'", text.replace('\'', "''")),
            QuoteStyle::Plain if is_plain(text) => text.clone(),
            QuoteStyle::Plain => double_quoted(text),
        },
        Value::Array(_) | Value::Object(_) => flow_text(value),
    }
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter if letter.is_control() => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a text without quotes is read as that text.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    if text.trim() != text || "!&*-?|>@`\"'#%[]{},:=~".contains(first) {
        // A stroke or sign before a word is text.
        let word_follows = matches!(first, '-' | '?' | ':')
            && text.chars().nth(1).is_some_and(|next| !next.is_whitespace() && next != '-');
        if !word_follows || text.trim() != text {
            return false;
        }
    }
    if text.contains(": ") || text.contains(" #") || text.ends_with(':') {
        return false;
    }
    // What another type would be read from.
    let read = super::parse_yaml(text);
    read.is_ok_and(|value| value == Value::String(text.to_owned()))
}
