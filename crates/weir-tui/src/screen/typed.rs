//! One line that is typed into a dialog: a reason, an answer. Pure. Not here: the box of the chat
//! ([`crate::compose`]).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::text::clean::clean_text;
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, text_width as cells};

/// Longest line, in bytes.
const BYTES_MAX: usize = 4_000;

/// The line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DialogLineInput {
    text: String,
    /// Byte before which the cursor stands.
    at: usize,
}

impl DialogLineInput {
    /// What was typed, without blanks around it.
    pub(crate) fn text(&self) -> &str {
        self.text.trim()
    }

    /// Whether nothing was typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A key; whether it was one for the line.
    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            KeyCode::Char('w') if control => {
                let kept = self.text[..self.at].trim_end();
                let from = kept.rfind(char::is_whitespace).map_or(0, |n| n + 1);
                let from = self.text.ceil_char_boundary(from);
                self.text.drain(from..self.at);
                self.at = from;
            }
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => {
                return false;
            }
            KeyCode::Char(c) => self.insert_text(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                let from = self.previous_boundary();
                self.text.drain(from..self.at);
                self.at = from;
            }
            KeyCode::Delete => {
                let to = self.next_boundary();
                self.text.drain(self.at..to);
            }
            KeyCode::Left => self.at = self.previous_boundary(),
            KeyCode::Right => self.at = self.next_boundary(),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => return false,
        }
        true
    }

    /// Text that was pasted: line breaks become blanks.
    pub(crate) fn handle_paste(&mut self, text: &str) {
        let end = text.floor_char_boundary(BYTES_MAX);
        let line = text[..end].split_whitespace().collect::<Vec<_>>().join(" ");
        self.insert_text(&line);
    }

    fn insert_text(&mut self, text: &str) {
        if self.text.len() + text.len() <= BYTES_MAX {
            self.text.insert_str(self.at, text);
            self.at += text.len();
        }
    }

    fn previous_boundary(&self) -> usize {
        self.text[..self.at].grapheme_indices(true).next_back().map_or(0, |(n, _)| n)
    }

    fn next_boundary(&self) -> usize {
        self.text[self.at..].graphemes(true).next().map_or(self.at, |g| self.at + g.len())
    }

    /// The line after `sign`, the end of it when it does not fit, and the cell of the cursor.
    pub(crate) fn render_line(
        &self,
        sign: &str,
        width: usize,
        theme: &Theme,
    ) -> (Line<'static>, usize) {
        let room = width.saturating_sub(cells(sign) + 1).max(1);
        let before = clean_text(&self.text[..self.at]).into_owned();
        let mut shown = String::new();
        for grapheme in before.graphemes(true).rev() {
            if cells(&shown) + cells(grapheme) > room {
                break;
            }
            shown.insert_str(0, grapheme);
        }
        let cursor = cells(sign) + cells(&shown);
        for grapheme in clean_text(&self.text[self.at..]).graphemes(true) {
            if cells(&shown) + cells(grapheme) > room {
                break;
            }
            shown.push_str(grapheme);
        }
        let spans =
            vec![Span::styled(sign.to_owned(), theme.accent), Span::styled(shown, theme.text)];
        (cut_line(Line::from(spans), width), cursor.min(width.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(typed: &mut DialogLineInput, code: KeyCode, modifiers: KeyModifiers) -> bool {
        typed.handle_key(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn f1_a_line_is_typed_and_changed() {
        let mut typed = DialogLineInput::default();
        typed.handle_paste("one two\nthree");
        assert_eq!(typed.text(), "one two three");
        assert!(press(&mut typed, KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(typed.text(), "one two");
        press(&mut typed, KeyCode::Home, KeyModifiers::NONE);
        press(&mut typed, KeyCode::Char('ä'), KeyModifiers::NONE);
        press(&mut typed, KeyCode::Delete, KeyModifiers::NONE);
        assert_eq!(typed.text(), "äne two");
        press(&mut typed, KeyCode::Backspace, KeyModifiers::NONE);
        press(&mut typed, KeyCode::Right, KeyModifiers::NONE);
        press(&mut typed, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(typed.text(), "e two");
        assert!(!press(&mut typed, KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(!press(&mut typed, KeyCode::Enter, KeyModifiers::NONE));
    }

    #[test]
    fn z10_the_line_is_bounded_and_safe() {
        let mut typed = DialogLineInput::default();
        typed.handle_paste(&"x".repeat(5_000_000));
        assert!(typed.text().len() <= BYTES_MAX);
        let (line, cursor) = typed.render_line("> ", 10, &Theme::plain_theme());
        assert!(cells(&line.to_string()) <= 10 && cursor < 10);
        let mut typed = DialogLineInput::default();
        typed.handle_paste("a\u{1b}[2J");
        assert!(!typed.render_line("", 40, &Theme::plain_theme()).0.to_string().contains('\u{1b}'));
    }
}
