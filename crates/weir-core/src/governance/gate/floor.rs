//! The hard floor (Z3): what no mode and no rule permits. What it forbids stands in the table
//! beside; this file is how a row of it is compared with a call.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::floor_keys::key_store;
use super::floor_table::{FLOOR, FloorPattern, FloorRule};
use super::{
    Gate, GateContext, GateName, GateOpinion, JudgedCall, Verdict, denying_opinion,
    quote_model_text,
};
use crate::governance::rules::{RuleSet, resolve_path, resolve_word};
use crate::governance::shell::{self, CommandPart, ReadCommand, Redirection, ShellWord};
use crate::tool::{CommandEffect, PathEffect, PathPlace, Tier};

pub(super) struct FloorGate;

impl Gate for FloorGate {
    fn name(&self) -> GateName {
        GateName::Floor
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        let effects = &call.inspection.effects;
        if let Some(opinion) = effects.paths.iter().find_map(|p| self.judge_path(p, context.rules))
        {
            return Some(opinion);
        }
        let mut found: Option<GateOpinion> = None;
        for (command, read) in call.read_commands() {
            let scene = FloorCommand {
                held_inside: is_held_inside(command, &effects.paths),
                ..FloorCommand::from_read(command, context.rules, read)
            };
            if let Some(why) = scene.unread_reason() {
                found.get_or_insert_with(|| self.judge_unreadable(command, why));
            }
            for row in FLOOR.iter().filter(|row| row.matches_command(&scene)) {
                let stronger = |o: &GateOpinion| (o.verdict, o.exact) < (row.verdict, row.exact);
                if found.as_ref().is_none_or(stronger) {
                    found = Some(self.by_row(row, command));
                }
            }
        }
        found
    }
}

impl FloorGate {
    /// A command that is built so that nobody can read it: in no mode without a person.
    fn judge_unreadable(&self, command: &CommandEffect, why: &str) -> GateOpinion {
        let what = quote_model_text(&command.command);
        let reason = format!(
            "`{what}` needs a person's agreement in every mode: {why}, so nobody can tell what it \
             runs. Write it out plainly."
        );
        super::asking_opinion(self, Some("hard floor: unreadable".to_string()), reason)
    }

    fn by_row(&self, row: &FloorRule, command: &CommandEffect) -> GateOpinion {
        let what = quote_model_text(&command.command);
        let reason = match row.verdict {
            Verdict::Deny => format!(
                "`{what}` is refused in every mode: {}. Do without it; a person can do it \
                 themselves.",
                row.why
            ),
            Verdict::Ask | Verdict::Allow => {
                let warning = match (row.of_commits, command.published.is_empty()) {
                    (true, false) => format!(
                        "Careful: {} already has the commit that this makes anew or leaves, and whoever \
                         works with it would have to follow. ",
                        quote_model_text(&command.published.join(", "))
                    ),
                    (true, true) | (false, _) => String::new(),
                };
                format!("{warning}`{what}` needs a person's agreement in every mode: {}.", row.why)
            }
        };
        let rule = Some(format!("hard floor: {}", row.name));
        let exact = row.exact;
        GateOpinion { gate: self.name(), verdict: row.verdict, rule, reason, exact, bound: false }
    }

    /// Files outside the workspace that no tool opens.
    fn judge_path(&self, at: &PathEffect, rules: &RuleSet) -> Option<GateOpinion> {
        if at.place == PathPlace::Inside {
            return None;
        }
        let path = quote_model_text(&at.path);
        if let Some(store) = key_store(&at.path) {
            return Some(denying_opinion(
                self,
                Some("hard floor: keys".into()),
                format!(
                    "{path} belongs to a store of keys ({store}), which nothing opens here in \
                         any mode. Work without it."
                ),
            ));
        }
        is_own(rules, &at.path).then(|| {
            denying_opinion(
                self,
                Some("hard floor: weir's own state".into()),
                format!("{path} belongs to Weir's own state, which no tool touches in any mode."),
            )
        })
    }
}

/// Whether an absolute path lies in one of Weir's own folders.
pub(super) fn is_own(rules: &RuleSet, path: &str) -> bool {
    const USUAL: &[&str] = &["/.local/state/weir", "/.config/weir", "/.local/share/weir"];
    let below = |folder: &str, path: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let hidden = path.contains("/.");
    let usual = |part: &&str| {
        path.find(*part).is_some_and(|at| {
            let rest = &path[at + part.len()..];
            rest.is_empty() || rest.starts_with('/')
        })
    };
    rules.context().own_folders.iter().any(|folder| below(folder.trim_end_matches('/'), path))
        || (hidden && USUAL.iter().any(usual))
}

/// Whether the sandbox lets a command write in the workspace and its own temporary folder only.
fn is_held_inside(command: &CommandEffect, paths: &[PathEffect]) -> bool {
    let stays = |path: &PathEffect| !path.access.is_write() || path.place == PathPlace::Inside;
    command.tier != Tier::None && !command.outside_sandbox && paths.iter().all(stays)
}

/// Whether a command can speak to programs of this machine that it did not start.
fn reaches_programs(command: &CommandEffect) -> bool {
    command.tier == Tier::None || command.outside_sandbox || !command.sockets.is_empty()
}

/// A command as the rows of the table look at it.
pub(super) struct FloorCommand<'a> {
    pub(super) effect: &'a CommandEffect,
    pub(super) rules: &'a RuleSet,
    pub(super) read: &'a ReadCommand,
    /// Nothing outside the workspace can be changed by it, whatever its words come to.
    pub(super) held_inside: bool,
    /// Folder in which each part of what it reaches runs, as far as `cd` tells; `None`: nobody knows.
    folders: Vec<Option<Cow<'a, str>>>,
    /// Where commands begin: number of the part, number of the word.
    heads: Vec<(usize, usize)>,
    /// Every path that a word or a redirection may name, the text of the word before it; looked up when
    /// somebody asks.
    named: OnceCell<Vec<(&'a str, String)>>,
    /// The command line without blanks; made when somebody asks.
    compact: OnceCell<String>,
}

impl<'a> FloorCommand<'a> {
    /// Why nobody can tell what all of it runs, if so.
    fn unread_reason(&self) -> Option<&'static str> {
        self.read.reach.unread
    }

    /// A command whose line was taken apart.
    pub(super) fn from_read(
        effect: &'a CommandEffect,
        rules: &'a RuleSet,
        read: &'a ReadCommand,
    ) -> FloorCommand<'a> {
        let mut folder = Some(Cow::Borrowed(effect.cwd.as_str()));
        let mut folders = Vec::with_capacity(read.reach.parts.len());
        for part in &read.reach.parts {
            folders.push(folder.clone());
            let [program, rest @ ..] = part.words.as_slice() else {
                continue;
            };
            if !matches!(program.text.as_str(), "cd" | "pushd" | "popd") {
                continue;
            }
            let target = rest.iter().find(|w| !w.text.starts_with('-') || w.text == "-");
            let to = target.map_or(Cow::Borrowed("~"), |word| place_text(rules, word));
            folder = folder
                .filter(|_| program.text != "popd" && to != "-")
                .and_then(|from| resolve_path(rules, &from, &to))
                .map(|at| Cow::Owned(at.path));
        }
        let heads = read.reach.parts.iter().enumerate().flat_map(|(number, part)| {
            shell::commands_of(part).map(move |words| (number, part.words.len() - words.len()))
        });
        let heads = heads.collect();
        let (named, compact) = (OnceCell::new(), OnceCell::new());
        FloorCommand { effect, rules, read, held_inside: false, folders, heads, named, compact }
    }

    /// Every command with the folder it runs in.
    pub(super) fn commands(&self) -> impl Iterator<Item = (Option<&str>, &[ShellWord])> {
        self.heads.iter().map(|(part, word)| {
            (self.folders[*part].as_deref(), &self.read.reach.parts[*part].words[*word..])
        })
    }

    /// Every command with the part that it stands in.
    pub(super) fn commands_in_parts(&self) -> impl Iterator<Item = (&CommandPart, &[ShellWord])> {
        self.heads.iter().map(|(part, word)| {
            let part = &self.read.reach.parts[*part];
            (part, &part.words[*word..])
        })
    }

    /// Every part with the folder it runs in.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Option<&str>, &CommandPart)> {
        self.read.reach.parts.iter().zip(&self.folders).map(|(part, f)| (f.as_deref(), part))
    }

    /// The command line without blanks.
    pub(super) fn compact_text(&self) -> &str {
        self.compact
            .get_or_init(|| self.effect.command.chars().filter(|c| !c.is_whitespace()).collect())
    }

    /// Every path that a word or a redirection may name, the text of the word before it.
    pub(super) fn named_paths(&self) -> impl Iterator<Item = (&str, &str)> {
        let (read, rules) = (self.read, self.rules);
        let named = self.named.get_or_init(|| {
            let mut found = Vec::new();
            for (part, folder) in read.reach.parts.iter().zip(&self.folders) {
                push_named_paths(part, folder.as_deref(), rules, &mut found);
            }
            found
        });
        named.iter().map(|(word, path)| (*word, path.as_str()))
    }
}

/// The text of a word that names a place, where the shell puts in the home of somebody by name (`~me`), or the
/// folder it is in or was in (`~+`, `~-`).
pub(super) fn place_text<'w>(rules: &RuleSet, word: &'w ShellWord) -> Cow<'w, str> {
    let text = word.text.as_str();
    let Some(after) = text.strip_prefix('~').filter(|_| word.expands) else {
        return Cow::Borrowed(text);
    };
    let (name, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
    let home = rules.context().home.as_deref().unwrap_or("/~").trim_end_matches('/');
    let (homes, own) = home.rsplit_once('/').unwrap_or(("", home));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    match name {
        "" => Cow::Borrowed(text),
        "+" => Cow::Owned(format!("$PWD{rest}")),
        "-" => Cow::Owned(format!("$OLDPWD{rest}")),
        "root" => Cow::Owned(format!("/root{rest}")),
        name if name == own => Cow::Owned(format!("~{rest}")),
        name if name.chars().all(is_name) => Cow::Owned(format!("{homes}/{name}{rest}")),
        _ => Cow::Borrowed(text),
    }
}

fn push_named_paths<'a>(
    part: &'a CommandPart,
    folder: Option<&str>,
    rules: &RuleSet,
    found: &mut Vec<(&'a str, String)>,
) {
    // What a variable holds, or is handed over as a text, is named as well as a word.
    let names = |redirection: &&Redirection| redirection.is_file() || redirection.operator == "<<<";
    let targets = part.redirections.iter().filter(names).map(|redirection| &redirection.target);
    for word in part.words.iter().chain(&part.assignments).chain(targets) {
        let text = word.text.as_str();
        found.extend(resolve_word(rules, folder.unwrap_or("/?"), text).map(|at| (text, at.path)));
        if text.contains(['/', '\\']) {
            // What cannot be resolved is compared by its letters.
            found.push((text, format!("/{text}")));
        }
    }
}

impl FloorRule {
    /// Whether the row is about this command.
    pub(super) fn matches_command(&self, scene: &FloorCommand<'_>) -> bool {
        if self.unheld && !reaches_programs(scene.effect) {
            return false;
        }
        match &self.pattern {
            FloorPattern::Program(names) => scene.commands().any(|(_, words)| {
                let name = shell::head_name(&words[0]);
                is_one_of(names, name)
            }),
            FloorPattern::Check(check) => check(scene),
        }
    }
}

/// Whether `name` is one of these, where a `*` at the end of one stands for anything.
pub(super) fn is_one_of(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches_name_pattern(pattern, name))
}

/// Whether `text` is `pattern`, where a `*` at the end of the pattern stands for anything.
fn matches_name_pattern(pattern: &str, text: &str) -> bool {
    // Nearly all of them begin with another letter.
    let first = pattern.bytes().next();
    if first != text.bytes().next() && first != Some(b'*') {
        return false;
    }
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == pattern,
    }
}

/// The same for an argument: `-f` also stands in `-uf`.
pub(super) fn fits_argument(pattern: &str, text: &str) -> bool {
    let flag = |text: &str| {
        let letters = text.strip_prefix('-')?;
        letters.bytes().all(|b| b.is_ascii_alphabetic()).then(|| letters.to_string())
    };
    if matches_name_pattern(pattern, text) {
        return true;
    }
    match (flag(pattern), flag(text)) {
        (Some(wanted), Some(given)) => wanted.len() == 1 && given.contains(&wanted),
        _ => false,
    }
}
