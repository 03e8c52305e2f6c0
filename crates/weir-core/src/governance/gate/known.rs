//! Refuses tools that do not exist, and names the nearest one that does.

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion, quote_model_text,
};

pub(super) struct KnownGate;

impl Gate for KnownGate {
    fn name(&self) -> GateName {
        GateName::Known
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        if call.inspection.known {
            return None;
        }
        let tool = quote_model_text(call.tool);
        let hint = match &call.inspection.nearest {
            Some(nearest) => format!("Did you mean {nearest}?"),
            None if context.visible.is_empty() => "This run has no tools.".to_string(),
            None => format!("The tools of this run are: {}.", context.visible.join(", ")),
        };
        Some(denying_opinion(self, None, format!("There is no tool named \"{tool}\". {hint}")))
    }
}
