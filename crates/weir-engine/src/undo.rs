//! Taking changes back (G7): file by file or run by run, without destroying what a person changed
//! since, and so that the undo can itself be undone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_core::ids::{CheckpointId, SessionId, Timestamp};
use weir_core::tool::{Access, Change};

use crate::ports::{CheckpointInfo, Checkpoints, Content, Snapshot, SnapshotEntry, StoreError};
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
pub struct Conflict {
    /// Which path.
    pub path: String,
    /// What it holds now.
    pub now: Content,
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
pub struct Restore {
    /// Paths that still hold what the agent left, with what they are to hold again.
    pub entries: Vec<SnapshotEntry>,
    /// Paths that do not: left alone.
    pub conflicts: Vec<Conflict>,
    /// Paths that already hold what was there before.
    pub already: Vec<String>,
}

impl Restore {
    /// Takes the merges without overlap in: they will be written too. The others stay conflicts.
    pub fn accept_merges(&mut self) {
        let mut left = Vec::new();
        for conflict in std::mem::take(&mut self.conflicts) {
            match (&conflict.merged, &conflict.now) {
                (Some(Merge::Clean(text)), Content::File { mode, .. }) => {
                    let after = Content::File { bytes: Arc::from(text.as_bytes()), mode: *mode };
                    let Conflict { path, now, .. } = conflict;
                    self.entries.push(SnapshotEntry { path, before: now, after });
                }
                _ => left.push(conflict),
            }
        }
        self.conflicts = left;
    }

    /// The changes on disk that it makes.
    pub fn changes(&self) -> Vec<Change> {
        let change = |entry: &SnapshotEntry| Change {
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
pub async fn plan(
    store: &dyn Checkpoints,
    workspace: &Arc<Workspace>,
    checkpoints: &[CheckpointInfo],
    only: &[String],
) -> Result<Restore, UndoError> {
    let mut order: Vec<&CheckpointInfo> = checkpoints.iter().collect();
    order.sort_by_key(|info| info.ts);
    let mut paths: BTreeMap<String, (Content, Content)> = BTreeMap::new();
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
    let compare = move || compare(&workspace, paths);
    let compared = tokio::task::spawn_blocking(compare).await;
    Ok(compared.unwrap_or_else(|_| Ok(Restore::default()))?)
}

fn compare(
    workspace: &Workspace,
    paths: BTreeMap<String, (Content, Content)>,
) -> Result<Restore, FileError> {
    let mut restore = Restore::default();
    for (path, (before, after)) in paths {
        let at = workspace.resolve(&path, Access::Delete);
        let now = workspace.read(&at, FILE_MAX)?;
        if now.image() == before.image() {
            restore.already.push(path);
        } else if now.image() == after.image() {
            restore.entries.push(SnapshotEntry { path, before: now, after: before });
        } else {
            let merged = merge(&after, &now, &before);
            restore.conflicts.push(Conflict { path, now, merged });
        }
    }
    keep_filled_folders(workspace, &mut restore);
    Ok(restore)
}

/// A folder in which somebody, or a list that hides it, left something that does not go is not
/// taken away, and neither are those above it.
fn keep_filled_folders(workspace: &Workspace, restore: &mut Restore) {
    let leaves =
        |entry: &SnapshotEntry| entry.before == Content::Folder && entry.after == Content::Absent;
    loop {
        let going = restore.entries.iter().filter(|entry| entry.after == Content::Absent);
        let going: BTreeSet<&str> = going.map(|entry| entry.path.as_str()).collect();
        let filled = restore.entries.iter().position(|entry| {
            let at = || workspace.resolve(&entry.path, Access::Delete);
            leaves(entry) && workspace.holds_other(&at(), &going)
        });
        let Some(filled) = filled else { return };
        let SnapshotEntry { path, before: now, .. } = restore.entries.remove(filled);
        restore.conflicts.push(Conflict { path, now, merged: None });
    }
}

/// The changes from `base` to `ours` put onto `theirs`, where all three are text. Undoing, they are
/// the person's changes since the agent, and `theirs` what was there before.
pub fn merge(base: &Content, ours: &Content, theirs: &Content) -> Option<Merge> {
    let text = |content: &Content| match content {
        Content::File { bytes, .. } => String::from_utf8(bytes.to_vec()).ok(),
        Content::Absent | Content::Folder | Content::Link { .. } => None,
    };
    Some(match diffy::merge(&text(base)?, &text(ours)?, &text(theirs)?) {
        Ok(merged) => Merge::Clean(merged),
        Err(marked) => Merge::Marked(marked),
    })
}

/// For which session files are put back, and when.
#[derive(Debug, Clone)]
pub struct RestoreOrigin {
    /// The session.
    pub session: SessionId,
    /// Which run of it.
    pub run: String,
    /// When.
    pub ts: Timestamp,
}

/// Does it: saves what is there, then puts back what was. Returns the snapshot by which this undo
/// is undone; none when there was nothing to do.
///
/// # Errors
/// The snapshot could not be taken (then nothing was changed), or a file changed meanwhile.
pub async fn apply(
    store: &dyn Checkpoints,
    workspace: &Arc<Workspace>,
    restore: Restore,
    origin: RestoreOrigin,
) -> Result<Option<(CheckpointId, Vec<String>)>, UndoError> {
    if restore.entries.is_empty() {
        return Ok(None);
    }
    let changes = restore.changes();
    let mut contents: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    for entry in &restore.entries {
        if let Content::File { bytes, .. } = &entry.after {
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
    let checkpoint = store.take(snapshot).await?;
    let workspace = workspace.clone();
    let apply = move || workspace.apply_changes(&changes, &contents);
    let paths = match tokio::task::spawn_blocking(apply).await {
        Ok(applied) => applied?,
        Err(_) => {
            return Err(UndoError::Store(StoreError::Io {
                doing: "put files back".into(),
                why: "the worker failed".into(),
            }));
        }
    };
    Ok(Some((checkpoint, paths)))
}
