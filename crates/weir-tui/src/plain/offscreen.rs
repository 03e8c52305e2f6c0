//! A talk to which only news come, for [`crate::offscreen`]. Not here: typed lines, the loop.

use weir_core::ids::Timestamp;

use super::PlainOptions;
use super::state::PlainTalk;
use crate::compose::WrittenMessage;
use crate::link::UiUpdate;
use crate::options::StartScreen;

/// A talk without anybody who types.
pub(crate) struct OffscreenTalk(PlainTalk);

impl OffscreenTalk {
    /// A talk that was told nothing.
    pub(crate) fn new() -> OffscreenTalk {
        OffscreenTalk(PlainTalk::new(PlainOptions {
            screen_reader: false,
            theme: None,
            prompt: false,
            terminal: true,
            name: "offscreen".into(),
            now: || Timestamp(0),
            start: StartScreen::Chat,
            first: None,
        }))
    }

    /// The input that comes under this name was typed here.
    pub(crate) fn mark_as_sent(&mut self, name: String, text: String) {
        self.0.app.sent.insert(name, WrittenMessage { text, ..WrittenMessage::default() });
    }

    /// Takes in what happened.
    pub(crate) fn handle_update(&mut self, news: UiUpdate) {
        // Only the other end's leaving is an error, and there is no other end.
        let _ = self.0.handle_update(news);
    }

    /// What was printed since the last call.
    pub(crate) fn take_printed(&mut self) -> String {
        while self.0.next_command().is_some() {}
        self.0.take_output()
    }
}
