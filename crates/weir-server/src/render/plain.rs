//! Text that is shown as it is: nothing in it moves, hides or turns round what stands beside it.

use std::borrow::Cow;

use maud::PreEscaped;
use weir_core::view::plain::is_deceptive;

use super::markdown::escape_html;

/// Most of a text that is shown, in bytes.
const SHOWN_MAX: usize = 4 << 20;
/// Largest JSON that is set out in lines.
const JSON_MAX: usize = 1 << 20;

/// Text in lines, without colours or movements of a terminal.
pub fn render_plain(text: &str) -> PreEscaped<String> {
    PreEscaped(plain_block(text))
}

/// JSON in lines; what is no JSON is shown as text.
pub fn render_json(text: &str) -> PreEscaped<String> {
    let value = match text.len() <= JSON_MAX {
        true => serde_json::from_str::<serde_json::Value>(text).ok(),
        false => None,
    };
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    render_plain(pretty.as_deref().unwrap_or(text))
}

/// The block itself.
pub(super) fn plain_block(text: &str) -> String {
    let text = without_ansi(text);
    let end = text.floor_char_boundary(SHOWN_MAX);
    let mut out = String::with_capacity(end + 64);
    out.push_str("<pre class=\"plain\" tabindex=\"0\">");
    // The first line break after the tag would be the tag's.
    if text.starts_with('\n') {
        out.push('\n');
    }
    escape_html(&mut out, &visible_text(&text[..end]));
    if end < text.len() {
        let left = text.len() - end;
        out.push_str(&format!("\n… {left} more bytes are not shown here"));
    }
    out.push_str("</pre>\n");
    out
}

/// Text as it may stand in a block of code: what cannot be seen is written out. What joins emoji to
/// one picture stays where it does that, and nowhere else: between letters it hides.
pub(super) fn visible_text(text: &str) -> Cow<'_, str> {
    written_out(text, |before, c, after| {
        let hides = (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || is_deceptive(c);
        hides && !joins_emoji(before, c, after)
    })
}

/// Whether `c` makes one picture of the emoji around it.
fn joins_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        '\u{200D}' => {
            before.is_some_and(|b| is_emoji(b) || b == '\u{FE0F}') && after.is_some_and(is_emoji)
        }
        '\u{FE0E}' | '\u{FE0F}' => before.is_some_and(|b| {
            is_emoji(b) || (matches!(b, '0'..='9' | '#' | '*') && after == Some('\u{20E3}'))
        }),
        _ => false,
    }
}

/// Blocks of pictures and symbols; no letter of any script is among them.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{25A0}'..='\u{27BF}'
        | '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}'
        | '\u{3297}' | '\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Text as it may stand in a sentence: what would turn the line round or carry unseen words is
/// written out; joiners of emoji and scripts stay.
pub fn visible_prose(text: &str) -> Cow<'_, str> {
    written_out(text, |_, c, _| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
            || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
    })
}

/// `hidden` is told the character with those beside it; one that was written out is beside nothing.
fn written_out(
    text: &str,
    hidden: impl Fn(Option<char>, char, Option<char>) -> bool,
) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let hides = hidden(before, c, chars.peek().map(|(_, next)| *next));
        before = (!hides).then_some(c);
        match (&mut out, hides) {
            (None, false) => (),
            (Some(out), false) => out.push(c),
            (_, true) => {
                let out = out.get_or_insert_with(|| text[..at].to_owned());
                out.push_str(&format!("<U+{:04X}>", u32::from(c)));
            }
        }
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Text without the escape sequences of terminals (ECMA-48: CSI, OSC, DCS and the short ones).
fn without_ansi(text: &str) -> Cow<'_, str> {
    if !text.contains(['\u{1b}', '\u{9b}']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let control = match c {
            '\u{9b}' => Some('['),
            '\u{1b}' => chars.next_if(|next| matches!(next, ' '..='~')),
            _ => {
                out.push(c);
                continue;
            }
        };
        match control {
            Some('[') => {
                while chars.next_if(|next| matches!(next, ' '..='?')).is_some() {}
                let _ = chars.next_if(|next| matches!(next, '@'..='~'));
            }
            // A string up to its end; one that never ends is not one.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                let rest = chars.clone();
                if !skip_string(&mut chars) {
                    chars = rest;
                }
            }
            Some(' '..='/') => {
                let _ = chars.next_if(|next| matches!(next, '0'..='~'));
            }
            _ => (),
        }
    }
    Cow::Owned(out)
}

/// Longest string of a terminal that is skipped, in characters.
const STRING_MAX: usize = 4096;

fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    for _ in 0..STRING_MAX {
        match chars.next() {
            Some('\u{7}' | '\u{9c}') => return true,
            Some('\u{1b}') => return chars.next_if_eq(&'\\').is_some(),
            Some(_) => (),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{render_json, render_plain, visible_prose, visible_text};

    #[test]
    fn s12_plain_text_shows_what_hides_and_drops_what_moves() {
        let shown = render_plain(
            "a\u{1b}[31;1mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{202E}c\u{0}<b>\u{9b}2Jd",
        );
        assert_eq!(
            shown.0,
            "<pre class=\"plain\" tabindex=\"0\">ared b&lt;U+202E&gt;c&lt;U+0000&gt;&lt;b&gt;d</pre>\n"
        );
        // A string that never ends does not swallow what follows.
        assert!(render_plain("\u{1b}]0;rm -rf /").0.contains("0;rm -rf /"));
        assert!(render_plain("\nx").0.contains(">\n\nx"));
    }

    #[test]
    fn s12_emoji_stay_whole_in_code_and_joiners_between_letters_are_seen() {
        for text in
            ["👩\u{200D}👧", "❤\u{FE0F}\u{200D}🔥", "1\u{FE0F}\u{20E3}", "🏳\u{FE0F}\u{200D}🌈"]
        {
            assert_eq!(visible_text(text), text);
        }
        for (text, seen) in [
            ("ad\u{200D}min", "ad<U+200D>min"),
            ("👩\u{200D}min", "👩<U+200D>min"),
            ("a\u{FE0F}", "a<U+FE0F>"),
            ("a\u{FE0F}\u{200D}🔥", "a<U+FE0F><U+200D>🔥"),
            ("👩\u{200D}\u{200D}👧", "👩<U+200D><U+200D>👧"),
            ("👩\u{202E}👧", "👩<U+202E>👧"),
        ] {
            assert_eq!(visible_text(text), seen);
        }
    }

    #[test]
    fn s12_emoji_stay_whole_in_sentences() {
        assert_eq!(visible_prose("👩‍👧 ❤️"), "👩‍👧 ❤️");
        assert_eq!(visible_prose("a\u{2067}b"), "a<U+2067>b");
    }

    #[test]
    fn json_is_set_out_and_anything_else_is_text() {
        assert!(render_json("{\"a\":[1]}").0.contains("{\n  &quot;a&quot;: [\n    1\n  ]\n}"));
        assert!(render_json("{\"a\":").0.contains("{&quot;a&quot;:"));
    }
}
