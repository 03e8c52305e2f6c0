//! What a judge model thinks of the call (G3, optional). The engine asked it beforehand, its answer
//! stands in the inspection. No usable answer is a no.

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion};
use crate::tool::JudgeOpinion;

pub(super) struct IntentGate;

impl Gate for IntentGate {
    fn name(&self) -> GateName {
        GateName::Intent
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        if !context.provenance.validates || !needs_judge(call) {
            return None;
        }
        let rule = Some("security.validate_output".to_string());
        match &call.inspection.judged {
            Some(JudgeOpinion::Fits) => None,
            Some(JudgeOpinion::Unfit { reason }) => Some(denying_opinion(
                self,
                rule,
                format!(
                    "A judge model finds that this does not fit what the person asked for: \
                     {reason}. Do what was asked, or ask the person."
                ),
            )),
            Some(JudgeOpinion::Silent { reason }) => Some(denying_opinion(
                self,
                rule,
                format!("Each action must be confirmed by a judge model, and {reason}."),
            )),
            None => Some(denying_opinion(
                self,
                rule,
                "Each action must be confirmed by a judge model, and none was asked.",
            )),
        }
    }
}

/// Whether the judge has to agree: to everything that changes something or leaves the machine, as
/// far as the call can run at all.
fn needs_judge(call: &JudgedCall<'_>) -> bool {
    let inspection = call.inspection;
    let runs = inspection.known && inspection.invalid.is_none() && call.broken.is_none();
    runs && (inspection.effects.changes_world() || !inspection.effects.hosts.is_empty())
}
