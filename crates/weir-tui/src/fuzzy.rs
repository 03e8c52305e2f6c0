//! The best of many names for a few letters: commands after `/`, files after `@`. Pure; not here:
//! where the names come from.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Longest query that is looked at, in characters; nobody types more of a path.
const QUERY_CHARACTERS_MAX: usize = 256;

/// The `max` candidates that are most like `query`, the best first; a path whose last part fits is
/// better than one whose folders do. Equally good ones: the shorter first, then in the order given.
/// Words of the query may fit in any order. An empty query takes the first ones as they come.
///
/// Nothing is allocated for a candidate that is not among the best, unless it is not ASCII.
pub fn best_matches<T: AsRef<str>>(
    query: &str,
    candidates: impl IntoIterator<Item = T>,
    max: usize,
) -> Vec<T> {
    let query: String = query.chars().take(QUERY_CHARACTERS_MAX).collect();
    if max == 0 {
        return Vec::new();
    }
    if query.trim().is_empty() {
        return candidates.into_iter().take(max).collect();
    }
    let mut scorer = Scorer::new(&query);
    let mut kept: BinaryHeap<Reverse<RankedCandidate<T>>> =
        BinaryHeap::with_capacity(max.min(1024));
    for (index, item) in candidates.into_iter().enumerate() {
        let Some(score) = scorer.score_path(item.as_ref()) else { continue };
        let ranked = RankedCandidate { score, bytes: item.as_ref().len(), index, item };
        if kept.len() < max {
            kept.push(Reverse(ranked));
        } else if kept.peek().is_some_and(|Reverse(worst)| ranked > *worst) {
            kept.pop();
            kept.push(Reverse(ranked));
        }
    }
    // Sorted by `Reverse`, the best come first.
    kept.into_sorted_vec().into_iter().map(|Reverse(ranked)| ranked.item).collect()
}

struct Scorer {
    matcher: Matcher,
    pattern: Pattern,
    whole_paths: bool,
    characters: Vec<char>,
}

impl Scorer {
    fn new(query: &str) -> Scorer {
        let (case, form) = (CaseMatching::Smart, Normalization::Smart);
        Scorer {
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            // Signs such as `!` and `^` are letters of names here, not a language.
            pattern: Pattern::new(query, case, form, AtomKind::Fuzzy),
            whole_paths: query.contains('/'),
            characters: Vec::new(),
        }
    }

    fn score_path(&mut self, path: &str) -> Option<u32> {
        let whole = self.score_text(path)?;
        let folders_end = path.trim_end_matches('/').rfind('/');
        let last = match folders_end {
            Some(at) if !self.whole_paths => self.score_text(&path[at + 1..]).unwrap_or(0),
            None if !self.whole_paths => whole,
            _ => 0,
        };
        Some(whole + last)
    }

    fn score_text(&mut self, text: &str) -> Option<u32> {
        self.pattern.score(Utf32Str::new(text, &mut self.characters), &mut self.matcher)
    }
}

struct RankedCandidate<T> {
    score: u32,
    bytes: usize,
    index: usize,
    item: T,
}

impl<T> Ord for RankedCandidate<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.cmp(&other.score);
        by_score.then(other.bytes.cmp(&self.bytes)).then(other.index.cmp(&self.index))
    }
}

impl<T> PartialOrd for RankedCandidate<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for RankedCandidate<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for RankedCandidate<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_the_likeliest_names_come_first() {
        let files = [
            "docs/main/readme.md",
            "src/domain.rs",
            "src/main.rs",
            "src/app/main_loop.rs",
            "Größe/übersicht.txt",
            "my file.txt",
        ];
        for (query, max, expected) in [
            ("main.rs", 1, vec!["src/main.rs"]),
            ("main", 2, vec!["src/main.rs", "src/app/main_loop.rs"]),
            ("docs/main", 3, vec!["docs/main/readme.md"]),
            ("zzz", 3, vec![]),
            ("", 2, vec!["docs/main/readme.md", "src/domain.rs"]),
            ("  ", 1, vec!["docs/main/readme.md"]),
            ("uber", 3, vec!["Größe/übersicht.txt"]),
            ("file my", 3, vec!["my file.txt"]),
            ("main", 0, vec![]),
            ("^main", 3, vec![]),
        ] {
            assert_eq!(best_matches(query, files, max), expected, "{query:?}");
        }
    }

    #[test]
    fn f1_of_a_hundred_thousand_files_the_best_are_found() {
        let files: Vec<String> =
            (0..100_000).map(|n| format!("src/part{}/file{n}.rs", n % 97)).collect();
        let found = best_matches("file99999.rs", files.iter(), 5);
        assert_eq!(found[0], "src/part89/file99999.rs");
        assert_eq!(best_matches("rs", files.iter(), 8).len(), 8);
    }

    #[test]
    fn f1_equally_good_names_keep_their_order() {
        assert_eq!(best_matches("a", ["a1", "a2", "a3"], 2), ["a1", "a2"]);
        assert_eq!(best_matches("a", ["a10", "a2"], 2), ["a2", "a10"]);
    }
}
