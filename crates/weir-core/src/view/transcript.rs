//! What a person sees of a session: a pure fold of its facts. One fact in, the changes out; every
//! client paints those and keeps no fold of its own, so that no two of them tell a different story.
//! Not here: words for what is told in passing ([`super::told`]), streamed text, and how anything
//! looks.
//!
//! The fold keeps no more than later facts can touch: the calls of the run that is on, what waits,
//! what is not settled. Entries that are over are given to the client in changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::SessionConfig;
use crate::event::{
    Event, EventKind, ImageProduced, InputAccepted, ModelReplied, RunFinished, RunStatus,
    SharedFact,
};
use crate::ids::{BlobId, CallId, InputId, Seq, Timestamp, TurnId};
use crate::message::MessageBlock;
use crate::model::Thinking;
use crate::profile::PermissionMode;
use crate::session::Session;
use crate::session::handles::HandleTable;
use crate::tool::{JudgeUse, PlanItem};

mod asks;
mod calls;
mod meters;
mod settled;

pub use asks::{AskOutcome, PendingAsk};
pub use calls::{BackgroundJob, CallEntry, CallNote, CallStage, ChildAgent, UnknownCall};
pub use meters::{Activity, SessionMeters};
pub use settled::{SettledPlace, SettledTranscript};

/// A fact with its place. Facts are shared, never copied.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedFact {
    /// Place in the journal.
    pub seq: Seq,
    /// When it happened; a client that saw it happen may put its own clock's time here.
    pub ts: Timestamp,
    /// The fact itself.
    pub event: Arc<Event>,
}

impl PlacedFact {
    /// The same as a fact of one kind. `fields`: what the arm of a match over its event found.
    fn of_kind<F: EventKind>(&self, _fields: &F) -> SeenFact<F> {
        let fact = SharedFact::new(&self.event).expect("the fields are those of this event");
        SeenFact { seq: self.seq, ts: self.ts, fact }
    }

    /// The same with the words that a person reads in place of names, where there are any.
    fn of_kind_as_read<F>(&self, fields: &F, as_read: Option<F>) -> SeenFact<F>
    where
        F: EventKind + Into<Event>,
    {
        match as_read {
            Some(read) => SeenFact { seq: self.seq, ts: self.ts, fact: SharedFact::from(read) },
            None => self.of_kind(fields),
        }
    }
}

/// A fact of one kind with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenFact<F> {
    /// Place in the journal.
    pub seq: Seq,
    /// When it happened, as in [`PlacedFact`].
    pub ts: Timestamp,
    /// The fields of the fact.
    pub fact: SharedFact<F>,
}

/// Settings of the session, as far as a person sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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

impl VisibleSettings {
    fn of_config(config: &SessionConfig) -> VisibleSettings {
        VisibleSettings {
            model: config.model.model.to_string(),
            profile: config.profile.name.clone(),
            permission: Some(config.permission),
            thinking: Some(config.thinking),
        }
    }
}

/// One thing that is another than before the fact.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptChange {
    /// Somebody said something, and the model is told it now.
    InputSaid(SeenFact<InputAccepted>),
    /// Somebody said something while a run is on: it waits for the next turn.
    InputQueued(SeenFact<InputAccepted>),
    /// What waited is told to the model.
    InputDelivered(SeenFact<InputAccepted>),
    /// What waited will not be told.
    InputWithdrawn(SeenFact<InputAccepted>),
    /// What was said to begin a run will not be told: the run ended before its first turn.
    InputUnsaid(SeenFact<InputAccepted>),
    /// A run began.
    RunStarted,
    /// The model is asked: what it writes from now on belongs to this turn.
    RequestStarted(TurnId),
    /// What was being written is not the answer.
    StreamAbandoned,
    /// The model answered.
    ReplyAdded(SeenFact<ModelReplied>),
    /// The model made a picture that no reply shows.
    ImageAdded(SeenFact<ImageProduced>),
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
        /// Name of the approval or question.
        name: String,
        /// How it came to its end.
        outcome: AskOutcome,
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
    RunEnded(SeenFact<RunFinished>),
}

use TranscriptChange as Change;

/// What a person sees of a session, as far as it was told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// The last fact.
    seq: Seq,
    /// The last call that was asked for.
    last_call: Option<CallId>,
    /// Calls of the run that is on, and of earlier ones those of unknown outcome or with a question.
    calls: BTreeMap<CallId, CallEntry>,
    /// Those of them that run: whether any does is asked whenever one ends, and a long run has thousands.
    running: BTreeSet<CallId>,
    /// What was said and no turn has taken yet: first what began the run, or will begin one, then
    /// what was said while a run was on.
    undelivered: Vec<SeenFact<InputAccepted>>,
    /// How many of `undelivered` were said while no run was on.
    begins_run: usize,
    /// Pictures that the last reply shows: the fact that tells of each shows none again.
    pictures: BTreeSet<BlobId>,
    /// Foreign words that stand beside the context: a person reads them where a reply names them (U6).
    handles: HandleTable,
    asks: Vec<PendingAsk>,
    unknown: Vec<UnknownCall>,
    jobs: Vec<BackgroundJob>,
    plan: Vec<PlanItem>,
    activity: Option<Activity>,
    is_running: bool,
    run_started: Timestamp,
    ended: Option<SeenFact<RunFinished>>,
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
    /// The end of the last run; `None` while one is on and before the first.
    pub fn last_run_end(&self) -> Option<&SeenFact<RunFinished>> {
        self.ended.as_ref()
    }
    /// How the last run ended; `None` while one is on and before the first.
    pub fn last_run_status(&self) -> Option<RunStatus> {
        self.ended.as_ref().map(|end| end.fact.status)
    }
    /// Whether something was said that no turn has taken yet: it begins a run, or goes into the one
    /// that is on.
    pub fn has_untold_input(&self) -> bool {
        !self.undelivered.is_empty()
    }
    /// What is going on; `None`: nothing.
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_ref()
    }
    /// The name of the person who paused the run that is on.
    pub fn paused_by(&self) -> Option<&str> {
        match &self.activity {
            Some(Activity::Paused(by)) => Some(by.as_str()),
            _ => None,
        }
    }
    /// What waits for a person, the first one first.
    pub fn asks(&self) -> &[PendingAsk] {
        &self.asks
    }
    /// What was said and waits for the next turn, the first one first.
    pub fn queued_inputs(&self) -> &[SeenFact<InputAccepted>] {
        self.undelivered.get(self.begins_run..).unwrap_or_default()
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

    /// Forgets calls that are over and of which nothing more will be told, for whoever looks at none later: a
    /// long run would keep all that its calls gave back (Q10).
    pub fn forget_settled_calls(&mut self) {
        let is_asked = |call: CallId| self.asks.iter().any(|ask| ask.call() == call);
        self.calls
            .retain(|id, call| call.finished.is_none() || !call.is_settled() || is_asked(*id));
        self.running.retain(|call| self.calls.contains_key(call));
    }

    /// What is going on from now on, unless it is being stopped or paused.
    pub fn set_activity(&mut self, activity: Activity) {
        if !matches!(self.activity, Some(Activity::Stopping | Activity::Paused(_))) {
            self.activity = Some(activity);
        }
    }

    /// Takes a fact in. The match is exhaustive: whoever adds a fact says here what is seen of it.
    #[expect(
        clippy::too_many_lines,
        reason = "the fold is one exhaustive match, read in one place"
    )]
    pub fn apply(&mut self, at: &PlacedFact) -> Vec<TranscriptChange> {
        self.seq = at.seq;
        match at.event.as_ref() {
            Event::SessionOpened(f) => self.apply_config(&f.config),
            Event::SessionConfigured(f) => self.apply_config(&f.config),
            Event::ProfileSwitched(f) => self.apply_config(&f.config),
            Event::ModelSwitched(f) => f.config.iter().for_each(|config| self.apply_config(config)),
            Event::SessionResumed(_) => {
                // Whoever took it up asks the model again, and jobs ended with their program.
                self.jobs.clear();
                self.changes.push(Change::StreamAbandoned);
            }
            Event::InputAccepted(f) => self.input_accepted(at.of_kind(f)),
            Event::InputWithdrawn(f) => self.withdraw_input(f.input),
            Event::RunStarted(_) => {
                (self.is_running, self.ended, self.run_started) = (true, None, at.ts);
                self.activity = Some(Activity::Working);
                self.changes.push(Change::RunStarted);
            }
            Event::TurnStarted(f) => {
                f.inputs.iter().for_each(|input| self.deliver_input(*input));
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
                self.pictures = picture_blobs(&f.content);
                let reply = at.of_kind_as_read(f, self.reply_as_read(f));
                self.changes.push(Change::ReplyAdded(reply));
            }
            Event::ImageProduced(f) if self.pictures.remove(&f.blob) => (),
            Event::ImageProduced(f) => self.changes.push(Change::ImageAdded(at.of_kind(f))),
            Event::CallProposed(f) => self.call_proposed(f, at),
            Event::CallJudged(f) => {
                if let Some(JudgeUse { usage, cost_usd }) = &f.inspection.judge_use {
                    self.meters.add(usage, *cost_usd);
                }
                self.change_call(f.call, |call| call.judged = SharedFact::new(&at.event));
            }
            Event::CheckpointTaken(f) => self.checkpoint_taken(f),
            Event::CallStarted(f) => self.call_started(f.call, at.ts),
            Event::CallReconciled(f) => self.call_reconciled(f),
            Event::CallFinished(f) => {
                self.handles.keep(f, &BTreeSet::new());
                self.call_finished(f, at);
            }
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
                if let Some(cut) = &f.cut {
                    // What had been shown of that reply is none.
                    self.meters.add(&cut.usage, cut.cost_usd);
                    self.changes.push(Change::StreamAbandoned);
                }
                self.meters.context = f.tokens;
                self.set_activity(Activity::Condensing);
            }
            Event::ContextCondensed(f) => {
                self.meters.context = f.tokens_after;
                if !matches!(self.activity, Some(Activity::Paused(_))) {
                    self.activity = self.is_running.then_some(Activity::Working);
                }
            }
            Event::ContextSummarised(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::RunRemembered(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::RecipePlanned(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::HelperAsked(f) => self.meters.add(&f.usage, f.cost_usd),
            Event::CancelRequested(_) if self.is_running => {
                self.activity = Some(Activity::Stopping);
            }
            Event::RunPaused(f) if self.is_running => {
                self.activity = Some(Activity::Paused(f.by.clone()));
            }
            Event::RunResumed(_) if self.paused_by().is_some() => {
                self.activity = Some(Activity::Working);
            }
            Event::RunFinished(f) => self.run_finished(f, at),
            // Told in words, where at all.
            Event::CancelRequested(_)
            | Event::RunPaused(_)
            | Event::RunResumed(_)
            | Event::SceneSeen(_)
            | Event::HistoryQuarantined(_)
            | Event::ToolsRefused(_)
            | Event::CheckpointRestored(_)
            | Event::WorkspaceMerged(_)
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
        self.settings = VisibleSettings::of_config(config);
        self.changes.push(Change::SettingsChanged);
    }

    fn input_accepted(&mut self, said: SeenFact<InputAccepted>) {
        if self.is_running {
            self.undelivered.push(said.clone());
            self.changes.push(Change::InputQueued(said));
        } else {
            self.undelivered.insert(self.begins_run.min(self.undelivered.len()), said.clone());
            self.begins_run += 1;
            self.changes.push(Change::InputSaid(said));
        }
    }

    /// An input waits no more. With it, whether it was said while a run was on.
    fn remove_undelivered(&mut self, input: InputId) -> Option<(SeenFact<InputAccepted>, bool)> {
        let place = self.undelivered.iter().position(|said| said.fact.input == input)?;
        let is_queued = place >= self.begins_run;
        if !is_queued {
            self.begins_run -= 1;
        }
        Some((self.undelivered.remove(place), is_queued))
    }

    /// The model is told an input. What began the run was shown as said already.
    fn deliver_input(&mut self, input: InputId) {
        if let Some((said, true)) = self.remove_undelivered(input) {
            self.changes.push(Change::InputDelivered(said));
        }
    }

    fn withdraw_input(&mut self, input: InputId) {
        match self.remove_undelivered(input) {
            Some((said, true)) => self.changes.push(Change::InputWithdrawn(said)),
            Some((said, false)) => self.changes.push(Change::InputUnsaid(said)),
            None => (),
        }
    }

    /// An empty one that knows the foreign words and the settings of `session`, for whoever is told only what
    /// happens later.
    pub fn after(session: &Session) -> Transcript {
        let settings = session.config().map(|config| VisibleSettings::of_config(config));
        Transcript {
            seq: session.fact_count(),
            handles: session.handles.clone(),
            settings: settings.unwrap_or_default(),
            ..Transcript::default()
        }
    }

    /// An empty one at an earlier place of its journal, for whoever reads what comes after it. It knows the
    /// foreign words that stood beside the context there. `later`: the calls that end after that place.
    /// `None`: it cannot be known, and the journal has to be read from its beginning.
    pub fn before_calls(&self, later: &BTreeSet<CallId>) -> Option<Transcript> {
        let handles = self.handles.without_calls(later)?;
        Some(Transcript { handles, ..Transcript::default() })
    }

    /// A reply as a person reads it: where it names handles, their words stand there. `None`: it
    /// names none.
    pub fn reply_as_read(&self, reply: &ModelReplied) -> Option<ModelReplied> {
        let shown = |block: &MessageBlock| match block {
            MessageBlock::Text { text, .. } => {
                self.handles.shown_text(text).map(MessageBlock::text)
            }
            _ => None,
        };
        let blocks: Vec<Option<MessageBlock>> = reply.content.iter().map(shown).collect();
        if blocks.iter().all(Option::is_none) {
            return None;
        }
        let content = blocks.into_iter().zip(&reply.content);
        let content =
            content.map(|(shown, as_is)| shown.unwrap_or_else(|| as_is.clone())).collect();
        Some(ModelReplied { content, ..reply.clone() })
    }

    /// The end of a run as a person reads it.
    fn end_as_read(&self, end: &RunFinished) -> Option<RunFinished> {
        let text = self.handles.shown_text(&end.text);
        let output = end.output.as_ref().and_then(|output| self.handles.shown_value(output));
        if text.is_none() && output.is_none() {
            return None;
        }
        Some(RunFinished {
            text: text.unwrap_or_else(|| end.text.clone()),
            output: output.or_else(|| end.output.clone()),
            ..end.clone()
        })
    }

    fn run_finished(&mut self, f: &RunFinished, at: &PlacedFact) {
        let end = at.of_kind_as_read(f, self.end_as_read(f));
        self.changes.push(Change::StreamAbandoned);
        (self.is_running, self.ended, self.activity) = (false, Some(end.clone()), None);
        // A question may be answered after its run, and then its call ends.
        let asks = |call: CallId| self.asks.iter().any(|ask| ask.call() == call);
        self.calls.retain(|id, call| call.stage == CallStage::Unknown || asks(*id));
        self.running.retain(|call| self.calls.contains_key(call));
        self.changes.push(Change::RunEnded(end));
    }
}

/// The pictures that stand in what a model said.
fn picture_blobs(content: &[MessageBlock]) -> BTreeSet<BlobId> {
    let blobs = content.iter().filter_map(|block| match block {
        MessageBlock::Image { media } => Some(media.blob.clone()),
        _ => None,
    });
    blobs.collect()
}

#[cfg(test)]
mod tests;
