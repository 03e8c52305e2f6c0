//! Options by which a program runs another one that the line names: `make --eval`, `git push --exec`, `tar
//! --to-command`; loads code that lies elsewhere, or gets elsewhere itself: `eslint --rulesdir /x`, `ssh -J`. Who
//! agreed to how a command begins agreed to that program, and not to these. Not here: the list of what is known
//! (`runner_table`), programs that run whatever stands behind them (`reach`), and what a program runs because a
//! file of the workspace says so, which the sandbox bounds.

use super::ShellWord;
use super::git_options::{GitOptionTarget, git_option_target};
use super::reach::{command_in_option, head_name};
use super::runner_table::{
    CMAKE_FILES, CMAKE_PROGRAMS, COMPILER_PLUGINS, GIT_BEFORE, GIT_VALUES, GIT_VERBS, LAUNCHERS,
    MAKE_PROGRAMS, RUNNERS, RunnerOptions, SSH_OPTIONS, SSH_SETTINGS, SshOptions,
};

/// Shortest beginning of a long option that is taken for it: many programs take them cut short.
const CUT_CHARS_MIN: usize = 3;
/// Letters of `pytest` that take a value: what stands behind one in its group is that.
const PYTEST_VALUES: &str = "ckmnorW";

/// Whether a command is told by an option to run another program. The first `agreed` words of it are those
/// that a person agreed to.
pub(in crate::governance) fn runs_by_option(words: &[ShellWord], agreed: usize) -> bool {
    let Some(head) = words.first() else { return false };
    let name = head_name(head);
    let after = words.get(agreed.max(1)..).unwrap_or_default();
    if matches!(name, "find" | "fd" | "fdfind") {
        return after.iter().any(|word| command_in_option(name, &word.text).is_some());
    }
    if let Some(at) = launched_program(words, agreed)
        && runs_by_option(&words[at..], agreed - at)
    {
        return true;
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
            "pytest" | "py.test" => (0..after.len()).any(|at| loads_plugin(after, at)),
            // It runs what stands behind it in one of its environments.
            "tox" => after.iter().any(|word| matches!(word.text.as_str(), "exec" | "e")),
            "make" | "gmake" => after.iter().any(|word| is_program_of_make(&word.text)),
            "cmake" => after.iter().any(is_program_of_cmake) || build_runs_by_option(words, agreed),
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

/// Where the program stands that the first words of a line start by its name, of which options are known.
fn launched_program(words: &[ShellWord], agreed: usize) -> Option<usize> {
    let is_known =
        |word: &ShellWord| RUNNERS.iter().any(|known| known.programs.contains(&head_name(word)));
    let name = head_name(words.first()?);
    // `python3.12` too.
    let is_python =
        name.strip_prefix("python3.").is_some_and(|version| version.parse::<u8>().is_ok());
    let launches = is_python || LAUNCHERS.contains(&name);
    (1..agreed.min(words.len())).find(|at| launches && is_known(&words[*at]))
}

/// Whether the word at `at` makes `pytest` load a plugin, or sets what says which it loads: `-p no:NAME` only
/// leaves one out.
fn loads_plugin(words: &[ShellWord], at: usize) -> bool {
    let word = &words[at];
    let next = words.get(at + 1);
    let text = word.text.as_str();
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, v)| (name, Some(v)));
        let value = value.or(next.map(|next| next.text.as_str())).unwrap_or_default();
        return is_long(name, "--override-ini") && sets_plugins(value);
    }
    let Some(group) = text.strip_prefix('-') else { return false };
    let at = group.find(|letter: char| letter == 'p' || PYTEST_VALUES.contains(letter));
    let Some(letter) = at.and_then(|at| group[at..].chars().next()) else { return false };
    let rest = &group[at.unwrap_or_default() + 1..];
    let (value, expands) = match rest {
        "" => next.map_or(("", true), |next| (next.text.as_str(), next.expands)),
        _ => (rest, word.expands),
    };
    match letter {
        'p' => expands || !value.starts_with("no:"),
        'o' => sets_plugins(value),
        'c' => expands || !is_inside(value),
        _ => false,
    }
}

/// Whether a setting of `pytest` says what it loads.
fn sets_plugins(setting: &str) -> bool {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "$"));
    match key.trim() {
        "addopts" => !value.is_empty(),
        "pythonpath" | "required_plugins" => !is_inside(value),
        key => key.contains(['$', '`']),
    }
}

/// Whether what `cmake --build` hands on to a program that builds, behind `--`, runs another one. It may be
/// `make`, and is judged as its words are.
fn build_runs_by_option(words: &[ShellWord], agreed: usize) -> bool {
    let end = words.iter().position(|word| word.text == "--").unwrap_or(words.len());
    let behind = words.get(agreed.max(end + 1)..).unwrap_or_default();
    is_told("make", behind) || behind.iter().any(|word| is_program_of_make(&word.text))
}

/// Whether a word sets a variable of `cmake` that is run: `-DCMAKE_C_COMPILER=…`, `-DGIT_EXECUTABLE:PATH=…`; or
/// one that is read as its own file is, where that does not lie inside: `-DCMAKE_TOOLCHAIN_FILE=…`.
fn is_program_of_cmake(word: &ShellWord) -> bool {
    let set = word.text.strip_prefix("-D").unwrap_or(&word.text);
    let Some((name, value)) = set.split_once('=') else { return false };
    let name = name.split(':').next().unwrap_or(name);
    let is_own = name.starts_with("CMAKE_");
    let is_program = CMAKE_PROGRAMS.iter().any(|end| name.ends_with(end));
    let is_file = CMAKE_FILES.iter().any(|end| name.ends_with(end));
    let lies_inside = !word.expands && value.split(';').all(is_inside);
    name.ends_with("_EXECUTABLE") || (is_own && (is_program || (is_file && !lies_inside)))
}

fn is_group(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphabetic()) && text.contains(['I', 'F'])
}

impl RunnerOptions {
    /// Whether `text` is one of these long options.
    fn names_option(&self, text: &str, options: &[&str]) -> bool {
        match self.is_exact {
            true => options.iter().any(|option| is_written_like(text, option)),
            false => options.iter().any(|option| is_long(text, option)),
        }
    }

    fn tells_program(&self, text: &str) -> bool {
        let group = text.strip_prefix('-').filter(|group| !group.starts_with('-'));
        let in_group = group.is_some_and(|group| {
            group.contains(|c: char| self.letters.contains(c))
                || group.starts_with(|c: char| self.first.contains(c))
        });
        let small = text.to_lowercase();
        in_group
            || self.names_option(text, self.long)
            || self.inside.iter().any(|part| small.contains(part))
    }

    /// Whether the word at `at` tells it of a file that may lie outside of the workspace.
    fn tells_file_elsewhere(&self, words: &[ShellWord], at: usize) -> bool {
        let word = &words[at];
        let value = match word.text.strip_prefix('-').filter(|group| !group.starts_with('-')) {
            _ if self.names_option(&word.text, self.files) => {
                Some(word.text.split_once('=').map_or("", |(_, value)| value))
            }
            Some(group) => group
                .strip_prefix(|letter: char| self.file_first.contains(letter))
                .or_else(|| {
                    let value = group.split_once(|letter: char| self.file_letters.contains(letter));
                    value.map(|(_, value)| value)
                })
                .map(|value| value.strip_prefix('=').unwrap_or(value)),
            None => None,
        };
        match value {
            None => false,
            // It is the next word.
            Some("") => {
                words.get(at + 1).is_none_or(|next| next.expands || !are_inside(&next.text))
            }
            Some(value) => word.expands || !are_inside(value),
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

/// The same of each path of a list.
fn are_inside(paths: &str) -> bool {
    paths.split(',').all(is_inside)
}

/// Whether `text` is this long option, with its value or without, however its words are put together.
fn is_written_like(text: &str, option: &str) -> bool {
    let Some(name) = text.split('=').next().and_then(|name| name.strip_prefix("--")) else {
        return false;
    };
    let letters = |text: &str| -> String {
        text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
    };
    letters(name) == letters(option)
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
    /// Whether an option behind the first `agreed` words tells it what to run here, or where else to go.
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

/// Whether a line of `ssh` has a command for the other machine: without one that reads commands from what is printed
/// to it.
pub(super) fn ssh_has_command(words: &[ShellWord]) -> bool {
    let known = SSH_OPTIONS.iter().find(|options| options.program == "ssh");
    let values = known.map_or("", |options| options.values);
    let (mut at, mut has_host) = (1, false);
    while let Some(word) = words.get(at) {
        match word.text.strip_prefix('-').filter(|group| !group.is_empty()) {
            None if has_host => return true,
            None => has_host = true,
            Some(group) => {
                let value_at = group.find(|letter: char| values.contains(letter));
                at += usize::from(value_at.is_some_and(|value_at| value_at + 1 == group.len()));
            }
        }
        at += 1;
    }
    false
}

/// Whether a setting of `ssh` is one by which it runs a program or gets elsewhere: `ProxyCommand=…`, `"ProxyJump" …`.
fn is_program_of_ssh(setting: &str) -> bool {
    let key = setting.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let key = key.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(key);
    SSH_SETTINGS.contains(&key.to_ascii_lowercase().as_str())
}

fn git_runs_by_option(words: &[ShellWord], agreed: usize) -> bool {
    let command = command_of_git(words);
    let before = words.get(agreed.max(1)..command).unwrap_or_default();
    let sets = |word: &ShellWord| GIT_BEFORE.iter().any(|option| is_long(&word.text, option));
    let begin = agreed.max(command + 1);
    let after = words.get(begin..).unwrap_or_default();
    // Behind an option it may be the value of that one.
    let is_value = |at: usize| words.get(at).is_some_and(|word| word.text.starts_with('-'));
    let ends = |at: &usize| after[*at].text == "--" && !is_value(begin + *at - 1);
    let end = (0..after.len()).find(ends).unwrap_or(after.len());
    let after = &after[..end];
    let name = words.get(command).map_or("", |word| word.text.as_str());
    let leads_elsewhere = |at: usize| match git_option_target(name, after, at) {
        Some(GitOptionTarget::Program) => true,
        Some(GitOptionTarget::File) => !names_file_inside(after, at),
        None => false,
    };
    let verb = GIT_VERBS.iter().find(|(command, _)| *command == name);
    let runs = verb.is_some_and(|(_, verb)| after.iter().any(|word| word.text == *verb));
    runs || before.iter().any(sets) || (0..after.len()).any(leads_elsewhere)
}

/// Whether an option for a file that is written names one inside of the workspace.
fn names_file_inside(words: &[ShellWord], at: usize) -> bool {
    let value = match words[at].text.split_once('=') {
        Some((_, value)) => Some((value, words[at].expands)),
        None => words.get(at + 1).map(|next| (next.text.as_str(), next.expands)),
    };
    let needs_none = is_long(&words[at].text, "--unsafe-paths");
    !needs_none && value.is_some_and(|(value, expands)| !expands && is_inside(value))
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
        || value.split_whitespace().any(|option| {
            COMPILER_PLUGINS.iter().any(|known| option.trim_start_matches('"').starts_with(known))
        })
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
            ("make 'CFLAGS=-O2 -fplugin=./x.so'", 1),
            ("git push --receive-pack=./x", 2),
            ("git fetch -o -- --upload-pack=./x .", 2),
            ("git fetch -o -- --upload-pack=./x .", 3),
            ("git rebase -X -- --exec=./x HEAD~1", 2),
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
            ("git diff --output=/etc/x", 2),
            ("git log --outp ../x", 2),
            ("git diff --output=$X", 2),
            ("git apply --unsafe-paths a.patch", 2),
            ("git submodule --quiet foreach ./x", 2),
            ("git bisect run ./x", 2),
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
            ("git ls-remote -qu ./x a", 2),
            ("git rebase -ms ./x main", 2),
            ("ctest -S ./x", 1),
            ("fd --exec=id", 1),
            ("fd -Hxid", 1),
        ] {
            assert!(runs(line, agreed), "{line}");
        }
    }

    #[test]
    fn c3_code_that_an_option_of_a_check_or_a_test_loads_from_elsewhere_is_told() {
        for (line, agreed) in [
            ("pytest -p evil", 1),
            ("pytest -qpevil tests", 1),
            ("pytest -p \"$X\"", 1),
            ("pytest -p", 1),
            ("pytest -o addopts='-p evil'", 1),
            ("pytest --override-ini=pythonpath=/tmp", 1),
            ("pytest -c /tmp/x.ini", 1),
            ("pytest --rootdir=/tmp/x", 1),
            ("pytest --pdbcls=evil:X --pdb", 1),
            ("python -m pytest -p evil", 3),
            ("tox exec -e py -- sh -c x", 1),
            ("tox -q e -- sh -c x", 1),
            ("cargo nextest run --config-file /tmp/x.toml", 2),
            ("python3 -m pytest tests -c ../x.ini", 3),
            ("uv run pytest -p evil", 3),
            ("npx eslint --rulesdir /tmp/x src", 2),
            ("yarn eslint --config ../x.js src", 2),
            ("eslint --rulesdir=/tmp/x src", 1),
            ("eslint -c /tmp/x.js src", 1),
            ("eslint --parser ~/x.js src", 1),
            ("eslint -f ../x.js src", 1),
            ("eslint --config", 1),
            ("vitest --config /tmp/x.ts", 1),
            ("jest --config '{\"runner\": \"/tmp/x\"}'", 1),
            ("jest --setupFiles /tmp/x.js", 1),
            ("mocha -r /tmp/x.js", 1),
            ("prettier --plugin=/tmp/x.js src", 1),
            ("pylint --init-hook='import x' src", 1),
            ("pylint --load-plugins $X src", 1),
            ("mypy --config-f /tmp/x.ini", 1),
            ("rake -e 'system \"id\"'", 1),
            ("rspec -r /tmp/x", 1),
            ("bundle exec rspec -I /tmp/x", 3),
            ("python3.12 -m pytest -p evil", 3),
            ("jest --setup-files /tmp/x.js", 1),
            ("jest --root-dir=../x", 1),
            ("npx jest --test-environment=/tmp/x.js", 2),
            ("jest --env=/tmp/x.js", 1),
            ("vitest --global-setup ../x.ts", 1),
            ("vitest --typecheck.checker=./x", 1),
            ("vitest --coverage.custom-provider-module=/tmp/x.js", 1),
            ("mocha -n require=/tmp/x.js", 1),
            ("mocha --node-option=require=/tmp/x.js", 1),
            ("jest --reporters=default,/tmp/x.js", 1),
            ("bun test --preload /tmp/x.ts", 2),
            ("npm test --userconfig=/tmp/x", 2),
            ("npm test --globalconfig=/tmp/x", 2),
            ("pnpm run lint --config.script-shell=./x", 3),
            ("dotnet test --test-adapter-path /tmp/x", 2),
            ("dotnet build -p:CustomBeforeMicrosoftCommonTargets=/tmp/x.targets", 2),
            ("gradle -Dorg.gradle.jvmargs=-javaagent:/tmp/x.jar test", 1),
            ("gradle -g /tmp/x test", 1),
            ("mvn -Dmaven.ext.class.path=/tmp/x.jar test", 1),
            ("mvn -gs /tmp/x.xml test", 1),
            ("rubocop --plugin /tmp/x", 1),
        ] {
            assert!(runs(line, agreed), "{line}");
        }
    }

    #[test]
    fn c3_a_build_that_an_option_leads_elsewhere_is_told() {
        for (line, agreed) in [
            ("make -C /tmp/x", 1),
            ("make -C ../x all", 1),
            ("make -sC/tmp/x", 1),
            ("make --dir=/tmp/x", 1),
            ("make --directory $X", 1),
            ("make -I /tmp/x", 1),
            ("make --include-dir=../x", 1),
            ("ninja -C /tmp/x", 1),
            ("just -d /tmp/x build", 1),
            ("cargo test --manifest-path /tmp/x/Cargo.toml", 2),
            ("go test -overlay=/tmp/x.json ./...", 2),
            ("go build -C ../x", 2),
            ("npm test --prefix /tmp/x", 2),
            ("pnpm -C ../x test", 1),
            ("gradle -p /tmp/x build", 1),
            ("mvn -f /tmp/x/pom.xml test", 1),
            ("cmake -S /tmp/x -B b", 1),
            ("cmake -C ../x.cmake .", 1),
            ("cmake --build /tmp/x", 1),
            ("cmake --toolchain /tmp/x.cmake .", 1),
            ("cmake -DCMAKE_TOOLCHAIN_FILE=/tmp/x.cmake .", 1),
            ("cmake -DCMAKE_TOOLCHAIN_FILE:FILEPATH=../x.cmake .", 1),
            ("cmake -D 'CMAKE_PROJECT_TOP_LEVEL_INCLUDES=a.cmake;/tmp/x.cmake' .", 1),
            ("cmake -DCMAKE_MODULE_PATH=$X .", 1),
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
            ("git diff --output=out/a.patch", 2),
            ("git format-patch --output-directory out main", 2),
            ("git submodule foreach ./x", 3),
            ("git bisect start", 2),
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
            ("fd -HIu -tx -exml -Csrc/x name", 1),
            ("go test ./... -run X", 2),
            ("ls --eval", 1),
        ] {
            assert!(!runs(line, agreed), "{line}");
        }
    }

    #[test]
    fn c3_what_checks_builds_and_tests_are_told_every_day_is_covered() {
        for (line, agreed) in [
            ("pytest -q -x -rp -k plugin tests", 1),
            ("pytest -p no:cacheprovider -pno:warnings", 1),
            ("pytest --co -q", 1),
            ("pytest --pdb", 1),
            ("pytest -o addopts= -o log_cli=true -c ci/pytest.ini", 1),
            ("pytest -p evil", 3),
            ("python -m pytest -vv tests", 3),
            ("tox run -e py312 -- tests", 1),
            ("tox exec -e py -- pytest", 2),
            ("cargo nextest run --config-file .config/nextest.toml", 2),
            ("eslint --cache --fix --ext .ts src", 1),
            ("eslint -f json -c config/eslint.js --rulesdir rules src", 1),
            ("npx eslint --format stylish .", 2),
            ("vitest --run", 1),
            ("vitest run --coverage", 1),
            ("jest --runInBand --ci --testPathPattern x", 1),
            ("mocha -r ts-node/register --recursive test", 1),
            ("prettier --check .", 1),
            ("rspec -c -fd spec", 1),
            ("rubocop -A -c .rubocop.yml", 1),
            ("pylint --load-plugins=pylint_django,pylint_celery src", 1),
            ("vitest --reporter=default,junit --environment jsdom", 1),
            ("jest --env=jsdom --root-dir=web --no-config", 1),
            ("npm install --global", 2),
            ("bun test --coverage -r ./setup.ts", 2),
            ("dotnet test --settings ci.runsettings --logger 'console;verbosity=normal'", 2),
            ("gradle -Dorg.gradle.jvmargs=-Xmx2g --info --build-cache test", 1),
            ("mvn -T 4 -ntp -Dtest=X test", 1),
            ("make 'CFLAGS=-O2 -g' DIR=api-specs TARGET=boot-loader", 1),
            ("cc -fuse-ld=lld -Wall a.c", 1),
            ("mypy --strict --config-file ci/mypy.ini src", 1),
            ("make -C sub -j4 -I inc all", 1),
            ("make --debug --ignore-errors", 1),
            ("ninja -C build -j8", 1),
            ("npm run build --prefix web", 3),
            ("gradle -Pbuild=/x -Dp=/y test", 1),
            ("mvn -fae -q -s ci/settings.xml test", 1),
            ("cmake --build . --target all", 1),
            ("cmake --toolchain ci/arm.cmake -C ci/cache.cmake -S sub", 1),
            ("cmake -DCMAKE_TOOLCHAIN_FILE=ci/arm.cmake -DCMAKE_INSTALL_PREFIX=/usr .", 1),
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
            ("sftp -b ./x build", 1),
            ("ssh -J evil build id", 1),
            ("ssh -vJevil build id", 1),
            ("ssh -L 8080:inside:80 build", 1),
            ("ssh -R 8080:localhost:22 build", 1),
            ("ssh -ND 1080 build", 1),
            ("ssh -W evil:25 build", 1),
            ("ssh -E AGENTS.md build id", 1),
            ("ssh build -J evil id", 2),
            ("ssh -o ProxyJump=evil build", 1),
            ("ssh -oHostName=evil build id", 1),
            ("ssh -o 'RemoteForward 1 a:2' build", 1),
            ("scp -J evil a build:", 1),
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
            ("ssh -J gate build id", 3),
            ("ssh -i key -p 22 -T build ls -L -R", 1),
            ("ssh -o ConnectTimeout=5 -oBatchMode=yes build id", 1),
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
