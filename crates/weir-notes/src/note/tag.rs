//! Names of tags: which there are, and which are the same.

use serde_json::{Map, Value};

use crate::properties;

/// Whether a name, without `#`, is one of a tag: not digits alone.
pub fn is_tag(name: &str) -> bool {
    !name.is_empty() && name_at(name).len() == name.len() && name.chars().any(|c| !c.is_numeric())
}

/// By what two tags are the same: case does not count, nor a stroke at an end.
pub fn tag_key(name: &str) -> String {
    name.trim_start_matches('#').trim_matches('/').to_lowercase()
}

/// Whether a tag is a wanted one or one below it, both given as keys.
pub fn tag_covers(wanted: &str, key: &str) -> bool {
    key.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The tags of a note's properties.
pub fn property_tags(properties: &Map<String, Value>) -> Vec<String> {
    let said = properties::property_texts(properties, &["tags", "tag"]);
    let words = said.iter().flat_map(|text| text.split([' ', ',', '\t', '\n']));
    let names = words.map(|word| word.trim().trim_start_matches('#'));
    names.filter(|name| is_tag(name)).map(str::to_owned).collect()
}

/// The name that begins `text`, behind `#`.
pub(super) fn name_at(text: &str) -> &str {
    let end = text.find(|c| !can_stand_in_tag(c)).unwrap_or(text.len());
    &text[..end]
}

/// All letters, digits and signs but punctuation; of that `-`, `_` and `/`.
fn can_stand_in_tag(c: char) -> bool {
    match c {
        '-' | '_' | '/' => true,
        '\u{200d}' => true,
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' => false,
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        c => !c.is_whitespace(),
    }
}
