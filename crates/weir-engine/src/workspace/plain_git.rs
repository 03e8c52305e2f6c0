//! Which commands of git are plain: known by their name and their words to run no program that the
//! line names, and to write nowhere but where git keeps things (A1).
//!
//! A list of what is known; what is not on it gets no writable `.git`. Not here: what the settings
//! and hooks of a repository run, which are the person's, and whether a command may run.

use weir_core::governance::shell::{self, CommandPart, ShellWord};

/// Commands no option of which names a program: a word that the shell computes may stand in them.
const ANY_WORDS: [&str; 19] = [
    "add",
    "branch",
    "checkout",
    "clean",
    "commit",
    "gc",
    "hash-object",
    "mv",
    "notes",
    "pack-refs",
    "prune",
    "repack",
    "reset",
    "restore",
    "rm",
    "switch",
    "symbolic-ref",
    "tag",
    "update-ref",
];
/// Commands whose options are looked at, so that each of them must stand there.
const TOLD_WORDS: [&str; 33] = [
    "am",
    "apply",
    "cherry-pick",
    "clone",
    "commit-tree",
    "describe",
    "diff",
    "fetch",
    "fsck",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "merge",
    "merge-tree",
    "mktree",
    "pull",
    "push",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "revert",
    "shortlog",
    "show",
    "sparse-checkout",
    "stash",
    "status",
    "update-index",
    "update-server-info",
    "write-tree",
];
/// Commands with words of their own, and which of those are known.
const WITH_VERBS: [(&str, &[&str]); 4] = [
    ("bisect", &["start", "good", "bad", "new", "old", "skip", "reset", "log", "terms"]),
    (
        "lfs",
        &["track", "untrack", "ls-files", "status", "fetch", "pull", "push", "checkout", "version"],
    ),
    ("submodule", &["add", "init", "status", "update", "sync", "deinit", "summary"]),
    ("worktree", &["add", "list", "lock", "move", "prune", "remove", "repair", "unlock"]),
];
/// Options of `git config` that change nothing of which file is meant.
const OF_CONFIG: [&str; 18] = [
    "--add",
    "--all",
    "--bool",
    "--default",
    "--get",
    "--get-all",
    "--get-regexp",
    "--int",
    "--list",
    "--local",
    "--name-only",
    "--path",
    "--replace-all",
    "--show-origin",
    "--show-scope",
    "--type",
    "--unset",
    "--unset-all",
];
/// What prints the name of a branch, which never begins like an option.
const TELLS_BRANCH: [&str; 3] = [
    "$(git branch --show-current)",
    "$(git rev-parse --abbrev-ref HEAD)",
    "$(git symbolic-ref --short HEAD)",
];
/// Options before the command that change nothing of what it does.
const QUIET: [&str; 4] = ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// Settings for one command that say who commits and how git speaks, and run nothing.
const SETTINGS: [&str; 9] = [
    "advice.detachedhead=",
    "color.ui=",
    "commit.gpgsign=false",
    "core.quotepath=",
    "gc.auto=0",
    "init.defaultbranch=",
    "tag.gpgsign=false",
    "user.email=",
    "user.name=",
];

/// Whether a part of a line, whose program is git, is plain.
pub(super) fn is_plain_git(part: &CommandPart) -> bool {
    let Some((program, mut words)) = part.words.split_first() else { return false };
    if shell::is_reading_command(&part.words) {
        return program.text == "git";
    }
    loop {
        words = match words {
            [at, folder, rest @ ..] if at.text == "-C" && !folder.splits => rest,
            [sets, setting, rest @ ..] if sets.text == "-c" && is_harmless_setting(setting) => rest,
            [quiet, rest @ ..] if QUIET.contains(&quiet.text.as_str()) => rest,
            _ => break,
        };
    }
    let Some((name, rest)) = words.split_first() else { return false };
    if name.expands {
        return false;
    }
    let name = name.text.as_str();
    if ANY_WORDS.contains(&name) {
        return options_are_plain(name, rest);
    }
    let literal = || !has_hidden_option(rest);
    if name == "config" {
        return literal() && config_is_plain(rest);
    }
    if let Some((_, verbs)) = WITH_VERBS.iter().find(|(known, _)| *known == name) {
        let known = |word: &ShellWord| !word.expands && verbs.contains(&word.text.as_str());
        return literal() && rest.first().is_none_or(known) && options_are_plain(name, rest);
    }
    TOLD_WORDS.contains(&name) && literal() && options_are_plain(name, rest)
}

fn is_harmless_setting(word: &ShellWord) -> bool {
    let text = word.text.to_ascii_lowercase();
    !word.splits && SETTINGS.iter().any(|known| text.starts_with(known))
}

/// Whether a word could come out as an option that does not stand there.
fn has_hidden_option(words: &[ShellWord]) -> bool {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let mut before = "";
    words[..end].iter().any(|word| {
        let is_value = matches!(before, "-m" | "-F" | "--message" | "--file") && !word.splits;
        before = word.text.as_str();
        word.expands
            && !is_value
            && !TELLS_BRANCH.contains(&word.text.as_str())
            && word.text.starts_with(['-', '$', '`', '*', '?', '[', '{', '~'])
            && !has_plain_value(&word.text)
    })
}

/// `--message=$TEXT`: only what follows the sign is computed.
fn has_plain_value(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    text.starts_with("--")
        && name.len() < text.len()
        && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphabetic())
}

/// Whether none of the options that stand there names a program or a file that is written.
fn options_are_plain(name: &str, words: &[ShellWord]) -> bool {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    (0..end).all(|at| shell::git_option_target(name, &words[..end], at).is_none())
}

/// Whether it means the settings of the repository, which are guarded themselves.
fn config_is_plain(words: &[ShellWord]) -> bool {
    words.iter().filter(|word| word.text.starts_with('-')).all(|word| {
        let option = word.text.split('=').next().unwrap_or_default();
        OF_CONFIG.contains(&option) || matches!(option, "-l" | "-z")
    })
}
