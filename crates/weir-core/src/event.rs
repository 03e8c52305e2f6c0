//! The journal's words: one type per kind of fact (C6).
//!
//! Facts are in the past tense and never change once written. The kinds and fields of C6 are the
//! outside contract; what stands beside them here (more fields, `scene.seen`, `call.reconciled`, …)
//! was added and may be ignored by readers. A fact is stored as its kind and its fields apart, so
//! reading one never has to guess its type.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::SessionConfig;
use crate::governance::lease::LeaseTerms;
use crate::governance::plain_content::TakenOut;
use crate::governance::way_out::WayOut;
use crate::governance::{GateName, GateOpinion, Verdict};
use crate::ids::{ApprovalId, BlobId, CallId, InputId, RunId, SessionId, TurnId};
use crate::knowledge::recipe::{RecipeMatch, RecipeUse};
use crate::knowledge::skill::SkillNote;
use crate::label::Label;
use crate::message::MessageBlock;
use crate::model::Usage;
use crate::profile::{LimitName, PermissionMode};
use crate::tool::{HandleWords, Inspection, PlanItem, ResultEffect};

mod agents;
mod alerts;
mod asked;
mod checkpoints;
mod context;
mod ended;
mod keep;
mod lines;
mod models;
mod pause;
mod question;
mod recipe;
mod shared;

pub use crate::message::PromptNote;
pub use crate::run_status::RunStatus;
pub use agents::*;
pub use alerts::{AlertName, AlertRaised};
pub use asked::ApprovalRequested;
pub use checkpoints::*;
pub use context::*;
pub use keep::{KEEP_CHARS_MAX, KeepRequest};
pub use lines::{ApprovalLine, LineTarget, TargetSource};
pub use models::*;
pub use pause::{RunPaused, RunResumed};
pub use question::*;
pub use recipe::*;
pub use shared::{EventKind, SharedFact};

/// A fact could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// This program does not know the kind.
    #[error("unknown kind of fact {kind:?}: this journal was written by a newer Weir")]
    UnknownKind {
        /// The kind.
        kind: String,
    },
    /// The fields are not those of the kind.
    #[error("a {kind} fact cannot be read: {source}")]
    Fields {
        /// The kind.
        kind: String,
        /// The parser's words about the field that is wrong.
        source: serde_json::Error,
    },
}

macro_rules! events {
    ($($kind:literal => $name:ident,)*) => {
        /// One fact of a journal.
        #[derive(Debug, Clone, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented at its struct")]
        pub enum Event {
            $($name($name),)*
        }

        impl Event {
            /// The word of C6: `call.judged`.
            pub fn kind(&self) -> &'static str {
                match self { $(Event::$name(_) => $kind,)* }
            }

            /// The fields as one JSON object.
            pub fn payload(&self) -> String {
                let text = match self { $(Event::$name(fields) => serde_json::to_string(fields),)* };
                text.expect("facts hold only string keys and finite numbers")
            }

            /// Reads the fields of a fact of this kind.
            ///
            /// # Errors
            /// Unknown kind, or fields that are not the kind's.
            pub fn from_payload(kind: &str, payload: &str) -> Result<Event, EventError> {
                let result = match kind {
                    $($kind => serde_json::from_str(payload).map(Event::$name),)*
                    _ => return Err(EventError::UnknownKind { kind: kind.into() }),
                };
                result.map_err(|source| EventError::Fields { kind: kind.into(), source })
            }

            /// Kind and schema of the fields of every fact.
            #[cfg(any(test, feature = "schema"))]
            pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($kind, generator.subschema_for::<$name>()),)*]
            }
        }

        $(impl From<$name> for Event {
            fn from(fields: $name) -> Event { Event::$name(fields) }
        }

        impl EventKind for $name {
            fn of_event(event: &Event) -> Option<&$name> {
                match event { Event::$name(fields) => Some(fields), _ => None }
            }
        })*
    };
}

events! {
    "session.opened" => SessionOpened,
    "session.configured" => SessionConfigured,
    "session.resumed" => SessionResumed,
    "input.accepted" => InputAccepted,
    "input.withdrawn" => InputWithdrawn,
    "run.started" => RunStarted,
    "run.paused" => RunPaused,
    "run.resumed" => RunResumed,
    "scene.seen" => SceneSeen,
    "turn.started" => TurnStarted,
    "model.requested" => ModelRequested,
    "model.retried" => ModelRetried,
    "model.failed" => ModelFailed,
    "model.replied" => ModelReplied,
    "image.produced" => ImageProduced,
    "history.quarantined" => HistoryQuarantined,
    "tools.refused" => ToolsRefused,
    "call.proposed" => CallProposed,
    "call.judged" => CallJudged,
    "approval.requested" => ApprovalRequested,
    "approval.resolved" => ApprovalResolved,
    "checkpoint.taken" => CheckpointTaken,
    "checkpoint.restored" => CheckpointRestored,
    "workspace.merged" => WorkspaceMerged,
    "call.started" => CallStarted,
    "call.reconciled" => CallReconciled,
    "call.finished" => CallFinished,
    "call.unknown" => CallUnknown,
    "lease.revoked" => LeaseRevoked,
    "question.asked" => QuestionAsked,
    "question.answered" => QuestionAnswered,
    "plan.updated" => PlanUpdated,
    "output.checked" => OutputChecked,
    "profile.switched" => ProfileSwitched,
    "model.switched" => ModelSwitched,
    "context.condensing" => ContextCondensing,
    "context.summarised" => ContextSummarised,
    "context.condensed" => ContextCondensed,
    "context.uncondensed" => ContextUncondensed,
    "context.recalled" => ContextRecalled,
    "steering.reminded" => SteeringReminded,
    "skill.activated" => SkillActivated,
    "memory.proposed" => MemoryProposed,
    "memory.written" => MemoryWritten,
    "run.remembered" => RunRemembered,
    "helper.asked" => HelperAsked,
    "recipe.matched" => RecipeMatched,
    "recipe.planned" => RecipePlanned,
    "recipe.stepped" => RecipeStepped,
    "recipe.fallback" => RecipeFallback,
    "agent.spawned" => AgentSpawned,
    "agent.asked" => AgentAsked,
    "agent.answered" => AgentAnswered,
    "agent.finished" => AgentFinished,
    "limit.reached" => LimitReached,
    "alert.raised" => AlertRaised,
    "cancel.requested" => CancelRequested,
    "run.finished" => RunFinished,
}

/// A session began. Everything that later facts depend on stands here, so that a replay never
/// depends on today's configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SessionOpened {
    /// Absolute path of the workspace.
    pub workspace: String,
    /// Name of its profile.
    pub profile: String,
    /// Permission mode at that time.
    pub permission: PermissionMode,
    /// Its model, `provider/name`.
    pub model: String,
    /// Version of the program that opened it.
    pub engine: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// The session it was forked from or spawned by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// All of its settings.
    pub config: Arc<SessionConfig>,
}

/// Settings of the session changed: by the person, between runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SessionConfigured {
    /// What changed, in words; names the reason when the prompt was rebuilt.
    pub reason: String,
    /// All settings from now on.
    pub config: Arc<SessionConfig>,
}

/// A program took the session up again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SessionResumed {
    /// Version of the program.
    pub engine: String,
    /// The run that was active and goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

/// A person or a schedule said something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct InputAccepted {
    /// Number of the input in its session.
    pub input: InputId,
    /// Text and attachments of the input.
    pub content: Vec<MessageBlock>,
    /// Name of the person or schedule that said it.
    pub by: String,
    /// What the model is told with it and the person did not say: the text of a command that they
    /// named, what a hook adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<InputAddition>,
    /// Under which name a face sent it: the same name a second time is the same input (C7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

/// Text that goes with an input and is not the person's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct InputAddition {
    /// Where it came from: `.weir/commands/review.md`, the name of a hook.
    pub source: String,
    /// Text that is added or shown.
    pub text: String,
    /// Whose words it is (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}

/// A queued input was taken back before it was delivered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct InputWithdrawn {
    /// Number of the input that the model will not be told.
    pub input: InputId,
}

/// What started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunTrigger {
    /// A person's input.
    User,
    /// A schedule.
    Schedule,
    /// A parent agent.
    Agent,
    /// The answer to what an earlier run was waiting for.
    Resume,
}

/// A run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RunStarted {
    /// Number of the run in its session.
    pub run: RunId,
    /// What started it.
    pub trigger: RunTrigger,
}

/// The engine looked at clock and workspace; here is what differs from what the model was last
/// told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SceneSeen {
    /// Sections of the prompt that changed, as the model reads them.
    pub notes: Vec<PromptNote>,
    /// Skills that are active from now on and were not before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillNote>,
    /// Whose words the notes are (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
    /// The newest input that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputId>,
    /// The recipe that fits best what the run began with, where one does (M5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Box<RecipeMatch>>,
}

/// A turn began: what was waiting to be told to the model now stands in its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct TurnStarted {
    /// Number of the turn in its session.
    pub turn: TurnId,
    /// The number of the model call in its run.
    pub iteration: u32,
    /// Inputs delivered with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputId>,
    /// Its calls are those of a recipe: the model is not asked (L16).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recipe: bool,
    /// What the model is told before the inputs, in order. Empty: only what facts hold already. A
    /// journal from before it was kept has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Vec<ToldPart>>,
}

/// A piece of what the model is told at the start of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ToldPart {
    /// Words that stand in no other fact: what the program of that day composed.
    Text(String),
    /// So many of the results and notes that earlier facts hold, in their order.
    Recorded(u32),
}

/// The model made an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ImageProduced {
    /// Number of the turn in which the model made it.
    pub turn: TurnId,
    /// IANA media type.
    pub media_type: String,
    /// Id of the blob that holds the picture.
    pub blob: BlobId,
    /// The file of the workspace that it was saved as; absent: it could not be written, or the journal
    /// is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// An item of history that the vendor will never accept is shown as a note from now on (L8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HistoryQuarantined {
    /// In which turn it was found.
    pub turn: TurnId,
    /// The attachments that are withheld.
    pub blobs: Vec<BlobId>,
    /// The vendor's words.
    pub message: String,
}

/// The model asked for a call, or a program of it for a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallProposed {
    /// Number of the call in its session.
    pub call: CallId,
    /// Number of the turn in which the model asked for it.
    pub turn: TurnId,
    /// Tool, as the model wrote it.
    pub tool: String,
    /// Arguments, as the model wrote them.
    pub input: Value,
    /// The call of the program that asked for it as a step (U7); absent: the model itself asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<CallId>,
    /// Number of the step in its program, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
}

/// The gate judged a call: once per call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallJudged {
    /// Number of the call in its session.
    pub call: CallId,
    /// The strictest verdict.
    pub verdict: Verdict,
    /// The gate that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateName>,
    /// The rule it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason, as a sentence for people and the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every gate that did not plainly allow.
    #[serde(default)]
    pub gates: Vec<GateOpinion>,
    /// What was judged: the declared effects, with images before and after.
    pub inspection: Arc<Inspection>,
    /// Leases without which it would not have been allowed: one use of each is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<u32>,
    /// It follows a link that a page or a search led to, and the choice of it tells so many bits, which
    /// count for the session (K10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bits: Option<u32>,
    /// What is taken out of the content that it sends, since foreign words had been read: links, mentions
    /// and commands that the person did not write (U10).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub taken_out: TakenOut,
    /// What would have let it pass, each tried by the same gates: of a call that is refused, because it
    /// may not run or because nobody is there to be asked (U11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<WayOut>,
    /// The label of what leaves with it, where it carries words of handles (U4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries: Option<Label>,
}

/// A person's decision about an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// This call.
    Once,
    /// This and like calls in this session.
    Session,
    /// This and like calls from now on.
    Always,
    /// Not this call.
    Deny,
    /// The run ended first.
    Cancelled,
    /// Nobody answered in time: a denial.
    Expired,
}

impl Decision {
    /// Whether the call may run.
    pub fn allows(self) -> bool {
        matches!(self, Decision::Once | Decision::Session | Decision::Always)
    }
}

/// The name that stands in `by` when no person could be asked.
pub const NOBODY: &str = "nobody";

/// An approval was answered. The first answer wins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ApprovalResolved {
    /// Id of the approval.
    pub approval: ApprovalId,
    /// About which call.
    pub call: CallId,
    /// The decision.
    pub decision: Decision,
    /// The name of the person who decided; [`NOBODY`] when there was nobody to ask.
    pub by: String,
    /// Their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How far an approval for the session reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<LeaseTerms>,
}

/// A lease was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LeaseRevoked {
    /// Number of the lease in its session.
    pub lease: u32,
    /// Name of the person who revoked the lease.
    pub by: String,
}

/// The intent: from here on the call may have happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallStarted {
    /// Number of the call in its session.
    pub call: CallId,
}

/// After a crash it was found that a started call had not happened: it runs (again).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallReconciled {
    /// Number of the call in its session.
    pub call: CallId,
    /// How that was found.
    pub evidence: String,
}

/// A call was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallFinished {
    /// Number of the call in its session.
    pub call: CallId,
    /// Tool, as the model wrote it.
    pub tool: String,
    /// Whether the call succeeded.
    pub ok: bool,
    /// One line.
    pub summary: String,
    /// What the model is given.
    pub result: Vec<MessageBlock>,
    /// A person approved it.
    pub confirmed: bool,
    /// Bytes of the full result.
    pub bytes: u64,
    /// Wall time from its start; 0 when it never started.
    pub duration_ms: u64,
    /// Where the full text was put, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub externalized: Option<String>,
    /// The full text as a blob, when it was put elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<BlobId>,
    /// Paths that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Where the result came from and how private it is (Z1).
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
    /// The paths in `changed` are marked as foreign from now on: where the foreign words came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<String>,
    /// The content was withheld from the model: why (G8 `screen`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// Instruction files of the folders that it touched, where the model was not told of them yet
    /// (M2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PromptNote>,
    /// The foreign words that it brought, kept beside the context: `result` names them alone (U6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<Box<HandleWords>>,
    /// Effects of the result on the session itself: usage, a task list, a loaded tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<ResultEffect>,
}

impl CallFinished {
    /// What a person is shown of the result: the words themselves, also where the model was given a handle
    /// of them.
    pub fn blocks_for_person(&self) -> Cow<'_, [MessageBlock]> {
        match &self.handle {
            Some(words) => Cow::Owned(vec![MessageBlock::text(words.text.clone())]),
            None => Cow::Borrowed(&self.result),
        }
    }
}

/// It cannot be told whether a call happened (D4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallUnknown {
    /// Number of the call in its session.
    pub call: CallId,
    /// Tool.
    pub tool: String,
    /// Why it cannot be told.
    pub reason: String,
    /// What the model is told of it. A journal from before it was kept has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

/// The task list changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PlanUpdated {
    /// The whole list.
    pub items: Vec<PlanItem>,
    /// The call that changed it.
    pub call: CallId,
    /// The list as the model sees it at the end of every request. A journal from before it was kept
    /// has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

/// The final answer was held against the schema that the person gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct OutputChecked {
    /// The answer as JSON, when it matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What is wrong with it, when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// The words of a hook that does not let the run end as completed (G11 `StopReason`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_going: Option<String>,
}

/// How hard a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LimitLevel {
    /// The agent is told.
    Soft,
    /// The run ends.
    Hard,
}

/// A limit was reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LimitReached {
    /// Its name in the table of limits.
    pub limit: LimitName,
    /// How hard.
    pub level: LimitLevel,
    /// Where the run is.
    pub value: f64,
    /// The bound.
    pub max: f64,
}

/// Why a run is to end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CancelCause {
    /// Somebody cancelled it.
    Cancelled,
    /// The kill switch was thrown.
    Paused,
    /// Its wall time is over.
    Timeout,
    /// A gate raised an alert that ends the run: a canary was about to leave.
    Alert,
}

/// A person, a limit or the program wants the run to end now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CancelRequested {
    /// What made the run end.
    pub cause: CancelCause,
    /// Name of the person or schedule on whose behalf it was done.
    pub by: String,
}

/// A call that was not allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Denial {
    /// Number of the call in its session.
    pub call: CallId,
    /// Tool.
    pub tool: String,
    /// One sentence for people: what the call would have done.
    pub summary: String,
    /// The gate or person that said no.
    pub by: String,
    /// The reason, as a sentence for people.
    pub reason: String,
}

/// A run came to rest. Exactly one per run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RunFinished {
    /// Number of the run in its session.
    pub run: RunId,
    /// How it ended.
    pub status: RunStatus,
    /// The final answer; what there was of it when the run did not complete.
    pub text: String,
    /// The answer as JSON, when a schema was given and it matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Tokens of the run.
    pub usage: Usage,
    /// Cost of the run, where every price is known.
    pub cost_usd: Option<f64>,
    /// Model calls.
    pub iterations: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Calls that were not allowed.
    pub denials: Vec<Denial>,
    /// Files that it changed.
    pub changed_files: Vec<String>,
    /// Those of them that were written while foreign words and private data stood in the context:
    /// shown at the end (Z2).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked_files: Vec<String>,
    /// The files that pictures of its replies were saved as (K13). What a tool saved is among the
    /// changed files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<String>,
    /// The use that the run made of a recipe, where that counts for or against it (M5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<RecipeUse>,
    /// What went wrong, when something did: what, why, what to do.
    pub error: Option<String>,
}
