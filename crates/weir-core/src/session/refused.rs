//! The ways out of what a session refuses (U11): whether a call is refused at once, and what the ways are
//! tried with. Not here: the ways (`governance::way_out`), and a person's no, of which none is sought.

use crate::governance::way_out::{RefusedCall, WayOut, ways_out};
use crate::governance::{CallFacts, GateContext, Judgement, Verdict};
use crate::profile::PermissionMode;
use crate::tool::built_in::PROGRAM_RUNNER;

use super::Session;

impl Session {
    /// What would have let the call pass, where it is refused: it is denied, or it asks and nobody is
    /// there.
    pub(super) fn ways_of_call(
        &self,
        facts: &CallFacts<'_>,
        context: &GateContext<'_>,
        judgement: &Judgement,
    ) -> Vec<WayOut> {
        let (Some(config), Some(call)) = (&self.config, self.find_call(facts.call)) else {
            return Vec::new();
        };
        let is_refused = match judgement.verdict {
            Verdict::Allow => false,
            Verdict::Ask => !config.attended,
            Verdict::Deny => true,
        };
        // A step that steers is refused whatever the gates say.
        if !is_refused || self.step_refusal(call.id, facts.inspection).is_some() {
            return Vec::new();
        }
        let has_programs = config.all_tools().any(|tool| tool.name == PROGRAM_RUNNER);
        ways_out(&RefusedCall {
            facts: *facts,
            context: *context,
            judgement,
            own_rules: &config.rules,
            modes: &self.wider_modes(context.mode),
            attended: config.attended,
            has_programs,
            written_in: call.step.is_some().then(|| self.turn_label()),
        })
    }

    /// The modes that a person could set instead. Plan is a promise, and no way leads out of it.
    fn wider_modes(&self, mode: PermissionMode) -> Vec<PermissionMode> {
        let is_fixed = self.config.as_ref().is_none_or(|config| config.guards.unconfirmed);
        if is_fixed || mode == PermissionMode::Plan {
            return Vec::new();
        }
        PermissionMode::ALL.into_iter().skip_while(|one| *one != mode).skip(1).collect()
    }
}
