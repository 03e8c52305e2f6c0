//! Tables: columns as wide as what stands in them, narrower where the line is short, and a list of
//! `Head: cell` where it is hopelessly so.

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::super::wrap::{line_width, wrap_line};
use super::page::{BreakMode, MarkdownPage};

/// Narrowest column of a table that does not fit.
const COLUMN_CELLS_MIN: usize = 6;
/// What stands between two columns.
const BETWEEN: &str = " │ ";
const BETWEEN_CELLS: usize = 3;

/// What stands in a cell: a line, or more where it was broken by hand.
pub(super) type TableCell = Vec<Line<'static>>;

/// A table that is being read.
#[derive(Default)]
pub(super) struct MarkdownTable {
    pub(super) columns: Vec<Alignment>,
    /// The first is the head.
    pub(super) rows: Vec<Vec<TableCell>>,
}

impl MarkdownTable {
    /// Writes it.
    pub(super) fn write_to_page(self, page: &mut MarkdownPage<'_, '_>) {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut natural = vec![1_usize; count];
        for (column, cell) in self.rows.iter().flat_map(|row| row.iter().enumerate()) {
            let cells = cell.iter().map(line_width).max().unwrap_or(0);
            natural[column] = natural[column].max(cells);
        }
        let between = BETWEEN_CELLS * count.saturating_sub(1);
        match page.room_left().checked_sub(between).and_then(|room| fit_columns(&natural, room)) {
            Some(widths) => self.as_grid(page, &widths),
            None => self.into_list(page),
        }
    }

    fn as_grid(&self, page: &mut MarkdownPage<'_, '_>, widths: &[usize]) {
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<Line<'static>>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let cell = row.get(column).map(Vec::as_slice).unwrap_or_default();
                    cell.iter().flat_map(|line| wrap_line(line, *width, 0)).collect()
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
            for line in 0..height {
                page.write_line(self.grid_line(page, widths, &cells, line), BreakMode::Exactly, 0);
            }
            if at == 0 {
                let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let text = Span::styled(parts.join("─┼─"), page.theme().quiet);
                page.write_line(Line::from(text), BreakMode::Exactly, 0);
            }
        }
    }

    fn grid_line(
        &self,
        page: &MarkdownPage<'_, '_>,
        widths: &[usize],
        cells: &[Vec<Line<'static>>],
        line: usize,
    ) -> Line<'static> {
        let mut spans = Vec::new();
        for (column, width) in widths.iter().enumerate() {
            if column > 0 {
                spans.push(Span::styled(BETWEEN, page.theme().quiet));
            }
            let text = cells[column].get(line);
            let blanks = width.saturating_sub(text.map_or(0, line_width));
            let before = match self.columns.get(column) {
                Some(Alignment::Right) => blanks,
                Some(Alignment::Center) => blanks / 2,
                _ => 0,
            };
            spans.push(Span::raw(" ".repeat(before)));
            spans.extend(text.into_iter().flat_map(|line| line.spans.clone()));
            spans.push(Span::raw(" ".repeat(blanks - before)));
        }
        Line::from(spans)
    }

    fn into_list(mut self, page: &mut MarkdownPage<'_, '_>) {
        let head = if self.rows.is_empty() { Vec::new() } else { self.rows.remove(0) };
        if self.rows.is_empty() {
            // A head without rows is all there is to say.
            self.rows.push(Vec::new());
        }
        let bare = self.rows.len() == 1 && self.rows[0].is_empty();
        for row in self.rows {
            let mut first = true;
            for (column, name) in head.iter().enumerate() {
                let cell = row.get(column).filter(|cell| cell.iter().any(|l| line_width(l) > 0));
                if cell.is_none() && !bare {
                    continue;
                }
                let mut spans = join_cell_lines(name);
                if !spans.is_empty() && cell.is_some() {
                    spans.push(Span::raw(": ").patch_style(Modifier::BOLD));
                }
                spans.extend(cell.map(join_cell_lines).unwrap_or_default());
                spans.insert(0, Span::raw(if first { "• " } else { "  " }));
                page.write_line(Line::from(spans), BreakMode::AtWords, 4);
                first = false;
            }
        }
    }
}

/// The lines of a cell as one.
fn join_cell_lines(cell: &TableCell) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for line in cell {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        spans.extend(line.spans.iter().cloned());
    }
    spans
}

/// Widths of columns that together have at most `room` cells; narrow columns keep what they need.
/// None: they would be too narrow to read.
fn fit_columns(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let needs: usize = natural.iter().sum();
    if needs <= room {
        return Some(natural.to_vec());
    }
    // The widest columns give until it fits.
    let of = |most: usize| natural.iter().map(move |width| (*width).min(most));
    let (mut low, mut high) = (0, room);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if of(middle).sum::<usize>() <= room { low = middle } else { high = middle - 1 }
    }
    if low < COLUMN_CELLS_MIN {
        return None;
    }
    let mut widths: Vec<usize> = of(low).collect();
    let mut left = room - widths.iter().sum::<usize>();
    for (width, natural) in widths.iter_mut().zip(natural) {
        let more = usize::from(left > 0 && *width < *natural);
        (*width, left) = (*width + more, left - more);
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::fit_columns;

    #[test]
    fn f1_columns_give_from_the_widest() {
        for (natural, room, expected) in [
            (vec![3, 4], 10, Some(vec![3, 4])),
            (vec![3, 40], 20, Some(vec![3, 17])),
            (vec![30, 40], 21, Some(vec![11, 10])),
            (vec![30, 40], 8, None),
            (vec![], 0, Some(vec![])),
        ] {
            assert_eq!(fit_columns(&natural, room), expected, "{natural:?} {room}");
        }
    }
}
