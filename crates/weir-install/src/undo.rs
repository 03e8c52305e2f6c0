//! File changes of a session, taken back and brought back (G7): which checkpoints are meant, and the
//! note in the session's journal, so that the agent knows when it goes on. Not here: what is put back
//! (`weir_engine::undo`), and how it is shown.

use weir_core::event::CheckpointRestored;
use weir_core::ids::{CallId, CheckpointId, SessionId};
use weir_core::input::SessionCommand;
use weir_engine::pen::SessionPen;
use weir_engine::ports::{CheckpointInfo, Checkpoints, Clock as _};
use weir_engine::rewind;
use weir_engine::undo::{
    RestoreOrigin, RestorePlan, UndoConflict, compute_restore_plan, perform_restore,
};
use weir_store::this_process;

use crate::content_difference::{PathChangeStats, compare_path_contents};
use crate::context::InstallationContext;
use crate::failure::{engine_failure, usage};
use crate::wiring::{self, SystemClock};

/// Which of a session's changes a person means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoChoice {
    /// Those of this run; `None`: of the newest.
    pub run: Option<String>,
    /// What the last undo took back is to come back.
    pub redo: bool,
}

/// What is to be taken back.
#[derive(Debug, Clone)]
pub struct UndoRequest {
    /// Whose changes.
    pub session: SessionId,
    /// Of which run.
    pub run: String,
    /// Of this call alone.
    pub call: Option<CallId>,
    /// The checkpoints taken before them, the oldest first: what was there before the first of several
    /// changes comes back.
    pub checkpoints: Vec<CheckpointInfo>,
    /// Only these paths; empty: all.
    pub only: Vec<String>,
    /// Write merges that have no overlap.
    pub merge: bool,
}

/// What came of it, or would.
#[derive(Debug, Clone)]
pub struct UndoResult {
    /// The checkpoint of the restore itself.
    pub checkpoint: Option<CheckpointId>,
    /// Each path with its change.
    pub changes: Vec<(String, PathChangeStats)>,
    /// Paths that somebody changed since; they are left as they are.
    pub conflicts: Vec<UndoConflict>,
    /// Paths that are as they were already.
    pub already: Vec<String>,
}

/// The checkpoints of a session and of its sub-agents, newest first: what those changed belongs to
/// the run that they worked for (M6).
///
/// # Errors
/// There is no such session, or a store cannot be read.
pub async fn list_session_checkpoints(
    cx: &InstallationContext,
    checkpoints: &dyn Checkpoints,
    session: &SessionId,
) -> anyhow::Result<Vec<CheckpointInfo>> {
    let store = cx.local_store()?;
    let saved = rewind::session_checkpoints(store.as_ref(), checkpoints, &cx.folder, session);
    saved.await.map_err(engine_failure)
}

/// What to take back of `all` (newest first): never empty, newest first.
///
/// # Errors
/// A usage error: nothing is meant by the choice.
pub fn choose_checkpoints(
    all: Vec<CheckpointInfo>,
    choice: &UndoChoice,
) -> anyhow::Result<Vec<CheckpointInfo>> {
    if choice.redo {
        let restore = all.into_iter().find(|info| info.call.is_none());
        let restore = restore.ok_or_else(|| usage("there is no undo to redo"))?;
        return Ok(vec![restore]);
    }
    let run = match (&choice.run, all.first()) {
        (Some(run), _) => run.clone(),
        // The last change was an undo: taking that back brings the changes back.
        (None, Some(newest)) if newest.call.is_none() => return Ok(vec![newest.clone()]),
        (None, Some(newest)) => newest.run.clone(),
        (None, None) => return Err(usage("there is nothing to undo")),
    };
    let (found, others): (Vec<_>, Vec<_>) =
        all.into_iter().filter(|info| info.call.is_some()).partition(|info| info.run == run);
    if found.is_empty() {
        let mut runs: Vec<String> = others.into_iter().map(|info| info.run).collect();
        runs.dedup();
        let runs = if runs.is_empty() { "none".into() } else { runs.join(", ") };
        return Err(usage(format!("run {run} changed no file; runs that did: {runs}")));
    }
    Ok(found)
}

/// What taking `request` back would do now; nothing is changed.
///
/// # Errors
/// A file or a checkpoint cannot be read.
pub async fn preview_undo(
    cx: &InstallationContext,
    checkpoints: &dyn Checkpoints,
    request: &UndoRequest,
) -> anyhow::Result<UndoResult> {
    Ok(UndoResult::of_plan(&plan_undo(cx, checkpoints, request).await?))
}

/// Takes it back. While it works nobody can run the session, which `holder` has meanwhile.
///
/// # Errors
/// Somebody has the session; a file or a checkpoint cannot be read or written.
pub async fn perform_undo(
    cx: &InstallationContext,
    checkpoints: &dyn Checkpoints,
    request: &UndoRequest,
    holder: &str,
) -> anyhow::Result<UndoResult> {
    let (owner, principal) = (this_process(holder), wiring::principal_name(cx));
    let pen =
        SessionPen::take_session(cx.local_store()?, &owner, &principal, &request.session).await;
    let mut pen = pen.map_err(engine_failure)?;
    let done = restore_and_record(cx, checkpoints, request, &mut pen).await;
    pen.give_back().await.map_err(engine_failure)?;
    done
}

async fn plan_undo(
    cx: &InstallationContext,
    checkpoints: &dyn Checkpoints,
    request: &UndoRequest,
) -> anyhow::Result<RestorePlan> {
    let workspace = cx.open_workspace()?;
    let planned =
        compute_restore_plan(checkpoints, &workspace, &request.checkpoints, &request.only);
    let mut restore = planned.await?;
    if request.merge {
        restore.accept_merges();
    }
    Ok(restore)
}

async fn restore_and_record(
    cx: &InstallationContext,
    checkpoints: &dyn Checkpoints,
    request: &UndoRequest,
    pen: &mut SessionPen,
) -> anyhow::Result<UndoResult> {
    let restore = plan_undo(cx, checkpoints, request).await?;
    let workspace = cx.open_workspace()?;
    let clock = SystemClock::default();
    let (session, run) = (request.session.clone(), request.run.clone());
    let origin = RestoreOrigin { session, run, ts: clock.now() };
    let mut done = UndoResult::of_plan(&restore);
    let applied = perform_restore(checkpoints, &workspace, restore, origin).await?;
    let Some((checkpoint, paths)) = applied else { return Ok(done) };
    done.checkpoint = Some(checkpoint.clone());
    if pen.session().run().is_some() {
        // It was interrupted: what follows from that comes before what the person did now.
        let engine = env!("CARGO_PKG_VERSION").to_owned();
        let resumed = pen.record_command(clock.now(), SessionCommand::Resume { engine }).await;
        resumed.map_err(engine_failure)?;
    }
    let conflicts = done.conflicts.iter().map(|conflict| conflict.path.clone()).collect();
    let by = wiring::principal_name(cx);
    let fact = CheckpointRestored { checkpoint, call: request.call, paths, conflicts, by };
    pen.record_command(clock.now(), SessionCommand::Restored(fact))
        .await
        .map_err(engine_failure)?;
    Ok(done)
}

impl UndoResult {
    fn of_plan(restore: &RestorePlan) -> UndoResult {
        let changes = restore
            .entries
            .iter()
            .map(|entry| (entry.path.clone(), compare_path_contents(&entry.before, &entry.after)));
        UndoResult {
            checkpoint: None,
            changes: changes.collect(),
            conflicts: restore.conflicts.clone(),
            already: restore.already.clone(),
        }
    }
}
