//! What a tool is declared to do at its server, as the flow table sees it (U2, U5): whose address it
//! goes to, and whether a lease of the person speaks of it. Not here: the table, and modes.

use super::labels::{BoundLease, EffectFlow};
use super::quote_model_text;
use crate::governance::Provenance;
use crate::governance::flow::Sink;
use crate::governance::rules::{RuleSet, Ruling, can_offer_act};
use crate::tool::{ActEffect, ActKind};

/// Whether the person's word about a tool as a whole speaks of the act. Lent for a while, it was given to
/// a call that changed what is theirs, and covers nothing else.
pub(super) fn covers_act(of_tool: &Ruling<'_>, act: &ActEffect) -> bool {
    let Ruling::Allow(by) = of_tool else { return false };
    act.kind == ActKind::Own || by.iter().any(|rule| !rule.is_lent())
}

/// The place of an act in the flow table. `of_tool`: what rules say of the tool as a whole.
pub(super) fn of_act(
    tool: &str,
    act: &ActEffect,
    of_tool: &Ruling<'_>,
    rules: &RuleSet,
    provenance: &Provenance<'_>,
) -> EffectFlow {
    let ruling = rules.rule_act(tool, act);
    let sink = match act.kind {
        ActKind::Own => Sink::ChangeOwn,
        ActKind::Send if provenance.sends_to_self(act) => Sink::SendOwn,
        ActKind::Send if provenance.names_recipients(act) => Sink::SendNamed,
        ActKind::Send => Sink::SendOther,
        ActKind::Destroy => Sink::Destroy,
        ActKind::Identity => Sink::ChangeIdentity,
        ActKind::Commit => Sink::Commit,
    };
    let bound = match (&ruling, can_offer_act(tool, act)) {
        (_, false) => BoundLease::Never,
        (Ruling::Allow(by), true) if by.iter().any(|rule| rule.is_bound()) => BoundLease::Held,
        (_, true) => BoundLease::Possible,
    };
    let covered = covers_act(of_tool, act) || matches!(ruling, Ruling::Allow(_));
    EffectFlow { sink, what: quote_model_text(&act.describe_act()), covered, bound }
}

impl Provenance<'_> {
    /// Whether this is an address of the person's own. Letters beyond ASCII are compared as they are: some
    /// become a plain one in another case, and are another address.
    pub(crate) fn is_own(&self, recipient: &str) -> bool {
        self.own.contains(&recipient.trim_matches(' ').to_ascii_lowercase())
    }

    /// Whether everybody whom the act reaches is the person. What reaches nobody that can be named does
    /// not.
    pub(super) fn sends_to_self(&self, act: &ActEffect) -> bool {
        !act.to.is_empty() && act.to.iter().all(|to| self.is_own(to))
    }

    /// Whether the person named everybody whom the act reaches, or agreed to all of it together.
    fn names_recipients(&self, act: &ActEffect) -> bool {
        // What a service says is a member of its own is no invention of anybody's there (U3).
        let members = self.members.get(&act.server);
        let is_member = |to: &String| members.is_some_and(|members| members.contains(to));
        let is_named = |to: &String| self.is_own(to) || self.is_named(to) || is_member(to);
        !act.to.is_empty()
            && (self.approved.contains(&act.place_text()) || act.to.iter().all(is_named))
    }
}
