//! What a path of a workspace holds. Not here: how it is read and written.

use std::sync::Arc;

use weir_core::tool::FileState;

/// What a path holds, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Nothing there.
    Absent,
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Bytes of the file.
        bytes: Arc<[u8]>,
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where the link leads, as it stands in the link.
        target: String,
    },
}

impl FileContent {
    /// The same without the bytes.
    pub fn image(&self) -> FileState {
        match self {
            FileContent::Absent => FileState::Absent,
            FileContent::Folder => FileState::Folder,
            FileContent::File { bytes, mode } => FileState::File {
                sha256: weir_core::record::sha256_hex(bytes),
                bytes: bytes.len() as u64,
                mode: *mode,
            },
            FileContent::Link { target } => FileState::Link { target: target.clone() },
        }
    }
}
