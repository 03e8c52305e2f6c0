//! The form in which a text is stored: its encoding, with or without a mark, and what ends its lines. It is kept
//! when the text changes, and named where it changes. Not here: which tool keeps it, and UTF-16 itself (`utf16`).

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::utf16::ByteOrder;

/// What a text in UTF-8 may begin with, and what is no part of it.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// How the characters of a text are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// In UTF-8, or in an encoding that nothing names.
    Utf8,
    /// In UTF-8 behind a mark.
    MarkedUtf8,
    /// In UTF-16 behind a mark.
    Utf16(ByteOrder),
}

impl TextEncoding {
    /// What the beginning of a file says.
    pub fn of_file(file: &[u8]) -> TextEncoding {
        match ByteOrder::of_mark(file) {
            Some(order) => TextEncoding::Utf16(order),
            None if file.starts_with(UTF8_MARK) => TextEncoding::MarkedUtf8,
            None => TextEncoding::Utf8,
        }
    }

    /// The text of a file without its mark. What is UTF-8 may be broken, and stays what it is.
    ///
    /// # Errors
    /// As [`ByteOrder::decode`].
    pub fn decode(self, file: &[u8]) -> Result<Cow<'_, [u8]>, String> {
        match self {
            TextEncoding::Utf16(order) => order.decode(file).map(|text| text.into_bytes().into()),
            TextEncoding::Utf8 | TextEncoding::MarkedUtf8 => Ok(self.without_mark(file).into()),
        }
    }

    /// A file with this text, its mark first.
    ///
    /// # Errors
    /// The text is no UTF-8, and nothing else can hold it.
    pub fn encode(self, text: Vec<u8>) -> Result<Vec<u8>, String> {
        match self {
            TextEncoding::Utf8 => Ok(text),
            TextEncoding::MarkedUtf8 => Ok([UTF8_MARK, text.as_slice()].concat()),
            TextEncoding::Utf16(order) => {
                let text = std::str::from_utf8(&text);
                let text = text.map(|text| order.encode(text));
                text.map_err(|_| format!("the new text cannot be written as {self}"))
            }
        }
    }

    fn without_mark(self, file: &[u8]) -> &[u8] {
        match self {
            TextEncoding::MarkedUtf8 => file.strip_prefix(UTF8_MARK).unwrap_or(file),
            TextEncoding::Utf8 | TextEncoding::Utf16(_) => file,
        }
    }
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TextEncoding::Utf8 => "UTF-8",
            TextEncoding::MarkedUtf8 => "UTF-8 with BOM",
            TextEncoding::Utf16(order) => order.encoding_name(),
        })
    }
}

/// What ends the lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    Missing,
    Lf,
    Crlf,
    Both,
}

impl LineEnds {
    fn of_text(text: &[u8]) -> LineEnds {
        let all = text.iter().filter(|byte| **byte == b'\n').count();
        let crlf = text.windows(2).filter(|pair| *pair == b"\r\n").count();
        match (all, crlf) {
            (0, _) => LineEnds::Missing,
            (_, 0) => LineEnds::Lf,
            (all, crlf) if all == crlf => LineEnds::Crlf,
            _ => LineEnds::Both,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct TextForm {
    encoding: TextEncoding,
    ends: LineEnds,
}

impl TextForm {
    /// Of what is not there yet.
    const UNWRITTEN: TextForm = TextForm { encoding: TextEncoding::Utf8, ends: LineEnds::Missing };

    fn of_file(file: &[u8]) -> TextForm {
        let ends = LineEnds::of_text(render_file_text(file).as_bytes());
        TextForm { encoding: TextEncoding::of_file(file), ends }
    }

    /// Whether a file of this form has another one than it had: lines that come first, or go, are no change.
    fn is_changed_from(self, old: TextForm) -> bool {
        let usual_first = old.ends == LineEnds::Missing && self.ends == LineEnds::Lf;
        let other_ends = self.ends != LineEnds::Missing && self.ends != old.ends && !usual_first;
        other_ends || self.encoding != old.encoding
    }
}

impl fmt::Display for TextForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = match self.ends {
            LineEnds::Missing => "",
            LineEnds::Lf => ", LF",
            LineEnds::Crlf => ", CRLF",
            LineEnds::Both => ", LF and CRLF",
        };
        write!(f, "{}{ends}", self.encoding)
    }
}

/// Whether lines of a text end, and each with carriage return and line feed.
pub fn ends_with_crlf(text: &[u8]) -> bool {
    LineEnds::of_text(text) == LineEnds::Crlf
}

/// The form of a file in words: `UTF-8 with BOM, CRLF`.
pub fn describe_text_form(file: &[u8]) -> String {
    TextForm::of_file(file).to_string()
}

/// The line of a difference that says in which form the new file is stored, where the lines below it do not
/// show that; `None` on a side: no such file.
pub fn describe_form_change(old: Option<&[u8]>, new: Option<&[u8]>) -> Option<String> {
    let new = TextForm::of_file(new?);
    let is_told = match old.map(TextForm::of_file) {
        Some(old) if new.is_changed_from(old) => {
            return Some(format!("Stored as {new} (before: {old})"));
        }
        Some(_) => new.encoding != TextEncoding::Utf8 || new.ends == LineEnds::Both,
        None => new.is_changed_from(TextForm::UNWRITTEN),
    };
    is_told.then(|| format!("Stored as {new}"))
}

/// The text of a file for whoever looks at it, without its mark. Bytes that are no UTF-8 are written out, so
/// that others in their place look different, and so are carriage returns that end no line.
pub fn render_file_text(file: &[u8]) -> Cow<'_, str> {
    let encoding = TextEncoding::of_file(file);
    if let TextEncoding::Utf16(order) = encoding {
        return write_out_returns(Cow::Owned(order.decode_lossy(file)));
    }
    let text = encoding.without_mark(file);
    if let Ok(text) = std::str::from_utf8(text) {
        return write_out_returns(Cow::Borrowed(text));
    }
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(shown, "<0x{byte:02X}>");
        }
    }
    write_out_returns(Cow::Owned(shown))
}

/// A difference counts what stands behind such a carriage return as a line, and whoever reads its lines does
/// not: the head of the next file would pass for one that is missing.
fn write_out_returns(text: Cow<'_, str>) -> Cow<'_, str> {
    fn ends_no_line(text: &str, at: usize) -> bool {
        !text[at + 1..].starts_with('\n')
    }
    if !text.match_indices('\r').any(|(at, _)| ends_no_line(&text, at)) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\r' if ends_no_line(&text, at) => shown.push_str("<U+000D>"),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&[u8]; 5] = [
        b"a\r\n",
        b"\xef\xbb\xbfa\r\n",
        b"\xff\xfea\0\r\0\n\0",
        b"\xfe\xff\0a\0\r\0\n",
        b"caf\xe9",
    ];

    #[test]
    fn t1_what_is_decoded_is_encoded_as_it_was() {
        for file in FILES {
            let encoding = TextEncoding::of_file(file);
            let text = encoding.decode(file).expect("it is whole").into_owned();
            assert!(!text.starts_with(UTF8_MARK) && !text.contains(&0), "{file:?}");
            assert_eq!(encoding.encode(text).as_deref(), Ok(file));
        }
        let wide = TextEncoding::Utf16(ByteOrder::Little);
        assert!(wide.encode(b"\xe4".to_vec()).is_err(), "nothing is written as something else");
        assert!(wide.decode(b"\xff\xfea").is_err());
        let twice = b"\xef\xbb\xbf\xef\xbb\xbfa";
        let text = TextEncoding::of_file(twice).decode(twice).expect("it is whole");
        assert_eq!(&*text, b"\xef\xbb\xbfa", "only what stands first is a mark");
    }

    #[test]
    fn t1_a_form_is_named_in_words() {
        let named = FILES.map(describe_text_form);
        let expected =
            ["UTF-8, CRLF", "UTF-8 with BOM, CRLF", "UTF-16LE, CRLF", "UTF-16BE, CRLF", "UTF-8"];
        assert_eq!(named, expected);
        assert_eq!(describe_text_form(b"a\r\nb\n"), "UTF-8, LF and CRLF");
        for (text, is_crlf) in
            [(&b"a\r\nb"[..], true), (b"\r\n\n", false), (b"a\r", false), (b"", false)]
        {
            assert_eq!(ends_with_crlf(text), is_crlf, "{text:?}");
        }
    }

    #[test]
    fn g4_a_change_of_the_form_is_said_and_a_usual_one_is_not() {
        let said = describe_form_change;
        let [crlf, marked, little, ..] = FILES;
        let change = |text: &str| Some(text.to_owned());
        assert_eq!(
            said(Some(crlf), Some(b"a\n")),
            change("Stored as UTF-8, LF (before: UTF-8, CRLF)")
        );
        assert_eq!(
            said(Some(marked), Some(crlf)),
            change("Stored as UTF-8, CRLF (before: UTF-8 with BOM, CRLF)")
        );
        assert_eq!(
            said(Some(b"a"), Some(b"a\r\n")),
            change("Stored as UTF-8, CRLF (before: UTF-8)")
        );
        assert_eq!(said(Some(little), Some(little)), change("Stored as UTF-16LE, CRLF"));
        assert_eq!(
            said(Some(b"a\n"), Some(b"a\nb\r\n")),
            change("Stored as UTF-8, LF and CRLF (before: UTF-8, LF)")
        );
        assert_eq!(said(None, Some(marked)), change("Stored as UTF-8 with BOM, CRLF"));
        assert_eq!(said(None, Some(crlf)), change("Stored as UTF-8, CRLF"));
        let unsaid: [[Option<&[u8]>; 2]; 7] = [
            [None, Some(b"a\n")],
            [Some(b"a\n"), None],
            [Some(little), None],
            [Some(b"a\n"), Some(b"b\n")],
            [Some(b"a"), Some(b"a\n")],
            [Some(b"a\n"), Some(b"a")],
            [Some(crlf), Some(b"b\r\nc\r\n")],
        ];
        for [old, new] in unsaid {
            assert_eq!(said(old, new), None, "{old:?} {new:?}");
        }
    }

    #[test]
    fn z10_bytes_that_are_no_text_look_different_where_they_differ() {
        assert_eq!(render_file_text(b"caf\xe9 \xe2\x82"), "caf<0xE9> <0xE2><0x82>");
        assert_eq!(render_file_text(b"\xef\xbb\xbfa"), "a");
        assert_eq!(render_file_text(b"\xff\xfea\0"), "a");
        assert_eq!(render_file_text(b"a\rb\r\r\nc\r"), "a<U+000D>b<U+000D>\r\nc<U+000D>");
    }
}
