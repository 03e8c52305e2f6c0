//! Unified diffs for people and models, bounded in time and size.
//!
//! Applying diffs is not here: see `patch`.

use std::fmt::Write as _;

use weir_core::view::diff::header_name;
use weir_engine::sniff::has_nul;
use weir_engine::text_diff::render_unified_diff;
use weir_engine::text_form::{self, TextEncoding};

use crate::text;

/// Most bytes of diff text per file.
const DIFF_BYTES_MAX: usize = 100_000;
/// Most differing lines for which the smallest difference is sought; beyond that, all old lines are
/// shown as removed and all new ones as added.
const DIFF_LINES_MAX: usize = 5_000;
const CONTEXT_LINES: usize = 3;

/// The difference of two files as a unified diff; `None` on a side: no such file. Empty when they
/// are equal.
pub(crate) fn unified_diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    if old == new {
        return String::new();
    }
    // A line break in a name would begin a line that looks like part of the difference.
    let path = header_name(path);
    let from = old.map_or("/dev/null".into(), |_| format!("a/{path}"));
    let to = new.map_or("/dev/null".into(), |_| format!("b/{path}"));
    let header = format!("--- {from}\n+++ {to}\n");
    let [before, after] = [old, new].map(Option::unwrap_or_default);
    if has_nul(before) || has_nul(after) {
        return header + &describe_sizes(before, after);
    }
    let form = text_form::describe_form_change(old, new);
    let form = form.map(|form| form + "\n").unwrap_or_default();
    let [shown_old, shown_new] = [before, after].map(text_form::render_file_text);
    let body = if differing_lines(&shown_old, &shown_new) <= DIFF_LINES_MAX {
        render_unified_diff(&shown_old, &shown_new, CONTEXT_LINES)
    } else {
        coarse_diff(&shown_old, &shown_new)
    };
    // What is broken may look equal and is not.
    let is_hidden = body.is_empty()
        && before != after
        && TextEncoding::of_file(before) == TextEncoding::of_file(after);
    let sizes = if is_hidden { describe_sizes(before, after) } else { String::new() };
    header + &form + &sizes + &cut_diff(body)
}

fn describe_sizes(before: &[u8], after: &[u8]) -> String {
    let sizes = [before, after].map(|side| text::size_text(side.len() as u64));
    format!("Binary content, {} before, {} after\n", sizes[0], sizes[1])
}

/// The whole of a text with what is new in it marked: for a person who has to read all of it.
pub(crate) fn whole_text_diff(name: &str, old: Option<&str>, new: &str) -> String {
    let name = header_name(name);
    let from = old.map_or("/dev/null".to_owned(), |_| format!("a/{name}"));
    let context = new.len().max(old.map_or(0, str::len));
    let body = render_unified_diff(old.unwrap_or_default(), new, context);
    format!("--- {from}\n+++ b/{name}\n{body}")
}

fn common_lines(old: &[&str], new: &[&str]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    (start, end)
}

fn differing_lines(old: &str, new: &str) -> usize {
    let (old, new) = (split_lines(old), split_lines(new));
    let (start, end) = common_lines(&old, &new);
    old.len() + new.len() - 2 * (start + end)
}

fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// One hunk from the first to the last difference, without looking for what is equal between.
fn coarse_diff(old: &str, new: &str) -> String {
    let (old, new) = (split_lines(old), split_lines(new));
    let (start, end) = common_lines(&old, &new);
    let before = start.min(CONTEXT_LINES);
    let after = end.min(CONTEXT_LINES);
    let first = start - before;
    let counts = [old.len(), new.len()].map(|n| n - end - start + before + after);
    // A side without lines names the line before them.
    let [old_line, new_line] = counts.map(|count| first + usize::from(count > 0));
    let mut hunk = format!("@@ -{old_line},{} +{new_line},{} @@\n", counts[0], counts[1]);
    let parts = [
        (' ', &old[first..start]),
        ('-', &old[start..old.len() - end]),
        ('+', &new[start..new.len() - end]),
        (' ', &new[new.len() - end..new.len() - end + after]),
    ];
    for (sign, line) in
        parts.into_iter().flat_map(|(sign, part)| part.iter().map(move |l| (sign, l)))
    {
        if hunk.len() > DIFF_BYTES_MAX {
            break;
        }
        let _ = writeln!(hunk, "{sign}{}", line.strip_suffix('\n').unwrap_or(line));
        if !line.ends_with('\n') {
            hunk.push_str("\\ No newline at end of file\n");
        }
    }
    hunk
}

fn cut_diff(body: String) -> String {
    if body.len() <= DIFF_BYTES_MAX {
        return body;
    }
    let end = (0..=DIFF_BYTES_MAX).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
    let kept = body[..end].rfind('\n').map_or(&body[..end], |at| &body[..=at]);
    format!("{kept}… (the diff goes on: {} in all)\n", text::size_text(body.len() as u64))
}

#[cfg(test)]
mod tests {
    use weir_engine::utf16::ByteOrder;

    use super::*;

    #[test]
    fn a_changed_line_is_one_hunk() {
        let diff = unified_diff("x", Some(b"a\nb\nc\n"), Some(b"a\nB\nc\n"));
        assert_eq!(diff, "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    }

    #[test]
    fn z10_a_name_with_a_line_break_begins_no_line_of_a_difference() {
        let shown = unified_diff("x\n+++ b/y", None, Some(b"b\n"));
        assert_eq!(shown, "--- /dev/null\n+++ b/x<U+000A>+++ b/y\n@@ -0,0 +1 @@\n+b\n");
        let whole = whole_text_diff("x\ry", None, "b\n");
        assert_eq!(whole.lines().nth(1), Some("+++ b/x<U+000D>y"));
    }

    #[test]
    fn large_differences_stay_small_and_quick() {
        let old: String = (0..60_000).map(|n| format!("old {n}\n")).collect();
        let new: String = (0..60_000).map(|n| format!("new {n}\n")).collect();
        let diff = unified_diff("x", Some(old.as_bytes()), Some(new.as_bytes()));
        assert!(diff.len() < DIFF_BYTES_MAX + 200, "{} bytes", diff.len());
        assert!(diff.starts_with("--- a/x\n+++ b/x\n@@ -1,60000 +1,60000 @@\n-old 0\n"));
    }

    #[test]
    fn z10_a_coarse_difference_is_a_patch() {
        let many: String = (0..6_000).map(|n| format!("{n}\n")).collect();
        let open = format!("{many}last");
        for (old, new) in [("", &*many), (&*many, ""), ("", &*open), (&*open, "x\n")] {
            let shown = unified_diff("x", Some(old.as_bytes()), Some(new.as_bytes()));
            let files = crate::patch::parse_patch(&shown).expect("a patch");
            let made = crate::patch::apply_hunks("x", old.as_bytes(), &files[0].hunks);
            assert_eq!(made.as_deref(), Ok(new.as_bytes()), "{}", &shown[..60]);
        }
    }

    #[test]
    fn g4_a_form_that_is_not_plain_is_said_and_its_change_is_a_change() {
        let [old, new] = ["a\nb\n", "a\nc\n"].map(|text| ByteOrder::Little.encode(text));
        let head = "--- a/x\n+++ b/x\n";
        let lines = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
        let shown = |old: &[u8], new: &[u8]| unified_diff("x", Some(old), Some(new));
        assert_eq!(shown(&old, &new), format!("{head}Stored as UTF-16LE, LF\n{lines}"));
        let plain = "Stored as UTF-8, LF (before: UTF-16LE, LF)\n";
        assert_eq!(shown(&old, b"a\nb\n"), format!("{head}{plain}"));
        assert_eq!(shown(&old, b"a\nc\n"), format!("{head}{plain}{lines}"));
        let ends = "Stored as UTF-8, LF (before: UTF-8, CRLF)\n@@ -1 +1 @@\n-a\r\n+a\n";
        assert_eq!(shown(b"a\r\n", b"a\n"), format!("{head}{ends}"));
        let mark = "Stored as UTF-8, LF (before: UTF-8 with BOM, LF)\n";
        assert_eq!(shown(b"\xef\xbb\xbfa\n", b"a\n"), format!("{head}{mark}"));
        let made = unified_diff("x", None, Some(b"\xef\xbb\xbfa\n"));
        assert!(made.contains("\nStored as UTF-8 with BOM, LF\n@@ -0,0 +1 @@\n+a\n"), "{made}");
        // A patch as well: its reader passes over what it does not know.
        let files = crate::patch::parse_patch(&shown(&old, &new)).expect("a patch");
        let after = crate::patch::apply_hunks("x", b"a\nb\n", &files[0].hunks);
        assert_eq!(after.as_deref(), Ok(&b"a\nc\n"[..]));
    }

    #[test]
    fn z10_a_carriage_return_hides_no_file_that_follows() {
        let first = unified_diff("x", Some(b"a\n"), Some(b"a\r+b\n"));
        assert!(first.ends_with("@@ -1 +1 @@\n-a\n+a<U+000D>+b\n"), "{first}");
        let both = first + &unified_diff("y", None, Some(b"c\n"));
        let shown = weir_core::view::visible::cut_diff(&both, 99);
        assert_eq!(shown.head, "2 files, 9 lines: 2 added, 1 removed");
    }

    #[test]
    fn z10_what_is_broken_never_looks_unchanged() {
        let diff = unified_diff("x", Some(b"caf\xe9\n"), Some(b"caf\xe8\n"));
        assert!(diff.ends_with("-caf<0xE9>\n+caf<0xE8>\n"), "{diff}");
        let diff = unified_diff("x", Some(b"\xff\xfea\0\x00\xd8"), Some(b"\xff\xfea\0\x00\xd9"));
        assert!(diff.ends_with("\nBinary content, 6 bytes before, 6 bytes after\n"), "{diff}");
    }

    #[test]
    fn binary_content_is_named_not_shown() {
        let diff = unified_diff("x", None, Some(b"\0\x01"));
        assert!(diff.ends_with("Binary content, 0 bytes before, 2 bytes after\n"), "{diff}");
    }
}
