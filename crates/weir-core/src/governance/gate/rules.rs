//! The rules of people and, where they are silent, the permission mode (C3).

use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, Verdict, acts, quote_model_text,
};
use crate::governance::rules::{EffectPresence, Rule, RuleSet, Ruling};
use crate::governance::shell::{self, ReadCommand};
use crate::profile::PermissionMode;
use crate::tool::{
    ActEffect, ActKind, CommandEffect, HostEffect, PathAccess, PathEffect, PathPlace, QueryEffect,
    SendEffect,
};

pub(super) struct RulesGate;

impl Gate for RulesGate {
    fn name(&self) -> GateName {
        GateName::Rules
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let effects = &call.inspection.effects;
        let items = effect_items(call);
        let nothing = items.is_empty() && effects.spawns.is_none() && effects.samples.is_none();
        let touches = if nothing { EffectPresence::Nothing } else { EffectPresence::Something };
        let tool = context.rules.rule_tool(call.tool, touches);
        let what = || format!("calls of {}", call.tool);
        let mut strictest = None;
        let untold = !effects.unknown && effects.acts.is_empty() && effects.queries.is_empty();
        let undeclared = context.rules.rule_undeclared(call.tool);
        for ruling in [Some(&tool), untold.then_some(&undeclared)].into_iter().flatten() {
            match ruling {
                Ruling::Deny(rule) => return Some(self.by_rule(Verdict::Deny, rule, &what())),
                Ruling::Ask(rule) => {
                    keep_stricter(&mut strictest, Some(self.by_rule(Verdict::Ask, rule, &what())));
                }
                Ruling::Allow(_) | Ruling::Silent => (),
            }
        }
        for query in &effects.queries {
            keep_stricter(&mut strictest, self.judge_query(call.tool, query, context.rules));
        }
        for item in items {
            let allowed = match &item {
                EffectItem::Act(_, act) => acts::covers_act(&tool, act),
                _ => matches!(tool, Ruling::Allow(_)),
            };
            // It reads what a page or a search led to, and tells next to nothing (K10).
            let free =
                follows_freely(call.tool, &item, context) || stays_with_person(&item, context);
            keep_stricter(&mut strictest, self.judge_item(&item, allowed || free, context));
        }
        strictest
    }
}

/// Keeps the stricter of two opinions; of equals the first.
fn keep_stricter(kept: &mut Option<GateOpinion>, found: Option<GateOpinion>) {
    let verdict = |opinion: &Option<GateOpinion>| opinion.as_ref().map(|one| one.verdict);
    if verdict(&found) > verdict(kept) {
        *kept = found;
    }
}

/// One effect, as the table of modes sees it.
#[derive(Debug, Clone, Copy)]
enum EffectItem<'a> {
    Path(&'a PathEffect),
    /// A change that no path effect announced.
    Change(&'a str),
    /// A command, and its line taken apart.
    Command(&'a CommandEffect, &'a ReadCommand),
    /// A request, and whether it only reads.
    Host(&'a HostEffect, RequestUse),
    Send(&'a SendEffect),
    /// What a tool is declared to do at its server.
    Act(&'a str, &'a ActEffect),
    /// A tool of which nobody knows what it does.
    Unknown(&'a str),
}

fn effect_items<'a>(call: &'a JudgedCall<'_>) -> Vec<EffectItem<'a>> {
    let (tool, effects) = (call.tool, &call.inspection.effects);
    let mut items: Vec<EffectItem<'_>> = effects.paths.iter().map(EffectItem::Path).collect();
    let changes = effects.unannounced_changes().into_iter();
    items.extend(changes.map(|change| EffectItem::Change(&change.path)));
    items.extend(call.read_commands().map(|(command, read)| EffectItem::Command(command, read)));
    items.extend(effects.hosts.iter().map(|host| {
        let reads = if effects.only_reads(host) { RequestUse::Read } else { RequestUse::Send };
        EffectItem::Host(host, reads)
    }));
    items.extend(effects.sends.iter().map(EffectItem::Send));
    items.extend(effects.acts.iter().map(|act| EffectItem::Act(tool, act)));
    if effects.unknown {
        items.push(EffectItem::Unknown(tool));
    }
    items
}

impl EffectItem<'_> {
    /// Why it could run something that stands nowhere in it, if so.
    fn opaque_reason(&self) -> Option<&'static str> {
        match self {
            EffectItem::Command(_, read) => read.reach.opaque,
            EffectItem::Path(_)
            | EffectItem::Change(_)
            | EffectItem::Host(..)
            | EffectItem::Send(_)
            | EffectItem::Act(..)
            | EffectItem::Unknown(_) => None,
        }
    }

    fn ruling<'a>(&self, rules: &'a RuleSet) -> Ruling<'a> {
        match self {
            EffectItem::Path(path) => rules.rule_path(path),
            EffectItem::Change(path) => {
                rules.rule_path_use(path, crate::governance::rules::PathUse::Write)
            }
            EffectItem::Command(command, read) => rules.rule_read_command(command, read),
            EffectItem::Host(host, _) => rules.rule_host(host),
            EffectItem::Send(send) => rules.rule_send(send),
            EffectItem::Act(tool, act) => rules.rule_act(tool, act),
            EffectItem::Unknown(tool) => rules.rule_undeclared(tool),
        }
    }

    /// What the mode says where no rule speaks, and whether an allow rule may lift it.
    fn mode_verdict(&self, mode: PermissionMode, rules: &RuleSet) -> (Verdict, RuleLift) {
        use PermissionMode::{Ask, AutoEdit, Full, Plan};
        use Verdict::{Allow, Deny};
        let reads = match self {
            EffectItem::Path(path) => !path.access.is_write(),
            EffectItem::Host(_, request) => *request == RequestUse::Read,
            EffectItem::Change(_)
            | EffectItem::Command(..)
            | EffectItem::Send(_)
            | EffectItem::Act(..)
            | EffectItem::Unknown(_) => false,
        };
        let inside = match self {
            EffectItem::Path(path) => path.place == PathPlace::Inside,
            EffectItem::Change(path) => {
                !path.starts_with('/') || rules.context().below_added_folder(path).is_some()
            }
            EffectItem::Command(..)
            | EffectItem::Host(..)
            | EffectItem::Send(_)
            | EffectItem::Act(..)
            | EffectItem::Unknown(_) => false,
        };
        if let EffectItem::Command(command, _) = self
            && mode == AutoEdit
            && command.reaches_own_jobs_only()
        {
            return (Allow, RuleLift::ByRule);
        }
        if let EffectItem::Command(command, read) = self
            && !command.has_network()
        {
            let reads_only = || shell::reads_only(&read.line, true);
            match mode {
                // What the sandbox takes every writable place from only reads.
                Plan if command.read_only => return (Allow, RuleLift::Never),
                // `weir undo` takes back what it does (U13).
                AutoEdit => return (Allow, RuleLift::ByRule),
                // The list of what only reads may be wrong: nothing is writable for it either (U13).
                Ask if command.read_only && reads_only() => return (Allow, RuleLift::ByRule),
                Plan | Ask | Full => {}
            }
        }
        match (mode, reads, inside) {
            (_, true, true) | (Full, _, _) | (AutoEdit, false, true) => (Allow, RuleLift::ByRule),
            (Plan, false, _) => (Deny, RuleLift::Never),
            (Plan, true, false) | (Ask, _, _) | (AutoEdit, _, false) => {
                (Verdict::Ask, RuleLift::ByRule)
            }
        }
    }

    /// The effect in words: `writing src/main.rs`.
    fn describe_effect(&self) -> String {
        match self {
            EffectItem::Path(at) => {
                let verb = match at.access {
                    PathAccess::Read => "reading",
                    PathAccess::List => "listing",
                    PathAccess::Write => "changing",
                    PathAccess::Create => "creating",
                    PathAccess::MoveFrom => "moving away",
                    PathAccess::MoveTo => "moving to",
                    PathAccess::Delete => "deleting",
                };
                let place =
                    if at.place == PathPlace::Inside { "" } else { " outside the workspace" };
                let path = if at.path.is_empty() { "." } else { &at.path };
                format!("{verb} {}{place}", quote_model_text(path))
            }
            EffectItem::Change(path) => format!("changing {}", quote_model_text(path)),
            EffectItem::Command(command, _) => {
                format!("running `{}`", quote_model_text(&command.command))
            }
            EffectItem::Host(host, _) => {
                format!("{} {}", quote_model_text(&host.method), quote_model_text(&host.url))
            }
            EffectItem::Send(send) => {
                format!(
                    "sending to {} by {}",
                    quote_model_text(&send.recipient),
                    quote_model_text(&send.by)
                )
            }
            EffectItem::Act(_, act) => quote_model_text(&act.describe_act()),
            EffectItem::Unknown(_) => "a tool whose effects are not known".to_string(),
        }
    }
}

/// Whether this follows a link, in a mode in which links need no question of their own.
fn follows_freely(tool: &str, item: &EffectItem<'_>, context: &GateContext<'_>) -> bool {
    let EffectItem::Host(host, RequestUse::Read) = item else { return false };
    match context.mode {
        PermissionMode::AutoEdit | PermissionMode::Full => {
            context.provenance.follows_link(tool, host)
        }
        PermissionMode::Ask => context.provenance.follows_agreed_link(tool, host),
        PermissionMode::Plan => false,
    }
}

/// Whether this goes to nobody but the person (U5): to an address of theirs, or, in a mode in which
/// changes pass that can be undone, into what is their own at a server.
fn stays_with_person(item: &EffectItem<'_>, context: &GateContext<'_>) -> bool {
    let changes_pass = || matches!(context.mode, PermissionMode::AutoEdit | PermissionMode::Full);
    match item {
        EffectItem::Send(send) => context.provenance.is_own(&send.recipient),
        EffectItem::Act(_, act) => match act.kind {
            ActKind::Send => context.provenance.sends_to_self(act),
            ActKind::Own => changes_pass(),
            ActKind::Destroy | ActKind::Identity | ActKind::Commit => false,
        },
        EffectItem::Path(_)
        | EffectItem::Change(_)
        | EffectItem::Command(..)
        | EffectItem::Host(..)
        | EffectItem::Unknown(_) => false,
    }
}

/// Whether an allow rule lifts what a mode says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleLift {
    ByRule,
    Never,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestUse {
    Read,
    Send,
}

impl RulesGate {
    fn by_rule(&self, verdict: Verdict, rule: &Rule, what: &str) -> GateOpinion {
        let reason = match verdict {
            Verdict::Deny => format!(
                "The rule `{rule}` forbids {what}. Do it another way or without it; only the \
                 person can change the rule."
            ),
            Verdict::Ask | Verdict::Allow => {
                format!("The rule `{rule}` requires approval before {what}.")
            }
        };
        GateOpinion {
            gate: self.name(),
            verdict,
            rule: Some(rule.to_string()),
            reason,
            exact: false,
            bound: false,
        }
    }

    /// What rules that name arguments say of a question to a server; no mode wants it asked.
    fn judge_query(&self, tool: &str, query: &QueryEffect, rules: &RuleSet) -> Option<GateOpinion> {
        let what = || format!("asking {}", quote_model_text(&query.server));
        match rules.rule_query(tool, query) {
            Ruling::Deny(rule) => Some(self.by_rule(Verdict::Deny, rule, &what())),
            Ruling::Ask(rule) => Some(self.by_rule(Verdict::Ask, rule, &what())),
            Ruling::Allow(_) | Ruling::Silent => None,
        }
    }

    fn judge_item(
        &self,
        item: &EffectItem<'_>,
        allowed: bool,
        context: &GateContext<'_>,
    ) -> Option<GateOpinion> {
        let ruling = item.ruling(context.rules);
        match ruling {
            Ruling::Deny(rule) => {
                return Some(self.by_rule(Verdict::Deny, rule, &item.describe_effect()));
            }
            Ruling::Ask(rule) => {
                return Some(self.by_rule(Verdict::Ask, rule, &item.describe_effect()));
            }
            Ruling::Allow(_) | Ruling::Silent => {}
        }
        let lifted = allowed || matches!(ruling, Ruling::Allow(_));
        let (verdict, lift) = item.mode_verdict(context.mode, context.rules);
        let by_mode = match verdict {
            Verdict::Allow => None,
            Verdict::Ask | Verdict::Deny if lifted && lift == RuleLift::ByRule => None,
            Verdict::Ask | Verdict::Deny => Some(self.by_mode(item, verdict, context.mode)),
        };
        let is_denied = by_mode.as_ref().is_some_and(|opinion| opinion.verdict == Verdict::Deny);
        let opaque = item
            .opaque_reason()
            .filter(|_| !is_denied)
            .and_then(|why| self.judge_opaque_command(item, why, &ruling, context.rules));
        opaque.or(by_mode)
    }

    fn by_mode(
        &self,
        item: &EffectItem<'_>,
        verdict: Verdict,
        mode: PermissionMode,
    ) -> GateOpinion {
        let what = item.describe_effect();
        let reason = match (verdict, item) {
            (Verdict::Deny, EffectItem::Command(..)) => format!(
                "The mode plan changes nothing, and a command cannot be kept from changing things \
                 here: {what} is refused. Use the tools that read and search."
            ),
            (Verdict::Deny, _) => format!(
                "The mode {mode} changes nothing: {what} is refused. Read and plan; the person \
                 can switch the mode."
            ),
            (Verdict::Ask | Verdict::Allow, _) => {
                format!("Mode {mode} requires approval before {what}; no rule allows it.")
            }
        };
        GateOpinion {
            gate: self.name(),
            verdict,
            rule: Some(format!("mode {mode}")),
            reason,
            exact: false,
            bound: false,
        }
    }

    /// A command that could run anything (`why`), while a deny rule is about commands: neither the mode nor a
    /// rule for other commands can vouch for it. Where the words of the deny rule stand in it, it is
    /// taken for what it forbids.
    fn judge_opaque_command(
        &self,
        item: &EffectItem<'_>,
        why: &str,
        ruling: &Ruling<'_>,
        rules: &RuleSet,
    ) -> Option<GateOpinion> {
        let EffectItem::Command(command, _) = item else {
            return None;
        };
        let rule = rules.denies_commands()?;
        let named = rules.denies_words_of(&command.command);
        // The person allowed this very text, whatever it runs; what is denied stays so.
        let very = format!("Shell({})", command.command.trim());
        if named.is_none()
            && matches!(ruling, Ruling::Allow(by) if by.iter().any(|rule| rule.text() == very))
        {
            return None;
        }
        let (verdict, rule) = named.map_or((Verdict::Ask, rule), |rule| (Verdict::Deny, rule));
        let what = item.describe_effect();
        let reason = match verdict {
            Verdict::Deny => format!(
                "The rule `{rule}` may forbid {what}: {why}, and what the rule forbids stands in it. \
                 Write the command out plainly, or do without it."
            ),
            Verdict::Ask | Verdict::Allow => format!(
                "Nobody can tell whether the rule `{rule}` forbids {what}: {why}. Write the command \
                 out plainly, or a person must agree to exactly this."
            ),
        };
        let (gate, rule) = (self.name(), Some(rule.to_string()));
        Some(GateOpinion { gate, verdict, rule, reason, exact: true, bound: false })
    }
}
