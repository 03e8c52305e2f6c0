//! Everything that a command line might run, as broadly as it can be told.
//!
//! Only for what forbids: deny and ask rules and the hard floor. Permission is never drawn from it.

use std::ops::ControlFlow;

use super::braces::expand_braces;
use super::runners::ssh_has_command;
use super::{CommandLine, CommandPart, PARTS_MAX, ShellWord, lexer, parse_command_line};

/// Scripts inside scripts are followed so deep.
const SCRIPTS_MAX: usize = 4;
/// Most words that one part has with its lists in braces put in.
const WORDS_PUT_IN_MAX: usize = 20_000;
/// Most bytes of scripts that are read for one command line: wrappers of wrappers multiply them.
const SCRIPT_BYTES_MAX: usize = 300_000;

/// Programs that read a script from their arguments or their input.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "rksh"];

/// Their options behind which a value stands, beside those that end in `o`.
const SHELL_VALUES: &[&str] = &["--init-file", "--rcfile"];
/// Other commands that have a shell read a script from their input.
const SCRIPT_READERS: &[&str] =
    &[".", "at", "batch", "eval", "newgrp", "parallel", "sem", "source", "su"];

/// Programs that read a script from their input when their arguments name none.
const INTERPRETERS: &[&str] = &[
    "python",
    "node",
    "bun",
    "deno",
    "perl",
    "ruby",
    "php",
    "lua",
    "R",
    "Rscript",
    "tclsh",
    "osascript",
    "pwsh",
    "powershell",
    "ipython",
    "pypy",
    "luajit",
    "julia",
    "octave",
    "irb",
    "ghci",
    "groovy",
    "guile",
    "sbcl",
    "ts-node",
    "tsx",
    "source",
    ".",
];
/// Options of those two behind which a value stands, which is no script.
const VALUE_OPTIONS: &[&str] =
    &["-o", "+o", "-O", "+O", "-W", "-X", "-r", "--require", "--import", "--rcfile", "--init-file"];
/// Programs that make commands of their input, or begin a shell that does: those of databases and editors
/// have a word for it.
const INPUT_RUNNERS: &[&str] = &[
    "xargs",
    "parallel",
    "sem",
    "entr",
    "at",
    "batch",
    "crontab",
    "su",
    "newgrp",
    "nix-shell",
    "sqlite3",
    "psql",
    "mysql",
    "mariadb",
    "ed",
    "ex",
    "gdb",
    "lldb",
    "m4",
    "gnuplot",
    "dc",
    "duckdb",
    "expect",
    "ftp",
    "lftp",
    "mongo",
    "mongosh",
    "nvim",
    "sftp",
    "vi",
    "vim",
];
/// Programs that run a shell elsewhere if their arguments name one.
const CONTAINERS: &[&str] =
    &["docker", "docker-compose", "kubectl", "lxc", "nerdctl", "oc", "podman"];
/// Programs whose commands stand in a file that an option names, which may be their input.
const FILE_RUNNERS: &[&str] = &["make", "gmake", "awk", "gawk", "mawk", "sed"];
/// Names of the input.
const INPUTS: &[&str] = &["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Programs that run the command in their arguments, and how many operands stand before it.
const WRAPPERS: &[(&str, usize)] = &[
    ("env", 0),
    ("sudo", 0),
    ("doas", 0),
    ("pkexec", 0),
    ("command", 0),
    ("builtin", 0),
    ("exec", 0),
    ("eval", 0),
    ("coproc", 0),
    ("nohup", 0),
    ("nice", 0),
    ("ionice", 0),
    ("time", 0),
    ("timeout", 1),
    ("stdbuf", 0),
    ("unbuffer", 0),
    ("setsid", 0),
    ("setpriv", 0),
    ("xargs", 0),
    ("parallel", 0),
    ("watch", 0),
    ("strace", 0),
    ("ltrace", 0),
    ("script", 0),
    ("chroot", 1),
    ("unshare", 0),
    ("nsenter", 0),
    ("flock", 1),
    ("taskset", 1),
    ("chrt", 1),
    ("ssh", 1),
    ("su", 1),
    ("runuser", 1),
    ("systemd-run", 0),
    ("busybox", 0),
    ("toybox", 0),
    ("trap", 0),
    ("entr", 0),
    (".", 0),
    ("source", 0),
    ("bunx", 0),
    ("bwrap", 0),
    ("capsh", 0),
    ("catchsegv", 0),
    ("cgexec", 0),
    ("chpst", 0),
    ("choom", 0),
    ("chronic", 0),
    ("daemonize", 0),
    ("dbus-run-session", 0),
    ("dtach", 1),
    ("eatmydata", 0),
    ("expect", 0),
    ("faketime", 1),
    ("fakeroot", 0),
    ("firejail", 0),
    ("flatpak-spawn", 0),
    ("gdb", 0),
    ("gosu", 1),
    ("host-spawn", 0),
    ("hyperfine", 0),
    ("ifne", 0),
    ("linux32", 0),
    ("linux64", 0),
    ("nix-shell", 0),
    ("npx", 0),
    ("numactl", 0),
    ("prlimit", 0),
    ("proot", 0),
    ("proxychains", 0),
    ("proxychains4", 0),
    ("rlwrap", 0),
    ("screen", 0),
    ("sem", 0),
    ("setarch", 1),
    ("sg", 1),
    ("ssh-agent", 0),
    ("start-stop-daemon", 0),
    ("su-exec", 1),
    ("systemd-cat", 0),
    ("systemd-inhibit", 0),
    ("tmux", 1),
    ("torify", 0),
    ("torsocks", 0),
    ("valgrind", 0),
    ("watchexec", 0),
    ("xvfb-run", 0),
];

/// Programs that run the command behind these words of theirs, and how many operands stand before it.
const BEHIND: &[(&str, &[&str], usize)] = &[
    ("asdf", &["exec"], 0),
    ("aws-vault", &["exec"], 1),
    ("bun", &["x"], 0),
    ("bundle", &["exec"], 0),
    ("conda", &["run"], 0),
    ("direnv", &["exec"], 1),
    ("distrobox", &["enter"], 1),
    ("doppler", &["run"], 0),
    ("git", &["bisect", "run"], 0),
    ("git", &["submodule", "foreach"], 0),
    ("hatch", &["run"], 0),
    ("mise", &["exec"], 0),
    ("mise", &["x"], 0),
    ("nix", &["develop"], 1),
    ("nix", &["shell"], 1),
    ("npm", &["exec"], 0),
    ("op", &["run"], 0),
    ("pdm", &["run"], 0),
    ("perf", &["record"], 0),
    ("perf", &["stat"], 0),
    ("pipenv", &["run"], 0),
    ("pixi", &["run"], 0),
    ("pnpm", &["dlx"], 0),
    ("pnpm", &["exec"], 0),
    ("poetry", &["run"], 0),
    ("pyenv", &["exec"], 0),
    ("rbenv", &["exec"], 0),
    ("rr", &["record"], 0),
    ("rustup", &["run"], 1),
    ("rye", &["run"], 0),
    ("toolbox", &["run"], 0),
    ("uv", &["run"], 0),
    ("volta", &["run"], 0),
    ("yarn", &["dlx"], 0),
    ("yarn", &["exec"], 0),
];

/// Commands of the shell that evaluate what stands between brackets in the name of a variable, however it is
/// quoted.
const EVALUATORS: &[&str] = &[
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "typeset",
    "unset",
    // Also what it compares as numbers.
    "[[",
];
/// Those that do so with an option, `-v` or `-p`.
const EVALUATORS_BY_OPTION: &[&str] = &["[", "printf", "test", "wait"];

/// Options of `find` after which a command stands.
const FIND_OPTIONS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// The same of `fd`, written out.
const FD_OPTIONS: &[&str] = &["--exec", "--exec-batch"];
/// Options of `fd` of one letter that take a value: what stands behind one in its group is that.
const FD_VALUES: &str = "CcdeEjoSt";

/// What a command line might run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandReach {
    /// Its parts and those of the scripts it hands to shells.
    pub parts: Vec<CommandPart>,
    /// Why something might run that stands nowhere in it.
    pub opaque: Option<&'static str>,
    /// Why not all of it was read: it is built to be unreadable, so nobody can vouch for it.
    pub unread: Option<&'static str>,
    /// Bytes of scripts that were read.
    script_bytes: usize,
}

impl CommandReach {
    fn give_up(&mut self, why: &'static str) {
        self.opaque.get_or_insert(why);
        self.unread.get_or_insert(why);
    }
    /// Every command: program and arguments, wrappers taken off one by one.
    pub fn commands(&self) -> impl Iterator<Item = &[ShellWord]> {
        self.parts.iter().flat_map(commands_of)
    }
}

/// Every command in one part, wrappers taken off one by one.
pub fn commands_of(part: &CommandPart) -> impl Iterator<Item = &[ShellWord]> {
    command_heads(&part.words).into_iter().map(|at| &part.words[at..])
}

/// Whether a part runs what it reads: a shell or an interpreter that is given no script, `xargs`. What
/// its words are says nothing of that.
pub(in crate::governance) fn runs_its_input(part: &CommandPart) -> bool {
    commands_of(part).any(|words| {
        let Some((head, after)) = words.split_first() else { return false };
        let name = head_name(head);
        if INPUT_RUNNERS.contains(&name) {
            return true;
        }
        if FILE_RUNNERS.contains(&name) {
            return takes_commands_from_input(after);
        }
        if name == "ssh" {
            return !ssh_has_command(words);
        }
        if CONTAINERS.contains(&name) {
            let reads = |at: usize| {
                SHELLS.contains(&head_name(&after[at])) && shell_reads_script(&after[at + 1..])
            };
            return (0..after.len()).any(reads);
        }
        // `python3.12` too.
        let bare = match name {
            "." => name,
            _ => name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
        };
        let is_shell = SHELLS.contains(&name);
        if !is_shell && !INTERPRETERS.contains(&bare) {
            return false;
        }
        let is_value = |at: usize| at > 0 && VALUE_OPTIONS.contains(&after[at - 1].text.as_str());
        let is_script =
            |(at, word): (usize, &ShellWord)| !word.text.starts_with(['-', '+']) && !is_value(at);
        after.iter().any(|word| word.text == "-s" || is_input(&word.text))
            || !after.iter().enumerate().any(is_script)
            || (is_shell && shell_reads_script(after))
    })
}

/// Whether an option for a file of commands names the input: `-f -`, `-f-`, `-nf -`, `--file=/dev/stdin`. A
/// dash that stands alone is what a filter works on.
fn takes_commands_from_input(after: &[ShellWord]) -> bool {
    let is_option = |text: &str| {
        text.starts_with('-')
            && (text.ends_with('f') || text.trim_end_matches('=').ends_with("file"))
    };
    after.iter().enumerate().any(|(at, word)| {
        let follows = at > 0 && is_option(&after[at - 1].text);
        INPUTS.iter().any(|input| {
            let before = word.text.strip_suffix(*input);
            before.is_some_and(|before| is_option(before) || (before.is_empty() && follows))
        })
    })
}

/// The program's name without its folder.
pub fn head_name(word: &ShellWord) -> &str {
    // Every rule and every row of the floor asks for it: names are short, and to begin a search made for long
    // texts takes longer than to look.
    let folder_end = word.text.bytes().rposition(|byte| byte == b'/');
    folder_end.map_or(word.text.as_str(), |end| &word.text[end + 1..])
}

/// What of a command stands in a word by which `find`, `fd` or `env` runs one: nothing where it begins with the next
/// word.
/// `None`: the word runs none. Tests of `find` look like groups of letters: `-xdev`.
pub(super) fn command_in_option<'a>(program: &str, text: &'a str) -> Option<&'a str> {
    match program {
        "find" => FIND_OPTIONS.contains(&text).then_some(""),
        "fd" | "fdfind" if text.starts_with("--") => {
            let (name, command) = text.split_once('=').unwrap_or((text, ""));
            FD_OPTIONS.contains(&name).then_some(command)
        }
        "fd" | "fdfind" => {
            let group = text.strip_prefix('-')?;
            let at =
                group.find(|letter: char| "xX".contains(letter) || FD_VALUES.contains(letter))?;
            let command = group[at..].strip_prefix(['x', 'X'])?;
            Some(command.strip_prefix('=').unwrap_or(command))
        }
        // A long option may be cut short.
        "env" if text.starts_with("--") => {
            text.strip_prefix("--s")?.split_once('=').map(|(_, command)| command)
        }
        "env" => text.strip_prefix('-')?.split_once('S').map(|(_, command)| command),
        _ => None,
    }
}

/// Lists what `line` might run.
pub fn command_reach(line: &CommandLine) -> CommandReach {
    let mut found = CommandReach::default();
    follow_line(line, 0, &mut found);
    found
}

fn follow_line(line: &CommandLine, depth: usize, found: &mut CommandReach) {
    if let Some(why) = line.unreadable {
        found.give_up(why);
    }
    let scene = LineScene {
        computes: line.computes,
        feeds_shell: line.parts.iter().any(|part| reads_script(&part.words)),
        depth,
    };
    for part in &line.parts {
        let put_in = with_braces_put_in(part, found);
        for part in std::iter::once(part).chain(&put_in) {
            if follow_part(part, scene, found).is_break() {
                return;
            }
        }
    }
}

/// What counts for each part of a line.
#[derive(Clone, Copy)]
struct LineScene {
    computes: bool,
    /// Some shell in it reads what another part prints.
    feeds_shell: bool,
    depth: usize,
}

/// Lists a part and the scripts in it. It breaks off where the whole line is given up.
fn follow_part(part: &CommandPart, scene: LineScene, found: &mut CommandReach) -> ControlFlow<()> {
    if found.parts.len() > PARTS_MAX {
        found.give_up("it has too many parts");
        return ControlFlow::Break(());
    }
    found.parts.push(part.clone());
    if scene.computes || evaluates_names(part) {
        follow_evaluated(part, found);
    }
    for script in script_texts(part, scene.feeds_shell, found) {
        if scene.depth >= SCRIPTS_MAX {
            found.give_up("scripts stand in scripts too deeply");
            continue;
        }
        found.script_bytes += script.len();
        if found.script_bytes > SCRIPT_BYTES_MAX {
            found.give_up("the scripts in it are too long");
            return ControlFlow::Break(());
        }
        follow_line(&parse_command_line(&script), scene.depth + 1, found);
    }
    ControlFlow::Continue(())
}

/// A part as the shell makes it of one with lists in braces: `{rm,-rf,x}` is a command. `None`: it has none, or a
/// variable or a command gives what stands in them.
fn with_braces_put_in(part: &CommandPart, found: &mut CommandReach) -> Option<CommandPart> {
    let has_braces = |word: &ShellWord| {
        word.expands && word.text.contains('{') && !word.text.contains(['$', '`'])
    };
    // Where it goes is followed word by word, and once.
    let goes = |word: &ShellWord| matches!(word.text.as_str(), "cd" | "popd" | "pushd");
    if part.words.first().is_none_or(goes) || !part.words.iter().any(has_braces) {
        return None;
    }
    let mut words: Vec<ShellWord> = Vec::new();
    for word in &part.words {
        if !has_braces(word) {
            words.push(word.clone());
            continue;
        }
        // What comes out empty is no word.
        let texts = expand_braces(&word.text).into_iter().filter(|text| !text.is_empty());
        words.extend(texts.map(|text| {
            let expands = text.contains(['*', '?', '[', '~']);
            ShellWord { text, expands, splits: word.splits }
        }));
        if words.len() > WORDS_PUT_IN_MAX {
            found.give_up("the lists in its braces are too long");
            return None;
        }
    }
    (words != part.words).then(|| CommandPart { words, ..part.clone() })
}

/// The texts in `part` that some shell would read as a script.
fn script_texts(part: &CommandPart, feeds_shell: bool, found: &mut CommandReach) -> Vec<String> {
    let mut scripts: Vec<String> = Vec::new();
    let mut joined_bytes = 0;
    // Commands come in the order of their words: what the first one looks at is all that those
    // after it could look at too.
    let (mut any_runs, mut any_shell, mut any_fd, mut any_env) = (false, false, false, false);
    for at in command_heads(&part.words) {
        let words = &part.words[at..];
        let name = head_name(&words[0]);
        if words[0].expands {
            found.opaque.get_or_insert("the name of a program is computed");
        }
        let renames = name == "alias" && words.len() > 1
            || name == "hash" && words[1..].iter().any(|word| word.text.starts_with("-p"));
        if renames {
            found.opaque.get_or_insert("a name is given another program");
        }
        let is_shell = SHELLS.contains(&name) || name == "eval";
        if is_shell && !std::mem::replace(&mut any_shell, true) {
            let computed = words[1..].iter().any(|word| word.expands);
            if computed {
                found.opaque.get_or_insert("a script is computed");
            }
        }
        let runs = is_shell
            || WRAPPERS.iter().any(|(wrapper, _)| *wrapper == name)
            || own_words_end(words).is_some();
        if runs && !std::mem::replace(&mut any_runs, true) {
            let scripted = |word: &&ShellWord| {
                word.text.contains(|c: char| c.is_whitespace() || ";|&`$()<>'\"".contains(c))
                    || (word.text.contains('{') && word.text.contains(','))
            };
            let told = words[1..].iter().filter(scripted);
            scripts.extend(told.clone().map(|word| word.text.clone()));
            scripts.extend(told.filter_map(|word| script_in_option(&word.text)).map(str::to_owned));
        }
        if matches!(name, "fd" | "fdfind") && !std::mem::replace(&mut any_fd, true) {
            scripts.extend(commands_begun_in_options(words));
        }
        if name == "env" && !std::mem::replace(&mut any_env, true) {
            scripts.extend(commands_begun_in_options(words));
        }
        let joins = matches!(name, "eval" | "ssh" | "watch") && words.len() > 2;
        let speaks = matches!(name, "echo" | "printf" | "cat") && words.len() > 1;
        // Beyond the bound `follow` gives up: there is no use in joining more.
        if (joins || (feeds_shell && speaks)) && joined_bytes <= SCRIPT_BYTES_MAX {
            let texts: Vec<&str> = words[1..].iter().map(|w| w.text.as_str()).collect();
            scripts.push(texts.join(" "));
            joined_bytes += scripts.last().map_or(0, String::len);
        }
    }
    let here_strings = part.redirections.iter().filter(|r| r.operator == "<<<");
    if here_strings.clone().next().is_some() && reads_script(&part.words) {
        scripts.extend(here_strings.map(|r| r.target.text.clone()));
    }
    if feeds_shell {
        found.opaque.get_or_insert("a shell reads its script from elsewhere");
        scripts.extend(part.redirections.iter().filter_map(|r| r.body.clone()));
    }
    scripts
}

/// The script that stands in one word with its option: `--split-string=…`, `-S…`, `-c…`.
fn script_in_option(text: &str) -> Option<&str> {
    match text.strip_prefix("--") {
        Some(long) => long.split_once('=').map(|(_, script)| script),
        None => text.strip_prefix('-')?.split_once(['S', 'c']).map(|(_, script)| script),
    }
}

/// Whether a command of the shell evaluates a name that stands in this part: `test -v 'a[$(rm x)]'`.
fn evaluates_names(part: &CommandPart) -> bool {
    let has = |any: &[&str]| part.words.iter().any(|word| any.contains(&word.text.as_str()));
    // The name may stand in one word with the option: `printf -v'a[$(rm x)]'`.
    let is_option = |word: &ShellWord| word.text.starts_with('-') && word.text.contains(['v', 'p']);
    let evaluates =
        has(EVALUATORS) || (has(EVALUATORS_BY_OPTION) && part.words.iter().any(is_option));
    evaluates && part.words.iter().any(|word| word.text.contains('['))
}

/// The commands of `fd` and `env` that begin within an option: `fd -xrm`, `fd --exec=rm`, `env -Srm x`.
fn commands_begun_in_options(words: &[ShellWord]) -> Vec<String> {
    let mut commands = Vec::new();
    let mut bytes = 0;
    for (at, word) in words.iter().enumerate().skip(1) {
        let begun = command_in_option(head_name(&words[0]), &word.text);
        let Some(begun) = begun.filter(|begun| !begun.is_empty()) else { continue };
        let rest = words[at + 1..].iter().map(|word| word.text.as_str());
        let texts: Vec<&str> = std::iter::once(begun).chain(rest).collect();
        let command = texts.join(" ");
        bytes += command.len();
        commands.push(command);
        // Beyond the bound `follow_line` gives up: there is no use in joining more.
        if bytes > SCRIPT_BYTES_MAX {
            break;
        }
    }
    commands
}

/// Adds the commands in quoted texts, which run where something else in the line evaluates the texts:
/// `: '$(rm x)'; echo ${_@P}`.
fn follow_evaluated(part: &CommandPart, found: &mut CommandReach) {
    let targets = part.redirections.iter().map(|redirection| &redirection.target);
    let words = part.words.iter().chain(&part.assignments).chain(targets);
    for word in words.filter(|word| word.text.contains("$(") || word.text.contains('`')) {
        found.script_bytes += word.text.len();
        if found.script_bytes > SCRIPT_BYTES_MAX {
            return found.give_up("the scripts in it are too long");
        }
        let text = word.text.replace(['\'', '"', '{', '}', '[', ']'], " ");
        found.parts.extend(lexer::lex_quoted_text(&text).parts);
    }
}

/// Whether some command in `words` is a shell that reads its script from its input, or has one read it.
fn reads_script(words: &[ShellWord]) -> bool {
    let may_read = |word: &ShellWord| {
        let name = head_name(word);
        SHELLS.contains(&name) || SCRIPT_READERS.contains(&name)
    };
    if !words.iter().any(may_read) {
        return false;
    }
    // Looked up once: wrappers of wrappers multiply the places where a command begins.
    let feeds = |word: &ShellWord| matches!(head_name(word), "parallel" | "xargs");
    let (fed_from, printed_to) = (words.iter().position(feeds), words.iter().rposition(is_printed));
    command_heads(words).into_iter().any(|at| {
        let (name, after) = (head_name(&words[at]), &words[at + 1..]);
        let has_printed = printed_to.is_some_and(|last| last > at);
        let operands = || after.iter().filter(|word| !word.text.starts_with('-'));
        match name {
            name if SHELLS.contains(&name) => {
                shell_reads_script(after)
                    || has_printed
                    || (fed_from.is_some_and(|first| first < at) && script_is_put_in(after))
            }
            "." | "source" => operands().next().is_some_and(|word| is_input(&word.text)),
            "at" | "batch" => !after.iter().any(|word| word.text.starts_with("-f")),
            "eval" => has_printed,
            "newgrp" | "su" => !has_letter(after, 'c'),
            // Lines are commands to them where none stands behind them.
            "parallel" | "sem" => operands().next().is_none(),
            _ => false,
        }
    })
}

/// Whether a shell with these arguments reads its script from its input.
fn shell_reads_script(after: &[ShellWord]) -> bool {
    let takes_value = |text: &str| {
        SHELL_VALUES.contains(&text)
            || (text.starts_with(['-', '+'])
                && !text.starts_with("--")
                && text.ends_with(['o', 'O']))
    };
    let is_operand = |at: &usize| {
        let is_value = *at > 0 && takes_value(&after[*at - 1].text);
        !after[*at].text.starts_with(['-', '+']) && !is_value
    };
    let end = (0..after.len()).find(is_operand).unwrap_or(after.len());
    let (options, operands) = after.split_at(end);
    let is_given = has_letter(options, 'c');
    match operands.first() {
        _ if is_given => false,
        Some(script) => is_input(&script.text) || has_letter(options, 's'),
        None => true,
    }
}

/// Whether the script that a shell is given is no more than the place for one: `xargs -I{} sh -c {}`.
fn script_is_put_in(after: &[ShellWord]) -> bool {
    let script = after.iter().find(|word| !word.text.starts_with(['-', '+']));
    has_letter(after, 'c')
        && script.is_none_or(|script| !script.text.contains(|c: char| c.is_alphanumeric()))
}

/// Whether a script of this name is what other commands of the line print.
fn is_input(text: &str) -> bool {
    INPUTS.contains(&text) || text.starts_with("<(")
}

/// Whether something that a command prints stands in a word.
fn is_printed(word: &ShellWord) -> bool {
    word.expands && (word.text.contains("$(") || word.text.contains('`'))
}

/// Whether a letter stands in a group of short options.
fn has_letter(words: &[ShellWord], letter: char) -> bool {
    let groups = words.iter().filter_map(|word| word.text.strip_prefix('-'));
    groups.filter(|group| !group.starts_with('-')).any(|group| group.contains(letter))
}

/// Whether a program of this name may run a command that stands in its arguments.
fn may_run_others(name: &str) -> bool {
    matches!(name, "find" | "fd" | "fdfind")
        || SHELLS.contains(&name)
        || WRAPPERS.iter().any(|(wrapper, _)| *wrapper == name)
        || BEHIND.iter().any(|(program, ..)| *program == name)
}

/// Where the last word of a program's own stands behind which it runs a command, and how many operands stand
/// before that.
fn own_words_end(words: &[ShellWord]) -> Option<(usize, usize)> {
    let name = head_name(words.first()?);
    let end_of = |own: &[&str]| {
        own.iter().try_fold(0, |at, wanted| {
            let rest = &words[at + 1..];
            rest.iter().position(|word| word.text == *wanted).map(|next| at + 1 + next)
        })
    };
    let mut known = BEHIND.iter().filter(|(program, ..)| *program == name);
    known.find_map(|(_, own, operands)| Some((end_of(own)?, *operands)))
}

/// Places in `words` where a command begins: the first, and those after wrappers.
fn command_heads(words: &[ShellWord]) -> Vec<usize> {
    // Most commands run no other.
    if words.first().is_some_and(|first| !may_run_others(head_name(first))) {
        return vec![0];
    }
    let mut heads = Vec::new();
    let mut seen = vec![false; words.len()];
    let mut open = vec![0];
    // From here on the options of some `find` were looked for: those of one before it are the rest.
    let mut searched = words.len();
    while let Some(at) = open.pop() {
        if at >= words.len() || std::mem::replace(&mut seen[at], true) {
            continue;
        }
        heads.push(at);
        let name = head_name(&words[at]);
        if matches!(name, "find" | "fd" | "fdfind") {
            let options = (at + 1..searched)
                .filter(|i| command_in_option(name, &words[*i].text) == Some(""))
                .map(|i| i + 1);
            open.extend(options);
            searched = searched.min(at + 1);
        }
        let wrapper = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name);
        let behind = own_words_end(&words[at..]);
        let (operands, from) = match (wrapper, behind) {
            (Some((_, operands)), _) => (*operands, at),
            (None, Some((end, operands))) => (operands, at + end),
            (None, None) if SHELLS.contains(&name) => (0, at),
            (None, None) => continue,
        };
        let mut left = operands;
        let mut after_option = false;
        for (i, word) in words.iter().enumerate().skip(from + 1) {
            let text = word.text.as_str();
            if text.starts_with('-') && text.len() > 1 {
                after_option = text != "--";
                continue;
            }
            if text.contains('=') && !text.starts_with('/') {
                after_option = false;
                continue;
            }
            // After an option this may be its value or the command: it is taken for both.
            open.push(i);
            if after_option {
                after_option = false;
            } else if left > 0 {
                left -= 1;
            } else {
                break;
            }
        }
    }
    heads.sort_unstable();
    heads
}
