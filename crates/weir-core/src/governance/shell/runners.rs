//! Options by which a program runs another one that the line names: `make --eval`, `git push --exec`, `tar
//! --to-command`. Who agreed to how a command begins agreed to that program, and not to these. A list of
//! what is known. Not here: programs that run whatever stands behind them (`reach`), and what a program
//! runs because a file of the workspace says so, which the sandbox bounds.

use super::ShellWord;
use super::reach::{FIND_OPTIONS, head_name};

/// Shortest beginning of a long option that is taken for it: many programs take them cut short.
const CUT_CHARS_MIN: usize = 3;

/// How some programs are told what to run.
struct RunnerOptions {
    programs: &'static [&'static str],
    /// Long options, with one dash or two as the program has them.
    long: &'static [&'static str],
    /// Letters that tell it in whichever place of a group they stand.
    letters: &'static str,
    /// Letters that tell it where they stand first.
    first: &'static str,
    /// What tells it wherever it stands in a word, in small letters.
    inside: &'static [&'static str],
}

/// `programs` of which nothing is known yet.
const fn options_of(programs: &'static [&'static str]) -> RunnerOptions {
    RunnerOptions { programs, long: &[], letters: "", first: "", inside: &[] }
}

const RUNNERS: &[RunnerOptions] = &[
    RunnerOptions {
        long: &["--eval", "--file", "--makefile"],
        letters: "Ef",
        ..options_of(&["make", "gmake"])
    },
    RunnerOptions {
        long: &["--shell", "--shell-arg", "--command", "--chooser", "--justfile"],
        letters: "cf",
        ..options_of(&["just"])
    },
    RunnerOptions { letters: "f", ..options_of(&["ninja"]) },
    RunnerOptions { long: &["--init-script"], first: "I", ..options_of(&["gradle", "gradlew"]) },
    RunnerOptions { inside: &["exec:", "-dexec."], ..options_of(&["mvn", "mvnw"]) },
    RunnerOptions { first: "EP", inside: &["_launcher"], ..options_of(&["cmake"]) },
    RunnerOptions {
        long: &["--script", "--test-command", "--build-makeprogram", "--build-and-test"],
        first: "S",
        ..options_of(&["ctest"])
    },
    RunnerOptions { long: &["--config"], ..options_of(&["cargo"]) },
    RunnerOptions {
        long: &["-exec", "-toolexec", "-vettool"],
        inside: &["-extld"],
        ..options_of(&["go"])
    },
    RunnerOptions {
        long: &["--script-shell", "--node-options", "--git"],
        ..options_of(&["npm", "pnpm", "yarn", "bun"])
    },
    RunnerOptions { long: &["--python-executable"], ..options_of(&["mypy"]) },
    RunnerOptions { long: &["--override"], first: "x", ..options_of(&["tox"]) },
    RunnerOptions {
        long: &["-wrapper", "-fplugin", "-specs"],
        ..options_of(&["gcc", "g++", "cc", "c++", "clang", "clang++"])
    },
    RunnerOptions {
        long: &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
        letters: "IF",
        ..options_of(&["tar", "gtar"])
    },
    RunnerOptions { long: &["--rsh", "--rsync-path"], letters: "e", ..options_of(&["rsync"]) },
    RunnerOptions {
        letters: "FS",
        inside: &["proxycommand", "localcommand", "knownhostscommand"],
        ..options_of(&["ssh", "scp", "sftp"])
    },
    RunnerOptions { long: &["--unzip-command"], letters: "T", ..options_of(&["zip"]) },
    RunnerOptions { long: &["--pre", "--hostname-bin"], ..options_of(&["rg"]) },
    RunnerOptions { long: &["--compress-program"], ..options_of(&["sort"]) },
    RunnerOptions { long: &["--filter"], ..options_of(&["split"]) },
];

/// Options of git's commands that name a program.
const GIT_LONG: &[&str] =
    &["--exec", "--extcmd", "--open-files-in-pager", "--receive-pack", "--upload-pack"];
/// Options before the command of git by which anything can be run.
const GIT_BEFORE: &[&str] = &["-c", "--config-env", "--exec-path"];
/// Options before the command of git whose value is the next word.
const GIT_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];
/// Options that put hooks into a new repository, or set what it is configured with.
const GIT_CLONE_LONG: &[&str] = &["--config", "--template"];
/// Variables of `make` that are programs, or say how one is run.
const MAKE_PROGRAMS: &[&str] = &[
    "AR",
    "AS",
    "CC",
    "CPP",
    "CXX",
    "FC",
    "INSTALL",
    "LD",
    "LEX",
    "MAKE",
    "RM",
    "YACC",
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
];

/// How the names of those variables of `cmake` end that are programs, or say how one is run.
const CMAKE_PROGRAMS: &[&str] = &[
    "_AR",
    "_CLANG_TIDY",
    "_COMPILER",
    "_COMPILE_OBJECT",
    "_CPPCHECK",
    "_CPPLINT",
    "_EMULATOR",
    "_INCLUDE_WHAT_YOU_USE",
    "_LAUNCHER",
    "_LINKER",
    "_MAKE_PROGRAM",
    "_NM",
    "_RANLIB",
];
/// Options of `fd` of one letter that take a value: what stands behind one in its group is that.
const FD_VALUES: &str = "cdeEjoSt";

/// Whether a command is told by an option to run another program. The first `agreed` words of it are those
/// that a person agreed to.
pub(in crate::governance) fn runs_by_option(words: &[ShellWord], agreed: usize) -> bool {
    let Some(head) = words.first() else { return false };
    let name = head_name(head);
    let after = words.get(agreed.max(1)..).unwrap_or_default();
    if matches!(name, "find" | "fd" | "fdfind") {
        let is_fd = name != "find";
        return after
            .iter()
            .any(|word| is_option_of_find(&word.text) || (is_fd && is_group_of_fd(&word.text)));
    }
    // What stands behind it is no option of this program.
    let end = after.iter().position(|word| word.text == "--").unwrap_or(after.len());
    let after = &after[..end];
    is_told(name, after)
        || match name {
            "git" => git_runs_by_option(words, agreed),
            "make" | "gmake" => after.iter().any(|word| is_program_of_make(&word.text)),
            "cmake" => {
                after.iter().any(|word| is_program_of_cmake(&word.text))
                    || build_runs_by_option(words, agreed)
            }
            // `tar xIf PROGRAM FILE`: the first word is a group without a dash.
            "tar" | "gtar" => agreed < 2 && words.get(1).is_some_and(|word| is_group(&word.text)),
            _ => false,
        }
}

/// Whether one of these words is an option by which the program is told what to run.
fn is_told(program: &str, words: &[ShellWord]) -> bool {
    let known = RUNNERS.iter().find(|known| known.programs.contains(&program));
    known.is_some_and(|known| words.iter().any(|word| known.tells_program(&word.text)))
}

fn is_option_of_find(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    FIND_OPTIONS.contains(&name)
}

/// Whether a group of letters has one that runs a program: `fd -Hx`. Tests of `find` look the same: `-xdev`.
fn is_group_of_fd(text: &str) -> bool {
    let group = text.strip_prefix('-').filter(|group| !group.starts_with('-')).unwrap_or_default();
    group.chars().take_while(|letter| !FD_VALUES.contains(*letter)).any(|c| matches!(c, 'x' | 'X'))
}

/// Whether what `cmake --build` hands on to a program that builds, behind `--`, runs another one. It may be
/// `make`, and is judged as its words are.
fn build_runs_by_option(words: &[ShellWord], agreed: usize) -> bool {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let behind = words.get(agreed.max(end + 1)..).unwrap_or_default();
    is_told("make", behind) || behind.iter().any(|word| is_program_of_make(&word.text))
}

/// Whether a word sets a variable of `cmake` that is run: `-DCMAKE_C_COMPILER=…`, `-DGIT_EXECUTABLE:PATH=…`.
fn is_program_of_cmake(text: &str) -> bool {
    let set = text.strip_prefix("-D").unwrap_or(text);
    let Some((name, _)) = set.split_once('=') else { return false };
    let name = name.split(':').next().unwrap_or(name);
    let is_program = CMAKE_PROGRAMS.iter().any(|end| name.ends_with(end));
    name.ends_with("_EXECUTABLE") || (name.starts_with("CMAKE_") && is_program)
}

fn is_group(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphabetic()) && text.contains(['I', 'F'])
}

impl RunnerOptions {
    fn tells_program(&self, text: &str) -> bool {
        let group = text.strip_prefix('-').filter(|group| !group.starts_with('-'));
        let in_group = group.is_some_and(|group| {
            group.contains(|c: char| self.letters.contains(c))
                || group.starts_with(|c: char| self.first.contains(c))
        });
        let small = text.to_lowercase();
        in_group
            || self.long.iter().any(|option| is_long(text, option))
            || self.inside.iter().any(|part| small.contains(part))
    }
}

/// Whether `text` is a long option, whole or cut short, with its value or without. One with a single dash
/// may be written with two.
fn is_long(text: &str, option: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    if !option.starts_with("--") {
        return name == option || name.strip_prefix('-') == Some(option);
    }
    name == option || (name.len() >= CUT_CHARS_MIN && option.starts_with(name))
}

fn git_runs_by_option(words: &[ShellWord], agreed: usize) -> bool {
    let command = command_of_git(words);
    let before = words.get(agreed.max(1)..command).unwrap_or_default();
    let sets = |word: &ShellWord| GIT_BEFORE.iter().any(|option| is_long(&word.text, option));
    let after = words.get(agreed.max(command + 1)..).unwrap_or_default();
    let end = after.iter().position(|word| word.text == "--").unwrap_or(after.len());
    let (own, letters): (&[&str], &str) = match words.get(command).map(|word| word.text.as_str()) {
        Some("clone") => (GIT_CLONE_LONG, "uc"),
        Some("init") => (&["--template"], ""),
        Some("ls-remote") => (&[], "u"),
        Some("rebase" | "difftool") => (&[], "x"),
        Some("grep") => (&[], "O"),
        _ => (&[], ""),
    };
    let options = RunnerOptions { long: GIT_LONG, letters, ..options_of(&["git"]) };
    let is_own = |word: &ShellWord| own.iter().any(|option| is_long(&word.text, option));
    before.iter().any(sets)
        || after[..end].iter().any(|word| options.tells_program(&word.text) || is_own(word))
}

/// Where the command of git stands, behind the options of git itself.
fn command_of_git(words: &[ShellWord]) -> usize {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(GIT_VALUES.contains(&word.text.as_str()));
    }
    at.min(words.len())
}

/// Whether a word sets a variable of `make` that is run: `CC=…`, `X!=…`, or a value that is computed.
fn is_program_of_make(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=').filter(|_| !text.starts_with('-')) else {
        return false;
    };
    name.ends_with('!')
        || MAKE_PROGRAMS.contains(&name.trim_end_matches([':', '+', '?']))
        || value.contains(['$', '`', ';', '|', '&', '\n'])
}

#[cfg(test)]
mod tests {
    use super::super::parse_command_line;
    use super::*;

    fn runs(line: &str, agreed: usize) -> bool {
        let line = parse_command_line(line);
        runs_by_option(&line.parts[0].words, agreed)
    }

    #[test]
    fn c3_an_option_that_runs_a_program_is_told_from_one_that_does_not() {
        for (line, agreed) in [
            ("make --eval='x:;id' x", 1),
            ("make --ev=x", 1),
            ("make -sE x", 1),
            ("make -f - x", 1),
            ("make test SHELL=./x", 2),
            ("make X!=id", 1),
            ("make 'V=$(shell id)'", 1),
            ("git push --receive-pack=./x", 2),
            ("git push --exec ./x", 2),
            ("git fetch --upload=./x", 2),
            ("git -c core.pager=x log", 1),
            ("git -C a -c core.pager=x log", 1),
            ("git --work-tree . -c core.pager=./x -p log", 1),
            ("git --namespace a --attr-source b -c core.pager=./x log", 1),
            ("git -C -C clone -u ./x a", 1),
            ("git clone -c core.sshCommand=./x a", 2),
            ("git clone -qc protocol.ext.allow=always a", 1),
            ("git clone --config core.sshCommand=./x a", 2),
            ("git clone --template=./t a", 2),
            ("git init --template=./t", 2),
            ("git init --t ./t", 1),
            ("git rebase -ix ./x", 2),
            ("tar xf a.tar --to-command=./x", 1),
            ("tar -I ./x -cf a b", 1),
            ("tar xIf ./x a", 1),
            ("find . -exec id {} ;", 1),
            ("fd -Hx id", 1),
            ("rsync -ave ./x a b", 1),
            ("ssh -o ProxyCommand=id host", 1),
            ("ssh -oproxycommand=id host", 1),
            ("cargo test --config build.rustc-wrapper=./x", 2),
            ("go test -exec ./x", 2),
            ("go test --toolexec=./x", 2),
            ("npm run lint --script-shell=./x", 3),
            ("cmake -E env id", 1),
            ("cmake -DCMAKE_C_COMPILER_LAUNCHER=./x .", 1),
            ("cmake -DCMAKE_C_COMPILER=./x .", 1),
            ("cmake -D CMAKE_CXX_COMPILER:FILEPATH=./x .", 1),
            ("cmake -DCMAKE_MAKE_PROGRAM=./x .", 1),
            ("cmake -DGIT_EXECUTABLE=./x .", 1),
            ("cmake --build b -- '--eval=$(shell id)'", 1),
            ("cmake --build b -- SHELL=./x", 2),
            ("cmake --build b -- SHELL=./x", 4),
            ("fd -HIux id", 1),
            ("fd -HIuX id", 1),
            ("git push --e=./x", 2),
            ("ctest -S ./x", 1),
        ] {
            assert!(runs(line, agreed), "{line}");
        }
    }

    #[test]
    fn c3_an_option_that_runs_no_program_is_not_taken_for_one_that_does() {
        for (line, agreed) in [
            ("make test V=1 PREFIX=/usr -j4 -k", 1),
            ("git push -u origin main", 2),
            ("git switch -c new", 2),
            ("git --git-dir a --work-tree b switch -c new", 1),
            ("git clone --depth 1 a b", 2),
            ("git commit --template=words", 2),
            ("git commit -c HEAD --amend", 2),
            ("git cherry-pick --continue", 2),
            ("git checkout -- --exec", 2),
            ("git -c core.pager=x log", 3),
            ("tar xzf a.tar", 1),
            ("tar xf a.tar --to-command=./x", 4),
            ("find . -name x -xdev", 1),
            ("cargo test -- --config x", 2),
            ("npm run lint -- --git", 3),
            ("npm install --global x", 2),
            ("cmake -S . -B build -DENABLE_X=ON", 1),
            ("cmake -DCMAKE_BUILD_TYPE=Debug -DCMAKE_EXPORT_COMPILE_COMMANDS=ON .", 1),
            ("cmake --build b --target x -- -j4 -k V=1", 1),
            ("fd -HIu -tx -exml name", 1),
            ("go test ./... -run X", 2),
            ("ls --eval", 1),
        ] {
            assert!(!runs(line, agreed), "{line}");
        }
    }
}
