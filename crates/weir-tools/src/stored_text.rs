//! The text of a file as tools change it, and the form in which it is stored again: a mark, its encoding and the
//! ends of its lines stay. Not here: pages of what is read (`pager`), what a form is (`weir_engine::text_form`).

use std::borrow::Cow;

use weir_engine::sniff::has_nul;
use weir_engine::text_form::{self, TextEncoding};

/// The text of a file, in UTF-8 where it is one.
pub(crate) struct StoredText<'a> {
    plain: Cow<'a, [u8]>,
    encoding: TextEncoding,
}

impl<'a> StoredText<'a> {
    /// The text of a file with these bytes.
    ///
    /// # Errors
    /// It is broken, so that it could not be stored again as it is: what to do, in a sentence about the file.
    pub(crate) fn of_file(bytes: &'a [u8]) -> Result<StoredText<'a>, String> {
        let encoding = TextEncoding::of_file(bytes);
        let plain = encoding.decode(bytes).map_err(|why| {
            format!(
                "{why}; nothing was changed. Mend it with a program through run_shell, or replace all of it \
                 with write_file"
            )
        })?;
        Ok(StoredText { plain, encoding })
    }

    /// Its text without a mark.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// Whether it looks like no text at all.
    pub(crate) fn is_binary(&self) -> bool {
        has_nul(&self.plain)
    }

    /// The bytes of a file in the same form with another text.
    ///
    /// # Errors
    /// The text cannot be stored so.
    pub(crate) fn store(&self, plain: Vec<u8>) -> Result<Vec<u8>, String> {
        self.encoding.encode(plain)
    }
}

/// The whole new content of a file that had `before`: its mark and encoding stay, and CRLF where all of its
/// lines end so and the new ones say nothing else.
pub(crate) fn rewrite_text(before: &[u8], content: String) -> Vec<u8> {
    if has_nul(before) {
        // It only begins as a text does.
        return content.into_bytes();
    }
    let encoding = TextEncoding::of_file(before);
    let is_crlf = text_form::ends_with_crlf(text_form::render_file_text(before).as_bytes());
    let content = if is_crlf && !content.contains('\r') { with_crlf(&content) } else { content };
    let plain = match encoding {
        TextEncoding::Utf8 => return content.into_bytes(),
        TextEncoding::MarkedUtf8 | TextEncoding::Utf16(_) => {
            content.strip_prefix('\u{feff}').unwrap_or(&content)
        }
    };
    encoding.encode(plain.as_bytes().to_vec()).expect("every encoding holds what is UTF-8")
}

/// What is to be said of a file that keeps its form, though whoever wrote `content` gave another one; empty
/// where it has exactly these bytes, or another text by now.
pub(crate) fn describe_kept_form(stored: &[u8], content: &str) -> String {
    if stored == content.as_bytes() || rewrite_text(stored, content.to_owned()) != stored {
        return String::new();
    }
    let form = text_form::describe_text_form(stored);
    format!(
        ". The file stays stored as it was ({form}); to have other bytes, delete it before you write it"
    )
}

/// Lines of a file.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    text_form::render_file_text(bytes).split_inclusive('\n').count()
}

/// Whether most lines of a text end with carriage return and line feed.
pub(crate) fn has_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf > 0 && crlf * 2 >= text.matches('\n').count()
}

/// The same text with such line ends.
pub(crate) fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use weir_engine::utf16::ByteOrder;

    use super::*;

    #[test]
    fn t1_a_text_is_stored_in_the_form_that_it_had() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let file = order.encode("ä\r\n");
            let stored = StoredText::of_file(&file).expect("it is whole");
            assert_eq!(stored.plain(), "ä\r\n".as_bytes());
            assert_eq!(stored.store("ö𝄞".into()), Ok(order.encode("ö𝄞")));
            assert!(
                stored.store(b"\xe4".to_vec()).is_err(),
                "nothing is written as something else"
            );
            assert_eq!(rewrite_text(&file, "a\nb\n".into()), order.encode("a\r\nb\r\n"));
            assert_eq!(rewrite_text(&file, "\u{feff}a".into()), order.encode("a"));
            // 0x0a is half of this letter, and no line ends with it.
            assert_eq!(count_lines(&order.encode("\u{10a}\u{a0a}\nb\n")), 2);
        }
        let marked = b"\xef\xbb\xbfa\n";
        let stored = StoredText::of_file(marked).expect("it is whole");
        assert_eq!((stored.plain(), count_lines(marked)), (&b"a\n"[..], 1));
        assert_eq!(stored.store(b"b".to_vec()).as_deref(), Ok(&b"\xef\xbb\xbfb"[..]));
        assert_eq!(StoredText::of_file(b"\xe4").expect("bytes").plain(), b"\xe4");
    }

    #[test]
    fn t1_a_new_text_has_the_mark_and_the_line_ends_of_the_old_one_unless_it_says_others() {
        for (before, content, after) in [
            (&b"a\r\nb\r\n"[..], "c\nd\n", &b"c\r\nd\r\n"[..]),
            (b"a\r\nb", "c", b"c"),
            (b"a\r\n", "b\r\nc\n", b"b\r\nc\n"),
            (b"a\r\nb\n", "c\n", b"c\n"),
            (b"a\n", "b\r\n", b"b\r\n"),
            (b"caf\xe9\r\n", "b\n", b"b\r\n"),
            (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
            (b"\xef\xbb\xbfa\r\n", "\u{feff}b\n", b"\xef\xbb\xbfb\r\n"),
            (b"\xef\xbb\xbfa\n", "", b"\xef\xbb\xbf"),
            (b"\xef\xbb\xbfa\0\r\n", "b\n", b"b\n"),
            (b"\xff\xfea\0\0\0", "b\n", b"b\n"),
            (b"\xff\xfea\0\n\0", "b\r\n", b"\xff\xfeb\0\r\0\n\0"),
            (b"", "\u{feff}b\n", b"\xef\xbb\xbfb\n"),
        ] {
            assert_eq!(rewrite_text(before, content.into()), after, "{before:?} {content:?}");
        }
    }

    #[test]
    fn t1_what_is_stored_otherwise_than_it_was_written_is_said() {
        for (stored, content) in [(b"a\r\n", "a\r\n"), (b"a\r\n", "b\n")] {
            assert_eq!(describe_kept_form(stored, content), "");
        }
        let said = describe_kept_form(b"\xef\xbb\xbfa\r\n", "a\n");
        assert!(said.contains("(UTF-8 with BOM, CRLF); to have other bytes, delete it"), "{said}");
    }
}
