//! What is asked about the bytes of an image, a PDF, another document or an archive, or of the files
//! that go into a document that is made, and what comes back (X5, K7, K8). Data only: the bytes are
//! untrusted, and who reads them stands behind a port of the engine.

use serde::{Deserialize, Serialize};

use crate::office::{OfficeDocument, OfficePart};

/// Something that is asked about the bytes of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum DocumentRequest {
    /// What image it is; a smaller copy where it is beyond these bounds.
    Image {
        /// Longest side that may stay, in pixels.
        side_max: u32,
        /// Most bytes that may stay.
        bytes_max: u64,
    },
    /// An image as letters, for where none can be drawn.
    Mosaic {
        /// Most letters of a line.
        columns: u16,
        /// Most lines.
        rows: u16,
    },
    /// Whether it is a PDF that can be opened, and how many pages it has.
    Pdf,
    /// The text of a PDF, page by page.
    Text {
        /// Where it is cut, in bytes of text.
        bytes_max: usize,
    },
    /// Pictures of pages of a PDF.
    Pictures {
        /// The numbers of the pages, from 1.
        pages: Vec<u32>,
        /// Longest side of a picture, in pixels.
        side_max: u32,
    },
    /// A document as Markdown, page by page.
    Markdown {
        /// Its file name: some formats are told by nothing else.
        name: String,
        /// The sheet that is read, by name or number from 1; without one all are.
        #[serde(default)]
        sheet: Option<String>,
        /// The cells that are read, as A1:D9.
        #[serde(default)]
        range: Option<String>,
        /// Where it is cut, in bytes of text.
        bytes_max: usize,
    },
    /// The files in a ZIP archive.
    Unpack {
        /// Most bytes of all files together.
        bytes_max: u64,
        /// Most files.
        files_max: usize,
    },
    /// A document that is made of a description.
    Make {
        /// The description.
        document: OfficeDocument,
        /// The files that go into it: their bytes are those of the request, one after the other.
        parts: Vec<OfficePart>,
    },
}

/// What reading the document gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum DocumentResult {
    /// An image.
    Image {
        /// IANA media type, from its content.
        media_type: String,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// A smaller copy, when it was beyond the bounds.
        smaller: Option<DocumentImage>,
    },
    /// An image as letters.
    Mosaic {
        /// IANA media type, from its content.
        media_type: String,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// Lines of Braille letters, each two dots wide and four high.
        lines: Vec<String>,
    },
    /// A PDF.
    Pdf {
        /// How many pages it has.
        pages: u32,
    },
    /// Text of a PDF.
    Text {
        /// Of each page that was read, in order.
        pages: Vec<String>,
        /// Pages whose text could not be read: damaged, or more than there is memory for.
        #[serde(default)]
        unread: Vec<u32>,
        /// Why not all pages were read, when they were not.
        cut: Option<String>,
    },
    /// Pictures of pages. What was asked for and is not here could not be drawn.
    Pictures {
        /// One per page.
        pictures: Vec<DocumentImage>,
        /// Pages with nothing on them, which are not among the pictures.
        blank: Vec<u32>,
    },
    /// A document as Markdown.
    Markdown {
        /// The format of the document, in words.
        format: String,
        /// Pages, slides, sheets, chapters, or pieces of a text without any.
        pages: Vec<DocumentPage>,
        /// What a reader should know beside the text: macros that were not run, references that
        /// were not followed, what is missing.
        remarks: Vec<String>,
        /// Why not all was read, when it was not.
        cut: Option<String>,
    },
    /// Files of an archive.
    Unpacked {
        /// In the order of the archive; folders are only parts of paths.
        files: Vec<UnpackedFile>,
    },
    /// A document that was made.
    Made {
        /// What stands in it, as text, for a person who decides about it.
        outline: String,
        /// What was done differently from what was asked, in sentences.
        remarks: Vec<String>,
        /// The file. Travels beside the JSON, not in it.
        #[serde(skip)]
        bytes: Vec<u8>,
    },
}

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct DocumentPage {
    /// As "Page 3" or "Sheet Budget, rows 1-200".
    pub name: String,
    /// Markdown.
    pub text: String,
}

/// A file that was in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpackedFile {
    /// Relative, with slashes, without a step up.
    pub path: String,
    /// The file. Travels beside the JSON, not in it.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// An image that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentImage {
    /// Of which page, from 1; 0: it is no page.
    pub page: u32,
    /// IANA media type.
    pub media_type: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The file. Travels beside the JSON, not in it.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// Why bytes could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "unread", rename_all = "snake_case")]
pub enum DocumentError {
    /// Nobody without its password can.
    #[error("it is encrypted with a password; save a copy without one and attach that")]
    Encrypted,
    /// It is not what it says, or damaged.
    #[error(
        "it is damaged or not what its name says ({why}); open it in a viewer and save it anew"
    )]
    Broken {
        /// What the reader said.
        why: String,
    },
    /// It needs more than is given for it.
    #[error("{why}; make it smaller and attach that")]
    TooLarge {
        /// The limit that was reached, with its value.
        why: String,
    },
    /// The description of a document that is to be made cannot be followed.
    #[error("{why}")]
    Unfit {
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// The reader itself could not be used.
    #[error("it could not be looked at: {why}")]
    Failed {
        /// The reason, as the end of the sentence that the error says.
        why: String,
    },
}

/// The letters that a character stands for which draws several of them as one: PDFs have the character, and
/// who searches or quotes writes the letters. Empty for any other character.
pub fn ligature_letters(c: char) -> &'static str {
    match c {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => "",
    }
}
