//! What gates of the program around the engine said (F5). They were asked while the call was
//! inspected, and what they said stands in the inspection; they can only narrow. Not here: asking
//! them, which the engine does.

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion, denying_opinion,
    quote_model_text,
};

pub(super) struct OwnGatesGate;

impl Gate for OwnGatesGate {
    fn name(&self) -> GateName {
        GateName::Own
    }
    fn judge(&self, call: &JudgedCall<'_>, _context: &GateContext<'_>) -> Option<GateOpinion> {
        let own = &call.inspection.own;
        let strictest = own.iter().find(|opinion| opinion.denies).or_else(|| own.first())?;
        let rule = Some(strictest.gate.clone());
        let reason = quote_model_text(&strictest.reason);
        Some(match strictest.denies {
            true => denying_opinion(self, rule, format!("This program refuses it: {reason}")),
            false => asking_opinion(self, rule, format!("This program wants approval: {reason}")),
        })
    }
}
