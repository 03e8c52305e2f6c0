//! Words as an index holds them: lower case, without accents, stemmed in the language of the text; pairs
//! and triples of characters where a script does not separate words.

use std::collections::HashMap;

use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::language::TextLanguage;

/// Longest word; what is longer is no word.
const WORD_CHARS_MAX: usize = 40;

/// Splits texts into terms. Keeps what it stemmed, since most words stand again and again.
#[derive(Default)]
pub(crate) struct TermSplitter {
    stemmers: HashMap<TextLanguage, (Stemmer, HashMap<String, String>)>,
}

/// Most stems that are remembered of a language.
const STEMS_MAX: usize = 100_000;

impl TermSplitter {
    /// Passes the terms of `text` in their order to `take`.
    pub(crate) fn split_text(
        &mut self,
        text: &str,
        language: Option<TextLanguage>,
        take: &mut dyn FnMut(&str),
    ) {
        let mut run = String::new();
        for part in text.split(|c: char| !(c.is_alphanumeric() || is_combining_mark(c))) {
            if part.is_empty() {
                continue;
            }
            if part.is_ascii() {
                self.split_word(part, language, take);
                continue;
            }
            // A stretch without separators is cut where the script changes.
            let mut dense = false;
            for c in part.chars() {
                if is_dense(c) != dense && !run.is_empty() {
                    self.finish_run(&mut run, dense, language, take);
                }
                dense = is_dense(c);
                run.push(c);
            }
            self.finish_run(&mut run, dense, language, take);
        }
    }

    fn finish_run(
        &mut self,
        run: &mut String,
        dense: bool,
        language: Option<TextLanguage>,
        take: &mut dyn FnMut(&str),
    ) {
        let text = std::mem::take(run);
        match dense {
            true => take_grams(&text, take),
            false => self.split_word(&text, language, take),
        }
    }

    fn split_word(
        &mut self,
        word: &str,
        language: Option<TextLanguage>,
        take: &mut dyn FnMut(&str),
    ) {
        if word.chars().count() > WORD_CHARS_MAX {
            return;
        }
        let lower = word.to_lowercase();
        let Some(language) = language else {
            take(&without_marks(&lower));
            return;
        };
        let (stemmer, known) = self
            .stemmers
            .entry(language)
            .or_insert_with(|| (Stemmer::create(language.stemmer_algorithm()), HashMap::new()));
        if let Some(stem) = known.get(&lower) {
            take(stem);
            return;
        }
        let stem = without_marks(&stemmer.stem(&lower));
        take(&stem);
        if known.len() < STEMS_MAX {
            known.insert(lower, stem);
        }
    }
}

/// Whether words of this character's script stand together without a gap.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF // Thai, Lao
        | 0x1000..=0x109F // Burmese
        | 0x1780..=0x17FF // Khmer
        | 0x3040..=0x30FF // Japanese syllables
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF // Chinese characters
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF)
}

/// Pairs and triples of neighbours: most words of these scripts have two characters, and a triple
/// tells more. A single character stands for itself.
fn take_grams(run: &str, take: &mut dyn FnMut(&str)) {
    let ends: Vec<usize> = run.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let start = |at: usize| if at == 0 { 0 } else { ends[at - 1] };
    if ends.len() == 1 {
        take(run);
    }
    for size in [2, 3] {
        for at in 0..(ends.len() + 1).saturating_sub(size) {
            take(&run[start(at)..ends[at + size - 1]]);
        }
    }
}

/// `text` without accents: a search without them finds what has them.
fn without_marks(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.nfd().filter(|c| !is_combining_mark(*c)).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_terms(text: &str, language: Option<TextLanguage>) -> Vec<String> {
        let mut terms = Vec::new();
        let mut take = |term: &str| terms.push(term.to_owned());
        TermSplitter::default().split_text(text, language, &mut take);
        terms
    }

    #[test]
    fn k6_words_are_stemmed_in_their_language() {
        for (text, language, terms) in [
            ("Linking notes, linked Notes!", Some(TextLanguage::English), "link note link note"),
            ("Häuser und Verknüpfungen", Some(TextLanguage::German), "haus und verknupf"),
            ("Café naïve", None, "cafe naive"),
            ("snake_case src/main.rs v1.2", None, "snake case src main rs v1 2"),
        ] {
            assert_eq!(split_terms(text, language).join(" "), terms, "{text}");
        }
    }

    #[test]
    fn k6_scripts_without_gaps_are_cut_into_grams() {
        assert_eq!(split_terms("検索する", None), ["検索", "索す", "する", "検索す", "索する"]);
        assert_eq!(split_terms("Obsidian検索", None), ["obsidian", "検索"]);
        assert_eq!(split_terms("本", None), ["本"]);
        assert!(split_terms(&"x".repeat(41), None).is_empty());
    }
}
