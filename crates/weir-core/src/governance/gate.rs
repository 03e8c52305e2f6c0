//! The list of gates and how their opinions become one verdict (G3).
//!
//! Adding a gate is one file and one line in [`GATES`]. A gate looks at effects and at what the
//! session says of itself; it never looks at the world.

use std::cell::OnceCell;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::profile::LimitName;
use crate::tool::CommandEffect;

use super::shell::ReadCommand;
use super::{CallFacts, GateContext, GateName, GateOpinion, Verdict};

mod acts;
mod arguments;
mod canary;
mod confirm;
mod deletions;
mod enable;
mod floor;
mod floor_devices;
mod floor_git;
mod floor_history;
mod floor_keyring;
mod floor_keys;
mod floor_processes;
mod floor_table;
mod git_settings;
mod hooks;
mod instructing;
mod intent;
mod known;
mod labels;
mod limits;
mod own;
mod paths;
mod repetition;
mod rules;
mod sampling;
mod spawn;
mod switch;
#[cfg(test)]
mod tests;
mod unknown;
mod visible;

pub use canary::CanaryText;
pub(crate) use labels::without_lease;
pub use repetition::{is_similar, search_words};

/// Judges calls by one concern.
pub trait Gate: Sync {
    /// The word by which journals and people know it.
    fn name(&self) -> GateName;
    /// `None`: nothing against it. Never panics; what it cannot decide it denies.
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion>;
}

/// A call before all gates: its facts, and what several gates make of them. That is made when the first of them
/// asks, and kept for the others.
#[derive(Debug)]
pub struct JudgedCall<'a> {
    facts: CallFacts<'a>,
    commands: OnceCell<Vec<ReadCommand>>,
}

impl<'a> JudgedCall<'a> {
    /// A call that no gate has looked at yet.
    pub fn of_facts(facts: CallFacts<'a>) -> JudgedCall<'a> {
        JudgedCall { facts, commands: OnceCell::new() }
    }

    /// The commands of the call, each with its line taken apart.
    fn read_commands(&self) -> impl Iterator<Item = (&'a CommandEffect, &ReadCommand)> {
        let effects = &self.facts.inspection.effects.commands;
        let read = |command: &CommandEffect| ReadCommand::from_text(&command.command);
        let commands = self.commands.get_or_init(|| effects.iter().map(read).collect());
        effects.iter().zip(commands)
    }
}

impl<'a> Deref for JudgedCall<'a> {
    type Target = CallFacts<'a>;

    fn deref(&self) -> &CallFacts<'a> {
        &self.facts
    }
}

/// All gates. Order changes wording, never safety: the strictest verdict wins.
pub const GATES: &[&dyn Gate] = &[
    // First: its denial stops the run, so no other gate's may stand before it.
    &canary::CanaryGate,
    &known::KnownGate,
    &visible::VisibleGate,
    &arguments::ArgumentsGate,
    &paths::PathsGate,
    &floor::FloorGate,
    &repetition::RepetitionGate,
    &limits::LimitsGate,
    &rules::RulesGate,
    &switch::SwitchGate,
    &spawn::SpawnGate,
    &enable::EnableGate,
    &sampling::SamplingGate,
    &labels::LabelsGate,
    &unknown::UnknownGate,
    &hooks::HooksGate,
    &own::OwnGatesGate,
    &intent::IntentGate,
    &confirm::ConfirmGate,
];

/// What all gates together say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The strictest verdict.
    pub verdict: Verdict,
    /// The gate that gave it, as [`Judgement::from_opinions`] chooses; absent when all allow.
    pub gate: Option<GateName>,
    /// Rule of that gate's opinion, with the place where the rule stands.
    pub rule: Option<String>,
    /// Reason of that gate's opinion, a sentence for person and model.
    pub reason: Option<String>,
    /// Every gate that did not plainly allow.
    pub gates: Vec<GateOpinion>,
}

/// Lets every gate judge; all of them, always.
///
/// ```
/// use std::collections::VecDeque;
///
/// use serde_json::json;
/// use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
/// use weir_core::governance::{
///     CallFacts, GateContext, GateName, NOTHING_FOUND, Provenance, Verdict, judge_call,
/// };
/// use weir_core::ids::CallId;
/// use weir_core::profile::{Limits, PermissionMode};
/// use weir_core::tool::{CommandEffect, EffectClass, Effects, Inspection};
///
/// let mut rules = RuleSet::new(RuleContext { workspace: "/work".into(), ..RuleContext::default() });
/// let origin = RuleOrigin::new("example");
/// rules.add(rules.parse_rule(RuleAction::Deny, "Shell(git push:*)", origin).expect("a rule"));
///
/// let judge = |line: &str| {
///     let command = CommandEffect { command: line.into(), cwd: ".".into(), ..Default::default() };
///     let inspection = Inspection {
///         known: true,
///         nearest: None,
///         invalid: None,
///         fails: None,
///         withheld: None,
///         effects: Effects { commands: vec![command], ..Effects::default() },
///         class: EffectClass::Process,
///         summary: format!("Run {line}"),
///         diff: None,
///         confirm: None,
///         hooks: Vec::new(),
///         own: Vec::new(),
///         judged: None,
///         judge_use: None,
///     };
///     let input = json!({ "command": line });
///     let tool = "execute_command";
///     let call = CallFacts { call: CallId(1), tool, input: &input, broken: None, inspection: &inspection };
///     let context = GateContext {
///         visible: &[tool.to_owned()],
///         found: &NOTHING_FOUND,
///         mode: PermissionMode::Ask,
///         rules: &rules,
///         limits: &Limits::default(),
///         tool_calls: 0,
///         consulted: 0,
///         changes: 0,
///         recent: &VecDeque::new(),
///         unknown: &[],
///         provenance: Provenance::for_empty_session(),
///     };
///     judge_call(&call, &context)
/// };
///
/// let refused = judge("git push origin main");
/// assert_eq!((refused.verdict, refused.gate), (Verdict::Deny, Some(GateName::Rules)));
/// assert_eq!(judge("cargo build").verdict, Verdict::Ask);
/// ```
pub fn judge_call(call: &CallFacts<'_>, context: &GateContext<'_>) -> Judgement {
    Judgement::from_opinions(
        judge_each(call, context).into_iter().filter_map(|(_, opinion)| opinion),
    )
}

/// What each gate says, in the order of [`GATES`]; `None` where it has nothing against the call.
pub fn judge_each(
    call: &CallFacts<'_>,
    context: &GateContext<'_>,
) -> Vec<(GateName, Option<GateOpinion>)> {
    let call = JudgedCall::of_facts(*call);
    GATES.iter().map(|gate| (gate.name(), gate.judge(&call, context))).collect()
}

impl Judgement {
    /// What these opinions come to: the strictest wins. Of equals the one is named that no rule lifts,
    /// since its words are what a person must read; else the first.
    pub fn from_opinions(opinions: impl IntoIterator<Item = GateOpinion>) -> Judgement {
        let gates: Vec<GateOpinion> = opinions.into_iter().collect();
        let verdict = gates.iter().map(|o| o.verdict).max().unwrap_or(Verdict::Allow);
        let equals = || gates.iter().filter(|o| o.verdict == verdict);
        let deciding = equals().find(|o| o.exact).or_else(|| equals().next());
        Judgement {
            verdict,
            gate: deciding.map(|o| o.gate.clone()),
            rule: deciding.and_then(|o| o.rule.clone()),
            reason: deciding.map(|o| o.reason.clone()),
            gates,
        }
    }
}

/// Whether `gate` refused a call by `rule` because the run has made all the calls that it may.
pub(crate) fn is_out_of_calls(gate: Option<&GateName>, rule: Option<&str>) -> bool {
    gate == Some(&GateName::Limits)
        && rule.and_then(limits::limit_of_rule) == Some(LimitName::MaxToolCalls)
}

/// The hard floor as people read it: name, verdict, why, what it stops, what it lets be.
pub fn floor_text() -> String {
    let mut out = String::new();
    for row in floor_table::FLOOR {
        let verdict = if row.verdict == Verdict::Deny { "deny" } else { "ask" };
        out.push_str(&format!("{verdict:<5} {}: {}\n", row.name, row.why));
        for example in row.examples {
            out.push_str(&format!("        yes  {}\n", example.escape_debug()));
        }
        for example in row.harmless {
            out.push_str(&format!("        no   {}\n", example.escape_debug()));
        }
    }
    out
}

/// A refusal by `gate`.
fn denying_opinion(
    gate: &dyn Gate,
    rule: Option<String>,
    reason: impl Into<String>,
) -> GateOpinion {
    GateOpinion {
        gate: gate.name(),
        verdict: Verdict::Deny,
        rule,
        reason: reason.into(),
        exact: false,
        bound: false,
    }
}

/// A question of `gate`.
fn asking_opinion(gate: &dyn Gate, rule: Option<String>, reason: impl Into<String>) -> GateOpinion {
    GateOpinion {
        gate: gate.name(),
        verdict: Verdict::Ask,
        rule,
        reason: reason.into(),
        exact: false,
        bound: false,
    }
}

/// Text of a model in a sentence: one line, cut, control characters shown.
fn quote_model_text(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    // Most texts stand as they are.
    let stands = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'"' | b'\\');
    if text.len() <= CHARS_MAX && text.bytes().all(stands) {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        out.push('…');
    }
    out
}
