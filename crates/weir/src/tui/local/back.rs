//! Going back: files as they were (G7), and a copy of the conversation up to there.

use std::sync::Arc;

use weir_core::event::CheckpointRestored;
use weir_core::ids::{Seq, SessionId};
use weir_engine::ports::{CheckpointInfo, Clock as _, Store};
use weir_engine::rewind::{self, Since};
use weir_engine::undo::{Restore, RestoreOrigin, apply, plan};
use weir_install::cx::Cx;
use weir_install::wiring::{self, SystemClock};
use weir_tui::link::{Back, TextKind, Tone, Which};

use super::LABEL;
use super::desk::Desk;
use super::keeper::{Away, Keeper};
use super::reports::Text;
use crate::command::checkpoints::difference;
use crate::command::undo::{chosen, with_agents};
use crate::failure::{engine_failure, usage};
use crate::options::{JsonFlag, UndoArgs};
use crate::tui::copies;

/// Paths that a line names.
const NAMED_MAX: usize = 5;

/// Copies a session up to and without the input at `before`; the copy's name.
///
/// # Errors
/// There is no such session or input.
pub(super) async fn forked(
    desk: &Desk,
    of: &SessionId,
    before: Option<Seq>,
) -> anyhow::Result<SessionId> {
    let engine = wiring::engine(&desk.cx, LABEL)?;
    let until = match before {
        Some(before) => {
            known_message(desk.cx.store()?.as_ref(), of, before).await?;
            Some(engine.rest_before(of, before).await.map_err(engine_failure)?)
        }
        None => None,
    };
    let fork = wiring::new_session_id();
    engine.fork(of, fork.clone(), until).await.map_err(engine_failure)?;
    Ok(fork)
}

/// What was changed since the input at `before`, also by the originals of a copy.
async fn changes_since(cx: &Cx, id: &SessionId, before: Seq) -> anyhow::Result<Since> {
    let (store, checkpoints) = (cx.store()?, wiring::checkpoints(cx));
    known_message(store.as_ref(), id, before).await?;
    let since = rewind::since(store.as_ref(), checkpoints.as_ref(), &cx.folder, id, before);
    since.await.map_err(engine_failure)
}

/// That a message of the person stands at this place.
///
/// # Errors
/// None does.
async fn known_message(store: &dyn Store, id: &SessionId, at: Seq) -> anyhow::Result<()> {
    let records = store.read(id, at, 1).await?;
    match records.first().filter(|record| record.kind == "input.accepted") {
        Some(_) => Ok(()),
        None => Err(usage("there is no message of yours at that place")),
    }
}

/// What taking `changes` back would do now. `changes`: the newest first.
async fn planned(cx: &Cx, changes: &[CheckpointInfo]) -> anyhow::Result<Restore> {
    let mut oldest_first = changes.to_vec();
    oldest_first.reverse();
    let workspace = cx.workspace()?;
    Ok(plan(wiring::checkpoints(cx).as_ref(), &workspace, &oldest_first, &[]).await?)
}

/// What going back to before the input at `before` would change in files.
///
/// # Errors
/// There is no such input, or a file cannot be read.
pub(super) async fn preview(desk: &Desk, before: Seq) -> anyhow::Result<Text> {
    let room = desk.room();
    let id = room.id.as_ref().ok_or_else(|| usage("nothing was said yet"))?;
    let since = changes_since(&room.cx, id, before).await?;
    let restore = planned(&room.cx, &since.changes).await?;
    let notes = copies::notes(&since.originals, since.missing.as_ref());
    let notes = notes.iter().map(|note| format!("# {note}\n"));
    let diffs = restore
        .entries
        .iter()
        .map(|entry| difference::unified(&entry.path, &entry.before, &entry.after));
    let mut text: String = notes.chain(diffs).collect();
    let title = match restore.entries.len() {
        0 => "No file would change".to_owned(),
        1 => "1 file would change".to_owned(),
        many => format!("{many} files would change"),
    };
    if !restore.conflicts.is_empty() {
        text.push_str(&format!("\n# {}\n", left_alone(&restore)));
    }
    Ok(Text { title, text, kind: TextKind::Diff })
}

/// What the session changed in files, as far as nobody changed it since.
///
/// # Errors
/// Nothing was said yet, or a file cannot be read.
pub(super) async fn difference(desk: &Desk) -> anyhow::Result<Text> {
    let room = desk.room();
    let id = room.id.as_ref().ok_or_else(|| usage("nothing was said yet: nothing changed"))?;
    let all = with_agents(&room.cx, id).await?;
    let restore = planned(&room.cx, &all).await?;
    let entries = restore.entries.iter();
    let diffs = entries.map(|entry| difference::unified(&entry.path, &entry.after, &entry.before));
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
        let named = several(&paths);
        text.push_str(&format!("\n# not shown, because somebody changed them since: {named}\n"));
    }
    Ok(Text { title, text, kind: TextKind::Diff })
}

fn left_alone(restore: &Restore) -> String {
    let paths: Vec<&str> = restore.conflicts.iter().map(|left| left.path.as_str()).collect();
    format!("left alone, because somebody changed them since: {}", several(&paths))
}

fn several(paths: &[&str]) -> String {
    let named = paths.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Takes the files of the last run back; done again, they are brought back.
pub(super) async fn undo(keeper: &mut Keeper) {
    if let Err(why) = undone(keeper).await {
        keeper.desk.notice(Tone::Bad, why).await;
    }
}

async fn undone(keeper: &mut Keeper) -> Result<(), String> {
    let told = |error: anyhow::Error| format!("{error:#}");
    let room = keeper.desk.room();
    let id = room.id.clone().ok_or("nothing was done yet: there is nothing to undo")?;
    let all = with_agents(&room.cx, &id).await.map_err(told)?;
    let newest_run = UndoArgs {
        session: None,
        run: None,
        paths: Vec::new(),
        redo: false,
        dry_run: false,
        merge: false,
        json: JsonFlag::default(),
    };
    let changes = chosen(all, &newest_run).map_err(told)?;
    restored(keeper, changes).await
}

/// Goes back to before the input at `before`.
pub(super) async fn rewind(keeper: &mut Keeper, before: Seq, back: Back) {
    if let Err(why) = rewound(keeper, before, back).await {
        keeper.desk.notice(Tone::Bad, why).await;
    }
}

async fn rewound(keeper: &mut Keeper, before: Seq, back: Back) -> Result<(), String> {
    let room = keeper.desk.room();
    let of = room.id.clone().ok_or("nothing was said yet: there is nothing to go back to")?;
    at_rest(keeper)?;
    if back != Back::Conversation {
        let since = changes_since(&room.cx, &of, before).await;
        let since = since.map_err(|error| format!("{error:#}"))?;
        for note in copies::notes(&since.originals, since.missing.as_ref()) {
            keeper.desk.notice(Tone::Quiet, note).await;
        }
        if since.changes.is_empty() {
            keeper.desk.notice(Tone::Quiet, "no file was changed since").await;
        } else {
            restored(keeper, since.changes).await?;
        }
    }
    if back != Back::Files {
        let which = Which::Fork { of, before: Some(before) };
        let opened = keeper.open(which, false).await;
        opened.map_err(|error| format!("the conversation cannot go back: {error:#}"))?;
    }
    Ok(())
}

fn at_rest(keeper: &Keeper) -> Result<(), String> {
    match keeper.desk.room().read_state(|state| state.run) {
        Some(_) => Err("a run is on: end it first, then go back".into()),
        None => Ok(()),
    }
}

/// Puts files back and notes it in the session, which nobody else runs meanwhile. `changes`: the
/// newest first.
async fn restored(keeper: &mut Keeper, changes: Vec<CheckpointInfo>) -> Result<(), String> {
    at_rest(keeper)?;
    let live = match keeper.take_up(None).await {
        Ok(live) => live,
        Err(Away::Held(holder)) => return Err(format!("{holder} has this session now")),
        Err(Away::Failed(why)) => return Err(why),
    };
    let desk: Arc<Desk> = keeper.desk.clone();
    let room = desk.room();
    let cx = room.cx.clone();
    let told = |error: anyhow::Error| format!("{error:#}");
    let restore = planned(&cx, &changes).await.map_err(told)?;
    let conflicts: Vec<String> = restore.conflicts.iter().map(|left| left.path.clone()).collect();
    let left = (!conflicts.is_empty()).then(|| left_alone(&restore));
    let run = changes.first().map(|info| info.run.clone()).unwrap_or_default();
    let id = live.handle.id().clone();
    let origin = RestoreOrigin { session: id, run, ts: SystemClock::default().now() };
    let workspace = cx.workspace().map_err(told)?;
    let applied = apply(wiring::checkpoints(&cx).as_ref(), &workspace, restore, origin).await;
    let applied = applied.map_err(|error| error.to_string())?;
    let Some((checkpoint, paths)) = applied else {
        let text = left.unwrap_or_else(|| "every file is as it was before already".into());
        desk.notice(Tone::Quiet, text).await;
        return Ok(());
    };
    let named = several(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    let by = wiring::principal(&cx);
    let fact = CheckpointRestored { checkpoint, call: None, paths, conflicts, by };
    live.handle.restored(fact).await.map_err(|error| error.to_string())?;
    let left = left.map(|left| format!("; {left}")).unwrap_or_default();
    desk.notice(Tone::Good, format!("put back: {named}{left}; `/undo` brings it back")).await;
    Ok(())
}
