//! What the sequences of keys mean (`CSI …`): the old ones of VT and xterm, and those that tell all
//! keys apart (kitty's `CSI … u`, xterm's `CSI 27 ; … ~`). Pure.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keys::{FocusChange, TerminalInput};

/// What a sequence means.
#[derive(Debug)]
pub(super) enum CsiMeaning {
    Input(TerminalInput),
    /// A paste begins.
    Paste,
    /// Nothing that anybody here asked for.
    Nothing,
}

/// The kind of event that kitty's keys call the end of a key press.
const RELEASED: u32 = 3;

/// The meaning of `CSI numbers letter`; `more` are keys held that the sequence does not say.
pub(super) fn csi_meaning(numbers: &[u8], letter: u8, more: KeyModifiers) -> CsiMeaning {
    let fields = CsiFields::new(numbers);
    if letter != b'n' && fields.private {
        return CsiMeaning::Nothing;
    }
    let code = match letter {
        b'I' => return CsiMeaning::Input(TerminalInput::Focus(FocusChange::Gained)),
        b'O' => return CsiMeaning::Input(TerminalInput::Focus(FocusChange::Lost)),
        b'n' if !fields.private && fields.first_part(0) != 6 => {
            return CsiMeaning::Input(TerminalInput::Answer);
        }
        b'Z' => Some(KeyCode::BackTab),
        b'u' => key_for_codepoint(fields.first_part(0)),
        b'~' if fields.first_part(0) == 200 => return CsiMeaning::Paste,
        b'~' if fields.first_part(0) == 27 && fields.len() >= 3 => {
            key_for_codepoint(fields.first_part(2))
        }
        b'~' => key_for_number(fields.first_part(0)),
        // Where the cursor is looks like the third function key; the key's first number is one.
        b'R' if fields.first_part(0) > 1 => None,
        letter => key_for_letter(letter),
    };
    if fields.second_part(1) == RELEASED {
        return CsiMeaning::Nothing;
    }
    let Some(mut code) = code else { return CsiMeaning::Nothing };
    let mut modifiers = more | held_modifiers(fields.first_part(1));
    if letter == b'Z' || (code == KeyCode::Tab && modifiers.contains(KeyModifiers::SHIFT)) {
        code = KeyCode::BackTab;
        modifiers |= KeyModifiers::SHIFT;
    }
    CsiMeaning::Input(TerminalInput::Key(KeyEvent::new(code, modifiers)))
}

/// Numbers with semicolons between them, and colons between the parts of one.
struct CsiFields<'bytes> {
    fields: Vec<&'bytes [u8]>,
    private: bool,
}

impl<'bytes> CsiFields<'bytes> {
    fn new(numbers: &'bytes [u8]) -> CsiFields<'bytes> {
        let private = numbers.first().is_some_and(|byte| matches!(byte, b'<'..=b'?'));
        CsiFields { fields: numbers.split(|byte| *byte == b';').collect(), private }
    }

    fn len(&self) -> usize {
        self.fields.len()
    }

    fn field_part(&self, field: usize, part: usize) -> u32 {
        let field = self.fields.get(field).copied().unwrap_or_default();
        let part = field.split(|byte| *byte == b':').nth(part).unwrap_or_default();
        std::str::from_utf8(part).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    fn first_part(&self, field: usize) -> u32 {
        self.field_part(field, 0)
    }

    fn second_part(&self, field: usize) -> u32 {
        self.field_part(field, 1)
    }
}

/// The keys held: one more than a set of bits; zero: it was not said.
fn held_modifiers(number: u32) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
        (8, KeyModifiers::SUPER),
        (16, KeyModifiers::HYPER),
        (32, KeyModifiers::META),
    ]
    .into_iter()
    .filter(|(bit, _)| bits & bit != 0)
    .fold(KeyModifiers::NONE, |all, (_, modifier)| all | modifier)
}

/// Keys that a letter stands for.
pub(super) fn key_for_letter(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    })
}

/// Keys that a number stands for.
fn key_for_number(number: u32) -> Option<KeyCode> {
    let function = |first: u32, key: u32| u8::try_from(number - first + key).ok().map(KeyCode::F);
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        11..=15 => function(11, 1),
        17..=21 => function(17, 6),
        23..=26 => function(23, 11),
        28..=29 => function(28, 15),
        31..=34 => function(31, 17),
        _ => None,
    }
}

/// Keys that a character stands for, or a number of kitty's from beyond the characters.
fn key_for_codepoint(number: u32) -> Option<KeyCode> {
    Some(match number {
        0 => return None,
        8 | 127 => KeyCode::Backspace,
        9 => KeyCode::Tab,
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        57376..=57398 => KeyCode::F(u8::try_from(number - 57376 + 13).ok()?),
        57399..=57408 => KeyCode::Char(char::from_digit(number - 57399, 10)?),
        57409 => KeyCode::Char('.'),
        57410 => KeyCode::Char('/'),
        57411 => KeyCode::Char('*'),
        57412 => KeyCode::Char('-'),
        57413 => KeyCode::Char('+'),
        57415 => KeyCode::Char('='),
        57416 => KeyCode::Char(','),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57425 => KeyCode::Insert,
        57426 => KeyCode::Delete,
        // The rest of the range are keys that say nothing alone: shift, volume.
        57344..=63743 => return None,
        other => KeyCode::Char(char::from_u32(other).filter(|letter| !letter.is_control())?),
    })
}
