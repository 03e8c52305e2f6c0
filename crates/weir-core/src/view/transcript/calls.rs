//! Calls of tools from their proposal to their end, the sub-agents that they start, background jobs,
//! and calls of which nobody knows whether they happened. Not here: what a person is asked.

use serde::{Deserialize, Serialize};

use crate::event::{
    AgentFinished, AgentSpawned, CallFinished, CallJudged, CallProposed, CallReconciled,
    CallUnknown, CheckpointTaken, RunStatus, SharedFact,
};
use crate::governance::{GateName, Verdict};
use crate::ids::{CallId, Seq, SessionId, Timestamp};
use crate::tool::ResultEffect;
use crate::view::told::one_line;

use super::{Activity, PlacedFact, SeenFact, Transcript, TranscriptChange as Change};

/// Calls of unknown outcome that are kept; more than a run ever leaves.
const UNKNOWN_MAX: usize = 64;
/// Jobs that are listed; more than a session ever has at once.
const JOBS_MAX: usize = 64;

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStage {
    /// Asked for.
    Proposed,
    /// A person must say.
    Waiting,
    /// It runs.
    Running,
    /// Over, and it succeeded.
    Done,
    /// Over, and it did not.
    Failed,
    /// Over before it ran: it could not be done as it was asked for.
    NotDone,
    /// Not allowed.
    Refused,
    /// Nobody can tell whether it happened.
    Unknown,
}

impl CallStage {
    /// Whether nothing more will come of it.
    pub fn is_over(self) -> bool {
        match self {
            CallStage::Done
            | CallStage::Failed
            | CallStage::NotDone
            | CallStage::Refused
            | CallStage::Unknown => true,
            CallStage::Proposed | CallStage::Waiting | CallStage::Running => false,
        }
    }

    /// The words of every face for it.
    pub fn stage_words(self) -> &'static str {
        match self {
            CallStage::Proposed => "requested",
            CallStage::Waiting => "waiting for you",
            CallStage::Running => "running",
            CallStage::Done => "done",
            CallStage::Failed => "failed",
            CallStage::NotDone => "not done",
            CallStage::Refused => "not allowed",
            CallStage::Unknown => "outcome unknown",
        }
    }
}

/// A sub-agent that a call started.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildAgent {
    /// Id of the sub-agent's session.
    pub id: SessionId,
    /// The fact that started it.
    pub spawned: SharedFact<AgentSpawned>,
    /// It waits for a person.
    pub asks: bool,
    /// How it ended, and what it said.
    pub ended: Option<(RunStatus, String)>,
}

/// Something that happened to a call: a sentence, made safe already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallNote {
    /// What was saved before it: of use when something is taken back.
    Saved(String),
    /// A note in words that no other variant holds.
    Told(String),
}

impl CallNote {
    /// The sentence.
    pub fn text(&self) -> &str {
        match self {
            CallNote::Saved(text) | CallNote::Told(text) => text,
        }
    }
}

/// A call, as far as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEntry {
    /// Number of the call in its session.
    pub call: CallId,
    /// The fact that asked for it.
    pub proposed: SeenFact<CallProposed>,
    /// How far it is.
    pub stage: CallStage,
    /// The fact that judged it.
    pub judged: Option<SharedFact<CallJudged>>,
    /// When it began to run.
    pub started: Option<Timestamp>,
    /// The fact that ended it.
    pub finished: Option<SharedFact<CallFinished>>,
    /// What else happened to it, in order.
    pub notes: Vec<CallNote>,
    /// Its sub-agents.
    pub agents: Vec<ChildAgent>,
}

impl CallEntry {
    /// The tool, made safe.
    pub fn tool_name(&self) -> String {
        one_line(&self.proposed.fact.tool)
    }

    /// Which step of which program it is, in words; `None`: the model itself asked for it (U7).
    pub fn step_words(&self) -> Option<String> {
        let of = self.proposed.fact.of?;
        Some(format!("step {} of {of}", self.proposed.fact.step.unwrap_or_default()))
    }

    /// Whether nothing more will be told of it or of its sub-agents.
    pub(super) fn is_settled(&self) -> bool {
        // A call that was denied is over for whoever looks; what it came to is told after that.
        let is_told = self.finished.is_some() || self.stage == CallStage::Unknown;
        is_told && self.agents.iter().all(|agent| agent.ended.is_some())
    }

    /// Whether it runs, and not only waits for the person with its sub-agent.
    fn is_at_work(&self) -> bool {
        self.stage == CallStage::Running && !self.agents.iter().any(|agent| agent.asks)
    }

    /// The stage once it was answered.
    fn final_stage(&self, ok: bool) -> CallStage {
        let judged = self.judged.as_deref().filter(|fact| fact.verdict == Verdict::Deny);
        // Arguments that do not fit are a mistake and nothing that was forbidden.
        let is_mistake =
            |fact: &CallJudged| fact.gate.as_ref().is_some_and(GateName::refuses_mistakes);
        match (self.stage, ok) {
            (CallStage::Unknown, _) => CallStage::Unknown,
            (_, true) => CallStage::Done,
            (CallStage::Refused, false) => CallStage::Refused,
            (_, false) if judged.is_some_and(|fact| !is_mistake(fact)) => CallStage::Refused,
            // A file that is not there was not forbidden either.
            (_, false) if self.started.is_none() => CallStage::NotDone,
            (_, false) => CallStage::Failed,
        }
    }
}

/// A call of which nobody knows whether it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownCall {
    /// Number of the call in its session.
    pub call: CallId,
    /// Place of its entry.
    pub seq: Seq,
    /// Its tool, made safe.
    pub tool: String,
    /// Why nobody knows, made safe.
    pub why: String,
}

/// A job in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundJob {
    /// Its name: `j1`.
    pub name: String,
    /// The command line, as the model wrote it.
    pub command: String,
}

impl Transcript {
    /// Whether any call runs, and not only waits for the person with its sub-agent.
    pub fn has_calls_at_work(&self) -> bool {
        let mut running = self.running.iter().filter_map(|call| self.calls.get(call));
        running.any(CallEntry::is_at_work)
    }

    pub(super) fn change_call(&mut self, call: CallId, change: impl FnOnce(&mut CallEntry)) {
        if let Some(entry) = self.calls.get_mut(&call) {
            change(entry);
            if entry.stage == CallStage::Running {
                self.running.insert(call);
            } else {
                self.running.remove(&call);
            }
            self.changes.push(Change::CallChanged(call));
        }
    }

    /// Calls of unknown outcome for which this holds are settled.
    pub(super) fn settle_unknown(&mut self, is_settled: impl Fn(CallId) -> bool) {
        let before = self.unknown.len();
        self.unknown.retain(|unknown| !is_settled(unknown.call));
        if self.unknown.len() != before {
            self.changes.push(Change::UnknownCallsChanged);
        }
    }

    pub(super) fn call_proposed(&mut self, f: &CallProposed, at: &PlacedFact) {
        let entry = CallEntry {
            call: f.call,
            proposed: at.of_kind(f),
            stage: CallStage::Proposed,
            judged: None,
            started: None,
            finished: None,
            notes: Vec::new(),
            agents: Vec::new(),
        };
        self.last_call = self.last_call.max(Some(f.call));
        self.calls.insert(f.call, entry);
        self.running.remove(&f.call);
        self.changes.push(Change::CallAdded(f.call));
    }

    pub(super) fn checkpoint_taken(&mut self, f: &CheckpointTaken) {
        if !f.paths.is_empty() {
            let note = format!("Saved before the change: {}", one_line(&f.paths.join(", ")));
            self.change_call(f.call, |entry| entry.notes.push(CallNote::Saved(note)));
        }
    }

    pub(super) fn call_started(&mut self, call: CallId, ts: Timestamp) {
        let proposed = self.find_call(call).map(|entry| &entry.proposed);
        if let Some(tool) = proposed.map(|at| at.fact.tool.clone()) {
            self.set_activity(Activity::Calling(tool));
        }
        self.change_call(call, |entry| {
            (entry.stage, entry.started) = (CallStage::Running, Some(ts));
        });
    }

    pub(super) fn call_reconciled(&mut self, f: &CallReconciled) {
        self.settle_unknown(|call| call == f.call);
        let note = format!("It did not happen: {}", one_line(&f.evidence));
        self.change_call(f.call, |entry| entry.notes.push(CallNote::Told(note)));
    }

    pub(super) fn call_finished(&mut self, f: &CallFinished, at: &PlacedFact) {
        self.follow_jobs(f);
        self.settle_unknown(|call| call == f.call);
        for news in &f.news {
            if let ResultEffect::Used { usage, cost_usd } = news {
                self.meters.add(usage, *cost_usd);
            }
        }
        let was_unknown =
            self.find_call(f.call).is_some_and(|call| call.stage == CallStage::Unknown);
        self.change_call(f.call, |entry| {
            entry.stage = entry.final_stage(f.ok);
            entry.finished = SharedFact::new(&at.event);
        });
        if !was_unknown {
            self.end_call(f.call);
        }
    }

    pub(super) fn call_unknown(&mut self, f: &CallUnknown, at: &PlacedFact) {
        let seq = self.find_call(f.call).map_or(at.seq, |call| call.proposed.seq);
        let (call, tool, why) = (f.call, one_line(&f.tool), one_line(&f.reason));
        self.unknown.push(UnknownCall { call, seq, tool, why: why.clone() });
        self.unknown.drain(..self.unknown.len().saturating_sub(UNKNOWN_MAX));
        self.changes.push(Change::UnknownCallsChanged);
        self.change_call(call, |entry| {
            entry.stage = CallStage::Unknown;
            entry.notes.push(CallNote::Told(why));
        });
        self.end_call(call);
    }

    fn end_call(&mut self, call: CallId) {
        if !self.calls.contains_key(&call) {
            return;
        }
        if !self.has_calls_at_work() {
            self.set_activity(Activity::Working);
        }
        self.changes.push(Change::CallEnded(call));
    }

    /// Jobs in the background: started, ended, or seen to have ended.
    fn follow_jobs(&mut self, f: &CallFinished) {
        let judged = self.find_call(f.call).and_then(|entry| entry.judged.as_deref());
        let commands = judged.map(|fact| &fact.inspection.effects.commands);
        let started = commands.into_iter().flatten().find(|command| command.background);
        let command = started.map(|command| command.command.clone());
        for news in &f.news {
            match (news, &command) {
                (ResultEffect::Job { job, running: true }, Some(command)) => {
                    let (name, command) = (job.clone(), command.clone());
                    self.jobs.push(BackgroundJob { name, command });
                    self.jobs.truncate(JOBS_MAX);
                }
                (ResultEffect::Job { job, running: false }, _) => {
                    self.jobs.retain(|known| known.name != *job);
                }
                _ => (),
            }
        }
    }

    pub(super) fn agent_spawned(&mut self, f: &AgentSpawned, at: &PlacedFact) {
        let (id, spawned) = (f.agent.clone(), at.of_kind(f).fact);
        let agent = ChildAgent { id, spawned, asks: false, ended: None };
        self.change_call(f.call, |entry| entry.agents.push(agent));
    }

    pub(super) fn agent_finished(&mut self, f: &AgentFinished) {
        self.meters.add(&f.usage, f.cost_usd);
        let end = (f.status, f.error.clone().unwrap_or_else(|| f.text.clone()));
        self.change_call(f.call, |entry| {
            if let Some(agent) = entry.agents.iter_mut().find(|agent| agent.id == f.agent) {
                (agent.asks, agent.ended) = (false, Some(end));
            }
        });
    }
}
