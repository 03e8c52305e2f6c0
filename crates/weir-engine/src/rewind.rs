//! Going back to before a message: which changes of files there were since, of the session, of its
//! sub-agents, and of the sessions that it is a copy of. Reads only. Not here: taking them back
//! (`undo`), and the copy of the conversation (`fork`).

use std::ops::ControlFlow;
use std::path::Path;

use futures::future::BoxFuture;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::sorting::sort_stably_by_key;

use crate::error::EngineError;
use crate::family;
use crate::journal::visit_records;
use crate::ports::{CheckpointFilter, CheckpointInfo, Checkpoints, Store, fact_of};

/// Copies of copies whose originals are looked at.
const ORIGINALS_MAX: usize = 32;
/// What was changed since a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangesSince {
    /// The changes, the newest first.
    pub changes: Vec<CheckpointInfo>,
    /// The sessions that this one is a copy of and whose changes are among them, the nearest first.
    pub originals: Vec<SessionId>,
    /// An original that may have changed files since and is not there any more: what it changed
    /// cannot be taken back.
    pub missing: Option<SessionId>,
}

/// Checkpoints of a session and its sub-agents, newest first, each with the run of the session that
/// it was made for (M6).
///
/// # Errors
/// They, or a journal, cannot be read.
pub async fn session_checkpoints(
    store: &dyn Store,
    checkpoints: &dyn Checkpoints,
    folder: &Path,
    session: &SessionId,
) -> Result<Vec<CheckpointInfo>, EngineError> {
    family_checkpoints(store, checkpoints, folder, session).await
}

/// The same. Boxed: so it is compiled here, and not by each crate that awaits it (Q23).
fn family_checkpoints<'a>(
    store: &'a dyn Store,
    checkpoints: &'a dyn Checkpoints,
    folder: &'a Path,
    session: &'a SessionId,
) -> BoxFuture<'a, Result<Vec<CheckpointInfo>, EngineError>> {
    Box::pin(list_family_checkpoints(store, checkpoints, folder, session))
}

async fn list_family_checkpoints(
    store: &dyn Store,
    checkpoints: &dyn Checkpoints,
    folder: &Path,
    session: &SessionId,
) -> Result<Vec<CheckpointInfo>, EngineError> {
    let of = |id: &SessionId| CheckpointFilter { session: Some(id.clone()), limit: None };
    let mut all = checkpoints.list(folder, &of(session)).await?;
    for member in family::list_sub_agents(store, session).await? {
        let found = checkpoints.list(folder, &of(&member.session)).await?;
        let run = member.run.to_string();
        all.extend(found.into_iter().map(|info| CheckpointInfo { run: run.clone(), ..info }));
    }
    sort_stably_by_key(&mut all, |info| std::cmp::Reverse(info.ts));
    Ok(all)
}

/// What was changed since the input at `before`. Where the session is a copy, and this input was
/// copied with it, changes of the original count too, also those that it made after the copy was:
/// files are to be as they were before that input.
///
/// # Errors
/// There is no input at this place, or something cannot be read.
pub async fn changes_since(
    store: &dyn Store,
    checkpoints: &dyn Checkpoints,
    folder: &Path,
    session: &SessionId,
    before: Seq,
) -> Result<ChangesSince, EngineError> {
    let none = || EngineError::Session(format!("session {session} has no input at fact {before}"));
    let said = input_at(store, session, before).await?.ok_or_else(none)?;
    let later = |info: &CheckpointInfo| info.ts >= said.0;
    let mut since = ChangesSince::default();
    let own = family_checkpoints(store, checkpoints, folder, session).await?;
    since.changes.extend(own.into_iter().filter(later));
    let mut at = session.clone();
    for depth in 0.. {
        let Some(original) = store.session_meta(&at).await?.and_then(|meta| meta.parent) else {
            break;
        };
        let is_there = store.session_meta(&original).await?.is_some_and(|meta| meta.facts > 0);
        if !is_there || depth >= ORIGINALS_MAX {
            since.missing = may_be_copied(store, &at, before).await?.then_some(original);
            break;
        }
        if input_at(store, &original, before).await?.as_ref() != Some(&said) {
            // It was said in the copy: what the original did since is its own affair.
            break;
        }
        let before = since.changes.len();
        let found = family_checkpoints(store, checkpoints, folder, &original).await?;
        since.changes.extend(found.into_iter().filter(later));
        if since.changes.len() > before {
            since.originals.push(original.clone());
        }
        at = original;
    }
    sort_stably_by_key(&mut since.changes, |info| std::cmp::Reverse(info.ts));
    Ok(since)
}

/// The input at this place, and when it was said.
async fn input_at(
    store: &dyn Store,
    session: &SessionId,
    at: Seq,
) -> Result<Option<(Timestamp, Event)>, EngineError> {
    let records = store.read_records(session, at, 1).await?;
    let Some(record) = records.first() else { return Ok(None) };
    let fact = fact_of(record)?;
    Ok(match fact.event.as_ref() {
        Event::InputAccepted(_) if fact.seq == at => Some((fact.ts, (*fact.event).clone())),
        _ => None,
    })
}

/// Whether what stands at `at` may have been copied into this session: what was copied ends with a
/// resumption. A copy that was taken up again has more of them, so it is not certain.
async fn may_be_copied(store: &dyn Store, copy: &SessionId, at: Seq) -> Result<bool, EngineError> {
    let resumption = visit_records(store, copy, at, |record| {
        Ok(match record.kind == "session.resumed" {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    Ok(resumption.await?.is_some())
}
