//! The narrowest allow rules for one call: what "this session" and "always" would add (G4).

use super::decide::{MAIL, Ruling, Touches};
use super::{Rule, RuleAction, RuleOrigin, RuleSet};
use crate::governance::shell;
use crate::tool::{Effects, PathEffect, Place};

impl RuleSet {
    /// The narrowest allow rules that would have allowed exactly this call, checked by asking a
    /// set that holds nothing else. Empty where there are none: a command with expansions, an
    /// unreadable one, a path that no pattern can name.
    ///
    /// They cover every effect, also those that the mode lets pass today.
    pub fn exact_rules(&self, tool: &str, effects: &Effects, origin: &RuleOrigin) -> Vec<Rule> {
        let mut texts: Vec<String> = Vec::new();
        if effects.unknown {
            texts.push(match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
                Some((server, name)) => format!("Mcp({server}:{name})"),
                None => tool.to_string(),
            });
        } else {
            texts.extend(effects.paths.iter().filter(|p| needs_rule(p)).map(path_rule));
            texts.extend(effects.hosts.iter().map(|host| format!("Web({})", host.host)));
            let mails = effects.sends.iter().filter(|send| send.by == MAIL);
            texts.extend(mails.map(|send| format!("Mail({})", send.recipient)));
            for command in &effects.commands {
                let line = shell::parse(&command.command);
                if !line.is_plain() {
                    return Vec::new();
                }
                texts.push(format!("Shell({})", command.command.trim()));
            }
        }
        texts.sort_unstable();
        texts.dedup();
        let mut rules = Vec::new();
        for text in texts {
            match self.parse(RuleAction::Allow, &text, origin.clone()) {
                Ok(rule) => rules.push(rule),
                Err(_) => return Vec::new(),
            }
        }
        let mut alone = RuleSet::new(self.context.clone());
        alone.extend(rules.iter().cloned());
        if alone.allows(tool, effects) { rules } else { Vec::new() }
    }

    /// Whether the rules alone, without any mode, allow every effect that would need one.
    fn allows(&self, tool: &str, effects: &Effects) -> bool {
        let allowed = |ruling: Ruling<'_>| matches!(ruling, Ruling::Allow(_));
        if allowed(self.rule_tool(tool, Touches::Something)) {
            return true;
        }
        !effects.unknown
            && effects.paths.iter().filter(|p| needs_rule(p)).all(|p| allowed(self.rule_path(p)))
            && effects.hosts.iter().all(|host| allowed(self.rule_host(host)))
            && effects.sends.iter().all(|send| allowed(self.rule_send(send)))
            && effects.commands.iter().all(|command| allowed(self.rule_command(command)))
    }
}

/// Whether a path needs a rule to pass in the mode `ask`.
fn needs_rule(path: &PathEffect) -> bool {
    path.access.is_write() || path.place != Place::Inside || path.sensitive.is_some()
}

fn path_rule(path: &PathEffect) -> String {
    let kind = if path.access.is_write() { "Edit" } else { "Read" };
    let name = path.path.replace('\\', "\\\\");
    let name = globset::escape(&name);
    if name.starts_with('/') { format!("{kind}({name})") } else { format!("{kind}(./{name})") }
}
