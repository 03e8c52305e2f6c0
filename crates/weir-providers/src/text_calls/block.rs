//! What every reader of a format shares: where it reads, what it gives back, and how much it may look at.
//!
//! Not here: any format, and where in a reply a block counts.

use std::cell::Cell;
use std::ops::Range;

use serde_json::{Map, Value};

use super::call::{CALLS_MAX, Sure, TextCall, arguments_of, calls_of};
use super::offered::OfferedTools;
use super::repair::{Repair, Repairs};
use super::value::{Notation, OpenEnd, ValueForm, ValueReader};

/// How often the bytes of a reply may be looked at, all readers together. Beyond it the rest stays text,
/// so that no reply takes more than linear time.
const LOOKS_MAX: usize = 24;
/// What even a short reply may cost.
const LOOKS_MIN: usize = 4096;
/// Most characters of a tool's name, its name space included.
const NAME_LENGTH_MAX: usize = 160;
/// Code fences that stand around JSON within a block.
pub(super) const JSON_FENCES: &[&str] = &["```json", "```"];

/// What the readers of one reply share.
pub(super) struct Readers {
    /// How many bytes may still be looked at.
    looks_left: Cell<usize>,
    /// Whether the last mark opened a call that has begun and is not whole.
    met_half_call: Cell<bool>,
}

impl Readers {
    /// Those of a reply of this length.
    pub(super) fn for_length(length: usize) -> Readers {
        let looks = length.saturating_mul(LOOKS_MAX).max(LOOKS_MIN);
        Readers { looks_left: Cell::new(looks), met_half_call: Cell::new(false) }
    }
}

/// A call and where in the reply it stands.
#[derive(Debug)]
pub(super) struct WrittenCall {
    pub(super) call: TextCall,
    pub(super) span: Range<usize>,
}

/// A block of a reply that is calls.
#[derive(Debug)]
pub(super) struct CallBlock {
    /// Where it ends in the text.
    pub(super) end: usize,
    pub(super) calls: Vec<WrittenCall>,
    pub(super) repairs: Repairs,
}

impl CallBlock {
    /// A block that begins at `at` and holds nothing yet.
    pub(super) fn begun_at(at: usize) -> CallBlock {
        CallBlock { end: at, calls: Vec::new(), repairs: Repairs::default() }
    }

    /// The block that is one call.
    pub(super) fn of_one(
        tool: &str,
        arguments: Map<String, Value>,
        span: Range<usize>,
        repairs: Repairs,
    ) -> CallBlock {
        let call = TextCall { tool: tool.to_owned(), arguments };
        CallBlock { end: span.end, calls: vec![WrittenCall { call, span }], repairs }
    }

    /// Adds a call, with which the block ends so far. `None`: these are too many.
    pub(super) fn push_call(&mut self, call: TextCall, span: Range<usize>) -> Option<()> {
        self.end = span.end;
        self.calls.push(WrittenCall { call, span });
        (self.calls.len() <= CALLS_MAX).then_some(())
    }
}

/// The reply that is read, and the tools that its request offered.
pub(super) struct ReplySource<'a> {
    pub(super) text: &'a str,
    pub(super) tools: &'a OfferedTools,
    readers: &'a Readers,
}

impl<'a> ReplySource<'a> {
    pub(super) fn new(
        text: &'a str,
        tools: &'a OfferedTools,
        readers: &'a Readers,
    ) -> ReplySource<'a> {
        ReplySource { text, tools, readers }
    }

    /// The same up to `end`.
    pub(super) fn text_until(&self, end: usize) -> ReplySource<'a> {
        ReplySource { text: &self.text[..end], ..*self }
    }

    pub(super) fn rest_at(&self, at: usize) -> &'a str {
        &self.text[at..]
    }

    /// Takes `count` bytes from what may be looked at. `None`: nothing is left.
    pub(super) fn spend_looks(&self, count: usize) -> Option<()> {
        let left = self.readers.looks_left.get().checked_sub(count.max(1));
        self.readers.looks_left.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    /// Whether nothing is left of it: from somewhere on, code and thinking were not seen.
    pub(super) fn is_spent(&self) -> bool {
        self.readers.looks_left.get() == 0
    }

    /// A reader that is at the arguments of a call notes that they are not whole, or not of this call alone: nobody
    /// knows what of the reply they end before.
    pub(super) fn note_half_call(&self) {
        self.readers.met_half_call.set(true);
    }

    /// Readers come to another mark, of which nothing is noted yet.
    pub(super) fn begin_mark(&self) {
        self.readers.met_half_call.set(false);
    }

    /// Whether the mark that readers were at opens half a call.
    pub(super) fn is_half_call(&self) -> bool {
        self.readers.met_half_call.get()
    }

    /// Where `token` stands next, at or behind `from`.
    pub(super) fn find_token(&self, from: usize, token: &str) -> Option<usize> {
        self.spend_looks(1)?;
        let found = self.rest_at(from).find(token);
        self.spend_looks(found.unwrap_or(self.text.len() - from))?;
        found.map(|at| from + at)
    }

    pub(super) fn skip_space(&self, at: usize) -> usize {
        let rest = self.rest_at(at);
        at + rest.len() - rest.trim_start().len()
    }

    /// Behind the first of `tokens` that stands at `at`.
    pub(super) fn skip_token(&self, at: usize, tokens: &[&str]) -> Option<usize> {
        let rest = self.rest_at(at);
        tokens.iter().find(|token| rest.starts_with(**token)).map(|token| at + token.len())
    }

    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.rest_at(at).trim_start().is_empty()
    }

    /// One value at `at`, and where it ends.
    pub(super) fn read_value(
        &self,
        at: usize,
        notation: Notation,
        repairs: &mut Repairs,
    ) -> Option<(Value, usize)> {
        let form = ValueForm { notation, open_end: OpenEnd::Unmarked };
        self.value_until(at, self.text.len(), form, repairs)
    }

    /// The same, and nothing of it stands behind `end`.
    pub(super) fn value_until(
        &self,
        at: usize,
        end: usize,
        form: ValueForm,
        repairs: &mut Repairs,
    ) -> Option<(Value, usize)> {
        self.value_and_entries(at, end, form, repairs).map(|(value, end, _)| (value, end))
    }

    /// The same, and where the entries of a list of calls stand.
    fn value_and_entries(
        &self,
        at: usize,
        end: usize,
        form: ValueForm,
        repairs: &mut Repairs,
    ) -> Option<(Value, usize, Vec<Range<usize>>)> {
        self.spend_looks(1)?;
        let mut reader = ValueReader::new(&self.text[..end], at, form);
        let value = reader.read_value();
        self.spend_looks(reader.at - at)?;
        repairs.add_all(reader.repairs);
        Some((value?, reader.at, reader.entries))
    }

    /// The calls that the value at `at` is, and where it ends.
    pub(super) fn calls_until(
        &self,
        span: Range<usize>,
        open_end: OpenEnd,
        sure: Sure,
        repairs: &mut Repairs,
    ) -> Option<(Vec<WrittenCall>, usize)> {
        let form = ValueForm { notation: Notation::Json, open_end };
        let (value, end, entries) = self.value_and_entries(span.start, span.end, form, repairs)?;
        let calls = calls_of(value, self.tools, sure, repairs)?;
        let apart = entries.len() == calls.len();
        let written = calls.into_iter().enumerate().map(|(index, call)| {
            let span = if apart { entries[index].clone() } else { span.start..end };
            WrittenCall { call, span }
        });
        Some((written.collect(), end))
    }

    /// The name between `at` and the first of `ends`, and where that begins. A name is one line.
    pub(super) fn read_name(&self, at: usize, ends: &[&str]) -> Option<(&'a str, usize)> {
        let rest = self.rest_at(at);
        let near = &rest[..rest.floor_char_boundary(NAME_LENGTH_MAX)];
        let length = ends.iter().filter_map(|end| near.find(end)).min()?;
        Some((near[..length].trim(), at + length))
    }

    /// Arguments at `at` as an object, whether or not a code fence stands around them.
    pub(super) fn read_arguments(
        &self,
        at: usize,
        repairs: &mut Repairs,
    ) -> Option<(Map<String, Value>, usize)> {
        let mut at = self.skip_space(at);
        let fenced = self.skip_token(at, JSON_FENCES);
        at = fenced.unwrap_or(at);
        let (value, end) = self.read_value(at, Notation::Json, repairs)?;
        let arguments = arguments_of(value, repairs)?;
        let end = match fenced {
            Some(_) => self.skip_token(self.skip_space(end), &["```"]).unwrap_or(end),
            None => end,
        };
        Some((arguments, end))
    }

    /// Values side by side at `at`, each calls, until something else stands there.
    pub(super) fn json_calls(
        &self,
        at: usize,
        sure: Sure,
        repairs: &mut Repairs,
    ) -> Option<(Vec<WrittenCall>, usize)> {
        let mut calls = Vec::new();
        let mut at = self.skip_space(at);
        loop {
            let mut more = Repairs::default();
            let whole = at..self.text.len();
            let (found, end) = self.calls_until(whole, OpenEnd::Unmarked, sure, &mut more)?;
            calls.extend(found);
            repairs.add_all(more);
            if calls.len() > CALLS_MAX {
                return None;
            }
            let next = self.skip_space(end);
            let next = self.skip_token(next, &[";", ","]).map_or(next, |at| self.skip_space(at));
            if self.skip_token(next, &["{", "["]).is_none() || starts_mark(self.rest_at(next)) {
                return Some((calls, end));
            }
            at = next;
        }
    }

    /// A block that must end in one of `closes`, or, repaired, at the end of the reply.
    pub(super) fn close_block(
        &self,
        at: usize,
        closes: &[&str],
        repairs: &mut Repairs,
    ) -> Option<usize> {
        let next = self.skip_space(at);
        if let Some(end) = self.skip_token(next, closes) {
            return Some(end);
        }
        self.is_blank(next).then(|| {
            repairs.add_repair(Repair::MissingMark);
            at
        })
    }
}

/// `[TOOL_CALLS]` and its kind are marks, not lists.
fn starts_mark(rest: &str) -> bool {
    let Some(inner) = rest.strip_prefix('[') else { return false };
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    inner.starts_with(|c: char| c.is_ascii_uppercase())
}
