//! Taking, listing and loading checkpoints.
//!
//! A session is a chain of commits. Each checkpoint is one commit: what the call will leave, over
//! what was there before. Where that differs from what the checkpoint before left (someone else
//! changed the file meanwhile), a commit without a note shows it first, so that a checkpoint's own
//! diff is the agent's change and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use git2::{Buf, Indexer, ObjectType, Oid};
use rustix::io::Errno;
use weir_core::ids::CheckpointId;
use weir_core::tool::FileState;
use weir_engine::ports::{
    CheckpointFilter, CheckpointInfo, FileContent, Snapshot, SnapshotEntry, StoreError,
};

use super::names::{ref_name, tree_path};
use super::note::{CheckpointNote, commit_title};
use super::objects::{
    EXECUTABLE, FILE, LINK, ObjectDatabase, TreeChange, WrittenObject, git_error, plan_tree_change,
};
use super::repository::{PackMode, ShadowRepository, files_if_there, sync_all};
use super::resolve_checkpoint_id;
use crate::filesystem::{has_room, io_error, sync_folder};

/// Most entries that are written as single files; more go into one pack.
const LOOSE_ENTRIES: usize = 16;
/// The mempack stands before the disk: what is written goes there.
pub(super) const MEMPACK_PRIORITY: i32 = 1000;

/// Digits of a whole name.
const ID_CHARS: usize = 40;

/// A checkpoint is recorded again only where a process was killed right after it had been: then it
/// is among the newest.
const REPEATED_WITHIN: usize = 16;

const TAKING: &str = "taking a checkpoint";

/// A checkpoint in a list.
pub(super) struct ListedCheckpoint {
    pub(super) commit: Oid,
    pub(super) info: CheckpointInfo,
}

impl ShadowRepository {
    pub(super) fn take_checkpoint(
        &mut self,
        snapshot: &Snapshot,
    ) -> Result<CheckpointId, StoreError> {
        Ok(CheckpointId::new(self.commit_snapshot(snapshot, None)?.to_string()))
    }

    /// Takes a checkpoint whose name was announced, unless it is there.
    pub(super) fn record_checkpoint(
        &mut self,
        announced: &CheckpointId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let newest = match self.session_tip(snapshot.session.as_str())? {
            Some(tip) => self.session_chain(tip, REPEATED_WITHIN)?,
            None => Vec::new(),
        };
        if newest.iter().all(|listed| listed.info.id != *announced) {
            self.commit_snapshot(snapshot, Some(announced))?;
        }
        Ok(())
    }

    fn commit_snapshot(
        &mut self,
        snapshot: &Snapshot,
        announced: Option<&CheckpointId>,
    ) -> Result<Oid, StoreError> {
        let session = snapshot.session.as_str();
        let tip = self.session_tip(session)?;
        let (id, unlogged) = if snapshot.entries.len() <= LOOSE_ENTRIES && self.writes_loose()? {
            self.take_loose(snapshot, tip, announced)?
        } else {
            (self.take_packed(snapshot, tip, announced)?, Vec::new())
        };
        self.point_session(session, tip, Some(id), unlogged)?;
        Ok(id)
    }

    /// Writes the objects of a small checkpoint as single files. Those that are given back are not
    /// durable: the log has to have them.
    fn take_loose(
        &mut self,
        snapshot: &Snapshot,
        tip: Option<Oid>,
        announced: Option<&CheckpointId>,
    ) -> Result<(Oid, Vec<WrittenObject>), StoreError> {
        let mut objects = self.object_database()?.keep_written();
        let id = write_checkpoint(&mut objects, snapshot, tip, announced)?;
        let (written, kept) = objects.into_written();
        match kept {
            Some(kept) => Ok((id, self.unlogged_objects(kept))),
            None => {
                self.sync_objects(&written)?;
                Ok((id, Vec::new()))
            }
        }
    }

    /// Writes all objects of a large checkpoint as one pack: few files, few syncs.
    fn take_packed(
        &mut self,
        snapshot: &Snapshot,
        tip: Option<Oid>,
        announced: Option<&CheckpointId>,
    ) -> Result<Oid, StoreError> {
        let failed = |e: &git2::Error| git_error(TAKING, e);
        let (repository, _) = self.open_anew(PackMode::Fast)?;
        let odb = repository.odb().map_err(|e| failed(&e))?;
        let mempack = odb.add_new_mempack_backend(MEMPACK_PRIORITY).map_err(|e| failed(&e))?;
        let own = repository.odb().map_err(|e| failed(&e))?;
        let mut objects = ObjectDatabase::new(own, &self.path).in_memory();
        let id = write_checkpoint(&mut objects, snapshot, tip, announced)?;
        let mut pack = Buf::new();
        mempack.dump(&repository, &mut pack).map_err(|e| failed(&e))?;
        self.add_pack(&pack)?;
        Ok(id)
    }

    /// Puts a pack into the repository and returns the start of its files' names. It is made beside
    /// and gets its place when it is durable: who finds an object in a pack takes it for durable.
    pub(super) fn add_pack(&mut self, pack: &[u8]) -> Result<String, StoreError> {
        let unfinished = self.unfinished_folder();
        self.remove_unfinished().map_err(|e| io_error(TAKING, &e))?;
        if !has_room(&self.path, pack.len() as u64) {
            return Err(io_error(TAKING, &Errno::NOSPC.into()));
        }
        fs::create_dir(&unfinished).map_err(|e| io_error(TAKING, &e))?;
        let write = || -> Result<String, git2::Error> {
            // 0o444 as git has it: what is named by its content never changes.
            let mut indexer = Indexer::new(None, &unfinished, 0o444, false)?;
            indexer.write_all(pack).map_err(|e| git2::Error::from_str(&e.to_string()))?;
            indexer.commit()
        };
        let name = format!("pack-{}", write().map_err(|e| git_error(TAKING, &e))?);
        self.place_pack(&name).map_err(|e| io_error(TAKING, &e))?;
        self.close();
        Ok(name)
    }

    fn place_pack(&self, name: &str) -> io::Result<()> {
        let (unfinished, folder) = (self.unfinished_folder(), self.pack_folder());
        if !folder.is_dir() {
            // A backup has no empty folders.
            fs::create_dir_all(&folder)?;
            sync_folder(&self.path.join("objects"))?;
        }
        let files = ["pack", "idx"].map(|kind| format!("{name}.{kind}"));
        sync_all(&files.each_ref().map(|file| unfinished.join(file)))?;
        for file in &files {
            // Git passes over an index whose pack is not there.
            fs::rename(unfinished.join(file), folder.join(file))?;
        }
        sync_folder(&folder)?;
        self.remove_unfinished()
    }

    pub(super) fn pack_files(&self) -> Result<Vec<PathBuf>, StoreError> {
        files_if_there(&self.pack_folder()).map_err(|e| io_error("reading checkpoints", &e))
    }

    /// Checkpoints of the sessions that `filter` names, newest first.
    pub(super) fn list_checkpoints(
        &mut self,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointInfo>, StoreError> {
        Ok(self.list_with_commits(filter)?.into_iter().map(|listed| listed.info).collect())
    }

    /// The same with their commits.
    pub(super) fn list_with_commits(
        &mut self,
        filter: &CheckpointFilter,
    ) -> Result<Vec<ListedCheckpoint>, StoreError> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        let only = filter.session.as_ref().map(|session| ref_name(session.as_str()));
        let tips = self.session_tips()?;
        let mut found = Vec::new();
        for (name, tip) in tips {
            if only.as_ref().is_none_or(|only| *only == name) {
                found.extend(self.session_chain(tip, limit)?);
            }
        }
        // Stable: checkpoints of the same moment stay in the order of their chain.
        found.sort_by_key(|listed| std::cmp::Reverse(listed.info.ts));
        found.truncate(limit);
        Ok(found)
    }

    /// The checkpoints of one session, newest first.
    fn session_chain(
        &mut self,
        tip: Oid,
        limit: usize,
    ) -> Result<Vec<ListedCheckpoint>, StoreError> {
        let shallow = self.shallow_commits()?;
        let objects = self.object_database()?;
        let mut found = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next.filter(|id| !shallow.contains(id) && found.len() < limit) {
            let commit = objects.read_commit(id)?;
            next = commit.parent;
            if let Some(note) = CheckpointNote::parse(&commit.message) {
                let info = note.into_info(CheckpointId::new(id.to_string()));
                found.push(ListedCheckpoint { commit: id, info });
            }
        }
        Ok(found)
    }

    /// The commit of the checkpoint that `id` begins.
    fn resolve_commit(&mut self, id: &str) -> Result<Oid, StoreError> {
        // Most whole names are those of commits: then nothing is searched.
        if id.len() == ID_CHARS
            && let Ok(oid) = id.parse::<Oid>()
            && self.object_database()?.try_read_commit(oid)?.is_some()
        {
            return Ok(oid);
        }
        let all = self.list_with_commits(&CheckpointFilter::default())?;
        let whole = resolve_checkpoint_id(
            &id.to_ascii_lowercase(),
            all.iter().map(|listed| &listed.info.id),
        )?;
        let found = all.iter().find(|listed| listed.info.id == whole);
        found
            .map(|listed| listed.commit)
            .ok_or_else(|| StoreError::Missing { what: format!("checkpoint {id}") })
    }

    /// One checkpoint with all contents.
    pub(super) fn load_checkpoint(
        &mut self,
        id: &str,
    ) -> Result<(CheckpointInfo, Vec<SnapshotEntry>), StoreError> {
        let oid = self.resolve_commit(id)?;
        let missing = || StoreError::Missing { what: format!("checkpoint {id}") };
        if self.shallow_commits()?.contains(&oid) {
            return Err(missing());
        }
        let objects = self.object_database()?;
        let commit = objects.try_read_commit(oid)?.ok_or_else(missing)?;
        let note = CheckpointNote::parse(&commit.message).ok_or_else(missing)?;
        let info = note.into_info(CheckpointId::new(oid.to_string()));
        let before = match commit.parent {
            Some(parent) => Some(objects.read_commit(parent)?.tree),
            None => None,
        };
        let mut entries = Vec::with_capacity(info.changes.len());
        for change in &info.changes {
            let path = tree_path(&change.path);
            entries.push(SnapshotEntry {
                path: change.path.clone(),
                before: read_content(&objects, before, &path, &change.before)?,
                after: read_content(&objects, Some(commit.tree), &path, &change.after)?,
            });
        }
        Ok((info, entries))
    }
}

/// Writes all objects of a checkpoint and returns its commit.
fn write_checkpoint(
    objects: &mut ObjectDatabase<'_>,
    snapshot: &Snapshot,
    tip: Option<Oid>,
    announced: Option<&CheckpointId>,
) -> Result<Oid, StoreError> {
    let known = match tip {
        Some(tip) => Some(objects.read_commit(tip)?.tree),
        None => None,
    };
    let before =
        overlay_contents(objects, known, snapshot.entries.iter().map(|e| (&*e.path, &e.before)))?;
    let parent = match tip {
        Some(tip) if known == Some(before) => Some(tip),
        _ => {
            let message = format!("before: {}\n", commit_title(&snapshot.label));
            Some(objects.write_commit(before, tip, snapshot.ts, &message)?)
        }
    };
    let after = overlay_contents(
        objects,
        Some(before),
        snapshot.entries.iter().map(|e| (&*e.path, &e.after)),
    )?;
    let message = CheckpointNote::from_snapshot(snapshot, announced)
        .commit_message()
        .map_err(|e| StoreError::Io { doing: TAKING.to_string(), why: e.to_string() })?;
    objects.write_commit(after, parent, snapshot.ts, &message)
}

/// `tree` with these contents at these paths.
fn overlay_contents<'a>(
    objects: &mut ObjectDatabase<'_>,
    tree: Option<Oid>,
    contents: impl Iterator<Item = (&'a str, &'a FileContent)>,
) -> Result<Oid, StoreError> {
    let mut changes = BTreeMap::new();
    for (path, content) in contents {
        let node = match content {
            FileContent::Absent => TreeChange::Gone,
            FileContent::Folder => TreeChange::Folder,
            FileContent::File { bytes, mode } => {
                let kind = if mode & 0o100 == 0 { FILE } else { EXECUTABLE };
                TreeChange::Put(objects.write_blob(bytes)?, kind)
            }
            FileContent::Link { target } => {
                TreeChange::Put(objects.write_blob(target.as_bytes())?, LINK)
            }
        };
        plan_tree_change(&mut changes, &tree_path(path), node);
    }
    match objects.write_tree(tree, &changes)? {
        Some(tree) => Ok(tree),
        None => objects.write_empty_tree(),
    }
}

/// What stood at `path`: the image says what it was, the tree has its bytes.
fn read_content(
    objects: &ObjectDatabase<'_>,
    tree: Option<Oid>,
    path: &[String],
    image: &FileState,
) -> Result<FileContent, StoreError> {
    Ok(match image {
        FileState::Absent => FileContent::Absent,
        FileState::Folder => FileContent::Folder,
        FileState::Link { target } => FileContent::Link { target: target.clone() },
        FileState::File { mode, .. } => {
            let found = match tree {
                Some(tree) => objects.find_object(tree, path)?,
                None => None,
            };
            let id = found.ok_or_else(|| StoreError::Damaged {
                what: format!("checkpoint of {}", path.join("/")),
                why: "its content is not there".to_string(),
            })?;
            FileContent::File {
                bytes: objects.read_object(id, ObjectType::Blob)?.into(),
                mode: *mode,
            }
        }
    })
}
