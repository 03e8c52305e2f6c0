//! Asks where the tool itself wants a person to confirm these arguments.

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion};

pub(super) struct ConfirmGate;

impl Gate for ConfirmGate {
    fn name(&self) -> GateName {
        GateName::Confirm
    }
    fn judge(&self, call: &JudgedCall<'_>, _: &GateContext<'_>) -> Option<GateOpinion> {
        let why = call.inspection.confirm.as_ref()?;
        Some(asking_opinion(self, Some("the tool asks for confirmation".into()), why.clone()))
    }
}
