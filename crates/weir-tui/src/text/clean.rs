//! What somebody wrote, without what steers a terminal (Z10). Everything that a model, a tool, a file
//! name or a person wrote passes here before it is drawn.
//!
//! Nothing is hidden: what cannot be shown is written out (`<U+001B>`). Not here: the width of text
//! (`wrap`) and what letters look like (`weir_core::view::visible`).

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
use weir_core::view::plain::is_deceptive;

mod output;

pub use output::plain_output;

/// Cells from one tab stop to the next.
pub const TAB_CELLS: usize = 4;

/// Asks for the coloured picture of the sign before it.
const PICTURE: char = '\u{FE0F}';
/// Makes one picture of two.
const JOINER: char = '\u{200D}';

/// `text` without control, invisible and direction-changing characters: they are written out
/// (`<U+001B>`); line breaks stay, `\r\n` and `\r` become one, tabs become blanks. The joiners inside
/// of an emoji stay, nowhere else.
pub fn clean_text(text: &str) -> Cow<'_, str> {
    clean_with_tabs(text, TabHandling::Blanks)
}

/// [`clean_text`] for what is printed line by line and may be copied from there: tabs stay as well.
pub fn clean_print(text: &str) -> Cow<'_, str> {
    clean_with_tabs(text, TabHandling::Stay)
}

/// What becomes of tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TabHandling {
    /// A screen that is drawn has no stops of its own.
    Blanks,
    Stay,
}

fn clean_with_tabs(text: &str, tabs: TabHandling) -> Cow<'_, str> {
    let stays =
        |step| step == CharStep::Keep || (step == CharStep::Tab && tabs == TabHandling::Stay);
    let printable = |byte: u8| byte == b'\n' || (b' '..=b'~').contains(&byte);
    if text.bytes().all(printable) || char_steps(text).all(|(_, step)| stays(step)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut column = 0;
    for (c, step) in char_steps(text) {
        match step {
            CharStep::Keep if c == '\n' => column = 0,
            CharStep::Keep => column += c.width().unwrap_or(0),
            CharStep::Tab if tabs == TabHandling::Stay => out.push('\t'),
            CharStep::Tab => {
                let blanks = TAB_CELLS - column % TAB_CELLS;
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            CharStep::Break => {
                out.push('\n');
                column = 0;
            }
            CharStep::Drop => (),
            CharStep::WriteOut => {
                let before = out.len();
                // Writing to a string cannot fail.
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
                column += out.len() - before;
            }
        }
        if step == CharStep::Keep {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// [`clean_text`] for a place that has one line: line breaks become blanks.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    match clean_text(text) {
        Cow::Borrowed(same) if !same.contains('\n') => Cow::Borrowed(same),
        other => Cow::Owned(other.replace('\n', " ")),
    }
}

/// What becomes of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharStep {
    Keep,
    Tab,
    /// A line ends here.
    Break,
    /// The other half of a line end says it.
    Drop,
    WriteOut,
}

/// Every character of `text` with what becomes of it.
fn char_steps(text: &str) -> impl Iterator<Item = (char, CharStep)> + '_ {
    let mut rest = text.chars();
    // What a joiner may follow: an emoji, with its picture sign or skin colour behind it.
    let mut emoji = EmojiState::No;
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let next = rest.as_str().chars().next();
        let step = match c {
            '\n' => CharStep::Keep,
            '\t' => CharStep::Tab,
            '\r' if next == Some('\n') => CharStep::Drop,
            '\r' => CharStep::Break,
            PICTURE if emoji == EmojiState::Bare => CharStep::Keep,
            PICTURE if emoji == EmojiState::Key && next == Some('\u{20E3}') => CharStep::Keep,
            JOINER if can_be_joined(emoji) && next.is_some_and(is_emoji) => CharStep::Keep,
            c if c.is_control() || is_deceptive(c) => CharStep::WriteOut,
            _ => CharStep::Keep,
        };
        emoji = match c {
            PICTURE if step == CharStep::Keep => EmojiState::Dressed,
            '\u{1F3FB}'..='\u{1F3FF}' if can_be_joined(emoji) => EmojiState::Dressed,
            '0'..='9' | '#' | '*' => EmojiState::Key,
            c if is_emoji(c) => EmojiState::Bare,
            _ => EmojiState::No,
        };
        Some((c, step))
    })
}

/// What the character before this one was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmojiState {
    No,
    /// A sign of a keycap.
    Key,
    Bare,
    /// An emoji that has its picture sign or skin colour.
    Dressed,
}

fn can_be_joined(before: EmojiState) -> bool {
    matches!(before, EmojiState::Bare | EmojiState::Dressed)
}

/// Whether a character is a picture, or becomes one with the sign for it.
fn is_emoji(c: char) -> bool {
    let near = matches!(c, '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{25A0}'..='\u{27BF}'
        | '\u{2934}' | '\u{2935}' | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}'
        | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}');
    let mut pair = [0; 8];
    let end = c.encode_utf8(&mut pair).len();
    PICTURE.encode_utf8(&mut pair[end..]);
    let both = std::str::from_utf8(&pair[..end + PICTURE.len_utf8()]);
    near && both.is_ok_and(|both| both.width() == 2)
}

#[cfg(test)]
mod tests;
