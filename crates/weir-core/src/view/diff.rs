//! Unified diffs, line by line: what is content, what is a head, and where each line stands.
//!
//! The sizes of the hunks decide it: inside a hunk every line is content, so what is written there
//! cannot pose as the head of a file. Pure, for every client alike, which only paints. Not here: how a
//! diff is made, what is cut ([`super::visible`]), colours.

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLineKind {
    /// The name of a file.
    File,
    /// Where a hunk stands.
    Hunk,
    /// `\ No newline at end of file`, `index …`.
    Note,
    /// A line that both sides have.
    Same,
    /// A line that the diff adds.
    Added,
    /// A line that the diff takes away.
    Removed,
}

/// A line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// What it is.
    pub kind: DiffLineKind,
    /// Where it stands: in the new file, or in the old one if it was taken away. `None`: it is no
    /// content, or the diff has no heads.
    pub number: Option<usize>,
    /// As it is written.
    pub line: &'a str,
    /// Without its sign, where it has one.
    pub text: &'a str,
}

/// Where the reading of a hunk is.
#[derive(Default)]
struct HunkProgress {
    old_left: usize,
    new_left: usize,
    old: usize,
    new: usize,
}

/// The lines of a diff, in order and lazily.
pub fn diff_lines<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = DiffLine<'a>> {
    let mut hunk = HunkProgress::default();
    lines.map(move |line| hunk.classify_line(line))
}

/// A path as it stands in the head of a file: a line break in it is written out, because what comes
/// after one would be read as a line of the diff.
pub fn header_name(path: &str) -> String {
    path.replace('\n', "<U+000A>").replace('\r', "<U+000D>")
}

impl HunkProgress {
    fn classify_line<'a>(&mut self, line: &'a str) -> DiffLine<'a> {
        let whole = |kind| DiffLine { kind, number: None, line, text: line };
        let signed =
            |kind| DiffLine { kind, number: None, line, text: line.get(1..).unwrap_or_default() };
        if self.old_left > 0 || self.new_left > 0 {
            return self.classify_content(line);
        }
        if let Some(head) = line.strip_prefix("@@ -") {
            if let Some(hunk) = HunkProgress::from_head(head) {
                *self = hunk;
            }
            return whole(DiffLineKind::Hunk);
        }
        match line.as_bytes() {
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => {
                whole(DiffLineKind::File)
            }
            // A difference without heads.
            [b'+', ..] => signed(DiffLineKind::Added),
            [b'-', ..] => signed(DiffLineKind::Removed),
            [b' ', ..] => signed(DiffLineKind::Same),
            [b'@', b'@', ..] => whole(DiffLineKind::Hunk),
            _ if line.starts_with("diff ") => whole(DiffLineKind::File),
            _ => whole(DiffLineKind::Note),
        }
    }

    /// A line inside a hunk.
    fn classify_content<'a>(&mut self, line: &'a str) -> DiffLine<'a> {
        let (old, new) = (self.old, self.new);
        let (kind, number, is_signed) = match line.as_bytes().first() {
            Some(b'+') => {
                self.new_left = self.new_left.saturating_sub(1);
                self.new = self.new.saturating_add(1);
                (DiffLineKind::Added, Some(new), true)
            }
            Some(b'-') => {
                self.old_left = self.old_left.saturating_sub(1);
                self.old = self.old.saturating_add(1);
                (DiffLineKind::Removed, Some(old), true)
            }
            Some(b'\\') => (DiffLineKind::Note, None, false),
            first => {
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
                (self.old, self.new) = (old.saturating_add(1), new.saturating_add(1));
                (DiffLineKind::Same, Some(new), first == Some(&b' '))
            }
        };
        let text = if is_signed { line.get(1..).unwrap_or_default() } else { line };
        DiffLine { kind, number, line, text }
    }

    /// What `12,3 +12,4 @@` says.
    fn from_head(head: &str) -> Option<HunkProgress> {
        // A first line that is no number still begins a hunk: what follows is content.
        let range = |range: &str| match range.split_once(',') {
            Some((first, length)) => Some((first.parse().unwrap_or(0), length.parse().ok()?)),
            None => Some((range.parse().unwrap_or(0), 1)),
        };
        let mut words = head.split(' ');
        let (old, old_left) = range(words.next()?)?;
        let (new, new_left) = range(words.next()?.strip_prefix('+')?)?;
        Some(HunkProgress { old_left, new_left, old, new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(DiffLineKind, Option<usize>, &str)> {
        diff_lines(text.lines()).map(|line| (line.kind, line.number, line.text)).collect()
    }

    #[test]
    fn l2_content_of_a_diff_cannot_pose_as_a_head() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -9,2 +9,3 @@ fn\n one\n--- a/y\n+++ b/y\n\
                    +z\n\\ No newline at end of file\n";
        assert_eq!(
            kinds(text),
            [
                (DiffLineKind::File, None, "diff --git a/x b/x"),
                (DiffLineKind::File, None, "--- a/x"),
                (DiffLineKind::File, None, "+++ b/x"),
                (DiffLineKind::Hunk, None, "@@ -9,2 +9,3 @@ fn"),
                (DiffLineKind::Same, Some(9), "one"),
                (DiffLineKind::Removed, Some(10), "-- a/y"),
                (DiffLineKind::Added, Some(10), "++ b/y"),
                (DiffLineKind::Added, Some(11), "z"),
                (DiffLineKind::Note, None, "\\ No newline at end of file"),
            ]
        );
    }

    #[test]
    fn l2_a_diff_without_heads_is_read_by_its_signs() {
        assert_eq!(
            kinds("-a\n+b\n c\nd\n"),
            [
                (DiffLineKind::Removed, None, "a"),
                (DiffLineKind::Added, None, "b"),
                (DiffLineKind::Same, None, "c"),
                (DiffLineKind::Note, None, "d"),
            ]
        );
    }

    #[test]
    fn z10_heads_that_lie_break_nothing() {
        for text in [
            "@@ -1,99999999999999999999 +1 @@\n+x\n",
            "@@ -18446744073709551615,9 +18446744073709551615,9 @@\n+a\n-b\n c\n\né\n",
            "@@ -\n@@\n@@ -a +b @@\n",
            "@@ -1 +1 @@\né\n",
        ] {
            assert_eq!(kinds(text).len(), text.lines().count(), "{text:?}");
        }
    }
}
