//! A session folded from its journal, with everything that a person was asked in it and how it was
//! answered. Reads only; the fold of the session itself is the core's.

use std::collections::BTreeMap;

use weir_core::event::{
    ApprovalRequested, ApprovalResolved, Event, QuestionAnswered, QuestionAsked,
};
use weir_core::ids::{ApprovalId, QuestionId, SessionId, Timestamp};
use weir_core::session::Session;

use crate::host::SessionState;
use crate::ledger::fact_of;
use crate::ports::{Store, StoreError};

/// Facts read at once.
const READ_BATCH: usize = 4_096;

/// A fact with its moment.
pub type WithTimestamp<T> = (Timestamp, T);

/// A session and what was asked in it.
pub struct FoldedSession {
    /// The fold.
    pub session: Session,
    /// Every approval that was asked for.
    pub requested: BTreeMap<ApprovalId, WithTimestamp<ApprovalRequested>>,
    /// How they were answered.
    pub resolved: BTreeMap<ApprovalId, WithTimestamp<ApprovalResolved>>,
    /// Every question.
    pub asked: BTreeMap<QuestionId, WithTimestamp<QuestionAsked>>,
    /// How they were answered.
    pub answered: BTreeMap<QuestionId, WithTimestamp<QuestionAnswered>>,
    /// What commands of a person are about in it.
    pub state: SessionState,
}

impl FoldedSession {
    /// Folds the journal of `id`; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn load(
        store: &dyn Store,
        id: &SessionId,
    ) -> Result<Option<FoldedSession>, StoreError> {
        let mut folded = FoldedSession {
            session: Session::new(id.clone()),
            requested: BTreeMap::new(),
            resolved: BTreeMap::new(),
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
            state: SessionState::default(),
        };
        folded.catch_up(store).await?;
        Ok((folded.session.fact_count() > 0).then_some(folded))
    }

    /// Takes in what was written since.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn catch_up(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        loop {
            let from = self.session.fact_count() + 1;
            let records = store.read_records(self.session.id(), from, READ_BATCH).await?;
            for record in &records {
                let fact = fact_of(record)?;
                self.apply_fact(fact.ts, &fact.event);
                self.state.hear_fact(&fact);
                self.session.apply(fact.ts, &fact.event);
            }
            if records.len() < READ_BATCH {
                return Ok(());
            }
        }
    }

    fn apply_fact(&mut self, ts: Timestamp, event: &Event) {
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

    /// The approvals that wait for an answer, as they were asked.
    pub fn open_approvals(&self) -> Vec<&WithTimestamp<ApprovalRequested>> {
        let open = self.session.open_approvals();
        open.filter_map(|(id, _)| self.requested.get(id)).collect()
    }

    /// The question that waits for an answer.
    pub fn open_question(&self) -> Option<&WithTimestamp<QuestionAsked>> {
        let (id, _) = self.session.open_question()?;
        self.asked.get(id)
    }

    /// What a run under way waits for a person with, as it was asked.
    pub fn open_requests(&self) -> Vec<Event> {
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
