//! What a person is asked, from the question to its answer. Not here: the calls that are asked about.

use std::sync::Arc;

use crate::event::{
    AgentAnswered, AgentAsked, ApprovalRequested, ApprovalResolved, Event, QuestionAnswered,
    QuestionAsked,
};
use crate::ids::{ApprovalId, CallId};
use crate::view::told::{decision_text, one_line};

use super::{CallNote, CallStage, PlacedFact, Transcript, TranscriptChange as Change};

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub enum PendingAsk {
    /// A call, of the session (`approval.requested`) or of a sub-agent (`agent.asked`).
    Approval {
        /// Its name.
        approval: ApprovalId,
        /// The call of this session that it is about.
        call: CallId,
        /// The fact.
        event: Arc<Event>,
    },
    /// A question: `question.asked`.
    Question {
        /// The call it came with.
        call: CallId,
        /// The fact.
        event: Arc<Event>,
    },
}

impl PendingAsk {
    /// The name of the approval or question.
    pub fn name(&self) -> &str {
        match self {
            PendingAsk::Approval { approval, .. } => approval.as_str(),
            PendingAsk::Question { .. } => {
                self.question().map_or("", |fact| fact.question.as_str())
            }
        }
    }

    /// The call of this session that it is about.
    pub fn call(&self) -> CallId {
        match self {
            PendingAsk::Approval { call, .. } | PendingAsk::Question { call, .. } => *call,
        }
    }

    /// What is asked for approval.
    pub fn request(&self) -> Option<&ApprovalRequested> {
        match self.event().as_ref() {
            Event::ApprovalRequested(fact) => Some(fact),
            Event::AgentAsked(fact) => Some(&fact.request),
            _ => None,
        }
    }

    /// The profiles on the way to the sub-agent that asks; empty: the session itself does.
    pub fn agent_path(&self) -> &[String] {
        match self.event().as_ref() {
            Event::AgentAsked(fact) => &fact.path,
            _ => &[],
        }
    }

    /// The question.
    pub fn question(&self) -> Option<&QuestionAsked> {
        match self.event().as_ref() {
            Event::QuestionAsked(fact) => Some(fact),
            _ => None,
        }
    }

    /// The fact.
    pub fn event(&self) -> &Arc<Event> {
        match self {
            PendingAsk::Approval { event, .. } | PendingAsk::Question { event, .. } => event,
        }
    }

    /// Calls of unknown outcome of this session that it tells of (D4).
    pub fn unknown_calls(&self) -> &[CallId] {
        match self.event().as_ref() {
            Event::ApprovalRequested(fact) => &fact.unknown,
            _ => &[],
        }
    }
}

impl Transcript {
    fn open_ask(&mut self, ask: PendingAsk) {
        self.asks.push(ask.clone());
        self.changes.push(Change::AskOpened(ask));
    }

    fn close_ask(&mut self, name: &str, words: String) -> Option<PendingAsk> {
        let place = self.asks.iter().position(|ask| ask.name() == name);
        self.changes.push(Change::AskClosed { name: name.to_owned(), words });
        place.map(|place| self.asks.remove(place))
    }

    pub(super) fn approval_requested(&mut self, f: &ApprovalRequested, at: &PlacedFact) {
        let (approval, call, event) = (f.approval.clone(), f.call, at.event.clone());
        self.open_ask(PendingAsk::Approval { approval, call, event });
        self.change_call(call, |entry| entry.stage = CallStage::Waiting);
    }

    pub(super) fn approval_resolved(&mut self, f: &ApprovalResolved) {
        let words = decision_text(f.decision, &f.by, f.reason.as_deref());
        let ask = self.close_ask(f.approval.as_str(), words.clone());
        self.change_call(f.call, |entry| {
            let allows = f.decision.allows();
            entry.stage = if allows { CallStage::Proposed } else { CallStage::Refused };
            entry.notes.push(CallNote::Told(words));
        });
        // Whoever allows a call settles what its question told them of, and nothing else (D4).
        if let Some(ask) = ask.filter(|ask| f.decision.allows() && !ask.unknown_calls().is_empty())
        {
            self.settle_unknown(|call| ask.unknown_calls().contains(&call));
        }
    }

    pub(super) fn question_asked(&mut self, f: &QuestionAsked, at: &PlacedFact) {
        self.open_ask(PendingAsk::Question { call: f.call, event: at.event.clone() });
        self.change_call(f.call, |entry| entry.stage = CallStage::Waiting);
    }

    pub(super) fn question_answered(&mut self, f: &QuestionAnswered) {
        let words = match &f.answer {
            Some(answer) => format!("{} answered: {}", one_line(&f.by), one_line(answer)),
            None => "Not answered: the run was ended first".into(),
        };
        if let Some(PendingAsk::Question { call, .. }) = self.close_ask(f.question.as_str(), words)
        {
            self.change_call(call, |entry| {
                // A server asks while the call runs; the agent's own question is the call.
                let runs = entry.started.is_some();
                entry.stage = if runs { CallStage::Running } else { CallStage::Proposed };
            });
        }
        if let Some(input) = f.input {
            self.remove_queued(input, Change::InputDelivered);
        }
    }

    pub(super) fn agent_asked(&mut self, f: &AgentAsked, at: &PlacedFact) {
        let (approval, call, event) = (f.request.approval.clone(), f.call, at.event.clone());
        self.open_ask(PendingAsk::Approval { approval, call, event });
        self.change_call(call, |entry| {
            entry.agents.iter_mut().for_each(|agent| agent.asks |= agent.id == f.agent);
        });
    }

    pub(super) fn agent_answered(&mut self, f: &AgentAnswered) {
        let words = decision_text(f.decision, &f.by, None);
        self.close_ask(f.approval.as_str(), words.clone());
        self.change_call(f.call, |entry| {
            entry.agents.iter_mut().for_each(|agent| agent.asks &= agent.id != f.agent);
            entry.notes.push(CallNote::Told(words));
        });
    }
}
