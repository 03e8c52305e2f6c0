//! Texts of the person's own folder: `SOUL.md`, `USER.md` (P5). Not here: its `AGENTS.md` and rules,
//! which are instructions.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;

use crate::regular_file::open_regular_file;
use crate::text_form::TextEncoding;

/// Characters of `SOUL.md` that are told: it stands in every request.
pub const SOUL_CHARS_MAX: usize = 6_000;
/// Characters of `USER.md` that are told.
pub const USER_CHARS_MAX: usize = 6_000;
/// Most bytes of a character in UTF-8.
const CHAR_BYTES_MAX: usize = 4;

/// The text of `path` with at most `chars_max` characters; what is cut is said, under `name`.
/// `None`: there is no such file, it cannot be read, or it is empty. Blocks.
pub fn own_text(path: &Path, name: &str, chars_max: usize) -> Option<String> {
    let file = open_regular_file(path).ok()?;
    let bounded = read_bounded_text(file, name, chars_max).ok()?;
    (!bounded.text.trim().is_empty()).then_some(bounded.text)
}

/// What was read of a file.
pub(super) struct BoundedText {
    /// Its text, with a line about what is missing.
    pub(super) text: String,
    /// Bytes of the whole file.
    pub(super) bytes: u64,
    /// Not all of it was read.
    pub(super) is_cut: bool,
}

/// Reads no more of `file` than is told.
pub(super) fn read_bounded_text(
    file: std::fs::File,
    name: &str,
    chars_max: usize,
) -> std::io::Result<BoundedText> {
    let most = chars_max.saturating_mul(CHAR_BYTES_MAX) as u64;
    let mut head = Vec::new();
    let length = file.metadata()?.len();
    file.take(most + 1).read_to_end(&mut head)?;
    let bytes = length.max(head.len() as u64);
    // A byte order mark is no part of the text.
    let text: Cow<'_, str> = match TextEncoding::of_file(&head) {
        TextEncoding::Utf16(order) => Cow::Owned(order.decode_lossy(&head)),
        TextEncoding::Utf8 | TextEncoding::MarkedUtf8 => String::from_utf8_lossy(&head),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let end = text.char_indices().nth(chars_max).map(|(at, _)| at);
    let (kept, is_cut) = match end {
        None if head.len() as u64 <= most => (text, false),
        end => (&text[..end.unwrap_or(text.len())], true),
    };
    if !is_cut {
        return Ok(BoundedText { text: kept.to_string(), bytes, is_cut });
    }
    // To the end of a line, where one is near.
    let line = kept.rfind('\n').filter(|at| *at >= kept.len() / 2).unwrap_or(kept.len());
    let kept = kept[..line].trim_end_matches('\u{fffd}').trim_end();
    let text = format!(
        "{kept}\n[{name}: the first {} of {bytes} bytes; the rest was left out]",
        kept.len()
    );
    Ok(BoundedText { text, bytes, is_cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utf16::ByteOrder;

    fn read(text: &[u8], chars_max: usize) -> Option<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("SOUL.md");
        std::fs::write(&path, text).expect("writable");
        own_text(&path, "SOUL.md", chars_max)
    }

    #[test]
    fn p5_a_text_of_a_megabyte_is_cut_and_says_so() {
        let text = read(&b"a line of it\n".repeat(80_000), 6_000).expect("it is there");
        assert!(text.starts_with("a line of it\na line of it\n"));
        assert!(text.ends_with("of 1040000 bytes; the rest was left out]"), "{}", &text[5_900..]);
        assert!(text.chars().count() < 6_100);
    }

    #[test]
    fn p5_a_text_at_the_bound_is_whole() {
        assert_eq!(read("ä".repeat(10).as_bytes(), 10).as_deref(), Some("ääääääääää"));
        let cut = read("ä".repeat(11).as_bytes(), 10).expect("it is there");
        assert!(cut.starts_with("ääääääääää\n[SOUL.md: the first 20 of 22 bytes"), "{cut}");
        let wide = read("😀".repeat(11).as_bytes(), 10).expect("it is there");
        assert!(wide.starts_with("😀😀😀😀😀😀😀😀😀😀\n["), "{wide}");
    }

    #[test]
    fn p5_what_is_no_text_or_not_there_is_no_error() {
        assert_eq!(read(b" \n", 10), None);
        assert_eq!(read(b"\xef\xbb\xbfhello", 10).as_deref(), Some("hello"));
        let wide = ByteOrder::Little.encode("hellö\r\n");
        assert_eq!(read(&wide, 10).as_deref(), Some("hellö\r\n"));
        let cut = read(&wide, 3).expect("it is there");
        assert!(cut.starts_with("hel\n[SOUL.md: the first 3 of 16 bytes"), "{cut}");
        assert_eq!(read(b"a\xffb", 10).as_deref(), Some("a\u{fffd}b"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(own_text(folder.path(), "SOUL.md", 10), None, "a folder is no text");
        assert_eq!(own_text(&folder.path().join("none"), "SOUL.md", 10), None);
    }
}
