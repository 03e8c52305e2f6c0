//! The allow rules that a question offers: what "this session" and "always" would add (G4).
//!
//! Wide enough to save the next question of the same kind, and no wider: a program with its
//! subcommand, one file, one host. Not here: how long they hold.

use super::decide::{MAIL, Ruling, Touches};
use super::{Rule, RuleAction, RuleOrigin, RuleSet};
use crate::governance::shell::{self, Part};
use crate::tool::{CommandEffect, Effects, PathEffect, Place};

impl RuleSet {
    /// The allow rules that would have let this call pass and the next of its kind, checked by
    /// asking a set that holds nothing else. Empty where there are none: an unreadable command, a
    /// path that no pattern can name.
    ///
    /// They cover every effect, also those that the mode lets pass today.
    pub fn offered_rules(&self, tool: &str, effects: &Effects, origin: &RuleOrigin) -> Vec<Rule> {
        let mut texts: Vec<String> = Vec::new();
        if effects.unknown {
            texts.push(match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
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
            let mails = effects.sends.iter().filter(|send| send.by == MAIL);
            texts.extend(mails.map(|send| format!("Mail({})", send.recipient)));
            for command in &effects.commands {
                match of_command(command) {
                    Some(offered) => texts.extend(offered),
                    None => return Vec::new(),
                }
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

/// The very path: what is agreed to for one file is agreed to for no other that looks like it.
fn path_rule(path: &PathEffect) -> String {
    let kind = if path.access.is_write() { "Edit" } else { "Read" };
    let name = path.path.replace('\\', "\\\\");
    let name = globset::escape(&name);
    if name.starts_with('/') { format!("{kind}({name})") } else { format!("{kind}(./{name})") }
}

/// A rule for each part that needs one; where a part has no useful beginning, the line as it is.
fn of_command(command: &CommandEffect) -> Option<Vec<String>> {
    let confined = !command.has_network();
    let line = shell::parse(&command.command);
    let whole = || line.is_plain().then(|| vec![format!("Shell({})", command.command.trim())]);
    if !line.is_readable() || line.background || !line.functions.is_empty() {
        return whole();
    }
    let needs = line.parts.iter().filter(|part| !is_free(part, confined));
    let offered: Option<Vec<String>> = needs.map(beginning).collect();
    match offered {
        Some(offered) if !offered.is_empty() => Some(offered),
        _ => whole(),
    }
}

fn is_free(part: &Part, confined: bool) -> bool {
    let goes = part.words.first().is_some_and(|word| word.text == "cd");
    goes || shell::is_reader(part, confined)
}

/// `Shell(cargo test:*)` for `cargo test --lib`. None for programs whose arguments decide what runs,
/// and for those that take away.
fn beginning(part: &Part) -> Option<String> {
    let words = shell::unwrapped(part)?;
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
        Beginning::Program => 0,
        Beginning::Subcommand(safe) => {
            let first = rest.first()?;
            match (safe.contains(first), *first) {
                (true, "run" | "exec" | "-m" | "dlx") => 2,
                (true, _) => 1,
                (false, _) => return None,
            }
        }
        Beginning::Target => match rest.first() {
            Some(target) if is_name(target) => 1,
            Some(_) => return None,
            None => 0,
        },
    };
    let taken = literal.get(..=count)?;
    let named = taken[1..].iter().all(|word| is_name(word) || *word == "-m");
    named.then(|| format!("Shell({}:*)", taken.join(" ")))
}

/// How much of a command says what kind of command it is.
enum Beginning {
    /// The program alone.
    Program,
    /// The program with one of these.
    Subcommand(&'static [&'static str]),
    /// The program with whatever it is told to make, if anything.
    Target,
}

/// Programs of which a rule with a beginning is offered. What is not here is offered as it stands.
const FAMILIES: &[(&str, Beginning)] = &[
    (
        "git",
        Beginning::Subcommand(&[
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
        Beginning::Subcommand(&[
            "build", "check", "test", "clippy", "fmt", "doc", "bench", "nextest", "tree",
            "metadata", "update", "fetch", "add",
        ]),
    ),
    ("npm", Beginning::Subcommand(&["test", "ci", "install", "ls", "run"])),
    ("pnpm", Beginning::Subcommand(&["test", "install", "ls", "run"])),
    ("yarn", Beginning::Subcommand(&["test", "install", "run", "build", "lint"])),
    ("bun", Beginning::Subcommand(&["test", "install", "run"])),
    ("go", Beginning::Subcommand(&["build", "test", "vet", "fmt", "mod", "list"])),
    ("dotnet", Beginning::Subcommand(&["build", "test", "restore"])),
    ("mvn", Beginning::Subcommand(&["compile", "test", "verify", "package"])),
    ("python", Beginning::Subcommand(&["-m"])),
    ("python3", Beginning::Subcommand(&["-m"])),
    ("uv", Beginning::Subcommand(&["run", "sync", "pip"])),
    ("pip", Beginning::Subcommand(&["install", "list", "show"])),
    ("poetry", Beginning::Subcommand(&["run", "install"])),
    ("make", Beginning::Target),
    ("just", Beginning::Target),
    ("gradle", Beginning::Target),
    ("ninja", Beginning::Target),
    ("pytest", Beginning::Program),
    ("mypy", Beginning::Program),
    ("ruff", Beginning::Program),
    ("black", Beginning::Program),
    ("tox", Beginning::Program),
    ("eslint", Beginning::Program),
    ("prettier", Beginning::Program),
    ("tsc", Beginning::Program),
    ("jest", Beginning::Program),
    ("vitest", Beginning::Program),
    ("cmake", Beginning::Program),
    ("ctest", Beginning::Program),
    ("rustfmt", Beginning::Program),
    ("mkdir", Beginning::Program),
    ("touch", Beginning::Program),
];
