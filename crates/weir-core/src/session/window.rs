//! How much of the model's window a request takes: measured in bytes, calibrated by the tokens that
//! the vendor reports (X2). Not here: what is done when it is too much.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{
    AlertName, CondenseReason, ContextCondensing, CutRequest, Event, ModelFailed, ModelRequested,
};
use crate::ids::TurnId;
use crate::message::{Message, MessageBlock};
use crate::model::{FailureClass, Usage};
use crate::tool::ToolSpec;

use super::{Session, SessionConfig};

/// Tokens of a byte before any vendor has counted.
const RATIO_FIRST: f64 = 0.28;
/// No text has fewer or more: what a vendor reports beyond is not believed.
const RATIO_RANGE: (f64, f64) = (0.05, 1.0);
/// Tokens that a picture counts as.
pub(super) const IMAGE_TOKENS: u64 = 1_600;
/// Bytes of a document that count as one token, its least, and its most: a scan has many bytes a
/// page, and of a converted one the text is bounded and so are the pictures (X5).
const DOCUMENT_BYTES_PER_TOKEN: u64 = 40;
const DOCUMENT_TOKENS_MIN: u64 = 1_500;
const DOCUMENT_TOKENS_MAX: u64 = 50_000;
/// A server that counts less than this share of what was sent has cut it (R6): the first time, when nobody knows
/// yet how many bytes its tokens have, and later.
const CUT_SHARE_FIRST: f64 = 0.4;
const CUT_SHARE: f64 = 0.6;
/// So has one whose count does not grow with so many tokens more.
const CUT_GROWTH_MIN: f64 = 256.0;
/// One whose count is a power of two, as windows are, and below this share of what was sent, has cut it too: it
/// counts what its window took.
const CUT_AT_WINDOW_SHARE: f64 = 0.9;
/// So much more than was added to a request, as it is estimated, a server may count that counts only that.
const ADDED_SLACK_SHARE: f64 = 0.5;
const ADDED_SLACK_MIN: f64 = 256.0;
/// No server has a window so small: whoever counts less counts something else.
const CUT_COUNTED_MIN: f64 = 1_000.0;
/// Bytes that a block costs beside its text.
const BLOCK_BYTES: u64 = 24;

/// What something takes of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct WindowWeight {
    /// Bytes of text.
    pub(super) bytes: u64,
    /// Bytes among these that only the vendor reads who sealed them.
    pub(super) sealed: u64,
    /// Tokens of pictures and documents.
    pub(super) media: u64,
}

impl WindowWeight {
    fn add(&mut self, other: WindowWeight) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sealed = self.sealed.saturating_add(other.sealed);
        self.media = self.media.saturating_add(other.media);
    }
    pub(super) fn text(bytes: usize) -> WindowWeight {
        WindowWeight { bytes: bytes as u64, ..WindowWeight::default() }
    }
}

/// What is known about the window.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ContextWindow {
    ratio: f64,
    /// A vendor has counted.
    is_calibrated: bool,
    system: WindowWeight,
    tools: WindowWeight,
    history: WindowWeight,
    /// Bytes of the history that models before this one sealed: most others are not sent them.
    foreign: u64,
    /// The request that was made last.
    asked: WindowWeight,
    /// Its size and what of it was kept from the one before, in bytes.
    pub(super) sent: (u64, u64),
    /// What the vendor counted for it.
    pub(super) counted: Option<Usage>,
    /// The request that was counted last, and tokens of all of it, where the next one begins with it.
    before: Option<(WindowWeight, u64)>,
    /// A vendor refused a request as too long: the window that it is believed to have, by our own
    /// estimate. The threshold is another from then on (X3).
    pub(super) believed: Option<u64>,
    /// Estimated tokens after the last condensing.
    pub(super) condensed_to: Option<u64>,
    model: String,
    /// Summaries that failed one after the other.
    pub(super) failures: u32,
    /// How often the context was condensed.
    pub(super) condensed: u32,
}

impl Default for ContextWindow {
    fn default() -> ContextWindow {
        ContextWindow {
            ratio: RATIO_FIRST,
            is_calibrated: false,
            system: WindowWeight::default(),
            tools: WindowWeight::default(),
            history: WindowWeight::default(),
            foreign: 0,
            asked: WindowWeight::default(),
            sent: (0, 0),
            counted: None,
            before: None,
            believed: None,
            condensed_to: None,
            model: String::new(),
            failures: 0,
            condensed: 0,
        }
    }
}

impl ContextWindow {
    pub(super) fn apply_config(&mut self, config: &SessionConfig) {
        self.system = WindowWeight::text(config.system.len());
        self.tools = WindowWeight::text(config.tools.iter().map(tool_bytes).sum());
        let model = config.model.model.to_string();
        self.before = None;
        if model != self.model {
            // Another model: another window, and another chance for its summaries.
            self.believed = None;
            self.condensed_to = None;
            self.failures = 0;
            // How many tokens a byte has, each counts in its own way: what was learned is no measure of what
            // this one counts, and an estimate that may be too low for it is not kept.
            self.is_calibrated = false;
            self.ratio = self.ratio.max(RATIO_FIRST);
            self.foreign = self.history.sealed;
            self.model = model;
        }
    }

    pub(super) fn add_message(&mut self, message: &Message) {
        self.history.add(of_blocks(&message.blocks));
    }

    pub(super) fn replace_history<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) {
        self.history = WindowWeight::default();
        self.before = None;
        messages.for_each(|message| self.add_message(message));
        self.foreign = self.foreign.min(self.history.sealed);
    }

    pub(super) fn note_request(&mut self, f: &ModelRequested, tail: Option<&str>) {
        self.asked = self.request_weight(tail);
        self.sent = (f.bytes, f.prefix_bytes);
        self.counted = None;
    }

    /// What a reply that was cut off after so many bytes may have used: what was sent, and what had come.
    pub(super) fn cut_off(&self, bytes: usize) -> Usage {
        self.estimate_use(WindowWeight::text(bytes))
    }

    /// What a whole reply may have used of which the vendor counted nothing.
    pub(super) fn estimate_reply(&self, content: &[MessageBlock]) -> Usage {
        let mut came = of_blocks(content);
        // What is never sent back was written all the same.
        let unsent = content.iter().filter_map(unsent_thought).map(str::len).sum();
        came.add(WindowWeight::text(unsent));
        self.estimate_use(came)
    }

    fn estimate_use(&self, came: WindowWeight) -> Usage {
        let output = match came.bytes {
            0 => 0,
            _ => self.weight_tokens(came).max(1),
        };
        Usage { input: self.weight_tokens(self.asked).max(1), output, ..Usage::default() }
    }

    /// What the vendor counted says how many tokens a byte has.
    pub(super) fn note_reply(&mut self, usage: &Usage) {
        self.counted = Some(*usage);
        let whole = self.whole_count(usage);
        self.before = Some((self.asked, whole));
        // What took more than the window was believed to have shows that it has more: no mistake lasts.
        self.believed = self.believed.filter(|believed| whole <= *believed);
        let text = whole.saturating_sub(self.asked.media);
        if text > 0 && self.asked.bytes > 0 {
            let ratio = text as f64 / self.asked.bytes as f64;
            self.ratio = ratio.clamp(RATIO_RANGE.0, RATIO_RANGE.1);
            self.is_calibrated = true;
        }
    }

    /// Whether a server that counted so for the last request had cut it.
    pub(super) fn is_cut(&self, usage: &Usage) -> bool {
        if (input_tokens(usage) as f64) < CUT_COUNTED_MIN {
            return false;
        }
        let counted = self.whole_count(usage) as f64;
        // Of pictures and documents only the vendor knows what they take. What another one sealed may not be
        // sent at all.
        let bytes = self.asked.bytes.saturating_sub(self.foreign) as f64;
        let (sent, share) = match self.is_calibrated {
            true => (bytes * self.ratio, CUT_SHARE),
            false => (bytes * RATIO_FIRST, CUT_SHARE_FIRST),
        };
        let far_below = counted < sent * share;
        // The request begins with the one before: whatever is added, it cannot have become shorter. Who counts
        // only what no cache held counts far less.
        let stands_still = self.before.is_some_and(|(before, tokens)| {
            let more = self.asked.bytes.saturating_sub(before.bytes) as f64 * self.ratio;
            let tokens = tokens as f64;
            more >= CUT_GROWTH_MIN && counted <= tokens && counted * 2.0 >= tokens
        });
        let is_window = input_tokens(usage).is_power_of_two();
        let fills_window = self.is_calibrated && is_window && counted < sent * CUT_AT_WINDOW_SHARE;
        far_below || stands_still || fills_window
    }

    /// Tokens of all of the last request. Some servers count only what their cache did not hold of it: about
    /// what was added to the one before, and far less than that had. One that cuts keeps what stands at the
    /// beginning or fills its window, so it counts more.
    fn whole_count(&self, usage: &Usage) -> u64 {
        let counted = input_tokens(usage);
        let Some((before, tokens)) = self.before else { return counted };
        let bytes = self.asked.bytes.saturating_sub(before.bytes) as f64;
        let media = self.asked.media.saturating_sub(before.media) as f64;
        let added = bytes * self.ratio + media;
        let standing = (self.system_tokens() + self.tools_tokens()) as f64;
        let slack = (added * ADDED_SLACK_SHARE).min(standing / 2.0).max(ADDED_SLACK_MIN);
        let is_rest =
            counted > 0 && counted.saturating_mul(2) < tokens && counted as f64 <= added + slack;
        if is_rest { tokens.saturating_add(counted) } else { counted }
    }

    /// What all messages take.
    pub(super) fn history_weight(&self) -> WindowWeight {
        self.history
    }

    fn request_weight(&self, tail: Option<&str>) -> WindowWeight {
        let mut whole = self.system;
        whole.add(self.tools);
        whole.add(self.history);
        whole.add(WindowWeight::text(tail.map_or(0, str::len)));
        whole
    }

    pub(super) fn weight_tokens(&self, weight: WindowWeight) -> u64 {
        (weight.bytes as f64 * self.ratio) as u64 + weight.media
    }

    /// Bytes of text that have so many tokens.
    pub(super) fn bytes_for_tokens(&self, tokens: u64) -> usize {
        (tokens as f64 / self.ratio) as usize
    }

    pub(super) fn system_tokens(&self) -> u64 {
        self.weight_tokens(self.system)
    }
    pub(super) fn tools_tokens(&self) -> u64 {
        self.weight_tokens(self.tools)
    }
    pub(super) fn history_tokens(&self) -> u64 {
        self.weight_tokens(self.history)
    }
}

impl Session {
    /// Estimated tokens of the whole next request: system, tools, messages, and what waits to be
    /// told.
    pub fn next_tokens(&self) -> u64 {
        self.next_tokens_in(&self.window)
    }

    /// The same, were it asked with these settings.
    pub(super) fn next_tokens_with(&self, config: &SessionConfig) -> u64 {
        let mut window = self.window.clone();
        window.apply_config(config);
        self.next_tokens_in(&window)
    }

    fn next_tokens_in(&self, window: &ContextWindow) -> u64 {
        let mut whole = window.request_weight(self.tail.as_deref());
        whole.add(of_blocks(self.pending.blocks()));
        for queued in &self.queue {
            whole.add(of_blocks(&queued.content));
            let added = queued.added.iter().map(|added| added.text.len()).sum();
            whole.add(WindowWeight::text(added));
        }
        window.weight_tokens(whole)
    }

    /// Tokens that the model's window has; 0: nobody knows.
    pub fn window_tokens(&self) -> u64 {
        match self.window.believed {
            Some(believed) if self.model.window == 0 => believed,
            Some(believed) => believed.min(self.model.window),
            None => self.model.window,
        }
    }
}

impl Session {
    /// The fact in place of a reply to a request that its server had cut: it is made shorter and asked again, or
    /// the run ends. `None`: nothing was cut.
    pub(super) fn cut_fact(&self, turn: TurnId, usage: &Usage) -> Option<Event> {
        if !self.model.may_cut || !self.window.is_cut(usage) {
            return None;
        }
        let cost_usd = self.model.cost(usage);
        if self.may_shorten() {
            let cut = Some(CutRequest { usage: *usage, cost_usd });
            let begin = self.begin_condensing(CondenseReason::Overflow);
            return Some(ContextCondensing { cut, ..begin }.into());
        }
        let next = self.next_fallback().map(String::from);
        let after = match &next {
            Some(next) => format!("{next} goes on."),
            None => "Begin a new session, give the server a larger window, or use a profile with fewer tools."
                .to_owned(),
        };
        let cut = self.cut_text(self.next_tokens(), usage);
        let message = format!("{cut} It cannot be made shorter. {after}");
        let class = FailureClass::ContextOverflow;
        Some(ModelFailed { turn, class, message, usage: *usage, cost_usd, next }.into())
    }

    /// Counts what was used for a reply that is not, and tells the person.
    pub(super) fn note_cut(&mut self, sent: u64, cut: &CutRequest) {
        self.count_own_usage(&cut.usage, cut.cost_usd);
        let detail = format!(
            "{} Its reply is not used; the conversation is made shorter and sent again.",
            self.cut_text(sent, &cut.usage)
        );
        self.alerts_due.push_back((AlertName::SilentCut, detail));
    }

    fn cut_text(&self, sent: u64, usage: &Usage) -> String {
        format!(
            "The server of {} counted {} tokens of about {sent} that it was sent: it cut off the rest without \
             a word.",
            self.model.model,
            input_tokens(usage)
        )
    }
}

impl SessionConfig {
    /// Estimated tokens of what stands in every request, before any vendor has counted: instructions
    /// and tools.
    pub fn standing_tokens(&self) -> u64 {
        let mut window = ContextWindow::default();
        window.apply_config(self);
        window.system_tokens() + window.tools_tokens()
    }
}

/// Everything that a vendor counted of a request.
pub(super) fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

pub(super) fn tool_bytes(tool: &ToolSpec) -> usize {
    tool.bytes() + 40
}

/// A thought without a seal: no vendor takes it back, so it is kept for people alone and never sent.
fn unsent_thought(block: &MessageBlock) -> Option<&str> {
    match block {
        MessageBlock::Thinking { text, seal: None } => Some(text),
        MessageBlock::Thinking { seal: Some(_), .. }
        | MessageBlock::Text { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Result { .. }
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => None,
    }
}

/// What blocks take of the window.
pub(super) fn of_blocks(blocks: &[MessageBlock]) -> WindowWeight {
    let mut weight = WindowWeight::default();
    for block in blocks {
        if unsent_thought(block).is_some() {
            continue;
        }
        weight.bytes += BLOCK_BYTES;
        match block {
            MessageBlock::Text { text, .. } => weight.bytes += text.len() as u64,
            MessageBlock::Thinking { text, seal } => {
                let seal = seal.as_ref().map_or(0, |seal| json_bytes(&seal.data));
                let bytes = (text.len() + seal) as u64;
                weight.bytes += bytes;
                weight.sealed += bytes;
            }
            MessageBlock::Call(call) => {
                let length = call.tool.len() + call.wire_id.len() + json_bytes(&call.input);
                weight.bytes += length as u64 + BLOCK_BYTES;
            }
            MessageBlock::Result { blocks, .. } => weight.add(of_blocks(blocks)),
            MessageBlock::Image { .. } => weight.media += IMAGE_TOKENS,
            MessageBlock::Document { media } => {
                let tokens = media.bytes / DOCUMENT_BYTES_PER_TOKEN;
                weight.media += tokens.clamp(DOCUMENT_TOKENS_MIN, DOCUMENT_TOKENS_MAX);
            }
        }
    }
    weight
}

/// Bytes of a value as JSON. It is not written anywhere: all calls of a long conversation are weighed,
/// again and again while it is made shorter.
fn json_bytes(value: &Value) -> usize {
    let mut counter = ByteCounter(0);
    // It counts whatever comes.
    let _ = write!(counter, "{value}");
    counter.0
}

struct ByteCounter(usize);

impl fmt::Write for ByteCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
