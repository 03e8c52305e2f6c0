//! A new session with the history of another: its facts, chained anew under the new name.

use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::session::Session;

use crate::engine::{Engine, EngineError, read_verified};
use crate::ledger::{Ledger, fact_of};

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
            if probe.run().is_none() && probe.queued().is_empty() && probe.config().is_some() {
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
        let lease = parts.store.acquire(&fork, &parts.owner).await?;
        let mut session = Session::new(fork);
        let mut ledger = Ledger::new(lease.clone(), parts.principal.clone(), None);
        for fact in facts.into_iter().take_while(|fact| fact.seq <= rest) {
            let mut event = (*fact.event).clone();
            if let Event::SessionOpened(opened) = &mut event {
                opened.parent = Some(source.clone());
            }
            session.apply(fact.ts, &event);
            ledger.push(&session, fact.ts, vec![event]);
        }
        let (append, _) = ledger.take(&session, Vec::new());
        let appended = parts.store.append(append).await;
        parts.store.release(&lease).await?;
        appended?;
        Ok(rest)
    }
}
