//! What a pasted text is: a few words, a long text, the path of a picture. Pure; not here: what
//! becomes of it in the box.

use std::borrow::Cow;

use super::token::is_token;

/// Longest text that can be pasted.
pub(super) const PASTED_BYTES_MAX: usize = 32 << 20;
/// Lines that are pasted as they are; more become a token.
const LINES_MAX: usize = 10;
/// Characters that are pasted as they are.
const CHARACTERS_MAX: usize = 1000;
/// Longest text that may be a path.
const PATH_BYTES_MAX: usize = 4096;

/// `text` as it may stand in the box and be sent: line breaks are line feeds (terminals paste
/// carriage returns), NUL and escape are left out, and so are the code points that the box uses for
/// itself, which mean nothing anywhere. All else stays.
pub(super) fn clean_pasted_text(text: &str) -> Cow<'_, str> {
    let odd = |byte: &u8| matches!(byte, b'\r' | 0 | 0x1b | 0xF3);
    if !text.as_bytes().iter().any(odd) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    Cow::Owned(text.replace(|c: char| matches!(c, '\0' | '\u{1b}') || is_token(c), ""))
}

/// Whether a text is long enough to be shown as one token.
pub(super) fn is_long(text: &str) -> bool {
    text.chars().nth(CHARACTERS_MAX).is_some() || text.lines().nth(LINES_MAX).is_some()
}

/// The one path that a text is, as terminals paste a file that is dropped on them: absolute or from
/// the home folder, quoted, with escaped blanks, as a `file://` address; or `@path`.
pub(super) fn pasted_path(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > PATH_BYTES_MAX || text.contains('\n') {
        return None;
    }
    let (mentioned, text) = match text.strip_prefix('@') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let path = unquote_shell_word(text)?;
    let rooted = ["/", "~/", "./", "../"].iter().any(|start| path.starts_with(start));
    (mentioned || rooted).then_some(path)
}

/// A word of a shell, without what keeps it together; `None`: it is more than one word.
fn unquote_shell_word(text: &str) -> Option<String> {
    if let Some(address) = text.strip_prefix("file://") {
        return percent_decoded(address.strip_prefix("localhost").unwrap_or(address));
    }
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return (!inner.is_empty() && !inner.contains(quote)).then(|| inner.to_owned());
        }
    }
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => out.push(characters.next()?),
            c if c.is_whitespace() => return None,
            c => out.push(c),
        }
    }
    (!out.is_empty()).then_some(out)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_a_pasted_path_is_told_from_words() {
        for (text, expected) in [
            ("/tmp/shot.png", Some("/tmp/shot.png")),
            (" /tmp/shot.png \r", Some("/tmp/shot.png")),
            ("'/tmp/my shot.png'", Some("/tmp/my shot.png")),
            ("\"/tmp/my shot.png\"", Some("/tmp/my shot.png")),
            ("/tmp/my\\ shot\\(1\\).png", Some("/tmp/my shot(1).png")),
            ("file:///tmp/my%20shot.png", Some("/tmp/my shot.png")),
            ("file://localhost/tmp/%C3%BC.png", Some("/tmp/ü.png")),
            ("~/shot.png", Some("~/shot.png")),
            ("@shot.png", Some("shot.png")),
            ("@'my shot.png'", Some("my shot.png")),
            ("shot.png", None),
            ("/tmp/a.png /tmp/b.png", None),
            ("'/a' '/b'", None),
            ("/tmp/a.png\n/tmp/b.png", None),
            ("/tmp/a\\", None),
            ("file:///tmp/%zz", None),
            ("file:///tmp/%f", None),
            ("file:///tmp/%ff", None),
            ("", None),
            ("@", None),
        ] {
            assert_eq!(pasted_path(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn f1_long_texts_are_told_from_short_ones() {
        for (text, expected) in [
            (String::new(), false),
            ("x".repeat(1000), false),
            ("x".repeat(1001), true),
            ("ü".repeat(1000), false),
            ("ü".repeat(1001), true),
            ("a\n".repeat(10), false),
            ("a\n".repeat(11), true),
        ] {
            assert_eq!(is_long(&text), expected, "{} bytes", text.len());
        }
    }

    #[test]
    fn f1_pasted_text_keeps_all_but_what_cannot_be_sent() {
        for (text, expected) in [
            ("a\r\nb\rc\nd", "a\nb\nc\nd"),
            ("a\0\u{1b}[31mb\u{7}\tc", "a[31mb\u{7}\tc"),
            ("a\u{E0200}b\u{E0FFF}\u{E0100}", "ab\u{E0100}"),
            ("🏴\u{E0067}\u{E007F}", "🏴\u{E0067}\u{E007F}"),
        ] {
            assert_eq!(clean_pasted_text(text), expected, "{text:?}");
        }
        assert!(matches!(clean_pasted_text("plain\ntext"), Cow::Borrowed(_)));
    }
}
