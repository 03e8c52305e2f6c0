//! Checkpoints: files as they were before a call (G7). Not here: how an undo is worked out.

use std::io::Read;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use weir_core::ids::{CallId, CheckpointId, SessionId, Timestamp};

use super::StoreError;
pub use crate::workspace::FileContent;

/// One path of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// Relative to the workspace.
    pub path: String,
    /// As it is before the call.
    pub before: FileContent,
    /// As the call will leave it.
    pub after: FileContent,
}

/// A snapshot to be taken before a call runs (G7).
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Root of the workspace.
    pub workspace: PathBuf,
    /// Id of the session.
    pub session: SessionId,
    /// The run of the session.
    pub run: String,
    /// The call that it was made for; `None` for a restore.
    pub call: Option<CallId>,
    /// When it was taken, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// What the call does, in a line.
    pub label: String,
    /// The paths it touches; only these are stored.
    pub entries: Vec<SnapshotEntry>,
}

/// A snapshot in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointInfo {
    /// Its name: also `git show NAME` in the shadow repository, unless it was announced before what
    /// it holds was known; then `git log --grep NAME` finds it.
    pub id: CheckpointId,
    /// Id of the session.
    pub session: SessionId,
    /// Id of the run, as text.
    pub run: String,
    /// The call that it was made for; `None` for a restore.
    pub call: Option<CallId>,
    /// When it was taken, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// What the call does.
    pub label: String,
    /// The paths that it touches, each as it was before and after.
    pub changes: Vec<weir_core::tool::PlannedChange>,
}

/// A filter of checkpoints.
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
    async fn take_snapshot(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError>;
    /// The same under a name that was announced before: what a command turned out to have changed.
    /// A name that is there already is left as it is.
    async fn record_snapshot(
        &self,
        announced: &CheckpointId,
        snapshot: Snapshot,
    ) -> Result<(), StoreError>;
    /// The place where files of a session's workspace are kept while its commands run; what is
    /// there of a process that was killed is found again. Blocks.
    ///
    /// # Errors
    /// It cannot be made, or another process has it.
    fn open_baseline(
        &self,
        workspace: &Path,
        session: &SessionId,
    ) -> Result<Box<dyn Baseline>, StoreError>;
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
    /// Takes the newest snapshot of a session away again, because what it was taken for did not come
    /// about. One that is not the newest stays, and so it does where a store cannot do this.
    async fn void_snapshot(
        &self,
        workspace: &Path,
        session: &SessionId,
        id: &CheckpointId,
    ) -> Result<(), StoreError> {
        let _ = (workspace, session, id);
        Ok(())
    }
    /// Removes the snapshots of a session, and what is kept for its commands.
    async fn forget(&self, workspace: &Path, session: &SessionId) -> Result<(), StoreError>;
    /// Removes snapshots older than `before`, and the oldest while the repository is larger than
    /// `max_bytes`; and what killed processes kept for their commands. Returns how many snapshots
    /// went.
    async fn collect_old_snapshots(
        &self,
        workspace: &Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError>;
}

/// Where the content of one file is kept in a [`Baseline`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentLocation {
    /// First byte.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Files as they were before a command, for as long as it is not known which of them it changes:
/// contents and lines of notes, both only ever added to. What a command did change becomes a
/// snapshot, and the rest goes with the session. All methods block.
pub trait Baseline: Send {
    /// The notes that are there, oldest first. A line that was not written to its end is none.
    fn read_notes(&mut self) -> Result<Vec<String>, StoreError>;
    /// Adds a line, without line feeds.
    fn append_note(&mut self, line: &str) -> Result<(), StoreError>;
    /// Adds the content of a file.
    fn add_content(&mut self, content: &mut dyn Read) -> Result<ContentLocation, StoreError>;
    /// What was added.
    fn read(&mut self, piece: ContentLocation) -> Result<Vec<u8>, StoreError>;
    /// Bytes of all contents.
    fn bytes(&self) -> u64;
    /// Makes what was added durable.
    fn sync(&mut self) -> Result<(), StoreError>;
    /// Empties it.
    fn clear(&mut self) -> Result<(), StoreError>;
    /// Removes it.
    fn remove(self: Box<Self>) -> Result<(), StoreError>;
}
