//! Pieces of a text to lines. Blocks go through the parser (`write` reads what it says), code does
//! not: it comes line by line.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Options, Parser};
use ratatui::text::{Line, Span};
use weir_core::view::markdown_cut::{MarkdownPiece, PieceJoint};
use weir_highlight::language_of_fence;

use super::super::clean::clean_line;
use super::super::code::CodePainter;
use super::super::wrap::cut_line;
use super::page::{BreakMode, LineSheet, MarkdownPage, PageFlow};
use super::write::MarkdownLineWriter;

/// Cells before code, and the fewest that a line must have for them.
const CODE_INDENT: usize = 2;
const INDENTED_CELLS_MIN: usize = 6;
/// How often definitions of links are looked for: every round finds all names that are new to it.
const DEFINITION_ROUNDS_MAX: usize = 4;

/// Lays out one piece after the other, and keeps what goes on between them.
#[derive(Debug, Clone, Default)]
pub(super) struct MarkdownPainter {
    flow: PageFlow,
    code: CodeLines,
}

impl MarkdownPainter {
    /// The lines of the next piece of `text`.
    pub(super) fn paint_piece(
        &mut self,
        text: &str,
        piece: &MarkdownPiece,
        sheet: &mut LineSheet<'_>,
    ) {
        let gap = match piece {
            MarkdownPiece::Blocks { joint: PieceJoint::Apart, .. } | MarkdownPiece::Fence(_) => {
                true
            }
            MarkdownPiece::Blocks { joint: PieceJoint::NextPoint(_), .. } => false,
            _ => self.flow.gap,
        };
        let mut page = MarkdownPage::new(sheet, PageFlow { gap, ..self.flow });
        match piece {
            MarkdownPiece::Blocks { at, joint } => {
                paint_blocks(&piece_source(text, at, joint), joint, &mut page)
            }
            MarkdownPiece::Fence(at) => {
                let info = text[at.clone()].trim().trim_start_matches(['`', '~']);
                self.code = CodeLines::begin_code(info, &mut page);
            }
            MarkdownPiece::Code(at, blanks) => {
                self.code.paint_line(&text[at.start + blanks..at.end], &mut page)
            }
            MarkdownPiece::MoreCode(at) => self.code.continue_line(&text[at.clone()], &mut page),
            MarkdownPiece::MoreText(at) => {
                let words =
                    Span::styled(clean_line(&text[at.clone()]).into_owned(), page.theme().text);
                page.write_line(Line::from(words), BreakMode::AtWords, 0);
            }
        }
        self.flow = page.flow();
    }
}

/// The text of blocks for the parser.
fn piece_source<'t>(text: &'t str, at: &Range<usize>, joint: &PieceJoint) -> Cow<'t, str> {
    let own = &text[at.clone()];
    match joint {
        // A table goes on below its head.
        PieceJoint::Cut(Some(head)) => Cow::Owned(format!("{}\n{own}", &text[head.clone()])),
        _ => Cow::Borrowed(own),
    }
}

fn paint_blocks(source: &str, joint: &PieceJoint, page: &mut MarkdownPage<'_, '_>) {
    let number = match joint {
        PieceJoint::NextPoint(number) => *number,
        PieceJoint::Apart | PieceJoint::Cut(_) => None,
    };
    let shown = definitions_shown(source);
    let mut writer = MarkdownLineWriter::new(page, number);
    for event in Parser::new_ext(&shown, parser_options()) {
        writer.handle_event(event);
    }
    writer.finish();
}

fn parser_options() -> Options {
    let more = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_MATH;
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | more
}

/// `source` with definitions of links (`[name]: address`) made text: the parser would take them away,
/// and with them what somebody wrote.
fn definitions_shown(source: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(source);
    for _ in 0..DEFINITION_ROUNDS_MAX {
        if !shown.contains("]:") {
            break;
        }
        let parser = Parser::new_ext(&shown, parser_options());
        let spans = parser.reference_definitions().iter().map(|(_, found)| found.span.clone());
        let mut spans: Vec<Range<usize>> = spans.collect();
        if spans.is_empty() {
            break;
        }
        spans.sort_by_key(|span| span.start);
        let mut text = String::with_capacity(shown.len() + spans.len() * 2);
        let mut at = 0;
        for span in spans {
            let before = &shown[at..span.start];
            // Definitions below each other stay below each other.
            let follows = at > 0 && before.trim().is_empty() && before.matches('\n').count() <= 1;
            text.push_str(if follows { "\\\n" } else { before });
            text.push('\\');
            text.push_str(shown[span.clone()].trim_end_matches(['\n', ' ']));
            at = span.start + shown[span].trim_end_matches(['\n', ' ']).len();
        }
        text.push_str(&shown[at..]);
        shown = Cow::Owned(text);
    }
    shown
}

/// A block of code that comes line by line.
#[derive(Debug, Clone, Default)]
pub(super) struct CodeLines {
    painter: CodePainter,
    /// Empty lines that are due when more code follows.
    empty: usize,
    begun: bool,
}

impl CodeLines {
    /// What stands behind the fence is said first.
    pub(super) fn begin_code(info: &str, page: &mut MarkdownPage<'_, '_>) -> CodeLines {
        let theme = page.theme();
        let said = clean_line(info.trim()).into_owned();
        if !said.is_empty() {
            write_code_line(
                cut_line(
                    Line::from(Span::styled(said, theme.quiet)),
                    page.room_left() - code_indent(page),
                ),
                page,
            );
        }
        let painter = CodePainter::new(&language_of_fence(info), theme);
        CodeLines { painter, empty: 0, begun: false }
    }

    /// The next line.
    pub(super) fn paint_line(&mut self, text: &str, page: &mut MarkdownPage<'_, '_>) {
        let line = self.painter.paint_line(text, page.theme());
        if text.trim().is_empty() {
            self.empty += usize::from(self.begun);
            return;
        }
        for _ in 0..std::mem::take(&mut self.empty) {
            page.write_line(Line::default(), BreakMode::Exactly, 0);
        }
        self.begun = true;
        write_code_line(line, page);
    }

    /// More of the line before, which was too long to wait for.
    fn continue_line(&mut self, text: &str, page: &mut MarkdownPage<'_, '_>) {
        let words = Span::styled(clean_line(text).into_owned(), page.theme().code);
        write_code_line(Line::from(words), page);
    }
}

/// Cells before code in this page.
fn code_indent(page: &MarkdownPage<'_, '_>) -> usize {
    if page.room_left() < INDENTED_CELLS_MIN { 0 } else { CODE_INDENT }
}

fn write_code_line(mut line: Line<'static>, page: &mut MarkdownPage<'_, '_>) {
    let indent = code_indent(page);
    // Blanks never fill a line of their own: the code would stand below its indentation.
    keep_blanks(&mut line, page.room_left() / 2);
    line.spans.insert(0, Span::raw(" ".repeat(indent)));
    page.write_line(line, BreakMode::Exactly, indent);
}

/// At most `most` blanks at the beginning of `line`, and none at its end.
fn keep_blanks(line: &mut Line<'static>, most: usize) {
    let mut left = most;
    for span in &mut line.spans {
        let text = span.content.trim_start_matches(' ');
        let (blanks, more) = (span.content.len() - text.len(), !text.is_empty());
        let over = blanks.saturating_sub(left);
        left = left.saturating_sub(blanks);
        if over > 0 {
            span.content.to_mut().drain(..over);
        }
        if more {
            break;
        }
    }
    while let Some(last) = line.spans.last_mut() {
        let shown = last.content.trim_end_matches(' ').len();
        last.content.to_mut().truncate(shown);
        if shown > 0 {
            break;
        }
        line.spans.pop();
    }
}
