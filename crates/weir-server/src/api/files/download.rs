//! A file on its way to a browser: as a download, or as an image. Nothing that a browser would run
//! or follow is ever shown from here.

use std::io::{Read as _, Seek as _, SeekFrom};

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use tokio_util::io::ReaderStream;
use weir_engine::sniff::{self, FileKind, SNIFF_BYTES};

use super::desk::OpenedFile;
use crate::problem::{HandlerResult, ProblemDetails};

/// The images that a browser shows and nothing else comes of: by their first bytes, whatever they
/// are called.
pub(crate) fn image_kind(head: &[u8]) -> Option<&'static str> {
    match sniff::detect_file_kind(head) {
        FileKind::Image(kind) => Some(kind),
        FileKind::Text | FileKind::Pdf | FileKind::Binary(_) => None,
    }
}

/// The answer with the bytes of a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn file_response(opened: OpenedFile, inline: bool) -> HandlerResult<Response> {
    let OpenedFile { mut file, path, bytes } = opened;
    let mut head = Vec::new();
    (&mut file)
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(ProblemDetails::internal_failure)?;
    file.seek(SeekFrom::Start(0)).map_err(ProblemDetails::internal_failure)?;
    let shown = image_kind(&head).filter(|_| inline);
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut response = Response::new(Body::from_stream(ReaderStream::new(
        // It may grow while it is read: what was announced is what is sent.
        tokio::io::AsyncReadExt::take(tokio::fs::File::from_std(file), bytes),
    )));
    let headers = response.headers_mut();
    let kind = shown.unwrap_or("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Whoever opens it by itself gets a document that may do nothing.
    let nothing = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, nothing);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_DISPOSITION, content_disposition(name, shown.is_some())?);
    Ok(response)
}

/// How a browser calls what it gets (RFC 6266): any name, in characters that cannot end the header.
pub(crate) fn content_disposition(name: &str, inline: bool) -> HandlerResult<HeaderValue> {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '(' | ')') => c,
        _ => '_',
    };
    let ascii: String = name.chars().map(plain).collect();
    let mut whole = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                whole.push(char::from(byte));
            }
            byte => whole.push_str(&format!("%{byte:02X}")),
        }
    }
    let how = if inline { "inline" } else { "attachment" };
    HeaderValue::from_str(&format!("{how}; filename=\"{ascii}\"; filename*=UTF-8''{whole}"))
        .map_err(ProblemDetails::internal_failure)
}

#[cfg(test)]
mod tests {
    use super::{content_disposition, image_kind};

    #[test]
    fn s10_names_cannot_end_the_header_that_carries_them() {
        let text = content_disposition("a\"; x=\r\nSet-Cookie: ü.txt", false).expect("a header");
        assert_eq!(
            text.to_str().expect("ASCII"),
            "attachment; filename=\"a__ x___Set-Cookie_ _.txt\"; \
             filename*=UTF-8''a%22%3B%20x%3D%0D%0ASet-Cookie%3A%20%C3%BC.txt"
        );
    }

    #[test]
    fn s12_only_images_are_shown_and_svg_is_none() {
        assert_eq!(image_kind(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        for other in [&b"<svg xmlns"[..], b"<!doctype html>", b"%PDF-1.7", b"", b"GIF8"] {
            assert_eq!(image_kind(other), None);
        }
    }
}
