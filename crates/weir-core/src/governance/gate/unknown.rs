//! Asks while the outcome of an earlier call is unknown (D4): the same call again in every mode,
//! and everything that changes the world until it is settled.

use super::{CallFacts, Gate, GateContext, Opinion, ask};
use crate::governance::call_form;

pub(super) struct Unknown;

impl Gate for Unknown {
    fn name(&self) -> &'static str {
        "unknown"
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        if context.unknown.is_empty() {
            return None;
        }
        let form = call_form(call.tool, call.input);
        let rule = Some("unknown outcome".to_string());
        if context.unknown.contains(&form) {
            return Some(ask(
                self,
                rule,
                "This same call was started before and nobody knows whether it took effect. Look \
                 at the world first to find out; repeating it may do it twice.",
            ));
        }
        if call.inspection.effects.changes_world() {
            return Some(ask(
                self,
                rule,
                "An earlier call was started and nobody knows whether it took effect. Until that \
                 is settled, calls that change anything ask; look first, with calls that only \
                 read.",
            ));
        }
        None
    }
}
