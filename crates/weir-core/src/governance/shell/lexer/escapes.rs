//! `$'…'`: where it ends, and the letters that its escapes stand for. Not here: every other kind of quotes.

use super::{Lexer, ShellWord};

impl Lexer<'_> {
    /// `$'…'` with its escapes.
    pub(super) fn ansi_quoted(&mut self, word: &mut ShellWord) {
        self.at += 1;
        loop {
            match self.bump() {
                Some('\'') => return,
                Some('\\') => self.ansi_escape(word),
                Some(literal) => word.text.push(literal),
                None => return self.mark_unreadable("a quote is never closed"),
            }
        }
    }

    fn ansi_escape(&mut self, word: &mut ShellWord) {
        let Some(kind) = self.bump() else {
            return self.mark_unreadable("a quote is never closed");
        };
        let decoded = match kind {
            'a' => Some('\x07'),
            'b' => Some('\x08'),
            'e' | 'E' => Some('\x1b'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            '\\' | '\'' | '"' | '?' => Some(kind),
            'x' => self.read_byte(word, 16, 2),
            'u' => self.read_number(16, 4).and_then(char::from_u32),
            'U' => self.read_number(16, 8).and_then(char::from_u32),
            '0'..='7' => {
                self.at -= 1;
                self.read_byte(word, 8, 3)
            }
            'c' => self.read_control_character(),
            other => {
                word.text.push('\\');
                Some(other)
            }
        };
        match decoded {
            Some(c) if c != '\0' => word.text.push(c),
            Some(_) | None => self.mark_unreadable("an escape in $'…' means no character"),
        }
    }

    /// What stands behind `\c`. The shell looks for the quote that ends the text before it looks at what its
    /// escapes mean: a quote here ends it, and a backslash keeps the next one from doing so.
    fn read_control_character(&mut self) -> Option<char> {
        let letter = self.peek().filter(|letter| !matches!(letter, '\'' | '\\'))?;
        self.at += letter.len_utf8();
        char::from_u32(u32::from(letter) & 31)
    }

    /// The byte that a number of at most `digits` digits stands for; the shell leaves out what is above it.
    fn read_byte(&mut self, word: &mut ShellWord, radix: u32, digits: usize) -> Option<char> {
        let byte = self.read_number(radix, digits)? & 0xff;
        // It is a part of a letter: the program gets another word than the one that is put together here.
        word.expands |= byte > 0x7f;
        char::from_u32(byte)
    }

    /// A number of at most `digits` digits.
    fn read_number(&mut self, radix: u32, digits: usize) -> Option<u32> {
        let mut value = 0u32;
        let mut seen = 0;
        while seen < digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
            seen += 1;
        }
        (seen > 0).then_some(value)
    }
}
