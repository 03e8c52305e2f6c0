//! Refuses calls beyond the run's number of tool calls (L4).

use super::{CallFacts, Gate, GateContext, Opinion, deny};

pub(super) struct LimitsGate;

impl Gate for LimitsGate {
    fn name(&self) -> &'static str {
        "limits"
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        let max = context.limits.max_tool_calls?;
        // Ending the run is the one thing left to do.
        let ends =
            matches!(call.inspection.effects.control, Some(crate::tool::Control::Complete { .. }));
        if context.tool_calls < max || ends {
            return None;
        }
        Some(deny(
            self,
            Some(format!("max_tool_calls = {max}")),
            format!(
                "This run has used all of its {max} tool calls. Answer now with what you have, and \
                 say what is left to do."
            ),
        ))
    }
}
