//! The auditor's view: one line per decision and per effect (G10).
//!
//! Secrets were taken out by the filters before anything was journaled; long texts are told by
//! length and hash here.

use serde_json::{Value, json};

use crate::event::{Event, MemoryProposed, MemoryWritten};
use crate::ids::CallId;
use crate::record::sha256_hex;
use crate::session::Session;

/// Texts with more characters than this appear as length and hash.
const TEXT_MAX: usize = 300;

/// The fields of the audit line for `event`, or none where it is neither decision nor effect.
/// `session` is the state after the event, `by` whoever the session works for.
#[expect(clippy::too_many_lines, reason = "one exhaustive match, a few fields for each fact")]
pub fn audit_line(session: &Session, event: &Event, by: &str) -> Option<Value> {
    let mut fields = match event {
        Event::SessionOpened(f) => json!({
            "workspace": f.workspace, "permission": f.permission, "model": f.model,
            "engine": f.engine,
        }),
        Event::SessionConfigured(f) => json!({
            "reason": f.reason, "permission": f.config.permission,
            "model": f.config.model.model.to_string(),
        }),
        Event::RunStarted(f) => json!({ "run": f.run, "trigger": f.trigger }),
        Event::CallJudged(f) => json!({
            "call": f.call, "verdict": f.verdict, "gate": f.gate, "rule": f.rule,
            "reason": f.reason, "class": f.inspection.class, "leases": f.leases,
            "label": label_of_call(session, f.call),
            "input": call_input(session, f.call),
        }),
        Event::ApprovalRequested(f) => {
            json!({ "call": f.call, "approval": f.approval, "binds": f.binds })
        }
        Event::ApprovalResolved(f) => json!({
            "call": f.call, "approval": f.approval, "decision": f.decision, "approver": f.by,
            "reason": f.reason, "terms": f.terms,
        }),
        Event::LeaseRevoked(f) => json!({ "lease": f.lease, "revoked_by": f.by }),
        Event::CheckpointTaken(f) => {
            json!({ "call": f.call, "checkpoint": f.checkpoint, "paths": f.paths })
        }
        Event::CheckpointRestored(f) => {
            json!({ "checkpoint": f.checkpoint, "paths": f.paths, "restored_by": f.by })
        }
        Event::WorkspaceMerged(f) => json!({
            "checkpoint": f.checkpoint, "into": f.into, "paths": f.paths, "merged_by": f.by,
        }),
        Event::CallStarted(f) => json!({ "call": f.call }),
        Event::CallReconciled(f) => json!({ "call": f.call, "evidence": f.evidence }),
        Event::CallFinished(f) => json!({
            "call": f.call, "tool": f.tool, "ok": f.ok, "summary": shorten_texts(&json!(f.summary)),
            "duration_ms": f.duration_ms, "bytes": f.bytes, "changed": f.changed,
            "label": f.label.to_string(), "marks": f.marks, "withheld": f.withheld,
        }),
        Event::CallUnknown(f) => json!({ "call": f.call, "tool": f.tool, "reason": f.reason }),
        Event::AgentSpawned(f) => json!({
            "call": f.call, "agent": f.agent, "agent_profile": f.profile, "depth": f.depth,
            "permission": f.permission, "model": f.model, "share": f.share,
            "task": shorten_texts(&json!(f.task)),
        }),
        Event::AgentFinished(f) => json!({
            "call": f.call, "agent": f.agent, "status": f.status, "usage": f.usage,
            "cost_usd": f.cost_usd, "changed": f.changed_files,
        }),
        Event::LimitReached(f) => json!({ "limit": f.limit, "level": f.level, "value": f.value }),
        Event::AlertRaised(f) => json!({ "alert": f.alert, "detail": f.detail }),
        Event::CancelRequested(f) => json!({ "cause": f.cause, "cancelled_by": f.by }),
        Event::RunPaused(f) => json!({ "paused_by": f.by }),
        Event::RunResumed(f) => json!({ "resumed_by": f.by }),
        Event::ProfileSwitched(f) => json!({
            "switched_to": f.profile, "from": f.from, "reason": f.reason,
            "permission": f.config.permission,
        }),
        Event::ModelSwitched(f) => json!({
            "model": f.model, "from": f.from, "cause": f.cause, "reason": f.reason, "refused": f.refused,
        }),
        Event::ContextCondensed(f) => json!({
            "reason": f.reason, "pass": f.pass, "hidden": f.hidden, "label": f.label.to_string(),
        }),
        Event::ContextUncondensed(f) => json!({ "uncondensed_by": f.by }),
        Event::SkillActivated(f) => {
            json!({ "skill": f.skill, "source": f.source, "activated_by": f.by })
        }
        Event::MemoryProposed(MemoryProposed { note })
        | Event::MemoryWritten(MemoryWritten { note }) => json!({
            "memory": note.memory, "status": note.status, "written_by": note.by,
            "text": shorten_texts(&json!(note.text)), "label": note.label.to_string(),
        }),
        Event::RunFinished(f) => json!({
            "run": f.run, "status": f.status, "cost_usd": f.cost_usd, "usage": f.usage,
            "error": f.error,
        }),
        Event::SessionResumed(_)
        | Event::InputAccepted(_)
        | Event::InputWithdrawn(_)
        | Event::SceneSeen(_)
        | Event::TurnStarted(_)
        | Event::ModelRequested(_)
        | Event::ModelRetried(_)
        | Event::ModelFailed(_)
        | Event::ModelReplied(_)
        | Event::ImageProduced(_)
        | Event::HistoryQuarantined(_)
        | Event::ToolsRefused(_)
        | Event::CallProposed(_)
        | Event::QuestionAsked(_)
        | Event::QuestionAnswered(_)
        | Event::PlanUpdated(_)
        | Event::OutputChecked(_)
        | Event::ContextCondensing(_)
        | Event::ContextSummarised(_)
        | Event::ContextRecalled(_)
        | Event::SteeringReminded(_)
        | Event::AgentAsked(_)
        | Event::AgentAnswered(_)
        | Event::RecipeMatched(_)
        | Event::RecipePlanned(_)
        | Event::RecipeStepped(_)
        | Event::RecipeFallback(_)
        | Event::RunRemembered(_)
        | Event::HelperAsked(_) => return None,
    };
    let out = fields.as_object_mut()?;
    let call = out.get("call").and_then(Value::as_str).and_then(|text| text.parse().ok());
    if let Some(call) = call.and_then(|id: CallId| session.find_call(id)) {
        out.entry("tool").or_insert_with(|| json!(call.tool));
        if let Some(place) = &call.step {
            out.insert("of".into(), json!(place.of));
            out.insert("step".into(), json!(place.number));
        }
    }
    if let Some(config) = session.config() {
        out.insert("profile".into(), json!(config.profile.name));
    }
    out.insert("kind".into(), json!(event.kind()));
    out.insert("by".into(), json!(by));
    Some(fields)
}

/// What had decided that the call is made; of a step, with what its program knew.
fn label_of_call(session: &Session, call: CallId) -> String {
    let label = session.find_call(call).map(|call| session.label_of_call(call));
    label.unwrap_or(session.turn_label()).to_string()
}

fn call_input(session: &Session, call: CallId) -> Value {
    session.find_call(call).map_or(Value::Null, |call| shorten_texts(&call.input))
}

/// Long texts as length and hash, everything else as it is.
pub fn shorten_texts(value: &Value) -> Value {
    match value {
        Value::String(text) if text.chars().count() > TEXT_MAX => {
            json!({ "chars": text.chars().count(), "sha256": sha256_hex(text.as_bytes()) })
        }
        Value::Array(items) => Value::Array(items.iter().map(shorten_texts).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(k, v)| (k.clone(), shorten_texts(v))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
