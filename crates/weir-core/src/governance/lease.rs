//! Leases: narrow rights that an approval grants for a while (Z2): for so many calls, for so long,
//! or for the session. Shown, revocable, journaled. Not here: who is asked.

use serde::{Deserialize, Serialize};

use crate::governance::grants;
use crate::governance::rules::{Rule, RuleAction, RuleOrigin, RuleSet};
use crate::ids::Timestamp;
use crate::label::Label;
use crate::tool::{Effects, NamedGrant};

/// How far an approval for the session reaches. Nothing set: to the end of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LeaseTerms {
    /// For so many further calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// For so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
}

/// The right to answer once whoever's mail started the session: the person gave it to everybody whom the
/// rule fits that started it. Nothing but that mail may have been read by then (U5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AnswerRight {
    /// The address of the mail's sender, in lower case, as the receiving server checked it.
    pub to: String,
    /// What the mail's words are.
    pub read: Label,
    /// Who gave it, in words.
    pub by: String,
    /// The session is a copy of the one that has the right: it has none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_copy: bool,
}

impl AnswerRight {
    /// Whether a session that begins with it has it as its first lease.
    pub fn is_lease(&self) -> bool {
        self.clone().into_lease(1).is_some()
    }

    /// The lease that it is; none where no rule can name the address.
    pub(crate) fn into_lease(self, lease: u32) -> Option<LeaseGrant> {
        // In a rule it would be everybody there; as the name of an address it is somebody.
        if self.to.starts_with('*') {
            return None;
        }
        let (by, origin) = (self.by, RuleOrigin::new("the rule of a mail account"));
        let rule = Rule::parse(RuleAction::Allow, &format!("Mail({})", self.to), origin).ok()?;
        let uses_left = Some(u32::from(!self.is_copy));
        let (rules, bound) = (vec![rule], Some(self.read));
        Some(LeaseGrant { lease, rules, grant: None, uses_left, until: None, by, bound })
    }
}

/// A right that was granted and not revoked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LeaseGrant {
    /// Its number in the session: 1, 2, …
    pub lease: u32,
    /// Rules of calls that it lets pass.
    pub rules: Vec<Rule>,
    /// What it grants by name instead of rules (U13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<NamedGrant>,
    /// Calls that it still covers; `None`: any number.
    pub uses_left: Option<u32>,
    /// Until when; `None`: to the end of the session.
    pub until: Option<Timestamp>,
    /// Name of the person who granted it.
    pub by: String,
    /// What had been read when it was granted, where it lifts what is asked exactly too: as long as
    /// nothing else was (U8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Label>,
}

impl LeaseGrant {
    /// Whether the lease still covers a call at `now`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.uses_left != Some(0) && self.until.is_none_or(|until| now < until)
    }

    /// Whether it lifts what is asked exactly in a context with this label.
    fn is_bound_in(&self, label: &Label) -> bool {
        self.bound.as_ref().is_some_and(|bound| bound.contains(label))
    }

    /// Where its rules come from, as people read it: `lease 2 (3 calls left)`.
    pub fn origin(&self) -> RuleOrigin {
        let left = match self.uses_left {
            Some(1) => " (1 call left)".to_string(),
            Some(left) => format!(" ({left} calls left)"),
            None => String::new(),
        };
        let name = self.grant.as_ref().map(|grant| format!(" for {}", grant.name));
        RuleOrigin::new(format!("lease {}{}{left}", self.lease, name.unwrap_or_default()))
    }

    /// What it lets pass, in words for a person: the name of its grant, or its rules.
    pub fn covered_texts(&self) -> Vec<String> {
        let names = self.grant.iter().map(|grant| grant.name.clone());
        names.chain(self.rules.iter().map(|rule| rule.text().to_owned())).collect()
    }
}

/// A call that leases are looked at for.
#[derive(Debug, Clone, Copy)]
pub struct LeaseCall<'a> {
    /// Its tool.
    pub tool: &'a str,
    /// What it would touch.
    pub effects: &'a Effects,
}

/// `rules` with what the live `leases` allow of `call` in a context with this label, and without those
/// numbered `but`. What is granted by name becomes rules of this call alone.
#[expect(
    clippy::too_many_arguments,
    reason = "what was read, when, and for which call are three questions of one answer"
)]
pub(crate) fn with_leases(
    rules: &RuleSet,
    leases: &[LeaseGrant],
    label: &Label,
    now: Timestamp,
    but: &[u32],
    call: LeaseCall<'_>,
) -> RuleSet {
    let mut added = Vec::new();
    let live = leases.iter().filter(|lease| lease.is_live(now) && !but.contains(&lease.lease));
    for lease in live {
        let (origin, bound) = (lease.origin(), lease.is_bound_in(label));
        let lent = |rule: &Rule| rule.clone().with_origin(origin.clone()).lend(bound);
        added.extend(lease.rules.iter().map(lent));
        if let Some(grant) = &lease.grant {
            let granted = rules.granted_rules(grant, call.tool, call.effects, &origin);
            if !granted.is_empty() {
                let bound = grants::is_told_already(grant, label);
                added.extend(granted.into_iter().map(|rule| rule.lend(bound)));
            }
        }
    }
    let mut all = rules.clone();
    // What is compiled of the rules is thrown away by each that is added, and by none.
    if !added.is_empty() {
        all.extend(added);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::{RuleContext, Ruling};
    use crate::tool::{CommandEffect, HostEffect, Tier};

    #[test]
    fn u5_an_answer_goes_to_one_address_and_never_to_a_whole_domain() {
        let right = |to: &str| AnswerRight {
            to: to.into(),
            read: Label::external("mail from bob"),
            by: "a rule".into(),
            is_copy: false,
        };
        let lease = right("bob@good.example").into_lease(1).expect("an address");
        assert_eq!(
            (lease.covered_texts(), lease.uses_left),
            (vec!["Mail(bob@good.example)".into()], Some(1))
        );
        for wide in ["*", "*@good.example", "*bob@good.example", "", "good.example"] {
            assert!(right(wide).into_lease(1).is_none(), "{wide:?}");
        }
    }

    #[test]
    fn u13_a_grant_by_name_is_rules_of_the_call_that_it_covers_and_of_no_other() {
        let shown = grants::registry_grants(|name| name == "Cargo.toml");
        let effects = |command: &str| {
            let host: String = "index.crates.io".into();
            let (method, url, secret) = ("CONNECT".into(), host.clone(), None);
            let (hosts, cwd, tier) = (vec![host.clone()], ".".into(), Tier::Namespaces);
            let command = command.into();
            Effects {
                commands: vec![CommandEffect { command, cwd, tier, hosts, ..Default::default() }],
                hosts: vec![HostEffect { method, host, url, secret }],
                named_grants: shown.clone(),
                ..Effects::default()
            }
        };
        let until = Some(Timestamp(10));
        let (rules, grant) = (Vec::new(), shown.first().cloned());
        let (by, bound) = ("ada".into(), None);
        let lease = LeaseGrant { lease: 2, rules, grant, uses_left: None, until, by, bound };
        assert_eq!(lease.origin().to_string(), "lease 2 for crates.io for cargo");
        assert_eq!(lease.covered_texts(), ["crates.io for cargo"]);
        let own = RuleSet::new(RuleContext { workspace: "/work".into(), ..Default::default() });
        let passes = |command: &str, now: i64, but: &[u32]| {
            let effects = effects(command);
            let call = LeaseCall { tool: "run_shell", effects: &effects };
            let all = with_leases(
                &own,
                std::slice::from_ref(&lease),
                &Label::default(),
                Timestamp(now),
                but,
                call,
            );
            let (line, host) =
                (all.rule_command(&effects.commands[0]), all.rule_host(&effects.hosts[0]));
            matches!((line, host), (Ruling::Allow(_), Ruling::Allow(_)))
        };
        assert!(passes("cargo build", 5, &[]));
        assert!(!passes("cargo build", 10, &[]), "it is over");
        assert!(!passes("cargo build", 5, &[2]), "without it");
        assert!(!passes("curl https://index.crates.io", 5, &[]));
        // While another call is judged there is no rule for the host.
        let curl = effects("curl https://index.crates.io");
        let call = LeaseCall { tool: "run_shell", effects: &curl };
        let all = with_leases(&own, &[lease], &Label::default(), Timestamp(5), &[], call);
        assert_eq!(all.rule_host(&curl.hosts[0]), Ruling::Silent);
        assert!(all.is_empty());
    }
}
