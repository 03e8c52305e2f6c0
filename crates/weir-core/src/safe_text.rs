//! Text that somebody else wrote, made safe to look at: nothing in it moves the cursor, hides, or
//! turns the line round (Z10). Not here: what a face shows of it (`view`).

mod look_alikes;
mod sentences;

pub use look_alikes::look_alikes;
pub use sentences::join_sentences;

/// Whether a character would be invisible or reorder what stands beside it.
pub fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}'
        | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// One line of `text` as it may be shown: control, invisible and direction-changing characters are
/// written out as `<U+202E>`; tabs stay.
pub fn visible_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_visible_text(&mut out, text);
    out
}

/// The same at the end of `out`.
pub fn push_visible_text(out: &mut String, text: &str) {
    // Most lines are plain: all of such a line is taken at once.
    if text.bytes().all(|byte| byte == b'\t' || matches!(byte, b' '..=b'~')) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        if (c.is_control() && c != '\t') || is_deceptive(c) {
            out.push_str(&format!("<U+{:04X}>", u32::from(c)));
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{push_visible_text, visible_text};

    #[test]
    fn z10_hidden_characters_are_written_out() {
        assert_eq!(
            visible_text("rm \u{202E}txt.\u{200B}sh\u{1b}[2J"),
            "rm <U+202E>txt.<U+200B>sh<U+001B>[2J"
        );
        assert_eq!(visible_text("naïve\tdiff"), "naïve\tdiff");
    }

    #[test]
    fn z10_every_ascii_character_is_shown_or_written_out_alone_as_beside_others() {
        for byte in 0..=127_u8 {
            let alone = char::from(byte).to_string();
            // A line with a letter beyond ASCII is looked at character by character.
            let mut beside = String::from("> ");
            push_visible_text(&mut beside, &format!("ü{alone}"));
            assert_eq!(beside, format!("> ü{}", visible_text(&alone)), "{byte}");
        }
        assert_eq!(visible_text("\u{7f}\n"), "<U+007F><U+000A>");
    }
}
