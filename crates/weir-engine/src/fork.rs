//! A new session with the history of another: its facts, chained anew under the new name.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use weir_core::event::Event;
use weir_core::governance::trail::LINK_BITS_MAX;
use weir_core::ids::{ApprovalId, BlobId, QuestionId, Seq, SessionId};
use weir_core::input::{SessionCommand, SessionInput};
use weir_core::session::Session;
use weir_core::session::link_bits::told_link_bits;

use crate::blobs::mentioned_blobs;
use crate::engine::{Engine, EngineError, read_verified};
use crate::ledger::{JournalWriter, fact_of};
use crate::ports::{Store, StoreError};

impl Engine {
    /// Copies the journal of `source` up to the last moment at which it was at rest (or up to
    /// `until`, which must be such a moment) into the new session `fork`. Returns how many facts.
    ///
    /// # Errors
    /// There is no such session, it never was at rest, or the store refuses.
    pub async fn fork(
        &self,
        source: &SessionId,
        fork: SessionId,
        until: Option<Seq>,
    ) -> Result<Seq, EngineError> {
        self.begin_fork(source, fork, until).await
    }

    /// The same. Boxed: so it is compiled here, and not by each crate that awaits it (Q23).
    fn begin_fork<'a>(
        &'a self,
        source: &'a SessionId,
        fork: SessionId,
        until: Option<Seq>,
    ) -> BoxFuture<'a, Result<Seq, EngineError>> {
        Box::pin(self.copy_facts(source, fork, until))
    }

    async fn copy_facts(
        &self,
        source: &SessionId,
        fork: SessionId,
        until: Option<Seq>,
    ) -> Result<Seq, EngineError> {
        let parts = self.parts();
        let records = read_verified(parts.store.as_ref(), source).await?;
        let mut facts = Vec::new();
        for record in &records {
            facts.push(fact_of(record)?);
        }
        let mut probe = Session::new(source.clone());
        let mut rest = 0;
        for fact in &facts {
            probe.apply(fact.ts, &fact.event);
            if is_at_rest(&probe) {
                rest = fact.seq;
                if until == Some(rest) {
                    break;
                }
            }
        }
        if rest == 0 || until.is_some_and(|until| until != rest) {
            let at = until.map_or_else(|| "any fact".to_string(), |seq| format!("fact {seq}"));
            return Err(EngineError::Session(format!(
                "session {source} was not at rest at {at}: it cannot be forked there"
            )));
        }
        let lease = parts.store.acquire_lease(&fork, &parts.owner).await?;
        // What the source told after that moment, the copy has told too (K10).
        let later = facts.iter().skip_while(|fact| fact.seq <= rest).map(|fact| &*fact.event);
        let told = told_link_bits(later);
        let mut session = Session::new(fork);
        let mut ledger = JournalWriter::new(lease.clone(), parts.principal.clone(), None);
        let mut blobs = BTreeMap::new();
        for fact in facts.into_iter().take_while(|fact| fact.seq <= rest) {
            for id in mentioned_blobs(&fact.event) {
                if let Some(bytes) = load_blob_if_kept(parts.store.as_ref(), &id).await? {
                    blobs.insert(id, bytes);
                }
            }
            let mut event = rename_fact_ids((*fact.event).clone(), source, session.id());
            if let Event::SessionOpened(opened) = &mut event
                && (told > 0 || opened.config.answer.is_some())
            {
                let config = Arc::make_mut(&mut opened.config);
                if told > 0 {
                    let most = config.link_bits.unwrap_or(LINK_BITS_MAX);
                    config.link_bits = Some(most.saturating_sub(told));
                }
                // One mail is answered once, in however many copies of the session.
                if let Some(answer) = &mut config.answer {
                    answer.is_copy = true;
                }
            }
            session.apply(fact.ts, &event);
            ledger.push(&session, fact.ts, vec![event]);
        }
        // Where the copy ends, and so that the fork is the newest session.
        let now = parts.clock.now().max(session.last_fact_time());
        let resume = SessionCommand::Resume { engine: parts.version.clone() };
        let resumed = session.handle(now, SessionInput::Command(resume));
        ledger.push(&session, now, resumed);
        let mut batch = ledger.take_batch(&session, blobs.into_iter().collect());
        // What the copied facts tell happened in the other session, and once.
        batch.append.audit.truncate(1);
        batch.append.usage.clear();
        batch.append.recipe_use.clear();
        batch.append.asks.run_ended = None;
        let (appended, _) = batch.write_to_store(parts.store.as_ref()).await;
        parts.store.release_lease(&lease).await?;
        appended?;
        Ok(rest)
    }

    /// The last moment before the input at `before` at which `source` was at rest: where a copy of
    /// it can end that has nothing of this input, also of one that was said while a run was on.
    ///
    /// # Errors
    /// There is no such session, or no input at this place.
    pub async fn rest_before(&self, source: &SessionId, before: Seq) -> Result<Seq, EngineError> {
        let records = read_verified(self.parts().store.as_ref(), source).await?;
        let none =
            || EngineError::Session(format!("session {source} has no input at fact {before}"));
        let mut probe = Session::new(source.clone());
        let mut rest = None;
        for record in &records {
            let fact = fact_of(record)?;
            if fact.seq == before {
                let is_input = matches!(fact.event.as_ref(), Event::InputAccepted(_));
                return rest.filter(|_| is_input).ok_or_else(none);
            }
            probe.apply(fact.ts, &fact.event);
            if is_at_rest(&probe) {
                rest = Some(fact.seq);
            }
        }
        Err(none())
    }
}

/// Nothing is under way in it.
fn is_at_rest(session: &Session) -> bool {
    session.run().is_none() && session.queued_inputs().is_empty() && session.config().is_some()
}

/// A blob for the new session, so that it stays when the other one is deleted. One that is gone
/// already is not missed more than before.
async fn load_blob_if_kept(
    store: &dyn Store,
    id: &BlobId,
) -> Result<Option<Arc<[u8]>>, StoreError> {
    match store.read_blob(id).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A fact of `from` as a fact of `to`: names that must be unique in the store are the new
/// session's own.
fn rename_fact_ids(mut event: Event, from: &SessionId, to: &SessionId) -> Event {
    let begins = format!("{from}-");
    let anew = |text: &str| match text.strip_prefix(&begins) {
        Some(rest) => format!("{to}-{rest}"),
        None => text.to_owned(),
    };
    match &mut event {
        Event::SessionOpened(f) => f.parent = Some(from.clone()),
        Event::ApprovalRequested(f) => f.approval = ApprovalId(anew(f.approval.as_str())),
        Event::ApprovalResolved(f) => f.approval = ApprovalId(anew(f.approval.as_str())),
        Event::QuestionAsked(f) => f.question = QuestionId(anew(f.question.as_str())),
        Event::QuestionAnswered(f) => f.question = QuestionId(anew(f.question.as_str())),
        _ => (),
    }
    event
}
