//! The way over a reply from one place that matters to the next: thinking, code, literals, and where a mark may
//! stand.
//!
//! Not here: which marks there are.

use super::block::ReplySource;
use super::fence::{self, Fence, FencePlace};

/// Pairs of marks between which a model thinks.
const THINKING: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
];
/// What begins and ends a literal of markup: values, and no calls.
const LITERAL: (&str, &str) = ("<![CDATA[", "]]>");
/// Spaces with which a line is code.
pub(super) const CODE_INDENT: usize = 4;

/// A place at which a reply is looked at more closely.
pub(super) enum Stop<'a> {
    /// A format may begin here.
    Mark(usize),
    /// Thinking, which is never a call.
    Thought {
        start: usize,
        end: usize,
    },
    /// Thinking begins here and never ends.
    OpenThought(usize),
    /// A literal, and where it ends; without an end it is all that follows.
    Literal {
        start: usize,
        end: Option<usize>,
    },
    Fence(usize, Fence<'a>),
    /// Inline code, or backticks that nothing closes.
    Span {
        start: usize,
        end: Option<usize>,
    },
}

/// Walks over a reply from one stop to the next.
pub(super) struct Walk {
    pub(super) at: usize,
    /// Where thinking ended last: what follows begins a line.
    thought_end: Option<usize>,
}

impl Walk {
    /// From `at` on, where a line begins: the first place that matters is behind its indent, as in any line.
    pub(super) fn from(text: &str, at: usize) -> Walk {
        Walk { at: behind_indent(text, at), thought_end: None }
    }

    /// The next stop, already passed but for a mark, of which the caller says how it goes on.
    pub(super) fn next_stop<'a>(&mut self, source: &ReplySource<'a>) -> Option<Stop<'a>> {
        loop {
            let at = self.at;
            let rest = source.rest_at(at);
            let first = rest.chars().next()?;
            let is_line_start = self.is_line_start(source.text, at);
            if let Some((open, close)) = THINKING.iter().find(|(open, _)| rest.starts_with(open)) {
                self.at = at + open.len();
                let Some(end) = source.find_token(self.at, close) else {
                    self.thought_end = Some(self.at);
                    return Some(Stop::OpenThought(at));
                };
                self.at = end + close.len();
                self.thought_end = Some(self.at);
                return Some(Stop::Thought { start: at, end: self.at });
            }
            if let Some((_, close)) = THINKING.iter().find(|(_, close)| rest.starts_with(close)) {
                self.at = at + close.len();
                self.thought_end = Some(self.at);
                return Some(Stop::Thought { start: 0, end: self.at });
            }
            if rest.starts_with(LITERAL.0) {
                let end = source.find_token(at, LITERAL.1).map(|end| end + LITERAL.1.len());
                self.at = end.unwrap_or(source.text.len());
                return Some(Stop::Literal { start: at, end });
            }
            if let Some(fence) = self.fence_here(source, at) {
                self.at = fence.end;
                return Some(Stop::Fence(at, fence));
            }
            if first == '`' {
                let run = rest.len() - rest.trim_start_matches('`').len();
                let end = fence::span_end(source, at);
                self.at = end.unwrap_or(at + run);
                return Some(Stop::Span { start: at, end });
            }
            if is_line_start && !first.is_whitespace() || is_first_of_mark(first, rest) {
                return Some(Stop::Mark(at));
            }
            self.step_over(source.text, at);
        }
    }

    /// The fence with which the line that begins at `at` begins, behind marks of points or not.
    fn fence_here<'a>(&self, source: &ReplySource<'a>, at: usize) -> Option<Fence<'a>> {
        let is_line_start = self.is_line_start(source.text, at);
        if is_line_start && let Some(fence) = fence::fence_at(source, at, FencePlace::Line) {
            return Some(fence);
        }
        let from = self.thought_end.filter(|end| *end <= at).unwrap_or(0);
        let before = source.text[from..at].trim_end_matches([' ', '\t']);
        if !(before.is_empty() || before.ends_with('\n')) {
            return None;
        }
        let ticks = at + fence::point_length(source.rest_at(at));
        let is_point = ticks > at || !is_line_start;
        is_point.then(|| fence::fence_at(source, ticks, FencePlace::Point))?
    }

    /// Goes on behind the character at `at`, to the next that may matter.
    pub(super) fn step_over(&mut self, text: &str, at: usize) {
        let rest = &text[at..];
        let first = match rest.chars().next() {
            Some('\n') | None => 0,
            Some(first) => first.len_utf8(),
        };
        let matters = |(index, c): &(usize, char)| {
            matches!(c, '\n' | '`') || is_first_of_mark(*c, &rest[first + index..])
        };
        let skipped = rest[first..].char_indices().find(matters);
        self.at = skipped.map_or(text.len(), |(skipped, _)| at + first + skipped);
        // A line begins behind its break, and what stands there matters.
        if text[self.at..].starts_with('\n') {
            self.at = behind_indent(text, self.at + 1);
        }
    }

    pub(super) fn is_line_start(&self, text: &str, at: usize) -> bool {
        let from = self.thought_end.filter(|end| *end <= at).unwrap_or(0);
        let before = &text.as_bytes()[from..at];
        let indent = before.iter().rev().take(CODE_INDENT).take_while(|b| **b == b' ').count();
        indent < CODE_INDENT && matches!(before.iter().nth_back(indent), None | Some(b'\n'))
    }
}

/// Whether thinking ends in `text` that did not begin there.
pub(super) fn ends_thinking(text: &str) -> bool {
    THINKING
        .iter()
        .any(|(open, close)| text.find(close).is_some_and(|end| !text[..end].contains(open)))
}

fn behind_indent(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches([' ', '\t']).len()
}

/// Whether a mark of a format that may stand within a line can begin with `c`, which `rest` begins with.
fn is_first_of_mark(c: char, rest: &str) -> bool {
    const WORD: &str = "functools";
    match c {
        '<' | '[' | '✿' => true,
        'f' => rest.starts_with(WORD) || WORD.starts_with(rest),
        _ => false,
    }
}
