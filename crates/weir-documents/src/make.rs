//! Writes documents from descriptions: finds the files that go into them, and hands over to the
//! writer of the format. Not here: which workspace the files came from.

mod chart;
mod deck;
mod parts;
mod template;
pub(crate) mod text;
mod workbook;

use std::collections::BTreeMap;

use weir_core::document::{DocumentError, DocumentResult};
use weir_core::office::{OfficeDocument, OfficePart};

use crate::{broken_document, unfit_description};

/// Longest outline for a person, in bytes.
const OUTLINE_BYTES_MAX: usize = 20_000;

/// A document that is being made: its bytes, and what is said about it.
pub(crate) struct MadeDocument {
    pub(crate) bytes: Vec<u8>,
    pub(crate) outline: String,
    pub(crate) remarks: Vec<String>,
}

/// The files of a description by their names.
#[derive(Default)]
pub(crate) struct GivenFiles<'a> {
    files: BTreeMap<&'a str, &'a [u8]>,
}

impl<'a> GivenFiles<'a> {
    fn split_files(parts: &'a [OfficePart], mut bytes: &'a [u8]) -> Result<Self, DocumentError> {
        let mut files = BTreeMap::new();
        for part in parts {
            let length = usize::try_from(part.length).unwrap_or(usize::MAX);
            let Some((file, rest)) = bytes.split_at_checked(length) else {
                return Err(broken_document("a file that goes into it is cut short"));
            };
            files.insert(part.name.as_str(), file);
            bytes = rest;
        }
        Ok(GivenFiles { files })
    }

    pub(crate) fn require_file(&self, name: &str) -> Result<&'a [u8], DocumentError> {
        let missing = || unfit_description(format!("the file {name} was not handed over"));
        self.files.get(name).copied().ok_or_else(missing)
    }

    pub(crate) fn try_file(&self, name: &str) -> Option<&'a [u8]> {
        self.files.get(name).copied()
    }
}

/// Makes a document.
pub(crate) fn make_document(
    document: &OfficeDocument,
    parts: &[OfficePart],
    bytes: &[u8],
) -> Result<DocumentResult, DocumentError> {
    let files = GivenFiles::split_files(parts, bytes)?;
    let made = match document {
        OfficeDocument::Text(text) => text::make_text(text, &files)?,
        OfficeDocument::Slides(deck) => deck::make_deck(deck, &files)?,
        OfficeDocument::Workbook(workbook) => workbook::make_workbook(workbook)?,
    };
    let mut outline = made.outline;
    if outline.len() > OUTLINE_BYTES_MAX {
        outline.truncate(outline.floor_char_boundary(OUTLINE_BYTES_MAX));
        outline.push_str("\n…\n");
    }
    Ok(DocumentResult::Made { outline, remarks: made.remarks, bytes: made.bytes })
}
