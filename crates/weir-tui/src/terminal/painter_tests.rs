//! The painter against a terminal (`vt100`) that keeps what it is given, and that breaks rows anew
//! when it is resized, as most terminals do.

use proptest::prelude::*;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::*;
use crate::terminal::{TerminalEnds, row};
use crate::text::theme::ColourDepth;

const SCROLLBACK: usize = 4000;
/// Cells of the longest line that is made here.
const LINE_CELLS_MAX: u16 = 400;

/// A terminal.
struct Glass {
    parser: vt100::Parser,
    size: TerminalSize,
}

/// A cell as it is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    text: String,
    look: (vt100::Color, vt100::Color, bool),
    wide: bool,
}

/// A line of the terminal: rows that it broke itself are one.
type Seens = Vec<Seen>;

fn caps() -> TerminalCaps {
    let read = |name: &str| (name == "TERM").then(|| "xterm-256color".to_owned());
    TerminalCaps::detect(&read, TerminalEnds { input: true, output: true })
}

fn parser(size: TerminalSize) -> vt100::Parser {
    let some = |count| std::num::NonZeroU16::new(count).expect("sizes of nothing are not tried");
    vt100::Parser::new(some(size.rows), some(size.columns), SCROLLBACK)
}

impl Glass {
    fn new(size: TerminalSize) -> Glass {
        Glass { parser: parser(size), size }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// All rows from the oldest, whether each goes on in the next, and the row of the cursor.
    fn rows(&mut self) -> (Vec<(Seens, bool)>, usize) {
        let screen = self.parser.screen_mut();
        screen.set_scrollback(SCROLLBACK);
        let kept = screen.scrollback();
        let mut all = Vec::new();
        for back in (1..=kept).rev() {
            screen.set_scrollback(back);
            all.push(row_of(screen, 0, self.size.columns));
        }
        screen.set_scrollback(0);
        for row in 0..self.size.rows {
            all.push(row_of(screen, row, self.size.columns));
        }
        (all, kept + usize::from(screen.cursor_position().0))
    }

    /// Rows joined to lines, without the empty ones at the end, but not less than to the cursor.
    fn lines(&mut self) -> (Vec<Seens>, usize, usize) {
        let (rows, cursor_row) = self.rows();
        let column = usize::from(self.parser.screen().cursor_position().1);
        let mut lines: Vec<Seens> = Vec::new();
        let (mut joined, mut place) = (false, (0, 0));
        for (at, (cells, wrapped)) in rows.into_iter().enumerate() {
            if !joined {
                lines.push(Vec::new());
            }
            let index = lines.len() - 1;
            if at == cursor_row {
                place = (index, lines[index].len() + column);
            }
            lines[index].extend(cells);
            joined = wrapped;
        }
        while lines.len() > place.0 + 1 && lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        (lines, place.0, place.1)
    }

    /// As tmux, kitty and most others do it. `false`: the cursor's own line did not fit, so that
    /// nobody can say where the cursor would be.
    fn resize(&mut self, size: TerminalSize) -> bool {
        let (mut lines, line, offset) = self.lines();
        let columns = usize::from(size.columns);
        let height = |seens: &Seens| heights(seens, seens.len(), columns) + 1;
        let within = heights(&lines[line], offset + 1, columns).min(height(&lines[line]) - 1);
        // The cursor stays on the screen; what is too far below it is lost.
        let mut below = height(&lines[line]) - 1 - within;
        let mut keep = line + 1;
        while keep < lines.len() && below + height(&lines[keep]) < usize::from(size.rows) {
            below += height(&lines[keep]);
            keep += 1;
        }
        lines.truncate(keep);
        let hidden = self.parser.screen().hide_cursor();
        self.parser = parser(size);
        if hidden {
            self.feed(b"\x1b[?25l");
        }
        self.size = size;
        let text: Vec<String> = lines.iter().map(write).collect();
        self.feed(text.join("\r\n").as_bytes());
        if below > 0 {
            self.feed(format!("\x1b[{below}A").as_bytes());
        }
        let column = if within == 0 { offset.min(columns - 1) } else { 0 };
        self.feed(format!("\r\x1b[{}G", column + 1).as_bytes());
        below < usize::from(size.rows)
    }
}

/// In which row after the first the cell at `offset` is.
fn heights(seens: &Seens, offset: usize, columns: usize) -> usize {
    let (mut row, mut used) = (0, 0);
    let mut at = 0;
    while at < seens.len() && at < offset.max(1).min(seens.len()) {
        let width = if seens[at].wide { 2 } else { 1 };
        if used + width > columns && used > 0 {
            row += 1;
            used = 0;
        }
        used += width;
        at += width;
    }
    row
}

/// A row, and whether it goes on in the next. The blanks at the end of one that does belong to the
/// line, but for the cell that a wide character had no room in.
fn row_of(screen: &vt100::Screen, row: u16, columns: u16) -> (Seens, bool) {
    if !screen.row_wrapped(row) {
        return (cells(screen, row, columns), false);
    }
    let last = screen.cell(row, columns - 1);
    let room = last.is_some_and(|cell| !cell.has_contents() && !cell.is_wide_continuation());
    (all_cells(screen, row, if room { columns - 1 } else { columns }), true)
}

fn cells(screen: &vt100::Screen, row: u16, columns: u16) -> Seens {
    let mut seens = all_cells(screen, row, columns);
    while seens.last().is_some_and(|seen| seen.text == " " && seen.look.1 == vt100::Color::Default)
    {
        if seens.len() > 1 && seens[seens.len() - 2].wide {
            break;
        }
        seens.pop();
    }
    seens
}

fn all_cells(screen: &vt100::Screen, row: u16, columns: u16) -> Seens {
    (0..columns)
        .filter_map(|column| screen.cell(row, column))
        .map(|cell| Seen {
            text: if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() },
            look: (cell.fgcolor(), cell.bgcolor(), cell.bold()),
            wide: cell.is_wide(),
        })
        .map(|seen| match seen.text.as_str() {
            // The colour of a blank is not seen.
            " " => Seen { look: (vt100::Color::Default, seen.look.1, false), ..seen },
            _ => seen,
        })
        .collect()
}

fn write(line: &Seens) -> String {
    let mut out = String::new();
    let mut rest = false;
    for seen in line {
        if rest {
            rest = false;
            continue;
        }
        out.push_str("\x1b[m");
        if seen.look.0 != vt100::Color::Default {
            out.push_str("\x1b[31m");
        }
        if seen.look.1 != vt100::Color::Default {
            out.push_str("\x1b[44m");
        }
        if seen.look.2 {
            out.push_str("\x1b[1m");
        }
        out.push_str(&seen.text);
        rest = seen.wide;
    }
    out.push_str("\x1b[m");
    out
}

/// What a terminal shows of a line that is written plainly.
fn wanted(line: &Line<'_>, columns: u16) -> Seens {
    let row = row::CellRow::new(line, usize::from(columns), ColourDepth::True);
    let mut out = Vec::new();
    for cell in &row.cells {
        if cell.symbol != row::CellSymbol::Rest {
            out.extend_from_slice(b"\x1b[m");
            cell.pen.write_transition(&super::super::pen::PLAIN, &mut out);
            cell.write_symbol(&mut out);
        }
    }
    let size = TerminalSize { columns: columns + 1, rows: 1 };
    let mut parser = parser(size);
    parser.process(&out);
    cells(parser.screen(), 0, columns)
}

#[derive(Debug, Clone)]
enum Step {
    Paint {
        finished: Vec<Line<'static>>,
        live: Vec<Line<'static>>,
        cursor: Option<(usize, usize)>,
    },
    /// Letters are added to a live line, as in streaming.
    Grow {
        line: usize,
        text: String,
    },
    /// The first live lines are finished as they are.
    Settle(usize),
    Resize(TerminalSize),
    Full(Vec<Line<'static>>),
    Redraw,
    Lend,
}

fn line() -> impl Strategy<Value = Line<'static>> {
    let span = ("[a-c ]{0,12}|[漢字a ]{0,8}|(e\u{301}|x){0,4}|[─]{0,30}|\\PC{0,6}", 0..4_usize)
        .prop_map(|(text, look)| {
            let style = [
                Style::new(),
                Style::new().fg(Color::Red),
                Style::new().bg(Color::Blue),
                Style::new().add_modifier(Modifier::BOLD),
            ][look];
            // How wide other letters are is a matter between unicode-width and vt100.
            let text: String =
                text.chars().filter(|c| c.is_ascii() || "漢字─e\u{301}".contains(*c)).collect();
            Span::styled(text, style)
        });
    prop::collection::vec(span, 0..4).prop_map(Line::from)
}

fn size() -> impl Strategy<Value = TerminalSize> {
    let some = (2..40_u16, 2..10_u16).prop_map(|(columns, rows)| TerminalSize { columns, rows });
    let none = prop_oneof![
        Just(TerminalSize { columns: 0, rows: 5 }),
        Just(TerminalSize { columns: 5, rows: 0 }),
        Just(TerminalSize::default())
    ];
    prop_oneof![9 => some, 1 => none]
}

fn step() -> impl Strategy<Value = Step> {
    let lines = |most| prop::collection::vec(line(), 0..most);
    let cursor = prop::option::of((0..8_usize, 0..30_usize));
    let paint = (lines(5), lines(7), cursor).prop_map(|(finished, live, cursor)| Step::Paint {
        finished,
        live,
        cursor,
    });
    prop_oneof![
        4 => paint,
        4 => (0..4_usize, "[a-d ]{1,5}").prop_map(|(line, text)| Step::Grow { line, text }),
        2 => (1..3_usize).prop_map(Step::Settle),
        2 => size().prop_map(Step::Resize),
        1 => lines(9).prop_map(Step::Full),
        1 => Just(Step::Redraw),
        1 => Just(Step::Lend),
    ]
}

/// The painter, the terminal, and what should be seen there.
struct Bench {
    painter: TerminalPainter,
    glass: Glass,
    finished: Vec<Seens>,
    kept: Vec<Line<'static>>,
    live: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
    /// A part of the live region went out of reach in a resize, so its remains may be seen above.
    loose: bool,
}

impl Bench {
    fn new(size: TerminalSize) -> Bench {
        let mut glass = Glass::new(size);
        glass.feed(b"b4\r\n");
        Bench {
            painter: TerminalPainter::new(size, caps()),
            glass,
            finished: vec![wanted(&Line::from("b4"), 40)],
            kept: Vec::new(),
            live: Vec::new(),
            cursor: None,
            loose: false,
        }
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let mut finished = Vec::new();
        match step {
            Step::Paint { finished: new, live, cursor } => {
                finished = new;
                self.live = live;
                self.cursor = cursor.filter(|(row, _)| *row < self.live.len());
            }
            Step::Grow { line, text } => {
                if let Some(line) = self.live.get_mut(line) {
                    line.spans.push(Span::raw(text));
                }
            }
            Step::Settle(count) => {
                finished = self.live.drain(..count.min(self.live.len())).collect();
                self.cursor = None;
            }
            Step::Resize(size) => {
                self.painter.set_size(size);
                if size.is_some() {
                    self.loose |= !self.glass.resize(size);
                    let below = usize::from(self.glass.parser.screen().cursor_position().0);
                    self.loose |= self.painter.rows_above() > below;
                }
            }
            Step::Full(lines) => return self.full(&lines),
            Step::Redraw => self.painter.redraw(),
            Step::Lend => {
                let bytes = self.painter.suspend();
                self.glass.feed(&bytes);
                self.glass.feed(b"sh\r\n");
                self.finished.push(wanted(&Line::from("sh"), 40));
                if self.painter.size().is_some() {
                    self.painter.resume(self.painter.size());
                }
            }
        }
        self.kept.extend(finished.clone());
        let frame = TerminalFrame { finished, live: self.live.clone(), cursor: self.cursor };
        let bytes = self.painter.paint_frame(frame.clone());
        self.glass.feed(&bytes);
        let again = self.painter.paint_frame(TerminalFrame { finished: Vec::new(), ..frame });
        prop_assert_eq!(String::from_utf8_lossy(&again), "", "nothing changed");
        if self.painter.size().is_some() { self.check() } else { Ok(()) }
    }

    fn full(&mut self, lines: &[Line<'static>]) -> Result<(), TestCaseError> {
        let bytes = self.painter.paint_full_screen(lines, Some((0, 0)));
        let size = self.painter.size();
        self.glass.feed(&bytes);
        prop_assert!(self.glass.parser.screen().alternate_screen());
        if size.is_some() {
            let (shown, _) = visible_window(lines, Some((0, 0)), usize::from(size.rows));
            for row in 0..size.rows {
                let empty = Line::default();
                let line = shown.get(usize::from(row)).unwrap_or(&empty);
                let seen = cells(self.glass.parser.screen(), row, size.columns);
                prop_assert_eq!(seen, wanted(line, size.columns));
            }
        }
        let bytes = self.painter.leave_full();
        self.glass.feed(&bytes);
        Ok(())
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let TerminalSize { columns, rows } = self.painter.size();
        let kept = std::mem::take(&mut self.kept);
        // What is finished is written whole, however long it is.
        self.finished.extend(kept.iter().map(|line| wanted(line, LINE_CELLS_MAX)));
        let (shown, cursor) = visible_window(&self.live, self.cursor, usize::from(rows));
        let mut live: Vec<Seens> = shown.iter().map(|line| wanted(line, columns)).collect();
        if live.is_empty() {
            live.push(Vec::new());
        }
        let (mut lines, line, _) = self.glass.lines();
        if let Some((_, column)) = cursor {
            let seen = usize::from(self.glass.parser.screen().cursor_position().1);
            prop_assert_eq!(seen, column.min(usize::from(columns) - 1));
            prop_assert!(!self.glass.parser.screen().hide_cursor());
        } else {
            prop_assert!(self.glass.parser.screen().hide_cursor());
        }
        if !self.loose {
            // A line that the terminal broke before a wide character is not known as one any more,
            // so what is above is compared as one text; the live region is compared row by row.
            let start = line - cursor.map_or(self.painter.row, |(row, _)| row);
            lines.resize(lines.len().max(start + live.len()), Vec::new());
            let above: Vec<Seen> =
                lines.drain(..start).flatten().filter(|seen| seen.text != " ").collect();
            let wanted: Vec<Seen> =
                self.finished.iter().flatten().filter(|seen| seen.text != " ").cloned().collect();
            prop_assert_eq!(lines, live);
            prop_assert_eq!(above, wanted);
            return Ok(());
        }
        // Remains may stand in between and run into what follows, but nothing finished is lost.
        let one = |lines: &[Seens]| -> String {
            let text =
                |seen: &Seen| if seen.text == " " { String::new() } else { seen.text.clone() };
            lines.iter().flatten().map(text).collect()
        };
        let all = one(&lines);
        let mut left = all.as_str();
        for line in &self.finished {
            let line = one(std::slice::from_ref(line));
            let at = left.find(&line);
            prop_assert!(at.is_some(), "lost: {line}");
            left = &left[at.unwrap_or(0) + line.len()..];
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn f1_any_paints_leave_what_they_should(
        size in size().prop_filter("a size", |size| size.is_some()),
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let mut bench = Bench::new(size);
        for step in steps {
            bench.step(step)?;
        }
        let bytes = bench.painter.end_painting();
        bench.glass.feed(&bytes);
        prop_assert!(!bench.glass.parser.screen().hide_cursor());
        prop_assert!(!bench.glass.parser.screen().alternate_screen());
    }
}

/// 200 tokens of four letters in a conversation of 80 columns, with what stands below them: bytes
/// written for each.
#[test]
fn f1_a_streamed_token_costs_little_more_than_itself() {
    let size = TerminalSize { columns: 80, rows: 24 };
    let mut painter = TerminalPainter::new(size, caps());
    let below = || {
        let rule = "─".repeat(80);
        [rule.clone(), "> what comes next".into(), rule, "model  12k  esc stops".into()]
            .map(|text| Line::styled(text, Style::new().fg(Color::DarkGray)))
    };
    let mut bytes = 0;
    let mut text = String::new();
    let (mut first, mut lines) = (0, 0);
    let mut glass = Glass::new(size);
    for token in 0..200 {
        text.push_str(["the ", "fox ", "ran ", "far "][token % 4]);
        let all: Vec<&str> = text
            .as_bytes()
            .chunks(80)
            .map(|row| std::str::from_utf8(row).expect("only ASCII is streamed here"))
            .collect();
        let settled = all.len() - 1;
        let line = |text: &&str| Line::from((*text).to_owned());
        let finished: Vec<_> = all[lines..settled].iter().map(line).collect();
        lines = settled;
        let mut live: Vec<_> = all[settled..].iter().map(line).collect();
        live.extend(below());
        let out = painter.paint_frame(TerminalFrame { finished, live, cursor: Some((2, 17)) });
        glass.feed(&out);
        if token == 0 {
            first = out.len();
        } else {
            bytes += out.len();
        }
    }
    println!("first paint {first} bytes, then {:.1} bytes a token of 4", bytes as f64 / 199.0);
    assert!(bytes < 199 * 30, "{bytes} bytes for 199 tokens");
    let (lines, ..) = glass.lines();
    assert_eq!(lines.len(), 10 + 4);
    assert!(lines[..10].iter().all(|line| line.len() >= 79));
}

/// Code that is longer than the terminal is wide is one line of the terminal: copied, it has no
/// break that nobody wrote, and in a wider terminal it stands in one row.
#[test]
fn f1_a_long_finished_line_is_one_line_of_the_terminal() {
    let code =
        "let letters = words.iter().flat_map(|word| word.chars()).filter(|c| !c.is_ascii());";
    for (columns, rows) in [(20, 6), (20, 3), (41, 5), (80, 24)] {
        let size = TerminalSize { columns, rows };
        let (mut painter, mut glass) = (TerminalPainter::new(size, caps()), Glass::new(size));
        let live = vec![Line::from("> "), Line::from("footer of the face")];
        let frame = |finished| TerminalFrame { finished, live: live.clone(), cursor: Some((0, 2)) };
        for finished in [vec![], vec![Line::from("short"), Line::from(code)], vec![code.into()]] {
            glass.feed(&painter.paint_frame(frame(finished)));
        }
        for wider in
            [size, TerminalSize { columns: 100, rows }, TerminalSize { columns: 33, rows: 9 }]
        {
            painter.set_size(wider);
            glass.resize(wider);
            glass.feed(&painter.paint_frame(frame(vec![])));
            let (lines, ..) = glass.lines();
            let text = |seens: &Seens| seens.iter().map(|seen| seen.text.as_str()).collect();
            let lines: Vec<String> = lines.iter().map(text).collect();
            assert_eq!(lines[..3], ["short", code, code], "{size:?} to {wider:?}");
            assert_eq!(lines[3].trim_end(), ">", "{size:?} to {wider:?}");
        }
    }
}

#[test]
fn f1_finished_lines_wait_on_a_slow_terminal_but_none_is_lost() {
    let size = TerminalSize { columns: 20, rows: 5 };
    let mut painter = TerminalPainter::new(size, caps());
    let mut glass = Glass::new(size);
    let finished: Vec<Line<'static>> =
        (0..100).map(|at| Line::from(format!("line number {at}"))).collect();
    painter.set_budget(Some(50));
    let live = vec![Line::from("> ")];
    let mut frame = TerminalFrame { finished, live: live.clone(), cursor: Some((0, 2)) };
    for paint in 0..10 {
        let bytes = painter.paint_frame(frame);
        assert!(bytes.len() < 250, "{} bytes in paint {paint}", bytes.len());
        glass.feed(&bytes);
        frame = TerminalFrame { finished: Vec::new(), live: live.clone(), cursor: Some((0, 2)) };
        assert!(painter.is_behind());
    }
    let bytes = painter.end_painting();
    glass.feed(&bytes);
    let (lines, ..) = glass.lines();
    assert_eq!(lines.len(), 101);
    assert!(!painter.is_behind());
}

#[test]
fn q21_lines_that_scroll_all_away_are_written_as_others_and_none_is_kept() {
    let size = TerminalSize { columns: 20, rows: 5 };
    let line = |at: usize| match at % 4 {
        0 => Line::from(format!("line {at}")),
        1 => Line::from("one that is longer than the terminal is wide, and goes on"),
        2 => Line::from("漢字漢字漢字漢字漢字漢字"),
        _ => Line::default(),
    };
    for (region, lines) in [(0, 6), (1, 7), (4, 9), (4, 50)] {
        let painted = |is_through: bool| {
            let mut painter = TerminalPainter::new(size, caps());
            let live = (0..region).map(|at| Line::from(format!("> {at}"))).collect();
            painter.paint_frame(TerminalFrame { finished: Vec::new(), live, cursor: None });
            painter.waiting.extend((0..lines).map(line));
            assert!(painter.scrolls_all_away(lines) && !painter.scrolls_all_away(size.rows.into()));
            let below = rows_from_lines(&[Line::from("> ")], 20, ColourDepth::True);
            let mut brush = CursorBrush::new(painter.row, painter.column, 20);
            let finished = match is_through {
                true => painter.write_rows(lines, below, &mut brush),
                false => painter.change_rows(lines, below, &mut brush),
            };
            (finished, brush.out, brush.row, brush.column, painter.rows)
        };
        assert_eq!(painted(true), painted(false), "{lines} lines after {region} rows");
    }
    let mut painter = TerminalPainter::new(size, caps());
    let finished = (0..10_000).map(line).collect();
    painter.paint_frame(TerminalFrame { finished, live: Vec::new(), cursor: None });
    assert_eq!((painter.waiting.capacity(), painter.rows.len()), (0, 1));
}
