//! What is asked about the bytes of an image or a PDF, and what comes back (X5). Data only: the
//! bytes are untrusted, and who reads them stands behind a port of the engine.

use serde::{Deserialize, Serialize};

/// Something that is asked about the bytes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum DocumentRequest {
    /// What image it is; a smaller copy where it is beyond these bounds.
    Image {
        /// Longest side that may stay, in pixels.
        side_max: u32,
        /// Most bytes that may stay.
        bytes_max: u64,
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
        /// Which pages, from 1.
        pages: Vec<u32>,
        /// Longest side of a picture, in pixels.
        side_max: u32,
    },
}

/// What was found.
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
    /// A PDF.
    Pdf {
        /// Its pages.
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
        /// Which limit, with its value.
        why: String,
    },
    /// The reader itself could not be used.
    #[error("it could not be looked at: {why}")]
    Failed {
        /// Why.
        why: String,
    },
}
