//! A row of cells: a line as the terminal will hold it. Pure.

use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::pen::{CellStyle, PLAIN};
use crate::text::theme::ColourDepth;

/// One cell. A wide character takes two: its own and one that holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowCell {
    pub(super) symbol: CellSymbol,
    pub(super) pen: CellStyle,
}

/// What stands in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CellSymbol {
    /// One character.
    One(char),
    /// A character with marks upon it, or several that make one.
    Many(Box<str>),
    /// The right half of the wide character before.
    Rest,
}

/// Bytes that one cell may take: marks can be piled on a letter without end.
const SYMBOL_BYTES_MAX: usize = 64;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CellRow {
    /// Its cells, without the blanks at the end that look like empty ones.
    pub(super) cells: Vec<RowCell>,
    /// It holds something that terminals do not agree upon how wide it is.
    pub(super) doubtful: bool,
    /// The row before is full and goes on here: the terminal is to break them itself.
    pub(super) joined: bool,
}

impl CellRow {
    /// A row that nothing was written to.
    pub(super) const EMPTY: CellRow = CellRow { cells: Vec::new(), doubtful: false, joined: false };

    /// `line` in at most `columns` cells.
    pub(super) fn new(line: &Line<'_>, columns: usize, depth: ColourDepth) -> CellRow {
        let mut row = CellRow::default();
        'line: for span in &line.spans {
            let pen = CellStyle::new(line.style.patch(span.style), depth);
            if span.content.is_ascii() {
                // The usual case needs no search for where letters end.
                for letter in span.content.bytes().map(char::from) {
                    if !row.push_letter(letter, pen, columns) {
                        break 'line;
                    }
                }
                continue;
            }
            for part in span.content.graphemes(true) {
                if !row.push(part, pen, columns) {
                    break 'line;
                }
            }
        }
        while row.cells.last().is_some_and(is_empty) {
            row.cells.pop();
        }
        row
    }

    /// `line` in as many rows as it needs, none of them more than full. They are one line to the
    /// terminal, which joins them where they are copied or where it gets wider, except before a wide
    /// character that had no room left, and where nobody knows how wide a row is.
    pub(super) fn break_line(line: &Line<'_>, columns: usize, depth: ColourDepth) -> Vec<CellRow> {
        let whole = CellRow::new(line, usize::MAX, depth);
        if whole.cells.len() <= columns {
            return vec![whole];
        }
        let doubtful = whole.doubtful;
        let mut rows = Vec::new();
        let mut row = CellRow { doubtful, ..CellRow::default() };
        let mut cells = whole.cells.into_iter().peekable();
        while let Some(cell) = cells.next() {
            let rest = cells.next_if(|next| next.symbol == CellSymbol::Rest);
            let width = 1 + usize::from(rest.is_some());
            if width > columns {
                continue;
            }
            if row.cells.len() + width > columns {
                let joined = row.cells.len() == columns && !doubtful;
                rows.push(std::mem::replace(
                    &mut row,
                    CellRow { doubtful, joined, ..CellRow::default() },
                ));
            }
            row.cells.push(cell);
            row.cells.extend(rest);
        }
        rows.push(row);
        rows
    }

    /// Adds a letter of one cell; `false`: there is no room for it.
    fn push_letter(&mut self, letter: char, pen: CellStyle, columns: usize) -> bool {
        let letter = if letter == '\t' { ' ' } else { letter };
        if letter.is_control() {
            return true;
        }
        if self.cells.len() >= columns {
            return false;
        }
        self.cells.push(RowCell { symbol: CellSymbol::One(letter), pen });
        true
    }

    /// Adds a part; `false`: there is no room for it.
    fn push(&mut self, part: &str, pen: CellStyle, columns: usize) -> bool {
        let mut chars = part.chars();
        let (first, more) = (chars.next(), chars.next().is_some());
        let Some(first) = first else { return true };
        if first == '\t' {
            return self.push(" ", pen, columns);
        }
        if part.chars().any(char::is_control) || part.len() > SYMBOL_BYTES_MAX {
            return true;
        }
        let width = part.width().min(2);
        if width == 0 {
            // A mark without its letter is not shown.
            return true;
        }
        if self.cells.len() + width > columns {
            return false;
        }
        if more && !is_agreed(part) {
            self.doubtful = true;
        }
        let symbol = if more { CellSymbol::Many(part.into()) } else { CellSymbol::One(first) };
        self.cells.push(RowCell { symbol, pen });
        if width == 2 {
            self.cells.push(RowCell { symbol: CellSymbol::Rest, pen });
        }
        true
    }

    /// Rows that a terminal of `columns` makes of this when it breaks rows that have become too
    /// long.
    pub(super) fn height_at(&self, columns: usize) -> usize {
        self.row_of_cell(self.cells.len().max(1) - 1, columns) + 1
    }

    /// In which of those rows the cell at `column` is. A wide character is not torn.
    pub(super) fn row_of_cell(&self, column: usize, columns: usize) -> usize {
        let (mut row, mut used) = (0, 0);
        for (at, cell) in self.cells.iter().enumerate().take(column + 1) {
            if cell.symbol == CellSymbol::Rest {
                continue;
            }
            let wide = self.cells.get(at + 1).is_some_and(|next| next.symbol == CellSymbol::Rest);
            let width = if wide { 2 } else { 1 };
            if used + width > columns && used > 0 {
                row += 1;
                used = 0;
            }
            used += width;
        }
        row
    }
}

/// A letter with marks from the common ranges is one cell everywhere; signs joined to one picture
/// are not.
fn is_agreed(part: &str) -> bool {
    part.chars().skip(1).all(|mark| matches!(mark, '\u{300}'..='\u{36f}'))
}

fn is_empty(cell: &RowCell) -> bool {
    cell.symbol == CellSymbol::One(' ') && cell.pen.leaves_blanks_empty()
}

impl RowCell {
    /// A cell that nothing was written to.
    pub(super) const EMPTY: RowCell = RowCell { symbol: CellSymbol::One(' '), pen: PLAIN };

    /// A blank whose look is not seen and an empty cell are the same.
    pub(super) fn is_like(&self, other: &RowCell) -> bool {
        self == other || (is_empty(self) && is_empty(other))
    }

    pub(super) fn write_symbol(&self, out: &mut Vec<u8>) {
        match &self.symbol {
            CellSymbol::One(letter) => {
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            CellSymbol::Many(letters) => out.extend_from_slice(letters.as_bytes()),
            CellSymbol::Rest => {}
        }
    }
}

/// Rows of many lines.
pub(super) fn rows_from_lines(
    lines: &[Line<'_>],
    columns: usize,
    depth: ColourDepth,
) -> Vec<CellRow> {
    lines.iter().map(|line| CellRow::new(line, columns, depth)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(row: &CellRow) -> String {
        let mut out = Vec::new();
        row.cells.iter().for_each(|cell| cell.write_symbol(&mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn f1_lines_become_rows_of_cells() {
        for (line, columns, wanted, cells, doubtful) in [
            ("", 10, "", 0, false),
            ("abc   ", 10, "abc", 3, false),
            ("abcdef", 3, "abc", 3, false),
            ("漢字", 4, "漢字", 4, false),
            ("漢字", 3, "漢", 2, false),
            ("漢", 1, "", 0, false),
            ("e\u{301}a", 2, "e\u{301}a", 2, false),
            ("\u{301}a", 5, "a", 1, false),
            ("👨‍👩‍👧x", 5, "👨‍👩‍👧x", 3, true),
            ("a\x1b[31mb", 10, "a[31mb", 6, false),
            ("a\tb\r\nc\u{9b}", 10, "a bc", 4, false),
        ] {
            let row = CellRow::new(&Line::from(line), columns, ColourDepth::True);
            assert_eq!(
                (text(&row).as_str(), row.cells.len(), row.doubtful),
                (wanted, cells, doubtful),
                "{line:?} in {columns}"
            );
        }
    }

    #[test]
    fn f1_a_long_line_becomes_rows_that_the_terminal_joins() {
        for (line, columns, wanted) in [
            ("abc", 3, &[("abc", false)][..]),
            ("abcd", 3, &[("abc", false), ("d", true)]),
            ("abcdefg", 3, &[("abc", false), ("def", true), ("g", true)]),
            ("ab  cd", 3, &[("ab ", false), (" cd", true)]),
            // A wide character that has no room left begins a row of its own.
            ("ab漢字", 3, &[("ab", false), ("漢", false), ("字", false)]),
            ("a漢字b", 3, &[("a漢", false), ("字b", true)]),
            ("漢a", 1, &[("a", false)]),
            ("👨‍👩‍👧xyz", 3, &[("👨‍👩‍👧x", false), ("yz", false)]),
        ] {
            let rows = CellRow::break_line(&Line::from(line), columns, ColourDepth::True);
            let rows: Vec<(String, bool)> =
                rows.iter().map(|row| (text(row), row.joined)).collect();
            let rows: Vec<(&str, bool)> = rows.iter().map(|(t, j)| (t.as_str(), *j)).collect();
            assert_eq!(rows, wanted, "{line:?} in {columns}");
        }
    }

    #[test]
    fn f1_a_row_knows_its_height_in_a_narrower_terminal() {
        for (letters, columns, wanted) in
            [(0, 10, 1), (10, 10, 1), (11, 10, 2), (80, 40, 2), (5, 0, 5)]
        {
            let row = CellRow::new(&Line::from("x".repeat(letters)), 200, ColourDepth::True);
            assert_eq!(row.height_at(columns), wanted, "{letters} in {columns}");
        }
        let wide = CellRow::new(&Line::from("漢字漢字"), 200, ColourDepth::True);
        for (columns, wanted) in [(8, 1), (7, 2), (4, 2), (3, 4), (2, 4)] {
            assert_eq!(wide.height_at(columns), wanted, "wide in {columns}");
        }
    }

    #[test]
    fn f1_a_styled_blank_at_the_end_stays() {
        let style = ratatui::style::Style::new().bg(ratatui::style::Color::Blue);
        let row = CellRow::new(&Line::styled("a  ", style), 10, ColourDepth::True);
        assert_eq!(row.cells.len(), 3);
    }
}
