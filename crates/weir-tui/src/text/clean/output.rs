//! What a program wrote for a terminal, as the text it left there. Colours go, a progress bar is its
//! last state.
//!
//! Not an emulator: there is one line at a time; moves to other lines are dropped, so nothing that was
//! written is lost by them.

use std::borrow::Cow;

use super::clean_text;

/// Longest control sequence with numbers; a longer one is text.
const SEQUENCE_CHARS_MAX: usize = 64;
/// Longest string for the terminal (a title, an address); a longer one is text.
const STRING_CHARS_MAX: usize = 4096;
/// A sequence moves the cursor not farther to the right than this, unless there is text.
const COLUMN_MAX: usize = 500;

/// Captured output of a program as text: colours, titles and cursor moves go, `\r` and backspace
/// overprint as in a terminal, and what is left is `clean`.
pub fn plain_output(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(steers) {
        return clean_text(text);
    }
    let mut page = OutputPage { out: String::with_capacity(text.len()), ..OutputPage::default() };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\n' => {
                page.end_line();
                after
            }
            '\r' => {
                page.column = 0;
                after
            }
            '\u{8}' => {
                page.column = page.column.saturating_sub(1);
                after
            }
            // Sounds, and what fills time.
            '\u{7}' | '\0' | '\u{E}' | '\u{F}' => after,
            '\u{1B}' => skip_escape(after, &mut page),
            '\u{9B}' => apply_csi_sequence(after, &mut page),
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => skip_string(after),
            other => {
                page.write_char(other);
                after
            }
        };
    }
    page.flush_line();
    Cow::Owned(clean_text(&page.out).into_owned())
}

/// The line that is being written, and what was written before it.
#[derive(Default)]
struct OutputPage {
    out: String,
    line: Vec<char>,
    column: usize,
}

impl OutputPage {
    fn write_char(&mut self, c: char) {
        while self.line.len() < self.column {
            self.line.push(' ');
        }
        match self.line.get_mut(self.column) {
            Some(place) => *place = c,
            None => self.line.push(c),
        }
        self.column += 1;
    }

    fn flush_line(&mut self) {
        self.out.extend(self.line.drain(..));
    }

    fn end_line(&mut self) {
        self.flush_line();
        self.out.push('\n');
        self.column = 0;
    }

    fn move_to(&mut self, column: usize) {
        self.column = column.min(self.line.len().max(COLUMN_MAX));
    }

    /// What a control sequence with this end does to the line.
    fn apply_sequence(&mut self, end: char, numbers: &str) {
        let number = numbers.split(';').next().and_then(|text| text.parse::<usize>().ok());
        let by = number.unwrap_or(1).max(1);
        match end {
            'C' => self.move_to(self.column.saturating_add(by)),
            'D' => self.column = self.column.saturating_sub(by),
            'G' => self.move_to(by - 1),
            'K' if number.unwrap_or(0) == 0 => self.line.truncate(self.column),
            'K' if number == Some(2) => self.line.clear(),
            _ => (),
        }
    }
}

/// What follows behind an escape character and its sequence.
fn skip_escape<'a>(after: &'a str, page: &mut OutputPage) -> &'a str {
    let Some(kind) = after.chars().next() else { return after };
    let rest = &after[kind.len_utf8()..];
    match kind {
        '[' => apply_csi_sequence(rest, page),
        ']' | 'P' | 'X' | '^' | '_' => skip_string(rest),
        // Character sets: one more character belongs to it.
        ' '..='/' => {
            let set = rest.chars().next().filter(|c| ('0'..='~').contains(c));
            &rest[set.map_or(0, char::len_utf8)..]
        }
        '0'..='~' => rest,
        _ => after,
    }
}

/// What follows behind a sequence with numbers (CSI).
fn apply_csi_sequence<'a>(after: &'a str, page: &mut OutputPage) -> &'a str {
    for (at, c) in after.char_indices().take(SEQUENCE_CHARS_MAX) {
        match c {
            ' '..='?' => (),
            '@'..='~' => {
                page.apply_sequence(c, &after[..at]);
                return &after[at + 1..];
            }
            _ => break,
        }
    }
    after
}

/// What follows behind a string for the terminal (OSC and its like). One that does not end is text:
/// otherwise it would hide all that follows.
fn skip_string(after: &str) -> &str {
    let chars = after.char_indices().take(STRING_CHARS_MAX);
    for (at, c) in chars {
        match c {
            '\u{7}' | '\u{9C}' => return &after[at + c.len_utf8()..],
            '\u{1B}' if after[at + 1..].starts_with('\\') => return &after[at + 2..],
            '\n' | '\u{1B}' => break,
            // Another one begins, as in a terminal: nothing is looked at once for each that did not end.
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => break,
            _ => (),
        }
    }
    after
}
