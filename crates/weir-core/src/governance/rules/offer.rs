//! The allow rules that a question offers: what "this session" and "always" would add (G4).
//!
//! Wide enough to save the next question of the same kind, and no wider: a program with its
//! subcommand, one file, one host. Not here: how long they hold.

use super::decide::{EffectPresence, MAIL, Ruling};
use super::{Rule, RuleAction, RuleContext, RuleOrigin, RuleSet};
use crate::governance::grants;
use crate::governance::shell::{self, CommandPart};
use crate::tool::{
    ActEffect, ActKind, CommandEffect, ControlArgument, Effects, NamedGrant, PathEffect, PathPlace,
    foreign,
};

impl RuleSet {
    /// The allow rules that would have let this call pass and the next of its kind, checked by
    /// asking a set that holds nothing else. Empty where there are none: an unreadable command, a
    /// path that no pattern can name.
    ///
    /// They cover every effect, also those that the mode lets pass today.
    pub fn offered_rules(&self, tool: &str, effects: &Effects, origin: &RuleOrigin) -> Vec<Rule> {
        let mut texts: Vec<String> = Vec::new();
        if effects.unknown {
            texts.push(match foreign::split_name(tool) {
                // A tool that is called so would stand for all of them.
                Some((server, name)) if server == "*" || name == "*" => return Vec::new(),
                Some((server, name)) => format!("Mcp({server}:{name})"),
                None => tool.to_string(),
            });
        } else {
            let paths = effects.paths.iter().filter(|p| needs_rule(p));
            // A pattern begins and ends with a letter that counts.
            if paths.clone().any(|path| path.path.trim() != path.path) {
                return Vec::new();
            }
            texts.extend(paths.map(path_rule));
            texts.extend(effects.hosts.iter().map(|host| format!("Web({})", host.host)));
            texts.extend(effects.brain.iter().map(|_| tool.to_string()));
            if effects.samples.is_some() {
                let named = foreign::split_name(tool);
                texts.extend(named.map(|(server, name)| format!("Mcp({server}:{name})")));
            }
            // A server that may write the workspace names all of it: no question about something else gives
            // that away.
            if !effects.acts.is_empty() && paths_are_whole(effects) {
                return Vec::new();
            }
            let mails = effects.sends.iter().filter(|send| send.by == MAIL);
            texts.extend(mails.map(|send| format!("Mail({})", send.recipient)));
            for act in &effects.acts {
                match act_rule(tool, act) {
                    Some(offered) => texts.push(offered),
                    None => return Vec::new(),
                }
            }
            for command in &effects.commands {
                match of_command(command, &self.context) {
                    Some(offered) => texts.extend(offered),
                    None => return Vec::new(),
                }
            }
        }
        texts.sort_unstable();
        texts.dedup();
        self.rules_that_suffice(texts, tool, effects, origin)
    }

    /// The allow rules that `grant` comes to for this very call, none where it does not cover all of it:
    /// they are for judging this call, and hold for no other (U13).
    pub fn granted_rules(
        &self,
        grant: &NamedGrant,
        tool: &str,
        effects: &Effects,
        origin: &RuleOrigin,
    ) -> Vec<Rule> {
        match grants::grant_rule_texts(grant, effects) {
            Some(texts) => self.rules_that_suffice(texts, tool, effects, origin),
            None => Vec::new(),
        }
    }

    /// The rules of these texts, if alone they let the call pass; else none.
    fn rules_that_suffice(
        &self,
        texts: Vec<String>,
        tool: &str,
        effects: &Effects,
        origin: &RuleOrigin,
    ) -> Vec<Rule> {
        let mut rules = Vec::new();
        for text in texts {
            match self.parse_rule(RuleAction::Allow, &text, origin.clone()) {
                Ok(rule) => rules.push(rule),
                Err(_) => return Vec::new(),
            }
        }
        let mut alone = RuleSet::new(self.context.clone());
        alone.extend(rules.iter().cloned());
        if alone.allows_effects(tool, effects) { rules } else { Vec::new() }
    }

    /// Whether the rules alone, without any mode, allow every effect that would need one.
    fn allows_effects(&self, tool: &str, effects: &Effects) -> bool {
        let allowed = |ruling: Ruling<'_>| matches!(ruling, Ruling::Allow(_));
        if allowed(self.rule_tool(tool, EffectPresence::Something)) {
            return true;
        }
        !effects.unknown
            && effects.brain.is_none()
            && effects.paths.iter().filter(|p| needs_rule(p)).all(|p| allowed(self.rule_path(p)))
            && effects.hosts.iter().all(|host| allowed(self.rule_host(host)))
            && effects.sends.iter().all(|send| allowed(self.rule_send(send)))
            && effects.acts.iter().all(|act| allowed(self.rule_act(tool, act)))
            && effects.commands.iter().all(|command| allowed(self.rule_command(command)))
    }
}

/// Whether a path needs a rule to pass in the mode `ask`.
fn needs_rule(path: &PathEffect) -> bool {
    path.access.is_write() || path.place != PathPlace::Inside || path.sensitive.is_some()
}

/// Whether a folder is written with everything below it.
fn paths_are_whole(effects: &Effects) -> bool {
    effects.paths.iter().any(|path| path.recursive && path.access.is_write())
}

/// The very path: what is agreed to for one file is agreed to for no other that looks like it.
fn path_rule(path: &PathEffect) -> String {
    let kind = if path.access.is_write() { "Edit" } else { "Read" };
    let name = path.path.replace('\\', "\\\\");
    let name = globset::escape(&name);
    if name.starts_with('/') { format!("{kind}({name})") } else { format!("{kind}(./{name})") }
}

/// Whether a question about this act can offer a rule for it: then a lease can be bound to it (U8).
pub(in crate::governance) fn can_offer_act(tool: &str, act: &ActEffect) -> bool {
    let parses = |text: String| {
        Rule::parse(RuleAction::Allow, &text, RuleOrigin::new("an approval")).is_ok()
    };
    act_rule(tool, act).is_some_and(parses)
}

/// All that a server's tools send to this very place, or this very tool about this very thing. None for
/// what is asked each time, and for values that no rule can be written with.
fn act_rule(tool: &str, act: &ActEffect) -> Option<String> {
    let (server, name) = foreign::split_name(tool)?;
    if server == "*" || name == "*" {
        return None;
    }
    let name = match act.kind {
        ActKind::Own => return Some(format!("Mcp({server}:{name})")),
        ActKind::Destroy => name,
        ActKind::Send => "*",
        ActKind::Identity | ActKind::Commit => return None,
    };
    let fits = |word: &str| {
        let odd = |c: char| c.is_control() || matches!(c, ',' | '=' | '(' | ')');
        word.trim() == word && !word.contains(odd)
    };
    let fit = |one: &ControlArgument| fits(&one.name) && fits(&one.value);
    if !act.is_told_by_arguments() || !act.control.iter().all(fit) {
        return None;
    }
    let pairs = act.control.iter().map(|one| format!(", {}={}", one.name, one.value));
    Some(format!("Mcp({server}:{name}{})", pairs.collect::<String>()))
}

/// A rule for each part that needs one; where a part has no useful beginning, the line as it is.
fn of_command(command: &CommandEffect, context: &RuleContext) -> Option<Vec<String>> {
    let confined = !command.has_network();
    let line = shell::parse_command_line(&command.command);
    let whole = || line.is_plain().then(|| vec![format!("Shell({})", command.command.trim())]);
    if !line.is_readable() || line.computes || line.background || !line.functions.is_empty() {
        return whole();
    }
    let needs = line.parts.iter().filter(|part| !is_free(part, confined));
    let offered: Option<Vec<String>> =
        needs.map(|part| command_prefix_rule(part, context)).collect();
    match offered {
        Some(offered) if !offered.is_empty() => Some(offered),
        _ => whole(),
    }
}

fn is_free(part: &CommandPart, confined: bool) -> bool {
    let goes = part.words.first().is_some_and(|word| word.text == "cd");
    goes || shell::is_reader(part, confined)
}

/// `Shell(cargo test:*)` for `cargo test --lib`. None for programs whose arguments decide what runs,
/// and for those that take away.
fn command_prefix_rule(part: &CommandPart, context: &RuleContext) -> Option<String> {
    let words = shell::unwrap_command(part)?;
    let literal: Vec<&str> =
        words.iter().take_while(|word| !word.expands).map(|word| word.text.as_str()).collect();
    let is_name = |text: &str| {
        let harmless = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
        !text.is_empty()
            && !text.starts_with('-')
            && text.chars().all(harmless)
            && !text.contains(":*")
    };
    let (head, rest) = literal.split_first()?;
    let family = FAMILIES.iter().find(|(name, _)| name == head)?;
    let count = match family.1 {
        PrefixScope::Program => 0,
        PrefixScope::Subcommand(safe) => {
            let first = rest.first()?;
            match (safe.contains(first), *first) {
                (true, "run" | "exec" | "-m" | "dlx") => 2,
                (true, _) => 1,
                (false, _) => return None,
            }
        }
        PrefixScope::Target => match rest.first() {
            Some(target) if is_name(target) => 1,
            Some(_) => return None,
            None => 0,
        },
    };
    let taken = literal.get(..=count)?;
    let named = taken[1..].iter().all(|word| is_name(word) || *word == "-m");
    // Such a rule would not cover this line.
    let names_program = shell::runs_by_option(&context.written_from_top(words), taken.len());
    (named && !names_program).then(|| format!("Shell({}:*)", taken.join(" ")))
}

/// How much of a command says what kind of command it is.
enum PrefixScope {
    /// The program alone.
    Program,
    /// The program with one of these.
    Subcommand(&'static [&'static str]),
    /// The program with whatever it is told to make, if anything.
    Target,
}

/// Programs of which a rule with a beginning is offered. What is not here is offered as it stands.
const FAMILIES: &[(&str, PrefixScope)] = &[
    (
        "git",
        PrefixScope::Subcommand(&[
            "add",
            "commit",
            "checkout",
            "switch",
            "branch",
            "fetch",
            "pull",
            "merge",
            "stash",
            "mv",
            "restore",
            "tag",
            "cherry-pick",
        ]),
    ),
    (
        "cargo",
        PrefixScope::Subcommand(&[
            "build", "check", "test", "clippy", "fmt", "doc", "bench", "nextest", "tree",
            "metadata", "update", "fetch", "add",
        ]),
    ),
    ("npm", PrefixScope::Subcommand(&["test", "ci", "install", "ls", "run"])),
    ("pnpm", PrefixScope::Subcommand(&["test", "install", "ls", "run"])),
    ("yarn", PrefixScope::Subcommand(&["test", "install", "run", "build", "lint"])),
    ("bun", PrefixScope::Subcommand(&["test", "install", "run"])),
    ("go", PrefixScope::Subcommand(&["build", "test", "vet", "fmt", "mod", "list"])),
    ("dotnet", PrefixScope::Subcommand(&["build", "test", "restore"])),
    ("mvn", PrefixScope::Subcommand(&["compile", "test", "verify", "package"])),
    ("python", PrefixScope::Subcommand(&["-m"])),
    ("python3", PrefixScope::Subcommand(&["-m"])),
    ("uv", PrefixScope::Subcommand(&["run", "sync", "pip"])),
    ("pip", PrefixScope::Subcommand(&["install", "list", "show"])),
    ("poetry", PrefixScope::Subcommand(&["run", "install"])),
    ("make", PrefixScope::Target),
    ("just", PrefixScope::Target),
    ("gradle", PrefixScope::Target),
    ("ninja", PrefixScope::Target),
    ("pytest", PrefixScope::Program),
    ("mypy", PrefixScope::Program),
    ("ruff", PrefixScope::Program),
    ("black", PrefixScope::Program),
    ("tox", PrefixScope::Program),
    ("eslint", PrefixScope::Program),
    ("prettier", PrefixScope::Program),
    ("tsc", PrefixScope::Program),
    ("jest", PrefixScope::Program),
    ("vitest", PrefixScope::Program),
    ("cmake", PrefixScope::Program),
    ("ctest", PrefixScope::Program),
    ("rustfmt", PrefixScope::Program),
    ("mkdir", PrefixScope::Program),
    ("touch", PrefixScope::Program),
];
