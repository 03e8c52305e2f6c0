//! What of a session's course the other end of the link has to know: its settings, whether a run is
//! on, what waits. Much less than the engine's own fold, which has the whole conversation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weir_core::event::{Decision, Event, RunStatus};
use weir_core::governance::rules::Rule;
use weir_core::ids::{ApprovalId, InputId, RunId, Seq};
use weir_core::session::SessionConfig;
use weir_engine::hub::Fact;

/// Names of inputs that are remembered: those of the last ones said.
const NAMES_MAX: usize = 256;

/// The fold.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    /// Facts so far.
    pub(super) facts: Seq,
    /// The settings that hold.
    pub(super) config: Option<Arc<SessionConfig>>,
    /// The run that is on.
    pub(super) run: Option<RunId>,
    /// How the last run ended.
    pub(super) ended: Option<RunStatus>,
    queued: BTreeSet<InputId>,
    names: VecDeque<String>,
    asked: BTreeMap<ApprovalId, Vec<Rule>>,
}

/// What a fact means for this end.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    /// A run ended and nothing waits.
    pub(super) rests: bool,
    /// A person allowed these for always.
    pub(super) always: Option<(ApprovalId, String, Vec<Rule>)>,
}

impl Course {
    /// Takes a fact in.
    pub(super) fn hear(&mut self, fact: &Fact) -> Heard {
        self.facts = fact.seq;
        let mut heard = Heard::default();
        match fact.event.as_ref() {
            Event::SessionOpened(f) => self.config = Some(Arc::new(f.config.as_ref().clone())),
            Event::SessionConfigured(f) => {
                self.config = Some(Arc::new(f.config.as_ref().clone()));
            }
            Event::ProfileSwitched(f) => self.config = Some(Arc::new(f.config.as_ref().clone())),
            Event::InputAccepted(f) => {
                self.queued.insert(f.input);
                if let Some(name) = &f.client_id {
                    self.names.push_back(name.clone());
                    if self.names.len() > NAMES_MAX {
                        self.names.pop_front();
                    }
                }
            }
            Event::InputWithdrawn(f) => {
                self.queued.remove(&f.input);
            }
            Event::TurnStarted(f) => self.queued.retain(|input| !f.inputs.contains(input)),
            Event::QuestionAnswered(f) => self.queued.retain(|input| Some(*input) != f.input),
            Event::RunStarted(f) => self.run = Some(f.run),
            Event::RunFinished(f) => {
                self.run = None;
                self.ended = Some(f.status);
                // What asked in it is over.
                self.asked.clear();
                heard.rests = self.queued.is_empty();
            }
            Event::ApprovalRequested(f) => {
                self.asked.insert(f.approval.clone(), f.rules.clone());
            }
            Event::AgentAsked(f) => {
                self.asked.insert(f.request.approval.clone(), f.request.rules.clone());
            }
            Event::ApprovalResolved(f) => {
                heard.always = self.settled(&f.approval, f.decision, &f.by);
            }
            Event::AgentAnswered(f) => {
                heard.always = self.settled(&f.approval, f.decision, &f.by);
            }
            _ => (),
        }
        heard
    }

    fn settled(
        &mut self,
        approval: &ApprovalId,
        decision: Decision,
        by: &str,
    ) -> Option<(ApprovalId, String, Vec<Rule>)> {
        let rules = self.asked.remove(approval)?;
        (decision == Decision::Always).then(|| (approval.clone(), by.to_owned(), rules))
    }

    /// Whether an input of this name was accepted.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Something is under way or waits for its turn.
    pub(super) fn gets_on(&self) -> bool {
        self.run.is_some() || !self.queued.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::ids::Timestamp;

    use super::*;

    fn fact(seq: Seq, kind: &str, fields: &serde_json::Value) -> Fact {
        let event = Event::from_payload(kind, &fields.to_string()).expect("a fact");
        Fact { seq, ts: Timestamp(0), event: Arc::new(event) }
    }

    fn said(seq: Seq, input: &str, name: &str) -> Fact {
        let fields = json!({ "input": input, "content": [], "by": "ann", "client_id": name });
        fact(seq, "input.accepted", &fields)
    }

    #[test]
    fn f1_what_waits_is_known_until_it_is_given() {
        let mut course = Course::default();
        course.hear(&said(1, "i1", "a"));
        course.hear(&said(2, "i2", "b"));
        assert!(course.gets_on() && course.has("a") && course.has("b") && !course.has("c"));
        course.hear(&fact(3, "input.withdrawn", &json!({ "input": "i2" })));
        let turn = json!({ "turn": "t1", "iteration": 1, "inputs": ["i1"] });
        course.hear(&fact(4, "turn.started", &turn));
        assert!(!course.gets_on() && course.facts == 4);
    }

    #[test]
    fn f1_names_of_old_inputs_are_forgotten() {
        let mut course = Course::default();
        for number in 0..=NAMES_MAX as Seq {
            course.hear(&said(number + 1, &format!("i{}", number + 1), &format!("n{number}")));
        }
        assert!(!course.has("n0") && course.has("n1"));
    }
}
