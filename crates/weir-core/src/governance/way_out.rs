//! The ways out of a refusal (U11): what would have let a refused call pass, each tried by the same gates
//! before it is said. Pure: a way is a changed assumption, and one more judging.
//!
//! Not here: when a call counts as refused (`session/refused`), and what `weir permissions explain`
//! tries for a person who sits there. A way never leads around the hard floor, the lists of paths, the
//! promise of the mode plan, a hook, the judge model, or a question that only a person can answer. While
//! foreign words stand in the context nothing is named that a person would have to do for what they
//! asked for: no rule, no mode, no word of theirs.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::one_line;
use super::rules::{MAIL, Rule, RuleAction, RuleOrigin, RuleSet, Ruling};
use super::{
    CallFacts, GateContext, GateName, Judgement, NO_WORDS, Provenance, Verdict, judge_call,
    map_texts, trail,
};
use crate::label::{Integrity, Label, Privacy, Taint};
use crate::profile::PermissionMode;
use crate::tool::{ActKind, EffectClass, Effects, HostEffect, Inspection, SendEffect, foreign};

#[cfg(test)]
mod tests;
mod words;

pub use words::ways_text;

/// Judgings that one refusal costs at most.
const TRIALS_MAX: u32 = 8;
/// Other recipients that are tried.
const RECIPIENTS_TRIED_MAX: usize = 2;

/// What would let a refused call pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct WayOut {
    /// What is to be different.
    #[serde(flatten)]
    pub change: WayChange,
    /// It does not pass by itself then: a person is asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
}

/// What is to be different for a call to pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "way", rename_all = "snake_case")]
pub enum WayChange {
    /// The same goes to this reader instead: an address of the person's own, or one that is listed.
    Recipient {
        /// The address.
        to: String,
    },
    /// The program asks for it before it asks for what brings this, or together with that.
    Program {
        /// Origins and sources that the program knew.
        before: Vec<String>,
    },
    /// A session that has not read this.
    Session {
        /// Origins and sources that stand in the context.
        without: Vec<String>,
        /// The session can run programs: there one can ask for the call together with the reading.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        program: bool,
    },
    /// The person names these recipients in their own words.
    Endorsement {
        /// The recipients, as the call has them.
        values: Vec<String>,
    },
    /// The person allows it by these rules.
    Rule {
        /// The rules: `Shell(cargo test:*)`.
        rules: Vec<String>,
    },
    /// The person sets this permission mode.
    Mode {
        /// The mode.
        mode: PermissionMode,
    },
}

/// A call that was refused, as the gates saw it.
#[derive(Debug, Clone, Copy)]
pub struct RefusedCall<'a> {
    /// The call.
    pub facts: CallFacts<'a>,
    /// What the gates looked at, leases among the rules.
    pub context: GateContext<'a>,
    /// What they said.
    pub judgement: &'a Judgement,
    /// The rules without leases: those of a new session.
    pub own_rules: &'a RuleSet,
    /// Modes that the person could set, the narrowest first.
    pub modes: &'a [PermissionMode],
    /// Somebody can be asked.
    pub attended: bool,
    /// The session has the tool that runs programs.
    pub has_programs: bool,
    /// Of a step of a program: the label of the context in which the program was written.
    pub written_in: Option<&'a Label>,
}

/// The ways out, those that the model itself can take first. None where a gate refused it that judges
/// neither by labels nor by rules.
pub fn ways_out(refused: &RefusedCall<'_>) -> Vec<WayOut> {
    let is_open =
        |gate: &GateName| matches!(gate, GateName::Rules | GateName::Labels | GateName::Confirm);
    if refused.judgement.gates.iter().any(|opinion| !is_open(&opinion.gate)) {
        return Vec::new();
    }
    let mut trials = WayTrials { refused, left: TRIALS_MAX, found: Vec::new() };
    trials.try_other_recipients();
    // What was read must not have chosen where it goes: it could not be asked for without that.
    if reaches_where_person_said(&refused.facts.inspection.effects, &refused.context)
        && !trials.try_earlier_in_program()
    {
        trials.try_new_session();
    }
    if !refused.context.provenance.label.is_external() {
        trials.try_endorsement();
        trials.try_rules();
        trials.try_wider_modes();
    }
    trials.found
}

struct WayTrials<'a> {
    refused: &'a RefusedCall<'a>,
    left: u32,
    found: Vec<WayOut>,
}

impl WayTrials<'_> {
    /// Judges the call anew; keeps the way if it leads out. Says whether it does.
    fn try_way(
        &mut self,
        change: WayChange,
        facts: &CallFacts<'_>,
        context: &GateContext<'_>,
    ) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let verdict = judge_call(facts, context).verdict;
        // Where nobody is there, a question is a refusal again.
        let most = if self.refused.attended { Verdict::Ask } else { Verdict::Allow };
        let leads_out = verdict <= most;
        if leads_out {
            self.found.push(WayOut { change, asks: verdict == Verdict::Ask });
        }
        leads_out
    }

    fn try_other_recipients(&mut self) {
        let RefusedCall { facts, context, .. } = *self.refused;
        if !sends_to_addresses(&facts.inspection.effects) {
            return;
        }
        for to in other_recipients(&facts.inspection.effects, &context) {
            let inspection = sent_to(facts.inspection, &to);
            let input = input_sent_to(facts.input, &facts.inspection.effects, &to);
            let facts = CallFacts { inspection: &inspection, input: &input, ..facts };
            self.try_way(WayChange::Recipient { to }, &facts, &context);
        }
    }

    /// What a program had read by then decided: it could have asked sooner.
    fn try_earlier_in_program(&mut self) -> bool {
        let RefusedCall { facts, context, written_in, .. } = *self.refused;
        let Some(label) = written_in.filter(|label| **label != *context.provenance.label) else {
            return false;
        };
        let before = names_beyond(context.provenance.label, label);
        let context =
            GateContext { provenance: Provenance { label, ..context.provenance }, ..context };
        self.try_way(WayChange::Program { before }, &facts, &context)
    }

    /// The least that must not have been read.
    fn try_new_session(&mut self) {
        let RefusedCall { facts, context, own_rules, has_programs, .. } = *self.refused;
        let label = context.provenance.label;
        let program = has_programs && can_be_step(facts.inspection);
        let recent = VecDeque::new();
        let mut helped = false;
        for milder in milder_labels(label) {
            if helped && milder.taint() == Taint::Clean {
                return;
            }
            let context = GateContext {
                rules: own_rules,
                tool_calls: 0,
                consulted: 0,
                changes: 0,
                recent: &recent,
                unknown: &[],
                provenance: Provenance {
                    label: &milder,
                    history: &[],
                    approved: &NO_WORDS,
                    trail: &trail::NO_TRAIL,
                    ..context.provenance
                },
                ..context
            };
            let without = names_beyond(label, &milder);
            helped |= self.try_way(WayChange::Session { without, program }, &facts, &context);
        }
    }

    fn try_endorsement(&mut self) {
        let RefusedCall { facts, context, .. } = *self.refused;
        let values: Vec<String> = recipients(&facts.inspection.effects)
            .filter(|to| !context.provenance.is_own(to))
            .cloned()
            .collect();
        if values.is_empty() {
            return;
        }
        let mut said = context.provenance.said.to_vec();
        said.extend(values.iter().cloned());
        let provenance = Provenance { said: &said, ..context.provenance };
        let context = GateContext { provenance, ..context };
        self.try_way(WayChange::Endorsement { values }, &facts, &context);
    }

    /// The narrowest rules that there are, where a rule may speak of it.
    fn try_rules(&mut self) {
        let RefusedCall { facts, context, .. } = *self.refused;
        let Inspection { effects, confirm, .. } = facts.inspection;
        // A tool of no server may be a way to others: no rule with its name is proposed.
        if confirm.is_some() || effects.unknown && !facts.tool.starts_with(foreign::PREFIX) {
            return;
        }
        let origin = RuleOrigin::new("a way out");
        let offered = context.rules.offered_rules(facts.tool, effects, &origin);
        if offered.is_empty() {
            return;
        }
        let rules = offered.iter().map(|rule| rule.text().to_owned()).collect();
        let mut with = context.rules.clone();
        with.extend(offered);
        self.try_way(WayChange::Rule { rules }, &facts, &GateContext { rules: &with, ..context });
    }

    fn try_wider_modes(&mut self) {
        let RefusedCall { facts, context, modes, .. } = *self.refused;
        for mode in modes {
            let mode = *mode;
            let context = GateContext { mode, ..context };
            if self.try_way(WayChange::Mode { mode }, &facts, &context) {
                return;
            }
        }
    }
}

/// Whether the call could be a step of a program: one that steers the agent or starts another is none.
fn can_be_step(inspection: &Inspection) -> bool {
    let effects = &inspection.effects;
    effects.control.is_none()
        && effects.spawns.is_none()
        && inspection.class != EffectClass::Program
}

/// What of `label` is not in `milder`, by name.
fn names_beyond(label: &Label, milder: &Label) -> Vec<String> {
    let origins = label.origins.difference(&milder.origins);
    let sources = label.sources.difference(&milder.sources);
    let names: BTreeSet<&String> = origins.chain(sources).collect();
    names.into_iter().map(|name| one_line(name)).collect()
}

/// Labels of which the table may think better, the one that is clean at the end.
fn milder_labels(label: &Label) -> Vec<Label> {
    let own = Label { integrity: Integrity::Person, origins: BTreeSet::new(), ..label.clone() };
    let open = Label { privacy: Privacy::Public, sources: BTreeSet::new(), ..label.clone() };
    match label.taint() {
        Taint::Clean => Vec::new(),
        Taint::Private => vec![open],
        Taint::External => vec![own],
        Taint::Both => vec![own, open, Label::default()],
    }
}

/// Everybody whom the call names as a recipient.
fn recipients(effects: &Effects) -> impl Iterator<Item = &String> {
    let acts = effects.acts.iter().filter(|act| act.kind == ActKind::Send);
    effects.sends.iter().map(|send| &send.recipient).chain(acts.flat_map(|act| &act.to))
}

/// Whether the person wrote or listed everything outside that the call reaches, and every word that it
/// asks a server in. What a command reaches is the business of the rule for it.
fn reaches_where_person_said(effects: &Effects, context: &GateContext<'_>) -> bool {
    let GateContext { provenance, rules, .. } = context;
    let is_host_said = |host: &HostEffect| match host.method.as_str() {
        // An address can carry what was read.
        "GET" | "HEAD" => provenance.is_said(&host.url),
        _ => provenance.is_said(&host.host) || matches!(rules.rule_host(host), Ruling::Allow(_)),
    };
    let is_listed = |to: &str| {
        let mail = SendEffect { recipient: to.to_owned(), by: MAIL.into() };
        matches!(rules.rule_send(&mail), Ruling::Allow(_))
    };
    let is_recipient_said =
        |to: &String| provenance.is_own(to) || provenance.is_said(to) || is_listed(to);
    (!effects.commands.is_empty() || effects.hosts.iter().all(is_host_said))
        && recipients(effects).all(is_recipient_said)
        && effects
            .queries
            .iter()
            .flat_map(|query| &query.words)
            .all(|word| provenance.is_said(word))
}

/// Whether all that the call does is to send to addresses: then another address can stand in their place.
fn sends_to_addresses(effects: &Effects) -> bool {
    let only_sends = effects.hosts.is_empty()
        && effects.commands.is_empty()
        && effects.acts.iter().all(|act| act.kind == ActKind::Send);
    let mut all = recipients(effects).peekable();
    only_sends && all.peek().is_some() && all.all(|to| to.contains('@'))
}

fn is_mail_alone(effects: &Effects) -> bool {
    effects.acts.is_empty() && effects.sends.iter().all(|send| send.by == MAIL)
}

/// An address of the person's own, and for mail one that stands in a list.
fn other_recipients(effects: &Effects, context: &GateContext<'_>) -> Vec<String> {
    let provenance = &context.provenance;
    // Who already writes to the person alone is refused for something else.
    if recipients(effects).all(|to| provenance.is_own(to)) {
        return Vec::new();
    }
    let own = provenance.own.iter().take(1).cloned();
    let is_named = |to: &String| recipients(effects).any(|one| one.eq_ignore_ascii_case(to));
    let mut listed: Vec<String> = context.rules.iter().filter_map(listed_address).collect();
    listed.retain(|to| is_mail_alone(effects) && !is_named(to) && !provenance.is_own(to));
    own.chain(listed).take(RECIPIENTS_TRIED_MAX).collect()
}

/// The one address that a list of recipients has. A rule of a file says nothing of that list.
fn listed_address(rule: &Rule) -> Option<String> {
    if rule.action() != RuleAction::Allow || rule.origin().line.is_some() {
        return None;
    }
    let address = rule.text().strip_prefix("Mail(")?.strip_suffix(')')?;
    (address.contains('@') && !address.contains('*')).then(|| address.to_owned())
}

/// What would be found out of the call if it went to `to` alone.
fn sent_to(inspection: &Inspection, to: &str) -> Inspection {
    let mut changed = inspection.clone();
    // What the tool wants confirmed is that the recipients stand in no list; this one does.
    if is_mail_alone(&inspection.effects) {
        changed.confirm = None;
    }
    changed.effects.sends.truncate(1);
    for send in &mut changed.effects.sends {
        send.recipient = to.to_owned();
    }
    for act in &mut changed.effects.acts {
        let before = std::mem::replace(&mut act.to, vec![to.to_owned()]);
        for one in act.control.iter_mut().filter(|one| before.contains(&one.value)) {
            one.value = to.to_owned();
        }
    }
    changed
}

fn input_sent_to(input: &Value, effects: &Effects, to: &str) -> Value {
    map_texts(input, &mut |text| {
        let is_one = recipients(effects).any(|one| one.eq_ignore_ascii_case(text.trim()));
        if is_one { to } else { text }.to_owned()
    })
}
