//! When two facts say the same in other words (M4). Not here: what becomes of them then.

use std::collections::BTreeSet;

use super::words;

/// Share of common words from which two texts may be the same fact: four of five.
const SAME_SHARE: (usize, usize) = (4, 5);

/// Whether `a` and `b` say the same: at least four fifths of their words are common and stand in
/// the same order, numbers and negations are the same, and at most one of them has words of its
/// own. In doubt they do not: a fact that is kept twice costs a line, one that is taken for its
/// opposite is lost.
pub fn is_similar_text(a: &str, b: &str) -> bool {
    let (a, b) = (in_order(a), in_order(b));
    let (of_a, of_b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
    let common = of_a.intersection(&of_b).count();
    let together = of_a.len() + of_b.len() - common;
    if common == 0 || common * SAME_SHARE.1 < together * SAME_SHARE.0 {
        return false;
    }
    let shared = |text: &[String]| -> Vec<String> {
        let both = |word: &&String| of_a.contains(word) && of_b.contains(word);
        text.iter().filter(both).cloned().collect()
    };
    let decisive = of_a.symmetric_difference(&of_b).any(|word| words::is_decisive(word));
    let has_own = |of: &BTreeSet<&String>, other: &BTreeSet<&String>| {
        of.difference(other).any(|word| !other.iter().any(|there| words::is_same_word(word, there)))
    };
    !decisive && shared(&a) == shared(&b) && !(has_own(&of_a, &of_b) && has_own(&of_b, &of_a))
}

/// The words of a text, each where it stands first.
fn in_order(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    words::all_words(text).into_iter().filter(|word| seen.insert(word.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m4_the_same_in_other_words_is_the_same_fact() {
        for (a, b) in [
            ("The tests run with cargo nextest.", "the tests run with cargo nextest"),
            ("The tests run with `cargo nextest`", "Tests run with cargo nextest"),
            (
                "Prefers tabs over spaces in Rust files",
                "Prefers tabs over spaces in all Rust files",
            ),
            ("Die Tests laufen mit cargo nextest", "Die Tests laufen immer mit cargo nextest"),
            (
                "Every commit of this repository is signed on the work machine",
                "Every commit of this repository is signed on the work machines",
            ),
        ] {
            assert!(is_similar_text(a, b) && is_similar_text(b, a), "{a} / {b}");
        }
    }

    #[test]
    fn m4_what_differs_in_what_counts_is_another_fact() {
        for (a, b) in [
            // Order.
            ("Prefers tabs over spaces", "Prefers spaces over tabs"),
            ("Moves old notes from inbox to archive", "Moves old notes to inbox from archive"),
            // Negation.
            (
                "The build needs network access on the first run of the day",
                "The build needs no network access on the first run of the day",
            ),
            ("Er will in Commits immer Emojis haben", "Er will in Commits nie Emojis haben"),
            // Numbers.
            (
                "The dev server of the project listens on port 8080",
                "The dev server of the project listens on port 8081",
            ),
            // A word each, however small.
            (
                "The person drinks coffee in the morning when they begin with work",
                "The person drinks tea in the morning when they begin with work",
            ),
            (
                "Run all tests of the whole workspace before the build of its docs starts",
                "Run all tests of the whole workspace after the build of its docs starts",
            ),
            // Too little in common.
            ("The tests run with cargo nextest", "The tests are slow"),
            ("", ""),
            ("...", "..."),
            ("x", ""),
        ] {
            assert!(!is_similar_text(a, b) && !is_similar_text(b, a), "{a} / {b}");
        }
    }
}
