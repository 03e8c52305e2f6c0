//! Taking over what sessions did in a copy of a project (R7): worked out for the project as it is now,
//! written with a checkpoint that an undo restores, and noted in the session that answers for it. A file
//! that changed in the project meanwhile is merged line by line; where both changed the same lines nothing
//! is changed at all. Whoever was killed in the middle of it does it once more.
//!
//! Not here: how a copy and its session are found (`weir-install`), how a copy is made (`weir-store`), and
//! copies of sub-agents (`merge_agent`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weir_core::event::WorkspaceMerged;
use weir_core::ids::CheckpointId;
use weir_core::input::SessionCommand;
use weir_core::tool::{FileState, PathAccess, PlannedChange};

use crate::blocking::run_blocking;
use crate::divergence::{DivergenceConflict, merge_divergence};
use crate::engine::EngineError;
use crate::pen::SessionPen;
use crate::ports::{
    Checkpoints, Clock, Divergence, FileContent, FileMark, Snapshot, SnapshotEntry, Store,
    StoreError, Worktrees,
};
use crate::undo::RestorePlan;
use crate::workspace::Workspace;

/// Largest file that is merged, in bytes.
const FILE_BYTES_MAX: u64 = 10_000_000;
/// The run that the checkpoint of a merge names.
pub const RUN_OF_MERGE: &str = "merge";

/// A copy, and the project that its changes are for.
#[derive(Clone)]
pub struct MergedWorktree {
    /// Reads the copy.
    pub worktrees: Arc<dyn Worktrees>,
    /// The name that people know it by.
    pub name: String,
    /// The name that `worktrees` knows it by.
    pub whole_name: String,
    /// The workspace of the sessions that work in it.
    pub folder: PathBuf,
    /// The project that it is a copy of.
    pub project: PathBuf,
    /// The project as a guarded folder.
    pub workspace: Arc<Workspace>,
}

/// What a merge works with beside the copy.
#[derive(Clone)]
pub struct MergeParts {
    /// Where the marks of files are kept.
    pub store: Arc<dyn Store>,
    /// Files as they were.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// The clock that tells the time.
    pub clock: Arc<dyn Clock>,
    /// Name of the person who merges.
    pub by: String,
    /// Version of this program.
    pub version: String,
}

/// What a merge would do.
#[derive(Debug, Clone, Default)]
pub struct MergePlan {
    /// The changes, each with what is there and what it becomes.
    pub entries: Vec<SnapshotEntry>,
    /// What keeps it from being done: a sentence each. Nothing is changed while there is one.
    pub conflicts: Vec<String>,
    /// Paths that are as in the copy already.
    pub already: Vec<String>,
}

/// What became of a merge.
#[derive(Debug, Clone)]
pub struct MergeOutcome {
    /// What was worked out.
    pub plan: MergePlan,
    /// The snapshot of what was there before; `None`: nothing was changed.
    pub checkpoint: Option<CheckpointId>,
}

/// Why a copy could not be taken over.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The copy cannot be read, or a file cannot be written: nothing was changed.
    #[error("{0}")]
    Unusable(String),
    /// The store or the checkpoints refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session that answers for it could not be written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Works out what taking the changes of a copy over means for the project as it is now.
///
/// # Errors
/// The copy cannot be read.
pub async fn plan_worktree_merge(copy: &MergedWorktree) -> Result<MergePlan, MergeError> {
    let copy = copy.clone();
    let work = move || {
        let left = copy.worktrees.worktree_changes(&copy.project, &copy.whole_name);
        left.map(|left| plan_divergences(&left, &copy.workspace))
    };
    let planned = run_blocking(work).await.map_err(|_| EngineError::Crashed)?;
    planned.map_err(MergeError::Unusable)
}

fn plan_divergences(left: &[Divergence], workspace: &Workspace) -> MergePlan {
    let mut plan = MergePlan::default();
    for file in left {
        match merge_file(file, workspace) {
            Ok(Some((before, after))) => {
                plan.entries.push(SnapshotEntry { path: file.path.clone(), before, after });
            }
            Ok(None) => plan.already.push(file.path.clone()),
            Err(why) => plan.conflicts.push(why),
        }
    }
    plan
}

/// What is there and what it becomes; `None`: it is so already.
fn merge_file(
    file: &Divergence,
    workspace: &Workspace,
) -> Result<Option<(FileContent, FileContent)>, String> {
    let path = &file.path;
    let at = workspace.resolve(path, PathAccess::Write);
    if let Some(why) = at.ignored.as_ref().or(at.protected.as_ref()) {
        return Err(format!("{path} is not for agents to change: {why}"));
    }
    if at.path != *path {
        return Err(format!("{path} leads to {} in the project", at.path));
    }
    let now = workspace.read(&at, FILE_BYTES_MAX).map_err(|why| why.to_string())?;
    match merge_divergence(file, &now) {
        Ok(after) => Ok(after.map(|after| (now, after))),
        Err(DivergenceConflict::NoFile) => {
            Err(format!("{path} is a folder or a link in the project"))
        }
        Err(DivergenceConflict::Obstacle(why)) => Err(format!("{path} in the worktree: {why}")),
        Err(DivergenceConflict::SamePlace) => {
            Err(format!("{path} was changed in the project and in the worktree, in the same place"))
        }
    }
}

/// Takes the changes over, and notes it in the session whose pen this is, which answers for them. The pen is
/// given back, whatever comes of it: meanwhile nobody can run that session.
///
/// # Errors
/// A file or the checkpoint cannot be read or written, or the journal cannot.
pub async fn merge_worktree(
    copy: &MergedWorktree,
    parts: &MergeParts,
    mut pen: SessionPen,
) -> Result<MergeOutcome, MergeError> {
    let done = apply_and_record(copy, parts, &mut pen).await;
    pen.give_back().await?;
    done
}

async fn apply_and_record(
    copy: &MergedWorktree,
    parts: &MergeParts,
    pen: &mut SessionPen,
) -> Result<MergeOutcome, MergeError> {
    let plan = plan_worktree_merge(copy).await?;
    sweep_leftovers(copy.workspace.clone(), &plan).await?;
    if plan.entries.is_empty() || !plan.conflicts.is_empty() {
        return Ok(MergeOutcome { plan, checkpoint: None });
    }
    let snapshot = Snapshot {
        workspace: copy.workspace.root().to_path_buf(),
        session: pen.session().id().clone(),
        run: RUN_OF_MERGE.to_owned(),
        call: None,
        ts: parts.clock.now(),
        label: format!("Take over {} path(s) of the worktree {}", plan.entries.len(), copy.name),
        entries: plan.entries.clone(),
    };
    let checkpoint = parts.checkpoints.take_snapshot(snapshot).await?;
    // What has foreign words in it there has them here, before it is here.
    let marks = carried_marks(copy, parts.store.as_ref(), &plan.entries).await?;
    pen.write_marks(marks).await?;
    let paths = write_entries(copy.workspace.clone(), &plan.entries).await?;
    if pen.session().run().is_some() {
        // It was interrupted: what follows from that comes before what the person did now.
        let resume = SessionCommand::Resume { engine: parts.version.clone() };
        pen.record_command(parts.clock.now(), resume).await?;
    }
    let fact = WorkspaceMerged {
        checkpoint: checkpoint.clone(),
        into: copy.project.display().to_string(),
        paths,
        by: parts.by.clone(),
    };
    pen.record_command(parts.clock.now(), SessionCommand::Merged(fact)).await?;
    Ok(MergeOutcome { plan, checkpoint: Some(checkpoint) })
}

/// Removes what a merge that was killed left beside the files of this one, also of those that it took over.
async fn sweep_leftovers(workspace: Arc<Workspace>, plan: &MergePlan) -> Result<(), MergeError> {
    let paths = plan.entries.iter().map(|entry| &entry.path).chain(&plan.already).cloned();
    let (before, after) = (FileState::Absent, FileState::Absent);
    let beside = |path| PlannedChange { path, before: before.clone(), after: after.clone() };
    let places: Vec<PlannedChange> = paths.map(beside).collect();
    let swept = run_blocking(move || workspace.sweep_leftovers(&places)).await;
    Ok(swept.map_err(|_| EngineError::Crashed)?)
}

/// The marks that the changed files had in the copy, for the project.
async fn carried_marks(
    copy: &MergedWorktree,
    store: &dyn Store,
    entries: &[SnapshotEntry],
) -> Result<Vec<FileMark>, StoreError> {
    let marks = store.file_marks(&copy.folder.display().to_string()).await?;
    let project = copy.project.display().to_string();
    // A mark with a stroke at its end is of everything below a folder; an empty one of all of the copy.
    let covers = |mark: &FileMark, path: &String| {
        let is_folder = mark.path.is_empty() || mark.path.ends_with('/');
        mark.path == *path || (is_folder && path.starts_with(&mark.path))
    };
    let carried = entries.iter().filter_map(|SnapshotEntry { path, .. }| {
        let mark = marks.iter().find(|mark| covers(mark, path))?;
        Some(FileMark { workspace: project.clone(), path: path.clone(), ..mark.clone() })
    });
    Ok(carried.collect())
}

async fn write_entries(
    workspace: Arc<Workspace>,
    entries: &[SnapshotEntry],
) -> Result<Vec<String>, MergeError> {
    let plan = RestorePlan { entries: entries.to_vec(), ..RestorePlan::default() };
    let changes = plan.disk_changes();
    let mut contents: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    for entry in entries {
        if let FileContent::File { bytes, .. } = &entry.after {
            contents.insert(entry.path.clone(), bytes.clone());
        }
    }
    let apply = move || workspace.apply_changes(&changes, &contents);
    let applied = run_blocking(apply).await.map_err(|_| EngineError::Crashed)?;
    applied.map_err(|error| {
        MergeError::Unusable(format!(
            "the changes could not be taken over, and nothing was changed: {error}"
        ))
    })
}
