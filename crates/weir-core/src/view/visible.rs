//! What a person must see before they say yes (Z10): letters that look like others are named, and a
//! long difference is cut where everybody sees it.
//!
//! Pure, for every face alike. Single characters that hide or turn a line round, and letters that look
//! like others, are `safe_text`'s; nothing here decides whether a call may run.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::event::ApprovalRequested;
use crate::safe_text::visible_text;

pub use crate::safe_text::look_alikes;

/// What in the arguments of a call that is asked about is not what it looks like: commands, addresses,
/// paths. The content of files is left out: people write in every alphabet there.
pub fn lookalike_remarks(asked: &ApprovalRequested) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each_text(&asked.input, &mut |text| {
        if asked.diff.is_some() && text.contains('\n') {
            return;
        }
        for remark in look_alikes(text) {
            if !found.contains(&remark) {
                found.push(remark);
            }
        }
    });
    found
}

fn each_text(value: &Value, hear: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => hear(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, hear)),
        Value::Object(fields) => fields.values().for_each(|item| each_text(item, hear)),
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

/// A difference as it is put before a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDiff {
    /// How much there is, said first: `2 files, 10,000 lines: 9,990 added, 4 removed`.
    pub head: String,
    /// Its lines, safe to look at; not more than asked for.
    pub lines: Vec<String>,
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
    // Inside a hunk every line is content: what is written there cannot pose as a file's head.
    let mut hunk = (0_usize, 0_usize);
    let mut before = "";
    for line in text.lines() {
        total += 1;
        if hunk != (0, 0) {
            match line.as_bytes().first() {
                Some(b'+') => {
                    added += 1;
                    hunk.1 = hunk.1.saturating_sub(1);
                }
                Some(b'-') => {
                    removed += 1;
                    hunk.0 = hunk.0.saturating_sub(1);
                }
                Some(b'\\') => (),
                _ => hunk = (hunk.0.saturating_sub(1), hunk.1.saturating_sub(1)),
            }
        } else if let Some(sizes) = line.strip_prefix("@@ -").and_then(hunk_sizes) {
            hunk = sizes;
        } else if let (Some(new), Some(old)) =
            (line.strip_prefix("+++ "), before.strip_prefix("--- "))
        {
            files.insert((old, new));
        }
        before = line;
    }
    let lines: Vec<String> = text.lines().take(lines_max).map(visible_text).collect();
    let head = format!(
        "{}, {}: {} added, {} removed",
        count_text(files.len(), "file"),
        count_text(total, "line"),
        grouped_number(added),
        grouped_number(removed)
    );
    ShownDiff { head, left: total - lines.len(), lines }
}

/// The two lengths in `12,3 +12,4 @@`.
pub fn hunk_sizes(text: &str) -> Option<(usize, usize)> {
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    let mut words = text.split(' ');
    let old = length(words.next()?)?;
    let new = length(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
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
