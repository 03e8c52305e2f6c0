//! Asks a person before the agent goes on with a profile that may do more than the present one, in
//! every mode (P7, G5). Not here: what a profile may do; the tool says it, and the session holds the
//! switch to it.

use super::{CallFacts, Gate, GateContext, GateName, Opinion, ask, deny, quoted};
use crate::governance::rules::Ruling;
use crate::tool::Control;

pub(super) struct Switch;

impl Gate for Switch {
    fn name(&self) -> GateName {
        GateName::Switch
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        let Some(Control::Switch { profile, widens, .. }) = &call.inspection.effects.control else {
            return None;
        };
        let name = quoted(profile);
        match context.rules.rule_agent(profile) {
            Ruling::Deny(rule) => Some(deny(
                self,
                Some(rule.to_string()),
                format!(
                    "The rule `{rule}` forbids going on as {name}. Go on as you are; only the \
                     person can change the rule."
                ),
            )),
            Ruling::Ask(rule) => Some(ask(
                self,
                Some(rule.to_string()),
                format!("The rule `{rule}` requires approval before going on as {name}."),
            )),
            // Rules for all agents, or for everything, were not written with this one in mind.
            Ruling::Allow(rules) if rules.iter().any(|rule| rule.names_agent(profile)) => None,
            Ruling::Allow(_) | Ruling::Silent if widens.is_empty() => None,
            Ruling::Allow(_) | Ruling::Silent => Some(ask(
                self,
                None,
                format!(
                    "Going on as {name} widens what the agent may do ({}): in every mode a person \
                     must agree, or a rule allow Agent({name}).",
                    quoted(&widens.join("; "))
                ),
            )),
        }
    }
}
