//! What the stages of a call mean for the facts that follow. Not here: the stages (`call`).

use serde_json::json;

use crate::event::{ApprovalRequested, CallFinished, CallProposed, CallStarted, Event};
use crate::governance::filter::one_line;
use crate::governance::outcome::{self, OutcomeWarning};
use crate::governance::plain_content::{TakenOut, describe_taken};
use crate::governance::{canonical_json, label, rules};
use crate::ids::{ApprovalId, CallId, QuestionId, Timestamp, TurnId};
use crate::input::EffectAnswer;
use crate::message::MessageBlock;
use crate::record::sha256_hex;
use crate::safe_text::join_sentences;
use crate::tool::{CleanResult, EffectClass, foreign};

use super::call::CallClearance;
use super::{CallState, Session, SessionConfig};

/// What the model reads where a call has no recorded result (V3).
pub const NOT_RECORDED: &str = "No result was recorded for this call.";

impl CallState {
    pub(super) fn proposal(&self, turn: TurnId) -> Event {
        let input = self.written_input().clone();
        let tool = self.tool.clone();
        CallProposed { call: self.id, turn, tool, input, of: None, step: None }.into()
    }
}

impl Session {
    /// The answer for which a journal has this fact: what the filters had left of the result when it came back,
    /// without what the session adds to it.
    pub fn recorded_answer(&self, f: &CallFinished) -> EffectAnswer {
        let taken_out = self.find_call(f.call).map(|call| &call.taken_out);
        let added = taken_out.filter(|taken| !taken.is_empty()).map(taken_out_text);
        let mut blocks = f.result.clone();
        blocks.pop_if(|last| added.is_some_and(|added| *last == MessageBlock::text(added)));
        let clean = CleanResult {
            ok: f.ok,
            blocks,
            summary: f.summary.clone(),
            bytes: f.bytes,
            externalized: f.externalized.clone(),
            full: f.full.clone(),
            changed: f.changed.clone(),
            label: f.label.clone(),
            withheld: f.withheld.clone(),
            handle: f.handle.clone(),
            news: f.news.clone(),
        };
        EffectAnswer::Returned { call: f.call, clean, notes: f.notes.clone() }
    }

    /// A call that never ran, answered with `text`.
    pub(super) fn refusal_result(&self, id: CallId, text: &str) -> CallFinished {
        let call = self.find_call(id);
        let tool = call.map(|call| call.tool.clone()).unwrap_or_default();
        // It may quote the foreign words that the call carried (U12).
        let label = call.map(CallState::carried_label).unwrap_or_default();
        CallFinished { label, ..answer_result(id, tool, false, text) }
    }

    /// The answer to a call whose plan already says that it will fail. Its words may quote what was
    /// looked at, so it is labelled as a reading of that (Z1).
    fn failure_result(call: &CallState) -> Option<CallFinished> {
        let inspection = call.inspection.as_deref()?;
        let text = inspection.fails.as_deref()?;
        Some(CallFinished {
            label: label::of_failed_plan(&inspection.effects).joined_with(&call.carried_label()),
            withheld: inspection.withheld.clone(),
            ..answer_result(call.id, call.tool.clone(), false, text)
        })
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
    pub(super) fn untold_outcomes(&self, call: &CallState) -> Option<OutcomeWarning> {
        if self.unknown.is_empty() {
            return None;
        }
        let changes = call.inspection.as_ref().is_none_or(|i| i.effects.changes_world());
        let fresh = self.unknown.iter().filter(|one| !call.told.contains(&one.call));
        outcome::outcome_warning(fresh, &call.canonical_form(), changes)
    }

    /// The fact by which a person is asked about `call` (G4). Whichever gate asks, the question tells
    /// of the unknown outcomes that concern the call: only then does the answer settle them.
    pub(super) fn approval_request(
        &self,
        call: &CallState,
        clearance: &CallClearance,
        now: Timestamp,
    ) -> Option<Event> {
        let timeout = self.config.as_ref().and_then(|c| c.limits.approval_timeout_ms);
        let inspection = call.inspection.as_ref()?;
        let effects = serde_json::to_value(&inspection.effects).unwrap_or_default();
        let input = call.done_input(&self.said);
        let binds = json!([call.tool, input, effects]);
        let (mut reason, mut unknown) = (clearance.reason.clone(), Vec::new());
        if !call.taken_out.is_empty() {
            add_sentence(&mut reason, &taken_out_text(&call.taken_out));
        }
        if let Some(told) = self.untold_outcomes(call) {
            if !reason.contains(&told.text) {
                add_sentence(&mut reason, &told.text);
            }
            unknown = told.about;
        }
        let rules = self.rules_for(call, clearance);
        let bound = clearance.bound && !rules.is_empty();
        if clearance.follows_link && !rules.is_empty() {
            add_sentence(&mut reason, LINKS_AGREED);
        }
        let grant = self.offered_grant(call, &rules);
        if let Some(grant) = &grant {
            add_sentence(&mut reason, &format!("A yes for this session grants {}.", grant.name));
        }
        let often = self.agreed.are_frequent(&rules, grant.as_ref());
        Some(
            ApprovalRequested {
                approval: self.approval_id(self.next.asked + 1),
                call: call.id,
                tool: call.tool.clone(),
                input,
                summary: inspection.summary.clone(),
                diff: call.done_diff(&self.said),
                reason,
                unknown,
                rules,
                grant,
                often,
                binds: sha256_hex(canonical_json(&binds).as_bytes()),
                expires: timeout.map(|ms| now.plus_ms(ms)),
                label: self.label_of_call(call).clone(),
                bound,
                lines: Vec::new(),
            }
            .into(),
        )
    }

    /// The allow rules that would save the next question like `call`; none where a rule cannot say it,
    /// or where what asks is not a rule's to lift.
    fn rules_for(&self, call: &CallState, clearance: &CallClearance) -> Vec<rules::Rule> {
        let Some(inspection) = &call.inspection else { return Vec::new() };
        if clearance.exact && !clearance.bound || inspection.confirm.is_some() {
            return Vec::new();
        }
        // Where nobody knows what a tool does, a rule can only name it, and the words that chose it must
        // be nobody else's. A tool of no server may be a way to others: it has no such rule.
        let by_name =
            call.tool.starts_with(foreign::PREFIX) && !self.label_of_call(call).is_external();
        if inspection.effects.unknown && !by_name {
            return Vec::new();
        }
        let Some(config) = &self.config else { return Vec::new() };
        let origin = rules::RuleOrigin::new("an approval");
        config.rules.offered_rules(&call.tool, &inspection.effects, &origin)
    }

    /// What a call that may run leads to next.
    pub(super) fn ready_call_fact(
        &self,
        call: &CallState,
        clearance: &CallClearance,
    ) -> Option<Event> {
        if let Some(failed) = Session::failure_result(call) {
            return Some(failed.into());
        }
        if call.needs_checkpoint() && !clearance.saved {
            return None;
        }
        Some(CallStarted { call: call.id }.into())
    }
}

/// What hooks, servers and judges say has not always an end.
fn add_sentence(reason: &mut String, more: &str) {
    *reason = join_sentences([reason.as_str(), more]);
}

/// What a person is told who is asked about a link that a page or a search led to (K10).
const LINKS_AGREED: &str =
    "A yes for this session also covers the links of other pages and searches.";

/// What person and model are told of content that was made plain (U10).
pub(super) fn taken_out_text(taken: &TakenOut) -> String {
    format!(
        "Made plain before it is sent, since foreign words had been read: {}. What the person writes \
         themselves stays.",
        describe_taken(taken)
    )
}

/// A call answered by the session itself.
pub(super) fn answer_result(call: CallId, tool: String, ok: bool, text: &str) -> CallFinished {
    CallFinished {
        call,
        tool,
        ok,
        summary: one_line(text.lines().next().unwrap_or_default()),
        result: vec![MessageBlock::text(text)],
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
        handle: None,
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
pub(super) fn workspace_root(config: Option<&SessionConfig>) -> &str {
    config.map_or("", |config| config.rules.context().workspace.as_str())
}
