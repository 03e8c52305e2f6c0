//! Letters to a session that another process has: left in the store, and waited for in the journal.

use std::sync::Arc;
use std::time::Duration;

use weir_core::ids::SessionId;
use weir_engine::ports::{Letter, Mail, Store, StoreError};
use weir_install::user_space::UserSpace;

use super::fold::{self, Folded};
use crate::app::App;
use crate::problem::Answer;

/// How long the process that has a session may take over a letter.
pub(super) const LETTER_WAIT: Duration = Duration::from_secs(30);
/// How often it is looked whether that process still has it.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long what a session took, or somebody else's answer of the same moment, is waited for.
const SETTLE_WAIT: Duration = Duration::from_secs(1);

/// What came of a letter.
pub(super) enum Delivered<T> {
    /// It did what it was to do, or somebody else had.
    Settled(T),
    /// It was read, and nothing came of it.
    Refused,
    /// Nobody has the session any more.
    Free,
    /// It waits still.
    Late,
}

/// Leaves a letter, and waits until it was acted on or nobody has the session any more.
///
/// # Errors
/// The store refuses.
pub(super) async fn post<T>(
    app: &App,
    home: &Arc<UserSpace>,
    id: &SessionId,
    (letter, by): (Letter, String),
    settled: impl Fn(&Folded) -> Option<T>,
) -> Answer<Delivered<T>> {
    let store = home.store();
    let owner = home.engine().await?.parts().owner.clone();
    let yields = matches!(letter, Letter::Yield);
    let mail = Mail { id: 0, session: id.clone(), by, ts: app.now(), letter };
    let letter = store.post(mail).await?;
    let mut folded = fold::load(store.as_ref(), id).await?;
    let until = tokio::time::Instant::now() + LETTER_WAIT;
    loop {
        folded.catch_up(store.as_ref()).await?;
        if let Some(found) = settled(&folded) {
            return Ok(Delivered::Settled(found));
        }
        match store.acquire(id, &owner).await {
            Ok(lease) => {
                store.release(&lease).await?;
                store.discard(letter).await?;
                return Ok(Delivered::Free);
            }
            Err(StoreError::Held { .. }) => (),
            Err(error) => return Err(error.into()),
        }
        let waits = store.mail(id).await?.iter().any(|mail| mail.id == letter);
        if !waits && !yields {
            folded.catch_up(store.as_ref()).await?;
            return Ok(settled(&folded).map_or(Delivered::Refused, Delivered::Settled));
        }
        if tokio::time::Instant::now() >= until {
            // A session that is asked for is given back some other time, or never.
            if yields {
                store.discard(letter).await?;
            }
            return Ok(Delivered::Late);
        }
        let changed = store.facts_changed(id, folded.session.facts());
        let _ = tokio::time::timeout(LOOK_EVERY, changed).await;
    }
}

/// Follows the journal until `settled`: what the session took is there already, and what somebody
/// else was quicker with is about to be.
///
/// # Errors
/// The journal cannot be read.
pub(super) async fn until<T>(
    folded: &mut Folded,
    store: &dyn Store,
    settled: impl Fn(&Folded) -> Option<T>,
) -> Answer<Option<T>> {
    let until = tokio::time::Instant::now() + SETTLE_WAIT;
    loop {
        folded.catch_up(store).await?;
        if let Some(found) = settled(folded) {
            return Ok(Some(found));
        }
        let (id, seen) = (folded.session.id().clone(), folded.session.facts());
        let changed = store.facts_changed(&id, seen);
        if tokio::time::timeout_at(until, changed).await.is_err() {
            return Ok(None);
        }
    }
}
