//! A session as Markdown. What a model wrote stays as it is where it is meant to be read as text;
//! everything exact stands in fences that it cannot close.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_core::governance::filter::one_line;
use weir_core::ids::BlobId;

use super::transcript::{TranscriptItem, TranscriptPart};
use crate::wording::{code_fence, timestamp_text};

/// Bytes of the blobs that a session mentions; those that are gone are missing.
pub(super) type SessionBlobs = BTreeMap<BlobId, Arc<[u8]>>;

/// The whole page. Pictures, documents and full results are data of references at its end.
pub(super) fn render_markdown_page(
    title: &str,
    about: &str,
    entries: &[TranscriptItem],
    kept: &SessionBlobs,
) -> String {
    let mut page = format!("# {}\n\n", escape_markdown(&one_line(title)));
    push_code_fence(&mut page, "text", about);
    for entry in entries {
        let (seq, when) = (entry.seq, timestamp_text(entry.ts));
        let heading = escape_markdown(&one_line(&entry.heading));
        let _ = write!(page, "\n## {seq}. {heading}\n\n`{}` {when}\n\n", entry.kind);
        for part in &entry.parts {
            match part {
                TranscriptPart::Text(text) if text.trim().is_empty() => (),
                TranscriptPart::Text(text) => push_quotation(&mut page, text),
                TranscriptPart::Exact(what, text) => push_code_fence(&mut page, what, text),
                TranscriptPart::Media(media) => {
                    let name = media.name.as_deref().unwrap_or(&media.media_type);
                    let sign = if is_picture(&media.media_type) { "!" } else { "" };
                    let _ = writeln!(page, "{sign}[{}][{}]\n", escape_markdown(name), media.blob);
                }
                TranscriptPart::Full(blob) => {
                    let _ = writeln!(page, "[the full result][{blob}]\n");
                }
            }
        }
    }
    page.push('\n');
    for (id, bytes) in kept {
        let media = media_type(entries, id);
        let _ = writeln!(page, "[{id}]: data:{media};base64,{}", STANDARD.encode(bytes));
    }
    page
}

/// Pictures that every reader shows without running anything.
pub(super) fn is_picture(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

/// What a blob is; the full text of a result when nothing says so.
pub(super) fn media_type<'a>(entries: &'a [TranscriptItem], id: &BlobId) -> &'a str {
    let media = entries.iter().flat_map(|entry| &entry.parts).find_map(|part| match part {
        TranscriptPart::Media(media) if media.blob == *id => Some(media.media_type.as_str()),
        _ => None,
    });
    // A media type that could end the address early is none.
    let plain =
        |text: &&str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/.+-".contains(&b));
    media.filter(plain).unwrap_or("text/plain")
}

/// Text of others, as a quotation: its headings and fences stay inside.
fn push_quotation(page: &mut String, text: &str) {
    for line in text.lines() {
        let _ = writeln!(page, "> {line}");
    }
    page.push('\n');
}

fn push_code_fence(page: &mut String, what: &str, text: &str) {
    let _ = writeln!(page, "{}\n", code_fence(what, text));
}

fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_a_fence_in_a_text_does_not_end_the_fence_around_it() {
        let mut page = String::new();
        push_code_fence(&mut page, "text", "a\n```\nb\n````\nc");
        assert_eq!(page, "`````text\na\n```\nb\n````\nc\n`````\n\n");
    }
}
