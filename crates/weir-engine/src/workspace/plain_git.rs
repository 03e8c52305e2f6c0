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
    // What makes and moves one keeps things in `.git` that git acts on later, and there none would stay:
    // the copy of the files would be left alone.
    ("worktree", &["list"]),
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
/// What prints the name of a branch, which has no blanks and does not begin like an option: a HEAD that
/// would is not set by a plain line.
const TELLS_BRANCH: [&str; 3] = [
    "$(git branch --show-current)",
    "$(git rev-parse --abbrev-ref HEAD)",
    "$(git symbolic-ref --short HEAD)",
];
/// Those that take a message behind these options. To others `-m` and `-F` are options without a value.
const TAKES_MESSAGE: [&str; 3] = ["commit-tree", "merge", "stash"];
const MESSAGE: [&str; 4] = ["-m", "-F", "--message", "--file"];
/// Options without a value, to every command that has them and is plain: what follows stands for itself.
const FLAGS: [&str; 27] = [
    "--abbrev-commit",
    "--all",
    "--cached",
    "--decorate",
    "--first-parent",
    "--follow",
    "--graph",
    "--include-untracked",
    "--keep-index",
    "--merges",
    "--name-only",
    "--name-status",
    "--no-commit",
    "--no-edit",
    "--no-ff",
    "--no-merges",
    "--no-patch",
    "--numstat",
    "--oneline",
    "--patch",
    "--quiet",
    "--reverse",
    "--shortstat",
    "--staged",
    "--stat",
    "-q",
    "-u",
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

/// Settings for one command that are known as they stand: an editor that leaves every text as it is, and
/// no pager.
const WHOLE_SETTINGS: [&str; 5] = [
    "core.editor=:",
    "core.editor=true",
    "core.pager=cat",
    "sequence.editor=:",
    "sequence.editor=true",
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
        return options_are_plain(name, rest)
            && (name != "symbolic-ref" || names_usual_branch(rest));
    }
    let literal = || !has_hidden_option(name, rest);
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
    if WHOLE_SETTINGS.contains(&word.text.as_str()) {
        return true;
    }
    let text = word.text.to_ascii_lowercase();
    !word.splits && SETTINGS.iter().any(|known| text.starts_with(known))
}

/// Whether no branch in it is named like an option: who puts in what prints its name would give one.
fn names_usual_branch(words: &[ShellWord]) -> bool {
    words.iter().all(|word| !word.expands && !word.text.contains("/-"))
}

/// Where the words end that may be options: at a `--`, if it is not the value of the option before it.
pub(super) fn options_end(words: &[ShellWord]) -> usize {
    let mut before = "";
    let end = words.iter().position(|word| {
        let last = std::mem::replace(&mut before, word.text.as_str());
        word.text == "--" && !may_take_value(last)
    });
    end.unwrap_or(words.len())
}

/// Whether the word after this one may be its value.
fn may_take_value(text: &str) -> bool {
    let Some(option) = text.strip_prefix('-') else { return false };
    let is_count = !option.is_empty() && option.bytes().all(|byte| byte.is_ascii_digit());
    !is_count && !text.contains('=') && !FLAGS.contains(&text)
}

/// Whether a word could come out as an option that does not stand there.
fn has_hidden_option(name: &str, words: &[ShellWord]) -> bool {
    let shows = words.first().is_some_and(|word| word.text == "show" || word.text == "list");
    let has_message = TAKES_MESSAGE.contains(&name) && !shows;
    let (mut before, mut follows) = ("", false);
    words[..options_end(words)].iter().any(|word| {
        let is_message = std::mem::take(&mut follows);
        let last = std::mem::replace(&mut before, word.text.as_str());
        follows = has_message
            && !is_message
            && MESSAGE.contains(&word.text.as_str())
            && !may_take_value(last);
        word.expands && (!is_message || word.splits) && may_be_option(word)
    })
}

/// Whether a computed word may be an option, or have one behind a blank.
fn may_be_option(word: &ShellWord) -> bool {
    let text = word.text.as_str();
    if TELLS_BRANCH.contains(&text) {
        return false;
    }
    let others = TELLS_BRANCH.iter().fold(text.to_owned(), |rest, tells| rest.replace(*tells, ""));
    (word.splits && others.contains(['$', '`']))
        || (text.starts_with(['-', '$', '`', '*', '?', '[', '{', '~']) && !has_plain_value(text))
}

/// `--message=$TEXT`: only what follows the sign is computed.
fn has_plain_value(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    text.starts_with("--")
        && name.len() < text.len()
        && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphabetic())
}

/// Whether none of the options that stand there names a program or a file that is written. Behind `--` too:
/// that may be the value of an option, and no path is called so.
fn options_are_plain(name: &str, words: &[ShellWord]) -> bool {
    (0..words.len()).all(|at| shell::git_option_target(name, words, at).is_none())
}

/// Whether it means the settings of the repository, which are guarded themselves.
fn config_is_plain(words: &[ShellWord]) -> bool {
    words.iter().filter(|word| word.text.starts_with('-')).all(|word| {
        let option = word.text.split('=').next().unwrap_or_default();
        OF_CONFIG.contains(&option) || matches!(option, "-l" | "-z")
    })
}
