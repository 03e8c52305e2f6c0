//! Unified diffs: every line with its number and sign, and what changed within a line marked.
//!
//! What is a head and what is content is decided by the sizes of the hunks, as in
//! `weir_core::view::visible::diff`: content cannot pose as a file's head. Not here: how a difference
//! is made, and its summary.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use weir_core::view::visible::{grouped_number, hunk_sizes};

use super::clean::clean_line;
use super::theme::Theme;
use super::wrap::{line_width, wrap_exact};

mod words;

use words::changed_ranges;

/// Longest line that is shown whole, in characters; of a longer one it says how many there are more.
const LINE_CHARS_MAX: usize = 2000;
/// Fewest cells of text beside the numbers; where there are fewer, the numbers go.
const TEXT_CELLS_MIN: usize = 16;

/// A diff in lines of at most `width` cells, with line numbers and what changed within a line marked;
/// at most `lines_max` lines, the last of which says how many were left out.
pub fn render_diff(
    diff: &str,
    width: usize,
    lines_max: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let total = diff.lines().count();
    let rows = diff_rows(diff.lines().take(lines_max.saturating_add(1)));
    let last = rows.iter().filter_map(|row| row.number).max().unwrap_or(0);
    let digits = if last == 0 { 0 } else { last.to_string().len() };
    let gutter = if digits + 3 + TEXT_CELLS_MIN > width { 0 } else { digits };
    let pairs = pair_rows(&rows);
    let mut out: Vec<Line<'static>> = Vec::new();
    // Where the lines of each row begin in `out`.
    let mut begins = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        begins.push(out.len());
        let other = pairs.get(at).copied().flatten().map(|other| rows[other].text.as_str());
        out.extend(row.render_lines(other, DiffLayout { width, gutter }, theme));
        if out.len() > lines_max {
            break;
        }
    }
    if out.len() <= lines_max {
        return out;
    }
    let room = lines_max.saturating_sub(1);
    let mut shown = begins.iter().filter(|begin| **begin <= room).count().saturating_sub(1);
    if shown == 0 && room > 0 {
        // The first line alone is too long: its beginning is more than nothing.
        out.truncate(room);
        shown = 1;
    } else {
        out.truncate(begins.get(shown).copied().unwrap_or(0).min(room));
    }
    if lines_max > 0 {
        let left = total - shown;
        let said = match left {
            0 => "… and the rest of this line".to_owned(),
            1 => "… 1 more line".to_owned(),
            left => format!("… {} more lines", grouped_number(left)),
        };
        out.push(super::wrap::cut_line(Line::from(Span::styled(said, theme.warn)), width));
    }
    out
}

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffRowKind {
    /// Names of files.
    File,
    /// Where a hunk stands.
    Hunk,
    /// `\ No newline at end of file`, `index …`.
    Note,
    Same,
    Added,
    Removed,
}

struct DiffRow {
    kind: DiffRowKind,
    /// Where the line stands: in the new file, or in the old one if it was taken away.
    number: Option<usize>,
    /// Without its sign, safe to look at.
    text: String,
}

#[derive(Clone, Copy)]
struct DiffLayout {
    width: usize,
    /// Digits of numbers; none: no numbers.
    gutter: usize,
}

/// Where the reading of a hunk is.
#[derive(Default)]
struct HunkProgress {
    old_left: usize,
    new_left: usize,
    old: usize,
    new: usize,
}

fn diff_rows<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<DiffRow> {
    let mut hunk = HunkProgress::default();
    lines.map(|line| diff_row(line, &mut hunk)).collect()
}

fn diff_row(line: &str, hunk: &mut HunkProgress) -> DiffRow {
    let whole = |kind| DiffRow { kind, number: None, text: displayed_line(line) };
    let rest = |kind, number| {
        let text = line.get(1..).map(displayed_line).unwrap_or_default();
        DiffRow { kind, number, text }
    };
    if hunk.old_left > 0 || hunk.new_left > 0 {
        let (old, new) = (hunk.old, hunk.new);
        return match line.as_bytes().first() {
            Some(b'+') => {
                hunk.new_left = hunk.new_left.saturating_sub(1);
                hunk.new += 1;
                rest(DiffRowKind::Added, Some(new))
            }
            Some(b'-') => {
                hunk.old_left = hunk.old_left.saturating_sub(1);
                hunk.old += 1;
                rest(DiffRowKind::Removed, Some(old))
            }
            Some(b'\\') => whole(DiffRowKind::Note),
            first => {
                hunk.old_left = hunk.old_left.saturating_sub(1);
                hunk.new_left = hunk.new_left.saturating_sub(1);
                (hunk.old, hunk.new) = (hunk.old + 1, hunk.new + 1);
                match first {
                    Some(b' ') => rest(DiffRowKind::Same, Some(new)),
                    _ => DiffRow {
                        kind: DiffRowKind::Same,
                        number: Some(new),
                        text: displayed_line(line),
                    },
                }
            }
        };
    }
    if let Some(head) = line.strip_prefix("@@ -") {
        if let Some((old, new)) = hunk_starts(head)
            && let Some((old_left, new_left)) = hunk_sizes(head)
        {
            *hunk = HunkProgress { old_left, new_left, old, new };
        }
        return whole(DiffRowKind::Hunk);
    }
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => whole(DiffRowKind::File),
        // A difference without heads.
        [b'+', ..] => rest(DiffRowKind::Added, None),
        [b'-', ..] => rest(DiffRowKind::Removed, None),
        [b' ', ..] => rest(DiffRowKind::Same, None),
        [b'@', b'@', ..] => whole(DiffRowKind::Hunk),
        _ if line.starts_with("diff ") => whole(DiffRowKind::File),
        _ => whole(DiffRowKind::Note),
    }
}

/// The first lines of the two sides in `12,3 +12,4 @@`.
fn hunk_starts(head: &str) -> Option<(usize, usize)> {
    let first = |range: &str| range.split(',').next()?.parse().ok();
    let mut words = head.split(' ');
    Some((first(words.next()?)?, first(words.next()?.strip_prefix('+')?)?))
}

/// A line as it may be shown; one that is too long says so.
fn displayed_line(line: &str) -> String {
    let Some((cut, _)) = line.char_indices().nth(LINE_CHARS_MAX) else {
        return clean_line(line).into_owned();
    };
    let left = grouped_number(line[cut..].chars().count());
    format!("{}… {left} more characters", clean_line(&line[..cut]))
}

/// Of every row: the row that it became, or was.
fn pair_rows(rows: &[DiffRow]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; rows.len()];
    let run = |from: usize, kind: DiffRowKind| {
        rows[from..].iter().take_while(|row| row.kind == kind).count()
    };
    let mut at = 0;
    while at < rows.len() {
        let removed = run(at, DiffRowKind::Removed);
        let added = run(at + removed, DiffRowKind::Added);
        // Runs of different length are other text, not changed text.
        if removed == added {
            for pair in 0..removed {
                pairs[at + pair] = Some(at + removed + pair);
                pairs[at + removed + pair] = Some(at + pair);
            }
        }
        at += (removed + added).max(1);
    }
    pairs
}

impl DiffRow {
    fn render_lines(
        &self,
        other: Option<&str>,
        place: DiffLayout,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        let (sign, style, marked) = match self.kind {
            DiffRowKind::File => return self.render_whole_row(place, theme.heading),
            DiffRowKind::Hunk => return self.render_whole_row(place, theme.accent),
            DiffRowKind::Note => return self.render_whole_row(place, theme.quiet),
            DiffRowKind::Same => (" ", theme.text, theme.text),
            DiffRowKind::Added => ("+", theme.added, theme.added_word()),
            DiffRowKind::Removed => ("-", theme.removed, theme.removed_word()),
        };
        let number = match (place.gutter, self.number) {
            (0, _) => String::new(),
            (digits, Some(number)) => format!("{number:>digits$} "),
            (digits, None) => " ".repeat(digits + 1),
        };
        let parts = other.map(|other| changed_ranges(&self.text, other)).unwrap_or_default();
        let mut text = Line::default();
        let mut at = 0;
        for part in parts {
            text.push_span(Span::styled(self.text[at..part.start].to_owned(), style));
            text.push_span(Span::styled(self.text[part.clone()].to_owned(), marked));
            at = part.end;
        }
        text.push_span(Span::styled(self.text[at..].to_owned(), style));
        let first = Line::from(vec![
            Span::styled(number, theme.quiet),
            Span::styled(format!("{sign} "), style),
        ]);
        let edge = line_width(&first).min(place.width / 2);
        let mut lines = wrap_exact(&text, place.width.saturating_sub(edge), 0);
        for (at, line) in lines.iter_mut().enumerate() {
            let before = match at {
                0 => super::wrap::cut_line(first.clone(), edge).spans,
                _ => vec![Span::raw(" ".repeat(edge))],
            };
            line.spans.splice(0..0, before);
            line.spans.retain(|span| !span.content.is_empty());
        }
        lines
    }

    fn render_whole_row(&self, place: DiffLayout, style: Style) -> Vec<Line<'static>> {
        wrap_exact(&Line::from(Span::styled(self.text.clone(), style)), place.width, 2)
    }
}

#[cfg(test)]
mod tests;
