//! How much of the model's window a request takes: measured in bytes, calibrated by the tokens that
//! the vendor reports (X2). Not here: what is done when it is too much.

use crate::event::ModelRequested;
use crate::message::{Message, MessageBlock};
use crate::model::Usage;
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
/// Bytes that a block costs beside its text.
const BLOCK_BYTES: u64 = 24;

/// What something takes of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WindowWeight {
    /// Bytes of text.
    pub(super) bytes: u64,
    /// Tokens of pictures and documents.
    pub(super) media: u64,
}

impl WindowWeight {
    fn add(&mut self, other: WindowWeight) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.media = self.media.saturating_add(other.media);
    }
    fn text(bytes: usize) -> WindowWeight {
        WindowWeight { bytes: bytes as u64, media: 0 }
    }
}

/// What is known about the window.
#[derive(Debug, Clone)]
pub(super) struct ContextWindow {
    ratio: f64,
    system: WindowWeight,
    tools: WindowWeight,
    history: WindowWeight,
    /// The request that was made last.
    asked: WindowWeight,
    /// Its size and what of it was kept from the one before, in bytes.
    pub(super) sent: (u64, u64),
    /// What the vendor counted for it.
    pub(super) counted: Option<Usage>,
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
            system: WindowWeight::default(),
            tools: WindowWeight::default(),
            history: WindowWeight::default(),
            asked: WindowWeight::default(),
            sent: (0, 0),
            counted: None,
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
        if model != self.model {
            // Another model: another window, and another chance for its summaries.
            self.believed = None;
            self.condensed_to = None;
            self.failures = 0;
            self.model = model;
        }
    }

    pub(super) fn add_message(&mut self, message: &Message) {
        self.history.add(of_blocks(&message.blocks));
    }

    pub(super) fn replace_history<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) {
        self.history = WindowWeight::default();
        messages.for_each(|message| self.add_message(message));
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
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let text = usage.input.saturating_add(cached).saturating_sub(self.asked.media);
        if text > 0 && self.asked.bytes > 0 {
            let ratio = text as f64 / self.asked.bytes as f64;
            self.ratio = ratio.clamp(RATIO_RANGE.0, RATIO_RANGE.1);
        }
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

impl SessionConfig {
    /// Estimated tokens of what stands in every request, before any vendor has counted: instructions
    /// and tools.
    pub fn standing_tokens(&self) -> u64 {
        let mut window = ContextWindow::default();
        window.apply_config(self);
        window.system_tokens() + window.tools_tokens()
    }
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
                let seal = seal.as_ref().map_or(0, |seal| seal.data.to_string().len());
                weight.bytes += (text.len() + seal) as u64;
            }
            MessageBlock::Call(call) => {
                let length = call.tool.len() + call.wire_id.len() + call.input.to_string().len();
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
