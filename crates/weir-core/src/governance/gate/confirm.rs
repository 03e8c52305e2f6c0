//! Asks where the tool itself wants a person to confirm these arguments.

use super::{CallFacts, Gate, GateContext, GateName, Opinion, ask};

pub(super) struct Confirm;

impl Gate for Confirm {
    fn name(&self) -> GateName {
        GateName::Confirm
    }
    fn judge(&self, call: &CallFacts<'_>, _: &GateContext<'_>) -> Option<Opinion> {
        let why = call.inspection.confirm.as_ref()?;
        Some(ask(self, Some("the tool asks for confirmation".into()), why.clone()))
    }
}
