//! When the fold of a session is kept beside its journal, and how a session is opened from it (Q10). Not
//! here: what a snapshot holds and vouches for (`weir_core::session::SessionSnapshot`), and where it lies
//! (the store).
//!
//! Nobody waits for one to be written, and nothing depends on one: whatever is wrong with it, the journal
//! is folded from its beginning, and what did not fit is dropped.

use std::sync::Arc;

use futures::future::BoxFuture;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::Record;
use weir_core::session::{Session, SessionSnapshot, SnapshotError};

use crate::blocking::run_blocking;
use crate::ledger::JournalWriter;
use crate::ports::{PublishedFact, Store, StoreError, fact_of};

/// Facts after which the fold of a session is kept again, unless the program says otherwise: to fold so
/// many takes some 40 ms, and to keep the fold of a full window as long as a few turns.
pub const SNAPSHOT_EVERY: Seq = 1_000;

/// Sees to it that the fold of a running session is kept now and then.
pub(crate) struct SnapshotKeeper {
    /// Facts after which it is kept again; 0: never.
    every: Seq,
    /// Facts of the last one.
    kept: Seq,
}

impl SnapshotKeeper {
    /// `kept`: facts of the snapshot that the session was opened from; 0: there was none.
    pub(crate) fn new(every: Seq, kept: Seq) -> SnapshotKeeper {
        SnapshotKeeper { every, kept }
    }

    /// The work of keeping `session` as it is now, where that is due and all its facts are durable. It
    /// may be done beside whatever follows, and its failure concerns nobody.
    pub(crate) fn keep_if_due(
        &mut self,
        session: &Session,
        ledger: &JournalWriter,
        store: &Arc<dyn Store>,
    ) -> Option<BoxFuture<'static, ()>> {
        let due = self.every > 0 && session.fact_count().saturating_sub(self.kept) >= self.every;
        let hash = ledger.durable_hash().filter(|_| due)?.to_owned();
        self.kept = session.fact_count();
        let (session, store) = (session.clone(), store.clone());
        Some(Box::pin(async move {
            if let Err(error) = keep_snapshot(store.as_ref(), session, hash).await {
                tracing::warn!(%error, "the fold of a session was not kept: it opens slower");
            }
        }))
    }
}

/// Writes down the fold of a session whose last record has this hash.
async fn keep_snapshot(
    store: &dyn Store,
    session: Session,
    hash: String,
) -> Result<(), StoreError> {
    let failed =
        |why: String| StoreError::Io { doing: "keeping the fold of a session".into(), why };
    // A megabyte of JSON and its hash: not on a thread that others wait for.
    let made = run_blocking(move || session.to_snapshot(hash)).await;
    let made = made.map_err(|error| failed(error.to_string()))?;
    let snapshot = made.map_err(|error| failed(error.to_string()))?;
    store.write_snapshot(&snapshot).await
}

/// The fold that is kept of a session, with the record of its journal after which it was made; `None`:
/// there is none that fits.
pub(crate) fn find_snapshot<'a>(
    store: &'a dyn Store,
    id: &'a SessionId,
) -> BoxFuture<'a, Result<Option<(Session, Record)>, StoreError>> {
    Box::pin(read_snapshot(store, id))
}

async fn read_snapshot(
    store: &dyn Store,
    id: &SessionId,
) -> Result<Option<(Session, Record)>, StoreError> {
    let snapshot = match store.read_snapshot(id).await {
        Ok(Some(snapshot)) => snapshot,
        Ok(None) => return Ok(None),
        Err(error) => {
            tracing::warn!(session = %id, %error, "the kept fold cannot be read: all is folded");
            return Ok(None);
        }
    };
    match restore_at_its_record(store, id, &snapshot).await? {
        Ok(found) => Ok(Some(found)),
        Err(why) => {
            // Of another version of the program, which may run beside this one: it is still good there.
            if matches!(why, SnapshotError::OtherFormat { .. }) {
                tracing::debug!(session = %id, %why, "the kept fold is not used");
                return Ok(None);
            }
            tracing::warn!(session = %id, %why, "the kept fold is dropped: all is folded");
            if let Err(error) = store.drop_snapshot(id).await {
                tracing::debug!(session = %id, %error, "the kept fold cannot be dropped");
            }
            Ok(None)
        }
    }
}

/// The facts up to the end of `session` that ask a person something, or answer: what everybody was asked
/// is not in the fold.
pub(crate) async fn read_asks(
    store: &dyn Store,
    session: &Session,
) -> Result<Vec<PublishedFact>, StoreError> {
    let records = store.ask_facts(session.id()).await?;
    let so_far = records.iter().filter(|record| record.seq <= session.fact_count());
    so_far.map(fact_of).collect()
}

/// What a snapshot holds, where the journal's own record at its place is the one that it was made after.
async fn restore_at_its_record(
    store: &dyn Store,
    id: &SessionId,
    snapshot: &SessionSnapshot,
) -> Result<Result<(Session, Record), SnapshotError>, StoreError> {
    let records = store.read_records(id, snapshot.seq, 1).await?;
    let last = records.into_iter().next().filter(|record| snapshot.is_made_after(record));
    let Some(last) = last else { return Ok(Err(SnapshotError::OtherPlace)) };
    Ok(snapshot.restore(id).map(|session| (session, last)))
}
