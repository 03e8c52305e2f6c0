//! Asks a person before the agent goes on with a profile that may do more than the present one, in
//! every mode (P7, G5). Not here: what a profile may do; the tool says it, and the session holds the
//! switch to it.

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion, denying_opinion,
    quote_model_text,
};
use crate::governance::rules::Ruling;
use crate::tool::AgentControl;

pub(super) struct SwitchGate;

impl Gate for SwitchGate {
    fn name(&self) -> GateName {
        GateName::Switch
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let Some(AgentControl::Switch { profile, widens, .. }) = &call.inspection.effects.control
        else {
            return None;
        };
        let name = quote_model_text(profile);
        match context.rules.rule_agent(profile) {
            Ruling::Deny(rule) => Some(denying_opinion(
                self,
                Some(rule.to_string()),
                format!(
                    "The rule `{rule}` forbids going on as {name}. Go on as you are; only the \
                     person can change the rule."
                ),
            )),
            Ruling::Ask(rule) => Some(asking_opinion(
                self,
                Some(rule.to_string()),
                format!("The rule `{rule}` requires approval before going on as {name}."),
            )),
            // Rules for all agents, or for everything, were not written with this one in mind.
            Ruling::Allow(rules) if rules.iter().any(|rule| rule.names_agent(profile)) => None,
            Ruling::Allow(_) | Ruling::Silent if widens.is_empty() => None,
            Ruling::Allow(_) | Ruling::Silent => Some(asking_opinion(
                self,
                None,
                format!(
                    "Going on as {name} widens what the agent may do ({}): in every mode a person \
                     must agree, or a rule allow Agent({name}).",
                    quote_model_text(&widens.join("; "))
                ),
            )),
        }
    }
}
