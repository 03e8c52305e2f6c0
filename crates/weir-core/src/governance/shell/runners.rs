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
    /// How it is told of another file with what it does: a letter and long options. One inside the
    /// workspace is as its usual file.
    file: (Option<char>, &'static [&'static str]),
}

/// `programs` of which nothing is known yet.
const fn options_of(programs: &'static [&'static str]) -> RunnerOptions {
    RunnerOptions { programs, long: &[], letters: "", first: "", inside: &[], file: (None, &[]) }
}

const RUNNERS: &[RunnerOptions] = &[
    RunnerOptions {
        long: &["--eval"],
        letters: "E",
        file: (Some('f'), &["--file", "--makefile"]),
        ..options_of(&["make", "gmake"])
    },
    RunnerOptions {
        long: &["--shell", "--shell-arg", "--command", "--chooser"],
        letters: "c",
        file: (Some('f'), &["--justfile"]),
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
    RunnerOptions { long: &["--unzip-command"], letters: "T", ..options_of(&["zip"]) },
    RunnerOptions { long: &["--pre", "--hostname-bin"], ..options_of(&["rg"]) },
    RunnerOptions { long: &["--compress-program"], ..options_of(&["sort"]) },
    RunnerOptions { long: &["--filter"], ..options_of(&["split"]) },
];

/// How `ssh` and its like are told what to run on this machine.
struct SshOptions {
    program: &'static str,
    /// Letters that take a value, the rest of their word or the next one.
    values: &'static str,
    /// Letters that run a program, load a library or name a file that says so.
    tells: &'static str,
    /// What stands behind the host is a command for the other machine.
    has_command: bool,
}

const SSH_OPTIONS: &[SshOptions] = &[
    // `-P` takes no value in older versions: nobody can tell what the next word is.
    SshOptions {
        program: "ssh",
        values: "BbcDEeFIiJLlmOoPpQRSWw",
        tells: "FIPS",
        has_command: true,
    },
    SshOptions { program: "scp", values: "cDFiJloPSX", tells: "DFS", has_command: false },
    SshOptions { program: "sftp", values: "BbcDFiJloPRSsX", tells: "DFS", has_command: false },
];
/// Settings of `ssh` by which it runs a program, loads a library or reads other settings; in small letters.
const SSH_SETTINGS: &[&str] = &[
    "include",
    "knownhostscommand",
    "localcommand",
    "match",
    "permitlocalcommand",
    "pkcs11provider",
    "proxycommand",
    "securitykeyprovider",
    "smartcarddevice",
    "xauthlocation",
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
    if let Some(options) = SSH_OPTIONS.iter().find(|options| options.program == name) {
        return options.tell_program(words, agreed);
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
    known.is_some_and(|known| {
        let is_told = |(at, word): (usize, &ShellWord)| {
            known.tells_program(&word.text) || known.tells_file_elsewhere(words, at)
        };
        words.iter().enumerate().any(is_told)
    })
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

    /// Whether the word at `at` tells it of a file that may lie outside of the workspace.
    fn tells_file_elsewhere(&self, words: &[ShellWord], at: usize) -> bool {
        let (letter, long) = self.file;
        let word = &words[at];
        let group = word.text.strip_prefix('-').filter(|group| !group.starts_with('-'));
        let value = match (group, letter) {
            (Some(group), Some(letter)) => group.split_once(letter).map(|(_, value)| value),
            _ if long.iter().any(|option| is_long(&word.text, option)) => {
                Some(word.text.split_once('=').map_or("", |(_, value)| value))
            }
            _ => None,
        };
        match value {
            None => false,
            // It is the next word.
            Some("") => words.get(at + 1).is_none_or(|next| next.expands || !is_inside(&next.text)),
            Some(value) => word.expands || !is_inside(value),
        }
    }
}

/// Whether a path is a plain one that does not lead out of the folder it begins in.
fn is_inside(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+@/".contains(c);
    !path.is_empty()
        && !path.starts_with(['-', '/'])
        && path.chars().all(is_plain)
        && path.split('/').all(|part| part != "..")
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

impl SshOptions {
    /// Whether an option behind the first `agreed` words tells it what to run here.
    fn tell_program(&self, words: &[ShellWord], agreed: usize) -> bool {
        let (mut at, mut has_host) = (1, false);
        while let Some(word) = words.get(at) {
            let group = word.text.strip_prefix('-').filter(|group| !group.is_empty());
            // Options are read behind the host too, up to the command.
            if has_host && self.has_command && group.is_none_or(|group| group == "-") {
                return false;
            }
            has_host |= group.is_none();
            let group = group.unwrap_or_default();
            let value_at = group.find(|letter: char| self.values.contains(letter));
            let (flags, value) = group.split_at(value_at.map_or(group.len(), |at| at + 1));
            if at >= agreed && flags.contains(|letter: char| self.tells.contains(letter)) {
                return true;
            }
            let takes_next = value_at.is_some() && value.is_empty();
            at += usize::from(takes_next);
            let setting =
                if takes_next { words.get(at).map(|next| next.text.as_str()) } else { Some(value) };
            let sets_program = flags.ends_with('o') && setting.is_some_and(is_program_of_ssh);
            if at >= agreed && sets_program {
                return true;
            }
            at += 1;
        }
        false
    }
}

/// Whether a setting of `ssh` is one by which it runs a program: `ProxyCommand=…`, `"ProxyCommand" …`.
fn is_program_of_ssh(setting: &str) -> bool {
    let key = setting.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let key = key.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(key);
    SSH_SETTINGS.contains(&key.to_ascii_lowercase().as_str())
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

    #[test]
    fn c3_options_of_ssh_end_where_the_command_for_the_other_machine_begins() {
        for (line, agreed) in [
            ("ssh -o StrictHostKeyChecking=no -o ProxyCommand=id build", 1),
            ("ssh -o ' \"ProxyCommand\" id' build", 1),
            ("ssh -vo 'Match exec id' build", 1),
            ("ssh -p 22 -vF ./c build", 1),
            ("ssh -I ./x.so build", 1),
            ("ssh build -F ./c id", 2),
            ("ssh build -v -oPermitLocalCommand=yes id", 2),
            ("ssh -P a build -oProxyCommand=id", 1),
            ("ssh -- build -oProxyCommand=id", 1),
            ("scp -pS ./x a build:", 1),
            ("scp a -oProxyCommand=id build:", 2),
            ("sftp -D ./x build", 1),
        ] {
            assert!(runs(line, agreed), "{line}");
        }
        for (line, agreed) in [
            ("ssh build tail -F x", 2),
            ("ssh build ls -lS", 2),
            ("ssh build -oStrictHostKeyChecking=no id", 2),
            ("ssh -p 22 -l F build tail -F x -oProxyCommand=id", 1),
            ("ssh -o ProxyUseFdpass=no build id", 1),
            ("ssh build -- tail -F x", 2),
            ("ssh -F ./c build id", 3),
            ("scp -o StrictHostKeyChecking=no -P 22 a build:S", 1),
        ] {
            assert!(!runs(line, agreed), "{line}");
        }
    }

    #[test]
    fn c3_a_file_of_make_inside_the_workspace_is_as_its_usual_one() {
        for line in [
            "make -f /tmp/x",
            "make -f ../x all",
            "make -sf a/../../x",
            "make -f/tmp/x",
            "make --file=/tmp/x",
            "make --makef ~/x",
            "make -f $X",
            "make -f",
            "just -f ~/x build",
            "just --justfile=/tmp/x build",
            "cmake --build b -- -f /tmp/x",
            "ninja -f x",
        ] {
            assert!(runs(line, 1), "{line}");
        }
        for line in [
            "make -f Makefile.ci test",
            "make -sf ci/Makefile",
            "make -fci.mk",
            "make --file=ci/Makefile -j4",
            "make --makefile ci.mk",
            "just -f ci.just build",
            "cmake --build b -- -f ci.mk",
        ] {
            assert!(!runs(line, 1), "{line}");
        }
    }
}
