//! The difference of what a path held and holds: in words and numbers, and as a unified diff.
//! Bounded in time and size.

use std::fmt::Write as _;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use weir_core::view::plain;
use weir_engine::ports::Content;

/// Most bytes of diff text for one file.
const DIFF_BYTES_MAX: usize = 1 << 20;
/// Most lines of both sides for which the smallest difference is sought.
const DIFF_LINES_MAX: usize = 50_000;
/// Bytes in which a NUL is looked for.
const PROBE_BYTES: usize = 8_192;

/// A change of one path in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::command) struct Change {
    /// `created`, `deleted`, `changed`, `same`.
    pub(in crate::command) what: &'static str,
    /// Lines that come and go, where both sides are text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::command) lines: Option<(usize, usize)>,
    /// Bytes before and after, where one side is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::command) bytes: Option<(usize, usize)>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)?;
        if let Some((added, removed)) = self.lines {
            write!(f, ", +{added} -{removed}")?;
        }
        if let Some((before, after)) = self.bytes {
            write!(f, ", binary, {before} -> {after} bytes")?;
        }
        Ok(())
    }
}

/// What becomes of a path that held `old` when it holds `new`.
pub(in crate::command) fn change(old: &Content, new: &Content) -> Change {
    let what = match (old, new) {
        _ if old == new => "same",
        (Content::Absent, _) => "created",
        (_, Content::Absent) => "deleted",
        _ => "changed",
    };
    match (text(old), text(new)) {
        (Some(old), Some(new)) if small(old, new) => {
            let diff = TextDiff::from_lines(old, new);
            let count = |tag| diff.iter_all_changes().filter(|c| c.tag() == tag).count();
            let lines = Some((count(ChangeTag::Insert), count(ChangeTag::Delete)));
            Change { what, lines, bytes: None }
        }
        (Some(old), Some(new)) => {
            Change { what, lines: Some((new.lines().count(), old.lines().count())), bytes: None }
        }
        _ => Change { what, lines: None, bytes: Some((size(old), size(new))) },
    }
}

/// The difference as a unified diff; empty when there is none.
pub(crate) fn unified(path: &str, old: &Content, new: &Content) -> String {
    if old == new {
        return String::new();
    }
    let side = |letter: char, content: &Content| match content {
        Content::Absent => "/dev/null".to_owned(),
        _ => format!("{letter}/{path}"),
    };
    let (from, to) = (side('a', old), side('b', new));
    let mut out = format!("--- {from}\n+++ {to}\n");
    if let (Content::File { mode: old, .. }, Content::File { mode: new, .. }) = (old, new)
        && old != new
    {
        let _ = writeln!(out, "mode {old:o} -> {new:o}");
    }
    match (text(old), text(new)) {
        (Some(old), Some(new)) if small(old, new) => {
            let diff = TextDiff::from_lines(old, new);
            let body = diff.unified_diff().context_radius(3).to_string();
            cut(&mut out, &body);
        }
        (Some(old), Some(new)) => {
            let (old, new) = (old.lines().count(), new.lines().count());
            let _ = writeln!(out, "Too large to compare line by line: {old} -> {new} lines");
        }
        _ => {
            let _ = writeln!(out, "{} -> {}", kind(old), kind(new));
        }
    }
    out
}

/// The diff as a terminal may show it: the text of others moves no cursor.
pub(in crate::command) fn visible(diff: &str) -> String {
    diff.lines().map(|line| plain::visible(line) + "\n").collect()
}

/// Text of a file; nothing at all counts as empty text.
fn text(content: &Content) -> Option<&str> {
    match content {
        Content::Absent => Some(""),
        Content::File { bytes, .. } => {
            let probe = &bytes[..bytes.len().min(PROBE_BYTES)];
            std::str::from_utf8(bytes).ok().filter(|_| !probe.contains(&0))
        }
        Content::Folder | Content::Link { .. } => None,
    }
}

fn small(old: &str, new: &str) -> bool {
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    lines(old) + lines(new) <= DIFF_LINES_MAX
}

fn size(content: &Content) -> usize {
    match content {
        Content::File { bytes, .. } => bytes.len(),
        Content::Link { target } => target.len(),
        Content::Absent | Content::Folder => 0,
    }
}

fn kind(content: &Content) -> String {
    match content {
        Content::Absent => "nothing".into(),
        Content::Folder => "a folder".into(),
        Content::Link { target } => format!("a link to {target}"),
        Content::File { bytes, .. } if text(content).is_some() => {
            format!("a text of {} bytes", bytes.len())
        }
        Content::File { bytes, .. } => format!("binary content of {} bytes", bytes.len()),
    }
}

fn cut(out: &mut String, body: &str) {
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
    use super::*;

    fn file(text: &[u8]) -> Content {
        Content::File { bytes: text.into(), mode: 0o644 }
    }

    #[test]
    fn g7_changes_are_counted_in_lines_and_binary_is_said() {
        let counted = change(&file(b"a\nb\n"), &file(b"a\nc\nd\n"));
        assert_eq!(counted.to_string(), "changed, +2 -1");
        let made = change(&Content::Absent, &file(b"a\n"));
        assert_eq!(made.to_string(), "created, +1 -0");
        let binary = change(&file(b"\0\x01"), &Content::Absent);
        assert_eq!(binary.to_string(), "deleted, binary, 2 -> 0 bytes");
        let shown = unified("x", &file(b"\0\x01"), &Content::Absent);
        assert_eq!(shown, "--- a/x\n+++ /dev/null\nbinary content of 2 bytes -> nothing\n");
        let shown = unified("x", &file(b"a\n"), &file(b"b\n"));
        assert_eq!(shown, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    }
}
