//! A file of a workspace as somebody looks at it: its text, a document as text, a canvas as a drawing, an
//! image; the notes that link to it, and where the links of a note lead. Every face shows this one view.
//! Not here: which files a person may open (the caller reads the bytes), how a face paints it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_core::document::{DocumentPage, DocumentRequest, DocumentResult};
use weir_engine::blocking::run_blocking;
use weir_engine::ports::DocumentReaders;
use weir_engine::sniff::{self, FileKind};
use weir_engine::text_form::TextEncoding;
use weir_engine::workspace::Workspace;
use weir_notes::properties::find_frontmatter;
pub use weir_notes::reading::{escape_words, read_address};
pub use weir_tools::backlinks::Backlink;
use weir_tools::backlinks::BacklinkList;
use weir_tools::canvas_preview::{CanvasPreview, preview_canvas};
use weir_tools::note_links::{self, list_links};
pub use weir_tools::note_links::{FileLink, FileLinkKind, FileLinkTarget};

mod links;

pub use links::rewrite_links;

/// Most of a file that is looked at, in bytes.
pub const VIEW_BYTES_MAX: u64 = 20 << 20;
/// How long a file waits for what links to it and where its own links lead. A vault that was never looked
/// over takes longer: it is looked over all the same, and whoever asks again is told.
const BACKLINKS_WAIT: Duration = Duration::from_secs(2);
/// Most text that is shown, in bytes; the rest is read in the file itself.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Most text of a document that is shown, in bytes.
const DOCUMENT_BYTES_MAX: usize = 200_000;
/// Endings of documents that are read in the confined child. Texts that a person reads as they stand
/// (HTML, CSV) are not among them.
const DOCUMENTS: [&str; 17] = [
    "pdf", "docx", "docm", "dotx", "pptx", "pptm", "potx", "xlsx", "xlsm", "xltx", "odt", "ods",
    "odp", "epub", "rtf", "ipynb", "eml",
];

/// A file as it is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct FileView {
    /// Its path below the workspace.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What is seen of it.
    pub preview: FilePreview,
    /// Notes that link to it.
    pub backlinks: Vec<Backlink>,
    /// How many more notes link to it.
    pub backlinks_left_out: usize,
    /// The vault is still being looked over: who links to it, and where its own links lead, is known in a
    /// moment.
    #[serde(default)]
    pub backlinks_pending: bool,
    /// The links that stand in it, where it is a note: the first 5,000, in their order.
    #[serde(default)]
    pub links: Vec<FileLink>,
}

/// What is seen of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FilePreview {
    /// A text.
    Text {
        /// The text, or its beginning.
        text: String,
        /// It is longer than is shown.
        cut: bool,
    },
    /// A document as Markdown.
    Document {
        /// The format in words.
        format: String,
        /// Its pages, slides or sheets. What a document says is data: it may hold anything.
        pages: Vec<DocumentPage>,
        /// What a reader should know: what was left out and why.
        remarks: Vec<String>,
    },
    /// A canvas.
    Canvas {
        /// What stands on it and what leads where, in Markdown.
        outline: String,
        /// An SVG element that fetches and runs nothing.
        svg: String,
    },
    /// An image.
    Image {
        /// IANA media type, from its content.
        media_type: String,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// It in Braille letters, for terminals; empty: nobody asked for that.
        mosaic: Vec<String>,
    },
    /// Nothing.
    Nothing {
        /// Why, as a sentence.
        why: String,
    },
}

/// A note as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteParts<'a> {
    /// The YAML of its properties; `None`: it has none.
    pub properties: Option<&'a str>,
    /// The Markdown below them.
    pub body: &'a str,
    /// Where that begins in the text, in bytes.
    pub start: usize,
}

/// The parts of a note; `None`: this is no Markdown, by its path.
pub fn split_note<'a>(path: &str, text: &'a str) -> Option<NoteParts<'a>> {
    path.to_ascii_lowercase().ends_with(".md").then(|| match find_frontmatter(text) {
        Some(place) => NoteParts {
            properties: Some(place.yaml.slice_of(text)).filter(|yaml| !yaml.trim().is_empty()),
            body: text.get(place.block.end..).unwrap_or_default(),
            start: place.block.end,
        },
        None => NoteParts { properties: None, body: text, start: 0 },
    })
}

/// Letters in which an image is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MosaicSize {
    /// Most letters of a line.
    pub columns: u16,
    /// Most lines.
    pub rows: u16,
}

/// Looks at the bytes of a file. With `mosaic` an image comes in letters too.
pub async fn view_file(
    workspace: &Arc<Workspace>,
    documents: &dyn DocumentReaders,
    path: &str,
    bytes: Arc<[u8]>,
    mosaic: Option<MosaicSize>,
) -> FileView {
    let size = bytes.len() as u64;
    let preview = preview_bytes(documents, path, bytes, mosaic).await;
    let found = find_links(workspace, path, &preview).await;
    FileView {
        path: path.to_owned(),
        bytes: size,
        preview,
        backlinks: found.backlinks.backlinks,
        backlinks_left_out: found.backlinks.left_out,
        backlinks_pending: found.pending,
        links: found.links,
    }
}

/// What is known of the links to a file and in it.
#[derive(Default)]
struct FoundLinks {
    backlinks: BacklinkList,
    links: Vec<FileLink>,
    pending: bool,
}

async fn find_links(workspace: &Arc<Workspace>, path: &str, preview: &FilePreview) -> FoundLinks {
    let written = written_links(workspace, path, preview).await;
    let (within, of, mut links) = (workspace.clone(), path.to_owned(), written.clone());
    let look = run_blocking(move || {
        // Where the vault cannot be read the file is shown all the same.
        let backlinks = note_links::find_links(&within, &of, &mut links).unwrap_or_default();
        FoundLinks { backlinks, links, pending: false }
    });
    match tokio::time::timeout(BACKLINKS_WAIT, look).await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => FoundLinks { links: written, ..FoundLinks::default() },
        Err(_) => FoundLinks { links: written, pending: true, ..FoundLinks::default() },
    }
}

/// The links of a note without where they lead: its text says that much, whatever the vault takes.
async fn written_links(
    workspace: &Arc<Workspace>,
    path: &str,
    preview: &FilePreview,
) -> Vec<FileLink> {
    let FilePreview::Text { text, .. } = preview else { return Vec::new() };
    if split_note(path, text).is_none() {
        return Vec::new();
    }
    let (workspace, text) = (workspace.clone(), text.clone());
    let listed = run_blocking(move || list_links(&workspace, &text)).await;
    listed.unwrap_or_default()
}

async fn preview_bytes(
    documents: &dyn DocumentReaders,
    path: &str,
    bytes: Arc<[u8]>,
    mosaic: Option<MosaicSize>,
) -> FilePreview {
    let kind = sniff::detect_file_kind(&bytes);
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let ending = ending.map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    if let FileKind::Image(_) = kind {
        return preview_image(documents, bytes, mosaic).await;
    }
    if kind == FileKind::Pdf || DOCUMENTS.contains(&ending.as_str()) {
        return preview_document(documents, path, bytes).await;
    }
    let decoded: Result<Cow<'_, [u8]>, String> = match TextEncoding::of_file(&bytes) {
        // Whoever only looks is shown what is broken, too.
        TextEncoding::Utf16(order) => Ok(Cow::Owned(order.decode_lossy(&bytes).into_bytes())),
        encoding @ (TextEncoding::Utf8 | TextEncoding::MarkedUtf8) => encoding.decode(&bytes),
    };
    let plain = decoded.as_deref().map(std::str::from_utf8);
    let text = match (kind, plain) {
        (FileKind::Text, Ok(Ok(text))) => text,
        (FileKind::Binary(what), _) => return nothing(format!("This is {what}.")),
        _ => return nothing("This file is not UTF-8 text."),
    };
    if ending == "canvas" {
        return match preview_canvas(text) {
            Ok(CanvasPreview { outline, svg }) => FilePreview::Canvas { outline, svg },
            Err(why) => nothing(format!("This canvas cannot be shown: {why}.")),
        };
    }
    let shown = &text[..text.floor_char_boundary(TEXT_BYTES_MAX.min(text.len()))];
    FilePreview::Text { text: shown.to_owned(), cut: shown.len() < text.len() }
}

fn nothing(why: impl Into<String>) -> FilePreview {
    FilePreview::Nothing { why: why.into() }
}

async fn preview_image(
    documents: &dyn DocumentReaders,
    bytes: Arc<[u8]>,
    mosaic: Option<MosaicSize>,
) -> FilePreview {
    let wish = match mosaic {
        Some(MosaicSize { columns, rows }) => DocumentRequest::Mosaic { columns, rows },
        // Only what its header says is looked at.
        None => DocumentRequest::Image { side_max: u32::MAX, bytes_max: u64::MAX },
    };
    match documents.inspect_document(wish, bytes).await {
        Ok(DocumentResult::Mosaic { media_type, width, height, lines }) => {
            FilePreview::Image { media_type, width, height, mosaic: lines }
        }
        Ok(DocumentResult::Image { media_type, width, height, .. }) => {
            FilePreview::Image { media_type, width, height, mosaic: Vec::new() }
        }
        Ok(_) => nothing("This image cannot be shown."),
        Err(why) => nothing(format!("This image cannot be shown: {why}.")),
    }
}

async fn preview_document(
    documents: &dyn DocumentReaders,
    path: &str,
    bytes: Arc<[u8]>,
) -> FilePreview {
    let wish = DocumentRequest::Markdown {
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        sheet: None,
        range: None,
        bytes_max: DOCUMENT_BYTES_MAX,
    };
    match documents.inspect_document(wish, bytes).await {
        Ok(DocumentResult::Markdown { format, pages, mut remarks, cut }) => {
            remarks.extend(cut);
            FilePreview::Document { format, pages, remarks }
        }
        Ok(_) => nothing("This document cannot be shown as text."),
        Err(why) => nothing(format!("This document cannot be shown: {why}.")),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use weir_core::document::DocumentError;
    use weir_engine::utf16::ByteOrder;

    use super::*;

    /// Reads without a child.
    struct OwnReaders;

    #[async_trait]
    impl DocumentReaders for OwnReaders {
        async fn inspect_document(
            &self,
            wish: DocumentRequest,
            bytes: Arc<[u8]>,
        ) -> Result<DocumentResult, DocumentError> {
            weir_documents::answer_question(&wish, &bytes)
        }
    }

    async fn preview(path: &str, bytes: &[u8]) -> FilePreview {
        let size = MosaicSize { columns: 10, rows: 10 };
        preview_bytes(&OwnReaders, path, bytes.into(), Some(size)).await
    }

    #[test]
    fn k3_the_properties_of_a_note_are_no_part_of_its_text() {
        let parts = |text| split_note("a/Note.MD", text).map(|note| (note.properties, note.body));
        assert_eq!(parts("---\ntags: [a]\n---\n# A\n"), Some((Some("tags: [a]\n"), "# A\n")));
        assert_eq!(parts("---\n---\nText"), Some((None, "Text")), "nothing is said");
        assert_eq!(parts("Text\n---\n"), Some((None, "Text\n---\n")));
        assert_eq!(split_note("a.txt", "---\na: 1\n---\n"), None);
    }

    #[tokio::test]
    async fn k7_every_kind_of_file_is_shown_or_says_why_not() {
        let text = preview("a/notes.md", "# Wörter\n".as_bytes()).await;
        assert_eq!(text, FilePreview::Text { text: "# Wörter\n".into(), cut: false });
        let wide = preview("a.txt", &ByteOrder::Little.encode("Wörter\r\n")).await;
        assert_eq!(wide, FilePreview::Text { text: "Wörter\r\n".into(), cut: false });
        let marked = preview("a.txt", b"\xef\xbb\xbfone\n").await;
        assert_eq!(marked, FilePreview::Text { text: "one\n".into(), cut: false });
        let rtf = preview("a.RTF", b"{\\rtf1 Hello {\\b there}.}").await;
        match rtf {
            FilePreview::Document { format, pages, .. } => {
                assert!(format.contains("RTF"), "{format}");
                assert!(pages[0].text.contains("Hello"), "{pages:?}");
            }
            other => panic!("{other:?}"),
        }
        let canvas = br#"{"nodes":[{"id":"a","type":"text","text":"Why","x":0,"y":0,"width":9,"height":9}]}"#;
        match preview("plan.canvas", canvas).await {
            FilePreview::Canvas { outline, svg } => {
                assert!(outline.contains("- Why") && svg.starts_with("<svg "), "{outline}{svg}");
            }
            other => panic!("{other:?}"),
        }
        for (path, bytes, why) in [
            ("x.canvas", &b"[1]"[..], "no object"),
            ("x.docx", b"PK\x03\x04rest", "cannot be shown"),
            ("x.pdf", b"%PDF-1.7 nothing", "cannot be shown"),
            ("x.png", b"\x89PNG\r\n\x1a\nrest", "cannot be shown"),
            ("x", b"\x7fELF\0", "This is an ELF program or library."),
            ("x.txt", b"caf\xe9", "not UTF-8"),
        ] {
            match preview(path, bytes).await {
                FilePreview::Nothing { why: said } => assert!(said.contains(why), "{path}: {said}"),
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}
