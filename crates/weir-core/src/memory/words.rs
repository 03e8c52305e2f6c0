//! Words of facts and messages: what counts when two are compared (M4). Not here: what the
//! comparison is for.

use std::collections::BTreeSet;

/// Most words of one text that are looked at: a long paste costs no more than a page.
const WORDS_MAX: usize = 600;
/// Shortest word that may stand for a longer form of itself: `test` for `tests`.
const STEM_CHARS_MIN: usize = 4;
/// Most characters that a longer form may add: `link`, `linking`; `Regel`, `Regeln`.
const ENDING_CHARS_MAX: usize = 3;

/// Words that stand in every text and say nothing of what it is about. English and German.
const STOP_WORDS: &[&str] = &[
    // English
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "but", "by", "can", "could", "did", "do", "does", "doing", "done",
    "each", "for", "from", "get", "got", "had", "has", "have", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "make", "may", "me",
    "more", "most", "my", "now", "of", "off", "on", "one", "only", "or", "other", "our", "out",
    "over", "please", "same", "she", "should", "so", "some", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up", "us",
    "very", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with",
    "would", "you", "your", // German
    "aber", "alle", "als", "am", "an", "auch", "auf", "aus", "bei", "beim", "bin", "bis", "bitte",
    "da", "damit", "dann", "das", "dass", "dem", "den", "der", "des", "die", "dies", "diese",
    "diesem", "diesen", "dieser", "dieses", "dir", "doch", "du", "durch", "ein", "eine", "einem",
    "einen", "einer", "eines", "er", "es", "euch", "für", "ganz", "hab", "habe", "haben", "hat",
    "hier", "hinter", "ich", "ihm", "ihn", "ihr", "ihre", "im", "in", "ins", "ist", "ja", "jede",
    "jeder", "jetzt", "kann", "können", "mach", "mache", "machen", "mal", "man", "mehr", "mein",
    "meine", "mich", "mir", "mit", "muss", "nach", "noch", "nun", "nur", "ob", "oder", "schon",
    "sehr", "sein", "seine", "sich", "sie", "sind", "so", "soll", "sollen", "sollte", "um", "und",
    "uns", "unser", "unsere", "unter", "vom", "von", "vor", "war", "waren", "warum", "was", "weil",
    "wenn", "werden", "wie", "wieder", "will", "wir", "wird", "wo", "wollen", "zu", "zum", "zur",
    "über",
];

/// Words that turn a sentence round: two texts that differ in one of them say different things.
const NEGATIONS: &[&str] = &[
    "no", "not", "never", "none", "without", "cannot", "except", "unless", "don't", "doesn't",
    "isn't", "won't", "nicht", "kein", "keine", "keinen", "keinem", "keiner", "nie", "niemals",
    "ohne", "außer",
];

/// The words of `text` in the order in which they stand, lower case, at most [`WORDS_MAX`].
pub(crate) fn all_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    lower
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .take(WORDS_MAX)
        .map(str::to_string)
        .collect()
}

/// The words of `text` that say what it is about, each once.
pub(crate) fn telling_words(text: &str) -> BTreeSet<String> {
    all_words(text).into_iter().filter(|word| !is_stop_word(word)).collect()
}

/// Words that stand in every text.
pub(crate) fn stop_words() -> impl Iterator<Item = &'static str> {
    STOP_WORDS.iter().copied()
}

/// Whether a word says nothing of what a text is about.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word) || (word.chars().count() == 1 && !word.chars().all(char::is_numeric))
}

/// Whether a word decides what a sentence says however small it is: a number, a negation.
pub(crate) fn is_decisive(word: &str) -> bool {
    word.chars().any(char::is_numeric) || NEGATIONS.contains(&word)
}

/// Whether two words are the same but for an ending.
pub(crate) fn is_same_word(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if is_decisive(short) || is_decisive(long) {
        return short == long;
    }
    let Some(ending) = long.strip_prefix(short) else { return false };
    ending.is_empty()
        || (short.chars().count() >= STEM_CHARS_MIN && ending.chars().count() <= ENDING_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m4_stop_words_do_not_tell() {
        let telling = |text: &str| telling_words(text).into_iter().collect::<Vec<_>>();
        assert_eq!(telling("What is the name of the branch?"), ["branch", "name"]);
        assert_eq!(telling("Wie heißt der Zweig und wo ist er?"), ["heißt", "zweig"]);
        assert_eq!(telling("I don\u{2019}t know"), ["don't", "know"]);
        assert_eq!(telling("a b c 7"), ["7"]);
        assert_eq!(telling(""), Vec::<String>::new());
    }

    #[test]
    fn m4_no_stop_word_decides() {
        for word in STOP_WORDS {
            assert!(!is_decisive(word), "{word}");
            assert_eq!(*word, word.to_lowercase(), "{word}");
        }
    }

    #[test]
    fn m4_endings_make_no_other_word() {
        for (a, b) in [("test", "tests"), ("linking", "link"), ("regel", "regeln"), ("x", "x")] {
            assert!(is_same_word(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("port", "portability"),
            ("car", "cart"),
            ("8080", "80801"),
            ("kein", "keine"),
            ("v1", "v12"),
            ("", "abc"),
        ] {
            assert!(!is_same_word(a, b), "{a} {b}");
        }
    }

    #[test]
    fn m4_a_long_text_is_bounded() {
        assert_eq!(all_words(&"word ".repeat(100_000)).len(), WORDS_MAX);
    }
}
