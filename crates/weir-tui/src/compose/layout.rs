//! Lines of the box as rows of cells: what each grapheme cluster looks like, where a line breaks,
//! in which cell a byte is. Pure; not here: which rows are shown.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use super::token::{TokenTable, is_token};
use crate::text::clean::clean_text;
use crate::text::wrap::text_width;

/// Cells of a tab, which has no fixed stops in a text that moves.
const TAB: &str = "    ";

/// How something looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitLook {
    Text,
    Token,
    /// Written out because it cannot be shown.
    Odd,
}

/// A grapheme cluster as it is shown.
#[derive(Debug)]
pub(super) struct LayoutUnit<'a> {
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after it.
    pub(super) end: usize,
    pub(super) shown: Cow<'a, str>,
    pub(super) cells: usize,
    pub(super) look: UnitLook,
    /// A line may be broken behind it.
    pub(super) blank: bool,
}

/// A part of a line, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineRange {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How lines are laid out.
#[derive(Clone, Copy)]
pub(super) struct LineLayout<'a> {
    pub(super) tokens: &'a TokenTable,
    /// Cells of a row. A blank may hang over by one, so there must be one more to the right; the
    /// cursor stands there as well.
    pub(super) cells: usize,
    /// Bytes at the start of the line that are not shown.
    pub(super) hidden: usize,
}

impl<'a> LineLayout<'a> {
    /// The clusters of a part of a line, as they are shown.
    pub(super) fn units(
        self,
        line: &'a str,
        part: LineRange,
    ) -> impl Iterator<Item = LayoutUnit<'a>> {
        let mut at = part.start;
        std::iter::from_fn(move || {
            if at >= part.end {
                return None;
            }
            let unit = self.unit_at(line, at);
            at = unit.end;
            Some(unit)
        })
    }

    fn unit_at(self, line: &'a str, start: usize) -> LayoutUnit<'a> {
        let bytes = line.as_bytes();
        let ascii_follows = bytes.get(start + 1).is_none_or(u8::is_ascii);
        let grapheme = if is_plain(bytes[start]) && ascii_follows {
            &line[start..=start]
        } else {
            line[start..].graphemes(true).next().unwrap_or_default()
        };
        let end = start + grapheme.len();
        let (shown, cells, look) = if start < self.hidden {
            (Cow::Borrowed(""), 0, UnitLook::Text)
        } else if grapheme.len() == 1 && is_plain(bytes[start]) {
            (Cow::Borrowed(grapheme), 1, UnitLook::Text)
        } else {
            self.display_form(grapheme)
        };
        LayoutUnit { start, end, shown, cells, look, blank: matches!(grapheme, " " | "\t") }
    }

    /// The end of a unit, its cells, and whether a line may be broken behind it. A line may have
    /// millions of them, nearly all of one plain byte.
    fn measure_unit(self, line: &'a str, at: usize) -> (usize, usize, bool) {
        match line.as_bytes()[at..] {
            [byte, ref rest @ ..]
                if is_plain(byte) && rest.first().is_none_or(u8::is_ascii) && at >= self.hidden =>
            {
                (at + 1, 1, byte == b' ')
            }
            _ => {
                let unit = self.unit_at(line, at);
                (unit.end, unit.cells, unit.blank)
            }
        }
    }

    fn display_form(self, grapheme: &'a str) -> (Cow<'a, str>, usize, UnitLook) {
        let sign = grapheme.chars().next().filter(|c| is_token(*c));
        let (shown, look) = if let Some(sign) = sign {
            (clean_text(self.tokens.label(sign).unwrap_or("[?]")), UnitLook::Token)
        } else if grapheme == "\t" {
            (Cow::Borrowed(TAB), UnitLook::Text)
        } else {
            match clean_text(grapheme) {
                same if same == grapheme => (Cow::Borrowed(grapheme), UnitLook::Text),
                written_out => (written_out, UnitLook::Odd),
            }
        };
        match text_width(&shown) {
            // A mark that stands alone would hang on to what is before it.
            0 => (Cow::Owned(format!("\u{25cc}{shown}")), 1, look),
            cells if cells > self.cells => {
                let (cut, cells) = cut_to_cells(&shown, self.cells);
                (Cow::Owned(cut), cells, look)
            }
            cells => (shown, cells, look),
        }
    }

    /// Where a line breaks: behind blanks if it can be, never within a cluster. At least one row;
    /// the last one always has room for the cursor.
    pub(super) fn break_into_rows(self, line: &'a str) -> Vec<LineRange> {
        let mut rows = Vec::new();
        let (mut start, mut used) = (0, 0);
        let mut gap: Option<(usize, usize)> = None;
        let mut at = 0;
        while at < line.len() {
            let (end, cells, blank) = self.measure_unit(line, at);
            let hangs = blank && cells == 1 && used == self.cells;
            while used > 0 && used + cells > self.cells && !hangs {
                let (end, before) = gap.take().unwrap_or((at, used));
                rows.push(LineRange { start, end });
                start = end;
                used -= before;
            }
            used += cells;
            at = end;
            if blank {
                gap = Some((end, used));
            }
        }
        rows.push(LineRange { start, end: line.len() });
        if used > self.cells {
            rows.push(LineRange { start: line.len(), end: line.len() });
        }
        rows
    }

    /// The cell in its row in which a byte of the line is.
    pub(super) fn cell_of_byte(self, line: &'a str, row: LineRange, byte: usize) -> usize {
        let part = LineRange { start: row.start, end: byte };
        self.units(line, part).map(|unit| unit.cells).sum()
    }

    /// The byte of a row that is in a cell or, where the row is shorter, its last place.
    pub(super) fn byte_of_cell(self, line: &'a str, row: LineRange, cell: usize) -> usize {
        let mut used = 0;
        let mut last = row.start;
        for unit in self.units(line, row) {
            if used + unit.cells > cell {
                return unit.start;
            }
            used += unit.cells;
            last = unit.start;
        }
        // The end of a row that is not the last of its line is the start of the next one.
        if row.end == line.len() { row.end } else { last }
    }
}

fn is_plain(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// The row of a line in which a byte is.
pub(super) fn row_of(rows: &[LineRange], byte: usize) -> usize {
    rows.partition_point(|row| row.start <= byte).saturating_sub(1)
}

/// `text` in at most this many cells, `…` where something is missing; and how many it has.
pub(super) fn cut_to_cells(text: &str, cells_max: usize) -> (String, usize) {
    if text_width(text) <= cells_max {
        return (text.to_owned(), text_width(text));
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let cells = text_width(grapheme);
        if used + cells + 1 > cells_max {
            break;
        }
        out.push_str(grapheme);
        used += cells;
    }
    if cells_max > 0 {
        out.push('…');
        used += 1;
    }
    (out, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_lines_break_behind_blanks_and_between_clusters() {
        let tokens = TokenTable::default();
        for (line, cells, expected) in [
            ("", 5, vec![""]),
            ("hello", 5, vec!["hello"]),
            ("hello world", 5, vec!["hello ", "world"]),
            ("hello ", 5, vec!["hello ", ""]),
            ("a bc def", 5, vec!["a bc ", "def"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("ab cdefghij", 5, vec!["ab ", "cdefg", "hij"]),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("漢字", 1, vec!["漢", "字"]),
            ("e\u{301}e\u{301}e\u{301}", 2, vec!["e\u{301}e\u{301}", "e\u{301}"]),
            ("👨‍👩‍👧👨‍👩‍👧", 3, vec!["👨‍👩‍👧", "👨‍👩‍👧"]),
            ("a\tb", 4, vec!["a", "\t", "b"]),
            ("a   b", 2, vec!["a  ", " b"]),
        ] {
            let frame = LineLayout { tokens: &tokens, cells, hidden: 0 };
            let rows = frame.break_into_rows(line);
            let parts: Vec<&str> = rows.iter().map(|row| &line[row.start..row.end]).collect();
            assert_eq!(parts, expected, "{line:?} in {cells}");
        }
    }

    #[test]
    fn f1_a_cell_is_found_for_every_byte_and_back() {
        let tokens = TokenTable::default();
        let frame = LineLayout { tokens: &tokens, cells: 20, hidden: 0 };
        let line = "a漢e\u{301}👨‍👩‍👧\u{7}b";
        let row = frame.break_into_rows(line)[0];
        let units: Vec<(usize, usize)> =
            frame.units(line, row).map(|unit| (unit.start, unit.cells)).collect();
        let cells: Vec<usize> = units.iter().map(|unit| unit.1).collect();
        assert_eq!(cells, [1, 2, 1, 2, 8, 1]);
        for (start, _) in &units {
            assert_eq!(
                frame.byte_of_cell(line, row, frame.cell_of_byte(line, row, *start)),
                *start
            );
        }
        // Within a wide cluster is before it.
        assert_eq!(frame.byte_of_cell(line, row, 2), 1);
        assert_eq!(frame.byte_of_cell(line, row, 99), line.len());
    }

    #[test]
    fn f1_z10_nothing_in_the_box_steers_the_terminal() {
        let tokens = TokenTable::default();
        let frame = LineLayout { tokens: &tokens, cells: 60, hidden: 0 };
        for (line, expected) in [
            ("a\u{1b}[2Jb", "a<U+001B>[2Jb"),
            ("\u{202e}x", "<U+202E>x"),
            ("a\u{200d}b", "a<U+200D>b"),
            ("\u{301}", "\u{25cc}\u{301}"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
            ("\u{E0300}", "[?]"),
            ("\t|", "    |"),
        ] {
            let row = LineRange { start: 0, end: line.len() };
            let shown: String = frame.units(line, row).map(|unit| unit.shown).collect();
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn f1_long_names_are_cut() {
        assert_eq!(cut_to_cells("abc", 3), ("abc".into(), 3));
        assert_eq!(cut_to_cells("abcd", 3), ("ab…".into(), 3));
        assert_eq!(cut_to_cells("漢字", 3), ("漢…".into(), 3));
        assert_eq!(cut_to_cells("漢字", 2), ("…".into(), 1));
        assert_eq!(cut_to_cells("a", 0), (String::new(), 0));
    }
}
