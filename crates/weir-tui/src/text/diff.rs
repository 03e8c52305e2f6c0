//! Unified diffs: every line with its number and sign, and what changed within a line marked.
//!
//! What is a head and what is content says `weir_core::view::diff`. Not here: how a difference is made,
//! and its summary.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use weir_core::view::diff::{DiffLine, DiffLineKind, diff_lines};
use weir_core::view::visible::grouped_number;

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
    let lines = diff_lines(diff.lines().take(lines_max.saturating_add(1)));
    let rows: Vec<DiffRow> = lines.map(|line| DiffRow::of_line(&line)).collect();
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

struct DiffRow {
    kind: DiffLineKind,
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

impl DiffRow {
    fn of_line(line: &DiffLine<'_>) -> DiffRow {
        DiffRow { kind: line.kind, number: line.number, text: displayed_line(line.text) }
    }
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
    let run = |from: usize, kind: DiffLineKind| {
        rows[from..].iter().take_while(|row| row.kind == kind).count()
    };
    let mut at = 0;
    while at < rows.len() {
        let removed = run(at, DiffLineKind::Removed);
        let added = run(at + removed, DiffLineKind::Added);
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
            DiffLineKind::File => return self.render_whole_row(place, theme.heading),
            DiffLineKind::Hunk => return self.render_whole_row(place, theme.accent),
            DiffLineKind::Note => return self.render_whole_row(place, theme.quiet),
            DiffLineKind::Same => (" ", theme.text, theme.text),
            DiffLineKind::Added => ("+", theme.added, theme.added_word()),
            DiffLineKind::Removed => ("-", theme.removed, theme.removed_word()),
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
