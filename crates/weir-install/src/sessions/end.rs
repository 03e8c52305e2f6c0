//! How a session stands at its end, for whoever shows that alone: its settings, what it used, what it asks, and
//! the foreign words that its conversation names. All but the questions is kept beside the journal, so that
//! looking again reads the facts since (Q10). Not here: the entries (`last`).
//!
//! As with everything that is kept so, nothing depends on it: where none fits, the session is loaded.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use weir_core::ids::{Seq, SessionId};
use weir_core::session::{SNAPSHOT_FORMAT, Session, source_number};
use weir_core::view::transcript::{PendingAsk, PlacedFact, SettledTranscript, Transcript};
use weir_engine::engine::{EngineError, load_if_any, visit_records};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::looks::{find_look, keep_look};
use weir_engine::ports::{SessionMeta, Store, StoreError};

use super::summary::SessionSummary;
use super::used::UsedSoFar;
use crate::failure::engine_failure;

/// The name under which it is kept.
const KIND: &str = "end";
/// Facts since it was kept after which it is kept again: to read so many again is less work than to write.
const KEEP_EVERY: Seq = 200;

/// A session at its end.
pub struct SessionEnd {
    /// Facts up to there.
    facts: Seq,
    /// What is seen there, without what was said and done.
    seen: Transcript,
    used: UsedSoFar,
    /// What waits for an answer.
    asks: Vec<PendingAsk>,
}

/// What is kept of it.
#[derive(Serialize, Deserialize)]
struct KeptEnd {
    seen: SettledTranscript,
    used: UsedSoFar,
}

impl SessionEnd {
    /// Reads how `id` stands: the facts since it was last looked at so, or what it takes to load it. `None`:
    /// there is no such session.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn read(store: &dyn Store, id: &SessionId) -> anyhow::Result<Option<SessionEnd>> {
        let found = find_look::<KeptEnd>(store, id, KIND, &kept_format()).await?;
        let found = found.filter(|(kept, seq)| kept.seen.settled_place().seq == *seq);
        let (kept, mut end) = match found {
            Some((kept, seq)) => (seq, SessionEnd::of_kept(kept)),
            None => match load_if_any(store, id).await {
                Ok(Some(loaded)) => (0, SessionEnd::of_session(&loaded.session)),
                Ok(None) => return Ok(None),
                Err(EngineError::Store(error)) => return Err(error.into()),
                Err(error) => return Err(engine_failure(error)),
            },
        };
        end.read_on(store, id).await?;
        if end.facts.saturating_sub(kept) >= KEEP_EVERY {
            end.keep(store, id).await;
        }
        end.asks = read_open_asks(store, id, end.facts).await?;
        Ok(Some(end))
    }

    /// The end of a session that was folded; what it asks is not looked for.
    pub fn of_session(session: &Session) -> SessionEnd {
        SessionEnd {
            facts: session.fact_count(),
            seen: Transcript::after(session),
            used: UsedSoFar::of_session(session),
            asks: Vec::new(),
        }
    }

    /// Facts up to there.
    pub fn fact_count(&self) -> Seq {
        self.facts
    }

    /// Its summary, without what was done in it.
    pub fn to_summary(&self, meta: &SessionMeta, status: String) -> SessionSummary {
        SessionSummary::at_end(meta, status, self.seen.settings(), &self.used, &self.asks)
    }

    /// What is seen there, without what was said and done.
    pub(super) fn seen_transcript(&self) -> &Transcript {
        &self.seen
    }

    fn of_kept(kept: KeptEnd) -> SessionEnd {
        let facts = kept.seen.settled_place().seq;
        let seen = kept.seen.to_transcript();
        SessionEnd { facts, seen, used: kept.used, asks: Vec::new() }
    }

    /// Takes in the next fact.
    fn apply_fact(&mut self, fact: &PublishedFact) {
        self.used.count_event(&fact.event);
        self.seen.apply(&placed_fact(fact));
        self.facts = fact.seq;
    }

    async fn read_on(&mut self, store: &dyn Store, id: &SessionId) -> Result<(), StoreError> {
        let read = visit_records(store, id, self.facts + 1, |record| {
            self.apply_fact(&fact_of(record)?);
            Ok(ControlFlow::<()>::Continue(()))
        });
        read.await?;
        Ok(())
    }

    /// Keeps it, where nothing is open that later facts go on with. That it cannot be kept concerns nobody.
    async fn keep(&self, store: &dyn Store, id: &SessionId) {
        let Some(seen) = self.seen.to_settled() else { return };
        let Ok(records) = store.read_records(id, self.facts, 1).await else { return };
        if let Some(last) = records.first() {
            let kept = KeptEnd { seen, used: self.used.clone() };
            keep_look(store, KIND, kept_format(), last, &kept).await;
        }
    }
}

/// What the first `facts` of a journal ask and do not answer, the first one first.
async fn read_open_asks(
    store: &dyn Store,
    id: &SessionId,
    facts: Seq,
) -> Result<Vec<PendingAsk>, StoreError> {
    let mut asked = Transcript::default();
    for record in store.ask_facts(id).await?.iter().filter(|record| record.seq <= facts) {
        asked.apply(&placed_fact(&fact_of(record)?));
    }
    Ok(asked.asks().to_vec())
}

fn placed_fact(fact: &PublishedFact) -> PlacedFact {
    PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() }
}

/// The program that a kept end is for.
fn kept_format() -> String {
    const RULES: u64 = source_number(include_bytes!("end.rs"));
    const USE_RULES: u64 = source_number(include_bytes!("used.rs"));
    format!("{SNAPSHOT_FORMAT} {RULES:016x} {USE_RULES:016x}")
}

#[cfg(test)]
mod tests;
