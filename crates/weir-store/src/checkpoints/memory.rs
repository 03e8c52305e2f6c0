//! Checkpoints that are forgotten with the process: for tests.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use weir_core::ids::{CheckpointId, SessionId, Timestamp};
use weir_core::record::sha256_hex;
use weir_core::tool::Change;
use weir_engine::ports::{
    Baseline, CheckpointFilter, CheckpointInfo, Checkpoints, Content, Piece, Snapshot,
    SnapshotEntry, StoreError,
};

use super::pick;
use crate::filesystem::io_error;

/// What is kept of each workspace for each session.
type Baselines = HashMap<(PathBuf, SessionId), Arc<Mutex<Kept>>>;

/// Checkpoints in memory, oldest first.
#[derive(Default)]
pub struct MemoryCheckpoints {
    taken: Mutex<Taken>,
    baselines: Mutex<Baselines>,
}

/// What a baseline has.
#[derive(Default)]
struct Kept {
    notes: Vec<String>,
    contents: Vec<u8>,
}

/// What is kept outlives the handle, as it does on a disk.
struct MemoryBaseline(Arc<Mutex<Kept>>);

impl MemoryBaseline {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Baseline for MemoryBaseline {
    fn notes(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.kept().notes.clone())
    }
    fn note(&mut self, line: &str) -> Result<(), StoreError> {
        self.kept().notes.push(line.to_string());
        Ok(())
    }
    fn keep(&mut self, content: &mut dyn Read) -> Result<Piece, StoreError> {
        let mut kept = self.kept();
        let at = kept.contents.len() as u64;
        let bytes = content.read_to_end(&mut kept.contents);
        let bytes = bytes.map_err(|e| io_error("keeping a file", &e))? as u64;
        Ok(Piece { at, bytes })
    }
    fn read(&mut self, piece: Piece) -> Result<Vec<u8>, StoreError> {
        let kept = self.kept();
        let end = piece.at.saturating_add(piece.bytes);
        let range = usize::try_from(piece.at).ok().zip(usize::try_from(end).ok());
        let found = range.and_then(|(at, end)| kept.contents.get(at..end));
        let missing = || StoreError::Missing { what: "the kept content of a file".to_string() };
        found.map(<[u8]>::to_vec).ok_or_else(missing)
    }
    fn bytes(&self) -> u64 {
        self.kept().contents.len() as u64
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn clear(&mut self) -> Result<(), StoreError> {
        *self.kept() = Kept::default();
        Ok(())
    }
    fn remove(mut self: Box<Self>) -> Result<(), StoreError> {
        self.clear()
    }
}

#[derive(Default)]
struct Taken {
    count: u64,
    all: Vec<(PathBuf, CheckpointInfo, Vec<SnapshotEntry>)>,
}

impl MemoryCheckpoints {
    pub fn new() -> MemoryCheckpoints {
        MemoryCheckpoints::default()
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Checkpoints for MemoryCheckpoints {
    async fn take(&self, snapshot: Snapshot) -> Result<CheckpointId, StoreError> {
        let id = {
            let mut taken = self.taken();
            taken.count += 1;
            let name = sha256_hex(format!("{} {}", snapshot.session, taken.count).as_bytes());
            CheckpointId::new(&name[..40])
        };
        self.record(&id, snapshot).await?;
        Ok(id)
    }

    fn baseline(
        &self,
        workspace: &Path,
        session: &SessionId,
    ) -> Result<Box<dyn Baseline>, StoreError> {
        let mut all = self.baselines.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry((workspace.to_path_buf(), session.clone())).or_default();
        Ok(Box::new(MemoryBaseline(Arc::clone(kept))))
    }

    async fn record(&self, announced: &CheckpointId, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut taken = self.taken();
        if taken.all.iter().any(|(_, info, _)| info.id == *announced) {
            return Ok(());
        }
        let changes = snapshot.entries.iter().map(|entry| Change {
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
        let taken = self.taken();
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
        let taken = self.taken();
        let here = || taken.all.iter().filter(|(place, ..)| place == workspace);
        let id = pick(id, here().map(|(_, info, _)| &info.id))?;
        let found = here().find(|(_, info, _)| info.id == id);
        let missing = || StoreError::Missing { what: format!("checkpoint {id}") };
        found.map(|(_, info, entries)| (info.clone(), entries.clone())).ok_or_else(missing)
    }

    async fn forget(&self, workspace: &Path, session: &SessionId) -> Result<(), StoreError> {
        let mut taken = self.taken();
        taken.all.retain(|(place, info, _)| place != workspace || info.session != *session);
        let mut baselines = self.baselines.lock().unwrap_or_else(PoisonError::into_inner);
        baselines.remove(&(workspace.to_path_buf(), session.clone()));
        Ok(())
    }

    async fn collect(
        &self,
        workspace: &Path,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError> {
        let mut taken = self.taken();
        let count = taken.all.len();
        taken.all.retain(|(place, info, _)| place != workspace || info.ts >= before);
        let size = |entries: &[SnapshotEntry]| -> u64 {
            let of = |content: &Content| match content {
                Content::File { bytes, .. } => bytes.len() as u64,
                Content::Absent | Content::Folder | Content::Link { .. } => 0,
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
