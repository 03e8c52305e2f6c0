//! What kind of file some bytes begin, by their first bytes: media that models can see, and names
//! for what cannot be shown as text.

use crate::utf16::ByteOrder;

/// How a file can be given to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Shown as text.
    Text,
    /// Attached as an image of this media type.
    Image(&'static str),
    /// Attached as a PDF.
    Pdf,
    /// Neither: its name.
    Binary(&'static str),
}

/// Bytes that [`detect_file_kind`] looks at.
pub const SNIFF_BYTES: usize = 8_192;

const SIGNATURES: [(&[u8], FileKind); 18] = [
    (b"\x89PNG\r\n\x1a\n", FileKind::Image("image/png")),
    (b"\xff\xd8\xff", FileKind::Image("image/jpeg")),
    (b"GIF87a", FileKind::Image("image/gif")),
    (b"GIF89a", FileKind::Image("image/gif")),
    (b"%PDF-", FileKind::Pdf),
    (b"\x7fELF", FileKind::Binary("an ELF program or library")),
    (b"PK\x03\x04", FileKind::Binary("a ZIP archive or office document")),
    (b"PK\x05\x06", FileKind::Binary("an empty ZIP archive")),
    (b"\x1f\x8b", FileKind::Binary("gzip data")),
    (b"BZh", FileKind::Binary("bzip2 data")),
    (b"\xfd7zXZ\x00", FileKind::Binary("xz data")),
    (b"\x28\xb5\x2f\xfd", FileKind::Binary("zstd data")),
    (b"7z\xbc\xaf\x27\x1c", FileKind::Binary("a 7z archive")),
    (b"SQLite format 3\0", FileKind::Binary("a SQLite database")),
    (b"\0asm", FileKind::Binary("a WebAssembly module")),
    (b"\xca\xfe\xba\xbe", FileKind::Binary("a Java class or Mach-O file")),
    (b"OggS", FileKind::Binary("Ogg audio or video")),
    (b"ID3", FileKind::Binary("MP3 audio")),
];

/// What a file that begins with `start` is.
pub fn detect_file_kind(start: &[u8]) -> FileKind {
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return FileKind::Image("image/webp");
    }
    let known = SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature));
    let has_nul = has_nul(start);
    match known {
        // A text may begin with the letters of a signature: `BZh` and `ID3` need a byte that no
        // text has.
        Some((_, FileKind::Binary(name))) if has_nul || std::str::from_utf8(start).is_err() => {
            FileKind::Binary(name)
        }
        Some((_, kind @ (FileKind::Image(_) | FileKind::Pdf))) => *kind,
        Some(_) | None if has_nul => FileKind::Binary("binary data (it has NUL bytes)"),
        Some(_) | None => FileKind::Text,
    }
}

/// Whether a NUL stands in the beginning of a file, or in what a text in UTF-16 says there: it is no text then.
pub fn has_nul(file: &[u8]) -> bool {
    let start = &file[..file.len().min(SNIFF_BYTES)];
    match ByteOrder::of_mark(start) {
        Some(order) => order.decode_lossy(start).contains('\0'),
        None => start.contains(&0),
    }
}

/// The media type of an image, by its first bytes.
///
/// # Errors
/// What it is instead, in words: `it is text`.
pub fn image_media_type(bytes: &[u8]) -> Result<&'static str, String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    match detect_file_kind(&bytes[..bytes.len().min(SNIFF_BYTES)]) {
        FileKind::Image(media_type) => Ok(media_type),
        FileKind::Text => Err("it is text".into()),
        FileKind::Pdf => Err("it is a PDF".into()),
        FileKind::Binary(what) => Err(format!("it is {what}")),
    }
}

/// How the name of a file of this media type ends.
pub fn image_ending(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        // Bytes, and nothing that a program would run where it is opened.
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_content() {
        assert_eq!(detect_file_kind(b"fn main() {}"), FileKind::Text);
        assert_eq!(detect_file_kind(b""), FileKind::Text);
        assert_eq!(detect_file_kind(b"ID3 is a tag format"), FileKind::Text);
        assert_eq!(detect_file_kind(b"\x89PNG\r\n\x1a\n\0\0"), FileKind::Image("image/png"));
        assert_eq!(detect_file_kind(b"RIFF\0\0\0\0WEBPVP8 "), FileKind::Image("image/webp"));
        assert_eq!(detect_file_kind(b"%PDF-1.7"), FileKind::Pdf);
        assert_eq!(
            detect_file_kind(b"\x7fELF\x02\0"),
            FileKind::Binary("an ELF program or library")
        );
        assert_eq!(
            detect_file_kind(b"abc\0def"),
            FileKind::Binary("binary data (it has NUL bytes)")
        );
    }

    #[test]
    fn t1_marked_utf_16_is_text_and_what_only_begins_so_is_not() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(detect_file_kind(&order.encode("a\r\n")), FileKind::Text);
            let nul = FileKind::Binary("binary data (it has NUL bytes)");
            assert_eq!(detect_file_kind(&order.encode("a\0b")), nul);
        }
        let utf_32 = detect_file_kind(b"\xff\xfe\0\0a\0\0\0");
        assert_eq!(utf_32, FileKind::Binary("binary data (it has NUL bytes)"));
    }

    #[test]
    fn k13_a_picture_is_told_by_its_content_and_not_by_its_name() {
        assert_eq!(image_media_type(b"\xff\xd8\xff\xe0"), Ok("image/jpeg"));
        assert_eq!(image_media_type(b""), Err("it is empty".into()));
        assert_eq!(image_media_type(b"<svg onload=alert(1)>"), Err("it is text".into()));
        assert_eq!(image_media_type(b"%PDF-1.7"), Err("it is a PDF".into()));
        let endings = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/svg+xml"];
        let endings = endings.map(image_ending);
        assert_eq!(endings, ["png", "jpg", "webp", "gif", "bin"], "SVG may run a script");
    }
}
