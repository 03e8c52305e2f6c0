//! Options of commands of git that name more than what git keeps: a program that it runs, or a file that it
//! writes. One table for whom a rule covers (`runners`) and for what may write the history of a repository (the
//! engine). Not here: options before the command, and settings.

use super::ShellWord;

/// What an option of a command of git names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitOptionTarget {
    /// A program that git runs, or where it takes one from: a template with hooks, a setting.
    Program,
    /// A file that it writes, wherever that lies.
    File,
}

/// Long options that name a program. Git takes them cut short.
const PROGRAMS: [&str; 5] =
    ["--exec", "--extcmd", "--open-files-in-pager", "--receive-pack", "--upload-pack"];
/// Those that name a file that is written, or let one be named.
const FILES: [&str; 3] = ["--output", "--output-directory", "--unsafe-paths"];
/// Shortest beginning of a long option that is taken for it.
const CUT_CHARS_MIN: usize = 3;
/// What of `--strategy` is part of git itself; any other is a program.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// What some commands have of their own.
struct GitCommandOptions {
    commands: &'static [&'static str],
    /// Long options that name a program.
    long: &'static [&'static str],
    /// Letters that do.
    letters: &'static str,
    /// `-s` is a strategy.
    has_strategy: bool,
    /// Letters after which the rest of a group is a value.
    valued: &'static str,
}

const OWN: [GitCommandOptions; 7] = [
    GitCommandOptions {
        commands: &["clone"],
        long: &["--config", "--template"],
        letters: "uc",
        has_strategy: false,
        valued: "bjo",
    },
    GitCommandOptions {
        commands: &["init", "submodule"],
        long: &["--config", "--template"],
        letters: "",
        has_strategy: false,
        valued: "",
    },
    GitCommandOptions {
        commands: &["ls-remote"],
        long: &[],
        letters: "u",
        has_strategy: false,
        valued: "o",
    },
    GitCommandOptions {
        commands: &["merge", "pull"],
        long: &[],
        letters: "",
        has_strategy: true,
        valued: "mFXSoj",
    },
    GitCommandOptions {
        commands: &["rebase"],
        long: &[],
        letters: "x",
        has_strategy: true,
        valued: "CSX",
    },
    GitCommandOptions {
        commands: &["difftool"],
        long: &[],
        letters: "x",
        has_strategy: false,
        valued: "t",
    },
    GitCommandOptions {
        commands: &["grep"],
        long: &[],
        letters: "O",
        has_strategy: false,
        valued: "ABCefm",
    },
];

/// What the word at `at` names, one of `words` behind the name of a command of git; `None`: it is no option, or
/// one that names nothing of this kind.
pub fn git_option_target(command: &str, words: &[ShellWord], at: usize) -> Option<GitOptionTarget> {
    let text = words.get(at)?.text.as_str();
    let next = words.get(at + 1).map_or("", |word| word.text.as_str());
    let own = OWN.iter().find(|own| own.commands.contains(&command));
    if text.starts_with("--") {
        return long_option_target(own, text, next);
    }
    let (own, group) = (own?, text.strip_prefix('-')?);
    for (place, letter) in group.char_indices() {
        if own.letters.contains(letter) {
            return Some(GitOptionTarget::Program);
        }
        if own.has_strategy && letter == 's' {
            let rest = &group[place + 1..];
            let is_own = STRATEGIES.contains(if rest.is_empty() { &next } else { &rest });
            return (!is_own).then_some(GitOptionTarget::Program);
        }
        if own.valued.contains(letter) {
            return None;
        }
    }
    None
}

fn long_option_target(
    own: Option<&GitCommandOptions>,
    text: &str,
    next: &str,
) -> Option<GitOptionTarget> {
    let (option, value) = text.split_once('=').unwrap_or((text, next));
    let is = |known: &&str| option.len() >= CUT_CHARS_MIN && known.starts_with(option);
    let own = own.map_or(&[][..], |own| own.long);
    let strategy = option.len() > "--sta".len() && "--strategy".starts_with(option);
    if PROGRAMS.iter().chain(own).any(is) || (strategy && !STRATEGIES.contains(&value)) {
        return Some(GitOptionTarget::Program);
    }
    FILES.iter().any(is).then_some(GitOptionTarget::File)
}

#[cfg(test)]
mod tests {
    use super::super::parse_command_line;
    use super::*;

    fn named(line: &str) -> Option<GitOptionTarget> {
        let line = parse_command_line(line);
        let words = &line.parts[0].words;
        let rest = &words[2..];
        (0..rest.len()).find_map(|at| git_option_target(&words[1].text, rest, at))
    }

    #[test]
    fn a1_c3_an_option_of_git_that_names_a_program_or_a_file_is_told() {
        use GitOptionTarget::{File, Program};
        for (line, expected) in [
            ("git push --exec=./x", Program),
            ("git push --e ./x", Program),
            ("git fetch --upl=./x .", Program),
            ("git ls-remote -u ./x .", Program),
            ("git ls-remote -qu ./x .", Program),
            ("git clone -qc core.pager=x a", Program),
            ("git clone --t ./t a", Program),
            ("git init --template=./t", Program),
            ("git rebase -ix ./x", Program),
            ("git rebase -mx ./x", Program),
            ("git rebase -ms ./x main", Program),
            ("git merge -qs./x topic", Program),
            ("git pull --strategy ./x", Program),
            ("git grep -lO./x words", Program),
            ("git difftool -yx ./x", Program),
            ("git stash show --outp=.git/HEAD", File),
            ("git apply --unsafe-paths a.patch", File),
            ("git format-patch --output-directory=.git", File),
        ] {
            assert_eq!(named(line), Some(expected), "{line}");
        }
        for line in [
            "git push -u origin main",
            "git push -o ci.skip",
            "git clone -oc a",
            "git clone --depth 1 --branch u a",
            "git commit -qm exec --template=words",
            "git cherry-pick -x abc --continue",
            "git rebase -X ours main",
            "git merge -Xs -s ours --stat topic",
            "git merge -ms topic",
            "git log --oneline --exit-code",
            "git grep -e O words",
            "git checkout -",
        ] {
            assert_eq!(named(line), None, "{line}");
        }
    }
}
