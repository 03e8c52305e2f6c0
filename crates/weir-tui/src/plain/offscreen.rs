//! A talk to which only news come, for [`crate::offscreen`]. Not here: typed lines, the loop.

use weir_core::ids::Timestamp;

use super::PlainOptions;
use super::state::{Said, Talk};
use crate::link::News;
use crate::options::Start;

/// A talk without anybody who types.
pub(crate) struct OffscreenTalk(Talk);

impl OffscreenTalk {
    /// A talk that was told nothing.
    pub(crate) fn new() -> OffscreenTalk {
        OffscreenTalk(Talk::new(PlainOptions {
            screen_reader: false,
            theme: None,
            prompt: false,
            terminal: true,
            name: "offscreen".into(),
            now: || Timestamp(0),
            start: Start::Chat,
            first: None,
        }))
    }

    /// The input that comes under this name was typed here.
    pub(crate) fn sent(&mut self, name: String, text: String) {
        self.0.sent.insert(name, Said { text, attached: Vec::new() });
    }

    /// Takes in what happened.
    pub(crate) fn hear(&mut self, news: News) {
        // Only the other end's leaving is an error, and there is no other end.
        let _ = self.0.heard(news);
    }

    /// What was printed since the last call.
    pub(crate) fn take_printed(&mut self) -> String {
        while self.0.wished().is_some() {}
        self.0.printed()
    }
}
