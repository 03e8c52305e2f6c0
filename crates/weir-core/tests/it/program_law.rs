//! The law of programs (U7), held against any journal: a step is asked for only while its program
//! runs, in its order, and within the limit; what a step is judged by takes in what its program heard
//! before; nothing of a program is open when the model goes on. Not here: that a call runs once, which
//! is a law of all calls.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weir_core::event::Event;
use weir_core::governance::Verdict;
use weir_core::ids::{ApprovalId, CallId};

/// What was seen of it: a law about what never happens says nothing.
#[derive(Debug, Default)]
pub(crate) struct Count {
    /// Steps that were asked for.
    asked: usize,
    /// Steps that were asked for after the program was taken up again.
    asked_again: usize,
    /// Steps that ran beside another step of their program.
    beside: usize,
    /// Steps that were open when their program ended.
    left_over: usize,
    /// Steps that a person was asked about after their program had heard foreign words.
    foreign: usize,
    /// Steps that a person was asked about together with others.
    together: usize,
}

impl Count {
    pub(crate) fn add(&mut self, other: &Count) {
        self.asked += other.asked;
        self.asked_again += other.asked_again;
        self.beside += other.beside;
        self.left_over += other.left_over;
        self.foreign += other.foreign;
        self.together += other.together;
    }

    pub(crate) fn is_seen(&self) -> bool {
        let each = [self.asked, self.asked_again, self.beside, self.left_over, self.foreign];
        each.iter().chain([&self.together]).all(|seen| *seen > 0)
    }
}

/// The law of answers (U8): a call that a person must let pass runs only after a yes to a question that
/// names it, with its arguments.
#[derive(Debug, Default)]
struct Answers {
    inputs: BTreeMap<CallId, Value>,
    asks: BTreeSet<CallId>,
    named: BTreeMap<ApprovalId, Vec<CallId>>,
    agreed: BTreeSet<CallId>,
}

impl Answers {
    /// Returns how many calls are asked about together.
    fn hear(&mut self, event: &Event) -> usize {
        match event {
            Event::CallProposed(f) => drop(self.inputs.insert(f.call, f.input.clone())),
            Event::CallJudged(f) if f.verdict == Verdict::Ask => drop(self.asks.insert(f.call)),
            Event::ApprovalRequested(f) => {
                for line in &f.lines {
                    assert_eq!(self.inputs.get(&line.call), Some(&line.input), "{}", line.call);
                }
                assert!(f.lines.is_empty() || f.rules.is_empty(), "nothing is lent by it");
                self.named.insert(f.approval.clone(), f.calls());
                return f.lines.len();
            }
            Event::ApprovalResolved(f) if f.decision.allows() => {
                self.agreed.extend(self.named.get(&f.approval).into_iter().flatten());
            }
            Event::ApprovalResolved(f) => {
                for call in self.named.get(&f.approval).into_iter().flatten() {
                    self.agreed.remove(call);
                }
            }
            Event::CallStarted(f) => {
                let may = !self.asks.contains(&f.call) || self.agreed.contains(&f.call);
                assert!(may, "{} runs and nobody agreed to it", f.call);
            }
            _ => (),
        }
        0
    }
}

pub(crate) fn check<'a>(facts: impl Iterator<Item = &'a Event>) -> Count {
    let mut count = Count::default();
    // Programs that run, with the number of the last step.
    let mut running: BTreeMap<CallId, u32> = BTreeMap::new();
    let mut open: BTreeMap<CallId, CallId> = BTreeMap::new();
    let mut started: BTreeSet<CallId> = BTreeSet::new();
    // Programs that heard foreign words, and steps that were asked for after that.
    let (mut heard, mut chosen) = (BTreeSet::new(), BTreeSet::new());
    let mut resumed = false;
    let mut answers = Answers::default();
    for event in facts {
        count.together += answers.hear(event);
        match event {
            Event::SessionResumed(_) => resumed = !running.is_empty(),
            Event::CallStarted(f) => {
                if let Some(of) = open.get(&f.call) {
                    let beside =
                        |(step, other): (&CallId, &CallId)| other == of && started.contains(step);
                    count.beside += usize::from(open.iter().any(beside));
                    started.insert(f.call);
                }
                running.insert(f.call, 0);
            }
            Event::CallProposed(f) => {
                let Some(of) = f.of else { continue };
                let last = running.get_mut(&of).expect("a step of a program that runs");
                *last += 1;
                assert_eq!(f.step, Some(*last), "steps are numbered as they are asked for");
                count.asked += 1;
                count.asked_again += usize::from(resumed);
                open.insert(f.call, of);
                if heard.contains(&of) {
                    chosen.insert(f.call);
                }
            }
            Event::ApprovalRequested(f) if chosen.contains(&f.call) => {
                assert!(f.label.is_external(), "{} is judged by what its program heard", f.call);
                count.foreign += 1;
            }
            Event::CallFinished(_) | Event::CallUnknown(_) => {
                if let Event::CallFinished(f) = event {
                    let foreign = f.label.is_external();
                    heard.extend(open.get(&f.call).copied().filter(|_| foreign));
                    let gives = running.contains_key(&f.call) && heard.contains(&f.call);
                    assert!(foreign || !gives, "{} gives on what its steps gave", f.call);
                }
                let call = match event {
                    Event::CallFinished(f) => f.call,
                    Event::CallUnknown(f) => f.call,
                    _ => continue,
                };
                running.remove(&call);
                open.remove(&call);
                count.left_over += open.values().filter(|of| **of == call).count();
            }
            Event::TurnStarted(_) | Event::RunFinished(_) => {
                assert!(open.is_empty(), "steps {open:?} are open while the agent goes on");
                resumed = false;
            }
            _ => (),
        }
    }
    count
}
