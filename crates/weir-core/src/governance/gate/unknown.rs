//! Asks while the outcome of an earlier call is unknown (D4): the same call again in every mode,
//! and everything that changes the world until it is settled. What is told and what settles it:
//! `governance::outcome`.

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion};
use crate::governance::{call_form, outcome};

pub(super) struct UnknownGate;

impl Gate for UnknownGate {
    fn name(&self) -> GateName {
        GateName::Unknown
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        if context.unknown.is_empty() {
            return None;
        }
        let form = call_form(call.tool, call.input);
        let changes = call.inspection.effects.changes_world();
        let told = outcome::outcome_warning(context.unknown, &form, changes)?;
        Some(asking_opinion(self, Some("unknown outcome".into()), told.text))
    }
}
