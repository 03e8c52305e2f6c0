//! Lines broken to a width in cells: by what a reader takes for one character, between words where
//! that is possible.
//!
//! Text stays in the order it was written: turning right-to-left text round is the terminal's. Not
//! here: what may be shown (`clean`).

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Stands for a character that is wider than the whole line.
const TOO_WIDE: &str = "·";
/// Signs that do not begin a line of Chinese or Japanese.
const NO_LINE_STARTS: &str = "、。，．！？：；）」』】》〉〕］｝ー…";

/// Cells that `text` takes.
pub fn text_width(text: &str) -> usize {
    let printable = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.bytes().all(printable) {
        return text.len();
    }
    // Terminals give these two marks a cell of their own.
    let marks = text.chars().filter(|c| matches!(c, '\u{FF9E}' | '\u{FF9F}')).count();
    text.width() + marks
}

/// Cells that a line takes.
pub fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| text_width(&span.content)).sum()
}

/// `line` in lines of at most `width` cells, broken between words where that is possible; lines
/// after the first begin with `hang` blanks. Never empty. Blanks at a break are dropped.
pub fn wrap_line(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    break_line(line, width, hang, BreakAt::Words)
}

/// [`wrap_line`] that breaks anywhere and drops nothing: for code.
pub fn wrap_exact(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    break_line(line, width, hang, BreakAt::Anywhere)
}

/// `line` in at most `width` cells; what does not fit is cut with `…`.
pub fn cut_line(line: Line<'_>, width: usize) -> Line<'static> {
    let text = StyledRuns::from_line(&line);
    let (mut cells, mut room) = (0, 0);
    let mut whole = true;
    for (at, cluster) in text.all.grapheme_indices(true) {
        cells += self::text_width(cluster);
        if cells > width {
            whole = false;
            break;
        }
        if cells < width {
            room = at + cluster.len();
        }
    }
    if whole {
        let spans = line.spans.into_iter();
        let spans = spans.map(|span| Span::styled(span.content.into_owned(), span.style));
        return Line { spans: spans.collect(), style: line.style, alignment: line.alignment };
    }
    let mut spans = text.slice(0, room);
    if width > 0 {
        let style = text.style_at(room.saturating_sub(1));
        spans.push(Span::styled("…", style));
    }
    Line { spans, style: line.style, alignment: line.alignment }
}

/// Where a line may be broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BreakAt {
    Words,
    Anywhere,
}

/// The text of a line in one piece, and which part of it has which style.
struct StyledRuns {
    all: String,
    /// Where a style ends, in order.
    ends: Vec<(usize, Style)>,
}

impl StyledRuns {
    fn from_line(line: &Line<'_>) -> StyledRuns {
        let mut all = String::new();
        let mut ends = Vec::with_capacity(line.spans.len());
        for span in &line.spans {
            all.push_str(&span.content);
            ends.push((all.len(), span.style));
        }
        if ends.len() > 1 {
            keep_together(&all, &mut ends);
        }
        StyledRuns { all, ends }
    }

    fn style_at(&self, at: usize) -> Style {
        let run = self.ends.partition_point(|(end, _)| *end <= at);
        self.ends.get(run).or(self.ends.last()).map_or(Style::new(), |(_, style)| *style)
    }

    /// The text from `from` to `to` in its styles.
    fn slice(&self, from: usize, to: usize) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let mut run = self.ends.partition_point(|(end, _)| *end <= from);
        let mut at = from;
        while at < to
            && let Some((end, style)) = self.ends.get(run)
        {
            let end = (*end).min(to);
            if end > at {
                spans.push(Span::styled(self.all[at..end].to_owned(), *style));
            }
            at = end;
            run += 1;
        }
        spans
    }
}

/// No style ends within what a reader takes for one character: it is drawn in one piece.
fn keep_together(all: &str, ends: &mut [(usize, Style)]) {
    let mut rest = ends.iter_mut().peekable();
    for (at, cluster) in all.grapheme_indices(true) {
        let next = at + cluster.len();
        while let Some((end, _)) = rest.next_if(|(end, _)| *end <= next) {
            if *end > at {
                *end = next;
            }
        }
    }
}

/// A place where the line can be broken.
#[derive(Clone, Copy)]
struct BreakGap {
    /// Where the line ends, without the blanks.
    end: usize,
    /// Where the next one begins.
    next: usize,
    /// Cells from there on.
    cells: usize,
}

struct LineBreaker<'a> {
    text: &'a StyledRuns,
    like: &'a Line<'a>,
    hang: usize,
    mode: BreakAt,
    out: Vec<Line<'static>>,
    /// Where the line that is being filled begins.
    from: usize,
    cells: usize,
    gap: Option<BreakGap>,
}

fn break_line(line: &Line<'_>, width: usize, hang: usize, at: BreakAt) -> Vec<Line<'static>> {
    let text = StyledRuns::from_line(line);
    if width == 0 {
        return vec![Line { spans: Vec::new(), style: line.style, alignment: line.alignment }];
    }
    let hang = hang.min(width / 2);
    // A wide character fits beside it, or it goes.
    let hang = if width - hang < 2 { 0 } else { hang };
    let (from, cells) = (0, 0);
    let mut fill = LineBreaker {
        text: &text,
        like: line,
        hang,
        mode: at,
        out: Vec::new(),
        from,
        cells,
        gap: None,
    };
    let mut blanks_from = None;
    let mut before_wide = false;
    for (at_byte, cluster) in display_pieces(&text.all, width - hang) {
        let cells = self::text_width(cluster);
        let end = at_byte + cluster.len();
        if at == BreakAt::Words && cluster == " " {
            let first = *blanks_from.get_or_insert(at_byte);
            before_wide = false;
            fill.add_blanks(first, end, width);
            continue;
        }
        let wide = cells == 2;
        // Between wide characters there are no blanks, and words end anywhere.
        let breaks = at == BreakAt::Words
            && blanks_from.is_none()
            && (wide || before_wide)
            && !NO_LINE_STARTS.contains(cluster);
        if breaks && at_byte > fill.from {
            fill.gap = Some(BreakGap { end: at_byte, next: at_byte, cells: 0 });
        }
        (blanks_from, before_wide) = (None, wide);
        fill.add_cluster(at_byte, cells, width);
        let room = if fill.out.is_empty() { width } else { width - fill.hang };
        if cells > room {
            fill.too_wide(end);
        }
    }
    fill.finish(blanks_from.is_some(), width)
}

/// What a reader takes for one character each, with its place; what is wider than `room`, such as
/// two emoji joined to one, in parts that stand on their own: on two lines it can be read, left out
/// it cannot.
fn display_pieces(text: &str, room: usize) -> impl Iterator<Item = (usize, &str)> {
    text.grapheme_indices(true).flat_map(move |(place, cluster)| {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = cluster.get(from..).filter(|rest| !rest.is_empty())?;
            let end = if text_width(rest) <= room { rest.len() } else { first_part(rest) };
            let piece = (place + from, &rest[..end]);
            from += end;
            Some(piece)
        })
    })
}

/// Where the first character with what is drawn onto it ends.
fn first_part(cluster: &str) -> usize {
    let drawn = |c: char| text_width(c.encode_utf8(&mut [0; 4])) > 0;
    let next = cluster.char_indices().skip(1).find(|(_, c)| drawn(*c));
    next.map_or(cluster.len(), |(at, _)| at)
}

impl LineBreaker<'_> {
    fn room_in_line(&self, width: usize) -> usize {
        if self.out.is_empty() { width } else { width - self.hang }
    }

    /// Blanks stand from `first` to `end`.
    fn add_blanks(&mut self, first: usize, end: usize, width: usize) {
        if first > self.from {
            self.gap = Some(BreakGap { end: first, next: end, cells: 0 });
            self.cells += 1;
        } else if self.cells < self.room_in_line(width)
            && (self.out.is_empty() || first < self.from)
        {
            self.cells += 1;
        } else {
            // Blanks at the beginning that fill the whole line are not worth one.
            (self.from, self.cells) = (end, 0);
        }
    }

    /// A character of `cells` stands at `at`.
    fn add_cluster(&mut self, at: usize, cells: usize, width: usize) {
        // After the break the word itself may be too long for its line.
        while self.cells + cells > self.room_in_line(width) && at > self.from {
            // What is carried over has to fit beside the hanging blanks.
            let next_room = width - self.hang;
            match self.gap.take().filter(|gap| gap.cells <= next_room) {
                Some(gap) => {
                    self.push_line(self.from, gap.end);
                    (self.from, self.cells) = (gap.next, gap.cells);
                }
                None => {
                    let blank = self.text.all[self.from..at].bytes().all(|byte| byte == b' ');
                    if !blank || self.mode == BreakAt::Anywhere {
                        self.push_line(self.from, at);
                    }
                    (self.from, self.cells) = (at, 0);
                }
            }
        }
        self.cells += cells;
        if let Some(gap) = &mut self.gap {
            gap.cells += cells;
        }
    }

    /// The character that was just added, and ends at `end`, has more cells than a line.
    fn too_wide(&mut self, end: usize) {
        let style = self.text.style_at(self.from);
        self.push_spans(vec![Span::styled(TOO_WIDE, style)]);
        (self.from, self.cells, self.gap) = (end, 0, None);
    }

    fn push_line(&mut self, from: usize, to: usize) {
        self.push_spans(self.text.slice(from, to));
    }

    fn push_spans(&mut self, mut spans: Vec<Span<'static>>) {
        if !self.out.is_empty() && self.hang > 0 {
            spans.insert(0, Span::raw(" ".repeat(self.hang)));
        }
        self.out.push(Line { spans, style: self.like.style, alignment: self.like.alignment });
    }

    fn finish(mut self, blanks_last: bool, width: usize) -> Vec<Line<'static>> {
        // Blanks at the end that do not fit are dropped like those at any other break.
        let over =
            if blanks_last { self.cells.saturating_sub(self.room_in_line(width)) } else { 0 };
        let end = self.text.all.len() - over;
        if end > self.from || self.out.is_empty() {
            self.push_line(self.from, end.max(self.from));
        }
        self.out
    }
}

#[cfg(test)]
mod tests;
