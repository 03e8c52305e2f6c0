//! Files as they were before a call, and as the call left them (G7): one bare git repository per
//! workspace in `checkpoints/` of the state folder, content-addressed, compressed, and readable
//! with plain `git log -p refs/weir/SESSION`.
//!
//! The user's own repository is never touched: nothing here knows where it is. Git is used as a
//! store of objects only; no index, no work tree, no hooks, no signatures.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use weir_core::ids::{CheckpointId, SessionId, Timestamp};
use weir_core::record::sha256_hex;
use weir_engine::ports::{
    Baseline, CheckpointFilter, CheckpointInfo, Checkpoints, Snapshot, SnapshotEntry, StoreError,
};

mod baseline;
mod collect;
mod log;
mod memory;
mod merge;
mod names;
mod note;
mod objects;
mod repository;
mod settle;
mod snapshot;

pub use memory::MemoryCheckpoints;

use baseline::DiskBaseline;
use repository::ShadowRepository;

/// Checkpoints of all workspaces under one state folder. Several processes may use them at once.
pub struct GitCheckpoints {
    folder: PathBuf,
    /// One lock per workspace: git's own objects may be shared, our sequence of them may not.
    open: Mutex<HashMap<PathBuf, Arc<Mutex<ShadowRepository>>>>,
}

impl GitCheckpoints {
    /// Checkpoints under `state_dir`. Nothing is made or opened before the first one is taken.
    pub fn open(state_dir: &Path) -> GitCheckpoints {
        GitCheckpoints { folder: state_dir.join("checkpoints"), open: Mutex::new(HashMap::new()) }
    }

    /// The shadow repository of `workspace`: for `git --git-dir`. It may not exist yet.
    pub fn repository_of(&self, workspace: &Path) -> PathBuf {
        let name = sha256_hex(workspace.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{}.git", &name[..32]))
    }

    /// Runs `work` on the repository of `workspace`, on a thread that may block. `None` where the
    /// repository does not exist and is not to be made.
    async fn with_repository<T: Send + 'static>(
        &self,
        workspace: &Path,
        make: RepositoryCreation,
        work: impl FnOnce(&mut ShadowRepository) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let path = self.repository_of(workspace);
        let shadow = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(open.entry(path.clone()).or_insert_with(|| {
                Arc::new(Mutex::new(ShadowRepository::new(path, workspace.to_path_buf())))
            }))
        };
        let job = move || {
            let mut shadow = shadow.lock().unwrap_or_else(PoisonError::into_inner);
            if !shadow.exists() && make == RepositoryCreation::No {
                return Ok(None);
            }
            shadow.with_file_lock(work).map(Some)
        };
        tokio::task::spawn_blocking(job).await.map_err(|e| StoreError::Io {
            doing: "working on checkpoints".to_string(),
            why: e.to_string(),
        })?
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RepositoryCreation {
    Yes,
    No,
}

#[async_trait]
impl Checkpoints for GitCheckpoints {
    async fn take_snapshot(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError> {
        let workspace = snapshot.workspace.clone();
        let taken = self
            .with_repository(&workspace, RepositoryCreation::Yes, move |shadow| {
                shadow.take_checkpoint(&snapshot)
            })
            .await?;
        taken.ok_or_else(|| StoreError::Io {
            doing: "taking a checkpoint".to_string(),
            why: "its repository could not be made".to_string(),
        })
    }

    async fn record_snapshot(
        &self,
        announced: &CheckpointId,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        let workspace = snapshot.workspace.clone();
        let announced = announced.clone();
        let work =
            move |shadow: &mut ShadowRepository| shadow.record_checkpoint(&announced, &snapshot);
        self.with_repository(&workspace, RepositoryCreation::Yes, work).await.map(drop)
    }

    fn open_baseline(
        &self,
        workspace: &Path,
        session: &SessionId,
    ) -> Result<Box<dyn Baseline>, StoreError> {
        let repository = self.repository_of(workspace);
        Ok(Box::new(DiskBaseline::open(&repository, session)?))
    }

    async fn list(
        &self,
        workspace: &Path,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError> {
        let filter = filter.clone();
        let found = self
            .with_repository(workspace, RepositoryCreation::No, move |shadow| {
                shadow.list_checkpoints(&filter)
            })
            .await?;
        Ok(found.unwrap_or_default())
    }

    async fn load(
        &self,
        workspace: &Path,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError> {
        let wanted = id.to_string();
        let found = self
            .with_repository(workspace, RepositoryCreation::No, move |shadow| {
                shadow.load_checkpoint(&wanted)
            })
            .await?;
        found.ok_or_else(|| StoreError::Missing { what: format!("checkpoint {id}") })
    }

    async fn void_snapshot(
        &self,
        workspace: &Path,
        session: &SessionId,
        id: &CheckpointId,
    ) -> Result<(), StoreError> {
        let (session, id) = (session.clone(), id.clone());
        let work = move |shadow: &mut ShadowRepository| shadow.void_checkpoint(&session, &id);
        self.with_repository(workspace, RepositoryCreation::No, work).await.map(drop)
    }

    async fn forget(&self, workspace: &Path, session: &SessionId) -> Result<(), StoreError> {
        baseline::remove_baseline(&self.repository_of(workspace), session)?;
        let session = session.clone();
        self.with_repository(workspace, RepositoryCreation::No, move |shadow| {
            shadow.forget_session(&session)
        })
        .await
        .map(drop)
    }

    async fn collect_old_snapshots(
        &self,
        workspace: &Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError> {
        baseline::sweep_baselines(&self.repository_of(workspace), Duration::ZERO);
        let work = move |shadow: &mut ShadowRepository| shadow.collect_old(before, max_bytes);
        Ok(self.with_repository(workspace, RepositoryCreation::No, work).await?.unwrap_or(0))
    }
}

/// Which checkpoint `id` means: the one it begins. `id` must name exactly one.
fn resolve_checkpoint_id<'a>(
    id: &str,
    all: impl Iterator<Item = &'a CheckpointId>,
) -> Result<CheckpointId, StoreError> {
    let found: Vec<&CheckpointId> = all.filter(|found| found.as_str().starts_with(id)).collect();
    match found.as_slice() {
        [one] if !id.is_empty() => Ok((*one).clone()),
        [] => Err(StoreError::Missing { what: format!("checkpoint {id}") }),
        several => Err(StoreError::Missing {
            what: format!("a single checkpoint {id}… ({} begin so)", several.len()),
        }),
    }
}
