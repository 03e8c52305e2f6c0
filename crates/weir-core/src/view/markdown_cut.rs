//! Where a Markdown text can be cut while it is still being written. A cut depends only on what stands
//! before it, so what was given away never changes.
//!
//! It goes line by line and knows of Markdown just what it takes to find the ends of outermost blocks;
//! what stands inside of them is the parser's, which each client has for itself. The same cuts are
//! made of a text that is whole: a text looks alike however it came. Pure. Not here: how a piece is
//! painted.

use std::ops::Range;

mod blocks;
mod shape;

pub use blocks::{BlockSplitter, split_blocks};
use shape::{CodeFence, LineShape, ListMarker};

/// Longest block that is laid out as one; a longer one is cut after a line. It bounds what is laid out
/// again with every piece of text that comes in.
pub const BLOCK_BYTES_MAX: usize = 16 << 10;
/// Longest line that is waited for; a longer one is cut where it stands.
pub const LINE_BYTES_MAX: usize = 8 << 10;
/// A line that is too long is cut at a blank, when there is one so near to its end.
const BLANK_BYTES_MAX: usize = 256;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkdownPiece {
    /// Whole blocks.
    Blocks {
        /// Where they stand.
        at: Range<usize>,
        /// How they follow what stands before.
        joint: PieceJoint,
    },
    /// A block of code begins: its opening fence.
    Fence(Range<usize>),
    /// A line of code, and blanks before it that belong to the fence.
    Code(Range<usize>, usize),
    /// More of the line of code before.
    MoreCode(Range<usize>),
    /// More of a line of text that was too long to wait for: just text.
    MoreText(Range<usize>),
}

/// How a piece follows the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceJoint {
    /// With an empty line between.
    Apart,
    /// It is the next point of the same list; its number, where it has one.
    NextPoint(Option<u64>),
    /// It was cut from it for its length. The head of the table that goes on.
    Cut(Option<Range<usize>>),
}

/// Finds pieces; it holds no text.
#[derive(Debug, Clone, Default)]
pub struct PieceScanner {
    /// Everything before was made into pieces, but for the open block.
    at: usize,
    /// Up to here no line end was found.
    looked: usize,
    open: ScanState,
    /// The list that the last piece was a point of.
    list: Option<ListMarker>,
    /// The line that is being read is the rest of one that was too long.
    within_line: bool,
}

/// What is being read.
#[derive(Debug, Clone, Default)]
enum ScanState {
    #[default]
    Nothing,
    Block(OpenBlock),
    /// Code, until its fence comes again.
    Code {
        fence: CodeFence,
    },
}

#[derive(Debug, Clone)]
struct OpenBlock {
    kind: BlockKind,
    from: usize,
    /// Its end, without empty lines behind it.
    to: usize,
    joint: PieceJoint,
    /// The last line was empty.
    blank: bool,
    lines: usize,
    /// Where its first line ends.
    head_to: usize,
    /// It is a table: where its head stands.
    table: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Paragraph,
    /// Code by indentation.
    Indented,
    Quote,
    /// A point of a list, or a footnote: lines that are so far indented belong to it.
    Point {
        column: usize,
        list: Option<ListMarker>,
    },
}

impl PieceScanner {
    /// Where the block begins that is open and no part of the one before; `None`: none is. Whatever
    /// follows, a block begins there.
    pub fn open_block_start(&self) -> Option<usize> {
        match &self.open {
            ScanState::Block(block) if block.joint == PieceJoint::Apart => Some(block.from),
            ScanState::Block(_) | ScanState::Nothing | ScanState::Code { .. } => None,
        }
    }

    /// Makes pieces of all lines of `text` that are complete. `text` begins with what it was at the
    /// last call.
    pub fn scan_lines(&mut self, text: &str, out: &mut Vec<MarkdownPiece>) {
        loop {
            let found =
                text.as_bytes()[self.looked..].iter().position(|b| matches!(b, b'\n' | b'\r'));
            let end = found.map(|found| self.looked + found);
            let limit = self.at + LINE_BYTES_MAX;
            if end.unwrap_or(text.len()) > limit {
                let cut = long_line_cut(text, self.at, limit);
                self.scan_line(text, self.at..cut, cut, out);
                (self.at, self.looked, self.within_line) = (cut, cut, true);
                continue;
            }
            let Some(end) = end else {
                self.looked = text.len();
                return;
            };
            let next = match &text.as_bytes()[end..] {
                // What follows says whether it is the half of a line end.
                [b'\r'] => {
                    self.looked = end;
                    return;
                }
                [b'\r', b'\n', ..] => end + 2,
                _ => end + 1,
            };
            self.scan_line(text, self.at..end, next, out);
            (self.at, self.looked, self.within_line) = (next, next, false);
        }
    }

    /// Makes pieces of what is left: the text has ended.
    pub fn finish(mut self, text: &str, out: &mut Vec<MarkdownPiece>) {
        self.scan_lines(text, out);
        let end = text.len() - usize::from(text[self.at..].ends_with('\r'));
        if end > self.at {
            self.scan_line(text, self.at..end, text.len(), out);
        }
        self.close_block(out);
    }

    fn scan_line(
        &mut self,
        text: &str,
        at: Range<usize>,
        next: usize,
        out: &mut Vec<MarkdownPiece>,
    ) {
        let line = &text[at.clone()];
        if self.within_line {
            return self.rest_of_line(at, out);
        }
        if let ScanState::Code { fence } = &self.open {
            if fence.is_closed_by(line) {
                self.open = ScanState::Nothing;
            } else {
                let blanks = line.bytes().take(fence.indent).take_while(|b| *b == b' ').count();
                out.push(MarkdownPiece::Code(at, blanks));
            }
            return;
        }
        let shape = LineShape::of_line(line);
        if let ScanState::Block(block) = &mut self.open {
            if shape.blank {
                block.blank = true;
                if block.ends_with_blank() {
                    self.close_block(out);
                }
                return;
            }
            if block.accepts_line(&shape, line) {
                block.add_line(text, at, line);
                return self.cut_if_long(text, next, out);
            }
            self.close_block(out);
        }
        if !shape.blank {
            self.begin_block(&shape, line, at, out);
        }
    }

    /// A new block begins with this line.
    fn begin_block(
        &mut self,
        shape: &LineShape,
        line: &str,
        at: Range<usize>,
        out: &mut Vec<MarkdownPiece>,
    ) {
        if let Some(fence) = shape.fence.filter(|_| shape.indent < 4) {
            self.list = None;
            out.push(MarkdownPiece::Fence(at));
            self.open = ScanState::Code { fence };
            return;
        }
        let before = self.list.take();
        let alone = shape.heading || shape.rule;
        let kind = match shape {
            _ if alone => BlockKind::Paragraph,
            LineShape { indent: 4.., .. } => BlockKind::Indented,
            LineShape { quote: true, .. } => BlockKind::Quote,
            LineShape { point: Some((list, column)), .. } => {
                BlockKind::Point { column: *column, list: Some(*list) }
            }
            LineShape { footnote: true, .. } => BlockKind::Point { column: 4, list: None },
            _ => BlockKind::Paragraph,
        };
        let mut joint = PieceJoint::Apart;
        let mut kind = kind;
        if let (BlockKind::Point { list: Some(list), .. }, Some(before)) = (&mut kind, before)
            && list.sign == before.sign
        {
            // A list counts on from its first number, whatever stands there.
            list.number = before.number.map(|number| number.saturating_add(1));
            joint = PieceJoint::NextPoint(list.number);
        }
        let (from, to, head_to) = (at.start, at.end, at.end);
        let block =
            OpenBlock { kind, from, to, joint, blank: false, lines: 1, head_to, table: None };
        self.open = ScanState::Block(block);
        if alone && !line.is_empty() {
            self.close_block(out);
        }
    }

    /// The open block is complete.
    fn close_block(&mut self, out: &mut Vec<MarkdownPiece>) {
        if let ScanState::Block(block) = std::mem::take(&mut self.open) {
            self.list = match block.kind {
                BlockKind::Point { list, .. } => list,
                _ => None,
            };
            if block.from < block.to {
                out.push(MarkdownPiece::Blocks { at: block.from..block.to, joint: block.joint });
            }
        }
    }

    /// Gives away what is too long to be laid out again and again.
    fn cut_if_long(&mut self, text: &str, next: usize, out: &mut Vec<MarkdownPiece>) {
        let ScanState::Block(block) = &mut self.open else { return };
        if block.to - block.from < BLOCK_BYTES_MAX {
            return;
        }
        let mut rest = block.clone();
        rest.joint = PieceJoint::Cut(block.table.clone());
        (rest.from, rest.to, rest.blank) = (next.min(text.len()), next.min(text.len()), false);
        self.close_block(out);
        self.open = ScanState::Block(rest);
    }

    /// More of a line that was too long. The block that it began in has been given away up to here.
    fn rest_of_line(&mut self, at: Range<usize>, out: &mut Vec<MarkdownPiece>) {
        match &self.open {
            ScanState::Code { .. } => out.push(MarkdownPiece::MoreCode(at)),
            _ => {
                self.close_block(out);
                out.push(MarkdownPiece::MoreText(at));
            }
        }
    }
}

impl OpenBlock {
    /// An empty line ends it.
    fn ends_with_blank(&self) -> bool {
        matches!(self.kind, BlockKind::Paragraph | BlockKind::Quote)
    }

    /// Whether a line that is not empty belongs to it.
    fn accepts_line(&self, shape: &LineShape, line: &str) -> bool {
        // Text goes on with text, however it is indented.
        let lazy = !self.blank && !shape.begins_block(line);
        match self.kind {
            BlockKind::Paragraph => lazy || !self.blank && shape.underline,
            BlockKind::Indented => shape.indent >= 4,
            BlockKind::Quote => shape.quote && shape.indent < 4 || lazy,
            BlockKind::Point { column, .. } => {
                shape.indent >= column || lazy && (shape.point.is_none() || shape.indent >= 4)
            }
        }
    }

    fn add_line(&mut self, text: &str, at: Range<usize>, line: &str) {
        self.to = at.end;
        self.blank = false;
        self.lines += 1;
        let rule = |c: char| matches!(c, '|' | '-' | ':' | ' ' | '\t');
        let head = || text[self.from..self.head_to].contains('|');
        let second = self.lines == 2 && self.kind == BlockKind::Paragraph;
        if second && line.contains('-') && line.contains('|') && line.chars().all(rule) && head() {
            self.table = Some(self.from..at.end);
        }
    }
}

/// Where a line is cut that is longer than up to `limit`: behind a blank, when there is one near.
fn long_line_cut(text: &str, from: usize, limit: usize) -> usize {
    let cut = (from + 1..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(limit);
    let near = (cut.saturating_sub(BLANK_BYTES_MAX).max(from)..cut).rev();
    near.filter(|at| text.as_bytes()[*at] == b' ').map(|at| at + 1).next().unwrap_or(cut)
}
