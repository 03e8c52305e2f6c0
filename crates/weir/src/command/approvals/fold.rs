//! A session's journal with everything that a person was asked in it, and how it was answered.
//!
//! Reads only. The fold of the session itself is the core's.

use std::collections::BTreeMap;

use weir_core::event::{
    ApprovalRequested, ApprovalResolved, Event, QuestionAnswered, QuestionAsked,
};
use weir_core::ids::{ApprovalId, QuestionId, SessionId, Timestamp};
use weir_core::session::Session;
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;

use crate::failure::usage;

/// Facts read at once.
const READ_BATCH: usize = 4_096;

/// A fact with its moment.
pub(in crate::command) type At<T> = (Timestamp, T);

/// A session and what was asked in it.
pub(in crate::command) struct Folded {
    pub(in crate::command) session: Session,
    pub(super) requested: BTreeMap<ApprovalId, At<ApprovalRequested>>,
    pub(super) resolved: BTreeMap<ApprovalId, At<ApprovalResolved>>,
    pub(super) asked: BTreeMap<QuestionId, At<QuestionAsked>>,
    pub(super) answered: BTreeMap<QuestionId, At<QuestionAnswered>>,
}

impl Folded {
    /// Folds the journal of `id`.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub(in crate::command) async fn load(
        store: &dyn Store,
        id: &SessionId,
    ) -> anyhow::Result<Folded> {
        let mut folded = Folded {
            session: Session::new(id.clone()),
            requested: BTreeMap::new(),
            resolved: BTreeMap::new(),
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
        };
        folded.catch_up(store).await?;
        if folded.session.facts() == 0 {
            return Err(usage(format!("there is no session {id} in this store any more")));
        }
        Ok(folded)
    }

    /// Takes in what was written since.
    pub(super) async fn catch_up(&mut self, store: &dyn Store) -> anyhow::Result<()> {
        loop {
            let from = self.session.facts() + 1;
            let records = store.read(self.session.id(), from, READ_BATCH).await?;
            for record in &records {
                let fact = fact_of(record)?;
                self.note(fact.ts, &fact.event);
                self.session.apply(fact.ts, &fact.event);
            }
            if records.len() < READ_BATCH {
                return Ok(());
            }
        }
    }

    fn note(&mut self, ts: Timestamp, event: &Event) {
        match event {
            Event::ApprovalRequested(f) => {
                self.requested.insert(f.approval.clone(), (ts, f.clone()));
            }
            Event::ApprovalResolved(f) => {
                self.resolved.insert(f.approval.clone(), (ts, f.clone()));
            }
            Event::QuestionAsked(f) => {
                self.asked.insert(f.question.clone(), (ts, f.clone()));
            }
            Event::QuestionAnswered(f) => {
                self.answered.insert(f.question.clone(), (ts, f.clone()));
            }
            _ => (),
        }
    }

    /// The approvals that wait for an answer.
    pub(super) fn open_approvals(&self) -> Vec<&At<ApprovalRequested>> {
        let open = self.session.open_approvals();
        open.filter_map(|(id, _)| self.requested.get(id)).collect()
    }

    /// The question that waits for an answer.
    pub(super) fn open_question(&self) -> Option<&At<QuestionAsked>> {
        let (id, _) = self.session.open_question()?;
        self.asked.get(id)
    }

    /// What a run under way waits for a person with, as it was asked.
    pub(in crate::command) fn open(&self) -> Vec<Event> {
        if self.session.run().is_none() {
            return Vec::new();
        }
        let approvals = self.open_approvals().into_iter();
        let approvals = approvals.map(|(_, asked)| Event::ApprovalRequested(asked.clone()));
        let question = self.open_question().map(|(_, asked)| Event::QuestionAsked(asked.clone()));
        let agents = self.session.agents_ask().cloned().map(Event::AgentAsked);
        approvals.chain(question).chain(agents).collect()
    }
}
