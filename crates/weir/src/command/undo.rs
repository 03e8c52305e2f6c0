//! `weir undo`: the file changes of a run, taken back and brought back (G7).
//!
//! What is put back is worked out by the engine, and taken back by the installation; here it is named
//! and shown.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_core::ids::SessionId;
use weir_engine::family;
use weir_engine::ports::{CheckpointFilter, CheckpointInfo, Checkpoints};
use weir_engine::undo::{Merge, UndoConflict};
use weir_install::context::InstallationContext;
use weir_install::session_ids;
use weir_install::undo::{self, UndoChoice, UndoRequest, UndoResult};
use weir_install::wiring;
use weir_install::worktrees::{RUN_OF_MERGE, project_of_copy, project_of_removed_copy};

use super::checkpoints::{resolve_named_paths, short_checkpoint_id};
use super::sessions::{meta, single_visible_line};
use crate::failure::{exit, usage};
use crate::options::UndoArgs;
use crate::terminal::{out_json, out_line};

/// What is to be taken back, and how it is told.
pub(super) struct TakeBack {
    /// What; its checkpoints the newest first.
    pub(super) request: UndoRequest,
    /// It undoes an undo: what a run changed comes back.
    pub(super) brings_back: bool,
    /// Change nothing.
    pub(super) dry_run: bool,
    /// Print JSON.
    pub(super) json: bool,
}

pub(crate) async fn undo_run_changes(
    cx: &InstallationContext,
    args: UndoArgs,
) -> anyhow::Result<ExitCode> {
    // For all that follows: whoever opens them anew reads the end of their log again.
    let saved = wiring::open_checkpoints(cx);
    let (there, session) = match &args.session {
        Some(text) => {
            let store = cx.local_store()?;
            let id = session_ids::find_session_id(store.as_ref(), text).await?;
            let folder = meta(store.as_ref(), &id).await?.workspace;
            (place_of_changes(cx, saved.as_ref(), &id, Path::new(&folder)).await?, Some(id))
        }
        None => (cx.in_folder(&cx.folder)?, None),
    };
    let all = changes_of(&there, saved.as_ref(), session).await?;
    let workspace = there.open_workspace()?;
    let only = resolve_named_paths(&workspace, &args.paths, &all.iter().collect::<Vec<_>>())?;
    let touched = |info: &CheckpointInfo| {
        only.is_empty() || info.changes.iter().any(|change| only.contains(&change.path))
    };
    let all: Vec<CheckpointInfo> = all.into_iter().filter(touched).collect();
    let choice = UndoChoice { run: args.run, redo: args.redo };
    let checkpoints = undo::choose_checkpoints(all.clone(), &choice)?;
    let newest = &checkpoints[0];
    let brings_back = undoes_an_undo(&all, newest);
    let request = UndoRequest {
        session: family::root_session(&newest.session),
        run: newest.run.clone(),
        call: None,
        only,
        merge: args.merge,
        checkpoints,
    };
    let (dry_run, json) = (args.dry_run, args.json.json);
    take_back(&there, saved.as_ref(), TakeBack { request, brings_back, dry_run, json }).await
}

/// Whether taking `chosen` back brings changes of its run back: it is an undo that took away what the run
/// had left, of some path at least. Of a merge this is not told: it has no call either.
fn undoes_an_undo(all: &[CheckpointInfo], chosen: &CheckpointInfo) -> bool {
    // The newest comes first.
    let left_by_run = |path: &str| {
        all.iter()
            .filter(|info| info.call.is_some() && info.run == chosen.run)
            .flat_map(|info| &info.changes)
            .find(|change| change.path == path)
            .map(|change| &change.after)
    };
    chosen.call.is_none()
        && chosen.run != RUN_OF_MERGE
        && chosen.changes.iter().any(|change| left_by_run(&change.path) == Some(&change.before))
}

/// Where changes of a session are taken back: in its folder. Of one that works in a worktree, what was
/// taken over into the project is taken back by whoever stands there; where the worktree was removed,
/// nothing else is left.
async fn place_of_changes(
    cx: &InstallationContext,
    saved: &dyn Checkpoints,
    id: &SessionId,
    folder: &Path,
) -> anyhow::Result<InstallationContext> {
    if let Some(project) = project_of_removed_copy(folder) {
        return cx.in_folder(&project);
    }
    if project_of_copy(folder).is_some_and(|project| project == cx.folder) {
        let here = cx.in_folder(&cx.folder)?;
        if !undo::list_session_checkpoints(&here, saved, id).await?.is_empty() {
            return Ok(here);
        }
    }
    cx.in_folder(folder)
}

/// All checkpoints of a session, newest first: of the one that is named, or of that which changed
/// the folder last.
async fn changes_of(
    cx: &InstallationContext,
    saved: &dyn Checkpoints,
    session: Option<SessionId>,
) -> anyhow::Result<Vec<CheckpointInfo>> {
    let folder = cx.folder.display();
    if let Some(session) = session {
        let found =
            undo::list_session_checkpoints(cx, saved, &family::root_session(&session)).await?;
        if found.is_empty() {
            return Err(usage(format!(
                "there is nothing to undo: session {session} changed no file in {folder} (`weir \
                 checkpoints list` lists what did)"
            )));
        }
        return Ok(found);
    }
    let newest = CheckpointFilter { session: None, limit: Some(1) };
    let newest = saved.list(&cx.folder, &newest).await?;
    let Some(newest) = newest.into_iter().next() else {
        return Err(usage(format!(
            "there is nothing to undo: no file changes are recorded for {folder} (use -C for \
             another folder; `weir sessions list` lists sessions)"
        )));
    };
    undo::list_session_checkpoints(cx, saved, &family::root_session(&newest.session)).await
}

/// Takes changes back, or says what that would do.
pub(super) async fn take_back(
    cx: &InstallationContext,
    saved: &dyn Checkpoints,
    mut back: TakeBack,
) -> anyhow::Result<ExitCode> {
    back.request.checkpoints.reverse();
    let done = match back.dry_run {
        true => undo::preview_undo(cx, saved, &back.request).await?,
        false => undo::perform_undo(cx, saved, &back.request, "weir undo").await?,
    };
    show_undo_result(&back, &done)?;
    let left = !done.conflicts.is_empty();
    Ok(if left { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
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
            "session": back.request.session,
            "run": back.request.run,
            "call": back.request.call,
            "checkpoints": back.request.checkpoints.iter().map(|info| &info.id).collect::<Vec<_>>(),
            "dry_run": back.dry_run,
            "restored": restored.collect::<Vec<_>>(),
            "conflicts": conflicts.collect::<Vec<_>>(),
            "already": done.already,
            "checkpoint": done.checkpoint,
        }));
    }
    let mut lines = Vec::new();
    let UndoRequest { session, run, checkpoints, .. } = &back.request;
    let names: Vec<String> = checkpoints.iter().map(short_checkpoint_id).collect();
    let what = format!("run {run} of session {session} ({})", names.join(", "));
    lines.push(match (done.changes.is_empty(), back.dry_run, back.brings_back) {
        (true, ..) => format!("Nothing to restore: {what}"),
        (false, true, false) => format!("Would restore: {what}"),
        (false, true, true) => format!("Would bring back: {what}"),
        (false, false, false) => format!("Restored: {what}"),
        (false, false, true) => format!("Brought back: {what}"),
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
    if done.checkpoint.is_some() && back.brings_back {
        lines.push(format!(
            "That undid the undo of run {run}. To undo the run again: weir undo {session}; an earlier \
             one: weir undo {session} --run RUN"
        ));
    } else if done.checkpoint.is_some() {
        lines.push(format!("To redo the changes: weir undo {session} --redo"));
    }
    out_line(&lines.join("\n"))
}
