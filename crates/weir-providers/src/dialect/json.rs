//! Writing JSON straight into a body, in a fixed order.
//!
//! Not a serializer: bodies are extended in place (Q4), so they are written piece by piece.

use serde_json::Value;

/// Appends `text` as a JSON string.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(&mut *out, text).expect("writing a string into memory cannot fail");
}

/// Appends the inside of `text` as a JSON string, without the quotes, so that the string can be
/// extended later.
pub(crate) fn string_inside(out: &mut Vec<u8>, text: &str) {
    let start = out.len();
    write_string(out, text);
    out.pop();
    out.remove(start);
}

pub(crate) fn write_value(out: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(&mut *out, value).expect("writing a value into memory cannot fail");
}

/// Appends `text` as it is.
pub(crate) fn write_raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends `,"name":` (or `"name":` right after an opening bracket) and `text` as a string.
pub(crate) fn write_field(out: &mut Vec<u8>, name: &str, text: &str) {
    write_key(out, name);
    write_string(out, text);
}

/// Appends `,"name":`, without the comma right after an opening bracket. `name` needs no escaping.
pub(crate) fn write_key(out: &mut Vec<u8>, name: &str) {
    write_comma(out);
    write_raw(out, "\"");
    write_raw(out, name);
    write_raw(out, "\":");
}

/// Appends a comma unless a bracket has just been opened.
pub(crate) fn write_comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'[' | b'{')) {
        out.push(b',');
    }
}

/// An optional number field.
pub(crate) fn write_number(out: &mut Vec<u8>, name: &str, number: u64) {
    write_key(out, name);
    write_raw(out, &number.to_string());
}

/// Text that a vendor would call empty: white space and the ASCII separators.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}
