//! Refuses tools that exist but are not in this run's list: hidden is refused, not merely unlisted.

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion};

pub(super) struct VisibleGate;

impl Gate for VisibleGate {
    fn name(&self) -> GateName {
        GateName::Visible
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        // A tool that does not exist is the concern of the gate `known`.
        let visible = context.visible.iter().any(|name| name == call.tool);
        if !call.inspection.known || visible || context.found.contains(call.tool) {
            return None;
        }
        Some(denying_opinion(
            self,
            None,
            format!(
                "The tool {} is not available in this run: its profile, its allow-list or its \
                 mode leaves it out, or it was not loaded in this run (find_tool loads it). Use \
                 one of the tools that are listed.",
                call.tool
            ),
        ))
    }
}
