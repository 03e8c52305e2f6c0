//! A session that is read from its first fact to its last, each of them once: what was done in it, and what
//! stands of each fact in its conversation. Nothing of it is folded but what is shown (Q10). Not here: reading
//! the journal, and the end of a conversation alone (`end`, `last`).

use weir_engine::hub::PublishedFact;
use weir_engine::ports::SessionMeta;

use super::summary::{SessionSummary, SessionWork};
use super::transcript::ConversationReader;
use super::used::UsedSoFar;

/// The session, as far as it was read; at first nothing was.
#[derive(Default)]
pub struct WholeSession {
    reader: ConversationReader,
    work: SessionWork,
    used: UsedSoFar,
}

impl WholeSession {
    /// Takes the next fact in.
    pub fn apply_fact(&mut self, fact: &PublishedFact) {
        for change in self.reader.read_fact(fact) {
            self.work.count_change(&change, self.reader.seen_transcript());
        }
        self.work.count_fact(fact);
        self.used.count_event(&fact.event);
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
        let seen = self.reader.seen_transcript();
        let at_end = SessionSummary::at_end(meta, status, seen.settings(), &self.used, seen.asks());
        at_end.with_work(self.work)
    }
}
