//! Words that people and models look for, and the text around where they stand. Pure, and shared by
//! all stores. Nothing here reads a store.

use std::collections::BTreeSet;

use weir_core::sorting::sort_stably_by_key;
use weir_engine::excerpt;

/// Most words of one question: of more, the longest count, because they say the most.
const WORDS_MAX: usize = 64;
/// Most single words in one word, such as a path.
const PARTS_MAX: usize = 16;
/// What is looked for: each a word, or several that stand together (`weir-store`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchWords(Vec<SearchWord>);

/// One word as it was written, and the single words in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SearchWord {
    text: String,
    tokens: Vec<String>,
}

impl SearchWords {
    /// The words of a question. Nothing in them is an operator.
    pub(crate) fn parse_question(question: &str) -> SearchWords {
        let mut seen = BTreeSet::new();
        let mut words: Vec<SearchWord> = question
            .split_whitespace()
            .map(|word| SearchWord { text: word.to_string(), tokens: split_tokens(word).collect() })
            .filter(|word| !word.tokens.is_empty() && seen.insert(word.tokens.clone()))
            .flat_map(taken_apart)
            .collect();
        if words.len() > WORDS_MAX {
            sort_stably_by_key(&mut words, |word| std::cmp::Reverse(word.text.chars().count()));
            words.truncate(WORDS_MAX);
        }
        SearchWords(words)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a question to an index of SQLite: every word must stand in the text.
    pub(crate) fn match_all(&self) -> String {
        let quoted: Vec<String> = self.0.iter().map(|word| quote_word(&word.text)).collect();
        quoted.join(" ")
    }

    /// The same: any of the words, or of the single words in them.
    pub(crate) fn match_any(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for word in &self.0 {
            parts.push(quote_word(&word.text));
            if word.tokens.len() > 1 {
                parts.extend(word.tokens.iter().map(|token| quote_word(token)));
            }
        }
        parts.join(" OR ")
    }

    /// Whether every word stands in a text that consists of these single words.
    pub(crate) fn all_in(&self, text: &[String]) -> bool {
        let holds =
            |word: &SearchWord| text.windows(word.tokens.len()).any(|part| part == word.tokens);
        self.0.iter().all(holds)
    }

    /// The single lower-case words of each word.
    pub(crate) fn word_parts(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().map(|word| word.tokens.as_slice())
    }

    /// The single lower-case words in it.
    pub(crate) fn word_tokens(&self) -> BTreeSet<String> {
        self.0.iter().flat_map(|word| word.tokens.iter().cloned()).collect()
    }
}

/// A word of very many parts is no name of anything: each part counts for itself.
fn taken_apart(word: SearchWord) -> Vec<SearchWord> {
    if word.tokens.len() <= PARTS_MAX {
        return vec![word];
    }
    let parts: BTreeSet<String> = word.tokens.into_iter().collect();
    parts.into_iter().map(|part| SearchWord { text: part.clone(), tokens: vec![part] }).collect()
}

fn quote_word(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\"").replace('\0', " "))
}

/// Lower-case words of a text, in order.
pub(crate) fn split_tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// About 600 characters of `text`, where most of `words` stand; its beginning when there are none.
pub(crate) fn text_around(text: &str, words: &SearchWords) -> String {
    excerpt::text_around(text, &words.word_tokens())
}

#[cfg(test)]
mod tests {
    use weir_engine::excerpt::AROUND_CHARS;

    use super::*;

    #[test]
    fn x4_words_are_never_operators() {
        for (question, all, any) in [
            ("fox", "\"fox\"", "\"fox\""),
            ("fox  dog", "\"fox\" \"dog\"", "\"fox\" OR \"dog\""),
            ("fox OR dog", "\"fox\" \"OR\" \"dog\"", "\"fox\" OR \"OR\" OR \"dog\""),
            ("say \"hi\"*", "\"say\" \"\"\"hi\"\"*\"", "\"say\" OR \"\"\"hi\"\"*\""),
            ("a AND a and", "\"a\" \"AND\"", "\"a\" OR \"AND\""),
            ("a.rs", "\"a.rs\"", "\"a.rs\" OR \"a\" OR \"rs\""),
            ("* - ( ^ \"", "", ""),
            ("", "", ""),
        ] {
            let words = SearchWords::parse_question(question);
            assert_eq!(
                (words.match_all().as_str(), words.match_any().as_str()),
                (all, any),
                "{question:?}"
            );
        }
    }

    #[test]
    fn x4_of_a_long_question_the_longest_words_count() {
        let question: Vec<String> = (0..500).map(|n| "x".repeat(n % 100 + 1) + "y").collect();
        let words = SearchWords::parse_question(&question.join(" "));
        assert_eq!(words.0.len(), WORDS_MAX);
        assert!(words.0.iter().all(|word| word.text.len() > 30));
    }

    #[test]
    fn x4_a_word_of_many_parts_is_taken_apart() {
        let many: Vec<String> = (0..500).map(|n| format!("part{n}")).collect();
        let words = SearchWords::parse_question(&many.join("-"));
        assert_eq!(words.0.len(), WORDS_MAX);
        assert!(words.0.iter().all(|word| word.tokens.len() == 1));
        let text = |text: &str| split_tokens(text).collect::<Vec<_>>();
        let name = SearchWords::parse_question("the src/main.rs");
        assert!(name.all_in(&text("in the file src/main.rs:3")));
        assert!(!name.all_in(&text("the main src, rs")));
    }

    #[test]
    fn x4_the_text_around_a_hit_holds_it() {
        let filler =
            |n: usize| format!("line {n} of something long that says nothing\n").repeat(30);
        let text = format!("{}the needle and the haystack\n{}a needle", filler(1), filler(2));
        for (words, holds) in [
            ("needle", "the needle and the haystack"),
            ("haystack needle", "the needle and the haystack"),
            ("HAYSTACK", "haystack"),
            ("missing haystack", "haystack"),
        ] {
            let part = text_around(&text, &SearchWords::parse_question(words));
            assert!(part.contains(holds), "{words}: {part}");
            let chars = part.chars().count();
            assert!((400..=AROUND_CHARS + 2).contains(&chars), "{chars}");
            assert!(part.starts_with('…') && part.ends_with('…'), "{part}");
        }
        let end =
            text_around(&format!("{}the very end", filler(1)), &SearchWords::parse_question("end"));
        assert!(end.ends_with("the very end"), "{end}");
        let beginning = text_around(&text, &SearchWords::parse_question(""));
        assert!(beginning.starts_with("line 1") && beginning.ends_with('…'), "{beginning}");
        assert_eq!(
            text_around(&text, &SearchWords::parse_question("nowhere")),
            text.trim(),
            "nothing is left out"
        );
        assert_eq!(text_around(" short\n", &SearchWords::parse_question("short")), "short");
    }

    #[test]
    fn x4_no_text_makes_it_panic() {
        for text in ["ü".repeat(5000), "🎉 x ".repeat(900), "\u{0}".repeat(700), "İ".repeat(601)]
        {
            for words in ["ü", "x 🎉", "i", ""] {
                let part = text_around(&text, &SearchWords::parse_question(words));
                assert!(part.chars().count() <= text.chars().count());
            }
        }
    }
}
