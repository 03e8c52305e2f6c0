//! What a person must see before they say yes (Z10): letters that look like others are named, and a
//! long difference is cut where everybody sees it.
//!
//! Pure, for every face alike. Single characters that hide or turn a line round, and letters that look
//! like others, are `safe_text`'s; nothing here decides whether a call may run.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::diff::{DiffLineKind, diff_lines};
use crate::event::ApprovalRequested;
use crate::governance::each_text;
use crate::safe_text::visible_text;

pub use crate::safe_text::look_alikes;
pub use one_look::is_seen_at_one_look;

mod one_look;

/// What in the arguments of a call that is asked about is not what it looks like: commands, addresses,
/// paths. The content of files is left out: people write in every alphabet there.
pub fn lookalike_remarks(asked: &ApprovalRequested) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if asked.lines.is_empty() {
        remark_arguments(&asked.input, asked.diff.is_some(), &mut found);
    }
    for line in &asked.lines {
        remark_arguments(&line.input, line.diff.is_some(), &mut found);
    }
    found
}

fn remark_arguments(input: &Value, has_diff: bool, found: &mut Vec<String>) {
    each_text(input, &mut |text| {
        if has_diff && text.contains('\n') {
            return;
        }
        for remark in look_alikes(text) {
            if !found.contains(&remark) {
                found.push(remark);
            }
        }
    });
}

/// A line of a difference as it is put before a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDiffLine {
    /// What it is.
    pub kind: DiffLineKind,
    /// With its sign, safe to look at.
    pub text: String,
}

/// A difference as it is put before a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDiff {
    /// How much there is, said first: `2 files, 10,000 lines: 9,990 added, 4 removed`.
    pub head: String,
    /// Its lines; not more than asked for.
    pub lines: Vec<ShownDiffLine>,
    /// Lines that are not among them.
    pub left: usize,
}

impl ShownDiff {
    /// The cut, in words: `… 9,200 more lines`; none where nothing was cut.
    pub fn cut_notice(&self) -> Option<String> {
        let word = if self.left == 1 { "line" } else { "lines" };
        (self.left > 0).then(|| format!("… {} more {word}", grouped_number(self.left)))
    }
}

/// The unified diff `text` with at most `lines_max` of its lines.
pub fn cut_diff(text: &str, lines_max: usize) -> ShownDiff {
    let (mut files, mut added, mut removed, mut total) = (BTreeSet::new(), 0_usize, 0_usize, 0);
    let mut before = "";
    let mut lines = Vec::new();
    for line in diff_lines(text.lines()) {
        total += 1;
        match line.kind {
            DiffLineKind::Added => added += usize::from(line.number.is_some()),
            DiffLineKind::Removed => removed += usize::from(line.number.is_some()),
            DiffLineKind::File => {
                if let (Some(new), Some(old)) =
                    (line.line.strip_prefix("+++ "), before.strip_prefix("--- "))
                {
                    files.insert((old, new));
                }
            }
            DiffLineKind::Hunk | DiffLineKind::Note | DiffLineKind::Same => (),
        }
        before = line.line;
        if lines.len() < lines_max {
            lines.push(ShownDiffLine { kind: line.kind, text: visible_text(line.line) });
        }
    }
    let head = format!(
        "{}, {}: {} added, {} removed",
        count_text(files.len(), "file"),
        count_text(total, "line"),
        grouped_number(added),
        grouped_number(removed)
    );
    ShownDiff { head, left: total - lines.len(), lines }
}

/// The arguments of a call, one a line. A text of several lines stands below its name, two blanks further
/// in: not more than `lines_max` of them, and then what `left_words` says of those that are left.
pub fn argument_lines(
    fields: &Map<String, Value>,
    lines_max: usize,
    left_words: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in fields {
        let name = visible_text(name);
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                lines.push(format!("{name}:"));
                let shown = text.lines().take(lines_max);
                lines.extend(shown.map(|line| format!("  {}", visible_text(line))));
                let left = text.lines().count().saturating_sub(lines_max);
                if left > 0 {
                    lines.push(format!("  {}", left_words(left)));
                }
            }
            Some(text) => lines.push(format!("{name}: {}", visible_text(text))),
            None => lines.push(format!("{name}: {}", visible_text(&value.to_string()))),
        }
    }
    lines
}

fn count_text(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {word}{plural}", grouped_number(number))
}

/// A number as people read it: `9,200`.
pub fn grouped_number(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
