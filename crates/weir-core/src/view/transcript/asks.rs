//! What a person is asked, from the question to its answer. Not here: the calls that are asked about.

use crate::event::{
    AgentAnswered, AgentAsked, ApprovalRequested, ApprovalResolved, Decision, QuestionAnswered,
    QuestionAsked, SharedFact,
};
use crate::ids::{CallId, SessionId};
use crate::view::told::{decision_text, one_line};

use super::{CallNote, CallStage, PlacedFact, Transcript, TranscriptChange as Change};

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub enum PendingAsk {
    /// A call of the session.
    Approval(SharedFact<ApprovalRequested>),
    /// A call of a sub-agent.
    AgentApproval(SharedFact<AgentAsked>),
    /// A question.
    Question(SharedFact<QuestionAsked>),
}

/// How something that was asked came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskOutcome {
    /// The call may run.
    Allowed,
    /// It may not.
    Refused,
    /// The question was answered.
    Answered,
    /// Nobody answered it.
    Unanswered,
    /// Nobody said whether the call may run: the time was up, or its run was ended.
    Lapsed,
}

impl AskOutcome {
    fn of_decision(decision: Decision) -> AskOutcome {
        match decision {
            Decision::Cancelled | Decision::Expired => AskOutcome::Lapsed,
            _ if decision.allows() => AskOutcome::Allowed,
            _ => AskOutcome::Refused,
        }
    }
}

impl PendingAsk {
    /// The name of the approval or question.
    pub fn name(&self) -> &str {
        match self {
            PendingAsk::Approval(fact) => fact.approval.as_str(),
            PendingAsk::AgentApproval(fact) => fact.request.approval.as_str(),
            PendingAsk::Question(fact) => fact.question.as_str(),
        }
    }

    /// The call of this session that it is about.
    pub fn call(&self) -> CallId {
        match self {
            PendingAsk::Approval(fact) => fact.call,
            PendingAsk::AgentApproval(fact) => fact.call,
            PendingAsk::Question(fact) => fact.call,
        }
    }

    /// The session that asks, where it is shown in `shown`: that one, or a sub-agent of it.
    pub fn asking_session<'a>(&'a self, shown: &'a SessionId) -> &'a SessionId {
        match self {
            PendingAsk::AgentApproval(fact) => &fact.agent,
            PendingAsk::Approval(_) | PendingAsk::Question(_) => shown,
        }
    }

    /// The request, where it is an approval that is asked for.
    pub fn request(&self) -> Option<&ApprovalRequested> {
        match self {
            PendingAsk::Approval(fact) => Some(fact),
            PendingAsk::AgentApproval(fact) => Some(&fact.request),
            PendingAsk::Question(_) => None,
        }
    }

    /// The profiles on the way to the sub-agent that asks; empty: the session itself does.
    pub fn agent_path(&self) -> &[String] {
        match self {
            PendingAsk::AgentApproval(fact) => &fact.path,
            PendingAsk::Approval(_) | PendingAsk::Question(_) => &[],
        }
    }

    /// The question, where it is a question that is asked.
    pub fn question(&self) -> Option<&QuestionAsked> {
        match self {
            PendingAsk::Question(fact) => Some(fact),
            PendingAsk::Approval(_) | PendingAsk::AgentApproval(_) => None,
        }
    }

    /// Calls of unknown outcome of this session that it tells of (D4).
    pub fn unknown_calls(&self) -> &[CallId] {
        match self {
            PendingAsk::Approval(fact) => &fact.unknown,
            PendingAsk::AgentApproval(_) | PendingAsk::Question(_) => &[],
        }
    }
}

impl Transcript {
    fn open_ask(&mut self, ask: PendingAsk) {
        self.asks.push(ask.clone());
        self.changes.push(Change::AskOpened(ask));
    }

    fn close_ask(&mut self, name: &str, outcome: AskOutcome, words: String) -> Option<PendingAsk> {
        let place = self.asks.iter().position(|ask| ask.name() == name);
        self.changes.push(Change::AskClosed { name: name.to_owned(), outcome, words });
        place.map(|place| self.asks.remove(place))
    }

    pub(super) fn approval_requested(&mut self, f: &ApprovalRequested, at: &PlacedFact) {
        self.open_ask(PendingAsk::Approval(at.of_kind(f).fact));
        for call in f.calls() {
            self.change_call(call, |entry| entry.stage = CallStage::Waiting);
        }
    }

    pub(super) fn approval_resolved(&mut self, f: &ApprovalResolved) {
        let words = decision_text(f.decision, &f.by, f.reason.as_deref());
        let outcome = AskOutcome::of_decision(f.decision);
        let ask = self.close_ask(f.approval.as_str(), outcome, words.clone());
        let request = ask.as_ref().and_then(PendingAsk::request);
        for call in request.map_or_else(|| vec![f.call], ApprovalRequested::calls) {
            self.change_call(call, |entry| {
                let allows = f.decision.allows();
                entry.stage = if allows { CallStage::Proposed } else { CallStage::Refused };
                entry.notes.push(CallNote::Told(words.clone()));
            });
        }
        // Whoever allows a call settles what its question told them of, and nothing else (D4).
        if let Some(ask) = ask.filter(|ask| f.decision.allows() && !ask.unknown_calls().is_empty())
        {
            self.settle_unknown(|call| ask.unknown_calls().contains(&call));
        }
    }

    pub(super) fn question_asked(&mut self, f: &QuestionAsked, at: &PlacedFact) {
        self.open_ask(PendingAsk::Question(at.of_kind(f).fact));
        self.change_call(f.call, |entry| entry.stage = CallStage::Waiting);
    }

    pub(super) fn question_answered(&mut self, f: &QuestionAnswered) {
        let words = match &f.answer {
            Some(answer) => format!("{} answered: {}", one_line(&f.by), one_line(answer)),
            None => "Not answered: the run was ended first".into(),
        };
        let outcome = match f.answer {
            Some(_) => AskOutcome::Answered,
            None => AskOutcome::Unanswered,
        };
        if let Some(PendingAsk::Question(asked)) =
            self.close_ask(f.question.as_str(), outcome, words)
        {
            self.change_call(asked.call, |entry| {
                // A server asks while the call runs; the agent's own question is the call.
                let runs = entry.started.is_some();
                entry.stage = if runs { CallStage::Running } else { CallStage::Proposed };
            });
        }
        if let Some(input) = f.input {
            self.deliver_input(input);
        }
    }

    pub(super) fn agent_asked(&mut self, f: &AgentAsked, at: &PlacedFact) {
        self.open_ask(PendingAsk::AgentApproval(at.of_kind(f).fact));
        self.change_call(f.call, |entry| {
            entry.agents.iter_mut().for_each(|agent| agent.asks |= agent.id == f.agent);
        });
    }

    pub(super) fn agent_answered(&mut self, f: &AgentAnswered) {
        let words = decision_text(f.decision, &f.by, None);
        let outcome = AskOutcome::of_decision(f.decision);
        self.close_ask(f.approval.as_str(), outcome, words.clone());
        self.change_call(f.call, |entry| {
            entry.agents.iter_mut().for_each(|agent| agent.asks &= agent.id != f.agent);
            entry.notes.push(CallNote::Told(words));
        });
    }
}
