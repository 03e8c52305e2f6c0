//! The box as lines of cells, in the space that there is. Lays out no more of a long text than is
//! shown, and the line of the cursor. Not here: how one line is laid out ([`super::layout`]).

use std::sync::Arc;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Composer;
use super::complete::{CompletionKind, CompletionList};
use super::layout::{LineLayout, LineRange, UnitLook, cut_to_cells, row_of};
use super::recall::HistorySearch;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;
use crate::text::wrap::text_width;

/// Rows of the list of completions.
const OFFERED_ROWS_MAX: usize = 8;
/// Rows of text that stay, where there are as many, when a list takes space.
const TEXT_ROWS_MIN: usize = 3;
/// Cells before the text.
const SIGN_CELLS: usize = 2;
/// Narrower boxes have no sign.
const SIGNED_CELLS_MIN: usize = 6;
/// Lines that are laid out once and kept, in bytes.
const LONG_LINE_BYTES: usize = 4096;
/// So many of them.
const LONG_LINES_MAX: usize = 100;

/// What was shown last.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownArea {
    /// Cells of a row.
    pub(super) cells: usize,
    /// The first line and row of it.
    pub(super) top: (usize, usize),
}

/// Long lines that were laid out, of one text in one width.
#[derive(Debug, Default)]
pub(super) struct LayoutCache {
    version: u64,
    cells: usize,
    lines: Vec<(usize, Arc<[LineRange]>)>,
}

/// The space there is.
#[derive(Clone, Copy)]
struct ViewSpace<'a> {
    width: usize,
    sign: usize,
    rows: usize,
    theme: &'a Theme,
}

impl Composer {
    /// Its lines, the list of completions below included, at most `rows_max` of them, and where the
    /// cursor stands (row, cell).
    pub fn render_lines(
        &self,
        width: usize,
        rows_max: usize,
        theme: &Theme,
    ) -> (Vec<Line<'static>>, (usize, usize)) {
        if width == 0 || rows_max == 0 {
            return (Vec::new(), (0, 0));
        }
        let sign = if width >= SIGNED_CELLS_MIN { SIGN_CELLS } else { 0 };
        let top = self.shown.get().top;
        self.shown.set(ShownArea { cells: (width - sign).saturating_sub(1).max(1), top });
        let space = ViewSpace { width, sign, rows: rows_max, theme };
        match &self.search {
            Some(search) => self.search_lines(search, space),
            None => self.written_and_offered(space),
        }
    }

    pub(super) fn line_layout(&self, line: usize) -> LineLayout<'_> {
        let hidden = usize::from(line == 0 && self.is_shell());
        LineLayout { tokens: &self.tokens, cells: self.shown.get().cells, hidden }
    }

    /// The rows of a line.
    pub(super) fn line_rows(&self, line: usize) -> Arc<[LineRange]> {
        let (text, cells) = (self.buffer.line(line), self.shown.get().cells);
        let version = self.buffer.version();
        if text.len() < LONG_LINE_BYTES {
            return self.line_layout(line).break_into_rows(text).into();
        }
        let mut laid = self.laid.borrow_mut();
        if (laid.version, laid.cells) != (version, cells) || laid.lines.len() > LONG_LINES_MAX {
            *laid = LayoutCache { version, cells, lines: Vec::new() };
        }
        if let Some((_, rows)) = laid.lines.iter().find(|(kept, _)| *kept == line) {
            return rows.clone();
        }
        let rows: Arc<[LineRange]> = self.line_layout(line).break_into_rows(text).into();
        laid.lines.push((line, rows.clone()));
        rows
    }

    fn written_and_offered(&self, space: ViewSpace<'_>) -> (Vec<Line<'static>>, (usize, usize)) {
        if self.buffer.is_empty() {
            let hint = cut_to_cells(&clean_text(&self.hint), self.shown.get().cells).0;
            let mut spans = self.prompt_sign(true, space);
            spans.push(Span::styled(hint, space.theme.quiet));
            return (vec![Line::from(spans)], (0, space.sign));
        }
        let needed = self.count_rows(0, 0, space.rows);
        let offered = self.offer.as_ref().map_or(0, |offer| offer.items.len());
        let offered = offered.min(OFFERED_ROWS_MAX).min(space.rows - needed.min(TEXT_ROWS_MIN));
        let (mut lines, cursor) =
            self.text_lines(ViewSpace { rows: space.rows - offered, ..space });
        if let Some(offer) = &self.offer {
            lines.extend(offered_lines(offer, offered, space));
        }
        (lines, cursor)
    }

    /// The text, so far that the cursor is in it.
    fn text_lines(&self, space: ViewSpace<'_>) -> (Vec<Line<'static>>, (usize, usize)) {
        let line = self.cursor.line;
        let cursor = (line, row_of(&self.line_rows(line), self.cursor.byte));
        let last = self.buffer.lines().len() - 1;
        let end = (last, self.line_rows(last).len() - 1);
        // Neither after the cursor nor so far before it that it is below; and no space is left
        // under the text while some of it is hidden above.
        let top = self.shown.get().top.min(cursor).max(self.row_above(
            cursor.0,
            cursor.1,
            space.rows - 1,
        ));
        let top = if self.count_rows(top.0, top.1, space.rows) < space.rows {
            self.row_above(end.0, end.1, space.rows - 1)
        } else {
            top
        };
        let top = (top.0, top.1.min(self.line_rows(top.0).len() - 1));
        self.shown.set(ShownArea { top, ..self.shown.get() });
        let mut lines: Vec<Line<'static>> = Vec::new();
        let mut at = (0, 0);
        for line in top.0..=last {
            let rows = self.line_rows(line);
            let from = if line == top.0 { top.1 } else { 0 };
            for (index, row) in rows.iter().enumerate().skip(from) {
                if lines.len() == space.rows {
                    return (lines, at);
                }
                if (line, index) == cursor {
                    let frame = self.line_layout(line);
                    let cell = frame.cell_of_byte(self.buffer.line(line), *row, self.cursor.byte);
                    at = (lines.len(), (space.sign + cell).min(space.width - 1));
                }
                let mut spans = self.prompt_sign((line, index) == (0, 0), space);
                spans.extend(self.row_spans(line, *row, space));
                lines.push(Line::from(spans));
            }
        }
        (lines, at)
    }

    /// How many rows there are from one on, at most `most`.
    fn count_rows(&self, from_line: usize, from_row: usize, most: usize) -> usize {
        let mut count = 0;
        for line in from_line..self.buffer.lines().len() {
            let skipped = if line == from_line { from_row } else { 0 };
            count += self.line_rows(line).len().saturating_sub(skipped);
            if count >= most {
                return most;
            }
        }
        count
    }

    /// The row so many above another, the first if there are not as many.
    fn row_above(&self, mut line: usize, mut row: usize, mut by: usize) -> (usize, usize) {
        while by > row {
            if line == 0 {
                return (0, 0);
            }
            by -= row + 1;
            line -= 1;
            row = self.line_rows(line).len() - 1;
        }
        (line, row - by)
    }

    /// What stands before the text.
    fn prompt_sign(&self, first: bool, space: ViewSpace<'_>) -> Vec<Span<'static>> {
        if space.sign == 0 {
            return Vec::new();
        }
        vec![match (first, self.is_shell()) {
            (true, true) => Span::styled("! ", space.theme.warn),
            (true, false) => Span::styled("> ", space.theme.accent),
            (false, _) => Span::raw("  "),
        }]
    }

    fn row_spans(&self, line: usize, row: LineRange, space: ViewSpace<'_>) -> Vec<Span<'static>> {
        let theme = space.theme;
        let text = if self.is_shell() { theme.code } else { theme.text };
        let units = self.line_layout(line).units(self.buffer.line(line), row);
        // In a box of one cell there is no room for the blank that hangs over.
        let mut room = space.width - space.sign;
        let fits = units.take_while(|unit| {
            let fits = unit.cells <= room;
            room = room.saturating_sub(unit.cells);
            fits
        });
        merge_spans(fits.map(|unit| {
            let style = match unit.look {
                UnitLook::Text => text,
                UnitLook::Token => theme.accent,
                UnitLook::Odd => theme.quiet,
            };
            (unit.shown, style)
        }))
    }

    /// What a search has found, and below it what is searched.
    fn search_lines(
        &self,
        search: &HistorySearch,
        space: ViewSpace<'_>,
    ) -> (Vec<Line<'static>>, (usize, usize)) {
        let shown = match search.found.and_then(|index| self.recall.entries().get(index)) {
            Some(entry) => entry.as_str(),
            None => &search.before.text,
        };
        let frame = LineLayout { tokens: &self.tokens, cells: self.shown.get().cells, hidden: 0 };
        let mut lines = Vec::new();
        for text in shown.split('\n') {
            for row in frame.break_into_rows(text) {
                if lines.len() + 1 >= space.rows {
                    break;
                }
                let mut room = space.width - space.sign;
                let units = frame.units(text, row).take_while(|unit| {
                    let fits = unit.cells <= room;
                    room = room.saturating_sub(unit.cells);
                    fits
                });
                let mut spans = self.prompt_sign(lines.is_empty(), space);
                spans.extend(merge_spans(units.map(|unit| (unit.shown, space.theme.quiet))));
                lines.push(Line::from(spans));
            }
            if lines.len() + 1 >= space.rows {
                break;
            }
        }
        let name = match search.failed {
            Some(_) => "nothing more: ",
            None => "search: ",
        };
        // The end of what is searched is seen in any case: there the person writes.
        let mut query = clean_text(&search.query).into_owned();
        let mut room = space.width - 1;
        let name = if text_width(name) + 4 <= room { name } else { "" };
        room -= text_width(name);
        while text_width(&query) > room {
            query.remove(0);
        }
        let cursor = (lines.len(), text_width(name) + text_width(&query));
        let name = Span::styled(name, space.theme.accent);
        lines.push(Line::from(vec![name, Span::styled(query, space.theme.text)]));
        (lines, cursor)
    }
}

/// Pieces of text with their styles; like ones that follow each other are one.
fn merge_spans<'a>(
    pieces: impl Iterator<Item = (std::borrow::Cow<'a, str>, Style)>,
) -> Vec<Span<'static>> {
    let mut spans: Vec<(String, Style)> = Vec::new();
    for (text, style) in pieces {
        match spans.last_mut().filter(|last| last.1 == style) {
            Some(last) => last.0.push_str(&text),
            None => spans.push((text.into_owned(), style)),
        }
    }
    spans.into_iter().map(|(text, style)| Span::styled(text, style)).collect()
}

/// The part of a list in which the chosen one is.
fn offered_lines(offer: &CompletionList, rows: usize, space: ViewSpace<'_>) -> Vec<Line<'static>> {
    let from = (offer.chosen + 1).saturating_sub(rows);
    let items = offer.items.iter().enumerate().skip(from).take(rows);
    let lead = if offer.word.kind == CompletionKind::Command { "/" } else { "" };
    items
        .map(|(index, item)| {
            let chosen = index == offer.chosen;
            let (mark, style) =
                if chosen { ("▸ ", space.theme.chosen) } else { ("  ", space.theme.text) };
            let mut room = space.width - 1;
            let mut spans = Vec::new();
            let rest = if chosen { space.theme.chosen } else { space.theme.quiet };
            let name = format!("{mark}{lead}{}", clean_text(&item.name).replace('\n', " "));
            for (text, style) in [
                (name, style),
                (format!(" {}", clean_text(&item.hint)), rest),
                (format!("  {}", clean_text(&item.about).replace('\n', " ")), rest),
            ] {
                if text.trim().is_empty() || room == 0 {
                    continue;
                }
                let (text, cells) = cut_to_cells(&text, room);
                room -= cells;
                spans.push(Span::styled(text, style));
            }
            Line::from(spans)
        })
        .collect()
}
