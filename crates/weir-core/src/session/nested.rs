//! Calls that a tool makes by other tools: judged by every gate, and never more than what its own
//! call was judged for (G1). Not here: who makes them.

use std::collections::BTreeSet;

use crate::governance::trail::NO_TRAIL;
use crate::governance::{
    CallFacts, GateContext, Judgement, Permit, Provenance, Verdict, judge_each,
};
use crate::label::Label;

use super::Session;

/// Why a step was not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDenial {
    /// A sentence for the tool that wanted it.
    pub reason: String,
    /// A person could have allowed it, and was not asked.
    pub needs_person: bool,
}

impl From<String> for StepDenial {
    fn from(reason: String) -> StepDenial {
        StepDenial { reason, needs_person: false }
    }
}

impl From<&str> for StepDenial {
    fn from(reason: &str) -> StepDenial {
        StepDenial::from(reason.to_owned())
    }
}

impl Session {
    /// The right to one `step` of a call that runs, whose effects must lie within those of `outer`,
    /// the permit of that call. What a person was not asked about stays unasked: where a gate would ask, the
    /// person must have confirmed the outer call; where it would ask about exactly this, they must
    /// have been shown exactly this. `so_far` is what the steps before gave: it is in the hands of
    /// whoever makes this one, so it counts as read (Z1).
    ///
    /// # Errors
    /// Why not.
    pub fn nested_permit(
        &self,
        outer: &Permit,
        step: &CallFacts<'_>,
        so_far: &Label,
    ) -> Result<Permit, StepDenial> {
        let CallFacts { tool, input, inspection, .. } = *step;
        let call = self.find_call(outer.call()).filter(|call| call.is_running());
        let call = call.ok_or("the call that wanted this has ended")?;
        let config = self.config.as_ref().ok_or("the session has no settings")?;
        if inspection.effects.control.is_some() {
            return Err(format!("{tool} steers the agent, which only the model may do").into());
        }
        if inspection.effects.spawns.is_some() {
            return Err(format!("{tool} starts another agent, which only the model may do").into());
        }
        outer.effects().covers(&inspection.effects).map_err(|what| {
            format!(
                "{} was not allowed to {what}: its declared effects do not say so",
                outer.tool()
            )
        })?;
        let found: BTreeSet<String> =
            config.deferred.iter().map(|tool| tool.name.clone()).collect();
        let context = self.gate_context(&config.rules).ok_or("the session has no settings")?;
        let label = context.provenance.label.clone().joined_with(so_far);
        // Only what is journaled as judged is counted, so a step follows no link (K10).
        let provenance = Provenance { label: &label, trail: &NO_TRAIL, ..context.provenance };
        let context = GateContext { found: &found, provenance, ..context };
        let opinions = judge_each(step, &context).into_iter();
        let opinions = opinions.filter(|(gate, _)| !gate.counts_calls());
        let judgement = Judgement::from_opinions(opinions.filter_map(|(_, opinion)| opinion));
        let why = || judgement.reason.clone().unwrap_or_default();
        let unasked = |reason| Err(StepDenial { reason, needs_person: true });
        match judgement.verdict {
            Verdict::Deny => return Err(format!("{tool} was denied: {}", why()).into()),
            Verdict::Ask if !call.is_confirmed() => {
                return unasked(format!("{tool} would need a person's approval: {}", why()));
            }
            Verdict::Ask if judgement.gates.iter().any(|opinion| opinion.exact) => {
                let (shown, wanted) = (outer.effects(), &inspection.effects);
                if !wanted.hosts.iter().all(|host| shown.hosts.contains(host)) {
                    return unasked(format!(
                        "{tool} needs a person's word about exactly this, and they were not shown \
                         it: {}",
                        why()
                    ));
                }
            }
            Verdict::Allow | Verdict::Ask => (),
        }
        Ok(Permit::mint(self.id.clone(), outer.call(), tool.into(), input.clone(), inspection))
    }
}
