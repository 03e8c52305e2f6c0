//! Asks a person before a foreign server has the session's model answer it (R3): its words are foreign, the
//! answer goes to it, and the run pays. The mode `full` and a rule that names its questions let them pass,
//! the mode `plan` refuses them. Rules that refuse or ask are the gate `rules`' matter; how many and how long
//! the questions are, the client's.

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion, denying_opinion,
    quote_model_text,
};
use crate::governance::rules::Ruling;
use crate::profile::PermissionMode;
use crate::tool::foreign;

pub(super) struct SamplingGate;

impl Gate for SamplingGate {
    fn name(&self) -> GateName {
        GateName::Sampling
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let server = call.inspection.effects.samples.as_ref()?;
        let name = quote_model_text(server);
        let rule = || Some(format!("mode {}", context.mode));
        match context.mode {
            PermissionMode::Plan => {
                let reason = format!(
                    "The mode plan only reads: that the server {name} has the model answer it is \
                     refused. The person can switch the mode."
                );
                return Some(denying_opinion(self, rule(), reason));
            }
            PermissionMode::Full => return None,
            PermissionMode::Ask | PermissionMode::AutoEdit => (),
        }
        match context.rules.rule_sampling(call.tool) {
            // What refuses or asks does so in the gate `rules`.
            Ruling::Allow(_) | Ruling::Deny(_) | Ruling::Ask(_) => None,
            Ruling::Silent => {
                let part = foreign::server_part(server);
                let reason = format!(
                    "The server {name} wants the model to answer a question of its own. The words are \
                     the server's, the answer goes to it, and the run pays for it. Mode {} requires \
                     approval; no rule allows it (`Mcp({part}:{})`).",
                    context.mode,
                    foreign::SAMPLING
                );
                Some(asking_opinion(self, rule(), reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{World, inspection};
    use crate::governance::Verdict;
    use crate::governance::rules::RuleOrigin;
    use crate::profile::PermissionMode::{self, Ask, AutoEdit, Full, Plan};
    use crate::tool::Effects;

    const ASKED: &str = "mcp__git__sampling";

    fn asks() -> Effects {
        let (samples, reads_from) = (Some("git".to_owned()), vec!["mcp:git".to_owned()]);
        Effects { samples, reads_from, ..Effects::default() }
    }

    fn verdict(mode: PermissionMode, rules: &[&str]) -> Verdict {
        let mut world = World::new(mode, rules);
        world.visible.push(ASKED.to_owned());
        world.judge(ASKED, &json!({}), &inspection(asks())).verdict
    }

    /// `(rules, mode, verdict)`
    #[test]
    fn r3_a_server_asks_the_model_with_a_persons_word_or_a_rule_that_names_it() {
        use Verdict::{Allow, Deny};
        let cases: [(&[&str], PermissionMode, Verdict); 19] = [
            (&[], Ask, Verdict::Ask),
            (&[], AutoEdit, Verdict::Ask),
            (&[], Full, Allow),
            (&[], Plan, Deny),
            (&["allow Mcp(git:sampling)"], Ask, Allow),
            (&["allow Mcp(git:sampling)"], Plan, Deny),
            (&["allow *"], Ask, Allow),
            (&["allow *"], Plan, Deny),
            // Who lets all tools of a server pass said nothing of the model.
            (&["allow Mcp(git:*)"], Ask, Verdict::Ask),
            (&["allow Mcp(git)"], AutoEdit, Verdict::Ask),
            (&["allow Mcp"], Ask, Verdict::Ask),
            (&["allow Mcp(hub:sampling)"], Ask, Verdict::Ask),
            (&["deny Mcp(git:*)"], Full, Deny),
            (&["deny Mcp(git:sampling)", "allow *"], Full, Deny),
            (&["deny Mcp(git:*)", "allow Mcp(git:sampling)"], Ask, Deny),
            (&["deny Mcp(hub:*)"], Full, Allow),
            (&["deny *"], Full, Deny),
            (&["ask Mcp(git:sampling)"], Full, Verdict::Ask),
            (&["ask Mcp(git:*)", "allow Mcp(git:sampling)"], Ask, Verdict::Ask),
        ];
        for (rules, mode, expected) in cases {
            assert_eq!(verdict(mode, rules), expected, "{mode} {rules:?}");
        }
    }

    #[test]
    fn r3_the_rule_that_is_offered_lets_the_next_question_pass() {
        let world = World::new(Ask, &[]);
        let origin = RuleOrigin::new("an approval");
        let offered = world.rules.offered_rules(ASKED, &asks(), &origin);
        let texts: Vec<&str> = offered.iter().map(|rule| rule.text()).collect();
        assert_eq!(texts, ["Mcp(git:sampling)"]);
    }

    #[test]
    fn r3_no_step_of_a_tool_asks_the_model_for_a_server() {
        let unknown = Effects { unknown: true, ..Effects::default() };
        assert_eq!(unknown.covers(&asks()), Err("ask the model for a server".to_owned()));
    }
}
