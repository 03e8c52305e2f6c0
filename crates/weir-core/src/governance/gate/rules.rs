//! The rules of people and, where they are silent, the permission mode (C3).

use super::{CallFacts, Gate, GateContext, GateName, Opinion, Verdict, quoted};
use crate::governance::rules::{Rule, RuleSet, Ruling, Touches};
use crate::governance::shell;
use crate::profile::PermissionMode;
use crate::tool::{Access, CommandEffect, Effects, HostEffect, PathEffect, Place, SendEffect};

pub(super) struct Rules;

impl Gate for Rules {
    fn name(&self) -> GateName {
        GateName::Rules
    }
    fn judge(&self, call: &CallFacts<'_>, context: &GateContext<'_>) -> Option<Opinion> {
        let effects = &call.inspection.effects;
        let items = items(effects);
        let nothing = items.is_empty() && effects.spawns.is_none();
        let touches = if nothing { Touches::Nothing } else { Touches::Something };
        let tool = context.rules.rule_tool(call.tool, touches);
        if let Ruling::Deny(rule) = tool {
            return Some(self.by_rule(Verdict::Deny, rule, &format!("calls of {}", call.tool)));
        }
        let mut strictest = match tool {
            Ruling::Ask(rule) => {
                Some(self.by_rule(Verdict::Ask, rule, &format!("calls of {}", call.tool)))
            }
            Ruling::Deny(_) | Ruling::Allow(_) | Ruling::Silent => None,
        };
        let allowed = matches!(tool, Ruling::Allow(_));
        for item in items {
            let opinion = self.item(&item, allowed, context);
            let stricter = opinion.as_ref().map(|o| o.verdict)
                > strictest.as_ref().map(|o: &Opinion| o.verdict);
            if stricter {
                strictest = opinion;
            }
        }
        strictest
    }
}

/// One effect, as the table of modes sees it.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Path(&'a PathEffect),
    /// A change that no path effect announced.
    Change(&'a str),
    Command(&'a CommandEffect),
    Host(&'a HostEffect),
    Send(&'a SendEffect),
    Unknown,
}

fn items(effects: &Effects) -> Vec<Item<'_>> {
    let mut items: Vec<Item<'_>> = effects.paths.iter().map(Item::Path).collect();
    let announced =
        |path: &str| effects.paths.iter().any(|p| p.access.is_write() && p.path == path);
    let changes = effects.changes.iter().filter(|change| !announced(&change.path));
    items.extend(changes.map(|change| Item::Change(&change.path)));
    items.extend(effects.commands.iter().map(Item::Command));
    items.extend(effects.hosts.iter().map(Item::Host));
    items.extend(effects.sends.iter().map(Item::Send));
    if effects.unknown {
        items.push(Item::Unknown);
    }
    items
}

impl Item<'_> {
    fn ruling<'a>(&self, rules: &'a RuleSet) -> Ruling<'a> {
        match self {
            Item::Path(path) => rules.rule_path(path),
            Item::Change(path) => {
                rules.rule_path_use(path, crate::governance::rules::PathUse::Write)
            }
            Item::Command(command) => rules.rule_command(command),
            Item::Host(host) => rules.rule_host(host),
            Item::Send(send) => rules.rule_send(send),
            Item::Unknown => Ruling::Silent,
        }
    }

    /// What the mode says where no rule speaks, and whether an allow rule may lift it.
    fn mode(&self, mode: PermissionMode) -> (Verdict, Lift) {
        use PermissionMode::{Ask, AutoEdit, Full, Plan};
        use Verdict::{Allow, Deny};
        let reads = match self {
            Item::Path(path) => !path.access.is_write(),
            Item::Host(host) => is_reading(&host.method),
            Item::Change(_) | Item::Command(_) | Item::Send(_) | Item::Unknown => false,
        };
        let inside = match self {
            Item::Path(path) => path.place == Place::Inside,
            Item::Change(path) => !path.starts_with('/'),
            Item::Command(_) | Item::Host(_) | Item::Send(_) | Item::Unknown => false,
        };
        if let Item::Command(command) = self
            && !command.has_network()
        {
            let reads_only = || shell::reads_only(&shell::parse(&command.command), true);
            match mode {
                // What the sandbox takes every writable place from only reads.
                Plan if command.read_only => return (Allow, Lift::Never),
                // `weir undo` takes back what it does (U13).
                AutoEdit => return (Allow, Lift::ByRule),
                Ask if reads_only() => return (Allow, Lift::ByRule),
                Plan | Ask | Full => {}
            }
        }
        match (mode, reads, inside) {
            (_, true, true) | (Full, _, _) | (AutoEdit, false, true) => (Allow, Lift::ByRule),
            (Plan, false, _) => (Deny, Lift::Never),
            (Plan, true, false) | (Ask, _, _) | (AutoEdit, _, false) => {
                (Verdict::Ask, Lift::ByRule)
            }
        }
    }

    /// What it is, in a sentence: `writing src/main.rs`.
    fn sentence(&self) -> String {
        match self {
            Item::Path(at) => {
                let verb = match at.access {
                    Access::Read => "reading",
                    Access::List => "listing",
                    Access::Write => "changing",
                    Access::Create => "creating",
                    Access::MoveFrom => "moving away",
                    Access::MoveTo => "moving to",
                    Access::Delete => "deleting",
                };
                let place = if at.place == Place::Inside { "" } else { " outside the workspace" };
                let path = if at.path.is_empty() { "." } else { &at.path };
                format!("{verb} {}{place}", quoted(path))
            }
            Item::Change(path) => format!("changing {}", quoted(path)),
            Item::Command(command) => format!("running `{}`", quoted(&command.command)),
            Item::Host(host) => format!("{} {}", quoted(&host.method), quoted(&host.url)),
            Item::Send(send) => {
                format!("sending to {} by {}", quoted(&send.recipient), quoted(&send.by))
            }
            Item::Unknown => "a tool whose effects are not known".to_string(),
        }
    }
}

/// Whether an allow rule lifts what a mode says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lift {
    ByRule,
    Never,
}

fn is_reading(method: &str) -> bool {
    method == "GET" || method == "HEAD"
}

impl Rules {
    fn by_rule(&self, verdict: Verdict, rule: &Rule, what: &str) -> Opinion {
        let reason = match verdict {
            Verdict::Deny => format!(
                "The rule `{rule}` forbids {what}. Do it another way or without it; only the \
                 person can change the rule."
            ),
            Verdict::Ask | Verdict::Allow => {
                format!("The rule `{rule}` requires approval before {what}.")
            }
        };
        Opinion { gate: self.name(), verdict, rule: Some(rule.to_string()), reason, exact: false }
    }

    fn item(&self, item: &Item<'_>, allowed: bool, context: &GateContext<'_>) -> Option<Opinion> {
        let ruling = item.ruling(context.rules);
        match ruling {
            Ruling::Deny(rule) => {
                return Some(self.by_rule(Verdict::Deny, rule, &item.sentence()));
            }
            Ruling::Ask(rule) => return Some(self.by_rule(Verdict::Ask, rule, &item.sentence())),
            Ruling::Allow(_) | Ruling::Silent => {}
        }
        let lifted = allowed || matches!(ruling, Ruling::Allow(_));
        let (verdict, lift) = item.mode(context.mode);
        let by_mode = match verdict {
            Verdict::Allow => None,
            Verdict::Ask | Verdict::Deny if lifted && lift == Lift::ByRule => None,
            Verdict::Ask | Verdict::Deny => Some(self.by_mode(item, verdict, context.mode)),
        };
        let is_denied = by_mode.as_ref().is_some_and(|opinion| opinion.verdict == Verdict::Deny);
        let opaque = if is_denied { None } else { self.opaque(item, &ruling, context.rules) };
        opaque.or(by_mode)
    }

    fn by_mode(&self, item: &Item<'_>, verdict: Verdict, mode: PermissionMode) -> Opinion {
        let what = item.sentence();
        let reason = match (verdict, item) {
            (Verdict::Deny, Item::Command(_)) => format!(
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
        Opinion {
            gate: self.name(),
            verdict,
            rule: Some(format!("mode {mode}")),
            reason,
            exact: false,
        }
    }

    /// A command that could run anything, while a deny rule is about commands: neither the mode nor a
    /// rule for other commands can vouch for it. Where the words of the deny rule stand in it, it is
    /// taken for what it forbids.
    fn opaque(&self, item: &Item<'_>, ruling: &Ruling<'_>, rules: &RuleSet) -> Option<Opinion> {
        let Item::Command(command) = item else {
            return None;
        };
        let rule = rules.denies_commands()?;
        let why = shell::reach(&shell::parse(&command.command)).opaque?;
        let named = rules.denies_words_of(&command.command);
        // The person allowed this very text, whatever it runs; what is denied stays so.
        let very = format!("Shell({})", command.command.trim());
        if named.is_none()
            && matches!(ruling, Ruling::Allow(by) if by.iter().any(|rule| rule.text() == very))
        {
            return None;
        }
        let (verdict, rule) = named.map_or((Verdict::Ask, rule), |rule| (Verdict::Deny, rule));
        let what = item.sentence();
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
        Some(Opinion { gate, verdict, rule, reason, exact: true })
    }
}
