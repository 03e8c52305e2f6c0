//! The window's title and what is said when nobody looks. Pure.

use base64::Engine as _;

use super::NotifyMethod;
use crate::text::clean::clean_text;

/// Characters of a title or of a notice that are kept.
const CHARS_MAX: usize = 200;

/// The title of the window.
pub(super) fn title_sequence(text: &str) -> Vec<u8> {
    format!("\x1b]2;{}\x1b\\", harmless_line(text)).into_bytes()
}

/// A notice.
pub(super) fn notice_sequence(text: &str, how: NotifyMethod) -> Vec<u8> {
    let text = harmless_line(text);
    match how {
        // `OSC 9;4` and the like are commands in some terminals, so it may not begin with a digit.
        NotifyMethod::Osc9 => {
            format!("\x1b]9;{}\x1b\\", text.trim_start_matches(|c: char| c.is_ascii_digit()))
                .into_bytes()
        }
        NotifyMethod::Osc777 => {
            format!("\x1b]777;notify;Weir;{}\x1b\\", text.replace(';', ",")).into_bytes()
        }
        NotifyMethod::Bell => b"\x07".to_vec(),
    }
}

/// A text for the clipboard (OSC 52): it is written in letters that end nothing.
pub(super) fn clipboard_sequence(text: &str) -> Vec<u8> {
    let text = base64::engine::general_purpose::STANDARD.encode(text);
    format!("\x1b]52;c;{text}\x1b\\").into_bytes()
}

/// One line without anything that could end the sequence.
fn harmless_line(text: &str) -> String {
    clean_text(text)
        .chars()
        .map(|letter| if letter.is_whitespace() { ' ' } else { letter })
        .filter(|letter| !letter.is_control())
        .take(CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_text_for_the_clipboard_ends_where_it_should() {
        assert_eq!(clipboard_sequence("fn a() {}\n"), b"\x1b]52;c;Zm4gYSgpIHt9Cg==\x1b\\");
        let bytes = clipboard_sequence("a\x07b\x1b\\c");
        assert!(!bytes[2..bytes.len() - 2].iter().any(u8::is_ascii_control));
    }

    #[test]
    fn f1_titles_and_notices_end_where_they_should() {
        for (text, wanted) in [("weir", "\x1b]2;weir\x1b\\"), ("a\nb", "\x1b]2;a b\x1b\\")] {
            assert_eq!(String::from_utf8(title_sequence(text)).unwrap(), wanted);
        }
        for text in ["a\x07b", "a\x1b\\b", "a\u{9c}b", "4;3;100\x1b]0;x\x07"] {
            for bytes in [
                title_sequence(text),
                notice_sequence(text, NotifyMethod::Osc9),
                notice_sequence(text, NotifyMethod::Osc777),
            ] {
                let inner = &String::from_utf8(bytes).unwrap();
                let inner = &inner[2..inner.len() - 2];
                assert!(!inner.chars().any(char::is_control), "{inner:?}");
                assert!(!inner.starts_with("9;4"), "{inner:?}");
            }
        }
        assert_eq!(notice_sequence("x", NotifyMethod::Bell), b"\x07");
        assert!(title_sequence(&"x".repeat(10_000)).len() < 300);
    }
}
