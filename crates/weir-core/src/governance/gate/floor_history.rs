//! What of the hard floor is about the history that git keeps (Z3): what overwrites it, makes it anew,
//! throws it away, or takes away the last way back to it; and words that the shell computes where one
//! of them could do that. Not here: the rows (`floor_table`), the files in `.git` (`floor_git`), and
//! what a script that lies in a file does.

use super::floor::{FloorCommand, fits_argument};
use crate::governance::shell::{self, CommandPart, ShellWord};

/// Options of git that stand before its subcommand and take a word.
const WITH_VALUE: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];

/// One command that is git, or whose program is computed and could be.
pub(super) struct GitCommand<'s> {
    /// Nobody can tell whether it is git.
    pub(super) guessed: bool,
    /// The part it stands in.
    part: &'s CommandPart,
    /// What stands before it in the part: `env`, `xargs`, …
    above: &'s [ShellWord],
    /// Options before the subcommand, with their words.
    pub(super) before: &'s [ShellWord],
    /// `commit`, `push`, …; `None`: there is none.
    name: Option<&'s ShellWord>,
    /// What follows it.
    pub(super) rest: &'s [ShellWord],
    /// Another program adds words that stand nowhere.
    pub(super) fed: bool,
}

impl<'s> GitCommand<'s> {
    fn from_words(part: &'s CommandPart, words: &'s [ShellWord]) -> Option<GitCommand<'s>> {
        let (head, after) = words.split_first()?;
        let guessed = head.expands;
        let dashed = shell::head_name(head).strip_prefix("git-");
        if !guessed && dashed.is_none() && shell::head_name(head) != "git" {
            return None;
        }
        let above = &part.words[..part.words.len() - words.len()];
        let feeds = |word: &ShellWord| matches!(shell::head_name(word), "xargs" | "parallel");
        let fed = above.iter().any(feeds);
        if dashed.is_some() && !guessed {
            return Some(GitCommand {
                guessed,
                part,
                above,
                before: &[],
                name: Some(head),
                rest: after,
                fed,
            });
        }
        let mut at = 0;
        while let Some(word) = after.get(at).filter(|word| word.text.starts_with('-')) {
            at += if WITH_VALUE.contains(&word.text.as_str()) { 2 } else { 1 };
        }
        let at = at.min(after.len());
        let (before, from) = after.split_at(at);
        let (name, rest) = match from.split_first() {
            Some((name, rest)) => (Some(name), rest),
            None => (None, from),
        };
        Some(GitCommand { guessed, part, above, before, name, rest, fed })
    }

    /// The subcommand as it is written.
    pub(super) fn name(&self) -> &str {
        let name = self.name.map_or("", shell::head_name);
        name.strip_prefix("git-").unwrap_or(name)
    }

    fn has_word(&self, wanted: &[&str]) -> bool {
        self.rest.iter().any(|word| wanted.contains(&word.text.as_str()))
    }

    /// Whether a long option stands there, also cut short to no fewer letters than `least`.
    pub(super) fn has_long(&self, option: &str, least: usize) -> bool {
        self.rest.iter().any(|word| is_cut(&word.text, option, least))
    }

    /// Whether a letter stands in a group of short options.
    fn has_letter(&self, letter: char) -> bool {
        let group = |word: &&ShellWord| word.text.starts_with('-') && !word.text.starts_with("--");
        self.rest.iter().filter(group).any(|word| word.text.contains(letter))
    }

    /// The words after the subcommand that no option before them takes, and whether each stands
    /// after `--`.
    fn free_words(&self) -> Vec<(&'s ShellWord, bool)> {
        let (letters, long) = taking_a_word(self.name());
        let mut free = Vec::new();
        let mut words = self.rest.iter();
        while let Some(word) = words.next() {
            if word.text == "--" && !word.expands {
                free.extend(words.map(|word| (word, true)));
                break;
            }
            free.push((word, false));
            if !word.expands && takes_next(&word.text, letters, long) {
                // What may be several words is more than the one that is taken.
                free.extend(words.next().filter(|word| word.splits).map(|word| (word, false)));
            }
        }
        free
    }
}

/// Letters and names of the options of a subcommand that take the next word.
fn taking_a_word(subcommand: &str) -> (&'static str, &'static [&'static str]) {
    match subcommand {
        "commit" => (
            "mFCct",
            &[
                "--message",
                "--file",
                "--reuse-message",
                "--reedit-message",
                "--author",
                "--date",
                "--template",
                "--fixup",
                "--squash",
                "--trailer",
                "--cleanup",
                "--pathspec-from-file",
            ],
        ),
        "stash" => ("m", &["--message"]),
        "push" => ("o", &["--push-option", "--repo", "--receive-pack", "--exec"]),
        "branch" => ("u", &["--set-upstream-to"]),
        _ => ("", &[]),
    }
}

/// Letters of a group after which the rest of it is a value, if there is any.
const WITH_REST: &str = "Su";

fn takes_next(text: &str, letters: &str, long: &[&str]) -> bool {
    if text.starts_with("--") {
        return long.contains(&text);
    }
    let Some(group) = text.strip_prefix('-') else { return false };
    let value = group.find(|c| letters.contains(c) || WITH_REST.contains(c));
    value.is_some_and(|at| at + 1 == group.len() && letters.contains(&group[at..]))
}

/// Whether `text` is a long option, whole or cut short as git lets one do.
fn is_cut(text: &str, option: &str, least: usize) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() >= least && option.starts_with(name)
}

/// Every command that is git, or could be.
pub(super) fn git_commands<'s>(
    scene: &'s FloorCommand<'_>,
) -> impl Iterator<Item = GitCommand<'s>> {
    scene.commands_in_parts().filter_map(|(part, words)| GitCommand::from_words(part, words))
}

fn any_git_command(scene: &FloorCommand<'_>, test: impl Fn(&GitCommand<'_>) -> bool) -> bool {
    git_commands(scene).any(|git| test(&git))
}

/// The same for what is git without a doubt.
fn any_certain(scene: &FloorCommand<'_>, test: impl Fn(&GitCommand<'_>) -> bool) -> bool {
    any_git_command(scene, |git| !git.guessed && test(git))
}

pub(super) fn forces_a_push(scene: &FloorCommand<'_>) -> bool {
    any_certain(scene, is_forced_push)
}

fn is_forced_push(git: &GitCommand<'_>) -> bool {
    // A setting for this one command that says what is pushed: all there is, or what stands behind a plus sign.
    let is_set = |word: &ShellWord| {
        let text = word.text.strip_prefix("-c").unwrap_or(&word.text).to_ascii_lowercase();
        text.trim_start().starts_with("remote.")
            && (text.contains(".mirror") || text.contains(".push=+"))
    };
    matches!(git.name(), "push" | "send-pack" | "http-push")
        && (git.before.iter().any(is_set)
            || git.rest.iter().any(|word| {
                ["--for*", "-f", "--mi*", "+*"].iter().any(|form| fits_argument(form, &word.text))
            }))
}

pub(super) fn rewrites_history(scene: &FloorCommand<'_>) -> bool {
    let tool =
        |words: &[ShellWord]| matches!(shell::head_name(&words[0]), "bfg" | "git-filter-repo");
    scene.commands().any(|(_, words)| tool(words)) || any_certain(scene, is_history_rewrite)
}

fn is_history_rewrite(git: &GitCommand<'_>) -> bool {
    match git.name() {
        "filter-branch" | "filter-repo" | "replace" => true,
        "reflog" => git.has_word(&["expire", "delete", "drop"]),
        "update-ref" => {
            git.has_word(&["-d"]) || git.has_long("--delete", 4) || git.has_long("--stdin", 4)
        }
        _ => false,
    }
}

pub(super) fn rewrites_commits(scene: &FloorCommand<'_>) -> bool {
    // What the person's own commit was a moment ago, the reflog keeps, and nobody has to follow (U13).
    let command = scene.effect;
    let own = command.renews_own_commit && command.published.is_empty() && !command.outside_sandbox;
    any_certain(scene, |git| makes_commits_anew(git) && !(own && git.name() == "commit"))
}

fn makes_commits_anew(git: &GitCommand<'_>) -> bool {
    match git.name() {
        "rebase" => !git.has_word(&["--abort", "--quit", "--show-current-patch", "--help", "-h"]),
        "commit" => {
            let free = git.free_words();
            free.iter().any(|(word, operand)| !operand && is_cut(&word.text, "--amend", 4))
        }
        _ => false,
    }
}

pub(super) fn discards_history(scene: &FloorCommand<'_>) -> bool {
    any_certain(scene, is_discarding)
}

fn is_discarding(git: &GitCommand<'_>) -> bool {
    match git.name() {
        "reset" => git.has_long("--hard", 4),
        "branch" => {
            let forced = git.has_letter('f') || git.has_long("--force", 4);
            ['D', 'M', 'C'].into_iter().any(|letter| git.has_letter(letter)) || forced
        }
        "stash" => git.has_word(&["clear", "drop"]),
        _ => false,
    }
}

/// What is lost for good: what no branch leads to goes with the reflog and with the objects.
pub(super) fn takes_the_way_back(scene: &FloorCommand<'_>) -> bool {
    any_certain(scene, is_last_way)
}

fn is_last_way(git: &GitCommand<'_>) -> bool {
    // A setting for this one command that lets things expire: `gc.pruneExpire`, `gc.reflogExpire`, …
    let expires = git.before.iter().any(|word| {
        let text = word.text.strip_prefix("-c").unwrap_or(&word.text).to_ascii_lowercase();
        text.trim_start().starts_with("gc.") && text.contains("expire")
    });
    let looks = git.has_word(&["-n", "--dry-run", "-h", "--help"]);
    expires
        || match git.name() {
            "gc" => git
                .rest
                .iter()
                .any(|word| word.text.contains('=') && is_cut(&word.text, "--prune", 4)),
            "prune" => !looks,
            "repack" => {
                git.has_letter('a') && git.has_letter('d')
                    || git.has_long("--unpack-unreachable", 4)
                    || git.has_long("--cruft-expiration", "--cruft-".len())
            }
            "update-ref" => !git.rest.is_empty() && !git.has_word(&["-h", "--help"]),
            "fast-import" => git.has_long("--force", 4),
            "push" => {
                let removes = |word: &ShellWord| word.text.starts_with(':') && word.text.len() > 1;
                git.has_letter('d')
                    || git.has_long("--delete", 4)
                    || git.has_long("--prune", 5)
                    || git.rest.iter().any(removes)
            }
            _ => false,
        }
}

/// Words that nobody can tell, where one of them could do any of the above.
pub(super) fn computes_words_for_git(scene: &FloorCommand<'_>) -> bool {
    any_git_command(scene, |git| if git.guessed { would_harm(git) } else { is_computed(git) })
}

/// Whether it would be one of the above if its program were git.
fn would_harm(git: &GitCommand<'_>) -> bool {
    [is_forced_push, is_history_rewrite, makes_commits_anew, is_discarding, is_last_way]
        .iter()
        .any(|test| test(git))
}

fn is_computed(git: &GitCommand<'_>) -> bool {
    if is_renamed(git) {
        return true;
    }
    let Some(name) = git.name else { return git.before.iter().any(|word| word.splits) };
    if name.expands {
        return true;
    }
    let free = git.free_words();
    let fed = git.fed && !free.iter().any(|(_, operand)| *operand);
    match git.name() {
        "commit" | "reset" => {
            fed || free.iter().any(|(word, operand)| !operand && can_hide_options(word))
        }
        "gc" | "repack" => fed || free.iter().any(|(word, _)| word.expands),
        "push" => fed || free.iter().any(|(word, _)| can_hide_options(word)),
        "branch" => {
            // Alone a word is the name of a branch: an option would do nothing.
            let alone = free.len() == 1;
            fed || free.iter().any(|(word, operand)| {
                !operand && (word.splits || (can_hide_options(word) && !alone))
            })
        }
        "stash" | "reflog" => match git.rest.first() {
            Some(word) => can_hide_options(word),
            None => git.fed,
        },
        _ => false,
    }
}

/// Whether a setting that stands in the line gives git other words: an alias, settings by variables.
fn is_renamed(git: &GitCommand<'_>) -> bool {
    let alias = |word: &ShellWord| {
        let text = word.text.strip_prefix("-c").unwrap_or(&word.text).to_ascii_lowercase();
        text.trim_start().starts_with("alias.") || text.starts_with("--config-env")
    };
    let variable = |word: &ShellWord| {
        word.text.starts_with("GIT_CONFIG") || word.text.starts_with("GIT_EXEC_PATH")
    };
    git.before.iter().any(alias) || git.part.assignments.iter().chain(git.above).any(variable)
}

/// Whether a word could come out as any option, or as several words.
pub(super) fn can_hide_options(word: &ShellWord) -> bool {
    if word.splits {
        return true;
    }
    if !word.expands {
        return false;
    }
    let plain = word.text.find(['$', '`', '*', '?', '[', '{', '~']).unwrap_or(word.text.len());
    match &word.text[..plain] {
        "" => true,
        // The name of the option stands there; what is computed is its value.
        long if long.starts_with("--") => !long.contains('='),
        short if short.starts_with('-') => !short.contains(['m', 'F']),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::{RuleContext, RuleSet};
    use crate::governance::shell::ReadCommand;
    use crate::tool::CommandEffect;

    #[test]
    fn z3_other_words_for_a_forced_push_and_for_throwing_away_are_known() {
        let context = RuleContext { workspace: "/work/ws".into(), ..RuleContext::default() };
        let rules = RuleSet::new(context);
        let meets = |line: &str, row: fn(&FloorCommand<'_>) -> bool| {
            let effect =
                CommandEffect { command: line.into(), cwd: ".".into(), ..CommandEffect::default() };
            let read = ReadCommand::from_text(line);
            row(&FloorCommand::from_read(&effect, &rules, &read))
        };
        for line in [
            "git send-pack --force origin main",
            "git send-pack origin +main",
            "git http-push -f https://example.org/x main",
            "/usr/lib/git-core/git-send-pack --mirror origin",
            "git -c remote.origin.mirror=true push origin",
            "git -cRemote.origin.Push=+refs/heads/*:refs/heads/* push",
        ] {
            assert!(meets(line, forces_a_push), "{line}");
        }
        for line in [
            "git send-pack origin main",
            "git -c remote.origin.push=refs/heads/main push",
            "git -c remote.origin.mirror=true fetch origin",
        ] {
            assert!(!meets(line, forces_a_push), "{line}");
        }
        assert!(meets("git repack -d --cruft --cruft-expiration=now", takes_the_way_back));
        assert!(!meets("git repack -d --cruft", takes_the_way_back));
    }
}
