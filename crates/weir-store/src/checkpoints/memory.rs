//! Checkpoints that are forgotten with the process: for tests.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use weir_core::ids::{CheckpointId, SessionId, Timestamp};
use weir_core::record::sha256_hex;
use weir_core::tool::PlannedChange;
use weir_engine::ports::{
    Baseline, CheckpointFilter, CheckpointInfo, Checkpoints, ContentLocation, FileContent,
    Snapshot, SnapshotEntry, StoreError,
};

use super::resolve_checkpoint_id;
use crate::filesystem::io_error;

/// What is kept of each workspace for each session.
type BaselineMap = HashMap<(PathBuf, SessionId), Arc<Mutex<BaselineContent>>>;

/// Checkpoints in memory, oldest first.
#[derive(Default)]
pub struct MemoryCheckpoints {
    taken: Mutex<CheckpointTable>,
    baselines: Mutex<BaselineMap>,
}

/// What a baseline has.
#[derive(Default)]
struct BaselineContent {
    notes: Vec<String>,
    contents: Vec<u8>,
}

/// What is kept outlives the handle, as it does on a disk.
struct MemoryBaseline(Arc<Mutex<BaselineContent>>);

impl MemoryBaseline {
    fn lock_content(&self) -> MutexGuard<'_, BaselineContent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Baseline for MemoryBaseline {
    fn read_notes(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.lock_content().notes.clone())
    }
    fn append_note(&mut self, line: &str) -> Result<(), StoreError> {
        self.lock_content().notes.push(line.to_string());
        Ok(())
    }
    fn add_content(&mut self, content: &mut dyn Read) -> Result<ContentLocation, StoreError> {
        let mut kept = self.lock_content();
        let at = kept.contents.len() as u64;
        let bytes = content.read_to_end(&mut kept.contents);
        let bytes = bytes.map_err(|e| io_error("keeping a file", &e))? as u64;
        Ok(ContentLocation { at, bytes })
    }
    fn read(&mut self, piece: ContentLocation) -> Result<Vec<u8>, StoreError> {
        let kept = self.lock_content();
        let end = piece.at.saturating_add(piece.bytes);
        let range = usize::try_from(piece.at).ok().zip(usize::try_from(end).ok());
        let found = range.and_then(|(at, end)| kept.contents.get(at..end));
        let missing = || StoreError::Missing { what: "the kept content of a file".to_string() };
        found.map(<[u8]>::to_vec).ok_or_else(missing)
    }
    fn bytes(&self) -> u64 {
        self.lock_content().contents.len() as u64
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn clear(&mut self) -> Result<(), StoreError> {
        *self.lock_content() = BaselineContent::default();
        Ok(())
    }
    fn remove(mut self: Box<Self>) -> Result<(), StoreError> {
        self.clear()
    }
}

#[derive(Default)]
struct CheckpointTable {
    count: u64,
    all: Vec<(PathBuf, CheckpointInfo, Vec<SnapshotEntry>)>,
}

impl MemoryCheckpoints {
    /// No checkpoints yet.
    pub fn new() -> MemoryCheckpoints {
        MemoryCheckpoints::default()
    }

    fn lock_table(&self) -> MutexGuard<'_, CheckpointTable> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Checkpoints for MemoryCheckpoints {
    async fn take_snapshot(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError> {
        let id = {
            let mut taken = self.lock_table();
            taken.count += 1;
            let name = sha256_hex(format!("{} {}", snapshot.session, taken.count).as_bytes());
            CheckpointId::new(&name[..40])
        };
        self.record_snapshot(&id, snapshot).await?;
        Ok(id)
    }

    fn open_baseline(
        &self,
        workspace: &Path,
        session: &SessionId,
    ) -> Result<Box<dyn Baseline>, StoreError> {
        let mut all = self.baselines.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry((workspace.to_path_buf(), session.clone())).or_default();
        Ok(Box::new(MemoryBaseline(Arc::clone(kept))))
    }

    async fn record_snapshot(
        &self,
        announced: &CheckpointId,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        let mut taken = self.lock_table();
        if taken.all.iter().any(|(_, info, _)| info.id == *announced) {
            return Ok(());
        }
        let changes = snapshot.entries.iter().map(|entry| PlannedChange {
            path: entry.path.clone(),
            before: entry.before.image(),
            after: entry.after.image(),
        });
        let info = CheckpointInfo {
            id: announced.clone(),
            session: snapshot.session,
            run: snapshot.run,
            call: snapshot.call,
            ts: snapshot.ts,
            label: snapshot.label,
            changes: changes.collect(),
        };
        taken.all.push((snapshot.workspace, info, snapshot.entries));
        Ok(())
    }

    async fn list(
        &self,
        workspace: &Path,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError> {
        let taken = self.lock_table();
        let wanted = |info: &CheckpointInfo| {
            filter.session.as_ref().is_none_or(|session| *session == info.session)
        };
        let mut found: Vec<CheckpointInfo> = taken
            .all
            .iter()
            .rev()
            .filter(|(place, info, _)| place == workspace && wanted(info))
            .map(|(_, info, _)| info.clone())
            .collect();
        found.sort_by_key(|info| std::cmp::Reverse(info.ts));
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    async fn load(
        &self,
        workspace: &Path,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError> {
        let taken = self.lock_table();
        let here = || taken.all.iter().filter(|(place, ..)| place == workspace);
        let id = resolve_checkpoint_id(id, here().map(|(_, info, _)| &info.id))?;
        let found = here().find(|(_, info, _)| info.id == id);
        let missing = || StoreError::Missing { what: format!("checkpoint {id}") };
        found.map(|(_, info, entries)| (info.clone(), entries.clone())).ok_or_else(missing)
    }

    async fn void_snapshot(
        &self,
        workspace: &Path,
        session: &SessionId,
        id: &CheckpointId,
    ) -> Result<(), StoreError> {
        let mut taken = self.lock_table();
        let of_session = |(place, info, _): &(PathBuf, CheckpointInfo, Vec<SnapshotEntry>)| {
            place == workspace && info.session == *session
        };
        let newest = taken.all.iter().rposition(of_session);
        if let Some(at) = newest.filter(|at| taken.all[*at].1.id == *id) {
            taken.all.remove(at);
        }
        Ok(())
    }

    async fn forget(&self, workspace: &Path, session: &SessionId) -> Result<(), StoreError> {
        let mut taken = self.lock_table();
        taken.all.retain(|(place, info, _)| place != workspace || info.session != *session);
        let mut baselines = self.baselines.lock().unwrap_or_else(PoisonError::into_inner);
        baselines.remove(&(workspace.to_path_buf(), session.clone()));
        Ok(())
    }

    async fn collect_old_snapshots(
        &self,
        workspace: &Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError> {
        let mut taken = self.lock_table();
        let count = taken.all.len();
        taken.all.retain(|(place, info, _)| place != workspace || info.ts >= before);
        let size = |entries: &[SnapshotEntry]| -> u64 {
            let of = |content: &FileContent| match content {
                FileContent::File { bytes, .. } => bytes.len() as u64,
                FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => 0,
            };
            entries.iter().map(|entry| of(&entry.before) + of(&entry.after)).sum()
        };
        let mut here: Vec<usize> =
            (0..taken.all.len()).filter(|at| taken.all[*at].0 == workspace).collect();
        here.sort_by_key(|at| taken.all[*at].1.ts);
        let mut bytes: u64 = here.iter().map(|at| size(&taken.all[*at].2)).sum();
        let mut gone = Vec::new();
        for at in here {
            if bytes <= max_bytes {
                break;
            }
            bytes -= size(&taken.all[at].2);
            gone.push(at);
        }
        gone.sort_unstable();
        for at in gone.into_iter().rev() {
            taken.all.remove(at);
        }
        Ok(count - taken.all.len())
    }
}
