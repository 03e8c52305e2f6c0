//! Going back: files as they were (G7), and a copy of the conversation up to there.

use std::sync::Arc;

use weir_core::event::CheckpointRestored;
use weir_core::ids::{Seq, SessionId};
use weir_engine::ports::{CheckpointInfo, Checkpoints, Clock as _, Store};
use weir_engine::rewind::{self, ChangesSince};
use weir_engine::undo::{RestoreOrigin, RestorePlan, compute_restore_plan, perform_restore};
use weir_install::content_difference;
use weir_install::context::InstallationContext;
use weir_install::failure::{engine_failure, usage};
use weir_install::undo::{self, UndoChoice};
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{NoticeTone, RewindScope, SessionTarget, TextKind};

use super::LABEL;
use super::context::LocalContext;
use super::controller::{SessionController, TakeUpError};
use super::reports::ReportText;
use crate::copies;

/// Paths that a line names.
const NAMED_MAX: usize = 5;

/// Copies a session up to and without the input at `before`; the copy's name.
///
/// # Errors
/// There is no such session or input.
pub(super) async fn fork_session(
    context: &LocalContext,
    of: &SessionId,
    before: Option<Seq>,
) -> anyhow::Result<SessionId> {
    let engine = wiring::open_engine(&context.cx, LABEL).await?;
    let until = match before {
        Some(before) => {
            known_message(context.cx.local_store()?.as_ref(), of, before).await?;
            Some(engine.rest_before(of, before).await.map_err(engine_failure)?)
        }
        None => None,
    };
    let fork = wiring::new_session_id();
    engine.fork(of, fork.clone(), until).await.map_err(engine_failure)?;
    Ok(fork)
}

/// What was changed since the input at `before`, also by the originals of a copy.
async fn changes_since(
    cx: &InstallationContext,
    saved: &dyn Checkpoints,
    id: &SessionId,
    before: Seq,
) -> anyhow::Result<ChangesSince> {
    let store = cx.local_store()?;
    known_message(store.as_ref(), id, before).await?;
    let since = rewind::changes_since(store.as_ref(), saved, &cx.folder, id, before);
    since.await.map_err(engine_failure)
}

/// That a message of the person stands at this place.
///
/// # Errors
/// None does.
async fn known_message(store: &dyn Store, id: &SessionId, at: Seq) -> anyhow::Result<()> {
    let records = store.read_records(id, at, 1).await?;
    match records.first().filter(|record| record.kind == "input.accepted") {
        Some(_) => Ok(()),
        None => Err(usage("there is no message of yours at that place")),
    }
}

/// What taking `changes` back would do now. `changes`: the newest first.
async fn plan_restore(
    cx: &InstallationContext,
    saved: &dyn Checkpoints,
    changes: &[CheckpointInfo],
) -> anyhow::Result<RestorePlan> {
    let mut oldest_first = changes.to_vec();
    oldest_first.reverse();
    let workspace = cx.open_workspace()?;
    Ok(compute_restore_plan(saved, &workspace, &oldest_first, &[]).await?)
}

/// What going back to before the input at `before` would change in files.
///
/// # Errors
/// There is no such input, or a file cannot be read.
pub(super) async fn preview_rewind(
    context: &LocalContext,
    before: Seq,
) -> anyhow::Result<ReportText> {
    let shown = context.shown_session();
    let id = shown.id.as_ref().ok_or_else(|| usage("nothing was said yet"))?;
    let saved = wiring::open_checkpoints(&shown.cx);
    let since = changes_since(&shown.cx, saved.as_ref(), id, before).await?;
    let restore = plan_restore(&shown.cx, saved.as_ref(), &since.changes).await?;
    let notes = copies::describe_copied_changes(&since.originals, since.missing.as_ref());
    let notes = notes.iter().map(|note| format!("# {note}\n"));
    let diffs = restore.entries.iter().map(|entry| {
        content_difference::render_unified_diff(&entry.path, &entry.before, &entry.after)
    });
    let mut text: String = notes.chain(diffs).collect();
    let title = match restore.entries.len() {
        0 => "No file would change".to_owned(),
        1 => "1 file would change".to_owned(),
        many => format!("{many} files would change"),
    };
    if !restore.conflicts.is_empty() {
        text.push_str(&format!("\n# {}\n", left_alone(&restore)));
    }
    Ok(ReportText { title, text, kind: TextKind::Diff })
}

/// What the session changed in files, as far as nobody changed it since.
///
/// # Errors
/// Nothing was said yet, or a file cannot be read.
pub(super) async fn session_difference(context: &LocalContext) -> anyhow::Result<ReportText> {
    let shown = context.shown_session();
    let id = shown.id.as_ref().ok_or_else(|| usage("nothing was said yet: nothing changed"))?;
    let saved = wiring::open_checkpoints(&shown.cx);
    let all = undo::list_session_checkpoints(&shown.cx, saved.as_ref(), id).await?;
    let restore = plan_restore(&shown.cx, saved.as_ref(), &all).await?;
    let entries = restore.entries.iter();
    let diffs = entries.map(|entry| {
        content_difference::render_unified_diff(&entry.path, &entry.after, &entry.before)
    });
    let mut text: String = diffs.collect();
    let title = match restore.entries.len() {
        0 => "This session changed no file".to_owned(),
        1 => "This session changed 1 file".to_owned(),
        many => format!("This session changed {many} files"),
    };
    if text.is_empty() {
        text = format!("{title}.\n");
    }
    if !restore.conflicts.is_empty() {
        let paths: Vec<&str> = restore.conflicts.iter().map(|left| left.path.as_str()).collect();
        let named = name_several_paths(&paths);
        text.push_str(&format!("\n# not shown, because somebody changed them since: {named}\n"));
    }
    Ok(ReportText { title, text, kind: TextKind::Diff })
}

fn left_alone(restore: &RestorePlan) -> String {
    let paths: Vec<&str> = restore.conflicts.iter().map(|left| left.path.as_str()).collect();
    format!("left alone, because somebody changed them since: {}", name_several_paths(&paths))
}

fn name_several_paths(paths: &[&str]) -> String {
    let named = paths.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Takes the files of the last run back; done again, they are brought back.
pub(super) async fn undo_last_run(controller: &mut SessionController) {
    if let Err(why) = try_undo(controller).await {
        controller.context.send_notice(NoticeTone::Bad, why).await;
    }
}

async fn try_undo(controller: &mut SessionController) -> Result<(), String> {
    let told = |error: anyhow::Error| format!("{error:#}");
    let shown = controller.context.shown_session();
    let id = shown.id.clone().ok_or("nothing was done yet: there is nothing to undo")?;
    let saved = wiring::open_checkpoints(&shown.cx);
    let all = undo::list_session_checkpoints(&shown.cx, saved.as_ref(), &id).await;
    let all = all.map_err(told)?;
    let changes = undo::choose_checkpoints(all, &UndoChoice::default()).map_err(told)?;
    restore_files(controller, changes).await
}

/// Goes back to before the input at `before`.
pub(super) async fn rewind_session(
    controller: &mut SessionController,
    before: Seq,
    back: RewindScope,
) {
    if let Err(why) = try_rewind(controller, before, back).await {
        controller.context.send_notice(NoticeTone::Bad, why).await;
    }
}

async fn try_rewind(
    controller: &mut SessionController,
    before: Seq,
    back: RewindScope,
) -> Result<(), String> {
    let shown = controller.context.shown_session();
    let of = shown.id.clone().ok_or("nothing was said yet: there is nothing to go back to")?;
    at_rest(controller)?;
    if back != RewindScope::Conversation {
        let saved = wiring::open_checkpoints(&shown.cx);
        let since = changes_since(&shown.cx, saved.as_ref(), &of, before).await;
        let since = since.map_err(|error| format!("{error:#}"))?;
        for note in copies::describe_copied_changes(&since.originals, since.missing.as_ref()) {
            controller.context.send_notice(NoticeTone::Quiet, note).await;
        }
        if since.changes.is_empty() {
            controller.context.send_notice(NoticeTone::Quiet, "no file was changed since").await;
        } else {
            restore_files(controller, since.changes).await?;
        }
    }
    if back != RewindScope::Files {
        let which = SessionTarget::Fork { of, before: Some(before) };
        let opened = controller.open_session(which, false).await;
        opened.map_err(|error| format!("the conversation cannot go back: {error:#}"))?;
    }
    Ok(())
}

fn at_rest(controller: &SessionController) -> Result<(), String> {
    match controller.context.shown_session().read_state(|state| state.run) {
        Some(_) => Err("a run is on: end it first, then go back".into()),
        None => Ok(()),
    }
}

/// Puts files back and notes it in the session, which nobody else runs meanwhile. `changes`: the
/// newest first.
async fn restore_files(
    controller: &mut SessionController,
    changes: Vec<CheckpointInfo>,
) -> Result<(), String> {
    at_rest(controller)?;
    let live = match controller.take_up(None).await {
        Ok(live) => live,
        Err(TakeUpError::Held(holder)) => return Err(format!("{holder} has this session now")),
        Err(TakeUpError::Failed(why)) => return Err(why),
    };
    let context: Arc<LocalContext> = controller.context.clone();
    let shown = context.shown_session();
    let cx = shown.cx.clone();
    let told = |error: anyhow::Error| format!("{error:#}");
    let saved = wiring::open_checkpoints(&cx);
    let restore = plan_restore(&cx, saved.as_ref(), &changes).await.map_err(told)?;
    let conflicts: Vec<String> = restore.conflicts.iter().map(|left| left.path.clone()).collect();
    let left = (!conflicts.is_empty()).then(|| left_alone(&restore));
    let run = changes.first().map(|info| info.run.clone()).unwrap_or_default();
    let id = live.handle().id().clone();
    let origin = RestoreOrigin { session: id, run, ts: SystemClock::default().now() };
    let workspace = cx.open_workspace().map_err(told)?;
    let applied = perform_restore(saved.as_ref(), &workspace, restore, origin).await;
    let applied = applied.map_err(|error| error.to_string())?;
    let Some((checkpoint, paths)) = applied else {
        let text = left.unwrap_or_else(|| "every file is as it was before already".into());
        context.send_notice(NoticeTone::Quiet, text).await;
        return Ok(());
    };
    let named = name_several_paths(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    let by = wiring::principal_name(&cx);
    let fact = CheckpointRestored { checkpoint, call: None, paths, conflicts, by };
    live.handle().record_restore(fact).await.map_err(|error| error.to_string())?;
    let left = left.map(|left| format!("; {left}")).unwrap_or_default();
    context
        .send_notice(NoticeTone::Good, format!("put back: {named}{left}; `/undo` brings it back"))
        .await;
    Ok(())
}
