//! What a person sees of a session: a pure fold of its facts. One fact in, the changes out; every
//! client paints those and keeps no fold of its own, so that no two of them tell a different story.
//! Not here: words for what is told in passing ([`super::told`]), streamed text, and how anything
//! looks.
//!
//! The fold keeps no more than later facts can touch: the calls of the run that is on, what waits,
//! what is not settled. Entries that are over are given to the client in changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::SessionConfig;
use crate::event::{Event, InputAccepted, RunStatus};
use crate::ids::{CallId, InputId, Seq, Timestamp, TurnId};
use crate::model::Thinking;
use crate::profile::PermissionMode;
use crate::tool::PlanItem;

mod asks;
mod calls;
mod meters;

pub use asks::PendingAsk;
pub use calls::{BackgroundJob, CallEntry, CallNote, CallStage, ChildAgent, UnknownCall};
pub use meters::{Activity, SessionMeters};

/// A fact with its place. Facts are shared, never copied.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedFact {
    /// Place in the journal.
    pub seq: Seq,
    /// When it happened; a client that saw it happen may put its own clock's time here.
    pub ts: Timestamp,
    /// What.
    pub event: Arc<Event>,
}

impl PlacedFact {
    /// What was said, where this is something that was said.
    pub fn input(&self) -> Option<&InputAccepted> {
        match self.event.as_ref() {
            Event::InputAccepted(fact) => Some(fact),
            _ => None,
        }
    }
}

/// Settings of the session, as far as a person sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisibleSettings {
    /// Model, `provider/name`.
    pub model: String,
    /// Profile.
    pub profile: String,
    /// Permission mode; `None` before the session was opened.
    pub permission: Option<PermissionMode>,
    /// How much the model thinks; `None` before the session was opened.
    pub thinking: Option<Thinking>,
}

/// One thing that is another than before the fact.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptChange {
    /// Somebody said something, and the model is told it now.
    InputSaid(PlacedFact),
    /// Somebody said something while a run is on: it waits for the next turn.
    InputQueued(PlacedFact),
    /// What waited is told to the model.
    InputDelivered(PlacedFact),
    /// What waited will not be told.
    InputWithdrawn(PlacedFact),
    /// A run began.
    RunStarted,
    /// The model is asked: what it writes from now on belongs to this turn.
    RequestStarted(TurnId),
    /// What was being written is not the answer.
    StreamAbandoned,
    /// The model answered.
    ReplyAdded(PlacedFact),
    /// The model made a picture.
    ImageAdded(PlacedFact),
    /// A call of a tool was asked for.
    CallAdded(CallId),
    /// Something about a call is new.
    CallChanged(CallId),
    /// A call came to its end, or nobody will know how it ended.
    CallEnded(CallId),
    /// A person is needed.
    AskOpened(PendingAsk),
    /// Somebody, or the end of the run, settled what was asked.
    AskClosed {
        /// Its name.
        name: String,
        /// What was decided and by whom, in words.
        words: String,
    },
    /// Other calls than before are of unknown outcome.
    UnknownCallsChanged,
    /// The task list is another.
    PlanChanged,
    /// Settings that a person sees were set; they may be the same.
    SettingsChanged,
    /// A run came to rest.
    RunEnded(PlacedFact),
}

use TranscriptChange as Change;

/// What a person sees of a session, as far as it was told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// Calls of the run that is on, and of earlier ones those of unknown outcome or with a question.
    calls: BTreeMap<CallId, CallEntry>,
    queue: Vec<(InputId, PlacedFact)>,
    asks: Vec<PendingAsk>,
    unknown: Vec<UnknownCall>,
    jobs: Vec<BackgroundJob>,
    plan: Vec<PlanItem>,
    activity: Option<Activity>,
    is_running: bool,
    run_started: Timestamp,
    ended: Option<RunStatus>,
    meters: SessionMeters,
    settings: VisibleSettings,
    changes: Vec<Change>,
}

impl Transcript {
    /// Whether a run is on.
    pub fn is_running(&self) -> bool {
        self.is_running
    }
    /// When the run that is on, or was last, began.
    pub fn run_started(&self) -> Timestamp {
        self.run_started
    }
    /// How the last run ended; `None` while one is on and before the first.
    pub fn last_run_status(&self) -> Option<RunStatus> {
        self.ended
    }
    /// What is going on; `None`: nothing.
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_ref()
    }
    /// What waits for a person, the first one first.
    pub fn asks(&self) -> &[PendingAsk] {
        &self.asks
    }
    /// What was said and waits for the next turn, the first one first.
    pub fn queued_inputs(&self) -> impl DoubleEndedIterator<Item = &PlacedFact> {
        self.queue.iter().map(|(_, at)| at)
    }
    /// The task list.
    pub fn task_list(&self) -> &[PlanItem] {
        &self.plan
    }
    /// Calls of which nobody knows whether they happened and that nobody settled.
    pub fn unknown_calls(&self) -> &[UnknownCall] {
        &self.unknown
    }
    /// Background jobs, as far as calls told of them.
    pub fn jobs(&self) -> &[BackgroundJob] {
        &self.jobs
    }
    /// Numbers of the session.
    pub fn meters(&self) -> &SessionMeters {
        &self.meters
    }
    /// Settings that a person sees.
    pub fn settings(&self) -> &VisibleSettings {
        &self.settings
    }
    /// A call of the run that is on, or one of unknown outcome.
    pub fn find_call(&self, call: CallId) -> Option<&CallEntry> {
        self.calls.get(&call)
    }

    /// What is going on from now on, unless it is being stopped.
    pub fn set_activity(&mut self, activity: Activity) {
        if self.activity != Some(Activity::Stopping) {
            self.activity = Some(activity);
        }
    }

    /// Takes a fact in. The match is exhaustive: whoever adds a fact says here what is seen of it.
    #[expect(
        clippy::too_many_lines,
        reason = "the fold is one exhaustive match, read in one place"
    )]
    pub fn apply(&mut self, at: &PlacedFact) -> Vec<TranscriptChange> {
        match at.event.as_ref() {
            Event::SessionOpened(f) => self.apply_config(&f.config),
            Event::SessionConfigured(f) => self.apply_config(&f.config),
            Event::ProfileSwitched(f) => self.apply_config(&f.config),
            Event::SessionResumed(_) => {
                // Whoever took it up asks the model again, and jobs ended with their program.
                self.jobs.clear();
                self.changes.push(Change::StreamAbandoned);
            }
            Event::InputAccepted(f) if self.is_running => {
                self.queue.push((f.input, at.clone()));
                self.changes.push(Change::InputQueued(at.clone()));
            }
            Event::InputAccepted(_) => self.changes.push(Change::InputSaid(at.clone())),
            Event::InputWithdrawn(f) => self.remove_queued(f.input, Change::InputWithdrawn),
            Event::RunStarted(_) => {
                (self.is_running, self.ended, self.run_started) = (true, None, at.ts);
                self.activity = Some(Activity::Working);
                self.changes.push(Change::RunStarted);
            }
            Event::TurnStarted(f) => {
                f.inputs
                    .iter()
                    .for_each(|input| self.remove_queued(*input, Change::InputDelivered));
            }
            Event::ModelRequested(f) => {
                self.meters.context = f.tokens_estimated;
                self.set_activity(Activity::Working);
                self.changes.push(Change::RequestStarted(f.turn));
            }
            Event::ModelRetried(f) => {
                self.set_activity(Activity::Retrying(at.ts.plus_ms(f.wait_ms)));
                self.changes.extend([Change::StreamAbandoned, Change::RequestStarted(f.turn)]);
            }
            Event::ModelFailed(_) => self.changes.push(Change::StreamAbandoned),
            Event::ModelReplied(f) => {
                self.meters.add(&f.usage, f.cost_usd);
                self.meters.count_request(&f.usage);
                self.set_activity(Activity::Working);
                self.changes.push(Change::ReplyAdded(at.clone()));
            }
            Event::ImageProduced(_) => self.changes.push(Change::ImageAdded(at.clone())),
            Event::CallProposed(f) => self.call_proposed(f, at),
            Event::CallJudged(f) => self.change_call(f.call, |call| {
                call.judged = Some(at.event.clone());
            }),
            Event::CheckpointTaken(f) => self.checkpoint_taken(f),
            Event::CallStarted(f) => self.call_started(f.call, at.ts),
            Event::CallReconciled(f) => self.call_reconciled(f),
            Event::CallFinished(f) => self.call_finished(f, at),
            Event::CallUnknown(f) => self.call_unknown(f, at),
            Event::ApprovalRequested(f) => self.approval_requested(f, at),
            Event::ApprovalResolved(f) => self.approval_resolved(f),
            Event::QuestionAsked(f) => self.question_asked(f, at),
            Event::QuestionAnswered(f) => self.question_answered(f),
            Event::AgentSpawned(f) => self.agent_spawned(f, at),
            Event::AgentAsked(f) => self.agent_asked(f, at),
            Event::AgentAnswered(f) => self.agent_answered(f),
            Event::AgentFinished(f) => self.agent_finished(f),
            Event::PlanUpdated(f) => {
                self.plan.clone_from(&f.items);
                self.changes.push(Change::PlanChanged);
            }
            Event::ContextCondensing(f) => {
                self.meters.context = f.tokens;
                self.set_activity(Activity::Condensing);
            }
            Event::ContextCondensed(f) => {
                self.meters.context = f.tokens_after;
                self.activity = self.is_running.then_some(Activity::Working);
            }
            Event::ContextSummarised(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::RunRemembered(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::RecipePlanned(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::CancelRequested(_) if self.is_running => {
                self.activity = Some(Activity::Stopping);
            }
            Event::RunFinished(f) => self.run_finished(f.status, at),
            // Told in words, where at all.
            Event::CancelRequested(_)
            | Event::SceneSeen(_)
            | Event::HistoryQuarantined(_)
            | Event::CheckpointRestored(_)
            | Event::LeaseRevoked(_)
            | Event::OutputChecked(_)
            | Event::ContextUncondensed(_)
            | Event::ContextRecalled(_)
            | Event::SteeringReminded(_)
            | Event::SkillActivated(_)
            | Event::MemoryProposed(_)
            | Event::MemoryWritten(_)
            | Event::RecipeMatched(_)
            | Event::RecipeStepped(_)
            | Event::RecipeFallback(_)
            | Event::LimitReached(_)
            | Event::AlertRaised(_) => (),
        }
        std::mem::take(&mut self.changes)
    }

    fn apply_config(&mut self, config: &SessionConfig) {
        self.meters.window = config.model.window;
        self.settings = VisibleSettings {
            model: config.model.model.to_string(),
            profile: config.profile.name.clone(),
            permission: Some(config.permission),
            thinking: Some(config.thinking),
        };
        self.changes.push(Change::SettingsChanged);
    }

    /// An input leaves the queue.
    fn remove_queued(&mut self, input: InputId, how: impl FnOnce(PlacedFact) -> Change) {
        if let Some(n) = self.queue.iter().position(|(queued, _)| *queued == input) {
            let (_, at) = self.queue.remove(n);
            self.changes.push(how(at));
        }
    }

    fn run_finished(&mut self, status: RunStatus, at: &PlacedFact) {
        self.changes.push(Change::StreamAbandoned);
        (self.is_running, self.ended, self.activity) = (false, Some(status), None);
        // A question may be answered after its run, and then its call ends.
        let asks = |call: CallId| self.asks.iter().any(|ask| ask.call() == call);
        self.calls.retain(|id, call| call.stage == CallStage::Unknown || asks(*id));
        self.changes.push(Change::RunEnded(at.clone()));
    }
}

#[cfg(test)]
mod tests;
