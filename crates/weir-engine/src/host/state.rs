//! What a session's facts say of everything that a person can tell it: what was asked and how it was
//! answered, what waits, which run is on. Much less than the session itself, which has the whole
//! conversation; so whoever only tells it something keeps this.
//!
//! Pure, and the same whether its facts come from memory or from the journal. Not here: what a person
//! sees of a session (`weir_core::view::transcript`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use weir_core::event::{AlertName, Decision, Event, LimitLevel, RunStatus};
use weir_core::governance::lease::AnswerRight;
use weir_core::governance::rules::Rule;
use weir_core::ids::{ApprovalId, InputId, QuestionId, RunId, Seq, SessionId, Timestamp};
use weir_core::profile::LimitName;
use weir_core::session::{SentInput, SentInputs, Session, SessionConfig};
use weir_core::tool::ResultEffect;

use super::LiveSession;
use crate::hub::PublishedFact;
use crate::journal::visit_records;
use crate::ports::{Store, StoreError, fact_of};
use crate::snapshots::read_asks;

/// What commands of a person are about, in one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionState {
    /// Facts so far.
    pub facts: Seq,
    /// The settings of the last fact that told them.
    pub config: Option<Arc<SessionConfig>>,
    /// The run that is on.
    pub run: Option<RunId>,
    /// How the last run ended; `None` while one is on.
    pub ended: Option<RunStatus>,
    /// The run that is on is to be ended.
    pub cancelled: bool,
    /// The name of the person who paused the run that is on.
    pub paused: Option<String>,
    /// Inputs that wait to be delivered.
    pub queued: BTreeSet<InputId>,
    /// The last inputs that were sent under names.
    pub sent: SentInputs,
    /// Everything that a person was asked to allow, here and by sub-agents.
    pub approvals: BTreeMap<ApprovalId, ApprovalState>,
    /// Every question of the agent, with its answer.
    pub questions: BTreeMap<QuestionId, Option<Resolution>>,
    /// Leases that nobody took back.
    pub leases: BTreeSet<u32>,
    /// Something was done since the session was taken up, or its run is paused: the engine gets on with it.
    pub has_progressed: bool,
    leases_granted: u32,
}

/// Something that a person was asked to allow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApprovalState {
    /// The sub-agent that asks; none: the session itself.
    pub agent: Option<SessionId>,
    /// The rules that a lasting answer adds.
    pub rules: Vec<Rule>,
    /// How it was answered.
    pub resolution: Option<Resolution>,
}

/// An answer that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// When it was given.
    pub at: Timestamp,
    /// Name of the person who gave it.
    pub by: String,
    /// The decision about an approval; none: it is the answer to a question.
    pub decision: Option<Decision>,
}

impl SessionState {
    /// That of `session`, as hearing all of its facts gives it. `asks`: those of its facts so far that
    /// are of the kinds in [`crate::ports::ASK_KINDS`], in their order.
    pub fn of_session(session: &Session, asks: &[PublishedFact]) -> SessionState {
        let mut state = SessionState::default();
        asks.iter().for_each(|fact| state.hear_fact(fact));
        SessionState {
            facts: session.fact_count(),
            config: session.config().cloned(),
            run: session.run(),
            ended: session.last_run_finished().map(|end| end.status),
            cancelled: session.is_run_cancelled(),
            paused: session.paused_by().map(str::to_owned),
            leases: session.leases().iter().map(|grant| grant.lease).collect(),
            leases_granted: session.leases_granted(),
            queued: session.queued_inputs().iter().map(|queued| queued.input).collect(),
            sent: session.all_sent().clone(),
            // No run is on at the first fact.
            has_progressed: session.fact_count() > 0,
            ..state
        }
    }

    /// The same, with what was asked read from the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn read_of_session(
        store: &dyn Store,
        session: &Session,
    ) -> Result<SessionState, StoreError> {
        Ok(SessionState::of_session(session, &read_asks(store, session).await?))
    }

    /// The same at the moment in which the session is taken up.
    pub(super) fn taken_up(self) -> SessionState {
        SessionState { has_progressed: false, ..self }
    }

    /// Takes in the next fact.
    pub fn hear_fact(&mut self, fact: &PublishedFact) {
        self.facts = fact.seq;
        match fact.event.as_ref() {
            Event::SessionOpened(f) => {
                self.config = Some(f.config.clone());
                // The right to answer whose mail began it is the session's first.
                if f.config.answer.as_ref().is_some_and(AnswerRight::is_lease) {
                    self.leases_granted += 1;
                    self.leases.insert(self.leases_granted);
                }
            }
            Event::SessionConfigured(f) => self.config = Some(f.config.clone()),
            Event::ProfileSwitched(f) => self.config = Some(f.config.clone()),
            Event::ModelSwitched(f) => self.config = f.config.clone().or(self.config.take()),
            Event::RunStarted(f) => {
                (self.run, self.ended, self.cancelled) = (Some(f.run), None, false);
                self.paused = None;
                self.sent.note_run(f.run);
            }
            Event::RunFinished(f) => {
                (self.run, self.ended, self.cancelled) = (None, Some(f.status), false);
                self.paused = None;
            }
            event if is_cancelling(event) => self.cancelled = self.run.is_some(),
            Event::RunPaused(f) => self.paused = Some(f.by.clone()),
            Event::RunResumed(_) => self.paused = None,
            Event::LeaseRevoked(f) => {
                self.leases.remove(&f.lease);
            }
            Event::ModelReplied(_) => self.has_progressed = true,
            Event::CallFinished(f) => {
                self.has_progressed = true;
                self.hear_of_tools(&f.news);
            }
            _ => self.hear_of_inputs(fact),
        }
        self.has_progressed |= self.run.is_none() || self.paused.is_some();
    }

    /// Tools that came and went stand in the settings of a session, and in no fact that tells them (T5).
    fn hear_of_tools(&mut self, news: &[ResultEffect]) {
        let Some(config) = &mut self.config else { return };
        for effect in news {
            match effect {
                ResultEffect::Made { tool } => {
                    SessionConfig::add_dynamic_tool(config, tool);
                }
                ResultEffect::Unmade { name } => SessionConfig::remove_dynamic_tool(config, name),
                _ => (),
            }
        }
    }

    fn hear_of_inputs(&mut self, fact: &PublishedFact) {
        match fact.event.as_ref() {
            Event::InputAccepted(f) => {
                self.queued.insert(f.input);
                if let Some(name) = &f.client_id {
                    let sent = SentInput { input: f.input, seq: fact.seq, run: self.run };
                    self.sent.note_accepted(name, sent);
                }
            }
            Event::InputWithdrawn(f) => {
                self.queued.remove(&f.input);
            }
            Event::TurnStarted(f) => self.queued.retain(|input| !f.inputs.contains(input)),
            _ => self.hear_of_answers(fact),
        }
    }

    fn hear_of_answers(&mut self, fact: &PublishedFact) {
        let resolved = |by: &str, decision| {
            let (at, by) = (fact.ts, by.to_owned());
            Resolution { at, by, decision }
        };
        match fact.event.as_ref() {
            Event::ApprovalRequested(f) => {
                let asked = ApprovalState { rules: f.rules.clone(), ..ApprovalState::default() };
                self.approvals.insert(f.approval.clone(), asked);
            }
            Event::AgentAsked(f) => {
                let (agent, rules) = (Some(f.agent.clone()), f.request.rules.clone());
                let asked = ApprovalState { agent, rules, resolution: None };
                self.approvals.insert(f.request.approval.clone(), asked);
            }
            Event::ApprovalResolved(f) => {
                if f.decision == Decision::Session {
                    self.leases_granted += 1;
                    self.leases.insert(self.leases_granted);
                }
                let asked = self.approvals.entry(f.approval.clone()).or_default();
                asked.resolution = Some(resolved(&f.by, Some(f.decision)));
                // From then on they are rules of the session, and no fact tells its settings anew.
                if f.decision == Decision::Always
                    && let Some(config) = &mut self.config
                {
                    for rule in &asked.rules {
                        Arc::make_mut(config).rules.add(rule.clone());
                    }
                }
            }
            Event::AgentAnswered(f) => {
                let asked = self.approvals.entry(f.approval.clone()).or_default();
                asked.resolution = Some(resolved(&f.by, Some(f.decision)));
            }
            Event::QuestionAsked(f) => {
                self.questions.insert(f.question.clone(), None);
            }
            Event::QuestionAnswered(f) => {
                self.queued.retain(|input| Some(*input) != f.input);
                self.questions.insert(f.question.clone(), Some(resolved(&f.by, None)));
            }
            _ => (),
        }
    }

    /// Nothing is under way, and nothing waits.
    pub fn is_at_rest(&self) -> bool {
        self.run.is_none() && self.queued.is_empty()
    }

    /// How an approval was answered.
    pub fn resolution(&self, approval: &ApprovalId) -> Option<&Resolution> {
        self.approvals.get(approval)?.resolution.as_ref()
    }

    /// How a question was answered.
    pub fn answer(&self, question: &QuestionId) -> Option<&Resolution> {
        self.questions.get(question)?.as_ref()
    }
}

/// Whether a run that is on is to be ended after this fact.
fn is_cancelling(event: &Event) -> bool {
    match event {
        Event::CancelRequested(_) => true,
        Event::AlertRaised(f) => f.alert == AlertName::Canary,
        Event::LimitReached(f) => f.level == LimitLevel::Hard && f.limit == LimitName::RunTimeout,
        _ => false,
    }
}

/// The state of a session as one reader has it.
pub enum SessionView {
    /// It runs here: whatever it says is in memory.
    Live(Arc<LiveSession>),
    /// It is read from the journal.
    Journal {
        /// Id of the session.
        id: SessionId,
        /// Its state as far as the journal was read.
        state: Box<SessionState>,
    },
}

impl SessionView {
    /// That of a journal, read up to `state`.
    pub fn of_journal(id: SessionId, state: SessionState) -> SessionView {
        SessionView::Journal { id, state: Box::new(state) }
    }

    /// Looks at it.
    pub fn read_state<R>(&self, read: impl FnOnce(&SessionState) -> R) -> R {
        match self {
            SessionView::Live(live) => live.read_state(read),
            SessionView::Journal { state, .. } => read(state),
        }
    }

    /// From now on it is read from the journal, from where memory stands.
    pub(super) fn leave_memory(&mut self) {
        if let SessionView::Live(live) = self {
            *self = SessionView::of_journal(live.id().clone(), live.read_state(Clone::clone));
        }
    }

    /// Takes in what was written since. One that runs here knows it already; one that went down is
    /// read from its journal from where it stopped.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn catch_up(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if let SessionView::Live(live) = self {
            live.catch_up().await;
            if !live.is_over() {
                return Ok(());
            }
            self.leave_memory();
        }
        let SessionView::Journal { id, state } = self else { return Ok(()) };
        let from = state.facts + 1;
        visit_records(store, id, from, |record| {
            state.hear_fact(&fact_of(record)?);
            Ok(ControlFlow::<()>::Continue(()))
        })
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::session::SENT_NAMES_MAX;

    use super::*;

    fn fact(seq: Seq, kind: &str, fields: &serde_json::Value) -> PublishedFact {
        let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
        PublishedFact { seq, ts: Timestamp(0), event: Arc::new(event) }
    }

    fn said(seq: Seq, input: &str, name: &str) -> PublishedFact {
        let fields = json!({ "input": input, "content": [], "by": "ann", "client_id": name });
        fact(seq, "input.accepted", &fields)
    }

    #[test]
    fn f1_the_last_names_of_inputs_are_remembered_and_no_more() {
        let mut state = SessionState::default();
        let names = SENT_NAMES_MAX as Seq;
        for seq in 1..=names + 2 {
            state.hear_fact(&said(seq, &format!("i{seq}"), &format!("name {seq}")));
        }
        assert_eq!(state.sent.iter_inputs().count(), SENT_NAMES_MAX);
        for (seq, remembered) in [(1, false), (2, false), (3, true), (names + 2, true)] {
            let found = state.sent.find_input(&format!("name {seq}"));
            assert_eq!(found.is_some(), remembered, "{seq}");
        }
    }

    #[test]
    fn f1_what_waits_is_known_until_it_is_given() {
        let mut state = SessionState::default();
        state.hear_fact(&said(1, "i1", "a"));
        state.hear_fact(&said(2, "i2", "b"));
        let has = |state: &SessionState, name: &str| state.sent.find_input(name).is_some();
        assert!(!state.is_at_rest() && has(&state, "a") && has(&state, "b") && !has(&state, "c"));
        state.hear_fact(&fact(3, "input.withdrawn", &json!({ "input": "i2" })));
        let turn = json!({ "turn": "t1", "iteration": 1, "inputs": ["i1"] });
        state.hear_fact(&fact(4, "turn.started", &turn));
        assert!(state.is_at_rest() && state.facts == 4);
    }
}
