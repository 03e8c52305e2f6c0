//! What changed within a line: which of its words the other line does not have at that place.

use std::ops::Range;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag};
use unicode_segmentation::UnicodeSegmentation as _;

/// Most words of a line that is compared with another.
const WORDS_MAX: usize = 400;

/// Parts of `line` that `other` has not. None where most of it is other text: marks everywhere say
/// nothing.
pub(super) fn changed_ranges(line: &str, other: &str) -> Vec<Range<usize>> {
    let words: Vec<(usize, &str)> = line.split_word_bound_indices().take(WORDS_MAX + 1).collect();
    let others: Vec<&str> = other.split_word_bounds().take(WORDS_MAX + 1).collect();
    if words.len() > WORDS_MAX || others.len() > WORDS_MAX {
        return Vec::new();
    }
    let own: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
    let mut parts: Vec<Range<usize>> = Vec::new();
    for step in diff_words(&own, &others) {
        let (tag, old, _) = step.as_tag_tuple();
        let (Some(first), Some(last)) = (words.get(old.start), words[..old.end].last()) else {
            continue;
        };
        if tag != DiffTag::Equal && !old.is_empty() {
            parts.push(first.0..last.0 + last.1.len());
        }
    }
    let marked: usize = parts.iter().map(|part| line[part.clone()].trim().len()).sum();
    if marked * 3 > line.trim().len() * 2 { Vec::new() } else { parts }
}

/// The steps from one to the other, by the one algorithm alone: asked for an algorithm by its name, `similar` brings
/// all of them along (Q23).
fn diff_words(own: &[&str], others: &[&str]) -> Vec<DiffOp> {
    let mut steps = Compact::new(Replace::new(Capture::new()), own, others);
    let Ok(()) = myers::diff(&mut steps, own, 0..own.len(), others, 0..others.len());
    steps.into_inner().into_inner().into_ops()
}

#[cfg(test)]
mod tests {
    use super::changed_ranges;

    #[test]
    fn f1_what_changed_within_a_line() {
        for (line, other, expected) in [
            ("let a = 1;", "let a = 2;", vec!["1"]),
            ("let a = 2;", "let a = 1;", vec!["2"]),
            ("one two three", "one three", vec!["two "]),
            ("one three", "one two three", vec![]),
            ("same", "same", vec![]),
            ("quite another", "text stands here", vec![]),
            ("", "x", vec![]),
            ("名前 = 1", "名前 = 2", vec!["1"]),
        ] {
            let parts = changed_ranges(line, other);
            let found: Vec<&str> = parts.into_iter().map(|part| &line[part]).collect();
            assert_eq!(found, expected, "{line:?} {other:?}");
        }
        assert!(changed_ranges(&"a ".repeat(1000), &"b ".repeat(1000)).is_empty());
    }
}
