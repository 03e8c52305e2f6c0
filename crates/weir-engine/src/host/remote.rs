//! Commands to a session that another process or replica has: left in the store as letters, watched
//! in the journal, and taken back where nobody acted on them. Not here: reading letters
//! (`session_loop`).

use std::ops::ControlFlow;

use futures::future::BoxFuture;
use tokio::time::{Instant, timeout};
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::input::PersonCommand;

use super::state::SessionView;
use super::waits::{HEARD_WAIT, HOLDER_LOOK, REMOTE_WAIT};
use super::{HostParts, IsSettled, SentCommand};
use crate::journal::visit_records;
use crate::ports::{RemoteCommand, Store, StoreError, fact_of};

/// The outcome of a letter.
pub(super) enum Delivery {
    /// It did what it was to do, or somebody else had.
    Settled,
    /// It was read, and nothing came of it.
    Refused,
    /// Nobody has the session any more; the letter was taken away.
    Free,
    /// It waits still.
    Late,
}

/// The holder of the session, in words; `None`: nobody has it.
pub(super) async fn find_holder(
    parts: &HostParts,
    id: &SessionId,
) -> Result<Option<String>, StoreError> {
    // Taken for a moment, it would be held for whoever opens the session in that moment.
    match parts.store.check_not_held(id, &parts.owner).await {
        Ok(()) => Ok(None),
        Err(StoreError::Held { holder, .. }) => Ok(Some(holder)),
        Err(error) => Err(error),
    }
}

/// Leaves a letter, and waits until it was acted on or nobody has the session any more.
///
/// # Errors
/// The store refuses.
pub(super) fn deliver_letter<'a>(
    parts: &'a HostParts,
    sent: &'a SentCommand,
    view: &'a mut SessionView,
    is_settled: &'a IsSettled<'a>,
) -> BoxFuture<'a, Result<Delivery, StoreError>> {
    Box::pin(deliver_and_watch(parts, sent, view, is_settled))
}

async fn deliver_and_watch(
    parts: &HostParts,
    sent: &SentCommand,
    view: &mut SessionView,
    is_settled: &IsSettled<'_>,
) -> Result<Delivery, StoreError> {
    let store = parts.store.as_ref();
    let id = &sent.session;
    let yields = matches!(sent.command, PersonCommand::Yield);
    let letter = leave_letter(store, parts.clock.now(), sent).await?;
    let until = Instant::now() + REMOTE_WAIT;
    loop {
        view.catch_up(store).await?;
        if view.read_state(is_settled) {
            return Ok(Delivery::Settled);
        }
        if find_holder(parts, id).await?.is_none() {
            store.discard_remote_command(letter).await?;
            return Ok(Delivery::Free);
        }
        let waits = store.waiting_remote_commands(id).await?.iter().any(|mail| mail.id == letter);
        if !waits && !yields {
            // What it wanted is durable before it is taken away.
            view.catch_up(store).await?;
            let is_done = view.read_state(is_settled);
            return Ok(if is_done { Delivery::Settled } else { Delivery::Refused });
        }
        if Instant::now() >= until {
            // A session that is asked for is given back some other time, or never.
            if yields {
                store.discard_remote_command(letter).await?;
            }
            return Ok(Delivery::Late);
        }
        let seen = view.read_state(|state| state.facts);
        let _ = timeout(HOLDER_LOOK, store.facts_changed(id, seen)).await;
    }
}

/// Leaves a letter, for callers that see to what comes of it themselves; its number.
///
/// # Errors
/// The store refuses.
pub async fn leave_letter(
    store: &dyn Store,
    now: Timestamp,
    sent: &SentCommand,
) -> Result<u64, StoreError> {
    let SentCommand { session, by, command } = sent.clone();
    store.post_remote_command(RemoteCommand { id: 0, session, by, ts: now, command }).await
}

/// What became of a letter that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterFate {
    /// The journal shows the command of the letter.
    Heard,
    /// It was read, and what it says was not accepted.
    Refused,
    /// It was taken back before anybody acted on it.
    TakenBack,
}

/// Takes a letter back that says something in `session` as `client_id`, or finds out what became of
/// it. `since`: a fact before which it cannot have been heard.
///
/// # Errors
/// The store refuses: what became of it is not known.
pub async fn take_letter_back(
    store: &dyn Store,
    session: &SessionId,
    letter: u64,
    client_id: &str,
    since: Seq,
) -> Result<LetterFate, StoreError> {
    let lay_there = store.discard_remote_command(letter).await?;
    if lay_there {
        // Whoever has it looks once more whether it lies there before they say it: who did so just
        // before this has it in the journal soon.
        tokio::time::sleep(HEARD_WAIT).await;
    }
    // What was heard is durable before its letter goes.
    let is_heard = was_heard(store, session, client_id, since).await?;
    Ok(match (is_heard, lay_there) {
        (true, _) => LetterFate::Heard,
        (false, true) => LetterFate::TakenBack,
        (false, false) => LetterFate::Refused,
    })
}

/// Whether the journal has an input of this name after `since`.
///
/// # Errors
/// It cannot be read.
pub async fn was_heard(
    store: &dyn Store,
    session: &SessionId,
    client_id: &str,
    since: Seq,
) -> Result<bool, StoreError> {
    let heard = visit_records(store, session, since + 1, |record| {
        Ok(match fact_of(record)?.event.as_ref() {
            Event::InputAccepted(input) if input.client_id.as_deref() == Some(client_id) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
    });
    Ok(heard.await?.is_some())
}
