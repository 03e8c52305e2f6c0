//! `weir undo`: the file changes of a run, taken back and brought back (G7).
//!
//! What is put back is worked out by the engine; here it is chosen, shown, and noted in the
//! session's journal, so that the agent knows when it goes on.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_core::event::CheckpointRestored;
use weir_core::ids::{CallId, CheckpointId, SessionId};
use weir_core::input::SessionCommand;
use weir_engine::family;
use weir_engine::pen::SessionPen;
use weir_engine::ports::{CheckpointFilter, CheckpointInfo, Checkpoints as _, Clock as _};
use weir_engine::rewind;
use weir_engine::undo::{
    Merge, RestoreOrigin, RestorePlan, UndoConflict, compute_restore_plan, perform_restore,
};
use weir_install::cx::Cx;
use weir_install::session_ids;
use weir_install::wiring::{self, SystemClock};
use weir_store::this_process;

use super::checkpoints::{difference, resolve_named_paths, short_checkpoint_id};
use super::sessions::{meta, single_visible_line};
use crate::failure::{engine_failure, exit, usage};
use crate::options::UndoArgs;
use crate::terminal::{out_json, out_line};

/// What is to be taken back.
pub(super) struct TakeBack {
    /// Whose changes.
    pub(super) session: SessionId,
    /// Of which run.
    pub(super) run: String,
    /// Of this call alone.
    pub(super) call: Option<CallId>,
    /// The checkpoints taken before them.
    pub(super) checkpoints: Vec<CheckpointInfo>,
    /// Only these paths; empty: all.
    pub(super) only: Vec<String>,
    /// Write merges that have no overlap.
    pub(super) merge: bool,
    /// Change nothing.
    pub(super) dry_run: bool,
    /// Print JSON.
    pub(super) json: bool,
}

/// What came of it.
struct UndoResult {
    /// The checkpoint of the restore itself.
    checkpoint: Option<CheckpointId>,
    /// Path and change, in words.
    changes: Vec<(String, difference::PathChangeStats)>,
    conflicts: Vec<UndoConflict>,
    already: Vec<String>,
}

pub(crate) async fn undo_run_changes(cx: &Cx, args: UndoArgs) -> anyhow::Result<ExitCode> {
    let (there, session) = match &args.session {
        Some(text) => {
            let store = cx.local_store()?;
            let id = session_ids::find_session_id(store.as_ref(), text).await?;
            let folder = meta(store.as_ref(), &id).await?.workspace;
            (cx.in_folder(Path::new(&folder))?, Some(id))
        }
        None => (cx.in_folder(&cx.folder)?, None),
    };
    let all = changes_of(&there, session).await?;
    let workspace = there.open_workspace()?;
    let only = resolve_named_paths(&workspace, &args.paths, &all.iter().collect::<Vec<_>>())?;
    let touched = |info: &CheckpointInfo| {
        only.is_empty() || info.changes.iter().any(|change| only.contains(&change.path))
    };
    let all = all.into_iter().filter(touched).collect();
    let checkpoints = choose_checkpoints(all, &args)?;
    let newest = &checkpoints[0];
    let back = TakeBack {
        session: family::root_session(&newest.session),
        run: newest.run.clone(),
        call: None,
        only,
        merge: args.merge,
        dry_run: args.dry_run,
        json: args.json.json,
        checkpoints,
    };
    take_back(&there, back).await
}

/// All checkpoints of a session, newest first: of the one that is named, or of that which changed
/// the folder last.
async fn changes_of(cx: &Cx, session: Option<SessionId>) -> anyhow::Result<Vec<CheckpointInfo>> {
    let checkpoints = wiring::open_checkpoints(cx);
    let session = match session {
        Some(session) => Some(family::root_session(&session)),
        None => {
            let newest = CheckpointFilter { session: None, limit: Some(1) };
            let found = checkpoints.list(&cx.folder, &newest).await?;
            found.into_iter().next().map(|info| family::root_session(&info.session))
        }
    };
    let found = match session {
        Some(session) => with_agents(cx, &session).await?,
        None => Vec::new(),
    };
    if found.is_empty() {
        let folder = cx.folder.display();
        return Err(usage(format!(
            "there is nothing to undo: no file changes are recorded for {folder} (use -C for \
             another folder; `weir sessions list` lists sessions)"
        )));
    }
    Ok(found)
}

/// The checkpoints of a session and of its sub-agents, newest first: what those changed belongs to
/// the run that they worked for (M6).
pub(crate) async fn with_agents(
    cx: &Cx,
    session: &SessionId,
) -> anyhow::Result<Vec<CheckpointInfo>> {
    let (store, checkpoints) = (cx.local_store()?, wiring::open_checkpoints(cx));
    let saved =
        rewind::session_checkpoints(store.as_ref(), checkpoints.as_ref(), &cx.folder, session);
    saved.await.map_err(engine_failure)
}

/// What to take back of `all` (newest first): never empty, newest first.
pub(crate) fn choose_checkpoints(
    all: Vec<CheckpointInfo>,
    args: &UndoArgs,
) -> anyhow::Result<Vec<CheckpointInfo>> {
    if args.redo {
        let restore = all.into_iter().find(|info| info.call.is_none());
        let restore = restore.ok_or_else(|| usage("there is no undo to redo"))?;
        return Ok(vec![restore]);
    }
    let run = match (&args.run, all.first()) {
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

/// Takes changes back, or says what that would do. While it works nobody can run the session.
pub(super) async fn take_back(cx: &Cx, mut back: TakeBack) -> anyhow::Result<ExitCode> {
    // Oldest first: what was there before the first of several changes comes back.
    back.checkpoints.reverse();
    let done = if back.dry_run {
        let restore = plan_restore(cx, &back).await?;
        UndoResult::from_restore(restore, None)
    } else {
        let owner = this_process("weir undo");
        let principal = wiring::principal_name(cx);
        let pen =
            SessionPen::take_session(cx.local_store()?, &owner, &principal, &back.session).await;
        let mut pen = pen.map_err(engine_failure)?;
        let done = apply_restore(cx, &back, &mut pen).await;
        pen.give_back().await.map_err(engine_failure)?;
        done?
    };
    show_undo_result(&back, &done)?;
    let left = !done.conflicts.is_empty();
    Ok(if left { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

async fn plan_restore(cx: &Cx, back: &TakeBack) -> anyhow::Result<RestorePlan> {
    let checkpoints = wiring::open_checkpoints(cx);
    let workspace = cx.open_workspace()?;
    let planned =
        compute_restore_plan(checkpoints.as_ref(), &workspace, &back.checkpoints, &back.only);
    let mut restore = planned.await?;
    if back.merge {
        restore.accept_merges();
    }
    Ok(restore)
}

async fn apply_restore(
    cx: &Cx,
    back: &TakeBack,
    pen: &mut SessionPen,
) -> anyhow::Result<UndoResult> {
    let restore = plan_restore(cx, back).await?;
    let workspace = cx.open_workspace()?;
    let checkpoints = wiring::open_checkpoints(cx);
    let clock = SystemClock::default();
    let (session, run) = (back.session.clone(), back.run.clone());
    let origin = RestoreOrigin { session, run, ts: clock.now() };
    let mut done = UndoResult::from_restore(restore.clone(), None);
    let applied = perform_restore(checkpoints.as_ref(), &workspace, restore, origin).await?;
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
    let fact = CheckpointRestored { checkpoint, call: back.call, paths, conflicts, by };
    pen.record_command(clock.now(), SessionCommand::Restored(fact))
        .await
        .map_err(engine_failure)?;
    Ok(done)
}

impl UndoResult {
    fn from_restore(restore: RestorePlan, checkpoint: Option<CheckpointId>) -> UndoResult {
        let changes = restore.entries.iter().map(|entry| {
            (entry.path.clone(), difference::compare_path_contents(&entry.before, &entry.after))
        });
        UndoResult {
            checkpoint,
            changes: changes.collect(),
            conflicts: restore.conflicts,
            already: restore.already,
        }
    }
}

fn show_undo_result(back: &TakeBack, done: &UndoResult) -> anyhow::Result<()> {
    let merge = |conflict: &UndoConflict| match &conflict.merged {
        Some(Merge::Clean(_)) => "clean",
        Some(Merge::Marked(_)) => "overlaps",
        None => "impossible",
    };
    if back.json {
        let restored =
            done.changes.iter().map(|(path, change)| json!({ "path": path, "change": change }));
        let conflicts = done
            .conflicts
            .iter()
            .map(|conflict| json!({ "path": conflict.path, "merge": merge(conflict) }));
        return out_json(&json!({
            "session": back.session,
            "run": back.run,
            "call": back.call,
            "checkpoints": back.checkpoints.iter().map(|info| &info.id).collect::<Vec<_>>(),
            "dry_run": back.dry_run,
            "restored": restored.collect::<Vec<_>>(),
            "conflicts": conflicts.collect::<Vec<_>>(),
            "already": done.already,
            "checkpoint": done.checkpoint,
        }));
    }
    let mut lines = Vec::new();
    let names: Vec<String> = back.checkpoints.iter().map(short_checkpoint_id).collect();
    let what = format!("run {} of session {} ({})", back.run, back.session, names.join(", "));
    lines.push(match (done.changes.is_empty(), back.dry_run) {
        (true, _) => format!("Nothing to restore: {what}"),
        (false, true) => format!("Would restore: {what}"),
        (false, false) => format!("Restored: {what}"),
    });
    for (path, change) in &done.changes {
        lines.push(format!("  {}  {change}", single_visible_line(path)));
    }
    if !done.already.is_empty() {
        lines.push(format!("Already unchanged: {}", single_visible_line(&done.already.join(", "))));
    }
    if !done.conflicts.is_empty() {
        lines.push("Not restored, because they were changed since:".to_owned());
    }
    for conflict in &done.conflicts {
        let hint = match merge(conflict) {
            "clean" => "the changes do not overlap: --merge merges them",
            "overlaps" => "the same lines were changed: compare with `weir checkpoints diff`",
            _ => "not a text file on every side: compare with `weir checkpoints diff`",
        };
        lines.push(format!("  {}  {hint}", single_visible_line(&conflict.path)));
    }
    if done.checkpoint.is_some() {
        lines.push(format!("To redo the changes: weir undo {} --redo", back.session));
    }
    out_line(&lines.join("\n"))
}
