//! Calls that a tool makes by other tools: judged by every gate, and never more than what its own
//! call was judged for (G1). Not here: who makes them.

use std::collections::BTreeSet;

use crate::event::{CallFinished, Denial, NOBODY};
use crate::governance::plain_content::arguments_without;
use crate::governance::trail::NO_TRAIL;
use crate::governance::{
    CallFacts, GateContext, Judgement, Permit, Provenance, Verdict, judge_each,
};
use crate::label::Label;

use super::Session;

/// Why a step of a call was not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDenial {
    /// A sentence for the tool that wanted it.
    pub reason: String,
    /// Why a person would have been asked, where one could have let it pass and nobody can be asked
    /// in this run.
    pub unapproved: Option<String>,
}

impl From<String> for StepDenial {
    fn from(reason: String) -> StepDenial {
        StepDenial { reason, unapproved: None }
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
    /// Why not, and whether a person was missed for it.
    pub fn nested_permit(
        &self,
        outer: &Permit,
        step: &CallFacts<'_>,
        so_far: &Label,
    ) -> Result<Permit, StepDenial> {
        let CallFacts { tool, input, inspection, .. } = *step;
        let no_settings = "the session has no settings";
        let call = self.find_call(outer.call()).filter(|call| call.is_running());
        let call = call.ok_or("the call that wanted this has ended")?;
        let config = self.config.as_ref().ok_or(no_settings)?;
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
        let context = self.gate_context_of_call(&config.rules, call).ok_or(no_settings)?;
        // What it makes of words that it was given is in nobody's hands but its own.
        let given = call.carried_label().joined_with(so_far);
        let label = context.provenance.label.clone().joined_with(&given);
        // Only what is journaled as judged is counted, so a step follows no link (K10).
        let provenance = Provenance { label: &label, trail: &NO_TRAIL, ..context.provenance };
        let context = GateContext { found: &found, provenance, ..context };
        let opinions = judge_each(step, &context).into_iter();
        let opinions = opinions.filter(|(gate, _)| !gate.counts_calls());
        let judgement = Judgement::from_opinions(opinions.filter_map(|(_, opinion)| opinion));
        let why = || judgement.reason.clone().unwrap_or_default();
        // The answer to a question that nobody can be asked is no (C2).
        let unasked =
            |reason: String| StepDenial { reason, unapproved: (!config.attended).then(why) };
        match judgement.verdict {
            Verdict::Deny => return Err(format!("{tool} was denied: {}", why()).into()),
            Verdict::Ask if !call.is_confirmed() => {
                let nobody = if config.attended { "" } else { ", and nobody can be asked" };
                let reason = format!("{tool} would need a person's approval{nobody}: {}", why());
                return Err(unasked(reason));
            }
            Verdict::Ask
                if !inspection.effects.acts.is_empty()
                    || judgement.gates.iter().any(|opinion| opinion.exact) =>
            {
                // Who agreed to what nobody can say in advance was shown no act, host, recipient or
                // question.
                let (shown, wanted) = (outer.effects(), &inspection.effects);
                let was_shown = wanted.hosts.iter().all(|host| shown.hosts.contains(host))
                    && wanted.queries.iter().all(|query| shown.queries.contains(query))
                    && wanted.sends.iter().all(|send| shown.sends.contains(send))
                    && wanted.acts.iter().all(|act| shown.acts.contains(act));
                if !was_shown {
                    return Err(unasked(format!(
                        "{tool} needs a person's word about exactly this, and they were not shown \
                         it: {}",
                        why()
                    )));
                }
            }
            Verdict::Allow | Verdict::Ask => (),
        }
        let taken = context.provenance.taken_out_of(input, &inspection.effects);
        let input = match taken.is_empty() {
            true => input.clone(),
            false => arguments_without(input, &inspection.effects, context.provenance.said),
        };
        Ok(Permit::mint(self.id.clone(), outer.call(), tool.into(), input, inspection))
    }

    /// A step of the finished call `f` needed a person, and nobody could be asked: as with a call of
    /// its own, that decides how the run ends (C2).
    pub(super) fn miss_person_for_step(&mut self, f: &CallFinished, tool: &str, reason: &str) {
        let Some(run) = &mut self.run else { return };
        run.unanswered = true;
        run.denials.push(Denial {
            call: f.call,
            tool: tool.into(),
            summary: format!("A step of {}", f.tool),
            by: NOBODY.into(),
            reason: reason.into(),
        });
    }
}
