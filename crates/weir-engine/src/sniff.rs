//! What kind of file some bytes begin, by their first bytes: media that models can see, and names
//! for what cannot be shown as text.

/// How a file can be given to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Shown as text.
    Text,
    /// Attached as an image of this media type.
    Image(&'static str),
    /// Attached as a PDF.
    Pdf,
    /// Neither: its name.
    Binary(&'static str),
}

/// Bytes that [`kind`] looks at.
pub const SNIFF_BYTES: usize = 8_192;

const SIGNATURES: [(&[u8], Kind); 20] = [
    (b"\x89PNG\r\n\x1a\n", Kind::Image("image/png")),
    (b"\xff\xd8\xff", Kind::Image("image/jpeg")),
    (b"GIF87a", Kind::Image("image/gif")),
    (b"GIF89a", Kind::Image("image/gif")),
    (b"%PDF-", Kind::Pdf),
    (b"\x7fELF", Kind::Binary("an ELF program or library")),
    (b"PK\x03\x04", Kind::Binary("a ZIP archive or office document")),
    (b"PK\x05\x06", Kind::Binary("an empty ZIP archive")),
    (b"\x1f\x8b", Kind::Binary("gzip data")),
    (b"BZh", Kind::Binary("bzip2 data")),
    (b"\xfd7zXZ\x00", Kind::Binary("xz data")),
    (b"\x28\xb5\x2f\xfd", Kind::Binary("zstd data")),
    (b"7z\xbc\xaf\x27\x1c", Kind::Binary("a 7z archive")),
    (b"SQLite format 3\0", Kind::Binary("a SQLite database")),
    (b"\0asm", Kind::Binary("a WebAssembly module")),
    (b"\xca\xfe\xba\xbe", Kind::Binary("a Java class or Mach-O file")),
    (b"OggS", Kind::Binary("Ogg audio or video")),
    (b"ID3", Kind::Binary("MP3 audio")),
    (b"\xff\xfe", Kind::Binary("UTF-16 text (convert it with iconv)")),
    (b"\xfe\xff", Kind::Binary("UTF-16 text (convert it with iconv)")),
];

/// What a file that begins with `start` is.
pub fn kind(start: &[u8]) -> Kind {
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return Kind::Image("image/webp");
    }
    let known = SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature));
    let has_nul = start.iter().take(SNIFF_BYTES).any(|byte| *byte == 0);
    match known {
        // A text may begin with the letters of a signature: `BZh` and `ID3` need a byte that no
        // text has.
        Some((_, Kind::Binary(name))) if has_nul || std::str::from_utf8(start).is_err() => {
            Kind::Binary(name)
        }
        Some((_, kind @ (Kind::Image(_) | Kind::Pdf))) => *kind,
        Some(_) | None if has_nul => Kind::Binary("binary data (it has NUL bytes)"),
        Some(_) | None => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_content() {
        assert_eq!(kind(b"fn main() {}"), Kind::Text);
        assert_eq!(kind(b""), Kind::Text);
        assert_eq!(kind(b"ID3 is a tag format"), Kind::Text);
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n\0\0"), Kind::Image("image/png"));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 "), Kind::Image("image/webp"));
        assert_eq!(kind(b"%PDF-1.7"), Kind::Pdf);
        assert_eq!(kind(b"\x7fELF\x02\0"), Kind::Binary("an ELF program or library"));
        assert_eq!(kind(b"abc\0def"), Kind::Binary("binary data (it has NUL bytes)"));
    }
}
