//! All that can come in to a session: commands of people and answers of the world.
//!
//! One closed enum, so that a driver cannot forget one. Each input records at most one fact of its
//! own; everything that follows is derived from state.

use std::sync::Arc;

use serde_json::Value;

use crate::config::SessionConfig;
use crate::event::{
    AgentNews, CancelCause, CheckpointRestored, ContextSummarised, HelperAsked, PromptNote,
    QuestionField, RecipePlanned, RunRemembered, WorkspaceMerged,
};
use crate::governance::FilterOutput;
use crate::ids::{CallId, CheckpointId, InputId, SessionId, TurnId};
use crate::label::Label;
use crate::message::StoredMedia;
use crate::model::ModelReply;
use crate::profile::LimitName;
use crate::recipe::RecipeMatch;
use crate::skill::SkillNote;
use crate::tool::{CleanResult, Inspection};

mod person;

pub use person::{ApprovalAnswer, PersonCommand, PersonMessage};

/// Something that came in.
#[derive(Debug)]
pub enum SessionInput {
    /// From a person, or from the engine around it.
    Command(SessionCommand),
    /// From the world, to something that was owed.
    Answer(EffectAnswer),
    /// Time passed; nothing else happened.
    Tick,
}

/// What a session is told: by a person, and by the engine around it.
#[derive(Debug)]
pub enum SessionCommand {
    /// Begin the session.
    Open {
        /// Version of the program.
        engine: String,
        /// All settings.
        config: Arc<SessionConfig>,
        /// The session it was forked from.
        parent: Option<SessionId>,
    },
    /// Take the session up again after its program ended.
    Resume {
        /// Version of the program.
        engine: String,
    },
    /// What a person tells it.
    From {
        /// Name of the person or schedule on whose behalf it was done.
        by: String,
        /// The command of the person.
        command: PersonCommand,
    },
    /// Put a question of a foreign server to the person while its call runs. From the worker of that
    /// call, never from a face.
    Ask {
        /// Number of the call in its session.
        call: CallId,
        /// Name of the server, as settings declare it.
        server: String,
        /// Text of the question, as the person reads it.
        text: String,
        /// Answers to choose from.
        options: Vec<String>,
        /// What the answer is for.
        field: Option<Box<QuestionField>>,
    },
    /// The server no longer waits for an answer. From the worker of that call.
    Unask {
        /// Number of the call in its session.
        call: CallId,
    },
    /// Make a call that a program wants as a step (U7). From the worker of that program, never from a
    /// face. `Session::may_step` says beforehand why it would not be made.
    Step {
        /// The call of the program.
        of: CallId,
        /// Number of the step in its program, counted from 1.
        number: u32,
        /// Name of the tool, as the program wrote it.
        tool: String,
        /// Arguments of the step.
        input: Value,
    },
    /// End the run now, for whatever cause. From the engine: what a person ends is
    /// [`PersonCommand::Cancel`].
    Cancel {
        /// What made the run end.
        cause: CancelCause,
        /// Name of the person or schedule on whose behalf it was done.
        by: String,
    },
    /// Note that a person took changes back.
    Restored(CheckpointRestored),
    /// Note that a person took what was done in a copy over into its project.
    Merged(WorkspaceMerged),
    /// Note what a helper model used that was asked beside all runs. From the program that asked it, never from a
    /// face.
    Helped(HelperAsked),
    /// Note that a foreign server offers other tools than a person approved (R3): what differs, and what to do.
    /// The same words are noted once. From whoever follows the servers, never from a face.
    ToolsChanged(String),
    /// Note what is heard of a sub-agent. From the worker that follows it, never from a face.
    Agent(AgentNews),
}

/// What the world answers.
#[derive(Debug)]
pub enum EffectAnswer {
    /// To `Look`: the notes as they are now, for every run-stable section that has any text.
    Seen {
        /// All of them; the session keeps what is new.
        notes: Vec<PromptNote>,
        /// Skills that are active for what was said last.
        skills: Vec<SkillNote>,
        /// Whose words the notes are (Z1).
        label: Label,
        /// The newest input that was looked at.
        input: InputId,
        /// The recipe that fits best what was said.
        recipe: Option<Box<RecipeMatch>>,
    },
    /// To `PlanRecipe`: the calls that the planner made of the recipe, or why there are none.
    RecipePlanned(RecipePlanned),
    /// To `Condense`: what a helper made of what will be hidden.
    Summarised(ContextSummarised),
    /// To `Remember`: the facts that were found.
    Remembered(RunRemembered),
    /// To `SwitchGate`: the settings of the other profile, or why there are none.
    Switched {
        /// All settings from now on.
        config: Result<Arc<SessionConfig>, String>,
        /// What of the profile could not be had: a sentence each.
        notes: Vec<String>,
    },
    /// To `SwitchModel`: the settings with which the session would speak with that model, or why it cannot.
    ModelReady {
        /// The model, as it is named.
        model: String,
        /// The settings; only what follows from the model is taken of them.
        config: Result<Arc<SessionConfig>, String>,
    },
    /// To `Prepare`: the request is encoded.
    Prepared {
        /// For which turn.
        turn: TurnId,
        /// Bytes of the body.
        bytes: u64,
        /// Bytes kept from the request before.
        prefix_bytes: u64,
        /// Bytes that should have been kept.
        prefix_expected: u64,
    },
    /// To `Prepare`: what sessions have in common is spent, so nothing is asked (R11).
    Unaffordable {
        /// For which turn.
        turn: TurnId,
        /// The cap that is reached.
        limit: LimitName,
        /// What it has counted so far, in US dollars; `None`: the price of the model is not known.
        spent: Option<f64>,
        /// The cap, in US dollars.
        max: f64,
    },
    /// To `PendingAsk`: the model's reply or failure.
    Replied {
        /// For which turn.
        turn: TurnId,
        /// The model's reply, or why there is none.
        reply: ModelReply,
        /// The reply's images as the engine kept them, in their order; or why one is none.
        images: Vec<Result<StoredMedia, String>>,
        /// A random number, for jitter.
        jitter: u64,
        /// Bytes of text and thoughts that had come: of a failed reply they were made, and may be charged.
        streamed: usize,
    },
    /// To `Salvage`: what had come of a reply that was cut off; nothing, where nothing had.
    Salvaged {
        /// Of which turn.
        turn: TurnId,
        /// What the model had said.
        text: String,
        /// Reasoning text that had arrived when the stream broke.
        thinking: String,
    },
    /// To `Inspect`: what was found about a call.
    Inspected {
        /// Number of the call in its session.
        call: CallId,
        /// Effects, summary and opinions of hooks that the engine found.
        inspection: Arc<Inspection>,
    },
    /// To `Checkpoint`: the files are saved.
    Saved {
        /// Before which call.
        call: CallId,
        /// Under which name.
        checkpoint: CheckpointId,
        /// The paths that were saved.
        paths: Vec<String>,
    },
    /// To `Checkpoint`: they could not be saved, so the call does not run.
    NotSaved {
        /// Before which call.
        call: CallId,
        /// The reason, as a sentence for people and the model.
        reason: String,
    },
    /// To `Run` or `Reconcile`: the call's result, through the filters.
    Returned {
        /// Number of the call in its session.
        call: CallId,
        /// The result that is journaled.
        clean: CleanResult,
        /// Instruction files of the folders that it touched, as they are now (M2).
        notes: Vec<PromptNote>,
    },
    /// To `Reconcile`: the call did not happen and may run.
    NotRun {
        /// Number of the call in its session.
        call: CallId,
        /// How that is known.
        evidence: String,
    },
    /// To `Reconcile`: it cannot be told.
    Lost {
        /// Number of the call in its session.
        call: CallId,
        /// The reason, as a sentence for people and the model.
        reason: String,
    },
    /// To `Verify`: the answer held against the schema.
    Verified {
        /// The value, where a schema wants one, or what is wrong.
        result: Result<Option<Value>, String>,
        /// A hook does not let the run end: its words.
        kept_going: Option<String>,
    },
}

/// Helper of drivers: the result of `cleaned`, with its file written or not.
pub fn journaled_result(cleaned: FilterOutput, file_written: bool) -> CleanResult {
    match (file_written, cleaned.whole) {
        (false, Some(whole)) => whole,
        _ => cleaned.clean,
    }
}
