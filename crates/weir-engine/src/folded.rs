//! A session folded from its journal, with everything that a person was asked in it and how it was
//! answered. Reads only; the fold of the session itself is the core's.
//!
//! Whoever looks at a session reads its snapshot, what it asked, and the facts since, however long its
//! journal is; where no snapshot fits, all of it (Q10).

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use weir_core::event::{
    AgentAsked, ApprovalRequested, ApprovalResolved, Event, QuestionAnswered, QuestionAsked,
};
use weir_core::ids::{ApprovalId, QuestionId, SessionId, Timestamp};
use weir_core::session::Session;
use weir_core::view::transcript::PendingAsk;

use crate::host::SessionState;
use crate::journal::visit_records;
use crate::ports::{PublishedFact, Store, StoreError, fact_of};
use crate::snapshots::{find_snapshot, read_asks};

/// A fact with the time at which it was recorded.
#[derive(Debug)]
pub struct WithTimestamp<T> {
    /// When it was recorded, in microseconds since 1970.
    pub ts: Timestamp,
    /// What was recorded.
    pub fact: T,
}

impl<T> WithTimestamp<T> {
    /// The same time with what `make` makes of what was recorded.
    fn map_fact<U>(&self, make: impl FnOnce(&T) -> U) -> WithTimestamp<U> {
        WithTimestamp { ts: self.ts, fact: make(&self.fact) }
    }
}

/// A session and what was asked in it.
#[derive(Debug)]
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
    /// Every approval that a sub-agent asked for by way of this session.
    pub agent_requests: BTreeMap<ApprovalId, WithTimestamp<AgentAsked>>,
    /// What commands of a person are about in it.
    pub state: SessionState,
}

impl FoldedSession {
    /// One of no facts; [`FoldedSession::catch_up`] then folds the whole journal of `id`.
    pub fn new(id: SessionId) -> FoldedSession {
        FoldedSession::of_session(Session::new(id), &[])
    }

    /// What is folded already, with what was asked in it. `asks`: those of its facts so far that are of
    /// the kinds in [`crate::ports::ASK_KINDS`], in their order.
    pub fn of_session(session: Session, asks: &[PublishedFact]) -> FoldedSession {
        let state = SessionState::of_session(&session, asks);
        let mut folded = FoldedSession {
            session,
            requested: BTreeMap::new(),
            resolved: BTreeMap::new(),
            asked: BTreeMap::new(),
            answered: BTreeMap::new(),
            agent_requests: BTreeMap::new(),
            state,
        };
        asks.iter().for_each(|fact| folded.note_ask(fact.ts, &fact.event));
        folded
    }

    /// Folds the journal of `id`, from its snapshot on where one fits; `None`: there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn load(
        store: &dyn Store,
        id: &SessionId,
    ) -> Result<Option<FoldedSession>, StoreError> {
        let mut folded = match find_snapshot(store, id).await? {
            Some((session, _)) => {
                let asks = read_asks(store, &session).await?;
                FoldedSession::of_session(session, &asks)
            }
            None => FoldedSession::new(id.clone()),
        };
        folded.catch_up(store).await?;
        Ok((folded.session.fact_count() > 0).then_some(folded))
    }

    /// Takes in what was written since.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn catch_up(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let (id, from) = (self.session.id().clone(), self.session.fact_count() + 1);
        visit_records(store, &id, from, |record| {
            self.apply_fact(&fact_of(record)?);
            Ok(ControlFlow::<()>::Continue(()))
        })
        .await?;
        Ok(())
    }

    /// Takes in the next fact.
    pub fn apply_fact(&mut self, fact: &PublishedFact) {
        self.note_ask(fact.ts, &fact.event);
        self.state.hear_fact(fact);
        self.session.apply(fact.ts, &fact.event);
    }

    fn note_ask(&mut self, ts: Timestamp, event: &Event) {
        match event {
            Event::ApprovalRequested(f) => {
                self.requested.insert(f.approval.clone(), WithTimestamp { ts, fact: f.clone() });
            }
            Event::ApprovalResolved(f) => {
                self.resolved.insert(f.approval.clone(), WithTimestamp { ts, fact: f.clone() });
            }
            Event::QuestionAsked(f) => {
                self.asked.insert(f.question.clone(), WithTimestamp { ts, fact: f.clone() });
            }
            Event::AgentAsked(f) => {
                let name = f.request.approval.clone();
                self.agent_requests.insert(name, WithTimestamp { ts, fact: f.clone() });
            }
            Event::QuestionAnswered(f) => {
                self.answered.insert(f.question.clone(), WithTimestamp { ts, fact: f.clone() });
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

    /// Everything that waits for an answer, as it was asked: in the session itself, and by way of
    /// it by its sub-agents.
    pub fn open_asks(&self) -> Vec<WithTimestamp<PendingAsk>> {
        let own = self.open_approvals().into_iter();
        let own = own.map(|asked| asked.map_fact(|f| PendingAsk::Approval(f.clone().into())));
        let open = self.session.agents_ask().map(|asked| &asked.request.approval);
        let agents = open.filter_map(|name| self.agent_requests.get(name));
        let agents =
            agents.map(|asked| asked.map_fact(|f| PendingAsk::AgentApproval(f.clone().into())));
        let question = self.open_question();
        let question =
            question.map(|asked| asked.map_fact(|f| PendingAsk::Question(f.clone().into())));
        own.chain(agents).chain(question).collect()
    }

    /// What a run under way waits for a person with, as it was asked.
    pub fn open_requests(&self) -> Vec<Event> {
        if self.session.run().is_none() {
            return Vec::new();
        }
        let approvals = self.open_approvals().into_iter();
        let approvals = approvals.map(|asked| Event::ApprovalRequested(asked.fact.clone()));
        let question = self.open_question().map(|asked| Event::QuestionAsked(asked.fact.clone()));
        let agents = self.session.agents_ask().cloned().map(Event::AgentAsked);
        approvals.chain(question).chain(agents).collect()
    }
}
