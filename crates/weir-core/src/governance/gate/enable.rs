//! Asks a person before something of others is switched on, about exactly what it is now (Z9), in every
//! mode but plan, which switches nothing on. No rule and no lease covers it, and after foreign words the
//! question warns. Not here: what it may do, which the call shows.

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, Verdict, denying_opinion,
    quote_model_text,
};
use crate::profile::PermissionMode;

pub(super) struct EnableGate;

impl Gate for EnableGate {
    fn name(&self) -> GateName {
        GateName::Enable
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let enables = &call.inspection.effects.enables;
        let first = enables.first()?;
        let names: Vec<String> = enables
            .iter()
            .map(|one| format!("the {} {}", one.what, quote_model_text(&one.name)))
            .collect();
        let names = names.join(", ");
        if context.mode == PermissionMode::Plan {
            let reason = format!(
                "The mode plan changes nothing: switching on {names} is refused. The person can \
                 switch the mode, or switch it on themselves."
            );
            return Some(denying_opinion(self, Some("mode plan".into()), reason));
        }
        let hash: String = first.hash.chars().take(12).collect();
        let asked = format!(
            "A person must agree to switching on {names}, as it is now ({hash}). No rule and no lease \
             covers it."
        );
        let label = context.provenance.label;
        // Whoever is there decides (U1); where nobody is, every question is a refusal.
        let reason = match label.is_external() {
            true => format!(
                "Careful: it runs and tells the agent what its makers wrote, in later sessions too, so \
                 read what it may do. {asked} The context is {}. Words from outside may have led to it: \
                 agree only if you wanted exactly this.",
                quote_model_text(&label.to_string())
            ),
            false => asked,
        };
        Some(GateOpinion {
            gate: self.name(),
            verdict: Verdict::Ask,
            rule: None,
            reason,
            exact: true,
            bound: false,
        })
    }
}
