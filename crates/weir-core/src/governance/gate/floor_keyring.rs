//! Commands that open a store of keys, and commands that can ask the keyring of the session (Z3, R9). Not
//! here: the paths of stores (`floor_keys`), and a program that hides whom it asks: that one reaches no
//! bus in a sandbox.

use super::floor::{FloorCommand, is_one_of};
use super::floor_history::{GitCommand, git_commands};
use super::floor_keys::key_store_at;
use super::floor_table::has_argument;
use crate::governance::shell::{ShellWord, head_name};

/// Programs that keep secrets or speak to the bus at which a keyring answers; one that ends in `*`
/// stands for every ending.
const ASKERS: &[&str] = &[
    "secret-tool",
    "gnome-keyring*",
    "seahorse*",
    "kwallet*",
    "keyring",
    "pass",
    "gopass",
    "security",
    "dbus-send",
    "dbus-monitor",
    "gdbus",
    "busctl",
    "qdbus*",
];

/// What a program is told, or has in it, that asks a keyring.
/// Each has one of [`MARK_PARTS`].
const MARKS: &[&str] = &[
    "org.freedesktop.secret",
    "org/freedesktop/secret",
    "org.gnome.keyring",
    "org.kde.kwallet",
    "dbus_session_bus_address",
];

/// Without one of these no mark stands in a text: most have none, and need no closer look.
const MARK_PARTS: &[&str] = &["org", "dbus"];

/// Libraries that ask a keyring, where a command runs a text that names one.
const LIBRARIES: &[&str] = &[
    "secretstorage",
    "libsecret",
    "import keyring",
    "-m keyring",
    "import dbus",
    "dbus.sessionbus",
    "dbus_next",
    "jeepney",
];

/// Programs that run a text they are told; one that ends in `*` stands for every ending.
const RUNNERS: &[&str] = &[
    "python*",
    "pypy*",
    "ipython*",
    "uv",
    "node*",
    "deno",
    "bun",
    "tsx",
    "perl*",
    "ruby*",
    "php*",
    "lua*",
    "gjs*",
    "osascript",
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "gcc*",
    "cc",
    "clang*",
    "tcc",
    "awk",
    "gawk",
    "mawk",
    "go",
];

/// Programs that show text and run nothing of it.
const READERS: &[&str] = &[
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "which",
    "type",
    "man",
    "stat",
    "file",
    "cd",
    "git",
    "apt",
    "apt-get",
    "apt-cache",
    "dpkg",
    "dnf",
    "rpm",
    "brew",
];

/// Subcommands of macOS's `security` that have nothing to do with what is kept.
const NO_STORE: &[&str] = &["cms", "verify-cert", "help"];

/// What asks a keyring, by its name.
fn asks_secrets(text: &str) -> bool {
    const NAMES: &[&str] = &["org.freedesktop.secrets", "org.gnome.keyring", "org.kde.kwallet"];
    let text = text.to_ascii_lowercase();
    NAMES.iter().any(|name| text.contains(name))
}

/// Whether a command opens a store of keys.
pub(super) fn opens_keys(scene: &FloorCommand<'_>) -> bool {
    // A key's name alone, inside the workspace, is a word like any other.
    let opens = scene.named_paths().any(|(word, path)| {
        let outside = path.starts_with('/');
        (outside || word.contains('/')) && key_store_at(path)
    });
    opens
        || scene.commands().any(|(_, words)| reads_keys(words))
        || git_commands(scene).any(|git| reads_keys_by_git(&git))
}

/// `git credential fill`, and what it asks: `git credential-store get`.
fn reads_keys_by_git(git: &GitCommand<'_>) -> bool {
    match git.name() {
        _ if git.guessed => false,
        "credential" => has_argument(git.rest, &["fill"]),
        name => name.starts_with("credential-") && has_argument(git.rest, &["get"]),
    }
}

fn reads_keys(words: &[ShellWord]) -> bool {
    let rest = &words[1..];
    let begins = |at: usize, text: &str| rest.get(at).is_some_and(|word| word.text == text);
    match head_name(&words[0]) {
        "gpg" | "gpg2" => rest.iter().any(|w| w.text.starts_with("--export-secret")),
        "security" => rest.iter().any(|w| {
            w.text.starts_with("find-") || w.text.starts_with("dump-") || w.text == "export"
        }),
        "secret-tool" => has_argument(rest, &["lookup", "search"]),
        "kwallet-query" => {
            rest.iter().any(|w| w.text.starts_with("--read-password") || is_flag(&w.text, 'r'))
        }
        "kwalletcli" => !rest.is_empty(),
        "keyring" => has_argument(rest, &["get"]),
        name if name.starts_with("python") => {
            has_argument(rest, &["keyring"]) && has_argument(rest, &["get"]) && begins(0, "-m")
        }
        "dbus-send" | "gdbus" | "busctl" | "qdbus" | "qdbus6" | "qdbus-qt5" => {
            rest.iter().any(|w| asks_secrets(&w.text))
        }
        "pass" | "gopass" => {
            has_argument(rest, &["show"])
                || rest.len() == 1 && !has_argument(rest, &["ls", "list", "--version", "--help"])
        }
        "gh" => {
            begins(0, "auth")
                && (begins(1, "token")
                    || rest.iter().any(|w| w.text == "--show-token" || is_flag(&w.text, 't')))
        }
        _ => false,
    }
}

fn is_flag(text: &str, letter: char) -> bool {
    text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
}

/// Whether a command can ask the keyring of the session, as far as it is written down. Only asked of
/// commands that reach a bus at all.
pub(super) fn asks_keyring(scene: &FloorCommand<'_>) -> bool {
    if scene.effect.sockets.iter().any(|socket| is_bus(socket)) {
        return true;
    }
    let mut all_read = true;
    for (_, words) in scene.commands() {
        let name = head_name(&words[0]);
        let harmless = name == "security" && rest_begins(words, NO_STORE);
        if is_asker(name) && !harmless {
            return true;
        }
        all_read &= READERS.contains(&name) && !words[1..].iter().any(names_helper);
    }
    if all_read {
        return false;
    }
    // A copy of such a program, or a link to it, has another name.
    let of_program = |text: &str| {
        text.contains('/') && text.contains("bin/") && text.rsplit('/').next().is_some_and(is_asker)
    };
    let told = scene.parts().flat_map(|(_, part)| &part.words).any(|word| of_program(&word.text));
    let text = scene.effect.command.to_ascii_lowercase();
    let has_one = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    let runs_text = || scene.commands().any(|(_, words)| is_one_of(RUNNERS, head_name(&words[0])));
    told || has_one(MARK_PARTS) && has_one(MARKS)
        || names_bus(&text)
        || runs_text() && has_one(LIBRARIES)
}

/// Whether a program that only reads is told another one to run: `rg --pre`, `man -P`, `git -c core.pager=`.
fn names_helper(word: &ShellWord) -> bool {
    word.text.starts_with("--pre") || word.text.starts_with("-P") || word.text.starts_with("-c")
}

fn rest_begins(words: &[ShellWord], wanted: &[&str]) -> bool {
    words.get(1).is_some_and(|word| wanted.contains(&word.text.as_str()))
}

fn is_asker(name: &str) -> bool {
    is_one_of(ASKERS, name)
}

/// Whether a text names the usual place of the session bus.
fn names_bus(text: &str) -> bool {
    let ends =
        |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let in_user = text.contains("/run/user/") || text.contains("xdg_runtime_dir");
    in_user && text.match_indices("/bus").any(|(at, found)| ends(&text[at + found.len()..]))
}

fn is_bus(socket: &str) -> bool {
    let name = socket.rsplit('/').next().unwrap_or(socket);
    name == "bus" || name.starts_with("dbus-") || socket.contains("/keyring")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::{RuleContext, RuleSet};
    use crate::governance::shell::ReadCommand;
    use crate::tool::CommandEffect;

    #[test]
    fn z3_a_store_of_keys_is_opened_by_other_words_too() {
        let context = RuleContext { workspace: "/work/ws".into(), ..RuleContext::default() };
        let rules = RuleSet::new(context);
        let opens = |line: &str| {
            let effect =
                CommandEffect { command: line.into(), cwd: ".".into(), ..CommandEffect::default() };
            let read = ReadCommand::from_text(line);
            opens_keys(&FloorCommand::from_read(&effect, &rules, &read))
        };
        for line in [
            "git credential fill",
            "git -C . credential fill < x",
            "git --no-pager credential fill",
            "/usr/lib/git-core/git-credential fill",
            "git credential-store get",
            "git credential-libsecret get",
            "gh auth token --hostname example.org",
            "gh auth status --show-token",
            "gh auth status -t",
            "python3.12 -m keyring get a b",
            "F=~/.ssh/id_rsa; cat \"$F\"",
            "F=/home/me/.aws/credentials cat x",
            "xargs cat <<< ~/.ssh/id_rsa",
        ] {
            assert!(opens(line), "{line}");
        }
        for line in [
            "git credential reject < x",
            "git config credential.helper",
            "git log --grep credential fill",
            "gh auth status",
            "F=~/.ssh/id_rsa.pub; cat \"$F\"",
            "FLAGS=-O2 CC=/usr/bin/cc make <<< yes",
            "python3 -m keyring --list-backends",
        ] {
            assert!(!opens(line), "{line}");
        }
    }

    #[test]
    fn r9_no_mark_of_a_keyring_is_passed_over_by_the_first_look() {
        for mark in MARKS {
            assert!(MARK_PARTS.iter().any(|part| mark.contains(part)), "{mark}");
        }
    }
}
