//! The difference of what a path held and holds: in words and numbers, and as a unified diff.
//! Bounded in time and size. Not here: the difference that a person approves (`weir_core::view`).

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use weir_core::view::diff::header_name;
use weir_core::view::plain;
use weir_engine::ports::FileContent;
use weir_engine::sniff::has_nul;
use weir_engine::text_diff;
use weir_engine::text_form::{TextEncoding, describe_form_change};

/// Most bytes of diff text for one file.
const DIFF_BYTES_MAX: usize = 1 << 20;
/// Most lines of both sides for which the smallest difference is sought.
const DIFF_LINES_MAX: usize = 50_000;

/// A change of one path in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathChangeStats {
    /// `created`, `deleted`, `changed`, `same`.
    pub what: &'static str,
    /// Lines that come and go, where both sides are text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
    /// Bytes before and after, where one side is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(usize, usize)>,
    /// How the text is stored, where its lines do not show that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
}

impl std::fmt::Display for PathChangeStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)?;
        if let Some((added, removed)) = self.lines {
            write!(f, ", +{added} -{removed}")?;
        }
        if let Some((before, after)) = self.bytes {
            write!(f, ", binary, {before} -> {after} bytes")?;
        }
        if let Some(stored) = &self.stored {
            write!(f, "; {stored}")?;
        }
        Ok(())
    }
}

/// What becomes of a path that held `old` when it holds `new`.
pub fn compare_path_contents(old: &FileContent, new: &FileContent) -> PathChangeStats {
    let what = match (old, new) {
        _ if old == new => "same",
        (FileContent::Absent, _) => "created",
        (_, FileContent::Absent) => "deleted",
        _ => "changed",
    };
    let lines = match (content_as_text(old), content_as_text(new)) {
        (Some(old), Some(new)) if is_small_diff(&old, &new) => {
            Some(text_diff::count_changed_lines(&old, &new))
        }
        (Some(old), Some(new)) => Some((new.lines().count(), old.lines().count())),
        _ => None,
    };
    PathChangeStats {
        what,
        lines,
        bytes: lines.is_none().then(|| (content_size(old), content_size(new))),
        stored: lines.and_then(|_| describe_stored_form(old, new)),
    }
}

/// The difference as a unified diff; empty when there is none.
pub fn render_unified_diff(path: &str, old: &FileContent, new: &FileContent) -> String {
    if old == new {
        return String::new();
    }
    // A line break in a name would begin a line that looks like part of the difference.
    let path = header_name(path);
    let side = |letter: char, content: &FileContent| match content {
        FileContent::Absent => "/dev/null".to_owned(),
        _ => format!("{letter}/{path}"),
    };
    let (from, to) = (side('a', old), side('b', new));
    let mut out = format!("--- {from}\n+++ {to}\n");
    if let (FileContent::File { mode: old, .. }, FileContent::File { mode: new, .. }) = (old, new)
        && old != new
    {
        let _ = writeln!(out, "mode {old:o} -> {new:o}");
    }
    let texts = (content_as_text(old), content_as_text(new));
    if let (Some(_), Some(_)) = &texts
        && let Some(form) = describe_stored_form(old, new)
    {
        let _ = writeln!(out, "{form}");
    }
    match texts {
        (Some(old), Some(new)) if is_small_diff(&old, &new) => {
            push_truncated_diff(&mut out, &text_diff::render_unified_diff(&old, &new, 3));
        }
        (Some(old), Some(new)) => {
            let (old, new) = (old.lines().count(), new.lines().count());
            let _ = writeln!(out, "Too large to compare line by line: {old} -> {new} lines");
        }
        _ => {
            let _ = writeln!(out, "{} -> {}", describe_content(old), describe_content(new));
        }
    }
    out
}

/// The diff as a terminal may show it: the text of others moves no cursor.
pub fn make_diff_visible(diff: &str) -> String {
    diff.lines().map(|line| plain::visible_text(line) + "\n").collect()
}

/// Text of a file without its mark; nothing at all counts as empty text. `None`: it is no text.
pub fn content_as_text(content: &FileContent) -> Option<Cow<'_, str>> {
    match content {
        FileContent::Absent => Some("".into()),
        FileContent::File { bytes, .. } if has_nul(bytes) => None,
        FileContent::File { bytes, .. } => match TextEncoding::of_file(bytes).decode(bytes).ok()? {
            Cow::Borrowed(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
            Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
        },
        FileContent::Folder | FileContent::Link { .. } => None,
    }
}

/// How a text is stored that comes in the place of another, where the lines do not show that.
pub fn describe_stored_form(old: &FileContent, new: &FileContent) -> Option<String> {
    fn file_bytes(content: &FileContent) -> Option<&[u8]> {
        match content {
            FileContent::File { bytes, .. } => Some(bytes),
            FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => None,
        }
    }
    describe_form_change(file_bytes(old), file_bytes(new))
}

fn is_small_diff(old: &str, new: &str) -> bool {
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    lines(old) + lines(new) <= DIFF_LINES_MAX
}

fn content_size(content: &FileContent) -> usize {
    match content {
        FileContent::File { bytes, .. } => bytes.len(),
        FileContent::Link { target } => target.len(),
        FileContent::Absent | FileContent::Folder => 0,
    }
}

fn describe_content(content: &FileContent) -> String {
    match content {
        FileContent::Absent => "nothing".into(),
        FileContent::Folder => "a folder".into(),
        FileContent::Link { target } => format!("a link to {target}"),
        FileContent::File { bytes, .. } if content_as_text(content).is_some() => {
            format!("a text of {} bytes", bytes.len())
        }
        FileContent::File { bytes, .. } => format!("binary content of {} bytes", bytes.len()),
    }
}

fn push_truncated_diff(out: &mut String, body: &str) {
    if body.len() <= DIFF_BYTES_MAX {
        out.push_str(body);
        return;
    }
    let end = body.floor_char_boundary(DIFF_BYTES_MAX);
    let kept = body[..end].rfind('\n').map_or(end, |at| at + 1);
    out.push_str(&body[..kept]);
    let _ = writeln!(out, "… (diff truncated; {} bytes in total)", body.len());
}

#[cfg(test)]
mod tests {
    use weir_engine::utf16::ByteOrder;

    use super::*;

    fn file(text: &[u8]) -> FileContent {
        FileContent::File { bytes: text.into(), mode: 0o644 }
    }

    #[test]
    fn g7_changes_are_counted_in_lines_and_binary_is_said() {
        let counted = compare_path_contents(&file(b"a\nb\n"), &file(b"a\nc\nd\n"));
        assert_eq!(counted.to_string(), "changed, +2 -1");
        let made = compare_path_contents(&FileContent::Absent, &file(b"a\n"));
        assert_eq!(made.to_string(), "created, +1 -0");
        let binary = compare_path_contents(&file(b"\0\x01"), &FileContent::Absent);
        assert_eq!(binary.to_string(), "deleted, binary, 2 -> 0 bytes");
        let shown = render_unified_diff("x", &file(b"\0\x01"), &FileContent::Absent);
        assert_eq!(shown, "--- a/x\n+++ /dev/null\nbinary content of 2 bytes -> nothing\n");
        let shown = render_unified_diff("x", &file(b"a\n"), &file(b"b\n"));
        assert_eq!(shown, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    }

    #[test]
    fn g7_text_in_utf_16_is_text_and_a_change_of_the_form_alone_is_shown() {
        let [old, new] = ["a\nb\n", "a\nc\n"].map(|text| file(&ByteOrder::Little.encode(text)));
        assert_eq!(
            compare_path_contents(&old, &new).to_string(),
            "changed, +1 -1; Stored as UTF-16LE, LF"
        );
        let head = "--- a/x\n+++ b/x\n";
        let lines = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
        assert_eq!(
            render_unified_diff("x", &old, &new),
            format!("{head}Stored as UTF-16LE, LF\n{lines}")
        );
        let plain = file(b"a\nb\n");
        assert_eq!(
            render_unified_diff("x", &old, &plain),
            format!("{head}Stored as UTF-8, LF (before: UTF-16LE, LF)\n")
        );
        let marked = file(b"\xef\xbb\xbfa\nb\n");
        assert_eq!(
            compare_path_contents(&marked, &plain).to_string(),
            "changed, +0 -0; Stored as UTF-8, LF (before: UTF-8 with BOM, LF)"
        );
        let broken = file(b"\xff\xfea\0\x00\xd8");
        assert_eq!(
            compare_path_contents(&broken, &old).to_string(),
            "changed, binary, 6 -> 10 bytes"
        );
    }

    #[test]
    fn z10_a_name_with_a_line_break_begins_no_line_of_a_difference() {
        let shown = render_unified_diff("x\n+++ b/y", &FileContent::Absent, &file(b"b\n"));
        assert_eq!(shown, "--- /dev/null\n+++ b/x<U+000A>+++ b/y\n@@ -0,0 +1 @@\n+b\n");
    }
}
