//! Bytes from the terminal into keys, pastes and reports. Pure.
//!
//! Our own, because the reader of `crossterm` waits within the runtime for the end of a paste, spins
//! when the terminal is gone, and takes a sequence that a slow line tears apart for an Escape and
//! letters. The words for keys are those of `crossterm`.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keys_csi::{self, CsiMeaning};

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TerminalInput {
    Key(KeyEvent),
    Paste(String),
    Focus(FocusChange),
    /// The answer to `flow::QUESTION`.
    Answer,
}

/// Whether somebody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FocusChange {
    Gained,
    Lost,
}

/// Bytes of a paste that come as one; a longer one comes in several.
const PASTE_BYTES_MAX: usize = 16 << 20;
/// Bytes of a sequence; more is rubbish and dropped.
const SEQUENCE_BYTES_MAX: usize = 256;
/// A text so long that comes at once and holds several lines was not typed.
const BURST_BYTES_MIN: usize = 64;
/// A text so long that comes at once was not typed, even if it is one line.
const BURST_LINE_BYTES_MIN: usize = 512;
const PASTE_END: &[u8] = b"\x1b[201~";

/// What was not understood yet.
#[derive(Debug, Default)]
pub(super) struct KeyParser {
    rest: Vec<u8>,
    paste: Option<Vec<u8>>,
    /// The terminal brackets pastes, so nobody has to guess.
    brackets: bool,
    burst: bool,
}

/// What the first bytes are.
enum ParsedPrefix {
    /// More have to come.
    More,
    /// So many bytes, and what they mean, if anything.
    Took(usize, Option<TerminalInput>),
    /// The start of a paste.
    Paste(usize),
}

/// Why the parser is to be asked again when nothing comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingInput {
    Nothing,
    Sequence,
    Paste,
}

impl KeyParser {
    /// Takes bytes that came at once.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<TerminalInput>) {
        if self.paste.is_none() && self.rest.is_empty() && self.is_burst(bytes) {
            out.push(TerminalInput::Paste(paste_text(bytes)));
            return;
        }
        let mut bytes = bytes;
        while !bytes.is_empty() {
            if self.paste.is_some() {
                bytes = self.feed_paste(bytes, out);
            } else {
                self.rest.extend_from_slice(bytes);
                bytes = &[];
                let taken = self.take_inputs(out);
                let after = self.rest.split_off(taken);
                self.rest.clear();
                if self.paste.is_some() {
                    // Not deeper than the pastes that came at once, of which each took a read.
                    self.feed(&after, out);
                } else {
                    self.rest = after;
                }
            }
        }
    }

    /// What the parser waits for.
    pub(super) fn pending_input(&self) -> PendingInput {
        match (&self.paste, self.rest.is_empty()) {
            (Some(_), _) => PendingInput::Paste,
            (None, false) => PendingInput::Sequence,
            (None, true) => PendingInput::Nothing,
        }
    }

    /// Nothing came for a while: what could have been the start of more was all.
    pub(super) fn flush_idle(&mut self, out: &mut Vec<TerminalInput>) {
        self.burst = false;
        if let Some(paste) = self.paste.take() {
            out.push(TerminalInput::Paste(paste_text(&paste)));
            return;
        }
        let rest = std::mem::take(&mut self.rest);
        match rest.as_slice() {
            [] => {}
            [0x1b] => out.push(TerminalInput::Key(KeyCode::Esc.into())),
            [0x1b, 0x1b] => {
                out.push(TerminalInput::Key(KeyCode::Esc.into()));
                out.push(TerminalInput::Key(KeyCode::Esc.into()));
            }
            [0x1b, letter] => out.push(with_alt(letter_key(char::from(*letter)))),
            // A torn sequence: better nothing than its letters as text.
            _ => {}
        }
    }

    /// Parses as far as it goes and says how many bytes that are.
    fn take_inputs(&mut self, out: &mut Vec<TerminalInput>) -> usize {
        let mut taken = 0;
        while taken < self.rest.len() {
            match parse_input(&self.rest[taken..]) {
                ParsedPrefix::More if self.rest.len() - taken > SEQUENCE_BYTES_MAX => taken += 1,
                ParsedPrefix::More => break,
                ParsedPrefix::Took(count, input) => {
                    taken += count;
                    out.extend(input);
                }
                ParsedPrefix::Paste(count) => {
                    self.paste = Some(Vec::new());
                    self.brackets = true;
                    return taken + count;
                }
            }
        }
        taken
    }

    /// Takes what belongs to the paste; gives what comes after it.
    fn feed_paste<'bytes>(
        &mut self,
        bytes: &'bytes [u8],
        out: &mut Vec<TerminalInput>,
    ) -> &'bytes [u8] {
        let Some(paste) = &mut self.paste else { return bytes };
        let known = paste.len();
        // The end may lie across two reads; what was searched before is not searched again.
        let from = known.saturating_sub(PASTE_END.len() - 1);
        paste.extend_from_slice(bytes);
        let end = find_bytes(&paste[from..], PASTE_END).map(|at| from + at);
        if let Some(end) = end {
            let used = end + PASTE_END.len() - known;
            paste.truncate(end);
            out.push(TerminalInput::Paste(paste_text(paste)));
            self.paste = None;
            return &bytes[used..];
        }
        if paste.len() > PASTE_BYTES_MAX {
            // The last bytes may be half a letter or half of the end.
            let cut = paste.len() - PASTE_END.len();
            let cut = (cut.saturating_sub(3)..=cut)
                .rev()
                .find(|at| paste[*at] & 0xc0 != 0x80)
                .unwrap_or(cut);
            let rest = paste.split_off(cut);
            out.push(TerminalInput::Paste(paste_text(paste)));
            self.paste = Some(rest);
        }
        &[]
    }

    /// Bytes of a paste that the terminal does not mark as such.
    fn is_burst(&mut self, bytes: &[u8]) -> bool {
        let is_text = |byte: &u8| matches!(byte, 0x20..=0x7e | 0x80.. | b'\t' | b'\r' | b'\n');
        let lines = bytes
            .iter()
            .take(bytes.len().saturating_sub(1))
            .any(|byte| matches!(byte, b'\r' | b'\n'));
        let long = bytes.len() >= BURST_LINE_BYTES_MIN;
        self.burst = !self.brackets
            && bytes.iter().all(is_text)
            && std::str::from_utf8(bytes).is_ok()
            && (self.burst || long || (lines && bytes.len() >= BURST_BYTES_MIN));
        self.burst
    }
}

/// The first of `bytes`, which are not empty.
fn parse_input(bytes: &[u8]) -> ParsedPrefix {
    match bytes {
        [0x1b] => ParsedPrefix::More,
        [0x1b, b'[', ..] => parse_csi(bytes, 2, KeyModifiers::NONE),
        [0x1b, b'O', ..] => parse_ss3(bytes, 2, KeyModifiers::NONE),
        [0x1b, 0x1b, b'[', ..] => match parse_csi(bytes, 3, KeyModifiers::ALT) {
            // What the terminal says by itself goes with no key: an Escape was pressed just before.
            ParsedPrefix::Took(_, Some(TerminalInput::Answer | TerminalInput::Focus(_)))
            | ParsedPrefix::Paste(_) => {
                ParsedPrefix::Took(1, Some(TerminalInput::Key(KeyCode::Esc.into())))
            }
            with_key => with_key,
        },
        [0x1b, 0x1b, b'O', ..] => parse_ss3(bytes, 3, KeyModifiers::ALT),
        [0x1b, 0x1b] => ParsedPrefix::More,
        [0x1b, 0x1b, ..] => ParsedPrefix::Took(1, Some(TerminalInput::Key(KeyCode::Esc.into()))),
        [0x1b, b']' | b'P' | b'_' | b'^' | b'X', ..] => skip_string(bytes),
        [0x1b, ..] => match parse_letter(&bytes[1..]) {
            ParsedPrefix::Took(count, input) => ParsedPrefix::Took(
                count + 1,
                input.map(|input| match input {
                    TerminalInput::Key(key) => with_alt(key),
                    other => other,
                }),
            ),
            other => other,
        },
        _ => parse_letter(bytes),
    }
}

fn with_alt(mut key: KeyEvent) -> TerminalInput {
    key.modifiers |= KeyModifiers::ALT;
    TerminalInput::Key(key)
}

/// A control character or a letter.
fn parse_letter(bytes: &[u8]) -> ParsedPrefix {
    let control =
        |letter: u8| KeyEvent::new(KeyCode::Char(char::from(letter)), KeyModifiers::CONTROL);
    let key = match bytes[0] {
        b'\r' => KeyCode::Enter.into(),
        b'\t' => KeyCode::Tab.into(),
        0x7f => KeyCode::Backspace.into(),
        0 => control(b' '),
        byte @ 0x01..=0x1a => control(byte - 1 + b'a'),
        byte @ 0x1c..=0x1f => control(byte - 0x1c + b'4'),
        byte @ ..=0x7e => letter_key(char::from(byte)),
        first => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return ParsedPrefix::Took(1, None),
            };
            let have = bytes.len().min(length);
            return match std::str::from_utf8(&bytes[..have]) {
                Ok(text) => ParsedPrefix::Took(length, text.chars().next().map(letter_input)),
                Err(error) if error.error_len().is_none() && have < length => ParsedPrefix::More,
                Err(_) => ParsedPrefix::Took(1, None),
            };
        }
    };
    ParsedPrefix::Took(1, Some(TerminalInput::Key(key)))
}

fn letter_input(letter: char) -> TerminalInput {
    TerminalInput::Key(letter_key(letter))
}

/// A letter as `crossterm` gives it: with shift when it is a capital.
fn letter_key(letter: char) -> KeyEvent {
    let modifiers = if letter.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    KeyEvent::new(KeyCode::Char(letter), modifiers)
}

/// `CSI … letter`.
fn parse_csi(bytes: &[u8], start: usize, more: KeyModifiers) -> ParsedPrefix {
    // The Linux console's first function keys: `CSI [ A` to `CSI [ E`.
    if let [b'[', rest @ ..] = &bytes[start..] {
        return match rest {
            [] => ParsedPrefix::More,
            [letter @ b'A'..=b'E', ..] => {
                let key = KeyEvent::new(KeyCode::F(letter - b'A' + 1), more);
                ParsedPrefix::Took(start + 2, Some(TerminalInput::Key(key)))
            }
            _ => ParsedPrefix::Took(start + 1, None),
        };
    }
    let body = &bytes[start..];
    let Some(length) = body.iter().position(|byte| !matches!(byte, 0x20..=0x3f)) else {
        return ParsedPrefix::More;
    };
    let took = start + length + 1;
    match body[length] {
        0x40..=0x7e => match keys_csi::csi_meaning(&body[..length], body[length], more) {
            CsiMeaning::Input(input) => ParsedPrefix::Took(took, Some(input)),
            CsiMeaning::Paste => ParsedPrefix::Paste(took),
            CsiMeaning::Nothing => ParsedPrefix::Took(took, None),
        },
        // Something else begins in the middle: what was there is rubbish.
        _ => ParsedPrefix::Took(took - 1, None),
    }
}

/// `ESC O letter`: arrows and function keys in another mode.
fn parse_ss3(bytes: &[u8], start: usize, more: KeyModifiers) -> ParsedPrefix {
    let Some(letter) = bytes.get(start) else { return ParsedPrefix::More };
    let key = match letter {
        b'M' => Some(KeyCode::Enter),
        letter => keys_csi::key_for_letter(*letter),
    };
    ParsedPrefix::Took(start + 1, key.map(|code| TerminalInput::Key(KeyEvent::new(code, more))))
}

/// An answer that nobody asked for (`OSC` and its like): dropped up to its end.
fn skip_string(bytes: &[u8]) -> ParsedPrefix {
    let end = bytes.iter().skip(2).position(|byte| matches!(byte, 0x07 | 0x1b));
    match end.map(|at| at + 2) {
        Some(at) if bytes[at] == 0x07 => ParsedPrefix::Took(at + 1, None),
        Some(at) if bytes.get(at + 1) == Some(&b'\\') => ParsedPrefix::Took(at + 2, None),
        Some(at) if bytes.len() > at + 1 => ParsedPrefix::Took(at, None),
        _ => ParsedPrefix::More,
    }
}

/// A paste as text: terminals send carriage returns for line breaks.
fn paste_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.into() }
}

fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|byte| *byte == wanted[0]) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
