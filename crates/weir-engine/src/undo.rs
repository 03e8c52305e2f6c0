//! Taking changes back (G7): file by file or run by run, without destroying what a person changed
//! since, and so that the undo can itself be undone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_core::ids::{CheckpointId, SessionId, Timestamp};
use weir_core::sorting::sort_stably_by_key;
use weir_core::tool::{PathAccess, PlannedChange};

use crate::blocking::run_blocking;
use crate::ports::{CheckpointInfo, Checkpoints, FileContent, Snapshot, SnapshotEntry, StoreError};
use crate::workspace::{FileError, Workspace};

/// Largest file that is compared, in bytes.
const FILE_MAX: u64 = 256 << 20;

/// Why changes could not be taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A snapshot could not be read or taken.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A path that somebody changed since the agent left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoConflict {
    /// The path, relative to the workspace where it lies in it.
    pub path: String,
    /// Content of the path now.
    pub now: FileContent,
    /// A three-way merge of the person's changes with the undo, where both are text.
    pub merged: Option<Merge>,
}

/// What a three-way merge came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// Both sides fit together.
    Clean(String),
    /// They do not: the text has conflict markers.
    Marked(String),
}

/// What an undo would do.
#[derive(Debug, Clone, Default)]
pub struct RestorePlan {
    /// Paths that still hold what the agent left, with what they are to hold again.
    pub entries: Vec<SnapshotEntry>,
    /// Paths that do not: left alone.
    pub conflicts: Vec<UndoConflict>,
    /// Paths that already hold what was there before.
    pub already: Vec<String>,
}

impl RestorePlan {
    /// Takes the merges without overlap in: they will be written too. The others stay conflicts.
    pub fn accept_merges(&mut self) {
        let mut left = Vec::new();
        for conflict in std::mem::take(&mut self.conflicts) {
            match (&conflict.merged, &conflict.now) {
                (Some(Merge::Clean(text)), FileContent::File { mode, .. }) => {
                    let after =
                        FileContent::File { bytes: Arc::from(text.as_bytes()), mode: *mode };
                    let UndoConflict { path, now, .. } = conflict;
                    self.entries.push(SnapshotEntry { path, before: now, after });
                }
                _ => left.push(conflict),
            }
        }
        self.conflicts = left;
    }

    /// The changes on disk that it makes.
    pub fn disk_changes(&self) -> Vec<PlannedChange> {
        let change = |entry: &SnapshotEntry| PlannedChange {
            path: entry.path.clone(),
            before: entry.before.image(),
            after: entry.after.image(),
        };
        self.entries.iter().map(change).collect()
    }
}

/// Works out what taking back the changes of `checkpoints` means for the disk as it is now. With
/// several that touch one path, what was there before the first comes back. `only` narrows to
/// these paths; empty: all.
///
/// # Errors
/// A snapshot or a file cannot be read.
pub async fn compute_restore_plan(
    store: &dyn Checkpoints,
    workspace: &Arc<Workspace>,
    checkpoints: &[CheckpointInfo],
    only: &[String],
) -> Result<RestorePlan, UndoError> {
    let mut order: Vec<&CheckpointInfo> = checkpoints.iter().collect();
    sort_stably_by_key(&mut order, |info| info.ts);
    let mut paths: BTreeMap<String, (FileContent, FileContent)> = BTreeMap::new();
    for info in order {
        let (_, entries) = store.load(workspace.root(), info.id.as_str()).await?;
        for entry in entries {
            if !only.is_empty() && !only.contains(&entry.path) {
                continue;
            }
            let after = entry.after.clone();
            paths
                .entry(entry.path)
                .and_modify(|(_, last)| *last = entry.after)
                .or_insert((entry.before, after));
        }
    }
    let workspace = workspace.clone();
    let compare = move || compare_with_disk(&workspace, paths);
    let compared = run_blocking(compare).await;
    Ok(compared.unwrap_or_else(|_| Ok(RestorePlan::default()))?)
}

pub(crate) fn compare_with_disk(
    workspace: &Workspace,
    paths: BTreeMap<String, (FileContent, FileContent)>,
) -> Result<RestorePlan, FileError> {
    let mut restore = RestorePlan::default();
    for (path, (before, after)) in paths {
        let now = workspace.read_by_name(&path, FILE_MAX)?;
        if now.image() == before.image() {
            restore.already.push(path);
        } else if now.image() == after.image() {
            restore.entries.push(SnapshotEntry { path, before: now, after: before });
        } else {
            let merged = merge_contents(&after, &now, &before);
            restore.conflicts.push(UndoConflict { path, now, merged });
        }
    }
    keep_what_is_in_the_way(workspace, &mut restore);
    keep_filled_folders(workspace, &mut restore);
    Ok(restore)
}

/// Where a link or a file stands instead of a folder and does not go, nothing is put below it: it is
/// somebody's own, or was not asked for.
fn keep_what_is_in_the_way(workspace: &Workspace, restore: &mut RestorePlan) {
    let becomes_folder = |entry: &&SnapshotEntry| entry.after == FileContent::Folder;
    let folders: BTreeSet<String> =
        restore.entries.iter().filter(becomes_folder).map(|entry| entry.path.clone()).collect();
    let mut kept = Vec::new();
    for entry in std::mem::take(&mut restore.entries) {
        let is_new = entry.before == FileContent::Absent;
        let way = if is_new { workspace.in_the_way(&entry.path) } else { None };
        if way.is_none_or(|way| folders.contains(&way)) {
            kept.push(entry);
        } else {
            let SnapshotEntry { path, before: now, .. } = entry;
            restore.conflicts.push(UndoConflict { path, now, merged: None });
        }
    }
    restore.entries = kept;
}

/// A folder in which somebody, or a list that hides it, left something that does not go is not
/// taken away, and neither are those above it.
fn keep_filled_folders(workspace: &Workspace, restore: &mut RestorePlan) {
    let leaves = |entry: &SnapshotEntry| {
        entry.before == FileContent::Folder && entry.after != FileContent::Folder
    };
    loop {
        let going = restore.entries.iter().filter(|entry| entry.after == FileContent::Absent);
        let going: BTreeSet<&str> = going.map(|entry| entry.path.as_str()).collect();
        let filled = restore.entries.iter().position(|entry| {
            let at = || workspace.resolve(&entry.path, PathAccess::Delete);
            leaves(entry) && workspace.holds_other(&at(), &going)
        });
        let Some(filled) = filled else { return };
        let SnapshotEntry { path, before: now, .. } = restore.entries.remove(filled);
        restore.conflicts.push(UndoConflict { path, now, merged: None });
    }
}

/// The changes from `base` to `ours` put onto `theirs`, where all three are text. Undoing, they are
/// the person's changes since the agent, and `theirs` what was there before.
pub fn merge_contents(
    base: &FileContent,
    ours: &FileContent,
    theirs: &FileContent,
) -> Option<Merge> {
    let text = |content: &FileContent| match content {
        FileContent::File { bytes, .. } => String::from_utf8(bytes.to_vec()).ok(),
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => None,
    };
    Some(match diffy::merge(&text(base)?, &text(ours)?, &text(theirs)?) {
        Ok(merged) => Merge::Clean(merged),
        Err(marked) => Merge::Marked(marked),
    })
}

/// For which session files are put back, and when.
#[derive(Debug, Clone)]
pub struct RestoreOrigin {
    /// Id of the session.
    pub session: SessionId,
    /// The run of that session.
    pub run: String,
    /// When the files are put back.
    pub ts: Timestamp,
}

/// Does it: saves what is there, then puts back what was. Returns the snapshot by which this undo
/// is undone; none when there was nothing to do.
///
/// # Errors
/// The snapshot could not be taken (then nothing was changed), or a file changed meanwhile.
pub async fn perform_restore(
    store: &dyn Checkpoints,
    workspace: &Arc<Workspace>,
    restore: RestorePlan,
    origin: RestoreOrigin,
) -> Result<Option<(CheckpointId, Vec<String>)>, UndoError> {
    if restore.entries.is_empty() {
        return Ok(None);
    }
    let changes = restore.disk_changes();
    let mut contents: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    for entry in &restore.entries {
        if let FileContent::File { bytes, .. } = &entry.after {
            contents.insert(entry.path.clone(), bytes.clone());
        }
    }
    let snapshot = Snapshot {
        workspace: workspace.root().to_path_buf(),
        session: origin.session,
        run: origin.run,
        call: None,
        ts: origin.ts,
        label: format!("Take back changes of {} path(s)", restore.entries.len()),
        entries: restore.entries,
    };
    let session = snapshot.session.clone();
    let checkpoint = store.take_snapshot(snapshot).await?;
    let here = workspace.clone();
    let apply = move || {
        let applied = here.apply_changes(&changes, &contents);
        applied.map_err(|error| (error, here.holds_none_of(&changes)))
    };
    match run_blocking(apply).await {
        Ok(Ok(paths)) => Ok(Some((checkpoint, paths))),
        Ok(Err((error, nothing_done))) => {
            // Nothing was put back, so there is nothing that the next undo could undo.
            if nothing_done
                && let Err(why) = store.void_snapshot(workspace.root(), &session, &checkpoint).await
            {
                tracing::warn!(%why, "the snapshot of an undo that failed could not be removed");
            }
            Err(error.into())
        }
        Err(_) => Err(UndoError::Store(StoreError::Io {
            doing: "put files back".into(),
            why: "the worker failed".into(),
        })),
    }
}
