//! What of a reply can be shown while it is being written: everything before the first place at which a
//! call may begin.
//!
//! What was shown is always the beginning of what is recorded in the end, so nothing that was seen vanishes.
//! Not here: deciding what is a call; that needs the whole reply.

use super::begin::may_begin;
use super::block::{Readers, ReplySource};
use super::fence::{Fence, SPAN_BYTES_MAX, read_fence};
use super::offered::OfferedTools;
use super::walk::{Stop, Walk};

/// What is not settled yet is looked at whenever more comes while it is no longer than this: a line or two.
const LOOKED_ALWAYS_BYTES: usize = 128;
/// Beyond that a reply is looked at again when it has grown by this part of it, so that looking costs little
/// more than reading.
const GROWTH: usize = 4;

/// The text of a reply so far, and what of it was shown.
#[derive(Debug, Default)]
pub struct HeldText {
    text: String,
    shown: usize,
    settled: SettledPart,
    /// How long the text was when it was looked at last.
    looked: usize,
}

/// How far nothing that comes later changes how a reply is read.
#[derive(Debug, Clone, Copy, Default)]
struct SettledPart {
    /// A line begins here.
    end: usize,
    /// Where the reply begins behind thinking that stands first.
    body: usize,
}

impl HeldText {
    /// Takes more of the reply. Gives back what can be shown now.
    pub fn feed_text(&mut self, more: &str, tools: &OfferedTools) -> Option<&str> {
        self.text.push_str(more);
        let grown = self.text.len() - self.looked;
        let costly = (self.looked - self.settled.end).saturating_sub(LOOKED_ALWAYS_BYTES);
        if grown < costly / GROWTH {
            return None;
        }
        self.looked = self.text.len();
        let from = self.shown;
        self.shown = self.shown.max(self.find_safe(tools));
        (self.shown > from).then(|| &self.text[from..self.shown])
    }

    /// What is still to be shown of a reply of which `said` is recorded as text.
    pub fn unshown_rest<'s>(&self, said: &'s str) -> &'s str {
        said.strip_prefix(&self.text[..self.shown]).unwrap_or("")
    }

    fn find_safe(&mut self, tools: &OfferedTools) -> usize {
        let readers = Readers::for_length(self.text.len());
        let source = ReplySource::new(&self.text, tools, &readers);
        let mut look = SafeLook {
            source: &source,
            settled: self.settled,
            region_end: self.settled.end,
            body: self.settled.body,
            is_frozen: false,
        };
        let safe = look.find_end();
        // Where looks ran out, code was not seen as code: nothing that was found there holds.
        if source.is_spent() {
            return self.shown;
        }
        self.settled = look.settled_until(safe);
        self.text[..safe].trim_end().len()
    }
}

/// One look at what is not settled yet.
struct SafeLook<'s, 'a> {
    source: &'s ReplySource<'a>,
    settled: SettledPart,
    /// Where the last thinking or code ended.
    region_end: usize,
    body: usize,
    /// Whether nothing behind what was settled before can be settled now.
    is_frozen: bool,
}

impl SafeLook<'_, '_> {
    /// Where a call may begin.
    fn find_end(&mut self) -> usize {
        let text = self.source.text;
        let mut walk = Walk::from(text, self.settled.end);
        while let Some(stop) = walk.next_stop(self.source) {
            let safe = match stop {
                Stop::Thought { start, end } => {
                    self.region_end = end;
                    if text[..start].trim().is_empty() {
                        self.body = end;
                    }
                    None
                }
                Stop::OpenThought(_) => {
                    // Whether it is thinking, its end will tell.
                    self.is_frozen = true;
                    None
                }
                Stop::Literal { end, .. } => {
                    self.region_end = end.unwrap_or(self.region_end);
                    self.is_frozen |= end.is_none();
                    None
                }
                Stop::Fence(at, fence) => self.end_at_fence(at, &fence),
                Stop::Span { start, end } => self.end_at_span(start, end),
                Stop::Mark(at) => {
                    let is_line_start = walk.is_line_start(text, at);
                    // The first line of a fence is not whole yet.
                    let is_fence = is_line_start && text[at..].starts_with('~');
                    let may_call = is_fence || may_begin(self.source, at, is_line_start);
                    walk.step_over(text, at);
                    may_call.then_some(at)
                }
            };
            if let Some(safe) = safe {
                return safe;
            }
        }
        text.len()
    }

    fn end_at_fence(&mut self, at: usize, fence: &Fence<'_>) -> Option<usize> {
        let text = self.source.text;
        let has_words = text.get(self.body..at).is_some_and(|before| !before.trim().is_empty());
        let may_count = match has_words {
            true => fence.may_count_behind_words(self.source),
            false => fence.may_call(),
        };
        let is_over = fence.is_closed && text[fence.end..].contains('\n');
        if is_over && (!may_count || read_fence(self.source, fence).is_none()) {
            self.region_end = fence.end;
            return None;
        }
        self.is_frozen = true;
        // Whether this is its end, the rest of the line will tell.
        Some(if may_count { at } else { fence.end })
    }

    fn end_at_span(&mut self, start: usize, end: Option<usize>) -> Option<usize> {
        let rest = &self.source.text[start..];
        let is_settled = match end {
            Some(end) => end < self.source.text.len(),
            None => rest.len() > SPAN_BYTES_MAX || rest.contains("\n\n"),
        };
        if !is_settled {
            return Some(start);
        }
        self.region_end = end.unwrap_or(start);
        None
    }

    /// What is settled now that a call may begin at `safe`.
    fn settled_until(&self, safe: usize) -> SettledPart {
        let line = self.source.text.get(self.region_end..safe).and_then(|rest| rest.rfind('\n'));
        match line.filter(|_| !self.is_frozen) {
            Some(line) => SettledPart { end: self.region_end + line + 1, body: self.body },
            None => self.settled,
        }
    }
}
