//! `/paste` in line mode: pictures of the clipboard go with the next message. Pure. Not here: who
//! reads the clipboard.

use super::state::PlainTalk;
use super::tell::LineVoice;
use crate::compose::{pasted_name, size_text};
use crate::link::{ClipboardContent, MessageAttachment};

impl PlainTalk {
    /// What the clipboard holds.
    pub(super) fn receive_clipboard(&mut self, clip: ClipboardContent) {
        match clip {
            ClipboardContent::Image { ending, bytes } => {
                self.pictures += 1;
                let name = pasted_name(self.pictures, &ending);
                let much = size_text(bytes.len());
                self.along.push(MessageAttachment::Bytes { name: name.clone(), bytes });
                let text = format!("{name}, {much}, goes with your next message.");
                self.print_lines(LineVoice::Good, &text);
            }
            ClipboardContent::Text(_) => {
                let text = "error: the clipboard holds text and no picture; paste it as you paste \
                            everywhere in this terminal.";
                self.print_lines(LineVoice::Bad, text);
            }
        }
    }

    /// What was to go with a message that was not sent goes with the next one.
    pub(super) fn goes_along_again(&mut self, attached: Vec<MessageAttachment>) {
        if !attached.is_empty() {
            self.print_lines(LineVoice::Quiet, "What was pasted goes with your next message.");
            self.along.splice(..0, attached);
        }
    }
}
