//! `/paste` in line mode: pictures of the clipboard go with the next message. Pure. Not here: who
//! reads the clipboard.

use super::state::Talk;
use super::tell::Voice;
use crate::compose::{pasted_name, size};
use crate::link::{Attached, Clip};

impl Talk {
    /// What the clipboard holds.
    pub(super) fn clip(&mut self, clip: Clip) {
        match clip {
            Clip::Image { ending, bytes } => {
                self.pictures += 1;
                let name = pasted_name(self.pictures, &ending);
                let much = size(bytes.len());
                self.along.push(Attached::Bytes { name: name.clone(), bytes });
                let text = format!("{name}, {much}, goes with your next message.");
                self.say(Voice::Good, &text);
            }
            Clip::Text(_) => {
                let text = "error: the clipboard holds text and no picture; paste it as you paste \
                            everywhere in this terminal.";
                self.say(Voice::Bad, text);
            }
        }
    }

    /// What was to go with a message that was not sent goes with the next one.
    pub(super) fn goes_along_again(&mut self, attached: Vec<Attached>) {
        if !attached.is_empty() {
            self.say(Voice::Quiet, "What was pasted goes with your next message.");
            self.along.splice(..0, attached);
        }
    }
}
