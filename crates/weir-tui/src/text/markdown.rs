//! Markdown to lines, also while it is being written.
//!
//! A text is cut into pieces (`weir_core::view::markdown_cut`) that no longer text changes, and each piece is laid out by
//! itself (`paint`, `page`, `table`). Whether it comes at once or in crumbs, its lines are the same.
//! Two things follow from that, and differ from a page in a browser: points of a list stand without
//! empty lines between them, and links by reference (`[text][name]`) stay as they are written, like
//! the list of their addresses. Not here: how much of an open text is drawn (`screen`).

use std::collections::VecDeque;

use ratatui::text::Line;
use weir_core::view::markdown_cut::{MarkdownPiece, PieceScanner};

use super::theme::Theme;

mod page;
mod paint;
mod table;
mod write;

use page::LongCode;
use paint::MarkdownPainter;

/// `text` in lines of at most `width` cells.
pub fn render_markdown(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    render_with_code(text, width, theme, LongCode::Broken)
}

/// The same, but each line of code is one line, however long it is: for a place that breaks lines
/// itself, so that code is copied as it was written.
pub fn render_whole(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    render_with_code(text, width, theme, LongCode::Whole)
}

fn render_with_code(text: &str, width: usize, theme: &Theme, code: LongCode) -> Vec<Line<'static>> {
    let mut painter = MarkdownPainter::default();
    let (mut pieces, mut out) = (Vec::new(), Vec::new());
    PieceScanner::default().finish(text, &mut pieces);
    for piece in &pieces {
        painter.paint_piece(
            text,
            piece,
            &mut page::LineSheet { width, theme, code, out: &mut out },
        );
    }
    out
}

/// Markdown that is being written: what can no longer change leaves it as lines, once.
#[derive(Debug, Default)]
pub struct GrowingMarkdown {
    text: String,
    scan: PieceScanner,
    /// Pieces that are complete and were not given.
    ready: VecDeque<MarkdownPiece>,
    painter: MarkdownPainter,
}

impl GrowingMarkdown {
    /// More text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        let mut pieces = Vec::new();
        self.scan.scan_lines(&self.text, &mut pieces);
        self.ready.extend(pieces);
    }

    /// Lines that became final since the last call: whole blocks, whole lines of code, as in
    /// [`render_whole`].
    pub fn take_final_lines(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        for piece in self.ready.drain(..) {
            let code = LongCode::Whole;
            let mut sheet = page::LineSheet { width, theme, code, out: &mut out };
            self.painter.paint_piece(&self.text, &piece, &mut sheet);
        }
        out
    }

    /// The lines that can still change, as they are now.
    pub fn open_lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        self.remaining_lines(width, theme, LongCode::Broken)
    }

    fn remaining_lines(&self, width: usize, theme: &Theme, code: LongCode) -> Vec<Line<'static>> {
        let (mut painter, mut pieces) = (self.painter.clone(), Vec::new());
        self.scan.clone().finish(&self.text, &mut pieces);
        let mut out = Vec::new();
        for piece in self.ready.iter().chain(&pieces) {
            let mut sheet = page::LineSheet { width, theme, code, out: &mut out };
            painter.paint_piece(&self.text, piece, &mut sheet);
        }
        out
    }

    /// Everything that was not given yet, as in [`render_whole`]: the text has ended. It is empty
    /// afterwards.
    pub fn finish(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let rest = self.remaining_lines(width, theme, LongCode::Whole);
        *self = GrowingMarkdown::default();
        rest
    }

    /// The whole text so far.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests;
