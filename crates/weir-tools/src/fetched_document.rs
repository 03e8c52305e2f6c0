//! What of the web is neither a page nor plain text: documents, feeds and pictures, read by the confined
//! readers of documents (K7, K10). Not here: fetching, and showing a part of a text.

use weir_core::document::{DocumentRequest, DocumentResult};
use weir_engine::ports::{FetchedPage, ToolContext};
use weir_engine::sniff::{self, FileKind};

use crate::text;

/// Most text of one document, in bytes.
const DOCUMENT_BYTES_MAX: usize = 4_000_000;

/// Text of what was fetched.
pub(crate) struct ReadableText {
    pub(crate) text: String,
    pub(crate) how: String,
}

/// What was fetched, where it is no page and no plain text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FetchedKind {
    Picture,
    Document {
        /// A file name: some formats are told by nothing else.
        name: String,
    },
}

/// Media types of documents, each with the ending of a file of that kind.
const TYPES: [(&str, &str); 15] = [
    ("application/pdf", "pdf"),
    ("application/msword", "doc"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ("application/vnd.oasis.opendocument.presentation", "odp"),
    ("application/epub+zip", "epub"),
    ("application/rtf", "rtf"),
    ("text/rtf", "rtf"),
    ("application/x-ipynb+json", "ipynb"),
    ("message/rfc822", "eml"),
    ("application/rss+xml", "rss"),
    ("application/atom+xml", "atom"),
];

/// What kind this is, by its content first and by what the server says where formats look alike.
/// `None`: a page or plain text.
pub(crate) fn fetched_kind(fetched: &FetchedPage) -> Option<FetchedKind> {
    let document = |ending: &str| Some(FetchedKind::Document { name: format!("fetched.{ending}") });
    match sniff::detect_file_kind(&fetched.body) {
        FileKind::Image(_) => return Some(FetchedKind::Picture),
        FileKind::Pdf => return document("pdf"),
        FileKind::Text | FileKind::Binary(_) => {}
    }
    if fetched.body.starts_with(b"PK\x03\x04") {
        return document("zip");
    }
    let said = fetched.media_type.as_str();
    if let Some((_, ending)) = TYPES.iter().find(|(kind, _)| *kind == said) {
        return document(ending);
    }
    let is_xml = said.is_empty() || said.ends_with("/xml") || said.ends_with("+xml");
    let start = String::from_utf8_lossy(&fetched.body[..fetched.body.len().min(1_024)]);
    let start = start.trim_start().to_lowercase();
    let is_feed = start.starts_with('<')
        && ["<rss", "<feed", "<rdf:rdf"].iter().any(|root| start.contains(root))
        && !start.contains("<html");
    if is_xml && is_feed { document("rss") } else { None }
}

/// The text of a document, its pages one after the other.
///
/// # Errors
/// Why it cannot be read, for the model.
pub(crate) async fn document_text(
    name: &str,
    body: &[u8],
    cx: &ToolContext,
) -> Result<ReadableText, String> {
    let wish = DocumentRequest::Markdown {
        name: name.to_owned(),
        sheet: None,
        range: None,
        bytes_max: DOCUMENT_BYTES_MAX,
    };
    let read = cx.documents.inspect_document(wish, body.into()).await;
    let read = read.map_err(|why| why.to_string())?;
    let DocumentResult::Markdown { format, pages, remarks, cut } = read else {
        return Err("it cannot be read as text".into());
    };
    let mut out = String::new();
    for remark in remarks.iter().chain(&cut) {
        out.push_str(&format!("Note: {remark}\n"));
    }
    let is_one = pages.len() == 1;
    for page in &pages {
        if !is_one {
            out.push_str(&format!("\n--- {} ---\n", page.name));
        }
        out.push_str(page.text.trim());
        out.push('\n');
    }
    let how = match is_one {
        true => format!("{format} as Markdown"),
        false => format!("{format} as Markdown, {}", text::count_noun(pages.len(), "page")),
    };
    Ok(ReadableText { text: out.trim().to_owned(), how })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(media_type: &str, body: &[u8]) -> Option<FetchedKind> {
        fetched_kind(&FetchedPage {
            url: "https://e.org/x".into(),
            status: 200,
            media_type: media_type.into(),
            charset: None,
            body: body.to_vec(),
            truncated: false,
        })
    }

    #[test]
    fn k10_documents_and_pictures_are_told_from_pages() {
        let document =
            |ending: &str| Some(FetchedKind::Document { name: format!("fetched.{ending}") });
        // The content counts, whatever the server says.
        assert_eq!(kind("text/plain", b"%PDF-1.7\n"), document("pdf"));
        assert_eq!(kind("application/octet-stream", b"PK\x03\x04rest"), document("zip"));
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(kind("image/png", png), Some(FetchedKind::Picture));
        assert_eq!(kind("message/rfc822", b"From: a"), document("eml"));
        assert_eq!(kind("application/atom+xml", b"<feed/>"), document("atom"));
        assert_eq!(
            kind("text/xml", b"<?xml version=\"1.0\"?><rss version=\"2.0\">"),
            document("rss")
        );
        for (media_type, body) in
            [("text/html", &b"<html><body>"[..]), ("application/json", b"{}"), ("", b"plain")]
        {
            assert_eq!(kind(media_type, body), None, "{media_type}");
        }
    }
}
