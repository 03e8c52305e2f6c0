//! The session machine: folds a journal and says what the world still owes it (L1, L2).
//!
//! [`Session::handle`] takes one input from outside, records at most one fact for it, and then
//! derives everything that follows from state alone; [`Session::todo`] is a pure function of state.
//! So a session dropped after any line of its journal and replayed goes on where it stopped. There
//! is no I/O, clock or randomness here: time and jitter come in as arguments.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{
    AlertName, CancelCause, Denial, Event, InputAddition, MessageOrigin, RunFinished, RunTrigger,
};
use crate::governance::lease::LeaseGrant;
use crate::governance::outcome::UnknownOutcome;
use crate::governance::trail::LinkTrail;
use crate::governance::{Permit, RecentCall};
use crate::ids::{
    ApprovalId, BlobId, CallId, InputId, QuestionId, RunId, Seq, SessionId, Timestamp, TurnId,
};
use crate::label::Label;
use crate::message::{MessageBlock, MessageHistory, StoredMedia};
use crate::model::{ModelInfo, ModelRequest, Thinking, Usage};
use crate::recipe::SolvedRun;
use crate::skill::SkillNote;
use crate::tool::{AgentControl, EffectClass, Effects, PlanItem, ToolSpec};

mod activity_log;
mod agents;
#[cfg(test)]
mod agents_tests;
mod apply;
mod call;
mod calls;
pub mod child;
pub mod condense;
#[cfg(test)]
mod cut_tests;
mod derive;
pub mod family_budget;
mod handle;
pub mod handles;
mod lasting;
mod limits;
pub mod link_bits;
mod made;
pub mod meter;
mod models;
#[cfg(test)]
mod models_tests;
pub mod nested;
mod outlook;
mod pause;
mod pending;
pub mod program;
mod recipe;
mod refused;
mod sent;
mod servers;
#[cfg(test)]
mod share_tests;
mod snapshot;
mod solving;
mod spent;
#[cfg(test)]
mod switch_tests;
mod todo;
mod together;
mod turns;
mod vouched;
mod window;

pub use crate::config::{CondensingSettings, Guards, MemoryPolicy, RecipePolicy, SessionConfig};
use activity_log::ActivityLog;
use call::CallStage;
pub use call::CallState;
pub use calls::NOT_RECORDED;
pub use models::ModelWish;
use pending::PendingBlocks;
pub use recipe::PlanWork;
pub use sent::{SENT_NAMES_MAX, SentInput, SentInputs};
pub use snapshot::{SNAPSHOT_FORMAT, SessionSnapshot, SnapshotError, source_number};
use spent::SessionSpending;
use window::ContextWindow;

/// What a session is doing (L2). Computed, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionStatus {
    /// Nothing is owed: it waits for input.
    Idle,
    /// The model is asked or writes.
    Streaming,
    /// Calls are looked at or run.
    ExecutingTools,
    /// A person is needed before anything goes on.
    PendingApproval,
    /// A run is being ended.
    Stopped,
}

/// One conversation: the fold of its journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    id: SessionId,
    config: Option<Arc<SessionConfig>>,
    model: Arc<ModelInfo>,
    system: Arc<str>,
    tools: Arc<Vec<ToolSpec>>,
    visible: Vec<String>,
    facts: Seq,
    #[serde(with = "snapshot::exact_time")]
    last: Timestamp,
    title: String,
    history: MessageHistory,
    media: BTreeSet<BlobId>,
    quarantined: BTreeSet<BlobId>,
    /// What the model is told at the start of the next turn.
    pending: PendingBlocks,
    told: BTreeMap<String, String>,
    /// Where each message of `history` comes from.
    origins: Vec<MessageOrigin>,
    /// Skills that are active, by name.
    skills: BTreeMap<String, SkillNote>,
    /// Deferred tools that were loaded in this run.
    found: BTreeSet<String>,
    /// Facts that follow from the last one and are not journaled yet.
    #[serde(with = "snapshot::facts_due")]
    due: VecDeque<Event>,
    /// What happened, as condensing tells it.
    activity: ActivityLog,
    window: ContextWindow,
    /// Condensing that is under way.
    condensing: Option<condense::PendingCondensing>,
    /// What the last condensing hid, so that it can be taken back.
    hidden: Option<condense::HiddenHistory>,
    /// The newest input for which the world was looked at.
    looked: u32,
    /// A profile that the agent goes on with before its next turn.
    switching: Option<ProfileSwitch>,
    /// The model that is to go on in the place of one that failed.
    falling: Option<ModelWish>,
    queue: VecDeque<UndeliveredInput>,
    next: Counters,
    run: Option<RunState>,
    turn: Option<TurnState>,
    /// Sub-agents that its calls started.
    agents: BTreeMap<CallId, agents::KnownChild>,
    plan: Vec<PlanItem>,
    tail: Option<Arc<str>>,
    recent: VecDeque<RecentCall>,
    /// Foreign words that stand beside the context (U6).
    pub(crate) handles: handles::HandleTable,
    changes: u64,
    /// Calls of which nobody knows whether they took effect (D4).
    unknown: Vec<UnknownOutcome>,
    /// The join of everything that was read so far (Z1).
    label: Label,
    /// What persons said.
    said: Vec<String>,
    /// The last inputs by the names under which faces sent them.
    sent: SentInputs,
    /// What the agent above asked for, in the session of a sub-agent.
    tasks: Vec<String>,
    /// Hosts, addresses and recipients that a person was asked about and agreed to.
    approved: BTreeSet<String>,
    /// Where links were read, and what following them has told (K10).
    trail: LinkTrail,
    leases: Vec<LeaseGrant>,
    /// How often the person said yes to questions of one kind.
    agreed: lasting::SingleAgreements,
    /// Alerts that have no fact of their own yet: kind and detail.
    alerts_due: VecDeque<(AlertName, String)>,
    /// What was told of tools of servers that differ from what was approved (R3).
    tool_changes: BTreeSet<String>,
    usage: Usage,
    #[serde(with = "snapshot::exact_sum")]
    cost: Option<f64>,
    /// The same for the session's cap, which a price that is set later can hold.
    spent: SessionSpending,
    wire_ids: BTreeSet<String>,
    prefix_break: Option<String>,
    /// Another model is asked: whatever is kept of the request before, no cache of its has any.
    asks_other_model: bool,
    finished: Option<RunFinished>,
    /// The last run, where a recipe may be made from it.
    solved: Option<Arc<SolvedRun>>,
    /// Images of the last reply that have no fact of their own yet.
    images_due: VecDeque<(TurnId, StoredMedia)>,
    /// Calls whose permit was taken in this life of the program. Not part of the fold.
    #[serde(skip)]
    issued: BTreeSet<CallId>,
    /// What was found about steps that are not due and are asked about with no other (U8). Not part of
    /// the fold: another life of the program looks again.
    #[serde(skip)]
    looked_ahead: BTreeMap<CallId, Effects>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Counters {
    turn: u32,
    call: u32,
    run: u32,
    input: u32,
    asked: u32,
    lease: u32,
}

/// A switch of profile that was judged and is not made yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ProfileSwitch {
    profile: String,
    reason: String,
    /// The rights that the profile has and the present one has not: those that the gate and the
    /// person knew of.
    widens: Vec<String>,
}

/// An input that was accepted and not yet delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UndeliveredInput {
    /// Number of the input in its session.
    pub input: InputId,
    /// Text and attachments of the input.
    pub content: Vec<MessageBlock>,
    /// What the model is told with it.
    pub added: Vec<InputAddition>,
    /// A schedule said it, and no person (M7).
    pub scheduled: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RunState {
    id: RunId,
    trigger: RunTrigger,
    #[serde(with = "snapshot::exact_time")]
    started: Timestamp,
    /// Time in which no program had the session, or it was paused: does not count towards its wall time.
    away_ms: u64,
    phase: RunPhase,
    cancel: Option<(CancelCause, String)>,
    /// A person paused it.
    paused: Option<pause::RunPause>,
    iterations: u32,
    #[serde(with = "snapshot::exact_optional_time")]
    turn_started: Option<Timestamp>,
    tool_calls: u32,
    /// Calls that asked the stronger model and were not refused at once.
    consulted: u32,
    over_limit: bool,
    mistakes: u32,
    /// Calls in a row that a person or the gate refused.
    refusals: u32,
    mistake_texts: Vec<String>,
    soft_said: bool,
    nudged: bool,
    unanswered: bool,
    mismatches: u32,
    usage: Usage,
    #[serde(with = "snapshot::exact_sum")]
    cost: Option<f64>,
    text: String,
    #[serde(with = "snapshot::exact_value")]
    output: Option<Value>,
    denials: Vec<Denial>,
    changed: BTreeSet<String>,
    /// Files that were written while foreign words and private data stood in the context.
    marked: BTreeSet<String>,
    /// Files of the pictures in its replies.
    pictures: Vec<String>,
    /// How often hooks kept the run from ending.
    stops_refused: u32,
    /// The model call after which the agent was reminded last (L10).
    reminded: u32,
    /// The turn before which the context was condensed last.
    condensed: Option<TurnId>,
    /// Models that failed for good in it, or could not be had.
    failed_models: BTreeSet<String>,
    /// The run was looked through for facts worth keeping.
    remembered: bool,
    /// The recipe that fits or is followed, if there is one.
    recipe: Option<recipe::RecipeGuide>,
    /// What could become a recipe.
    solving: solving::SolvingRun,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum RunPhase {
    /// The scene is looked at.
    Look,
    /// A planner fills the recipe in that fits.
    Plan,
    /// A turn may begin.
    Between,
    /// A turn is under way.
    Turning,
    /// The run is looked through for facts worth keeping, then it ends as completed.
    Remember,
    /// The final answer is held against the schema.
    Verify,
    /// Nothing more happens but `run.finished`.
    Ending(crate::event::RunStatus, Option<String>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TurnState {
    id: TurnId,
    stage: TurnStage,
    /// A request that is due is not prepared before this moment (back-off).
    #[serde(with = "snapshot::exact_time")]
    not_before: Timestamp,
    attempts: u32,
    /// The label of its request.
    label: Label,
    calls: Vec<CallState>,
    /// Steps that programs among them asked for, in that order (U7).
    steps: Vec<CallState>,
    /// Those of them that are answered, in the order in which they were.
    answered_steps: Vec<CallId>,
    /// How many of `calls` have their `call.proposed`.
    proposed: usize,
    /// Notes that came with its results.
    notes: Vec<String>,
    /// How often its request did not fit the model's window (X3).
    overflows: u32,
    /// Another model goes on with it, whose window it may not fit.
    refit: bool,
    /// Its calls are those of a recipe; there is no request (L16).
    recipe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum TurnStage {
    /// The calls of a recipe are to be made.
    Stepping,
    Due,
    Thinking,
    Working,
}

impl Session {
    /// A session without a journal.
    pub fn new(id: SessionId) -> Session {
        let model = ModelInfo {
            model: crate::model::ModelRef { provider: String::new(), name: String::new() },
            window: 0,
            max_output: 0,
            price: None,
            abilities: Vec::new(),
            may_cut: false,
        };
        Session {
            id,
            config: None,
            model: Arc::new(model),
            system: Arc::from(""),
            tools: Arc::new(Vec::new()),
            visible: Vec::new(),
            facts: 0,
            last: Timestamp::default(),
            title: String::new(),
            history: Arc::new(Vec::new()),
            media: BTreeSet::new(),
            quarantined: BTreeSet::new(),
            pending: PendingBlocks::default(),
            told: BTreeMap::new(),
            origins: Vec::new(),
            skills: BTreeMap::new(),
            found: BTreeSet::new(),
            due: VecDeque::new(),
            activity: ActivityLog::default(),
            window: ContextWindow::default(),
            condensing: None,
            hidden: None,
            looked: 0,
            switching: None,
            falling: None,
            queue: VecDeque::new(),
            next: Counters::default(),
            run: None,
            turn: None,
            agents: BTreeMap::new(),
            plan: Vec::new(),
            tail: None,
            recent: VecDeque::new(),
            handles: handles::HandleTable::default(),
            changes: 0,
            unknown: Vec::new(),
            label: Label::default(),
            said: Vec::new(),
            sent: SentInputs::default(),
            tasks: Vec::new(),
            approved: BTreeSet::new(),
            trail: LinkTrail::default(),
            leases: Vec::new(),
            agreed: lasting::SingleAgreements::default(),
            alerts_due: VecDeque::new(),
            tool_changes: BTreeSet::new(),
            usage: Usage::default(),
            cost: Some(0.0),
            spent: SessionSpending::default(),
            wire_ids: BTreeSet::new(),
            prefix_break: None,
            asks_other_model: false,
            finished: None,
            solved: None,
            images_due: VecDeque::new(),
            issued: BTreeSet::new(),
            looked_ahead: BTreeMap::new(),
        }
    }

    /// The fold of a journal.
    pub fn replay<'a>(
        id: SessionId,
        facts: impl IntoIterator<Item = (Timestamp, &'a Event)>,
    ) -> Session {
        let mut session = Session::new(id);
        for (ts, event) in facts {
            session.apply(ts, event);
        }
        session
    }

    /// Folds one more fact in. Facts that were returned by [`Session::handle`] are already in.
    pub fn apply(&mut self, ts: Timestamp, event: &Event) {
        apply::apply_fact(self, ts, event);
    }

    /// Id of the session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }
    /// Its settings, once it was opened.
    pub fn config(&self) -> Option<&Arc<SessionConfig>> {
        self.config.as_ref()
    }
    /// Tools that are the same in `with` are kept once, by both. What a journal told is a copy for
    /// each session, and most sessions of a program have the same tools. Changes nothing else.
    pub fn share_tools(&mut self, with: &SessionConfig) {
        let Some(config) = &mut self.config else { return };
        if config.tools != with.tools || config.deferred != with.deferred {
            return;
        }
        if self.tools == with.tools {
            self.tools = with.tools.clone();
        }
        let (tools, deferred) = (&config.tools, &config.deferred);
        if Arc::ptr_eq(tools, &with.tools) && Arc::ptr_eq(deferred, &with.deferred) {
            // Others may hold these settings too, and need no copy of them then.
            return;
        }
        let config = Arc::make_mut(config);
        (config.tools, config.deferred) = (with.tools.clone(), with.deferred.clone());
    }
    /// Number of facts.
    pub fn fact_count(&self) -> Seq {
        self.facts
    }
    /// Time of the last fact.
    pub fn last_fact_time(&self) -> Timestamp {
        self.last
    }
    /// First words of its first input.
    pub fn title(&self) -> &str {
        &self.title
    }
    /// What the model has been told and said.
    pub fn history(&self) -> &MessageHistory {
        &self.history
    }
    /// Blobs that the history mentions.
    pub fn media(&self) -> &BTreeSet<BlobId> {
        &self.media
    }
    /// Inputs that wait to be delivered.
    pub fn queued_inputs(&self) -> &VecDeque<UndeliveredInput> {
        &self.queue
    }
    /// The run that is under way.
    pub fn run(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id)
    }
    /// Whether the run that is under way is to be ended: somebody said so, or it came to its time limit.
    pub fn is_run_cancelled(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.cancel.is_some())
    }
    /// How the last run ended; `None` while one is under way, and before the first.
    pub fn last_run_finished(&self) -> Option<&RunFinished> {
        self.finished.as_ref()
    }
    /// The run that ended last, where a recipe may be made from it (M5).
    pub fn last_solved_run(&self) -> Option<&Arc<SolvedRun>> {
        self.solved.as_ref()
    }
    /// The last text of the run under way: its final answer, once it has one.
    pub fn answer_text(&self) -> Option<&str> {
        self.run.as_ref().map(|run| run.text.as_str())
    }
    /// The task list.
    pub fn task_list(&self) -> &[PlanItem] {
        &self.plan
    }
    /// Tokens of the whole session.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }
    /// Cost of the whole session, where every price is known.
    pub fn cost_usd(&self) -> Option<f64> {
        self.cost
    }
    /// Model calls of the run under way.
    pub fn iterations(&self) -> u32 {
        self.run.as_ref().map_or(0, |run| run.iterations)
    }
    /// Errors in a row of the run under way.
    pub fn mistakes(&self) -> u32 {
        self.run.as_ref().map_or(0, |run| run.mistakes)
    }
    /// A call of the current turn, a step of a program included.
    pub fn find_call(&self, id: CallId) -> Option<&CallState> {
        self.turn.as_ref()?.all_calls().find(|call| call.id == id)
    }
    /// The call that an open approval is about.
    pub fn approval_call(&self, id: &ApprovalId) -> Option<&CallState> {
        self.open_approvals().find(|(open, _)| *open == id).map(|(_, call)| call)
    }
    /// The question that waits for an answer.
    pub fn open_question(&self) -> Option<(&QuestionId, &AgentControl)> {
        self.open_questions().next()
    }
    /// The call whose server asks this.
    pub fn call_asking(&self, question: &QuestionId) -> Option<CallId> {
        let mut calls = self.turn.iter().flat_map(TurnState::all_calls);
        let asks = |call: &&CallState| call.during.as_ref().is_some_and(|(id, _)| id == question);
        calls.find(asks).map(|call| call.id)
    }
    /// Every question that waits for an answer: of the agent, and of servers whose calls run.
    pub fn open_questions(&self) -> impl Iterator<Item = (&QuestionId, &AgentControl)> {
        let calls = self.turn.iter().flat_map(TurnState::all_calls);
        calls.filter_map(|call| match &call.during {
            Some((question, control)) => Some((question, control)),
            None => Some((call.open_question()?, call.control()?)),
        })
    }
    /// The join of everything that was read so far (Z1).
    pub fn label(&self) -> &Label {
        &self.label
    }
    /// The label of the request that the calls of this turn answer.
    pub fn turn_label(&self) -> &Label {
        self.turn.as_ref().map_or(&self.label, |turn| &turn.label)
    }
    /// Rights that were granted and not revoked, spent ones included.
    pub fn leases(&self) -> &[LeaseGrant] {
        &self.leases
    }
    /// How many leases were granted in it, those included that are gone.
    pub fn leases_granted(&self) -> u32 {
        self.next.lease
    }
    /// The tasks of the session: what persons said, or the task that the agent above gave it.
    /// Whether its calls fit that is asked of a judge; no right follows from it.
    pub fn requested_tasks(&self) -> &[String] {
        if self.tasks.is_empty() { &self.said } else { &self.tasks }
    }
    /// How many inputs it took.
    pub fn input_count(&self) -> u32 {
        self.next.input
    }
    /// The input that a face sent under this name, as far back as names are remembered.
    pub fn sent_input(&self, client_id: &str) -> Option<SentInput> {
        self.sent.find_input(client_id)
    }
    /// The last inputs that faces sent under names.
    pub fn all_sent(&self) -> &SentInputs {
        &self.sent
    }
    /// What persons said, oldest first.
    pub fn person_texts(&self) -> &[String] {
        &self.said
    }
    /// Every approval that waits for an answer, with its call.
    pub fn open_approvals(&self) -> impl Iterator<Item = (&ApprovalId, &CallState)> {
        let calls = self.turn.iter().flat_map(TurnState::all_calls);
        let asked = |call: &&CallState| call.open_approval().is_some_and(|open| open.at.is_none());
        calls.filter(asked).filter_map(|call| Some((&call.open_approval()?.approval, call)))
    }
    /// The specification of a tool that this session has, loaded or not.
    pub fn find_tool(&self, name: &str) -> Option<&ToolSpec> {
        let deferred = self.config.iter().flat_map(|config| config.deferred.iter());
        self.tools.iter().chain(deferred).find(|tool| tool.name == name)
    }
    /// Skills that are active, by name.
    pub fn active_skills(&self) -> &BTreeMap<String, SkillNote> {
        &self.skills
    }
    /// What the model was last told of each section, by name.
    pub fn told_sections(&self) -> &BTreeMap<String, String> {
        &self.told
    }
    /// Deferred tools that were loaded in this run.
    pub fn loaded_tools(&self) -> &BTreeSet<String> {
        &self.found
    }
    /// The profile that the agent goes on with before its next turn: name and reason.
    pub fn pending_switch(&self) -> Option<(&str, &str)> {
        self.switching.as_ref().map(|to| (to.profile.as_str(), to.reason.as_str()))
    }
    /// What waits to be delivered and was not looked at yet: the words that notes and skills are
    /// chosen by.
    pub fn unexamined_inputs(&self) -> Vec<&UndeliveredInput> {
        self.queue.iter().filter(|queued| queued.input.0 > self.looked).collect()
    }

    /// Whether it runs, waits for a person, or rests.
    pub fn status(&self) -> SessionStatus {
        let Some(run) = &self.run else { return SessionStatus::Idle };
        // The end of a run that is paused may wait until it goes on.
        let ends = matches!(run.phase, RunPhase::Ending(..)) && run.paused.is_none();
        if run.cancel.is_some() || ends {
            return SessionStatus::Stopped;
        }
        let Some(turn) = &self.turn else { return SessionStatus::Streaming };
        if turn.stage != TurnStage::Working {
            return SessionStatus::Streaming;
        }
        let by_agent = |c: &CallState| {
            let waits = || self.waits_by_agent(c.id) || self.asks_by_steps(c.id);
            c.is_started() && (c.during.is_some() || waits())
        };
        let waiting = |c: &CallState| {
            matches!(c.stage, CallStage::Asking(_) | CallStage::Questioning(_)) || by_agent(c)
        };
        let working = |c: &CallState| {
            let works = matches!(c.stage, CallStage::Proposed | CallStage::Ready(_));
            (works || c.is_running()) && !by_agent(c)
        };
        let mut scope = turn.open_calls(self);
        if scope.clone().any(waiting) && !scope.any(working) {
            return SessionStatus::PendingApproval;
        }
        SessionStatus::ExecutingTools
    }

    /// The request of the turn that is due: it extends the one before (P2).
    pub fn request(&self, turn: TurnId) -> Option<ModelRequest> {
        self.turn.as_ref().filter(|t| t.id == turn)?;
        Some(ModelRequest {
            session: self.id.clone(),
            turn,
            model: self.model.clone(),
            system: self.system.clone(),
            tools: self.tools.clone(),
            history: self.history.clone(),
            tail: self.tail.clone(),
            thinking: self.config.as_ref().map_or(Thinking::Off, |config| config.thinking),
        })
    }

    /// The right to run a started call: once per call and life of the program (G1).
    pub fn issue_permit(&mut self, id: CallId) -> Option<Permit> {
        let call = self.find_call(id)?;
        if !call.is_started() || self.issued.contains(&id) {
            return None;
        }
        let inspection = call.inspection.as_ref()?;
        let (tool, input) = (call.tool.clone(), call.done_input(&self.said));
        let permit = Permit::mint(self.id.clone(), id, tool, input, inspection);
        let permit = if call.is_confirmed() { permit.confirmed() } else { permit };
        self.issued.insert(id);
        Some(permit)
    }

    /// Whether everything so far must be durable before this call runs (D3): pure reads wait for
    /// no sync of their own.
    pub fn waits_for_disk(&self, id: CallId) -> bool {
        let inspection = self.find_call(id).and_then(|call| call.inspection.as_ref());
        inspection.is_none_or(|i| {
            let asks = i.effects.samples.is_some();
            i.class != EffectClass::Read || i.effects.changes_world() || asks
        })
    }
}
