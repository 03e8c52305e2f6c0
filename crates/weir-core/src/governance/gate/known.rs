//! Refuses tools that do not exist, and names the nearest one that does.

use super::{CallFacts, Gate, GateContext, GateName, Opinion, deny, quoted};

pub(super) struct Known;

impl Gate for Known {
    fn name(&self) -> GateName {
        GateName::Known
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        if call.inspection.known {
            return None;
        }
        let tool = quoted(call.tool);
        let hint = match &call.inspection.nearest {
            Some(nearest) => format!("Did you mean {nearest}?"),
            None if context.visible.is_empty() => "This run has no tools.".to_string(),
            None => format!("The tools of this run are: {}.", context.visible.join(", ")),
        };
        Some(deny(self, None, format!("There is no tool named \"{tool}\". {hint}")))
    }
}
