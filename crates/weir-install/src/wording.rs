//! Small forms of text that commands, pages and exported sessions share. Not here: words for facts
//! (`weir_core::view::told`).

use weir_core::ids::Timestamp;
use weir_core::view::plain::visible_text;

/// A moment for people: to the second, in UTC.
pub fn timestamp_text(ts: Timestamp) -> String {
    ts.to_string().chars().take(19).collect::<String>().replace('T', " ")
}

/// `text` in one line that can be looked at without harm, however long it is.
pub fn single_visible_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible_text(&words.join(" "))
}
