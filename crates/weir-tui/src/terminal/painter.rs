//! What is to be seen, turned into the bytes that bring the terminal there. Pure: it knows what is
//! on the screen because it remembers what it wrote.
//! Not here: when to paint (`pace`), and where the bytes go (`device`).

use std::collections::VecDeque;

use ratatui::text::Line;

use super::row::{CellRow, rows_from_lines};
use super::stroke::CursorBrush;
use super::{TerminalCaps, TerminalFrame, TerminalSize};

/// Finished lines that wait for a terminal that has a size; older ones are dropped.
const WAITING_LINES_MAX: usize = 20_000;
/// A paint of so few bytes is seen at once, without brackets around it.
const SMALL_BYTES_MAX: usize = 96;
/// Cells below that are not worth moving: writing them again costs as much.
const MOVED_CELLS_MIN: usize = 12;

/// What is on the screen.
#[derive(Debug)]
pub struct TerminalPainter {
    size: TerminalSize,
    caps: TerminalCaps,
    /// The live region as it is on the screen; at least one row, on which the cursor stands.
    rows: Vec<CellRow>,
    row: usize,
    column: Option<usize>,
    /// How wide the terminal was when that was written.
    columns_then: usize,
    repair: ScreenRepair,
    shown: bool,
    full: Option<FullScreen>,
    waiting: VecDeque<Line<'static>>,
    budget: Option<usize>,
}

/// What has to be done before the next paint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScreenRepair {
    /// Nothing: the screen is as remembered.
    Nothing,
    /// The cursor is somewhere in a row that is ours from here on.
    Begin,
    /// The terminal may have moved or broken the rows.
    Resized,
}

/// The alternate screen.
#[derive(Debug)]
struct FullScreen {
    rows: Vec<CellRow>,
    row: usize,
    column: Option<usize>,
    stale: bool,
}

impl TerminalPainter {
    /// For a terminal of this size, whose cursor stands where the first line shall be.
    pub fn new(size: TerminalSize, caps: TerminalCaps) -> TerminalPainter {
        TerminalPainter {
            size,
            caps,
            rows: vec![CellRow::default()],
            row: 0,
            column: None,
            columns_then: usize::from(size.columns),
            repair: ScreenRepair::Begin,
            shown: true,
            full: None,
            waiting: VecDeque::new(),
            budget: None,
        }
    }

    /// The size it paints for.
    pub fn size(&self) -> TerminalSize {
        self.size
    }

    /// The terminal has another size; the next paint repairs what that did to the rows.
    pub fn set_size(&mut self, size: TerminalSize) {
        self.size = size;
        self.redraw();
    }

    /// The next paint writes everything again, in case something else wrote to the terminal.
    pub fn redraw(&mut self) {
        if self.repair == ScreenRepair::Nothing {
            self.repair = ScreenRepair::Resized;
        }
        if let Some(full) = &mut self.full {
            full.stale = true;
        }
    }

    /// A paint takes about so many bytes of finished lines, and at least one line; the others wait
    /// for the next. So a key is seen soon on a slow terminal, while a long text still goes out.
    pub fn set_budget(&mut self, bytes: Option<usize>) {
        self.budget = bytes;
    }

    /// Finished lines wait for the next paint.
    pub fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The bytes that bring the screen to this; none when it is there. Leaves the full screen.
    pub fn paint_frame(&mut self, frame: TerminalFrame) -> Vec<u8> {
        let mut out = self.leave_full();
        self.waiting.extend(frame.finished);
        if !self.size.is_some() {
            let surplus = self.waiting.len().saturating_sub(WAITING_LINES_MAX);
            self.waiting.drain(..surplus);
            return out;
        }
        let columns = usize::from(self.size.columns);
        let depth = self.caps.depth;
        let (live, cursor) = visible_window(&frame.live, frame.cursor, usize::from(self.size.rows));
        let mut below = rows_from_lines(live, columns, depth);
        if live.is_empty() {
            below.push(CellRow::default());
        }

        let mut brush = CursorBrush::new(self.row, self.column, columns);
        self.repair_screen(&mut brush);
        let lines = self.affordable_lines();
        let finished = match self.scrolls_all_away(lines) {
            true => self.write_rows(lines, below, &mut brush),
            false => self.change_rows(lines, below, &mut brush),
        };
        if self.waiting.is_empty() {
            // The room that a long session needed for a moment is not kept.
            self.waiting = VecDeque::new();
        }
        brush.reset_style();
        if let Some((row, column)) = cursor {
            brush.go_row(finished + row);
            brush.go_column(column.min(columns - 1));
        } else {
            // What is above the live region may scroll away, and what is below is not ours.
            brush.go_row(brush.row.clamp(finished, finished + self.rows.len() - 1));
        }
        self.row = brush.row - finished;
        self.column = brush.column;
        self.columns_then = columns;
        self.append_bracketed(&brush.out, cursor.is_some(), &mut out);
        out
    }

    /// The whole screen as these lines, on the alternate screen, which this enters.
    pub fn paint_full_screen(
        &mut self,
        lines: &[Line<'_>],
        cursor: Option<(usize, usize)>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        if self.full.is_none() {
            // Terminals differ in what a resize does to rows behind the alternate screen, so
            // nothing of ours stays there that would have to be found again.
            out.extend_from_slice(&self.erase_region());
            out.extend_from_slice(b"\x1b[?1049h");
        }
        let entered = FullScreen { rows: Vec::new(), row: 0, column: None, stale: true };
        let mut full = self.full.take().unwrap_or(entered);
        if self.size.is_some() {
            let columns = usize::from(self.size.columns);
            let height = usize::from(self.size.rows);
            let (lines, cursor) = visible_window(lines, cursor, height);
            let mut wanted = rows_from_lines(lines, columns, self.caps.depth);
            wanted.resize(height, CellRow::default());
            let mut brush = CursorBrush::new(full.row, full.column, columns);
            if full.stale {
                brush.out.extend_from_slice(b"\x1b[m\x1b[H\x1b[2J");
                brush.row = 0;
                brush.column = Some(0);
                full.rows = vec![CellRow::default(); height];
            }
            for (at, (old, new)) in full.rows.iter().zip(&wanted).enumerate() {
                brush.change_row(at, old, new);
            }
            brush.reset_style();
            if let Some((row, column)) = cursor {
                brush.go_row(row);
                brush.go_column(column.min(columns - 1));
            }
            full = FullScreen { rows: wanted, row: brush.row, column: brush.column, stale: false };
            self.append_bracketed(&brush.out, cursor.is_some(), &mut out);
        }
        self.full = Some(full);
        out
    }

    /// Back to the finished lines; the next paint shows the live region below them.
    pub fn leave_full(&mut self) -> Vec<u8> {
        match self.full.take() {
            Some(_) => b"\x1b[?1049l".to_vec(),
            None => Vec::new(),
        }
    }

    /// The live region is removed, the cursor stands below the finished lines, attributes are reset.
    pub fn end_painting(&mut self) -> Vec<u8> {
        let mut out = self.leave_full();
        self.budget = None;
        if self.is_behind() {
            out.extend_from_slice(&self.paint_frame(TerminalFrame::default()));
        }
        let untouched = self.repair == ScreenRepair::Begin;
        out.extend_from_slice(&self.erase_region());
        if !self.shown {
            out.extend_from_slice(b"\x1b[?25h");
        }
        if !untouched {
            out.extend_from_slice(b"\x1b[m");
        }
        self.begin_anew();
        out
    }

    /// Before another program gets the terminal (an editor, the shell after Ctrl-Z).
    pub fn suspend(&mut self) -> Vec<u8> {
        self.end_painting()
    }

    /// After it: the cursor is wherever that program left it, and the next paint begins there.
    pub fn resume(&mut self, size: TerminalSize) {
        self.size = size;
        self.begin_anew();
    }

    /// Rows of the live region below the cursor, and whether the full screen is on: what somebody
    /// has to know who leaves without `Painter::end_painting`.
    pub fn rows_below(&self) -> (usize, bool) {
        (self.rows.len() - 1 - self.row.min(self.rows.len() - 1), self.full.is_some())
    }

    /// How many of the waiting lines this paint takes.
    fn affordable_lines(&self) -> usize {
        let Some(budget) = self.budget else { return self.waiting.len() };
        let bytes = |line: &Line<'_>| line.spans.iter().map(|span| span.content.len()).sum();
        let mut left = budget;
        let fit = self.waiting.iter().take_while(|line| {
            let fits = left > 0;
            left = left.saturating_sub(bytes(line));
            fits
        });
        fit.count()
    }

    /// Takes the live region away.
    fn erase_region(&mut self) -> Vec<u8> {
        if self.repair == ScreenRepair::Begin {
            return Vec::new();
        }
        let mut brush = CursorBrush::new(self.row, self.column, usize::from(self.size.columns));
        if self.repair == ScreenRepair::Resized {
            brush.row = self.rows_above();
        }
        brush.go_row(0);
        brush.column = None;
        brush.erase_below();
        self.rows = vec![CellRow::default()];
        self.row = 0;
        self.column = Some(0);
        self.repair = ScreenRepair::Nothing;
        brush.out
    }

    fn begin_anew(&mut self) {
        self.rows = vec![CellRow::default()];
        self.row = 0;
        self.column = None;
        self.shown = true;
        self.repair = ScreenRepair::Begin;
    }

    /// Brings the screen to what is remembered.
    fn repair_screen(&mut self, brush: &mut CursorBrush) {
        match self.repair {
            ScreenRepair::Nothing => return,
            ScreenRepair::Begin => {}
            ScreenRepair::Resized => {
                brush.row = self.rows_above();
                brush.go_row(0);
            }
        }
        brush.column = None;
        brush.erase_below();
        self.repair = ScreenRepair::Nothing;
        self.rows = vec![CellRow::default()];
    }

    /// Rows of the live region above the cursor, after the terminal broke them to its new width.
    fn rows_above(&self) -> usize {
        let columns = usize::from(self.size.columns);
        // A terminal without a size broke nothing that could be seen.
        if !self.caps.reflows || !self.size.is_some() || columns >= self.columns_then {
            return self.row;
        }
        let above: usize = self.rows.iter().take(self.row).map(|row| row.height_at(columns)).sum();
        let here = self.rows.get(self.row).map_or(1, |row| row.height_at(columns));
        // A cursor in the last cell or behind it stands in the last row that its row became.
        let within = match (self.column, self.rows.get(self.row)) {
            (Some(column), Some(row)) => row.row_of_cell(column, columns),
            _ => here - 1,
        };
        above + within
    }

    /// Whether so many waiting lines leave no row of the region on the screen that could be moved: the new rows
    /// are as many as the screen has, whatever comes after them.
    fn scrolls_all_away(&self, lines: usize) -> bool {
        lines >= self.rows.len() + usize::from(self.size.rows)
    }

    /// So many waiting lines and the rows `below` them take the place of the region; how many rows the lines
    /// became.
    fn change_rows(&mut self, lines: usize, below: Vec<CellRow>, brush: &mut CursorBrush) -> usize {
        let (columns, depth) = (usize::from(self.size.columns), self.caps.depth);
        let finished = self.waiting.drain(..lines);
        let mut wanted: Vec<CellRow> =
            finished.flat_map(|line| CellRow::break_line(&line, columns, depth)).collect();
        let finished = wanted.len();
        wanted.extend(below);
        self.update_rows(&wanted, brush);
        self.rows = wanted.split_off(finished);
        finished
    }

    /// The same bytes, where all of the region scrolls away: of the rows that the lines become none is kept but
    /// the last, since a row of cells takes forty times the memory of its text (Q21).
    fn write_rows(&mut self, lines: usize, below: Vec<CellRow>, brush: &mut CursorBrush) -> usize {
        let (columns, depth) = (usize::from(self.size.columns), self.caps.depth);
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut finished = 0;
        let mut last: Option<CellRow> = None;
        for line in waiting.drain(..lines) {
            for row in CellRow::break_line(&line, columns, depth) {
                self.write_row(finished, last.as_ref(), &row, brush);
                finished += 1;
                last = Some(row);
            }
        }
        self.waiting = waiting;
        for (number, row) in below.iter().enumerate() {
            let before = number.checked_sub(1).map(|before| &below[before]).or(last.as_ref());
            self.write_row(finished + number, before, row, brush);
        }
        self.rows = below;
        finished
    }

    /// Changes the remembered rows to the wanted ones, moving those at the end that stay the same.
    fn update_rows(&self, wanted: &[CellRow], brush: &mut CursorBrush) {
        let old = &self.rows;
        let height = usize::from(self.size.rows);
        let grown = wanted.len().saturating_sub(old.len());
        let shrunk = old.len().saturating_sub(wanted.len());
        let tail = self.unchanged_tail(wanted);
        let place = old.len().saturating_sub(tail);
        // A row that goes on from the one before is written from there, so that must still be seen.
        let joined = usize::from(wanted.get(place).is_some_and(|row| row.joined));
        if tail > 0 && grown > 0 && grown + tail + joined <= height {
            for (at, row) in old.iter().enumerate().take(place) {
                put_row(at, row, wanted, brush);
            }
            brush.go_row(old.len() - 1);
            (0..grown).for_each(|_| brush.new_row());
            brush.go_row(place);
            brush.insert_rows(grown);
            for at in place..place + grown {
                put_row(at, &CellRow::EMPTY, wanted, brush);
            }
            return;
        }
        if tail > 0 && shrunk > 0 {
            let place = wanted.len() - tail;
            for (at, row) in old.iter().enumerate().take(place) {
                put_row(at, row, wanted, brush);
            }
            brush.go_row(place);
            brush.delete_rows(shrunk);
            return;
        }
        for (at, row) in wanted.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &wanted[before]);
            self.write_row(at, before, row, brush);
        }
        if shrunk > 0 {
            brush.go_row(wanted.len());
            brush.erase_below();
        }
    }

    /// Makes row `at` of the region the wanted one, or writes it below the last; `before`: the wanted row above.
    fn write_row(
        &self,
        at: usize,
        before: Option<&CellRow>,
        new: &CellRow,
        brush: &mut CursorBrush,
    ) {
        if at >= self.rows.len() && !new.joined {
            brush.go_row(at - 1);
            brush.new_row();
        }
        replace_row(at, before, self.rows.get(at).unwrap_or(&CellRow::EMPTY), new, brush);
    }

    /// How many rows at the end stay the same but move, when that is worth it.
    fn unchanged_tail(&self, wanted: &[CellRow]) -> usize {
        if wanted.len() == self.rows.len() {
            return 0;
        }
        let pairs = self.rows.iter().rev().zip(wanted.iter().rev());
        let tail = pairs.take_while(|(old, new)| old == new).count();
        let cells: usize = wanted.iter().rev().take(tail).map(|row| row.cells.len()).sum();
        if cells < MOVED_CELLS_MIN { 0 } else { tail }
    }

    /// Adds `bytes`, and what keeps a terminal from showing half of them.
    fn append_bracketed(&mut self, bytes: &[u8], show: bool, out: &mut Vec<u8>) {
        let small = bytes.len() <= SMALL_BYTES_MAX;
        let hide = self.shown && (!show || !small);
        let sync = self.caps.sync && !small;
        if sync {
            out.extend_from_slice(b"\x1b[?2026h");
        }
        if hide {
            out.extend_from_slice(b"\x1b[?25l");
        }
        out.extend_from_slice(bytes);
        if show && (hide || !self.shown) {
            out.extend_from_slice(b"\x1b[?25h");
        }
        if sync {
            out.extend_from_slice(b"\x1b[?2026l");
        }
        self.shown = show;
    }
}

/// Makes row `at`, which looks like `old`, the wanted one.
fn put_row(at: usize, old: &CellRow, wanted: &[CellRow], brush: &mut CursorBrush) {
    let before = at.checked_sub(1).map(|before| &wanted[before]);
    replace_row(at, before, old, &wanted[at], brush);
}

/// The same; `before`: the wanted row above it.
fn replace_row(
    at: usize,
    before: Option<&CellRow>,
    old: &CellRow,
    new: &CellRow,
    brush: &mut CursorBrush,
) {
    match before {
        Some(before) if new.joined => brush.join_row(at, before, old, new),
        Some(_) | None => brush.change_row(at, old, new),
    }
}

/// The `height` lines that are shown of more: the last ones, or those around the cursor.
fn visible_window<'lines, 'text>(
    lines: &'lines [Line<'text>],
    cursor: Option<(usize, usize)>,
    height: usize,
) -> (&'lines [Line<'text>], Option<(usize, usize)>) {
    let last = lines.len().max(1) - 1;
    let cursor = cursor.map(|(row, column)| (row.min(last), column));
    let spare = lines.len().saturating_sub(height);
    let start = match cursor {
        Some((row, _)) if row < spare => row.saturating_sub(height / 2),
        _ => spare,
    };
    let end = (start + height).min(lines.len());
    (&lines[start..end], cursor.map(|(row, column)| (row - start, column)))
}

#[cfg(test)]
#[path = "painter_tests.rs"]
mod tests;
