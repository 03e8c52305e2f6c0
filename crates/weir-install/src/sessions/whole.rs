//! A session that is read from its first fact to its last, each of them once: what was done in it, and what
//! stands of each fact in its conversation. Of what the kept fold of its beginning has, nothing is folded again
//! (Q10). Not here: reading the journal, and the end of a conversation alone (`last`).

use weir_core::ids::SessionId;
use weir_core::session::Session;
use weir_engine::engine::begin_fold;
use weir_engine::hub::PublishedFact;
use weir_engine::ports::{SessionMeta, Store, StoreError};

use super::summary::{SessionSummary, SessionWork};
use super::transcript::ConversationReader;

/// The session, as far as it was read.
pub struct WholeSession {
    /// It may be ahead of what was read.
    session: Session,
    reader: ConversationReader,
    work: SessionWork,
}

impl WholeSession {
    /// One of which nothing was read yet.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn begin(store: &dyn Store, id: &SessionId) -> Result<WholeSession, StoreError> {
        Ok(WholeSession::after(begin_fold(store, id).await?))
    }

    /// The same; `session`: a fold of its first facts, or of none.
    pub fn after(session: Session) -> WholeSession {
        let (reader, work) = (ConversationReader::default(), SessionWork::default());
        WholeSession { session, reader, work }
    }

    /// Takes the next fact in.
    pub fn apply_fact(&mut self, fact: &PublishedFact) {
        if fact.seq > self.session.fact_count() {
            self.session.apply(fact.ts, &fact.event);
        }
        for change in self.reader.read_fact(fact) {
            self.work.count_change(&change, self.reader.seen_transcript());
        }
        self.work.count_fact(fact);
    }

    /// The last fact in one line: number, moment, kind and the beginning of what it says.
    pub fn line_text(&self, fact: &PublishedFact) -> String {
        self.reader.line_text(fact)
    }

    /// The last fact, where it is of the conversation, with the beginning of long results; `None` for the
    /// others.
    pub fn brief_text(&self, fact: &PublishedFact) -> Option<String> {
        self.reader.brief_text(fact)
    }

    /// Its summary, once all of it was read.
    pub fn into_summary(self, meta: &SessionMeta, status: String) -> SessionSummary {
        let asks = self.reader.seen_transcript().asks();
        SessionSummary::of_session(meta, status, &self.session, asks).with_work(self.work)
    }
}
