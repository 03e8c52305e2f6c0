//! Checkpoints: files as they were before a call (G7). Not here: how an undo is worked out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};
use weir_core::tool::Image;

use super::StoreError;

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

/// One path of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// Relative to the workspace.
    pub path: String,
    /// As it is before the call.
    pub before: Content,
    /// As the call will leave it.
    pub after: Content,
}

/// A snapshot to be taken before a call runs (G7).
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Root of the workspace.
    pub workspace: PathBuf,
    /// Whose call.
    pub session: SessionId,
    /// Which run of the session.
    pub run: String,
    /// Which call; `None` for a restore.
    pub call: Option<CallId>,
    /// When.
    pub ts: Timestamp,
    /// What the call does, in a line.
    pub label: String,
    /// The paths it touches; only these are stored.
    pub entries: Vec<SnapshotEntry>,
}

/// A snapshot in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointInfo {
    /// Its name: also `git show NAME` in the shadow repository.
    pub id: CheckpointId,
    /// Whose call.
    pub session: SessionId,
    /// Which run.
    pub run: String,
    /// Which call; `None` for a restore.
    pub call: Option<CallId>,
    /// When.
    pub ts: Timestamp,
    /// What the call does.
    pub label: String,
    /// What it touches, with images before and after.
    pub changes: Vec<weir_core::tool::Change>,
}

/// Which snapshots to list.
#[derive(Debug, Clone, Default)]
pub struct CheckpointFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// At most so many, newest first.
    pub limit: Option<usize>,
}

/// Files as they were: a bare git repository per workspace in the state directory (G7).
#[async_trait]
pub trait Checkpoints: Send + Sync {
    /// Stores what is there before, and what the call will leave. Durable when it returns.
    async fn take(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError>;
    /// Snapshots of a workspace, newest first.
    async fn list(
        &self,
        workspace: &Path,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError>;
    /// All of one snapshot, contents included. `id` may be an unambiguous prefix.
    async fn load(
        &self,
        workspace: &Path,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError>;
    /// Removes the snapshots of a session.
    async fn forget(&self, workspace: &Path, session: &SessionId) -> Result<(), StoreError>;
    /// Removes snapshots older than `before`, and the oldest while the repository is larger than
    /// `max_bytes`. Returns how many went.
    async fn collect(
        &self,
        workspace: &Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError>;
}
