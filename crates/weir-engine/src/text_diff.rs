//! What differs between two texts: as a unified diff, as a number of lines, or as how alike they are. The one place that
//! asks `similar`, by one algorithm and over numbers in the place of tokens: asked with texts, it brings each of its
//! algorithms along, in several shapes (Q23). Not here: diffs of files, and what people are shown of one.

use std::collections::HashMap;
use std::fmt::Write as _;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, DiffTag, DiffableStr as _, group_diff_ops};

/// Lines around a change that a diff with names has.
const CONTEXT_LINES: usize = 3;

/// The hunks of a unified diff with so many equal lines around a change; empty where nothing differs.
pub fn render_unified_diff(old: &str, new: &str, context: usize) -> String {
    let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
    let mut text = String::new();
    for hunk in group_diff_ops(diff_tokens(&old, &new), context) {
        if hunk.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(&hunk));
        for step in &hunk {
            let (tag, from, to) = step.as_tag_tuple();
            if tag == DiffTag::Equal {
                push_lines(' ', &old[from], &mut text);
            } else {
                push_lines('-', &old[from], &mut text);
                push_lines('+', &new[to], &mut text);
            }
        }
    }
    text
}

/// The same below the names of both texts; empty where nothing differs.
pub fn render_named_diff(names: [&str; 2], old: &str, new: &str) -> String {
    let hunks = render_unified_diff(old, new, CONTEXT_LINES);
    match hunks.is_empty() {
        true => hunks,
        false => format!("--- {}\n+++ {}\n{hunks}", names[0], names[1]),
    }
}

/// How many lines came, and how many went.
pub fn count_changed_lines(old: &str, new: &str) -> (usize, usize) {
    let (old, new) = (old.tokenize_lines(), new.tokenize_lines());
    if old.is_empty() || new.is_empty() {
        // A file that is new, or goes.
        return (new.len(), old.len());
    }
    let steps = diff_tokens(&old, &new);
    let changes = steps.iter().filter(|step| step.tag() != DiffTag::Equal);
    changes.fold((0, 0), |(came, went), step| {
        (came + step.new_range().len(), went + step.old_range().len())
    })
}

/// How alike two words are, by their characters: 1 are the same ones, 0 have nothing in common.
pub fn measure_likeness(one: &str, other: &str) -> f32 {
    let (one, other) = (one.tokenize_chars(), other.tokenize_chars());
    similar::diff_ratio(&diff_tokens(&one, &other), one.len(), other.len())
}

fn diff_tokens<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let old = number_tokens(old, &mut numbers);
    let new = number_tokens(new, &mut numbers);
    let mut steps = Compact::new(Replace::new(Capture::new()), &old, &new);
    let Ok(()) = myers::diff(&mut steps, &old, 0..old.len(), &new, 0..new.len());
    steps.into_inner().into_inner().into_ops()
}

/// The same number for the same token.
fn number_tokens<'t>(tokens: &[&'t str], numbers: &mut HashMap<&'t str, usize>) -> Vec<usize> {
    let number = |token: &&'t str| {
        let next = numbers.len();
        *numbers.entry(*token).or_insert(next)
    };
    tokens.iter().map(number).collect()
}

fn push_lines(sign: char, lines: &[&str], text: &mut String) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with(['\n', '\r']) {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::{ChangeTag, TextDiff};

    use super::*;

    /// Texts of few different lines, some of them long enough for each way in which `similar` compares.
    fn texts() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\r\n", "d\r", "\n", "ö x\n"]);
        let lines = prop_oneof![
            4 => prop::collection::vec(line.clone(), 0..12),
            1 => prop::collection::vec(line, 90..700),
        ];
        (lines, prop::sample::select(vec!["", "end", "e"]))
            .prop_map(|(lines, end)| lines.concat() + end)
    }

    proptest! {
        #[test]
        fn q23_texts_differ_as_similar_says(old in texts(), new in texts(), context in 0_usize..5) {
            let known = TextDiff::from_lines(&*old, &*new);
            let shown = known.unified_diff().context_radius(context).to_string();
            prop_assert_eq!(render_unified_diff(&old, &new, context), shown);
            let named = known.unified_diff().header("x", "y").to_string();
            prop_assert_eq!(render_named_diff(["x", "y"], &old, &new), named);
            let count = |tag| known.iter_all_changes().filter(|c| c.tag() == tag).count();
            let counts = (count(ChangeTag::Insert), count(ChangeTag::Delete));
            prop_assert_eq!(count_changed_lines(&old, &new), counts);
        }

        #[test]
        fn q23_words_are_as_alike_as_similar_says(one in "[a-dö_]{0,9}", other in "[a-dö_]{0,9}") {
            let known = TextDiff::from_chars(&*one, &*other).ratio();
            prop_assert_eq!(measure_likeness(&one, &other).to_bits(), known.to_bits());
        }
    }

    #[test]
    fn q23_of_a_text_that_comes_or_goes_each_line_counts() {
        for (text, lines) in [("", 0), ("\n", 1), ("a\nb", 2), ("a\r\nb\rc\n", 3)] {
            assert_eq!(count_changed_lines("", text), (lines, 0), "{text:?}");
            assert_eq!(count_changed_lines(text, ""), (0, lines), "{text:?}");
        }
    }

    #[test]
    fn q23_equal_texts_have_no_difference_and_nothing_is_like_nothing() {
        assert_eq!(render_unified_diff("a\n", "a\n", 3), "");
        assert_eq!(render_named_diff(["x", "y"], "", ""), "");
        assert_eq!(
            render_unified_diff("a\nb", "a\nc\n", 0),
            "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n"
        );
        assert_eq!((measure_likeness("", ""), measure_likeness("ab", "cd")), (1.0, 0.0));
    }
}
