//! Lines with what stands before them: the bars of quotations, the signs of points.
//!
//! It knows nothing of Markdown: `paint` says what opens and closes, and what the lines are.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::theme::Theme;
use super::super::wrap::{text_width as cells_of, wrap_exact, wrap_line};

/// Where lines go, and how.
pub(super) struct LineSheet<'a> {
    /// Cells of a line.
    pub(super) width: usize,
    /// The colours.
    pub(super) theme: &'a Theme,
    /// What becomes of code that is longer than a line.
    pub(super) code: LongCode,
    /// The lines.
    pub(super) out: &'a mut Vec<Line<'static>>,
}

/// What becomes of code that is longer than a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongCode {
    /// It is broken.
    Broken,
    /// It stays one line: whoever shows it breaks it, so that it is copied as it was written.
    Whole,
}

/// How a line is broken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakMode {
    /// Between words.
    AtWords,
    /// Anywhere, and nothing is dropped.
    Exactly,
}

/// What stands before the lines of a block.
struct BlockEdge {
    /// Before its first line.
    sign: Span<'static>,
    /// Before the others.
    after: Span<'static>,
    /// The first line was written.
    begun: bool,
}

/// Blocks within blocks, and the lines so far.
pub(super) struct MarkdownPage<'s, 'a> {
    sheet: &'s mut LineSheet<'a>,
    edges: Vec<BlockEdge>,
    /// Of every open block: whether it has an edge of its own.
    open: Vec<bool>,
    edge_cells: usize,
    /// Signs of points that are nested too deep for an edge: they stand in the text.
    loose_signs: Vec<Span<'static>>,
    flow: PageFlow,
}

/// What goes on from one page to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageFlow {
    /// An empty line is due before the next one.
    pub(super) gap: bool,
    /// There is a line before.
    pub(super) any: bool,
}

impl<'s, 'a> MarkdownPage<'s, 'a> {
    pub(super) fn new(sheet: &'s mut LineSheet<'a>, flow: PageFlow) -> MarkdownPage<'s, 'a> {
        let (edges, open, loose_signs) = (Vec::new(), Vec::new(), Vec::new());
        MarkdownPage { sheet, edges, open, edge_cells: 0, loose_signs, flow }
    }

    pub(super) fn flow(&self) -> PageFlow {
        self.flow
    }

    pub(super) fn theme(&self) -> &'a Theme {
        self.sheet.theme
    }

    /// Cells that are left for text.
    pub(super) fn room_left(&self) -> usize {
        self.sheet.width - self.edge_cells
    }

    /// An empty line belongs before what comes next.
    pub(super) fn request_gap(&mut self) {
        self.flow.gap = true;
    }

    /// No empty line belongs before what comes next.
    pub(super) fn no_gap(&mut self) {
        self.flow.gap = false;
    }

    /// A block with bars along all of its lines.
    pub(super) fn open_quote(&mut self) {
        let bar = Span::styled("│ ", self.theme().quote);
        if self.open_if_fits(2) {
            self.edges.push(BlockEdge { sign: bar.clone(), after: bar, begun: false });
        }
    }

    /// A block with a sign before its first line.
    pub(super) fn open_point(&mut self, sign: String) {
        let cells = cells_of(&sign);
        let sign = Span::styled(sign, self.theme().accent);
        if self.open_if_fits(cells) {
            let after = Span::raw(" ".repeat(cells));
            self.edges.push(BlockEdge { sign, after, begun: false });
        } else {
            self.loose_signs.push(sign);
        }
    }

    /// The innermost block ends; one with a sign and nothing else has a line all the same.
    pub(super) fn close_block(&mut self) {
        let has_edge = self.open.last().copied().unwrap_or(false);
        let unsaid = self.edges.last().is_some_and(|edge| has_edge && !edge.begun);
        if unsaid || !self.loose_signs.is_empty() {
            self.write_line(Line::default(), BreakMode::AtWords, 0);
        }
        if self.open.pop() == Some(true)
            && let Some(edge) = self.edges.pop()
        {
            self.edge_cells -= cells_of(&edge.after.content);
        }
    }

    /// Whether there is room for an edge: more than half of the line is kept for text.
    fn open_if_fits(&mut self, cells: usize) -> bool {
        let fits = self.edge_cells + cells <= self.sheet.width / 2;
        self.edge_cells += if fits { cells } else { 0 };
        self.open.push(fits);
        fits
    }

    /// A line, broken to what is left of the width; what is broken off hangs by `hang`.
    pub(super) fn write_line(&mut self, mut line: Line<'static>, broken: BreakMode, hang: usize) {
        if !self.loose_signs.is_empty() {
            line.spans.splice(0..0, self.loose_signs.drain(..));
        }
        // A bar of a quotation stands before every row, so there it has to be broken here.
        let blank = |edge: &BlockEdge| edge.after.content.trim().is_empty();
        let is_whole = self.sheet.code == LongCode::Whole && self.edges.iter().all(blank);
        let lines = match broken {
            BreakMode::Exactly if is_whole => vec![line],
            BreakMode::AtWords => wrap_line(&line, self.room_left(), hang),
            BreakMode::Exactly => wrap_exact(&line, self.room_left(), hang),
        };
        for line in lines {
            self.put_row(line);
        }
    }

    fn put_row(&mut self, line: Line<'static>) {
        if std::mem::take(&mut self.flow.gap) && self.flow.any {
            let bars = self.edges.iter().filter(|edge| edge.begun);
            let spans = trim_trailing_blanks(bars.map(|edge| edge.after.clone()).collect());
            self.sheet.out.push(Line::from(spans));
        }
        self.flow.any = true;
        let mut spans = Vec::with_capacity(self.edges.len() + line.spans.len());
        for edge in &mut self.edges {
            let part = if edge.begun { &edge.after } else { &edge.sign };
            spans.push(part.clone());
            edge.begun = true;
        }
        spans.extend(line.spans);
        let spans = trim_trailing_blanks(spans);
        self.sheet.out.push(Line { spans, style: line.style, alignment: line.alignment });
    }

    /// A line that is one sign long.
    pub(super) fn write_rule(&mut self) {
        let text = "─".repeat(self.room_left());
        self.write_line(Line::from(Span::styled(text, self.theme().quiet)), BreakMode::Exactly, 0);
    }
}

/// Without the blanks at the end: they are nothing to look at, and cost bytes.
fn trim_trailing_blanks(mut spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    while let Some(last) = spans.last_mut() {
        let shown = last.content.trim_end_matches(' ').len();
        if shown == last.content.len() && shown > 0 {
            break;
        }
        if shown > 0 {
            last.content.to_mut().truncate(shown);
            break;
        }
        // A blank with a background is something to look at.
        if last.style != Style::new() && !last.content.is_empty() && last.style.bg.is_some() {
            break;
        }
        spans.pop();
    }
    spans
}
