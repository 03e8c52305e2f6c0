//! The edge of a full screen: title above, keys below; and how found words are marked. Pure.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::ScreenView;
use super::typed::DialogLineInput;
use crate::terminal::TerminalSize;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, text_width};

/// A size to count with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameSize {
    /// Cells across.
    pub(crate) columns: usize,
    /// Rows down.
    pub(crate) rows: usize,
}

impl FrameSize {
    /// All of the screen.
    pub(crate) fn from_size(size: TerminalSize) -> FrameSize {
        FrameSize { columns: size.columns.into(), rows: size.rows.into() }
    }

    /// What is left of it between title and keys.
    pub(crate) fn body_size(self) -> FrameSize {
        FrameSize { rows: self.rows.saturating_sub(2), ..self }
    }
}

/// A full screen: `title`, `body` filled up with empty lines, `keys`.
pub(crate) fn frame_view(
    size: FrameSize,
    title: Line<'_>,
    body: Vec<Line<'_>>,
    keys: Line<'_>,
) -> ScreenView {
    if size.rows == 0 || size.columns == 0 {
        return ScreenView::default();
    }
    let rows = size.body_size().rows;
    let mut lines = vec![cut_line(title, size.columns)];
    lines.extend(body.into_iter().take(rows).map(|line| cut_line(line, size.columns)));
    lines.resize(rows + 1, Line::default());
    lines.push(cut_line(keys, size.columns));
    // One row alone says which keys close it.
    let lines = if size.rows == 1 { lines.split_off(1) } else { lines };
    ScreenView { lines, cursor: None }
}

impl ScreenView {
    /// The same with the cursor, where that place is to be seen.
    pub(crate) fn with_cursor(self, cursor: Option<(usize, usize)>, size: FrameSize) -> ScreenView {
        let rows = self.lines.len();
        let cursor = cursor.filter(|(row, cell)| *row < rows && *cell < size.columns);
        ScreenView { cursor, ..self }
    }
}

/// A title with what stands at its right end.
pub(crate) fn title_line(text: &str, right: &str, columns: usize, theme: &Theme) -> Line<'static> {
    let room = columns.saturating_sub(text_width(right) + 1);
    let text = cut_line(Line::styled(clean_text(text).replace('\n', " "), theme.heading), room);
    let gap = columns.saturating_sub(text.width() + text_width(right));
    let mut line = text;
    if text_width(right) < columns {
        line.push_span(Span::raw(" ".repeat(gap)));
        line.push_span(Span::styled(right.to_owned(), theme.quiet));
    }
    line
}

/// Keys with what they do, the most important first; what does not fit is left out.
pub(crate) fn key_line(pairs: &[(&str, &str)], columns: usize, theme: &Theme) -> Line<'static> {
    let mut line = Line::default();
    for (key, what) in pairs {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        if line.width() + text_width(gap) + text_width(key) + 1 + text_width(what) > columns {
            continue;
        }
        line.push_span(Span::raw(gap));
        line.push_span(Span::styled((*key).to_owned(), theme.accent));
        line.push_span(Span::styled(format!(" {what}"), theme.quiet));
    }
    line
}

/// Words that are looked for.
#[derive(Debug, Default)]
pub(crate) struct WordSearch {
    /// The line in which they are typed, while they are.
    pub(crate) typing: Option<DialogLineInput>,
    /// The words, in small letters; empty: nothing is looked for.
    pub(crate) words: String,
}

impl WordSearch {
    /// The line in place of the keys, while words are typed, and the cell of the cursor.
    pub(crate) fn search_line(
        &self,
        columns: usize,
        theme: &Theme,
    ) -> Option<(Line<'static>, usize)> {
        self.typing.as_ref().map(|typed| typed.render_line("/", columns, theme))
    }

    /// Whether the words stand in a text.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        !self.words.is_empty() && to_lowercase_chars(text).contains(&self.words)
    }
}

/// Small letters, one for each character: places stay the same.
pub(crate) fn to_lowercase_chars(text: &str) -> String {
    text.chars().map(small_char).collect()
}

fn small_char(c: char) -> char {
    let mut small = c.to_lowercase();
    match (small.next(), small.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// `line` with every place marked where `words` (in small letters) stand.
pub(crate) fn mark_words(line: Line<'static>, words: &str, mark: Style) -> Line<'static> {
    if words.is_empty() {
        return line;
    }
    let text: Vec<char> = line.spans.iter().flat_map(|span| span.content.chars()).collect();
    let seen: Vec<char> = text.iter().copied().map(small_char).collect();
    let wanted: Vec<char> = words.chars().collect();
    let mut hits = vec![false; text.len()];
    let mut at = 0;
    while at + wanted.len() <= seen.len() {
        if seen[at..].starts_with(&wanted) {
            hits[at..at + wanted.len()].fill(true);
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    if !hits.contains(&true) {
        return line;
    }
    let mut out = Line { style: line.style, alignment: line.alignment, ..Line::default() };
    let mut at = 0;
    for span in &line.spans {
        let mut part = String::new();
        let mut hit = false;
        for c in span.content.chars() {
            if hits[at] != hit && !part.is_empty() {
                let style = if hit { span.style.patch(mark) } else { span.style };
                out.push_span(Span::styled(std::mem::take(&mut part), style));
            }
            hit = hits[at];
            part.push(c);
            at += 1;
        }
        let style = if hit { span.style.patch(mark) } else { span.style };
        out.push_span(Span::styled(part, style));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_found_words_are_marked_over_spans() {
        let mark = Theme::plain_theme().chosen;
        let line = Line::from(vec![Span::raw("An É"), Span::raw("rror; error")]);
        let marked = mark_words(line, "érror", mark);
        let parts: Vec<(String, bool)> =
            marked.spans.iter().map(|s| (s.content.to_string(), s.style == mark)).collect();
        let expected = [("An ", false), ("É", true), ("rror", true), ("; error", false)];
        assert_eq!(parts, expected.map(|(text, hit)| (text.to_owned(), hit)));
        assert_eq!(to_lowercase_chars("ÄİX"), "äİx");
    }

    #[test]
    fn f1_a_frame_fits_any_size() {
        let theme = Theme::plain_theme();
        for (columns, rows) in [(0, 0), (1, 1), (0, 5), (5, 0), (3, 2), (40, 12), (80, 24)] {
            let size = FrameSize { columns, rows };
            let body = vec![Line::from("x".repeat(columns)); 100];
            let head = title_line("Title", "right", columns, &theme);
            let view = frame_view(size, head, body, key_line(&[("q", "closes")], columns, &theme));
            assert!(view.lines.len() <= rows, "{columns} {rows}");
        }
    }
}
