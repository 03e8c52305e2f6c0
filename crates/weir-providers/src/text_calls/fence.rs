//! Code in a reply: fences and spans, which quote what stands in them, and the fences that are calls.
//!
//! A fence that says it is a call (`tool_code`, `tool_call`) counts anywhere; one of JSON only at the end of the
//! reply, and, of a model that has calls of its own, as the whole of it; a call between marks in a fence only
//! as the whole reply. Everything else in code is quoted. Not here: thinking.

use super::block::{CallBlock, ReplySource};
use super::call::Sure;
use super::formats::Place;
use super::offered::CallHabit;
use super::python;
use super::repair::{Repair, Repairs};

/// Longest span of inline code.
pub(super) const SPAN_BYTES_MAX: usize = 4_000;
/// Words behind a fence that say that a call stands in it.
const CALL_WORDS: &[&str] =
    &["tool_code", "tool_call", "tool_calls", "tool_use", "function_call", "tool", "action"];
/// Words behind a fence in which a call may stand.
const DATA_WORDS: &[&str] = &["", "json", "json5", "jsonc", "text", "plaintext"];
/// Words behind a fence whose whole reply may be a call.
const CODE_WORDS: &[&str] = &["python", "py", "xml", "html", "bash_tool"];
/// Names of the formats that are read here.
pub(super) const NAMES: &[&str] = &["tool_code", "fenced_json", "fenced"];

/// Where a fence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FencePlace {
    /// At the beginning of a line.
    Line,
    /// Behind the mark of a point of a list or a quotation, or far indented: it only quotes.
    Point,
}

/// A code fence: where it begins, what it holds, and where it ends.
pub(super) struct Fence<'a> {
    pub(super) word: &'a str,
    pub(super) place: FencePlace,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) end: usize,
    /// Whether its end was written.
    pub(super) is_closed: bool,
}

impl Fence<'_> {
    /// Whether a call may stand in it.
    pub(super) fn may_call(&self) -> bool {
        let is_word = |words: &[&str]| words.contains(&self.word);
        self.place == FencePlace::Line
            && (is_word(CALL_WORDS) || is_word(DATA_WORDS) || is_word(CODE_WORDS))
    }

    /// Whether a call in it, as far as it came, may count behind words.
    pub(super) fn may_count_behind_words(&self, source: &ReplySource<'_>) -> bool {
        if !self.may_call() || CALL_WORDS.contains(&self.word) {
            return self.may_call();
        }
        let inside = source.text[self.from..self.to].trim_start();
        let may_be_data = inside.is_empty() || inside.starts_with(['{', '[']);
        DATA_WORDS.contains(&self.word) && source.tools.habit == CallHabit::OnlyText && may_be_data
    }
}

/// The fence whose ticks stand at `at`. `None`: none does, or its first line is not whole.
pub(super) fn fence_at<'a>(
    source: &ReplySource<'a>,
    at: usize,
    place: FencePlace,
) -> Option<Fence<'a>> {
    let rest = source.rest_at(at);
    let tick = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = rest.len() - rest.trim_start_matches(tick).len();
    if width < 3 {
        return None;
    }
    let line_end = source.find_token(at, "\n")?;
    let word = source.text[at + width..line_end].trim();
    if word.contains('`') {
        return None;
    }
    let ticks = &rest[..width];
    let from = line_end + 1;
    let mut search = from;
    while let Some(close) = source.find_token(search, ticks) {
        let after = &source.rest_at(close)[width..];
        let own_line = source.text[..close].ends_with('\n');
        let line = after.split('\n').next().unwrap_or("");
        if line.trim().is_empty() || (own_line && !line.trim().starts_with(tick)) {
            // Left of its point, a fence ends with the point and another begins: both quote.
            let begins_another = place == FencePlace::Point
                && column_of(source.text, close) < column_of(source.text, at);
            let end = if begins_another { close } else { close + width };
            return Some(Fence { word, place, from, to: close, end, is_closed: true });
        }
        search = close + width + (after.len() - after.trim_start_matches(tick).len());
    }
    let end = source.text.len();
    Some(Fence { word, place, from, to: end, end, is_closed: false })
}

fn column_of(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |line_break| line_break + 1)
}

/// How long the marks of points and quotations are with which a line begins.
pub(super) fn point_length(line: &str) -> usize {
    const POINTS: &[&str] = &["- ", "* ", "+ ", ">", "[ ] ", "[x] "];
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        let numbered = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = numbered.len() < rest.len();
        let behind_number =
            [". ", ") "].iter().find_map(|end| numbered.strip_prefix(end)).filter(|_| is_number);
        let behind = POINTS.iter().find_map(|point| rest.strip_prefix(point)).or(behind_number);
        match behind {
            Some(behind) => rest = behind,
            None => return line.len() - rest.len(),
        }
    }
}

/// The end of the inline code that begins at `at`; `None`: nothing closes it.
pub(super) fn span_end(source: &ReplySource<'_>, at: usize) -> Option<usize> {
    let rest = source.rest_at(at);
    let width = rest.len() - rest.trim_start_matches('`').len();
    let near = &rest[..rest.floor_char_boundary(SPAN_BYTES_MAX)];
    let paragraph = near.find("\n\n").unwrap_or(near.len());
    let mut search = width;
    while let Some(found) = near[..paragraph].get(search..)?.find('`') {
        let start = search + found;
        let run = near[start..].len() - near[start..].trim_start_matches('`').len();
        if run == width {
            source.spend_looks(start)?;
            return Some(at + start + run);
        }
        search = start + run;
    }
    source.spend_looks(paragraph)?;
    None
}

/// The calls in `fence`, the name of their format, and where they count.
pub(super) fn read_fence(
    source: &ReplySource<'_>,
    fence: &Fence<'_>,
) -> Option<(CallBlock, &'static str, Place)> {
    if !fence.may_call() {
        return None;
    }
    let inner = source.text_until(fence.to);
    let is_marked = CALL_WORDS.contains(&fence.word);
    let mut repairs = Repairs::default();
    if !fence.is_closed {
        repairs.add_repair(Repair::MissingMark);
    }
    let done = |mut block: CallBlock, repairs: Repairs| {
        if !inner.is_blank(block.end) {
            return None;
        }
        block.end = fence.end;
        block.repairs.add_all(repairs);
        Some(block)
    };
    if is_marked || DATA_WORDS.contains(&fence.word) {
        let sure = if is_marked { Sure::Marked } else { Sure::Unmarked };
        let mut own = repairs;
        let found = inner.json_calls(fence.from, sure, &mut own).and_then(|(calls, end)| {
            done(CallBlock { end, calls, repairs: own }, Repairs::default())
        });
        if let Some(block) = found {
            let place = match (is_marked, source.tools.habit) {
                (true, _) => Place::Lines,
                (false, CallHabit::OnlyText) => Place::Ending,
                (false, CallHabit::AlsoText) => Place::Alone,
            };
            return Some((block, "fenced_json", place));
        }
    }
    if let Some(block) = python::read_calls(&inner, fence.from).and_then(|b| done(b, repairs)) {
        let place = if is_marked { Place::Lines } else { Place::Alone };
        return Some((block, "tool_code", place));
    }
    repairs.add_repair(Repair::Fence);
    let start = inner.skip_space(fence.from);
    let (block, _) = super::scan::read_marked(&inner, start)?;
    Some((done(block, repairs)?, "fenced", Place::Alone))
}
