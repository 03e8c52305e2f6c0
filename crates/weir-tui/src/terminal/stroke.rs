//! Bytes that move the cursor and change rows, and where the cursor is after them. Pure.
//!
//! All moves are relative, so nobody needs to know where on the screen the rows are.

use super::pen::{CellStyle, PLAIN};
use super::row::{CellRow, CellSymbol, RowCell};

/// Unchanged cells between two changed stretches that are written again, because a move over them
/// takes as many bytes.
const GAP_CELLS_MAX: usize = 4;

/// A cursor and what it wrote.
#[derive(Debug)]
pub(super) struct CursorBrush {
    /// What was written.
    pub(super) out: Vec<u8>,
    /// The row, counted from the first that may change.
    pub(super) row: usize,
    /// The cell; none: behind the last one, where terminals differ in what a move does.
    pub(super) column: Option<usize>,
    pen: CellStyle,
    columns: usize,
}

impl CursorBrush {
    /// A cursor that stands there, in a terminal that is `columns` wide.
    pub(super) fn new(row: usize, column: Option<usize>, columns: usize) -> CursorBrush {
        CursorBrush { out: Vec::new(), row, column, pen: PLAIN, columns }
    }

    /// To a row that is there already; the cell stays.
    pub(super) fn go_row(&mut self, row: usize) {
        if row < self.row {
            self.write_sequence(self.row - row, b'A');
        } else if row > self.row {
            self.write_sequence(row - self.row, b'B');
        }
        self.row = row;
    }

    /// To a cell of the row, the shortest way.
    pub(super) fn go_column(&mut self, column: usize) {
        match self.column {
            Some(now) if now == column => {}
            Some(now) if now < column => {
                self.write_sequence(column - now, b'C');
            }
            Some(now) if column > 0 && now - column < 4 => {
                self.out.extend(std::iter::repeat_n(b'\x08', now - column));
            }
            _ => {
                self.out.push(b'\r');
                if column > 0 {
                    self.write_sequence(column, b'C');
                }
            }
        }
        self.column = Some(column);
    }

    /// To the start of a new row below the last one; at the bottom the screen scrolls.
    pub(super) fn new_row(&mut self) {
        self.reset_style();
        self.out.extend_from_slice(b"\r\n");
        self.row += 1;
        self.column = Some(0);
    }

    /// Puts `count` empty rows before this one; those below move down.
    pub(super) fn insert_rows(&mut self, count: usize) {
        self.reset_style();
        self.go_column(0);
        self.write_sequence(count, b'L');
    }

    /// Takes `count` rows away from this one on; those below move up.
    pub(super) fn delete_rows(&mut self, count: usize) {
        self.reset_style();
        self.go_column(0);
        self.write_sequence(count, b'M');
    }

    /// Empties this row and all below.
    pub(super) fn erase_below(&mut self) {
        self.reset_style();
        self.go_column(0);
        self.out.extend_from_slice(b"\x1b[J");
    }

    /// Makes row `at`, which looks like `old`, look like `new`.
    pub(super) fn change_row(&mut self, at: usize, old: &CellRow, new: &CellRow) {
        if old == new {
            return;
        }
        if old.doubtful || new.doubtful {
            self.rewrite_row(at, new);
            return;
        }
        let same = |index: usize| {
            old.cells.get(index).unwrap_or(&RowCell::EMPTY).is_like(&new.cells[index])
        };
        let mut index = 0;
        while index < new.cells.len() {
            if same(index) {
                index += 1;
                continue;
            }
            let mut end = index + 1;
            let mut look = end;
            while look < new.cells.len() && look - end <= GAP_CELLS_MAX {
                look += 1;
                if !same(look - 1) {
                    end = look;
                }
            }
            // A stretch does not end within a wide character.
            while end < new.cells.len() && new.cells[end].symbol == CellSymbol::Rest {
                end += 1;
            }
            self.go_row(at);
            self.go_column(index);
            self.write_cells(&new.cells[index..end]);
            index = end;
        }
        if new.cells.len() < old.cells.len() {
            self.go_row(at);
            self.reset_style();
            self.go_column(new.cells.len());
            self.out.extend_from_slice(b"\x1b[K");
        }
    }

    /// Writes row `at`, which looks like `old`, behind the full row before it: the terminal breaks
    /// there by itself, and knows both as one line.
    pub(super) fn join_row(&mut self, at: usize, before: &CellRow, old: &CellRow, new: &CellRow) {
        let mut last = before.cells.len().saturating_sub(1);
        if before.cells.get(last).is_some_and(|cell| cell.symbol == CellSymbol::Rest) {
            last = last.saturating_sub(1);
        }
        self.go_row(at - 1);
        self.go_column(last);
        self.write_cells(before.cells.get(last..).unwrap_or_default());
        // The next letter makes the terminal go on in the row below.
        self.row = at;
        self.column = Some(0);
        self.write_cells(&new.cells);
        if new.cells.len() < old.cells.len() {
            self.reset_style();
            self.out.extend_from_slice(b"\x1b[K");
        }
    }

    /// Writes the whole row. Nobody knows how wide the terminal will find it, so it must not break
    /// the row, and where the cursor is afterwards is not known.
    fn rewrite_row(&mut self, at: usize, new: &CellRow) {
        self.go_row(at);
        self.reset_style();
        self.column = None;
        self.go_column(0);
        self.out.extend_from_slice(b"\x1b[K\x1b[?7l");
        self.write_cells(&new.cells);
        self.out.extend_from_slice(b"\x1b[?7h");
        self.column = None;
    }

    fn write_cells(&mut self, cells: &[RowCell]) {
        for cell in cells {
            if cell.symbol != CellSymbol::Rest {
                cell.pen.write_transition(&self.pen, &mut self.out);
                self.pen = cell.pen;
                cell.write_symbol(&mut self.out);
            }
        }
        self.column =
            self.column.map(|column| column + cells.len()).filter(|column| *column < self.columns);
    }

    /// The look that erased cells and whatever comes after get.
    pub(super) fn reset_style(&mut self) {
        PLAIN.write_transition(&self.pen, &mut self.out);
        self.pen = PLAIN;
    }

    /// `CSI count letter`.
    fn write_sequence(&mut self, count: usize, letter: u8) {
        self.out.extend_from_slice(b"\x1b[");
        if count != 1 {
            self.out.extend_from_slice(count.to_string().as_bytes());
        }
        self.out.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::Line;

    use super::*;
    use crate::text::theme::ColourDepth;

    fn row(text: &str) -> CellRow {
        CellRow::new(&Line::from(text.to_owned()), 20, ColourDepth::True)
    }

    #[test]
    fn f1_only_what_changed_in_a_row_is_written() {
        for (old, new, wanted) in [
            ("abc", "abc", ""),
            ("abc", "abcd", "\x1b[3Cd"),
            ("abc", "xbc", "x"),
            ("abc", "", "\x1b[K"),
            ("abcdef", "abc", "\x1b[3C\x1b[K"),
            ("a1234567890b", "x1234567890y", "x\x1b[10Cy"),
            ("a12b", "x12y", "x12y"),
            ("漢字", "漢文", "\x1b[2C文"),
            ("漢字", "a字", "a字\x1b[K"),
            ("a字", "漢字", "漢字"),
            ("", "a         b", "a\x1b[9Cb"),
            ("", "12345678901234567890", "12345678901234567890"),
        ] {
            let mut brush = CursorBrush::new(0, Some(0), 20);
            brush.change_row(0, &row(old), &row(new));
            let out = String::from_utf8(brush.out).unwrap();
            assert_eq!(out, wanted, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn f1_the_cursor_goes_the_shortest_way() {
        for (from, to, wanted) in [
            (Some(0), 0, ""),
            (Some(5), 5, ""),
            (Some(5), 6, "\x1b[C"),
            (Some(5), 9, "\x1b[4C"),
            (Some(5), 3, "\x08\x08"),
            (Some(9), 1, "\r\x1b[C"),
            (Some(9), 0, "\r"),
            (None, 19, "\r\x1b[19C"),
        ] {
            let mut brush = CursorBrush::new(0, from, 20);
            brush.go_column(to);
            assert_eq!(String::from_utf8(brush.out).unwrap(), wanted, "{from:?} to {to}");
        }
    }
}
