//! What a path of a workspace holds. Not here: how it is read and written.

use std::sync::Arc;

use weir_core::tool::Image;

/// What a path holds, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing there.
    Absent,
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Its bytes.
        bytes: Arc<[u8]>,
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// What it says.
        target: String,
    },
}

impl Content {
    /// The same without the bytes.
    pub fn image(&self) -> Image {
        match self {
            Content::Absent => Image::Absent,
            Content::Folder => Image::Folder,
            Content::File { bytes, mode } => Image::File {
                sha256: weir_core::record::sha256_hex(bytes),
                bytes: bytes.len() as u64,
                mode: *mode,
            },
            Content::Link { target } => Image::Link { target: target.clone() },
        }
    }
}
