//! A unified diff as what an editor shows of a change: for each place of each file the text before and
//! after. Pure. Not here: how diffs are made, and what each line of one is (`weir_core::view::diff`).

use weir_core::view::diff::{DiffLineKind, diff_lines};

use crate::wire::ToolCallContent;

use super::absolute_path;

/// Places that are shown of one call.
const HUNKS_MAX: usize = 200;
/// The side of a file that is not there.
const NO_FILE: &str = "/dev/null";

/// A place of a file, as far as it was read.
#[derive(Default)]
struct HunkTexts {
    old: String,
    new: String,
    is_open: bool,
}

/// Where in a file a change begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedPlace {
    /// The file, absolute.
    pub(crate) path: String,
    /// The first line that is shown, counted from 1.
    pub(crate) line: u32,
}

/// The changes of a unified diff, in order.
pub(crate) fn diff_contents(text: &str, root: &str) -> Vec<ToolCallContent> {
    let mut reader = DiffReader { root, ..DiffReader::default() };
    for line in diff_lines(text.lines()) {
        match line.kind {
            DiffLineKind::File => reader.read_file_head(line.line),
            DiffLineKind::Hunk => reader.begin_hunk(),
            DiffLineKind::Same => reader.add_line(Some(line.text), Some(line.text)),
            DiffLineKind::Removed => reader.add_line(Some(line.text), None),
            DiffLineKind::Added => reader.add_line(None, Some(line.text)),
            DiffLineKind::Note => reader.read_note(line.line),
        }
    }
    reader.end_hunk();
    reader.contents
}

/// Where the changes of a unified diff stand: the first place of each file.
pub(super) fn changed_places(text: &str, root: &str) -> Vec<ChangedPlace> {
    let mut places: Vec<ChangedPlace> = Vec::new();
    let mut path = None;
    for line in diff_lines(text.lines()) {
        if line.kind == DiffLineKind::File {
            path = side_path(line.line, root).or(path);
        } else if line.kind == DiffLineKind::Hunk
            && let Some(path) = path.take()
        {
            places.push(ChangedPlace { path, line: hunk_line(line.line) });
        }
    }
    places
}

/// The first line of the new side of `@@ -1,2 +3,4 @@`.
fn hunk_line(head: &str) -> u32 {
    let new = head.split(' ').find_map(|word| word.strip_prefix('+'));
    let first = new.and_then(|range| range.split(',').next()?.parse::<u32>().ok());
    first.unwrap_or(1).max(1)
}

/// The file that `--- a/x` or `+++ b/x` names.
fn side_path(head: &str, root: &str) -> Option<String> {
    let named = head.strip_prefix("--- ").or_else(|| head.strip_prefix("+++ "))?;
    let named = named.strip_prefix("a/").or_else(|| named.strip_prefix("b/")).unwrap_or(named);
    (named != NO_FILE).then(|| absolute_path(root, named))
}

#[derive(Default)]
struct DiffReader<'a> {
    root: &'a str,
    path: Option<String>,
    is_new_file: bool,
    hunk: HunkTexts,
    contents: Vec<ToolCallContent>,
}

impl DiffReader<'_> {
    fn read_file_head(&mut self, head: &str) {
        self.end_hunk();
        if head.starts_with("--- ") {
            self.is_new_file = head == "--- /dev/null";
        }
        self.path = side_path(head, self.root).or_else(|| self.path.take());
    }

    fn begin_hunk(&mut self) {
        self.end_hunk();
        self.hunk.is_open = true;
    }

    fn add_line(&mut self, old: Option<&str>, new: Option<&str>) {
        for (side, line) in [(&mut self.hunk.old, old), (&mut self.hunk.new, new)] {
            if let Some(line) = line {
                side.push_str(line);
                side.push('\n');
            }
        }
        self.hunk.is_open = true;
    }

    /// A side ends without a line break: which one cannot be told from here, and no editor minds. What a text
    /// of the file would not show is said.
    fn read_note(&mut self, line: &str) {
        let is_said = line.starts_with("Binary ") || line.starts_with("Stored as ");
        if is_said && self.contents.len() < HUNKS_MAX {
            self.contents.push(ToolCallContent::text_content(line));
        }
    }

    fn end_hunk(&mut self) {
        let hunk = std::mem::take(&mut self.hunk);
        if !hunk.is_open || self.contents.len() >= HUNKS_MAX {
            return;
        }
        let Some(path) = self.path.clone() else { return };
        let old_text = (!self.is_new_file).then_some(hunk.old);
        self.contents.push(ToolCallContent::Diff { path, old_text, new_text: hunk.new });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(path: &str, old: Option<&str>, new: &str) -> ToolCallContent {
        let (path, old_text) = (path.into(), old.map(str::to_owned));
        ToolCallContent::Diff { path, old_text, new_text: new.into() }
    }

    #[test]
    fn f3_each_place_of_a_diff_is_a_text_before_and_after() {
        let text = "--- a/x/y.txt\n+++ b/x/y.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n@@ -9 +9,2 @@\n nine\n+ten\n\
                    --- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n\\ No newline at end of file\n\
                    --- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        assert_eq!(
            diff_contents(text, "/w"),
            [
                diff("/w/x/y.txt", Some("one\ntwo\n"), "one\nzwei\n"),
                diff("/w/x/y.txt", Some("nine\n"), "nine\nten\n"),
                diff("/w/new.txt", None, "fresh\n"),
                diff("/w/old.txt", Some("gone\n"), ""),
            ]
        );
        let place = |path: &str, line| ChangedPlace { path: path.into(), line };
        let places = [place("/w/x/y.txt", 1), place("/w/new.txt", 1), place("/w/old.txt", 1)];
        assert_eq!(changed_places(text, "/w"), places);
    }

    #[test]
    fn f3_a_diff_that_is_none_shows_nothing_and_breaks_nothing() {
        for text in
            ["", "no diff", "@@ -1 +1 @@\n+x\n", "+++ \n--- \n@@\n+\n", "--- a/b\n+++ b/b\n"]
        {
            let shown = diff_contents(text, "/w");
            assert!(shown.len() <= 1, "{text:?}: {shown:?}");
        }
        let binary = "--- a/b\n+++ b/b\nBinary content, 1 B before, 2 B after\n";
        let words = ToolCallContent::text_content("Binary content, 1 B before, 2 B after");
        assert_eq!(diff_contents(binary, "/w"), [words]);
        let form = "--- a/b\n+++ b/b\nStored as UTF-8, LF (before: UTF-8 with BOM, LF)\n@@ -1 +1 @@\n-a\n+b\n";
        let words =
            ToolCallContent::text_content("Stored as UTF-8, LF (before: UTF-8 with BOM, LF)");
        assert_eq!(diff_contents(form, "/w"), [words, diff("/w/b", Some("a\n"), "b\n")]);
        let many = format!("--- a/b\n+++ b/b\n{}", "@@ -1 +1 @@\n-a\n+b\n".repeat(HUNKS_MAX + 5));
        assert_eq!(diff_contents(&many, "/w").len(), HUNKS_MAX);
    }
}
