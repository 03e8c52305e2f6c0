//! Reads images, PDFs and other documents, and writes DOCX, PPTX and XLSX (X5, K7, K8).
//!
//! Nothing here bounds memory or time for good: parsers of such files panic, loop and allocate on
//! bad input. The program therefore calls `serve` in a child process with hard limits, and only
//! tests and files that we made ourselves go through [`answer_question`] directly. This crate does no I/O
//! but on the streams it is given, and knows nothing of sessions or models.

mod cells;
mod image;
mod make;
mod markdown;
mod mosaic;
mod package;
mod pdf;
mod read;
mod wire;
mod xml;

use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};

pub use wire::{read_answer, serve_question, write_question};

/// What `wish` asks of `bytes`. Total but for running out of memory, stack or patience.
///
/// # Errors
/// Why the bytes cannot be read, or the document not be made.
pub fn answer_question(
    wish: &DocumentRequest,
    bytes: &[u8],
) -> Result<DocumentResult, DocumentError> {
    let look = || match wish {
        DocumentRequest::Image { side_max, bytes_max } => {
            image::inspect_image(bytes, *side_max, *bytes_max)
        }
        DocumentRequest::Mosaic { columns, rows } => mosaic::draw_mosaic(bytes, *columns, *rows),
        DocumentRequest::Pdf => pdf::count_pages(bytes).map(|pages| DocumentResult::Pdf { pages }),
        DocumentRequest::Text { bytes_max } => pdf::extract_text(bytes, *bytes_max),
        DocumentRequest::Pictures { pages, side_max } => pdf::render_pages(bytes, pages, *side_max),
        DocumentRequest::Markdown { name, sheet, range, bytes_max } => {
            let part = read::ReadPart { sheet: sheet.as_deref(), range: range.as_deref() };
            read::read_document(bytes, name, part, *bytes_max)
        }
        DocumentRequest::Unpack { bytes_max, files_max } => {
            package::unpack_archive(bytes, *bytes_max, *files_max)
        }
        DocumentRequest::Make { document, parts } => make::make_document(document, parts, bytes),
    };
    // Readers of such files panic on odd ones: that is an answer like any other.
    catch_unwind(AssertUnwindSafe(look))
        .unwrap_or_else(|_| Err(broken_document("its reader gave up on what is in it")))
}

fn broken_document(why: impl std::fmt::Display) -> DocumentError {
    DocumentError::Broken { why: why.to_string() }
}

fn too_large(why: impl Into<String>) -> DocumentError {
    DocumentError::TooLarge { why: why.into() }
}

fn unfit_description(why: impl Into<String>) -> DocumentError {
    DocumentError::Unfit { why: why.into() }
}
