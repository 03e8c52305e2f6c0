//! Reading the journal of a session from the store: folded, record by record, or whole with its hash
//! chain checked. Not here: writing it (`ledger`, `pen`).

use std::ops::ControlFlow;

use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::{GENESIS, Record, verify_chain};
use weir_core::session::Session;

use crate::error::EngineError;
use crate::ports::{Store, StoreError, fact_of};

/// Records read at once.
const READ_BATCH: usize = 4_096;

/// A session folded from its journal.
pub struct Loaded {
    /// The fold.
    pub session: Session,
    /// The last record of the journal.
    pub last: Option<Record>,
    /// When it was opened.
    pub created: weir_core::ids::Timestamp,
    /// The session it was forked from.
    pub parent: Option<SessionId>,
}

/// Folds the journal of `id`.
///
/// # Errors
/// There is none, or it cannot be read.
pub async fn load(store: &dyn Store, id: &SessionId) -> Result<Loaded, EngineError> {
    let mut session = Session::new(id.clone());
    let mut loaded_last = None;
    let mut created = weir_core::ids::Timestamp::default();
    let mut parent = None;
    loop {
        let records = store.read_records(id, session.fact_count() + 1, READ_BATCH).await?;
        for record in &records {
            let fact = fact_of(record)?;
            if let Event::SessionOpened(opened) = fact.event.as_ref() {
                created = fact.ts;
                parent.clone_from(&opened.parent);
            }
            session.apply(fact.ts, &fact.event);
        }
        let done = records.len() < READ_BATCH;
        loaded_last = records.into_iter().last().or(loaded_last);
        if done {
            break;
        }
    }
    if session.fact_count() == 0 {
        return Err(EngineError::Session(format!("there is no session {id}")));
    }
    Ok(Loaded { session, last: loaded_last, created, parent })
}

/// Visits the records from `from` on, in their order, until `visit` breaks; what it broke with, or
/// `None` at the end of the journal.
///
/// # Errors
/// The journal cannot be read, or what `visit` says.
pub async fn visit_records<B>(
    store: &dyn Store,
    session: &SessionId,
    mut from: Seq,
    mut visit: impl FnMut(&Record) -> Result<ControlFlow<B>, StoreError>,
) -> Result<Option<B>, StoreError> {
    loop {
        let records = store.read_records(session, from, READ_BATCH).await?;
        for record in &records {
            if let ControlFlow::Break(found) = visit(record)? {
                return Ok(Some(found));
            }
        }
        if records.len() < READ_BATCH {
            return Ok(None);
        }
        from += records.len() as Seq;
    }
}

/// All records of a session, with its hash chain checked.
///
/// # Errors
/// It cannot be read, or its chain is broken: the first break is named.
pub async fn read_verified(store: &dyn Store, id: &SessionId) -> Result<Vec<Record>, EngineError> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let from = records.len() as Seq + 1;
        let batch = store.read_records(id, from, READ_BATCH).await?;
        let done = batch.len() < READ_BATCH;
        records.extend(batch);
        if done {
            break;
        }
    }
    verify_chain(GENESIS, 1, &records).map_err(|error| {
        EngineError::Store(StoreError::Damaged {
            what: format!("the journal of session {id}"),
            why: error.to_string(),
        })
    })?;
    Ok(records)
}
