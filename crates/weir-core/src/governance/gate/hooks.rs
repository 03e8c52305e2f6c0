//! What the person's `PreToolUse` hooks said (G11). They ran while the call was inspected; they can
//! only narrow.

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion, denying_opinion,
    quote_model_text,
};

pub(super) struct HooksGate;

impl Gate for HooksGate {
    fn name(&self) -> GateName {
        GateName::Hooks
    }
    fn judge(&self, call: &JudgedCall<'_>, _context: &GateContext<'_>) -> Option<GateOpinion> {
        let hooks = &call.inspection.hooks;
        let strictest = hooks.iter().find(|hook| hook.denies).or_else(|| hooks.first())?;
        let rule = Some(strictest.hook.clone());
        let reason = quote_model_text(&strictest.reason);
        Some(match strictest.denies {
            true => denying_opinion(self, rule, format!("A hook blocks this call: {reason}")),
            false => asking_opinion(self, rule, format!("A hook requires approval: {reason}")),
        })
    }
}
