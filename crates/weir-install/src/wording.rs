//! Small forms of text that commands, pages and exported sessions share. Not here: words for facts
//! (`weir_core::view::told`).

use std::collections::BTreeSet;

use weir_core::ids::Timestamp;
use weir_core::label::Label;
use weir_core::view::plain::visible_text;

/// A moment for people: to the second, in UTC.
pub fn timestamp_text(ts: Timestamp) -> String {
    ts.to_string().chars().take(19).collect::<String>().replace('T', " ")
}

/// A text as Markdown code of `language`, in a fence longer than any in it.
pub fn code_fence(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// A piece of a line as Markdown code: nothing in it can end it.
pub fn inline_code(text: &str) -> String {
    let plain = |c: char| if c == '`' || c.is_control() { '\'' } else { c };
    format!("`{}`", text.chars().map(plain).collect::<String>())
}

/// `text` in one line that can be looked at without harm, however long it is.
pub fn single_visible_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible_text(&words.join(" "))
}

/// The same, cut where it has more than so many characters.
pub fn clip_line(text: &str, chars: usize) -> String {
    let line = single_visible_line(text);
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Where the foreign words in something came from; `None`: nothing foreign is in it.
pub fn external_origins_text(label: &Label) -> Option<String> {
    label.is_external().then(|| names_text(&label.origins, "outside"))
}

/// What private data stood in the context that something was written in; `None`: none did.
pub fn private_sources_text(label: &Label) -> Option<String> {
    label.is_private().then(|| names_text(&label.sources, "of yours"))
}

fn names_text(names: &BTreeSet<String>, without: &str) -> String {
    match names.is_empty() {
        true => without.to_owned(),
        false => names.iter().map(|name| single_visible_line(name)).collect::<Vec<_>>().join(", "),
    }
}
