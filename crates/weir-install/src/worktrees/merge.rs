//! Taking over what was done in a copy: worked out for the project as it is now, written with a
//! checkpoint that `weir undo` restores, and noted in the session that did it. A file that changed in the
//! project meanwhile is merged line by line; where both changed the same lines nothing is changed at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::event::WorkspaceMerged;
use weir_core::ids::CheckpointId;
use weir_core::input::SessionCommand;
use weir_core::tool::{FileState, PathAccess, PlannedChange};
use weir_engine::divergence::{DivergenceConflict, merge_divergence};
use weir_engine::pen::SessionPen;
use weir_engine::ports::{
    Checkpoints as _, Clock as _, Divergence, FileContent, FileMark, Snapshot, SnapshotEntry,
    Store as _,
};
use weir_engine::undo::RestorePlan;
use weir_engine::workspace::Workspace;
use weir_store::this_process;

use super::{SessionWorktree, answering_session, open_project};
use crate::context::InstallationContext;
use crate::failure::{engine_failure, usage};
use crate::wiring::{self, SystemClock};

/// Largest file that is merged, in bytes.
const FILE_BYTES_MAX: u64 = 10_000_000;
/// The run that the checkpoint of a merge names.
pub const RUN_OF_MERGE: &str = "merge";

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

/// Works out what taking the changes of a copy over means for the project as it is now.
///
/// # Errors
/// The copy or the project cannot be read.
pub async fn plan_merge(
    cx: &InstallationContext,
    worktree: &SessionWorktree,
) -> anyhow::Result<MergePlan> {
    let (_, workspace) = open_project(cx, worktree)?;
    plan_on(worktree, workspace).await
}

async fn plan_on(
    worktree: &SessionWorktree,
    workspace: Arc<Workspace>,
) -> anyhow::Result<MergePlan> {
    let worktree = worktree.clone();
    let work = move || Ok(plan_divergences(&worktree.changes()?, &workspace));
    tokio::task::spawn_blocking(work).await?
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

/// Takes the changes over. Meanwhile nobody can run the session that answers for them.
///
/// # Errors
/// Somebody works in the copy; a file or the checkpoint cannot be read or written.
pub async fn merge_worktree(
    cx: &InstallationContext,
    worktree: &SessionWorktree,
    holder: &str,
) -> anyhow::Result<MergeOutcome> {
    worktree.require_rest(cx).await?;
    let session = answering_session(worktree)?;
    let (owner, principal) = (this_process(holder), wiring::principal_name(cx));
    let pen = SessionPen::take_session(cx.local_store()?, &owner, &principal, session).await;
    let mut pen = pen.map_err(engine_failure)?;
    let done = apply_and_record(cx, worktree, &mut pen).await;
    pen.give_back().await.map_err(engine_failure)?;
    done
}

async fn apply_and_record(
    cx: &InstallationContext,
    worktree: &SessionWorktree,
    pen: &mut SessionPen,
) -> anyhow::Result<MergeOutcome> {
    let session = answering_session(worktree)?.clone();
    let (there, workspace) = open_project(cx, worktree)?;
    let plan = plan_on(worktree, workspace.clone()).await?;
    sweep_leftovers(workspace.clone(), &plan).await?;
    if plan.entries.is_empty() || !plan.conflicts.is_empty() {
        return Ok(MergeOutcome { plan, checkpoint: None });
    }
    let clock = SystemClock::default();
    let snapshot = Snapshot {
        workspace: workspace.root().to_path_buf(),
        session: session.clone(),
        run: RUN_OF_MERGE.to_owned(),
        call: None,
        ts: clock.now(),
        label: format!(
            "Take over {} path(s) of the worktree {}",
            plan.entries.len(),
            worktree.name
        ),
        entries: plan.entries.clone(),
    };
    let checkpoint = wiring::open_checkpoints(&there).take_snapshot(snapshot).await?;
    // What has foreign words in it there has them here, before it is here.
    let marks = carried_marks(&there, worktree, &plan.entries).await?;
    pen.write_marks(marks).await.map_err(engine_failure)?;
    let paths = write_entries(workspace, &plan.entries).await?;
    if pen.session().run().is_some() {
        // It was interrupted: what follows from that comes before what the person did now.
        let engine = env!("CARGO_PKG_VERSION").to_owned();
        let resumed = pen.record_command(clock.now(), SessionCommand::Resume { engine }).await;
        resumed.map_err(engine_failure)?;
    }
    let fact = WorkspaceMerged {
        checkpoint: checkpoint.clone(),
        into: worktree.project.display().to_string(),
        paths,
        by: wiring::principal_name(cx),
    };
    let recorded = pen.record_command(clock.now(), SessionCommand::Merged(fact)).await;
    recorded.map_err(engine_failure)?;
    Ok(MergeOutcome { plan, checkpoint: Some(checkpoint) })
}

/// Removes what a merge that was killed left beside the files of this one, also of those that it took over.
async fn sweep_leftovers(workspace: Arc<Workspace>, plan: &MergePlan) -> anyhow::Result<()> {
    let paths = plan.entries.iter().map(|entry| &entry.path).chain(&plan.already).cloned();
    let (before, after) = (FileState::Absent, FileState::Absent);
    let beside = |path| PlannedChange { path, before: before.clone(), after: after.clone() };
    let places: Vec<PlannedChange> = paths.map(beside).collect();
    Ok(tokio::task::spawn_blocking(move || workspace.sweep_leftovers(&places)).await?)
}

/// The marks that the changed files had in the copy, for the project.
async fn carried_marks(
    there: &InstallationContext,
    worktree: &SessionWorktree,
    entries: &[SnapshotEntry],
) -> anyhow::Result<Vec<FileMark>> {
    let store = there.local_store()?;
    let marks = store.file_marks(&worktree.folder.display().to_string()).await?;
    let project = worktree.project.display().to_string();
    // A mark with a stroke at its end is of everything below a folder.
    let covers = |mark: &FileMark, path: &String| {
        mark.path == *path || (mark.path.ends_with('/') && path.starts_with(&mark.path))
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
) -> anyhow::Result<Vec<String>> {
    let plan = RestorePlan { entries: entries.to_vec(), ..RestorePlan::default() };
    let changes = plan.disk_changes();
    let mut contents: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    for entry in entries {
        if let FileContent::File { bytes, .. } = &entry.after {
            contents.insert(entry.path.clone(), bytes.clone());
        }
    }
    let apply = move || workspace.apply_changes(&changes, &contents);
    let applied = tokio::task::spawn_blocking(apply).await?;
    applied.map_err(|error| {
        usage(format!("the changes could not be taken over, and nothing was changed: {error}"))
    })
}
