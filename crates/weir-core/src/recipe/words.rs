//! Words of messages and recipes in the one form in which they are compared: lower case, accents
//! folded, stop words out. Not here: what the comparison is for.
//!
//! The core depends on no tables of Unicode: accents are folded by a small table of Latin letters
//! and by dropping combining marks, so that a letter is the same however it was typed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::memory::words;

/// Latin letters with marks, and what is left of them.
const MARKED: &[(&str, &str)] = &[
    ("àáâãäåāăą", "a"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõöøōŏő", "o"),
    ("ŕŗř", "r"),
    ("śŝşš", "s"),
    ("ţťŧ", "t"),
    ("ùúûüũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
    ("ß", "ss"),
    ("æ", "ae"),
    ("œ", "oe"),
    ("þ", "th"),
];
/// Shortest word whose plural is recognised: `tag`, `tags`.
const SINGULAR_CHARS_MIN: usize = 3;

static STOP_WORDS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| words::stop_words().map(fold_accents).collect());

/// `text` in lower case and without accents.
pub(super) fn fold_accents(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii() {
            out.push(c);
        } else if let Some((_, plain)) = MARKED.iter().find(|(marked, _)| marked.contains(c)) {
            out.push_str(plain);
        } else if !matches!(c, '\u{300}'..='\u{36f}') {
            out.push(c);
        }
    }
    out
}

/// The words of `text` in order, folded.
pub(super) fn folded_words(text: &str) -> Vec<String> {
    words::all_words(&fold_accents(text))
}

/// Those that say what it is about, in order.
pub(super) fn telling_words(text: &str) -> Vec<String> {
    folded_words(text).into_iter().filter(|word| !is_stop_word(word)).collect()
}

/// Whether a folded word says nothing of what a text is about.
pub(super) fn is_stop_word(word: &str) -> bool {
    words::is_stop_word(word) || STOP_WORDS.contains(word)
}

/// Whether two folded words are the same but for an ending.
pub(super) fn is_same_word(a: &str, b: &str) -> bool {
    let plural = |one: &str, more: &str| {
        one.chars().count() >= SINGULAR_CHARS_MIN && more.strip_suffix('s') == Some(one)
    };
    words::is_same_word(a, b) || (!words::is_decisive(a) && (plural(a, b) || plural(b, a)))
}

/// Whether a word of `among` is `word` but for an ending.
pub(super) fn stands_in(word: &str, among: &[String]) -> bool {
    among.iter().any(|other| is_same_word(word, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m5_a_letter_is_the_same_however_it_was_typed() {
        for (a, b) in [
            ("Café", "cafe\u{301}"),
            ("für über können", "fu\u{308}r u\u{308}ber ko\u{308}nnen"),
            ("STRASSE", "straße"),
            ("Ærø", "aero"),
            ("İ", "i"),
        ] {
            assert_eq!(fold_accents(a), fold_accents(b), "{a} {b}");
        }
        assert_eq!(fold_accents("日本 Ω"), "日本 ω");
    }

    #[test]
    fn m5_stop_words_are_out_with_and_without_accents() {
        assert_eq!(telling_words("Fu\u{308}r die Notizen über Bäume"), ["notizen", "baume"]);
        assert_eq!(telling_words("the notes of the week"), ["notes", "week"]);
        assert_eq!(telling_words(""), [""; 0]);
    }

    #[test]
    fn m5_simple_plurals_are_one_word() {
        for (a, b) in [("tag", "tags"), ("note", "notes"), ("todo", "todos"), ("link", "linking")] {
            assert!(is_same_word(a, b) && is_same_word(b, a), "{a} {b}");
        }
        for (a, b) in
            [("a", "as"), ("no", "nos"), ("note", "not"), ("port", "portable"), ("7", "7s")]
        {
            assert!(!is_same_word(a, b) && !is_same_word(b, a), "{a} {b}");
        }
    }
}
