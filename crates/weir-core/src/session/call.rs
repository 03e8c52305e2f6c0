//! A call of the current turn, and its stages: what only one stage has stands in that stage. Not here:
//! which facts follow from a stage (`derive`, `calls`), and what the world owes it (`todo`).

use std::sync::Arc;

use serde_json::Value;

use crate::event::ApprovalRequested;
use crate::governance::label;
use crate::governance::rules::Rule;
use crate::governance::{call_form, canonical_json, same_form};
use crate::ids::{ApprovalId, CallId, QuestionId, Timestamp};
use crate::label::Label;
use crate::message::{CallBlock, MessageBlock};
use crate::tool::{AgentControl, Inspection};

/// One call of the current turn.
#[derive(Debug, Clone)]
pub struct CallState {
    /// Number of the call in its session.
    pub id: CallId,
    /// The tool, as the model wrote it.
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// The parser's message when they were not JSON.
    pub broken: Option<String>,
    /// What was found about it, once it was judged.
    pub inspection: Option<Arc<Inspection>>,
    pub(super) stage: CallStage,
    /// Calls of unknown outcome that questions about it told of (D4).
    pub(super) told: Vec<CallId>,
    /// Foreign words stood in the context that it was asked from.
    pub(super) foreign: bool,
    /// What a foreign server asks the person while it runs. No stage: a call that ends leaves the
    /// question open until its answer is recorded.
    pub(super) during: Option<(QuestionId, AgentControl)>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallStage {
    /// To be looked at.
    Proposed,
    /// A person must be asked; the request is not journaled yet.
    ToAsk(CallClearance),
    /// A person is being asked.
    Asking(OpenApproval),
    /// It may run.
    Ready(CallClearance),
    /// It will be answered with this text and never run.
    Refused(String),
    /// It may have happened.
    Started(CallStart),
    /// It had started before a crash.
    Reconciling(CallStart),
    /// Its question waits for an answer.
    Questioning(QuestionId),
    /// Its question was answered.
    Answered(String),
    /// It is answered.
    Done(CallResult),
}

/// What is known of a call that was judged and did not start.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CallClearance {
    /// What the gate said of it, or the question that was asked last.
    pub(super) reason: String,
    /// Only an answer to this very call lifts the ask.
    pub(super) exact: bool,
    /// A person let it run.
    pub(super) confirmed: bool,
    /// The files that it touches are saved.
    pub(super) saved: bool,
    /// It follows a link that a page or a search led to (K10).
    pub(super) follows_link: bool,
}

/// A question to a person whether a call may run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenApproval {
    pub(super) approval: ApprovalId,
    /// When no answer is a denial.
    pub(super) expires: Option<Timestamp>,
    /// The allow rules that a lasting answer adds.
    pub(super) rules: Vec<Rule>,
    pub(super) clearance: CallClearance,
}

/// The start of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CallStart {
    pub(super) at: Timestamp,
    /// A person let it run.
    pub(super) confirmed: bool,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CallResult {
    pub(super) ok: bool,
    pub(super) blocks: Vec<MessageBlock>,
    /// Nothing of it was cut or withheld.
    pub(super) whole: bool,
    /// It counts as a mistake of the model.
    pub(super) mistake: bool,
}

impl CallState {
    /// A call as a reply asked for it; `None` for any other block.
    pub fn from_block(block: &MessageBlock) -> Option<CallState> {
        let MessageBlock::Call(CallBlock { call, tool, input, broken, .. }) = block else {
            return None;
        };
        Some(CallState {
            id: *call,
            tool: tool.clone(),
            input: input.clone(),
            broken: broken.clone(),
            inspection: None,
            stage: CallStage::Proposed,
            told: Vec::new(),
            foreign: false,
            during: None,
        })
    }

    /// Whether foreign words stood in the context that it was asked from (Z1).
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Whether it is still unanswered and may have happened.
    pub fn is_running(&self) -> bool {
        self.run_start().is_some()
    }

    /// Why a person is asked, while one is.
    pub fn ask_reason(&self) -> &str {
        self.open_approval().map_or("", |open| open.clearance.reason.as_str())
    }

    /// Whether it runs a command that may write: then the workspace is compared before and after.
    pub fn changes_unknown(&self) -> bool {
        self.inspection.as_deref().is_some_and(Inspection::changes_unknown)
    }

    pub(super) fn is_started(&self) -> bool {
        matches!(self.stage, CallStage::Started(_))
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stage, CallStage::Done(_))
    }

    /// Whether a person let it run, while it does.
    pub(super) fn is_confirmed(&self) -> bool {
        self.run_start().is_some_and(|start| start.confirmed)
    }

    /// Its start, while it may be running.
    pub(super) fn run_start(&self) -> Option<&CallStart> {
        let (CallStage::Started(start) | CallStage::Reconciling(start)) = &self.stage else {
            return None;
        };
        Some(start)
    }

    /// The question whether it may run, while one is open.
    pub(super) fn open_approval(&self) -> Option<&OpenApproval> {
        let CallStage::Asking(open) = &self.stage else { return None };
        Some(open)
    }

    /// The question that it puts to the person, while it is open.
    pub(super) fn open_question(&self) -> Option<&QuestionId> {
        let CallStage::Questioning(question) = &self.stage else { return None };
        Some(question)
    }

    /// Its answer, once it has one.
    pub(super) fn call_result(&self) -> Option<&CallResult> {
        let CallStage::Done(result) = &self.stage else { return None };
        Some(result)
    }

    /// A person is asked about it.
    pub(super) fn open_ask(&mut self, asked: &ApprovalRequested) {
        self.told.extend(&asked.unknown);
        let clearance = CallClearance { reason: asked.reason.clone(), ..self.take_clearance() };
        self.stage = CallStage::Asking(OpenApproval {
            approval: asked.approval.clone(),
            expires: asked.expires,
            rules: asked.rules.clone(),
            clearance,
        });
    }

    /// A person let it run. Returns the allow rules that a lasting answer adds.
    pub(super) fn allow_run(&mut self) -> Vec<Rule> {
        let rules = self.open_approval().map(|open| open.rules.clone()).unwrap_or_default();
        self.stage = CallStage::Ready(CallClearance { confirmed: true, ..self.take_clearance() });
        rules
    }

    /// The files that it touches are saved.
    pub(super) fn note_saved(&mut self) {
        match &mut self.stage {
            CallStage::ToAsk(clearance)
            | CallStage::Ready(clearance)
            | CallStage::Asking(OpenApproval { clearance, .. }) => clearance.saved = true,
            CallStage::Proposed
            | CallStage::Refused(_)
            | CallStage::Started(_)
            | CallStage::Reconciling(_)
            | CallStage::Questioning(_)
            | CallStage::Answered(_)
            | CallStage::Done(_) => (),
        }
    }

    /// It may have happened from now on.
    pub(super) fn begin_run(&mut self, at: Timestamp) {
        let confirmed = self.take_clearance().confirmed;
        self.stage = CallStage::Started(CallStart { at, confirmed });
    }

    /// What is known of it before its start; the caller gives it another stage. The fold is total: a
    /// stage that knows nothing of the kind gives what is known of a call that nobody was asked about.
    fn take_clearance(&mut self) -> CallClearance {
        match std::mem::replace(&mut self.stage, CallStage::Proposed) {
            CallStage::ToAsk(clearance) | CallStage::Ready(clearance) => clearance,
            CallStage::Asking(open) => open.clearance,
            CallStage::Proposed
            | CallStage::Refused(_)
            | CallStage::Started(_)
            | CallStage::Reconciling(_)
            | CallStage::Questioning(_)
            | CallStage::Answered(_)
            | CallStage::Done(_) => CallClearance::default(),
        }
    }

    /// Whether files must be saved before it runs (G7).
    pub(super) fn needs_checkpoint(&self) -> bool {
        self.inspection.as_deref().is_some_and(Inspection::needs_checkpoint)
    }

    pub(super) fn failure_text(&self) -> Option<&str> {
        self.inspection.as_ref().and_then(|i| i.fails.as_deref())
    }

    /// The label of what was read to plan it.
    pub(super) fn planned_label(&self) -> Label {
        self.inspection.as_ref().map(|i| label::of_result(&i.effects)).unwrap_or_default()
    }

    pub(super) fn control(&self) -> Option<&AgentControl> {
        self.inspection.as_ref().and_then(|i| i.effects.control.as_ref())
    }

    /// The one form in which calls are compared.
    pub(super) fn canonical_form(&self) -> String {
        call_form(&self.tool, &self.input)
    }

    /// The form in which the repetition gate compares it (L6).
    pub(super) fn same_form(&self, workspace: &str) -> String {
        match &self.inspection {
            Some(inspection) => same_form(&self.input, &inspection.effects, workspace),
            None => canonical_json(&self.input),
        }
    }

    /// Whether it puts a question to the person.
    pub(super) fn asks_person(&self) -> bool {
        matches!(self.control(), Some(AgentControl::Ask { .. }))
    }
}
