//! A call of the current turn, and its stages: what only one stage has stands in that stage. Not here:
//! which facts follow from a stage (`derive`, `calls`), and what the world owes it (`todo`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{ApprovalLine, ApprovalRequested, CallJudged};
use crate::governance::label;
use crate::governance::plain_content::{TakenOut, arguments_without, diff_without};
use crate::governance::rules::Rule;
use crate::governance::way_out::WayOut;
use crate::governance::{call_form, canonical_json, same_form};
use crate::ids::{ApprovalId, CallId, QuestionId, Timestamp};
use crate::label::Label;
use crate::message::{CallBlock, MessageBlock};
use crate::tool::{AgentControl, Inspection, NamedGrant};

use super::handles::CarriedWords;
use super::program::StepPlace;
use super::together;

/// One call of the current turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallState {
    /// Number of the call in its session.
    pub id: CallId,
    /// The tool, as the model wrote it.
    pub tool: String,
    /// The arguments, with the words of the handles that they name.
    pub input: Value,
    /// The arguments as they were written, where they name handles (U6).
    #[serde(with = "super::snapshot::exact_value")]
    pub written: Option<Value>,
    /// The foreign words that it carries by them.
    pub(super) carried: Vec<CarriedWords>,
    /// What decided that such a call is made (U4).
    pub(super) chosen: Option<Label>,
    /// The parser's message when they were not JSON.
    pub broken: Option<String>,
    /// The program that asked for it, where it is a step (U7).
    pub step: Option<StepPlace>,
    /// What was found about it, once it was judged.
    pub inspection: Option<Arc<Inspection>>,
    pub(super) stage: CallStage,
    /// Calls of unknown outcome that questions about it told of (D4).
    pub(super) told: Vec<CallId>,
    /// Foreign words stood in the context that it was asked from.
    pub(super) foreign: bool,
    /// What is taken out of the content that it sends (U10).
    pub(super) taken_out: TakenOut,
    /// What a foreign server asks the person while it runs. No stage: a call that ends leaves the
    /// question open until its answer is recorded.
    pub(super) during: Option<(QuestionId, AgentControl)>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct CallClearance {
    /// What the gate said of it, or the question that was asked last.
    pub(super) reason: String,
    /// Only an answer to this very call lifts the ask.
    pub(super) exact: bool,
    /// A lease may lift that for later calls with these arguments (U8).
    pub(super) bound: bool,
    /// A person let it run.
    pub(super) confirmed: bool,
    /// The files that it touches are saved.
    pub(super) saved: bool,
    /// It follows a link that a page or a search led to (K10).
    pub(super) follows_link: bool,
    /// What would let it pass where nobody is there to be asked (U11).
    pub(super) ways: Vec<WayOut>,
    /// It may be asked about together with other steps of its program (U8).
    pub(super) joinable: bool,
    /// The flow table warns of it.
    pub(super) warned: bool,
}

impl CallClearance {
    /// What the gates said of a call that did not start.
    pub(super) fn of_judgement(f: &CallJudged) -> CallClearance {
        let exact = f.gates.iter().any(|opinion| opinion.exact);
        CallClearance {
            reason: f.reason.clone().unwrap_or_default(),
            exact,
            bound: exact && f.gates.iter().all(|opinion| !opinion.exact || opinion.bound),
            follows_link: f.link_bits.is_some(),
            ways: f.ways.clone(),
            joinable: together::is_joinable(f),
            warned: together::is_warned_of(f),
            ..CallClearance::default()
        }
    }
}

/// A question to a person whether a call may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenApproval {
    pub(super) approval: ApprovalId,
    /// When no answer is a denial.
    #[serde(with = "super::snapshot::exact_optional_time")]
    pub(super) expires: Option<Timestamp>,
    /// What a lasting answer grants.
    pub(super) lent: LentRights,
    /// The call at which the question stands, where it is about several and this is another of them.
    pub(super) at: Option<CallId>,
    pub(super) clearance: CallClearance,
}

/// What a lasting answer grants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LentRights {
    /// Allow rules.
    pub(super) rules: Vec<Rule>,
    /// What had been read, where the rules lift what is asked exactly as long as nothing else was.
    pub(super) bound: Option<Label>,
    /// What an answer for the session grants instead of the rules.
    pub(super) grant: Option<NamedGrant>,
}

/// The start of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct CallStart {
    #[serde(with = "super::snapshot::exact_time")]
    pub(super) at: Timestamp,
    /// A person let it run.
    pub(super) confirmed: bool,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct CallResult {
    pub(super) ok: bool,
    pub(super) blocks: Vec<MessageBlock>,
    /// Nothing of it was cut or withheld.
    pub(super) whole: bool,
    /// Its words stand beside the context; the first block names them (U6).
    pub(super) as_handle: bool,
    /// It counts as a mistake of the model.
    pub(super) mistake: bool,
    /// What it came to, for people.
    pub(super) summary: String,
}

impl CallResult {
    /// What a later step is given of it: of a handle not what it is said to be, which is for the model.
    pub(super) fn given_blocks(&self) -> &[MessageBlock] {
        match self.as_handle {
            true => self.blocks.get(..1).unwrap_or_default(),
            false => &self.blocks,
        }
    }
}

impl CallState {
    /// A call as a reply asked for it; `None` for any other block.
    pub fn from_block(block: &MessageBlock) -> Option<CallState> {
        let MessageBlock::Call(CallBlock { call, tool, input, broken, .. }) = block else {
            return None;
        };
        let broken = broken.clone();
        Some(CallState { broken, ..CallState::new(*call, tool.clone(), input.clone()) })
    }

    /// A call that was asked for just now.
    pub(super) fn new(id: CallId, tool: String, input: Value) -> CallState {
        CallState {
            id,
            tool,
            input,
            written: None,
            carried: Vec::new(),
            chosen: None,
            broken: None,
            step: None,
            inspection: None,
            stage: CallStage::Proposed,
            told: Vec::new(),
            foreign: false,
            taken_out: TakenOut::new(),
            during: None,
        }
    }

    /// The arguments as they were written: with the names of handles, not with their words.
    pub fn written_input(&self) -> &Value {
        self.written.as_ref().unwrap_or(&self.input)
    }

    /// The arguments that it is done with: as they were judged, without what acts in content that is sent
    /// beside foreign words (U10).
    pub(super) fn done_input(&self, said: &[String]) -> Value {
        match &self.inspection {
            Some(found) if !self.taken_out.is_empty() => {
                arguments_without(&self.input, &found.effects, said)
            }
            _ => self.input.clone(),
        }
    }

    /// The diff of what it is done with.
    pub(super) fn done_diff(&self, said: &[String]) -> Option<String> {
        let diff = self.inspection.as_ref()?.diff.as_ref()?;
        Some(match self.taken_out.is_empty() {
            true => diff.clone(),
            false => diff_without(diff, said),
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

    /// When it started, while it may be running.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.run_start().map(|start| start.at)
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

    /// What would let it pass, while it asks (U11).
    pub(super) fn ways(&self) -> &[WayOut] {
        self.open_approval().map_or(&[], |open| open.clearance.ways.as_slice())
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

    /// Its answer, for whoever is done with the call; of one that has none, an empty one.
    pub(super) fn take_result(&mut self) -> CallResult {
        match std::mem::replace(&mut self.stage, CallStage::Proposed) {
            CallStage::Done(result) => result,
            CallStage::Proposed
            | CallStage::ToAsk(_)
            | CallStage::Asking(_)
            | CallStage::Ready(_)
            | CallStage::Refused(_)
            | CallStage::Started(_)
            | CallStage::Reconciling(_)
            | CallStage::Questioning(_)
            | CallStage::Answered(_) => CallResult::default(),
        }
    }

    /// A person is asked about it.
    pub(super) fn open_ask(&mut self, asked: &ApprovalRequested) {
        self.told.extend(&asked.unknown);
        let clearance = CallClearance { reason: asked.reason.clone(), ..self.take_clearance() };
        self.stage = CallStage::Asking(OpenApproval {
            approval: asked.approval.clone(),
            expires: asked.expires,
            lent: LentRights {
                rules: asked.rules.clone(),
                bound: asked.bound.then(|| asked.label.clone()),
                grant: asked.grant.clone(),
            },
            at: None,
            clearance,
        });
    }

    /// A person is asked about it by a line of a question that stands at `asked.call`.
    pub(super) fn open_line(&mut self, asked: &ApprovalRequested, line: &ApprovalLine) {
        let clearance = CallClearance { reason: line.reason.clone(), ..self.take_clearance() };
        self.stage = CallStage::Asking(OpenApproval {
            approval: asked.approval.clone(),
            expires: asked.expires,
            lent: LentRights::default(),
            at: (asked.call != self.id).then_some(asked.call),
            clearance,
        });
    }

    /// A person let it run. Returns what a lasting answer grants.
    pub(super) fn allow_run(&mut self) -> LentRights {
        let lasting = self.open_approval().map(|open| open.lent.clone()).unwrap_or_default();
        self.stage = CallStage::Ready(CallClearance { confirmed: true, ..self.take_clearance() });
        lasting
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
