//! Small forms of text that commands, pages and exported sessions share. Not here: words for facts
//! (`weir_core::view::told`).

use weir_core::ids::Timestamp;
use weir_core::view::plain::visible;

/// A moment for people: to the second, in UTC.
pub fn moment(ts: Timestamp) -> String {
    ts.to_string().chars().take(19).collect::<String>().replace('T', " ")
}

/// `text` in one line that can be looked at without harm, however long it is.
pub fn single(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible(&words.join(" "))
}
