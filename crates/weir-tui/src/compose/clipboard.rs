//! What the clipboard holds, put into the box: asked for by a key, there some time later. Until
//! then a sign keeps its place, so that whoever writes on writes behind it. Not here: who reads it.

use std::sync::Arc;

use super::buffer::{Buffer, TextPos, end_of};
use super::paste;
use super::token::ComposerToken;
use super::undo::EditKind;
use super::{Composer, KeyOutcome};
use crate::link::{ClipboardContent, CommandTicket, MessageAttachment};

impl Composer {
    /// Asks for what the clipboard holds, one look at a time.
    pub fn ask_clipboard(&mut self) -> KeyOutcome {
        if self.is_asking() {
            return KeyOutcome::Took;
        }
        self.close_offer();
        self.search = None;
        self.undo.close_step();
        self.reset_last_action();
        let ticket = self.ticket;
        let Some(sign) = self.tokens.add(ComposerToken::Clipboard(Some(ticket))) else {
            self.trouble = Some("too much was pasted into this message".into());
            return KeyOutcome::Took;
        };
        self.ticket += 1;
        self.insert_text(&format!("{sign} "), EditKind::Whole);
        self.settle_cursor();
        KeyOutcome::Clipboard(ticket)
    }

    /// The answer to `Did::SystemClipboard`; `None`: it failed. Whether anybody waits for it.
    pub fn receive_clipboard(
        &mut self,
        ticket: CommandTicket,
        clip: Option<&ClipboardContent>,
    ) -> bool {
        let Some(sign) = self.tokens.sign_for_ticket(ticket) else { return false };
        // Lines that are laid out show the old label.
        self.laid.take();
        match clip {
            Some(ClipboardContent::Image { ending, bytes }) if !self.is_shell() => {
                let picture = self.pasted_picture(ending, bytes);
                self.tokens.set(sign, ComposerToken::File(picture));
            }
            Some(ClipboardContent::Image { .. }) => {
                self.trouble = Some("no picture goes along with a command of the shell".into());
                self.tokens.set(sign, ComposerToken::Clipboard(None));
                self.replace_sign(sign, "");
            }
            Some(ClipboardContent::Text(text)) => {
                let text = paste::clean_pasted_text(text);
                let shown = self.token_for_paste(&text);
                let as_it_is = shown.is_none();
                // Where the sign stands in a text that is not in the box now, it stays one.
                self.tokens.set(
                    sign,
                    shown.unwrap_or_else(|| ComposerToken::Pasted(text.as_ref().into())),
                );
                if as_it_is {
                    self.replace_sign(sign, &text);
                }
            }
            None => {
                self.tokens.set(sign, ComposerToken::Clipboard(None));
                self.replace_sign(sign, "");
            }
        }
        self.settle_cursor();
        true
    }

    /// Whether the box holds a place for what the clipboard holds and it is not there yet.
    pub(super) fn is_asking(&self) -> bool {
        let is_asked = |c| matches!(self.tokens.get(c), Some(ComposerToken::Clipboard(Some(_))));
        let has_asked = |line: &String| super::token::has_token(line) && line.contains(is_asked);
        self.buffer.lines().iter().any(has_asked)
    }

    /// What is in the box cannot go out yet.
    pub(super) fn not_yet(&mut self) {
        let why = "the clipboard is still being read; once it is there, press the key again";
        self.trouble = Some(why.into());
    }

    fn pasted_picture(&mut self, ending: &str, bytes: &Arc<[u8]>) -> MessageAttachment {
        self.pictures += 1;
        MessageAttachment::Bytes { name: pasted_name(self.pictures, ending), bytes: bytes.clone() }
    }

    /// Puts a text in place of a sign and of the blank behind it; the cursor stays where it is in
    /// what is around them.
    fn replace_sign(&mut self, sign: char, text: &str) {
        let Some(from) = place_of(&self.buffer, sign) else { return };
        let mut to = self.buffer.next(from);
        if self.buffer.grapheme_after(to) == Some(" ") {
            to = self.buffer.next(to);
        }
        self.close_offer();
        self.undo.close_step();
        self.reset_last_action();
        let cursor = self.cursor;
        let behind = (cursor >= to).then(|| self.buffer.slice(to, cursor));
        self.replace_range(from, to, text);
        self.cursor = match behind {
            Some(behind) => end_of(self.cursor, &behind),
            None if cursor > from => self.cursor,
            None => cursor,
        };
    }
}

/// How a picture of the clipboard is called: no two that one face attaches have one name.
pub(crate) fn pasted_name(number: usize, ending: &str) -> String {
    format!("pasted-{number}.{ending}")
}

fn place_of(buffer: &Buffer, sign: char) -> Option<TextPos> {
    let found = |(line, text): (usize, &String)| Some(TextPos { line, byte: text.find(sign)? });
    buffer.lines().iter().enumerate().find_map(found)
}
