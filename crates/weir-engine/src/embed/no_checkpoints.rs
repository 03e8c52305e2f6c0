//! No files as they were: whatever would need them is refused. Not here: stores of them
//! (`weir-store`).

use std::path::Path;

use async_trait::async_trait;
use weir_core::ids::{CheckpointId, SessionId, Timestamp};

use crate::ports::{
    Baseline, CheckpointFilter, CheckpointInfo, Checkpoints, Snapshot, SnapshotEntry, StoreError,
};

/// Keeps nothing, so that nothing is changed: a call that changes files, and a command that may, is
/// answered with the reason and does not run.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCheckpoints;

fn refusal() -> StoreError {
    StoreError::Io {
        doing: "keeping the files as they were".into(),
        why: "this program was built without checkpoints, so it changes no files".into(),
    }
}

#[async_trait]
impl Checkpoints for NoCheckpoints {
    async fn take_snapshot(&self, _: Snapshot) -> Result<CheckpointId, StoreError> {
        Err(refusal())
    }
    async fn record_snapshot(&self, _: &CheckpointId, _: Snapshot) -> Result<(), StoreError> {
        Err(refusal())
    }
    fn open_baseline(&self, _: &Path, _: &SessionId) -> Result<Box<dyn Baseline>, StoreError> {
        Err(refusal())
    }
    async fn list(
        &self,
        _: &Path,
        _: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError> {
        Ok(Vec::new())
    }
    async fn load(
        &self,
        _: &Path,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError> {
        Err(StoreError::Missing { what: format!("checkpoint {id}") })
    }
    async fn forget(&self, _: &Path, _: &SessionId) -> Result<(), StoreError> {
        Ok(())
    }
    async fn collect_old_snapshots(
        &self,
        _: &Path,
        _: Timestamp,
        _: u64,
    ) -> Result<usize, StoreError> {
        Ok(0)
    }
}
