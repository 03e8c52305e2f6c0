//! Which calls of a client wait, which the session has, and what of the journal is news for whom. Pure. Not
//! here: telling anybody, and steering the session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use weir_core::event::{
    ApprovalRequested, Event, ModelReplied, RunFinished, RunStatus, SharedFact,
};
use weir_core::ids::{ApprovalId, CallId};
use weir_core::message::MessageBlock;
use weir_core::view::told::one_line;

use super::question::is_ordinary;

/// How often a call that no run took is said again before it counts as not run.
const SAID_MAX: u32 = 2;
/// Characters of a line of output that are told as progress.
const PROGRESS_CHARS_MAX: usize = 200;

/// Number of a client's call, counted by this program.
pub(super) type CallNumber = u64;

/// News of a client's call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BoardNews {
    /// Where it stands, in a line.
    Progress(String),
    /// A person is asked about it.
    Asked {
        /// What.
        asked: SharedFact<ApprovalRequested>,
        /// All of it is such that a client's form may decide about it, also one that nobody vouches for.
        is_ordinary: bool,
    },
    /// A person would be asked about what nobody waits for any more: the answer is no.
    Unwanted(ApprovalId),
    /// That question is answered.
    Settled(ApprovalId),
    /// It is over.
    Finished {
        /// What the model is given.
        blocks: Vec<MessageBlock>,
        /// Whether it succeeded.
        ok: bool,
    },
}

/// News with the call that they are of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewsOfCall {
    pub(super) call: CallNumber,
    pub(super) news: BoardNews,
}

/// What is to be done for a call that its client gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// Nothing: it is over, or others go on beside it.
    LeftAlone,
    /// It has to be taken out of the queue.
    Unqueue,
    /// The question about it is answered with no.
    Deny(ApprovalId),
    /// Nobody waits for anything any more.
    EndRun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallStage {
    /// The session does not know it. `said`: how often a run was begun for it.
    Queued { said: u32 },
    /// The session has it under this number.
    Known(CallId),
}

#[derive(Debug)]
struct BoardCall {
    stage: CallStage,
    given_up: bool,
}

#[derive(Debug)]
struct OpenAsk {
    approval: ApprovalId,
    /// The client's call that is asked about.
    call: CallNumber,
    /// Every client's call that an answer is for.
    about: Vec<CallNumber>,
    /// It is about steps of a program: a no would not end the program.
    is_of_steps: bool,
}

/// All calls that clients wait for.
#[derive(Debug, Default)]
pub(super) struct CallBoard {
    calls: BTreeMap<CallNumber, BoardCall>,
    /// The call of a program, for each step of it.
    steps: HashMap<CallId, CallId>,
    asks: Vec<OpenAsk>,
    /// Calls that a client's form may decide about.
    ordinary: HashSet<CallId>,
}

/// Under which id a call goes to the session.
pub(super) fn wire_id(call: CallNumber) -> String {
    format!("mcp-{call}")
}

fn number_of_wire_id(wire_id: &str) -> Option<CallNumber> {
    wire_id.strip_prefix("mcp-")?.parse().ok()
}

impl CallBoard {
    /// A client asked for a call.
    pub(super) fn add_call(&mut self, call: CallNumber) {
        let stage = CallStage::Queued { said: 0 };
        self.calls.insert(call, BoardCall { stage, given_up: false });
    }

    /// A run was begun for all that wait.
    pub(super) fn note_said(&mut self) {
        for call in self.calls.values_mut() {
            if let CallStage::Queued { said } = &mut call.stage {
                *said += 1;
            }
        }
    }

    /// Whether a call waits for a run.
    pub(super) fn has_queued(&self) -> bool {
        self.calls.values().any(|call| matches!(call.stage, CallStage::Queued { .. }))
    }

    /// Forgets a call that was never run.
    pub(super) fn remove_call(&mut self, call: CallNumber) {
        self.calls.remove(&call);
    }

    /// All calls that were not answered, as not run: the session is gone.
    pub(super) fn fail_all(&mut self, why: &str) -> Vec<NewsOfCall> {
        let all = std::mem::take(&mut self.calls);
        self.asks.clear();
        self.steps.clear();
        self.ordinary.clear();
        all.into_keys().map(|call| not_run(call, why)).collect()
    }

    /// The client no longer wants a call.
    pub(super) fn give_up(&mut self, call: CallNumber) -> GivenUp {
        let Some(entry) = self.calls.get_mut(&call) else { return GivenUp::LeftAlone };
        entry.given_up = true;
        if let CallStage::Queued { .. } = entry.stage {
            return GivenUp::Unqueue;
        }
        let ask = self.asks.iter().find(|ask| ask.call == call && self.is_unwanted(&ask.about));
        match ask {
            Some(ask) if !ask.is_of_steps => GivenUp::Deny(ask.approval.clone()),
            _ if self.is_all_given_up() => GivenUp::EndRun,
            Some(ask) => GivenUp::Deny(ask.approval.clone()),
            None => GivenUp::LeftAlone,
        }
    }

    /// Whether nobody waits for any of these calls.
    fn is_unwanted(&self, calls: &[CallNumber]) -> bool {
        calls.iter().all(|call| self.calls.get(call).is_none_or(|call| call.given_up))
    }

    /// Whether the session works, and on nothing that anybody waits for.
    pub(super) fn is_all_given_up(&self) -> bool {
        let mut known =
            self.calls.values().filter(|call| matches!(call.stage, CallStage::Known(_)));
        let first = known.next();
        first.is_some_and(|call| call.given_up) && known.all(|call| call.given_up)
    }

    /// The client's call that the session has under this number, or that this is a step of.
    pub(super) fn find_known(&self, id: CallId) -> Option<CallNumber> {
        // A step of a step belongs to the program at the top.
        let mut id = id;
        while let Some(of) = self.steps.get(&id) {
            id = *of;
        }
        let is_it = |call: &BoardCall| call.stage == CallStage::Known(id);
        self.calls.iter().find(|(_, call)| is_it(call)).map(|(number, _)| *number)
    }

    /// All calls that the session has.
    pub(super) fn known_calls(&self) -> Vec<CallNumber> {
        let known = |call: &BoardCall| matches!(call.stage, CallStage::Known(_));
        self.calls.iter().filter(|(_, call)| known(call)).map(|(number, _)| *number).collect()
    }

    /// What a fact tells whom. The end of a run is not here (`end_run`).
    pub(super) fn take_fact(&mut self, event: &Arc<Event>) -> Vec<NewsOfCall> {
        match event.as_ref() {
            Event::ModelReplied(f) => self.note_reply(f),
            Event::CallProposed(f) => {
                if let Some(of) = f.of {
                    self.steps.insert(f.call, of);
                }
                Vec::new()
            }
            Event::CallJudged(f) => {
                match is_ordinary(f) {
                    true => self.ordinary.insert(f.call),
                    false => self.ordinary.remove(&f.call),
                };
                Vec::new()
            }
            Event::ApprovalRequested(f) => self.open_ask(event, f),
            Event::ApprovalResolved(f) => {
                let Some(at) = self.asks.iter().position(|ask| ask.approval == f.approval) else {
                    return Vec::new();
                };
                let ask = self.asks.swap_remove(at);
                vec![NewsOfCall { call: ask.call, news: BoardNews::Settled(ask.approval) }]
            }
            Event::CallStarted(f) => self.tell_call(f.call, || "It runs".into()),
            Event::QuestionAsked(f) => {
                self.tell_all(&format!("A person is asked: {}", one_line(&f.text)))
            }
            Event::CallFinished(f) => self.finish_call(f.call, f.result.clone(), f.ok),
            Event::CallUnknown(f) => {
                let told = f.told.clone().unwrap_or_else(|| f.reason.clone());
                self.finish_call(f.call, vec![MessageBlock::text(told)], false)
            }
            _ => Vec::new(),
        }
    }

    /// Progress of a tool, as it is streamed.
    pub(super) fn take_output(&self, call: CallId, text: &str) -> Option<NewsOfCall> {
        let line = text.lines().rev().map(one_line).find(|line| !line.is_empty())?;
        let call = self.find_known(call)?;
        let line = line.chars().take(PROGRESS_CHARS_MAX).collect();
        Some(NewsOfCall { call, news: BoardNews::Progress(line) })
    }

    fn note_reply(&mut self, reply: &ModelReplied) -> Vec<NewsOfCall> {
        for block in &reply.content {
            let MessageBlock::Call(call) = block else { continue };
            let number = number_of_wire_id(&call.wire_id);
            if let Some(entry) = number.and_then(|number| self.calls.get_mut(&number)) {
                entry.stage = CallStage::Known(call.call);
            }
        }
        Vec::new()
    }

    fn open_ask(&mut self, event: &Arc<Event>, asked: &ApprovalRequested) -> Vec<NewsOfCall> {
        let Some(call) = self.find_known(asked.call) else { return Vec::new() };
        let mut about: Vec<CallNumber> =
            asked.calls().into_iter().filter_map(|call| self.find_known(call)).collect();
        about.push(call);
        if self.is_unwanted(&about) {
            let news = BoardNews::Unwanted(asked.approval.clone());
            return vec![NewsOfCall { call, news }];
        }
        let is_of_steps = self.steps.contains_key(&asked.call) || !asked.lines.is_empty();
        self.asks.push(OpenAsk { approval: asked.approval.clone(), call, about, is_of_steps });
        // What was not seen to be judged is nothing that is known to be ordinary.
        let is_ordinary = asked.calls().iter().all(|call| self.ordinary.contains(call));
        let news = |asked| NewsOfCall { call, news: BoardNews::Asked { asked, is_ordinary } };
        SharedFact::new(event).map(news).into_iter().collect()
    }

    fn tell_call(&self, id: CallId, words: impl FnOnce() -> String) -> Vec<NewsOfCall> {
        let call = self.find_known(id);
        call.map(|call| NewsOfCall { call, news: BoardNews::Progress(words()) })
            .into_iter()
            .collect()
    }

    fn tell_all(&self, words: &str) -> Vec<NewsOfCall> {
        let told = self.known_calls().into_iter();
        told.map(|call| NewsOfCall { call, news: BoardNews::Progress(words.to_owned()) }).collect()
    }

    fn finish_call(&mut self, id: CallId, blocks: Vec<MessageBlock>, ok: bool) -> Vec<NewsOfCall> {
        if self.steps.contains_key(&id) {
            return Vec::new();
        }
        let Some(call) = self.find_known(id) else { return Vec::new() };
        self.calls.remove(&call);
        vec![NewsOfCall { call, news: BoardNews::Finished { blocks, ok } }]
    }

    /// A run came to rest: what it had and did not answer will not be, and what it never took waits for the
    /// next. `is_queued` says of a call whether it still waits to be taken.
    pub(super) fn end_run(
        &mut self,
        run: &RunFinished,
        is_queued: impl Fn(CallNumber) -> bool,
    ) -> Vec<NewsOfCall> {
        self.asks.clear();
        self.steps.clear();
        self.ordinary.clear();
        let why = end_text(run);
        let is_over = |number: CallNumber, call: &BoardCall| match call.stage {
            CallStage::Known(_) => true,
            CallStage::Queued { .. } if !is_queued(number) => true,
            CallStage::Queued { said: 0 } => false,
            CallStage::Queued { said } => run.status != RunStatus::Completed || said >= SAID_MAX,
        };
        let over: Vec<CallNumber> = self
            .calls
            .iter()
            .filter(|(number, call)| is_over(**number, call))
            .map(|(number, _)| *number)
            .collect();
        over.into_iter()
            .map(|number| {
                self.calls.remove(&number);
                not_run(number, &why)
            })
            .collect()
    }
}

fn not_run(call: CallNumber, why: &str) -> NewsOfCall {
    let blocks = vec![MessageBlock::text(format!("No result: {why}"))];
    NewsOfCall { call, news: BoardNews::Finished { blocks, ok: false } }
}

fn end_text(run: &RunFinished) -> String {
    let status = serde_json::to_value(run.status).unwrap_or_default();
    let status = status.as_str().unwrap_or_default().replace('_', " ");
    match &run.error {
        Some(error) => format!("the run ended as {status}: {error}"),
        None => format!("the run ended as {status}."),
    }
}

#[cfg(test)]
mod tests;
