//! Git's objects, written and read as bytes: blobs, trees, commits.
//!
//! Only the object database of libgit2 is used, so neither the user's git configuration nor filters
//! nor hooks can change what is stored.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use git2::{ObjectType, Odb, OdbLookupFlags, Oid};
use rustix::io::Errno;
use weir_core::ids::Timestamp;
use weir_engine::ports::StoreError;

use super::log::{RECORD_BYTES_MAX, RECORD_OBJECTS_MAX};
use crate::filesystem::{has_room, io_error};

const WRITING: &str = "writing a checkpoint";
/// Bytes that are written at a time where the disk is nearly full.
const PIECE_BYTES: usize = 256 << 10;

/// Mode of a tree entry.
const TREE: u32 = 0o040_000;
pub(super) const FILE: u32 = 0o100_644;
pub(super) const EXECUTABLE: u32 = 0o100_755;
pub(super) const LINK: u32 = 0o120_000;

/// An object database, with what was written through it.
pub(super) struct ObjectDatabase<'a> {
    odb: Odb<'a>,
    /// The folder of the repository.
    repository: PathBuf,
    /// What is written waits in memory for a pack.
    in_memory: bool,
    /// Everything that the checkpoint needs on disk.
    written: Vec<Oid>,
    /// The same with its bytes, while they are few enough for the log. `None`: they are not, or
    /// nobody wants them.
    kept: Option<Vec<WrittenObject>>,
    kept_bytes: usize,
}

/// An object as it was written.
pub(super) struct WrittenObject {
    pub(super) id: Oid,
    pub(super) kind: ObjectType,
    pub(super) bytes: Vec<u8>,
}

/// A wanted change of a tree, by name.
#[derive(Debug)]
pub(super) enum TreeChange {
    /// Put this blob or link there.
    Put(Oid, u32),
    Gone,
    /// A folder is there: what is known below it stays, a file in its place goes.
    Folder,
    /// Changes below.
    Below(BTreeMap<String, TreeChange>),
}

/// A commit as far as it matters here.
#[derive(Debug, Clone)]
pub(super) struct CommitObject {
    pub(super) id: Oid,
    pub(super) tree: Oid,
    pub(super) parent: Option<Oid>,
    pub(super) message: String,
}

pub(super) fn git_error(doing: &str, error: &git2::Error) -> StoreError {
    StoreError::Io { doing: doing.to_string(), why: error.message().to_string() }
}

/// Whether an object has the content that its name says.
pub(super) fn is_whole(odb: &Odb<'_>, id: Oid, kind: ObjectType) -> bool {
    odb.read(id).is_ok_and(|found| found.kind() == kind)
}

/// Where an object lies that lies by itself.
pub(super) fn loose_file(repository: &Path, id: Oid) -> PathBuf {
    let hex = id.to_string();
    repository.join("objects").join(&hex[..2]).join(&hex[2..])
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn damaged_object(what: impl std::fmt::Display, why: &str) -> StoreError {
    StoreError::Damaged { what: format!("checkpoint object {what}"), why: why.to_string() }
}

/// Adds one path's change to the changes of a tree. A path below a file that is put replaces the
/// file; a file put where changes below stand replaces those.
pub(super) fn plan_tree_change(
    changes: &mut BTreeMap<String, TreeChange>,
    path: &[String],
    node: TreeChange,
) {
    let Some((name, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        let below = changes.get(name).is_some_and(|known| matches!(known, TreeChange::Below(_)));
        if !(below && matches!(node, TreeChange::Gone | TreeChange::Folder)) {
            changes.insert(name.clone(), node);
        }
        return;
    }
    let known = changes.entry(name.clone()).or_insert_with(|| TreeChange::Below(BTreeMap::new()));
    match known {
        TreeChange::Below(below) => plan_tree_change(below, rest, node),
        TreeChange::Put(..) if matches!(node, TreeChange::Gone) => {}
        // Where nothing is, nothing is below.
        TreeChange::Gone if matches!(node, TreeChange::Gone) => {}
        TreeChange::Put(..) | TreeChange::Gone | TreeChange::Folder => {
            let mut below = BTreeMap::new();
            plan_tree_change(&mut below, rest, node);
            *known = TreeChange::Below(below);
        }
    }
}

impl<'a> ObjectDatabase<'a> {
    /// The objects `odb` of the repository in a folder.
    pub(super) fn new(odb: Odb<'a>, repository: &Path) -> ObjectDatabase<'a> {
        let repository = repository.to_path_buf();
        let (in_memory, written, kept, kept_bytes) = (false, Vec::new(), None, 0);
        ObjectDatabase { odb, repository, in_memory, written, kept, kept_bytes }
    }

    /// The same, where what is written waits in memory.
    pub(super) fn in_memory(self) -> ObjectDatabase<'a> {
        ObjectDatabase { in_memory: true, ..self }
    }

    /// The same, which keeps the bytes of what is written through it.
    pub(super) fn keep_written(self) -> ObjectDatabase<'a> {
        ObjectDatabase { kept: Some(Vec::new()), ..self }
    }

    /// What was written, and its bytes if they were kept and are few enough for the log.
    pub(super) fn into_written(self) -> (Vec<Oid>, Option<Vec<WrittenObject>>) {
        (self.written, self.kept)
    }

    fn write_object(&mut self, kind: ObjectType, bytes: &[u8]) -> Result<Oid, StoreError> {
        let failed = |e: &git2::Error| git_error(WRITING, e);
        let id = Oid::hash_object(kind, bytes).map_err(|e| failed(&e))?;
        let is_there = self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH);
        if is_there && !is_whole(&self.odb, id, kind) {
            self.remove_broken(id, kind)?;
        }
        if is_there || self.in_memory || has_room(&self.repository, bytes.len() as u64) {
            self.odb.write(kind, bytes).map_err(|e| failed(&e))?;
        } else {
            self.write_while_room(kind, bytes)?;
        }
        self.written.push(id);
        self.keep_object(id, kind, bytes);
        Ok(id)
    }

    /// Writes it piece by piece as long as the journal has room: how small it becomes is seen only then.
    fn write_while_room(&self, kind: ObjectType, bytes: &[u8]) -> Result<(), StoreError> {
        let mut writer = self.odb.writer(bytes.len(), kind).map_err(|e| git_error(WRITING, &e))?;
        for piece in bytes.chunks(PIECE_BYTES) {
            if !has_room(&self.repository, piece.len() as u64) {
                return Err(io_error(WRITING, &Errno::NOSPC.into()));
            }
            writer.write_all(piece).map_err(|e| io_error(WRITING, &e))?;
        }
        writer.finalize().map(drop).map_err(|e| git_error(WRITING, &e))
    }

    /// Removes an object that a power cut left of a checkpoint of which nobody was told. As long as
    /// something is there, it would count as written.
    fn remove_broken(&self, id: Oid, kind: ObjectType) -> Result<(), StoreError> {
        remove_if_there(&loose_file(&self.repository, id)).map_err(|e| io_error(WRITING, &e))?;
        if self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH) && !is_whole(&self.odb, id, kind) {
            let why = format!(
                "a pack has it, without its content: move {} away, and checkpoints begin anew",
                self.repository.display()
            );
            return Err(damaged_object(id, &why));
        }
        Ok(())
    }

    fn keep_object(&mut self, id: Oid, kind: ObjectType, bytes: &[u8]) {
        let Some(kept) = &mut self.kept else { return };
        self.kept_bytes = self.kept_bytes.saturating_add(bytes.len());
        if self.kept_bytes > RECORD_BYTES_MAX || kept.len() >= RECORD_OBJECTS_MAX {
            self.kept = None;
        } else {
            kept.push(WrittenObject { id, kind, bytes: bytes.to_vec() });
        }
    }

    pub(super) fn read_object(&self, id: Oid, kind: ObjectType) -> Result<Vec<u8>, StoreError> {
        let object = self.odb.read(id).map_err(|e| damaged_object(id, e.message()))?;
        if object.kind() != kind {
            return Err(damaged_object(id, "it is of another kind"));
        }
        Ok(object.data().to_vec())
    }

    pub(super) fn write_blob(&mut self, bytes: &[u8]) -> Result<Oid, StoreError> {
        self.write_object(ObjectType::Blob, bytes)
    }

    /// Writes `tree` with `changes`. `None`: nothing is left in it.
    pub(super) fn write_tree(
        &mut self,
        tree: Option<Oid>,
        changes: &BTreeMap<String, TreeChange>,
    ) -> Result<Option<Oid>, StoreError> {
        let mut entries = match tree {
            Some(tree) => self.read_tree(tree)?,
            None => BTreeMap::new(),
        };
        for (name, node) in changes {
            let known = entries.get(name).copied();
            let known_tree = known.filter(|(mode, _)| *mode == TREE).map(|(_, id)| id);
            let now = match node {
                TreeChange::Put(id, mode) => Some((*mode, *id)),
                TreeChange::Gone => None,
                TreeChange::Folder => known_tree.map(|id| (TREE, id)),
                TreeChange::Below(below) => {
                    self.write_tree(known_tree, below)?.map(|id| (TREE, id))
                }
            };
            match now {
                Some(entry) => entries.insert(name.clone(), entry),
                None => entries.remove(name),
            };
        }
        if entries.is_empty() {
            return Ok(None);
        }
        self.write_object(ObjectType::Tree, &tree_bytes(&entries)).map(Some)
    }

    /// The tree of nothing.
    pub(super) fn write_empty_tree(&mut self) -> Result<Oid, StoreError> {
        self.write_object(ObjectType::Tree, b"")
    }

    pub(super) fn read_tree(&self, id: Oid) -> Result<BTreeMap<String, (u32, Oid)>, StoreError> {
        let bytes = self.read_object(id, ObjectType::Tree)?;
        parse_tree(&bytes).ok_or_else(|| damaged_object(id, "it is no tree"))
    }

    /// What stands at `path` in `tree`.
    pub(super) fn find_object(
        &self,
        tree: Oid,
        path: &[String],
    ) -> Result<Option<Oid>, StoreError> {
        let mut here = tree;
        for name in path {
            match self.read_tree(here)?.get(name) {
                Some((_, id)) => here = *id,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    pub(super) fn write_commit(
        &mut self,
        tree: Oid,
        parent: Option<Oid>,
        ts: Timestamp,
        message: &str,
    ) -> Result<Oid, StoreError> {
        let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
        let seconds = (ts.micros() / 1_000_000).max(0);
        let who = format!("Weir <weir@localhost> {seconds} +0000");
        let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\n{message}");
        self.write_object(ObjectType::Commit, text.as_bytes())
    }

    /// `None`: there is no such object, or it is no commit.
    pub(super) fn try_read_commit(&self, id: Oid) -> Result<Option<CommitObject>, StoreError> {
        match self.odb.read_header(id) {
            Ok((_, ObjectType::Commit)) => self.read_commit(id).map(Some),
            Ok(_) => Ok(None),
            Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(e) => Err(damaged_object(id, e.message())),
        }
    }

    pub(super) fn read_commit(&self, id: Oid) -> Result<CommitObject, StoreError> {
        let bytes = self.read_object(id, ObjectType::Commit)?;
        let text = String::from_utf8(bytes).map_err(|_| damaged_object(id, "it is not text"))?;
        let (head, message) =
            text.split_once("\n\n").ok_or_else(|| damaged_object(id, "no message"))?;
        let field = |name: &str| {
            head.lines().find_map(|line| line.strip_prefix(name)).and_then(|id| id.parse().ok())
        };
        let tree = field("tree ").ok_or_else(|| damaged_object(id, "it has no tree"))?;
        Ok(CommitObject { id, tree, parent: field("parent "), message: message.to_string() })
    }
}

fn tree_bytes(entries: &BTreeMap<String, (u32, Oid)>) -> Vec<u8> {
    let mut sorted: Vec<(&String, &(u32, Oid))> = entries.iter().collect();
    // Git sorts a folder as if its name ended with a slash.
    sorted.sort_by_key(|(name, (mode, _))| {
        let mut key = name.as_bytes().to_vec();
        if *mode == TREE {
            key.push(b'/');
        }
        key
    });
    let mut bytes = Vec::new();
    for (name, (mode, id)) in sorted {
        bytes.extend_from_slice(format!("{mode:o} {name}\0").as_bytes());
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}

fn parse_tree(mut bytes: &[u8]) -> Option<BTreeMap<String, (u32, Oid)>> {
    const ID_BYTES: usize = 20;
    let mut entries = BTreeMap::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
        let rest = &bytes[space + 1..];
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = std::str::from_utf8(&rest[..end]).ok()?;
        let id = Oid::from_bytes(rest.get(end + 1..end + 1 + ID_BYTES)?).ok()?;
        entries.insert(name.to_string(), (mode, id));
        bytes = &rest[end + 1 + ID_BYTES..];
    }
    Some(entries)
}
