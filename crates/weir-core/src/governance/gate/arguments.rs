//! Refuses arguments that are not JSON or do not fit the tool's schema.

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion};

pub(super) struct ArgumentsGate;

impl Gate for ArgumentsGate {
    fn name(&self) -> GateName {
        GateName::Arguments
    }
    fn judge(&self, call: &JudgedCall<'_>, _: &GateContext<'_>) -> Option<GateOpinion> {
        if let Some(message) = call.broken {
            return Some(denying_opinion(
                self,
                None,
                format!(
                    "{} was not run. {message} Send the call again with one complete JSON object.",
                    super::quote_model_text(call.tool)
                ),
            ));
        }
        let wrong = call.inspection.invalid.as_ref()?;
        Some(denying_opinion(
            self,
            None,
            format!(
                "The arguments do not fit the tool's schema: {wrong}. Correct them and call again."
            ),
        ))
    }
}
