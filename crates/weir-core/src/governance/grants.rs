//! Rights that are granted by name (U13): the package registries that a workspace's files show, and the
//! remotes that its repository names. Which calls one covers is decided here, purely.
//!
//! A grant covers a call only while the workspace still shows the very same one, and only what it says:
//! its hosts, from a plain line of the programs that it names. Not here: which files there are (the
//! engine looks), how long a grant holds (`lease`), and what no lease covers (the flow table).

use crate::governance::CONNECT;
use crate::governance::shell::{self, CommandLine, CommandPart, ShellWord};
use crate::label::{Label, Privacy};
use crate::tool::{CommandEffect, Effects, NamedGrant, Tier};

mod registries;
mod remotes;
#[cfg(test)]
mod tests;

pub use remotes::remote_grants;

use registries::{NO_SUBCOMMAND, OperandShape, PackageRegistry, ProgramCommands, REGISTRIES};

/// What may stand in a line of git that fetches: no option that names a program, a place or a force.
const FETCH_OPTIONS: &[&str] = &[
    "-p",
    "--prune",
    "-t",
    "--tags",
    "--no-tags",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--progress",
    "--depth",
    "--unshallow",
    "--ff-only",
    "--ff",
    "--no-ff",
    "--rebase",
    "--no-rebase",
    "--autostash",
    "--no-edit",
    "--heads",
    "--refs",
    "--dry-run",
];
/// The same of a line that pushes: nothing that takes away, and nothing that skips what looks at it.
const PUSH_OPTIONS: &[&str] = &[
    "-u",
    "--set-upstream",
    "--tags",
    "--follow-tags",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--progress",
    "-n",
    "--dry-run",
];

/// Names of files by which a workspace shows which registries it uses.
pub fn marker_files() -> impl Iterator<Item = &'static str> {
    REGISTRIES.iter().flat_map(|registry| registry.markers.iter().copied())
}

/// The grants for the registries that a workspace uses, by the markers of [`marker_files`] that it has.
pub fn registry_grants(has_marker: impl Fn(&str) -> bool) -> Vec<NamedGrant> {
    let used = |registry: &&PackageRegistry| registry.markers.iter().any(|name| has_marker(name));
    REGISTRIES.iter().filter(used).map(grant_of_registry).collect()
}

fn grant_of_registry(registry: &PackageRegistry) -> NamedGrant {
    let commands = registry.programs.iter().flat_map(|program| {
        let words = program.words.join(" ");
        program.subcommands.iter().map(move |sub| match *sub {
            NO_SUBCOMMAND => words.clone(),
            sub => format!("{words} {sub}"),
        })
    });
    NamedGrant {
        name: registry.name.into(),
        hosts: registry.hosts.iter().map(|host| (*host).to_owned()).collect(),
        commands: commands.collect(),
    }
}

/// The grant that would cover a call with these effects: the first of those that its workspace shows.
pub fn covering_grant(effects: &Effects) -> Option<&NamedGrant> {
    effects.named_grants.iter().find(|grant| grant_rule_texts(grant, effects).is_some())
}

/// Whether a context with this label tells the hosts of a registry nothing that they could not have: the
/// foreign words in it are theirs, and the private ones the workspace's, which the code of their packages
/// reads anyway while the agreed command builds it. Never of a remote: its own code runs nowhere.
pub(in crate::governance) fn is_told_already(grant: &NamedGrant, label: &Label) -> bool {
    let is_it =
        |known: &PackageRegistry| known.name == grant.name && grant_of_registry(known) == *grant;
    let is_registry = REGISTRIES.iter().any(is_it);
    let is_theirs = |origin: &String| grant.hosts.contains(origin);
    let is_at_hand = |source: &String| matches!(source.as_str(), "workspace" | "command");
    is_registry
        && label.privacy <= Privacy::Private
        && label.origins.iter().all(is_theirs)
        && label.sources.iter().all(is_at_hand)
}

/// The rules that `grant` comes to for a call with these effects and for no other; `None`: it does not
/// cover the call.
pub(in crate::governance) fn grant_rule_texts(
    grant: &NamedGrant,
    effects: &Effects,
) -> Option<Vec<String>> {
    // The workspace may have changed since: then it is another grant, and a person is asked.
    if !effects.named_grants.contains(grant) || effects.commands.is_empty() {
        return None;
    }
    let is_way = |host: &crate::tool::HostEffect| host.method == CONNECT && host.secret.is_none();
    let within = |host: &String| grant.hosts.contains(host);
    if !effects.hosts.iter().all(|host| is_way(host) && within(&host.url)) {
        return None;
    }
    let nothing_else = effects.sends.is_empty()
        && effects.acts.is_empty()
        && effects.queries.is_empty()
        && effects.enables.is_empty()
        && effects.remembers.is_empty()
        && effects.brain.is_none()
        && effects.spawns.is_none()
        && !effects.unknown;
    if !nothing_else {
        return None;
    }
    let mut texts: Vec<String> =
        effects.hosts.iter().map(|host| format!("Web({})", host.host)).collect();
    for command in &effects.commands {
        texts.extend(command_rule_texts(grant, command)?);
    }
    texts.sort_unstable();
    texts.dedup();
    Some(texts)
}

/// A rule for each part of the line that the grant is for; `None` where the line is more than that.
fn command_rule_texts(grant: &NamedGrant, command: &CommandEffect) -> Option<Vec<String>> {
    let bounded = command.tier != Tier::None && !command.outside_sandbox && !command.background;
    let hosts_only = command.ports.is_empty()
        && command.serves.is_empty()
        && command.sockets.is_empty()
        && command.secrets.is_empty();
    let reaches =
        !command.hosts.is_empty() && command.hosts.iter().all(|host| grant.hosts.contains(host));
    // What shows hidden files, or rewrites what others have, is asked about on its own.
    let plain = command.uncovers.is_empty() && command.published.is_empty();
    if !bounded || !hosts_only || !reaches || !plain {
        return None;
    }
    let line = shell::parse_command_line(&command.command);
    if !is_simple(&line) {
        return None;
    }
    let family = GrantFamily::find(grant, command)?;
    let mut texts = Vec::new();
    for part in &line.parts {
        if let Some(words) = family.covered_words(part) {
            texts.push(format!("Shell({}:*)", words.join(" ")));
        } else if !shell::is_reader(part, false) && !family.may_go(part) {
            return None;
        }
    }
    (!texts.is_empty()).then_some(texts)
}

/// Whether a line says in plain words all that it runs.
fn is_simple(line: &CommandLine) -> bool {
    line.is_readable()
        && !line.computes
        && !line.substitution
        && !line.background
        && line.functions.is_empty()
}

/// Whose commands a grant is for.
enum GrantFamily<'a> {
    Registry(&'static PackageRegistry),
    /// The beginnings of the commands, with the name of the remote where one is needed.
    Git(&'a [String]),
}

impl<'a> GrantFamily<'a> {
    fn find(grant: &'a NamedGrant, command: &CommandEffect) -> Option<GrantFamily<'a>> {
        if let Some(registry) = REGISTRIES.iter().find(|registry| registry.name == grant.name) {
            return Some(GrantFamily::Registry(registry));
        }
        // In another folder stands another repository, whose remotes are not these.
        let at_root = matches!(command.cwd.as_str(), "" | ".");
        let of_git = grant.commands.iter().all(|command| command.starts_with("git "));
        (at_root && of_git).then_some(GrantFamily::Git(&grant.commands))
    }

    /// The words by which `part` is known as one of them; `None`: it is not.
    fn covered_words<'p>(&self, part: &'p CommandPart) -> Option<Vec<&'p str>> {
        let words = shell::unwrap_command(part)?;
        // What it writes beside would be judged as covered as well.
        let quiet = part.redirections.iter().all(|redirection| {
            let silent = redirection.target.text == "/dev/null" && !redirection.target.expands;
            silent || !redirection.is_file()
        });
        if !quiet || words.iter().any(|word| word.expands) {
            return None;
        }
        let words: Vec<&str> = words.iter().map(text_of).collect();
        let taken = match self {
            GrantFamily::Registry(registry) => {
                registry.programs.iter().find_map(|program| program.covered_count(&words))?
            }
            GrantFamily::Git(commands) => covered_git_count(commands, &words)?,
        };
        words.get(..taken).map(<[&str]>::to_vec)
    }

    /// Whether a part only changes the folder, where that leads to no other rights. Whether it stays
    /// in the workspace is judged with the rules.
    fn may_go(&self, part: &CommandPart) -> bool {
        matches!(self, GrantFamily::Registry(_))
            && part.assignments.is_empty()
            && matches!(part.words.as_slice(), [go, to] if go.text == "cd" && !to.expands)
    }
}

fn text_of(word: &ShellWord) -> &str {
    &word.text
}

impl ProgramCommands {
    /// How many words say that this is one of the commands; `None`: it is not, or not for certain.
    fn covered_count(&self, words: &[&str]) -> Option<usize> {
        let rest = words.strip_prefix(self.words)?;
        if self.operands == OperandShape::Subcommands {
            let known = |word: &&str| self.subcommands.contains(word) || self.takes_option(word);
            let any = rest.iter().any(|word| self.subcommands.contains(word));
            return (any && rest.iter().all(known)).then_some(self.words.len());
        }
        let (taken, rest) = match rest.split_first() {
            Some((first, rest)) if self.subcommands.contains(first) => (1, rest),
            None if self.subcommands.contains(&NO_SUBCOMMAND) => (0, rest),
            Some(_) | None => return None,
        };
        // Behind `--` stands what the workspace's own tests are told.
        let end = rest.iter().position(|word| *word == "--").unwrap_or(rest.len());
        let (own, after) = rest.split_at(end);
        let known = own.iter().all(|word| match word.starts_with('-') {
            true => self.takes_option(word),
            false => self.operands.fits(word),
        });
        let ends = after.is_empty() || self.options.contains(&"--");
        (known && ends).then_some(self.words.len() + taken)
    }

    fn takes_option(&self, word: &str) -> bool {
        let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        self.options.contains(&name) && value.is_none_or(|value| OperandShape::Names.fits(value))
    }
}

impl OperandShape {
    /// Whether a word is of this shape: no address, nothing outside the workspace, no option.
    fn fits(self, word: &str) -> bool {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.,@+=<>!^*[]~".contains(c);
        let begins = |c: char| c.is_ascii_alphanumeric();
        let slashes = word.matches('/').count();
        match self {
            // `path::to::test` is a name; `host:path` is not.
            OperandShape::Names => {
                let word = word.replace("::", "");
                word.starts_with(begins)
                    && word.chars().all(|c| allowed(c) || c == '/')
                    && !word.split('/').any(|step| step == "..")
            }
            OperandShape::ScopedNames => {
                let scoped = word.strip_prefix('@').filter(|_| slashes == 1);
                let name = scoped.unwrap_or(word);
                (scoped.is_some() || slashes == 0)
                    && name.starts_with(begins)
                    && name.chars().all(|c| allowed(c) || c == '/')
                    && !is_archive(name)
            }
            OperandShape::Paths => {
                !word.is_empty()
                    && word.starts_with(|c: char| begins(c) || c == '.')
                    && word.chars().all(|c| allowed(c) || c == '/')
                    && !word.split('/').any(|step| step == "..")
            }
            OperandShape::Subcommands => false,
        }
    }
}

/// Whether npm and its like would take a name for a file.
fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tgz", ".tar", ".tar.gz"].iter().any(|end| name.ends_with(end))
}

/// How many words say that this is one of `commands`: `git fetch`, which stands alone, or `git fetch
/// origin` with what is fetched.
fn covered_git_count(commands: &[String], words: &[&str]) -> Option<usize> {
    let ["git", sub, rest @ ..] = words else { return None };
    let options = if *sub == "push" { PUSH_OPTIONS } else { FETCH_OPTIONS };
    let takes = |word: &&&str| {
        let (name, value) = word.split_once('=').map_or((**word, ""), |(n, v)| (n, v));
        options.contains(&name) && value.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let (flags, operands): (Vec<&&str>, Vec<&&str>) =
        rest.iter().partition(|word| word.starts_with('-'));
    let command = match operands.first() {
        Some(remote) => format!("git {sub} {remote}"),
        None => format!("git {sub}"),
    };
    let is_ref = |word: &&&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:".contains(c);
        // `+main` forces, `:main` takes away.
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.chars().all(plain)
            && !word.contains("://")
    };
    let known = flags.iter().all(takes)
        && operands.iter().skip(1).all(is_ref)
        && commands.contains(&command);
    known.then_some(2)
}
