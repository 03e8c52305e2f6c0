//! Reading the journal of a session from the store: folded, record by record, or whole with its hash
//! chain checked. Not here: writing it (`ledger`, `pen`), and when its fold is kept (`snapshots`).
//!
//! Whoever opens a session reads the facts since its last snapshot ([`load`]); whoever proves one reads
//! them all ([`read_verified`], and batch by batch [`VerifiedRecords`]).

use std::ops::ControlFlow;

use futures::future::BoxFuture;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::record::{GENESIS, Record, verify_chain};
use weir_core::session::Session;

use crate::error::EngineError;
use crate::ports::{PublishedFact, Store, StoreError, fact_of};
use crate::snapshots::find_snapshot;

/// Records read at once: all of them are in memory together, beside what is made of them (Q5, Q21).
const READ_BATCH: usize = 128;

/// A session folded from its journal.
pub struct Loaded {
    /// The fold.
    pub session: Session,
    /// The last record of the journal.
    pub last: Option<Record>,
    /// When it was opened.
    pub created: Timestamp,
    /// The session it was forked from.
    pub parent: Option<SessionId>,
    /// Facts of the snapshot that it was opened from; 0: all were folded.
    pub snapshot: Seq,
}

/// Folds the journal of `id`, from the fold that is kept of its beginning where there is one that fits.
/// It fits when this very program made it, its bytes are those that were written, and the journal's own
/// record at its place has the hash of the record that it was made after. Records are trusted as they are
/// read; their chain is followed by [`read_verified`].
///
/// # Errors
/// There is none, or it cannot be read.
pub async fn load(store: &dyn Store, id: &SessionId) -> Result<Loaded, EngineError> {
    load_from_fold(store, id).await?.ok_or_else(|| no_such_session(id))
}

/// The same; `None`: there is no such session.
///
/// # Errors
/// It cannot be read.
pub async fn load_if_any(store: &dyn Store, id: &SessionId) -> Result<Option<Loaded>, EngineError> {
    load_from_fold(store, id).await
}

/// The same. Boxed: so it is compiled here, and not by each crate that awaits it (Q23).
fn load_from_fold<'a>(
    store: &'a dyn Store,
    id: &'a SessionId,
) -> BoxFuture<'a, Result<Option<Loaded>, EngineError>> {
    Box::pin(async move {
        let Some((session, last)) = find_snapshot(store, id).await? else {
            return fold_if_any(store, id).await;
        };
        let first = store.read_records(id, 1, 1).await?;
        let opened = first.first().map(fact_of).transpose()?;
        let mut loaded = Loaded::from_fold(session);
        if let Some(fact) = opened {
            loaded.note_opening(&fact);
        }
        (loaded.snapshot, loaded.last) = (last.seq, Some(last));
        loaded.fold_rest(store).await?;
        Ok(Some(loaded))
    })
}

/// Folds the whole journal of `id`, fact by fact.
///
/// # Errors
/// There is none, or it cannot be read.
pub async fn fold_journal(store: &dyn Store, id: &SessionId) -> Result<Loaded, EngineError> {
    fold_if_any(store, id).await?.ok_or_else(|| no_such_session(id))
}

async fn fold_if_any(store: &dyn Store, id: &SessionId) -> Result<Option<Loaded>, EngineError> {
    let mut loaded = Loaded::from_fold(Session::new(id.clone()));
    loaded.fold_rest(store).await?;
    Ok((loaded.session.fact_count() > 0).then_some(loaded))
}

fn no_such_session(id: &SessionId) -> EngineError {
    EngineError::Session(format!("there is no session {id}"))
}

impl Loaded {
    fn from_fold(session: Session) -> Loaded {
        let created = Timestamp::default();
        Loaded { session, last: None, created, parent: None, snapshot: 0 }
    }

    /// What the fact says that began the session.
    fn note_opening(&mut self, fact: &PublishedFact) {
        if let Event::SessionOpened(opened) = fact.event.as_ref() {
            self.created = fact.ts;
            self.parent.clone_from(&opened.parent);
        }
    }

    /// What was folded a moment ago, as the journal stands now: with the facts that came since. Where its last
    /// record is not in its place any more, it is the fold of another journal and all is loaded anew.
    ///
    /// # Errors
    /// As [`load`]; or somebody else gave the session other settings meanwhile: whoever made something ready
    /// by those of a moment ago would put them back.
    pub async fn catch_up(self, store: &dyn Store) -> Result<Loaded, EngineError> {
        let known = self.session.config().cloned();
        let now = self.read_on(store).await?;
        if now.session.config() == known.as_ref() {
            return Ok(now);
        }
        let id = now.session.id();
        let why = format!(
            "the settings of session {id} were changed by somebody else while it was opened; nothing was \
             done, so try again"
        );
        Err(EngineError::Refused(why))
    }

    async fn read_on(mut self, store: &dyn Store) -> Result<Loaded, EngineError> {
        let there = store.read_records(self.session.id(), self.session.fact_count(), 1).await?;
        if there.first().map(|record| &record.hash) != self.last.as_ref().map(|last| &last.hash) {
            return load(store, self.session.id()).await;
        }
        self.fold_rest(store).await?;
        Ok(self)
    }

    /// Folds the facts that the journal has beyond the fold.
    fn fold_rest<'a>(&'a mut self, store: &'a dyn Store) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            loop {
                let from = self.session.fact_count() + 1;
                let records = store.read_records(self.session.id(), from, READ_BATCH).await?;
                for record in &records {
                    let fact = fact_of(record)?;
                    self.note_opening(&fact);
                    self.session.apply(fact.ts, &fact.event);
                }
                let done = records.len() < READ_BATCH;
                self.last = records.into_iter().last().or(self.last.take());
                if done {
                    return Ok(());
                }
            }
        })
    }
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

/// The hash chain of a journal, as far as its records were held against it: whoever reads them holds each
/// against it, in their order.
#[derive(Debug)]
pub struct RecordChain {
    session: SessionId,
    /// Records that it holds, and the hash of the last of them.
    held: Seq,
    last_hash: String,
}

impl RecordChain {
    /// The chain of `session`, against which nothing was held yet.
    pub fn new(session: SessionId) -> RecordChain {
        RecordChain { session, held: 0, last_hash: GENESIS.into() }
    }

    /// Holds the next records against it.
    ///
    /// # Errors
    /// The first break. After it nothing more is to be held against this.
    pub fn hold_records(&mut self, records: &[Record]) -> Result<(), StoreError> {
        let checked = verify_chain(&self.last_hash, self.held + 1, records);
        self.last_hash = checked.map_err(|error| StoreError::Damaged {
            what: format!("the journal of session {}", self.session),
            why: error.to_string(),
        })?;
        self.held += records.len() as Seq;
        Ok(())
    }
}

/// The records of a session from the first to the last, batch by batch, each held against the hash chain before
/// it is given out.
pub struct VerifiedRecords<'a> {
    store: &'a dyn Store,
    session: &'a SessionId,
    chain: RecordChain,
    is_at_end: bool,
}

impl<'a> VerifiedRecords<'a> {
    /// Nothing is read yet.
    pub fn new(store: &'a dyn Store, session: &'a SessionId) -> VerifiedRecords<'a> {
        let chain = RecordChain::new(session.clone());
        VerifiedRecords { store, session, chain, is_at_end: false }
    }

    /// The next records, `most` of them or fewer; none after the last. After an error nothing more is to be
    /// asked for.
    ///
    /// # Errors
    /// It cannot be read, or its chain is broken: the first break is named, and what stood before it in the
    /// same batch is not given out.
    pub async fn next_batch(&mut self, most: usize) -> Result<Vec<Record>, EngineError> {
        if self.is_at_end {
            return Ok(Vec::new());
        }
        let records = self.store.read_records(self.session, self.chain.held + 1, most).await?;
        self.chain.hold_records(&records)?;
        self.is_at_end = records.len() < most;
        Ok(records)
    }
}

/// All records of a session, with its hash chain checked.
///
/// # Errors
/// It cannot be read, or its chain is broken: the first break is named.
pub async fn read_verified(store: &dyn Store, id: &SessionId) -> Result<Vec<Record>, EngineError> {
    let mut verified = VerifiedRecords::new(store, id);
    let mut records: Vec<Record> = Vec::new();
    loop {
        let batch = verified.next_batch(READ_BATCH).await?;
        if batch.is_empty() {
            return Ok(records);
        }
        records.extend(batch);
    }
}
