//! Refuses arguments that are not JSON or do not fit the tool's schema.

use super::{CallFacts, Gate, GateContext, GateName, Opinion, deny};

pub(super) struct Arguments;

impl Gate for Arguments {
    fn name(&self) -> GateName {
        GateName::Arguments
    }
    fn judge(&self, call: &CallFacts<'_>, _: &GateContext<'_>) -> Option<Opinion> {
        if let Some(message) = call.broken {
            return Some(deny(
                self,
                None,
                format!(
                    "{} was not run. {message} Send the call again with one complete JSON object.",
                    super::quoted(call.tool)
                ),
            ));
        }
        let wrong = call.inspection.invalid.as_ref()?;
        Some(deny(
            self,
            None,
            format!(
                "The arguments do not fit the tool's schema: {wrong}. Correct them and call again."
            ),
        ))
    }
}
