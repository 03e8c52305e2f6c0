//! What the gate may look at of a session: the same for a call that is made and for one that
//! `weir permissions explain` only asks about. Not here: any verdict.

use crate::governance::lease::{LeaseCall, with_leases};
use crate::governance::rules::RuleSet;
use crate::governance::trail::LinkTrail;
use crate::governance::{GateContext, Provenance};
use crate::ids::Timestamp;

use super::{CallState, Session};

impl Session {
    /// The session as gates see it, judged by `rules`; `None` before it was opened.
    pub fn gate_context<'a>(&'a self, rules: &'a RuleSet) -> Option<GateContext<'a>> {
        let config = self.config.as_deref()?;
        Some(GateContext {
            visible: &self.visible,
            found: &self.found,
            mode: config.guards.effective_mode(config.permission),
            rules,
            limits: &config.limits,
            tool_calls: self.run.as_ref().map_or(0, |run| run.tool_calls),
            consulted: self.run.as_ref().map_or(0, |run| run.consulted),
            recent: &self.recent,
            changes: self.changes,
            unknown: &self.unknown,
            provenance: Provenance {
                history: &self.history,
                members: self.handles.members(),
                approved: &self.approved,
                own: &config.own_addresses,
                canary: config.guards.canary.as_deref(),
                canaries_before: &config.guards.canaries_before,
                validates: config.guards.validate_output,
                ..self.link_provenance()
            },
        })
    }

    /// The same, as `call` is judged by it.
    pub(super) fn gate_context_of_call<'a>(
        &'a self,
        rules: &'a RuleSet,
        call: &'a CallState,
    ) -> Option<GateContext<'a>> {
        let mut context = self.gate_context(rules)?;
        context.provenance.label = self.label_of_call(call);
        Some(context)
    }

    /// What of the session says which addresses are links (K10).
    pub(super) fn link_provenance(&self) -> Provenance<'_> {
        Provenance {
            label: self.turn_label(),
            said: &self.said,
            trail: &self.trail,
            ..Provenance::for_empty_session()
        }
    }

    /// The links that it was led to, and what following them has told.
    pub fn link_trail(&self) -> &LinkTrail {
        &self.trail
    }

    /// `rules` with what the session's leases allow of `call` at `now`.
    pub fn rules_with_leases(
        &self,
        rules: &RuleSet,
        now: Timestamp,
        call: LeaseCall<'_>,
    ) -> RuleSet {
        with_leases(rules, &self.leases, self.turn_label(), now, &[], call)
    }
}
