//! A call's stages: what they mean for the facts that follow.

use serde_json::json;

use crate::event::{ApprovalRequested, CallFinished, CallProposed, CallStarted, Event};
use crate::governance::filter::one_line;
use crate::governance::outcome::{self, Told};
use crate::governance::{call_form, canonical, rules, same_form};
use crate::ids::{ApprovalId, CallId, QuestionId, Timestamp, TurnId};
use crate::message::{Block, CallBlock};
use crate::record::sha256_hex;
use crate::tool::{Control, EffectClass, Inspection};

use super::{Call, Session, Stage};

/// What the model reads where a call has no recorded result (V3).
pub const NOT_RECORDED: &str = "No result was recorded for this call.";

impl Call {
    /// A call as a reply asked for it; `None` for any other block.
    pub fn proposed(block: &Block) -> Option<Call> {
        let Block::Call(CallBlock { call, tool, input, broken, .. }) = block else { return None };
        Some(Call {
            id: *call,
            tool: tool.clone(),
            input: input.clone(),
            broken: broken.clone(),
            inspection: None,
            stage: Stage::Proposed,
            confirmed: false,
            saved: false,
            started: None,
            approval: None,
            expires: None,
            rules: Vec::new(),
            ask_reason: String::new(),
            told: Vec::new(),
            exact: false,
            foreign: false,
            question: None,
            during: None,
            result: None,
            whole: false,
            mistake: false,
        })
    }

    /// Whether files must be saved before it runs (G7).
    pub(super) fn needs_checkpoint(&self) -> bool {
        self.inspection.as_deref().is_some_and(Inspection::needs_checkpoint)
    }

    /// Whether it runs a command that may write: then the workspace is compared before and after.
    pub fn changes_unknown(&self) -> bool {
        self.inspection.as_deref().is_some_and(Inspection::changes_unknown)
    }

    pub(super) fn fails(&self) -> Option<&str> {
        self.inspection.as_ref().and_then(|i| i.fails.as_deref())
    }

    pub(super) fn control(&self) -> Option<&Control> {
        self.inspection.as_ref().and_then(|i| i.effects.control.as_ref())
    }

    /// The one form in which calls are compared.
    pub(super) fn canonical(&self) -> String {
        call_form(&self.tool, &self.input)
    }

    /// The form in which the repetition gate compares it (L6).
    pub(super) fn same_form(&self, workspace: &str) -> String {
        match &self.inspection {
            Some(inspection) => same_form(&self.input, &inspection.effects, workspace),
            None => canonical(&self.input),
        }
    }

    pub(super) fn proposal(&self, turn: TurnId) -> Event {
        CallProposed { call: self.id, turn, tool: self.tool.clone(), input: self.input.clone() }
            .into()
    }
}

impl Session {
    /// A call that never ran, answered with `text`.
    pub(super) fn refusal(&self, id: CallId, text: &str) -> CallFinished {
        let tool = self.call(id).map(|call| call.tool.clone()).unwrap_or_default();
        answered(id, tool, false, text)
    }

    pub(super) fn approval_id(&self, number: u32) -> ApprovalId {
        ApprovalId(format!("{}-a{number}", self.id))
    }

    pub(super) fn question_id(&self, number: u32) -> QuestionId {
        QuestionId(format!("{}-q{number}", self.id))
    }

    /// What the person must be told of unknown outcomes before `call` runs, and was not (D4). Asked
    /// of every call that may run: one that was allowed, or asked about, before an outcome became
    /// unknown was let pass by somebody who could not know of it.
    pub(super) fn untold(&self, call: &Call) -> Option<Told> {
        if self.unknown.is_empty() {
            return None;
        }
        let changes = call.inspection.as_ref().is_none_or(|i| i.effects.changes_world());
        let fresh = self.unknown.iter().filter(|one| !call.told.contains(&one.call));
        outcome::told(fresh, &call.canonical(), changes)
    }

    /// The fact by which a person is asked about `call` (G4). Whichever gate asks, the question tells
    /// of the unknown outcomes that concern the call: only then does the answer settle them.
    pub(super) fn approval_request(&self, call: &Call, now: Timestamp) -> Option<Event> {
        let timeout = self.config.as_ref().and_then(|c| c.limits.approval_timeout_ms);
        let inspection = call.inspection.as_ref()?;
        let effects = serde_json::to_value(&inspection.effects).unwrap_or_default();
        let bound = json!([call.tool, call.input, effects]);
        let (mut reason, mut unknown) = (call.ask_reason.clone(), Vec::new());
        if let Some(told) = self.untold(call) {
            if !reason.contains(&told.text) {
                let between = if reason.is_empty() { "" } else { " " };
                reason = format!("{reason}{between}{}", told.text);
            }
            unknown = told.about;
        }
        Some(
            ApprovalRequested {
                approval: self.approval_id(self.next.asked + 1),
                call: call.id,
                tool: call.tool.clone(),
                input: call.input.clone(),
                summary: inspection.summary.clone(),
                diff: inspection.diff.clone(),
                reason,
                unknown,
                rules: self.rules_for(call),
                binds: sha256_hex(canonical(&bound).as_bytes()),
                expires: timeout.map(|ms| now.plus_ms(ms)),
                label: self.turn_label().clone(),
            }
            .into(),
        )
    }

    /// The allow rules that would save the next question like `call`; none where a rule cannot say it,
    /// or where what asks is not a rule's to lift.
    fn rules_for(&self, call: &Call) -> Vec<rules::Rule> {
        let Some(inspection) = &call.inspection else { return Vec::new() };
        if call.exact || inspection.confirm.is_some() || inspection.effects.unknown {
            return Vec::new();
        }
        let Some(config) = &self.config else { return Vec::new() };
        let origin = rules::RuleOrigin::new("an approval");
        config.rules.offered_rules(&call.tool, &inspection.effects, &origin)
    }

    /// What a call that may run leads to next.
    pub(super) fn ready(&self, call: &Call) -> Option<Event> {
        if let Some(text) = call.fails() {
            return Some(self.refusal(call.id, text).into());
        }
        if call.needs_checkpoint() && !call.saved {
            return None;
        }
        Some(CallStarted { call: call.id }.into())
    }
}

/// A call answered by the session itself.
pub(super) fn answered(call: CallId, tool: String, ok: bool, text: &str) -> CallFinished {
    CallFinished {
        call,
        tool,
        ok,
        summary: one_line(text.lines().next().unwrap_or_default()),
        result: vec![Block::text(text)],
        confirmed: false,
        bytes: text.len() as u64,
        duration_ms: 0,
        externalized: None,
        full: None,
        changed: Vec::new(),
        label: crate::label::Label::default(),
        marks: None,
        withheld: None,
        notes: Vec::new(),
        news: Vec::new(),
    }
}

/// What the model reads about a call whose outcome is unknown (D4).
pub(super) fn unknown_text(reason: &str, class: Option<EffectClass>) -> String {
    let verify = match class {
        Some(EffectClass::Process) => "The command may have run, wholly or in part.",
        Some(EffectClass::File) => "The files may or may not have been changed.",
        _ => "It may or may not have happened.",
    };
    format!(
        "Outcome unknown: {reason}. {verify} Verify first, and tell the person; do not repeat it \
         blindly."
    )
}

/// Where paths are relative to, as the rules know it.
pub(super) fn workspace(s: &Session) -> String {
    s.config.as_ref().map(|c| c.rules.context().workspace.clone()).unwrap_or_default()
}
