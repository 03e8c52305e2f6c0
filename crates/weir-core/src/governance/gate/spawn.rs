//! What `Agent(NAME)` rules say about starting a sub-agent (M6, C3). Without one it passes in every
//! mode: a sub-agent has no more authority than the agent that starts it, and each of its calls is
//! judged on its own. Not here: that authority (`session::child`), how deep agents may stand (the
//! tool is not there any more: gate `visible`).

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, asking_opinion, denying_opinion,
    quote_model_text,
};
use crate::governance::rules::Ruling;

pub(super) struct SpawnGate;

impl Gate for SpawnGate {
    fn name(&self) -> GateName {
        GateName::Spawn
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let spawn = call.inspection.effects.spawns.as_ref()?;
        let name = quote_model_text(&spawn.profile);
        match context.rules.rule_agent(&spawn.profile) {
            Ruling::Deny(rule) => Some(denying_opinion(
                self,
                Some(rule.to_string()),
                format!(
                    "The rule `{rule}` forbids starting {name}. Do the task yourself or with \
                     another agent; only the person can change the rule."
                ),
            )),
            Ruling::Ask(rule) => Some(asking_opinion(
                self,
                Some(rule.to_string()),
                format!("The rule `{rule}` requires approval before starting {name}."),
            )),
            Ruling::Allow(_) | Ruling::Silent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{World, inspection};
    use crate::governance::Verdict;
    use crate::profile::PermissionMode;
    use crate::tool::{Effects, SpawnEffect};

    /// `(rules, verdict)` for starting the agent `code`, in every mode.
    #[test]
    fn m6_only_rules_stand_in_the_way_of_starting_an_agent() {
        let cases: [(&[&str], Verdict); 11] = [
            (&[], Verdict::Allow),
            (&["deny Agent(code)"], Verdict::Deny),
            (&["deny Agent"], Verdict::Deny),
            (&["deny Agent(*)", "allow Agent(code)"], Verdict::Deny),
            (&["deny Agent(other)"], Verdict::Allow),
            (&["ask Agent(code)", "allow Agent(code)"], Verdict::Ask),
            (&["ask Agent(other)"], Verdict::Allow),
            (&["allow Agent(code)"], Verdict::Allow),
            (&["deny tool"], Verdict::Deny),
            (&["deny *"], Verdict::Deny),
            (&["ask *"], Verdict::Ask),
        ];
        for mode in PermissionMode::ALL {
            for (rules, verdict) in cases {
                let profile = "code".to_string();
                let spawns = Some(SpawnEffect { profile, writes: true, worktree: false });
                let effects = Effects { spawns, ..Effects::default() };
                let world = World::new(mode, rules);
                let judgement = world.judge("tool", &json!({}), &inspection(effects));
                assert_eq!(judgement.verdict, verdict, "{mode} {rules:?}: {judgement:?}");
            }
        }
    }
}
