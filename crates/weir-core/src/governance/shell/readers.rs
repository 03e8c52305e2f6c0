//! What of a command line needs no rule of its own: programs that only read, changes of folder,
//! wrappers and variables that change nothing of what runs (U13).
//!
//! A list of what is known to be harmless: what is not on it counts as anything. Not here: whether
//! a command may run, and where it could read; the sandbox bounds that.

use super::{CommandLine, CommandPart, ShellWord};

/// Programs no option of which writes a file or runs another program.
const READERS: &[&str] = &[
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "pwd",
    "echo",
    "true",
    "false",
    ":",
    "cut",
    "tr",
    "nl",
    "tac",
    "rev",
    "fold",
    "expand",
    "paste",
    "join",
    "comm",
    "cmp",
    "diff",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "stat",
    "du",
    "df",
    "whoami",
    "id",
    "uname",
    "printenv",
    "which",
    "type",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "b2sum",
    "od",
    "hexdump",
    "seq",
    "sleep",
    "ps",
    "uptime",
    "nproc",
    "free",
    "arch",
    "column",
    "jq",
    "exit",
    "readelf",
];
/// Programs that only tell their version when asked for it.
const VERSIONED: &[&str] = &[
    "cargo", "rustc", "git", "node", "npm", "pnpm", "yarn", "bun", "deno", "python", "python3",
    "pip", "pip3", "go", "make", "cmake", "gcc", "clang", "java", "ruby", "php", "uv",
];
/// Commands of git that only read, whatever stands after them but what [`reads_of_git`] refuses.
const GIT_READERS: &[&str] = &[
    "status",
    "log",
    "show",
    "diff",
    "blame",
    "annotate",
    "shortlog",
    "describe",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "cat-file",
    "merge-base",
    "name-rev",
    "whatchanged",
    "show-ref",
    "for-each-ref",
    "count-objects",
    "version",
    "grep",
    "diff-tree",
    "diff-index",
    "diff-files",
    "range-diff",
    "cherry",
    "check-ignore",
    "check-attr",
    "show-branch",
];
/// Long options of those that begin like one that writes or runs something (git takes them shortened).
const GIT_LIKE_WRITING: &[&str] = &[
    "--oneline",
    "--objects",
    "--others",
    "--ours",
    "--or",
    "--only-matching",
    "--exclude",
    "--exclude-standard",
    "--exit-code",
    "--end-of-options",
    "--encoding",
    "--error-unmatch",
];
/// What `find` does more than look.
const FIND_ACTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];
/// Variables that change how a program speaks or which way of its own it takes, never what runs.
const VARIABLES: &[&str] = &[
    "CI",
    "TERM",
    "TZ",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "COLUMNS",
    "LINES",
    "DEBUG",
    "VERBOSE",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONWARNINGS",
    "PYTHONHASHSEED",
    "NODE_ENV",
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "APP_MODE",
    "FLASK_ENV",
    "DJANGO_DEBUG",
    "MIX_ENV",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "PORT",
    "HOST",
];

/// Whether every part of the line only reads. `confined`: what it can read is bounded by a sandbox
/// without network; else only what works on its input counts.
pub fn reads_only(line: &CommandLine, confined: bool) -> bool {
    line.is_readable()
        && !line.computes
        && line.functions.is_empty()
        && !line.background
        && !line.parts.is_empty()
        && line.parts.iter().all(|part| is_reader(part, confined))
}

/// Whether one part only reads.
pub fn is_reader(part: &CommandPart, confined: bool) -> bool {
    let Some(words) = unwrap_command(part) else { return false };
    let quiet = part.redirections.iter().all(|redirection| {
        let silent = redirection.target.text == "/dev/null" && !redirection.target.expands;
        !redirection.is_file() || silent || (confined && !redirection.writes())
    });
    quiet && if confined { is_reading_command(words) } else { reads_input(words) }
}

/// Whether a program and its arguments read and neither write, run nor set anything, wherever its
/// output goes.
pub fn is_reading_command(words: &[ShellWord]) -> bool {
    let Some((head, rest)) = words.split_first().filter(|(head, _)| !head.expands) else {
        return false;
    };
    let literal = rest.iter().all(|word| !word.expands);
    let name = head.text.as_str();
    match name {
        "cd" | "pushd" | "popd" => true,
        "printf" => rest.first().is_some_and(|word| {
            !word.expands && !word.text.starts_with('-') && !sets_by_format(&word.text)
        }),
        "test" | "[" => {
            rest.iter().all(|word| !word.text.contains(['`', '$']) && word.text != "-v")
        }
        _ if READERS.contains(&name) => true,
        _ if !literal => false,
        _ if is_version(name, rest) => true,
        "git" => reads_of_git(rest),
        "find" => !rest.iter().any(|word| FIND_ACTIONS.contains(&word.text.as_str())),
        "fd" | "fdfind" => {
            !rest.iter().any(|word| may_be(word, 'x', "--e") || may_be(word, 'X', "--e"))
        }
        "date" => !rest.iter().any(|word| may_be(word, 's', "--s")),
        // They load a library that an option or a file of options names.
        "nm" | "size" | "strings" => {
            !rest.iter().any(|word| word.text.starts_with("--pl") || word.text.starts_with('@'))
        }
        "rg" => !rest
            .iter()
            .any(|word| ["--pre", "--hostname"].iter().any(|o| word.text.starts_with(o))),
        "sort" => !rest.iter().any(|word| {
            let check = matches!(word.text.split('=').next(), Some("--check"));
            may_be(word, 'o', "--o")
                || may_be(word, 'T', "--t")
                || (word.text.starts_with("--c") && !check)
        }),
        // `-R` writes a page into each folder.
        "tree" => !rest.iter().any(|word| may_be(word, 'o', "--o") || may_be(word, 'R', "--R")),
        "file" => !rest.iter().any(|word| may_be(word, 'C', "--c")),
        "uniq" | "xxd" => {
            count_operands(rest) <= 1 && !rest.iter().any(|word| may_be(word, 'r', "--r"))
        }
        "sed" => reads_of_sed(rest),
        "command" => rest.first().is_some_and(|word| word.text == "-v" || word.text == "-V"),
        _ => false,
    }
}

/// The words of a part without what only sets its circumstances: harmless variables, `env`, `nice`,
/// `time`, `timeout`, `stdbuf`. `None` where it sets anything else.
pub fn unwrap_command(part: &CommandPart) -> Option<&[ShellWord]> {
    if !part.assignments.iter().all(is_harmless) {
        return None;
    }
    let mut words = part.words.as_slice();
    loop {
        let Some((head, rest)) = words.split_first() else { return Some(words) };
        let inner = match head.text.as_str() {
            "env" if !rest.is_empty() => {
                let set = rest.iter().take_while(|word| word.text.contains('=')).count();
                if !rest[..set].iter().all(is_harmless) {
                    return None;
                }
                &rest[set..]
            }
            "timeout" => after_options(rest, &["-k", "-s"], 1)?,
            "nice" => after_options(rest, &["-n"], 0)?,
            "stdbuf" => after_options(rest, &["-i", "-o", "-e"], 0)?,
            // The program of the first name has an option that writes a file.
            "time" if rest.first().is_some_and(|word| word.text == "-p") => &rest[1..],
            "time" | "nohup" => rest,
            _ => return Some(words),
        };
        // An option of a wrapper that is not known here, or nothing to run.
        if inner.first().is_none_or(|word| word.text.starts_with('-') || word.expands) {
            return None;
        }
        words = inner;
    }
}

/// What stands after the options of a wrapper and its `operands`; `valued` take a value.
fn after_options<'a>(
    mut words: &'a [ShellWord],
    valued: &[&str],
    operands: usize,
) -> Option<&'a [ShellWord]> {
    while let Some((word, rest)) =
        words.split_first().filter(|(word, _)| word.text.starts_with('-'))
    {
        words = if valued.contains(&word.text.as_str()) { rest.get(1..)? } else { rest };
    }
    words.get(operands..)
}

fn is_harmless(assignment: &ShellWord) -> bool {
    let name = assignment.text.split('=').next().unwrap_or_default();
    !assignment.expands && VARIABLES.contains(&name)
}

/// Whether a word is this option, alone or among others in one word, or one that begins so.
fn may_be(word: &ShellWord, letter: char, long: &str) -> bool {
    let text = word.text.as_str();
    let short = text.starts_with('-') && !text.starts_with("--");
    text.starts_with(long) || (short && text.contains(letter))
}

/// How many words are no options: `-` is none, nor is what stands after `--`.
fn count_operands(words: &[ShellWord]) -> usize {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let is_operand = |word: &&ShellWord| word.text == "-" || !word.text.starts_with('-');
    words[..end].iter().filter(is_operand).count() + words.len().saturating_sub(end + 1)
}

/// Whether a format of `printf` has `%n`, which puts a number into the variable of that name.
fn sets_by_format(format: &str) -> bool {
    let flags = |c: char| c.is_ascii_digit() || "-+ #'.*hlLqjzt$".contains(c);
    format.split('%').skip(1).any(|rest| rest.trim_start_matches(flags).starts_with('n'))
}

fn is_version(name: &str, rest: &[ShellWord]) -> bool {
    let asks = |text: &str| matches!(text, "--version" | "-V" | "version");
    VERSIONED.contains(&name) && matches!(rest, [one] if asks(&one.text))
}

/// Without a sandbox: what works on its input and names no file, or tells how the last one ended.
fn reads_input(words: &[ShellWord]) -> bool {
    let Some((head, rest)) = words.split_first().filter(|(head, _)| !head.expands) else {
        return false;
    };
    let literal = rest.iter().all(|word| !word.expands);
    (literal && works_on_input(&head.text, rest)) || tells_status(&head.text, rest)
}

fn works_on_input(name: &str, rest: &[ShellWord]) -> bool {
    let is_number =
        |word: &&ShellWord| word.text.trim_start_matches(['+', '-']).parse::<u64>().is_ok();
    let files = rest.iter().filter(|word| !word.text.starts_with('-') && !is_number(word)).count();
    match name {
        "head" | "tail" | "cat" | "nl" | "tac" | "rev" => files == 0,
        // It takes names from a file, and says of each that there is none.
        "wc" => files == 0 && !rest.iter().any(|word| word.text.starts_with("--f")),
        "grep" | "egrep" | "fgrep" => {
            let reads_file = |word: &ShellWord| {
                may_be(word, 'f', "--f") || may_be(word, 'r', "--rec") || may_be(word, 'R', "--d")
            };
            // Where an option has the pattern, no other word is one.
            let patterns = match rest.iter().any(|word| may_be(word, 'e', "--reg")) {
                true => rest.iter().filter(|word| takes_pattern(&word.text)).count(),
                false => 1,
            };
            files <= patterns && !rest.iter().any(reads_file)
        }
        "tr" => true,
        "cut" => files == 0 && !rest.is_empty(),
        "true" | "false" | ":" | "pwd" => rest.is_empty(),
        "echo" => true,
        "exit" => files == 0,
        _ => false,
    }
}

/// Whether the pattern of a search is the word behind this option.
fn takes_pattern(option: &str) -> bool {
    let is_group = option.starts_with('-') && !option.starts_with("--");
    option == "--regexp" || (is_group && option.find('e') == Some(option.len() - 1))
}

/// `echo $?`, in any words.
fn tells_status(name: &str, rest: &[ShellWord]) -> bool {
    let plain = |word: &ShellWord| {
        !word.expands
            || word
                .text
                .replace("$?", "")
                .chars()
                .all(|c| c.is_alphanumeric() || " =:._-".contains(c))
    };
    matches!(name, "echo" | "exit") && rest.iter().all(plain)
}

fn reads_of_git(mut words: &[ShellWord]) -> bool {
    loop {
        words = match words.first().map(|word| word.text.as_str()) {
            Some("-C") if words.len() > 1 => &words[2..],
            Some("--no-pager" | "-P" | "--no-optional-locks") => &words[1..],
            _ => break,
        };
    }
    let Some((command, rest)) = words.split_first() else { return false };
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    let writes = |text: &&str| {
        let name = text.split('=').next().unwrap_or_default();
        (name.starts_with("--o") || name.starts_with("--e")) && !GIT_LIKE_WRITING.contains(&name)
    };
    if texts.iter().any(writes) {
        return false;
    }
    let is_option = |text: &&str| text.starts_with('-');
    let only = |known: &[&str]| texts.iter().all(|text| known.contains(text));
    match command.text.as_str() {
        // In any group of letters.
        "grep" => !texts
            .iter()
            .any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains('O')),
        name if GIT_READERS.contains(&name) => true,
        "branch" => only(&[
            "-a",
            "-r",
            "-v",
            "-vv",
            "-av",
            "--all",
            "--list",
            "--show-current",
            "--merged",
            "--no-merged",
        ]),
        "tag" => {
            texts.is_empty()
                || matches!(texts.first(), Some(&"-l" | &"--list"))
                    && !texts[1..].iter().any(is_option)
        }
        "stash" => matches!(texts.first(), Some(&"list" | &"show")),
        "remote" => texts.is_empty() || matches!(texts.as_slice(), ["-v"] | ["get-url", _]),
        "config" => {
            matches!(texts.as_slice(), ["--get", _] | ["get", _] | ["--list" | "-l" | "list"])
        }
        "reflog" => texts.first().is_none_or(|text| *text == "show"),
        "worktree" => texts == ["list"],
        "submodule" => texts == ["status"],
        _ => false,
    }
}

/// Prints lines or replaces in what it prints, nothing else.
fn reads_of_sed(words: &[ShellWord]) -> bool {
    let prints =
        |script: &str| script.chars().all(|c| c.is_ascii_digit() || " ,$;pq!=".contains(c));
    let replaces = |script: &str| {
        let Some(mark) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) else {
            return false;
        };
        let parts: Vec<&str> = script.split(mark).collect();
        let flags = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "gIip".contains(c));
        mark.is_ascii_punctuation() && mark != '\\' && parts.len() == 4 && flags(parts[3])
    };
    let known = |text: &str| matches!(text, "-n" | "-E" | "-r" | "-s" | "-u" | "-nE" | "-nr");
    let after = words.iter().skip_while(|word| known(&word.text)).collect::<Vec<_>>();
    let Some((script, files)) = after.split_first() else { return false };
    (prints(&script.text) || replaces(&script.text))
        && files.iter().all(|word| !word.text.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::shell::parse_command_line;

    fn reads(text: &str) -> bool {
        reads_only(&parse_command_line(text), true)
    }

    #[test]
    fn u13_what_only_reads_is_known() {
        for text in [
            "ls -la src",
            "git status --short && git diff --stat",
            "git -C sub log --oneline -5 | head -3",
            "git --no-pager show HEAD:README.md",
            "git branch -a",
            "cat Cargo.toml 2>/dev/null | grep -n version",
            "find . -name '*.rs' -newer x | wc -l",
            "cd crates && ls *.toml",
            "rg -n 'fn main' src | sort | uniq -c",
            "sed -n 1,40p src/main.rs",
            "sed 's/a/b/g' x.txt",
            "echo \"$(git rev-parse HEAD) of $HOME\"",
            "timeout 5 du -sh target",
            "CI=1 env LANG=C ls",
            "cargo --version; rustc -V",
            "test -f x && echo yes || echo no",
            "wc -l < README.md",
            "diff a b; true",
            "echo $HOME ${HOME} $? $# \"$@\" ${?}",
            "grep '${x:-y}' a.sh; grep 'a[0-9]$' b",
            "printf '%s\\n' a; printf '100%%\\n'",
            "uniq -c - | head",
            "xxd a.bin | head",
            "git grep -n hi",
            "git grep --only-matching hi",
            "nm -C a.o; strings -n 8 a; size a.o",
            "tree -L 2 -a",
            "sort --check x; sort -t, -k2 x",
            "date +%s; date -d yesterday",
            "time ls; time -p ls",
            "cat <<'E'\n${x@P}\nE",
        ] {
            assert!(reads(text), "{text}");
        }
    }

    #[test]
    fn u13_what_could_write_or_run_is_none() {
        for text in [
            "ls > out",
            "find . -delete",
            "find . -exec rm {} +",
            "find . $X",
            "git -c core.pager=evil log",
            "git --exec-path=x status",
            "git log --output=x",
            "git log --outp x",
            "git diff --ext-diff",
            "git grep -Oevil x",
            "git branch new",
            "git branch -D old",
            "git config core.fsmonitor evil",
            "git stash",
            "git remote add x y",
            "git tag v1",
            "git reflog expire --all",
            "sort -o x y",
            "sort -uox y",
            "sort --compress-program=evil x",
            "uniq a b",
            "rg --pre evil x",
            "fd -x rm",
            "sed -i s/a/b/ x",
            "sed 's/a/b/w out' x",
            "sed 's/a/b/e' x",
            "sed '1e evil' x",
            "tree -o x",
            "PATH=. ls",
            "LD_PRELOAD=x ls",
            "BASH_ENV=x ls",
            "env -i ls",
            "env PATH=. ls",
            "GIT_EXTERNAL_DIFF=evil git diff",
            "./ls",
            "/tmp/ls",
            "ls() { evil; }; ls",
            "ls & evil",
            "printf -v PATH /x; ls",
            "test -v 'a[$(evil)]'",
            "echo $(evil)",
            "cat <(evil)",
            "ls | xargs evil",
            "ls | tee x",
            "timeout 5",
            "timeout 5 evil",
            "time -o x ls",
            "awk '{system(\"evil\")}' x",
            "X=1",
            "",
        ] {
            assert!(!reads(text), "{text}");
        }
    }

    #[test]
    fn u13_what_the_shell_evaluates_is_none() {
        for text in [
            ": '$(touch p)'; echo ${_@P}",
            "ls '$(touch p)'; grep x ${_@P}",
            "cat < \"${_@P}\"",
            "cat <<< \"${_@P}\"",
            "cat <<E\n${_@P}\nE",
            ": ${x:='$(touch p)'}; echo ${x@P}",
            "CI=${x:=y} ls",
            ": 'a[$(touch p)]'; echo ${PWD:_}",
            ": 'a[$(touch p)]'; echo ${!_}",
            "echo $[_]",
            "echo \"$[_]\"",
            "echo ${DIRSTACK[_]}",
            "echo $((ls + _))",
            "echo \"$(\\\n(ls + _))\"",
            "((ls + _))",
            "echo $\\\n{_@P}",
            "echo \"$\\\n(touch p)\"",
            "printf 'a%n' PATH; ls",
            "printf '%-3ln' PATH; ls",
        ] {
            assert!(!reads(text), "{text}");
        }
    }

    #[test]
    fn u13_an_option_that_writes_or_runs_is_none_however_it_is_written() {
        for text in [
            "echo hi | uniq - AGENTS.md",
            "uniq -- - -x",
            "xxd - out",
            "git grep -lO./evil.sh hi",
            "git grep -nO hi",
            "git grep --open-files-in-pager=evil hi",
            "git grep --open=evil hi",
            "nm --plugin ./evil.so a.o",
            "nm --plug=./evil.so a.o",
            "nm @options",
            "strings --plugin=./evil.so a",
            "tree -R -L 1 -H .",
            "tree -aR",
            "sort --outp=x y",
            "sort --com=evil x",
            "sort -T . x",
            "date -s 2001-01-01",
            "date --se=2001-01-01",
            "file -C -m x",
            "file --comp -m x",
            "time -ox ls",
            "find . -ok rm {} ;",
            "find . -fprint x",
            "fd --exec-batch rm",
            "rg --pre=evil x",
        ] {
            assert!(!reads(text), "{text}");
        }
    }

    #[test]
    fn u13_without_a_sandbox_only_what_works_on_its_input_counts() {
        let reads = |text: &str| reads_only(&parse_command_line(text), false);
        for text in ["tail -n 5", "grep -v x", "true", "echo $?", "head -20 | wc -l", "tr a b"] {
            assert!(reads(text), "{text}");
        }
        for text in ["grep -e x -ie y", "grep -ex", "grep --regexp x", "grep --regexp=x -c"] {
            assert!(reads(text), "{text}");
        }
        for text in [
            "cat /etc/passwd",
            "ls",
            "grep x ~/.ssh/id",
            "grep -r x",
            "grep -e. a.txt",
            "grep -ne x a.txt",
            "grep --regexp=x a.txt",
            "grep -e x -ey a.txt",
            "wc --files0-from=a.txt",
            "git status",
            "echo $KEY",
            "cat < x",
            "cd /",
        ] {
            assert!(!reads(text), "{text}");
        }
    }
}
