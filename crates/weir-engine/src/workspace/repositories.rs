//! Repositories of git in the workspace, the way git finds them: by the names in a folder (A1).
//!
//! Whoever looks at one with git, or has a prompt that does, runs the programs that its
//! configuration names. So what a command makes of them is compared, and only lines that do nothing
//! else store history. Not here: the walk that finds them, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use weir_core::governance::shell::{self, CommandPart, ShellWord};

use super::git_config::names_program;
use super::plain_git::{is_plain_git, options_end};
use crate::regular_file::read_regular_file;

/// Largest configuration of a repository that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// By these git knows a repository, and takes what it runs from them.
const PIECES: [&str; 8] =
    ["HEAD", "commondir", "objects", "refs", "config", "config.worktree", "hooks", "info"];

/// What may stand beside git in a line that stores history, if its arguments only read.
const READERS: [&str; 20] = [
    "basename", "cat", "cd", "date", "dirname", "echo", "egrep", "false", "fgrep", "grep", "head",
    "ls", "printf", "pwd", "tail", "test", "true", "wc", "[", ":",
];
/// Commands of git that tell or change which commits and files there are, and show no content of a file
/// unless an option asks for it.
const NAMES_ONLY: [&str; 33] = [
    "add",
    "branch",
    "cherry-pick",
    "checkout",
    "commit",
    "count-objects",
    "describe",
    "fetch",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "name-rev",
    "pull",
    "push",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show-ref",
    "stash",
    "status",
    "switch",
    "tag",
    "version",
];
/// Commands of git that put into the work tree what the repository holds, and nothing else.
const FOLLOWING: [&str; 11] = [
    "checkout",
    "cherry-pick",
    "merge",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "stash",
    "switch",
];
/// Options of `git log` and its like that show no content; what follows `=` is theirs.
const LOG_OPTIONS: [&str; 32] = [
    "--abbrev-commit",
    "--all",
    "--author",
    "--before",
    "--after",
    "--branches",
    "--date",
    "--decorate",
    "--first-parent",
    "--follow",
    "--format",
    "--graph",
    "--grep",
    "--max-count",
    "--merges",
    "--name-only",
    "--name-status",
    "--no-color",
    "--no-decorate",
    "--no-merges",
    "--no-patch",
    "--numstat",
    "--oneline",
    "--pretty",
    "--reverse",
    "--shortstat",
    "--since",
    "--skip",
    "--stat",
    "--summary",
    "--tags",
    "--until",
];
/// Variables that say who commits when, and in which language.
const VARIABLES: [&str; 5] = ["GIT_AUTHOR_", "GIT_COMMITTER_", "LC_", "LANG", "TZ"];

/// Variables that are known as they stand: an editor that leaves every text as it is, no pager, no question.
const WHOLE_VARIABLES: [&str; 8] = [
    "EDITOR=true",
    "GIT_EDITOR=:",
    "GIT_EDITOR=true",
    "GIT_MERGE_AUTOEDIT=no",
    "GIT_PAGER=cat",
    "GIT_SEQUENCE_EDITOR=:",
    "GIT_SEQUENCE_EDITOR=true",
    "GIT_TERMINAL_PROMPT=0",
];

/// What of repositories there is, by its path: each `.git` that is a file, and the pieces of each
/// folder that has a `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RepositoryMap(BTreeMap<PathBuf, BTreeSet<&'static str>>);

impl RepositoryMap {
    /// The paths, as they are noted.
    pub(crate) fn paths(&self) -> Vec<String> {
        let of = |(folder, pieces): (&PathBuf, &BTreeSet<&str>)| {
            let folder = folder.clone();
            let own = pieces.is_empty().then(|| folder.clone());
            let below: Vec<PathBuf> = pieces.iter().map(|piece| folder.join(piece)).collect();
            own.into_iter().chain(below)
        };
        self.0.iter().flat_map(of).map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// What makes a repository of something now and was not there `before`: of a new one the piece
    /// without which it is none, of an old one all that was added.
    pub(crate) fn made_since(&self, before: &[String]) -> Vec<PathBuf> {
        let before: BTreeSet<&str> = before.iter().map(String::as_str).collect();
        let is_new = |path: &PathBuf| !before.contains(path.to_string_lossy().as_ref());
        let mut made = Vec::new();
        for (folder, pieces) in &self.0 {
            let head = folder.join("HEAD");
            if pieces.is_empty() {
                made.extend(Some(folder.clone()).filter(is_new));
            } else if !is_repository(pieces) {
            } else if is_new(&head) {
                made.push(head);
            } else {
                made.extend(pieces.iter().map(|piece| folder.join(piece)).filter(is_new));
            }
        }
        made
    }
}

fn is_repository(pieces: &BTreeSet<&str>) -> bool {
    let has = |name| pieces.contains(name);
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

impl RepositoryMap {
    /// Takes up what was met elsewhere.
    pub(super) fn join(&mut self, other: RepositoryMap) {
        self.0.extend(other.0);
    }

    /// Takes note of a `.git` that is no folder.
    pub(super) fn met_pointer(&mut self, path: PathBuf) {
        self.0.insert(path, BTreeSet::new());
    }

    /// Takes note of a folder and those names of it that are pieces.
    pub(super) fn met_folder(&mut self, folder: PathBuf, pieces: BTreeSet<&'static str>) {
        if pieces.contains("HEAD") {
            self.0.insert(folder, pieces);
        }
    }
}

/// The piece that has this name.
pub(super) fn repository_piece(name: &str) -> Option<&'static str> {
    PIECES.iter().find(|piece| **piece == name).copied()
}

/// Whether a command line stores history and does nothing else: each of its parts is a plain command of
/// git, or reads. What git itself starts (a hook, a filter) has the rights of git, and no more; so the
/// line must not name it, and nothing in it is evaluated.
pub(super) fn stores_history(command: &str) -> bool {
    let line = shell::parse_command_line(command);
    let is_git = |part: &CommandPart| part.words.first().is_some_and(|word| word.text == "git");
    line.unreadable.is_none()
        && !line.computes
        && line.functions.is_empty()
        && line.parts.iter().any(is_git)
        && !writes_after_going(&line)
        && line.parts.iter().all(is_plain_part)
}

/// Whether output goes to a file after a change of folder into a repository itself, or nobody knows
/// where to.
fn writes_after_going(line: &shell::CommandLine) -> bool {
    let leads = |part: &CommandPart| {
        let goes = part.words.first().is_some_and(|word| word.text == "cd");
        let inside = |word: &ShellWord| word.expands || names_internals(&word.text);
        goes && part.words[1..].iter().any(inside)
    };
    let writes = |part: &CommandPart| {
        part.redirections.iter().any(|way| way.writes() && way.target.text != "/dev/null")
    };
    line.parts.iter().any(leads) && line.parts.iter().any(writes)
}

fn names_internals(path: &str) -> bool {
    path.to_lowercase().contains(".git")
}

/// Whether it sets one of the variables that are known, as a whole.
fn sets_known_variable(assignment: &str) -> bool {
    if WHOLE_VARIABLES.contains(&assignment) {
        return true;
    }
    let name = assignment.split('=').next().unwrap_or_default();
    let plain = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    plain && VARIABLES.iter().any(|known| name.starts_with(known))
}

pub(super) fn is_plain_part(part: &CommandPart) -> bool {
    let Some(program) = part.words.first() else { return false };
    let known = match program.text.as_str() {
        "git" => is_plain_git(part),
        "for" => is_plain_loop(part),
        name => READERS.contains(&name) && shell::is_reading_command(&part.words),
    };
    known
        && !program.expands
        && part.assignments.iter().all(|word| sets_known_variable(&word.text))
        && part
            .redirections
            .iter()
            .filter(|way| way.writes())
            .all(|way| !way.target.expands && !names_internals(&way.target.text))
}

/// `for NAME in WORDS`, where the name is of no variable that changes what git runs: those have large
/// letters or strokes. What computes the words stands in the line as parts of its own.
fn is_plain_loop(part: &CommandPart) -> bool {
    let [_, name, joint, ..] = part.words.as_slice() else { return false };
    // In quotes it is a program of that name.
    let begins = part.raw.strip_prefix("for").is_some_and(|rest| rest.starts_with([' ', '\t']));
    let is_own = !name.text.is_empty() && name.text.bytes().all(|byte| byte.is_ascii_lowercase());
    begins && is_own && joint.text == "in" && !joint.expands
}

/// Whether a command line has the word `git` in it.
pub(super) fn names_git(command: &str) -> bool {
    let words = command.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.into_iter().any(|word| word == "git")
}

/// Whether a line uses the repository around its folder and no other, as far as its words tell.
pub(super) fn stays_here(command: &str) -> bool {
    let leads_away = |word: &str| {
        ["-C", "--git-dir", "--work-tree", "--recurse", "--submodule", "-c"]
            .iter()
            .any(|option| word.starts_with(option))
            || ["cd", "submodule", "worktree"].contains(&word)
    };
    stores_history(command)
        && shell::parse_command_line(command)
            .parts
            .iter()
            .all(|part| !part.words.iter().any(|word| leads_away(&word.text)))
}

/// The nearest folder with a `.git`, from this one upwards: the repository that git would use.
pub(super) fn repository_around(folder: &Path) -> Option<PathBuf> {
    let is_one = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    folder.ancestors().find(is_one).map(Path::to_path_buf)
}

/// Whether a line only lets the work tree follow what the repository holds: each part is such a command
/// of git, one that changes no file of the work tree, or a reader, and no output goes to a file (D1).
pub(super) fn is_following(command: &str) -> bool {
    let to_a_file = |part: &CommandPart| {
        part.redirections.iter().any(|way| way.writes() && way.target.text != "/dev/null")
    };
    let fits = |part: &CommandPart| {
        part.words.first().is_some_and(|word| word.text != "git") || {
            let name = git_command(part);
            let keeps = |name| NAMES_ONLY.contains(&name) && !["rm", "mv"].contains(&name);
            name.is_some_and(|name| FOLLOWING.contains(&name) || keeps(name) || name == "diff")
        }
    };
    stores_history(command)
        && shell::parse_command_line(command)
            .parts
            .iter()
            .all(|part| fits(part) && !to_a_file(part))
}

/// The command of git that a part runs, where no option before it changes what git does.
fn git_command(part: &CommandPart) -> Option<&str> {
    let mut words = part.words.iter().skip(1).map(|word| word.text.as_str());
    let mut word = words.next()?;
    while word == "--no-pager" || word == "-C" {
        if word == "-C" {
            words.next()?;
        }
        word = words.next()?;
    }
    Some(word)
}

/// How a command line meets what git keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryAccess {
    /// It does without git.
    Nothing,
    /// Git tells and changes which commits and files there are, and nothing else runs.
    Names,
    /// It may show any content.
    Contents,
}

/// How a line meets the history of repositories, as far as its words tell. `programs`: git runs
/// programs there that others named.
pub(super) fn meets_history(command: &str, programs: bool) -> HistoryAccess {
    if !names_git(command) {
        return HistoryAccess::Nothing;
    }
    let line = shell::parse_command_line(command);
    let plain = stores_history(command) && line.parts.iter().all(shows_names_only);
    if plain && !programs { HistoryAccess::Names } else { HistoryAccess::Contents }
}

fn shows_names_only(part: &CommandPart) -> bool {
    let [program, rest @ ..] = part.words.as_slice() else { return false };
    if program.text != "git" {
        return true;
    }
    let rest = match rest {
        [quiet, rest @ ..] if quiet.text == "--no-pager" => rest,
        [at, _, rest @ ..] if at.text == "-C" => rest,
        rest => rest,
    };
    let Some((name, options)) = rest.split_first() else { return true };
    let is_computed = |word: &ShellWord| word.expands && word.text.starts_with(['-', '$', '`']);
    // A list, or a file that is named so, gives an option as well; and a blank in a value one more.
    let may_be_option = |word: &ShellWord| {
        word.expands && (word.splits || word.text.starts_with(['*', '?', '[', '{']))
    };
    if rest.iter().any(is_computed) || rest[..options_end(rest)].iter().any(may_be_option) {
        return false;
    }
    if brings_elsewhere(&name.text, options) {
        return false;
    }
    // Behind `--` too: it may be the value of an option.
    let texts = || options.iter().map(|word| word.text.as_str());
    let long = |text: &str| text.split('=').next().unwrap_or_default().to_owned();
    let counts = |text: &str| {
        let digits = text.trim_start_matches("-n").trim_start_matches('-');
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match name.text.as_str() {
        "log" | "shortlog" | "reflog" | "rev-list" | "diff" => {
            let fits = |text: &str| {
                !text.starts_with('-') || LOG_OPTIONS.contains(&long(text).as_str()) || counts(text)
            };
            let bounded = name.text != "diff"
                || texts().take_while(|text| *text != "--").any(|text| {
                    ["--stat", "--name-only", "--name-status", "--numstat", "--shortstat"]
                        .contains(&text)
                });
            bounded && texts().all(fits)
        }
        name if NAMES_ONLY.contains(&name) => {
            let shows = |text: &str| match text.strip_prefix("--") {
                // Git takes them cut short.
                Some(word) => {
                    let cut = |o: &&str| !word.is_empty() && o.starts_with(word);
                    ["pat", "verb", "int", "edit", "show-c"].iter().any(|o| word.starts_with(o))
                        || ["patch", "verbose", "interactive", "edit"].iter().any(cut)
                }
                // `-v` of those tells addresses and commits.
                None => {
                    text.starts_with('-')
                        && (text.contains(['p', 'i', 'e'])
                            || (text.contains('v') && !["remote", "branch"].contains(&name)))
                }
            };
            // The format of refs has the content of what a tag names.
            let takes_words = |text: &&str| {
                (name != "stash" || *text != "show")
                    && !text.contains("(raw")
                    && !text.contains("(*raw")
            };
            !texts().any(shows) && texts().all(|text| takes_words(&text))
        }
        _ => false,
    }
}

/// Whether it may put files where other lists hold: below another folder, or into another repository.
fn brings_elsewhere(name: &str, options: &[ShellWord]) -> bool {
    let is_folder = |text: &str| {
        text.starts_with(['.', '/', '~']) || text.starts_with("file:") || text.contains("..")
    };
    let fetches = ["fetch", "pull"].contains(&name);
    options.iter().any(|word| {
        word.text.contains("subtree") || (fetches && (word.expands || is_folder(&word.text)))
    })
}

/// Whether git runs programs in this repository that its configuration or its hooks name.
pub(super) fn runs_programs(common: &Path) -> bool {
    let hooks = common.join("hooks").read_dir().into_iter().flatten().flatten();
    let is_hook = |name: &std::ffi::OsStr| !name.to_string_lossy().ends_with(".sample");
    if hooks.into_iter().any(|entry| is_hook(&entry.file_name())) {
        return true;
    }
    match read_regular_file(&common.join("config"), CONFIG_BYTES_MAX) {
        Ok(bytes) => names_program(&String::from_utf8_lossy(&bytes)),
        // What cannot be read may name any.
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a13_what_shows_content_is_told_from_what_shows_names() {
        for line in [
            "git status --short && git add -A && git commit -m 'words with -p'",
            "git log --oneline -5 | head -3",
            "git log -n 3 --stat",
            "git diff --stat HEAD~1",
            "git --no-pager log --since=yesterday",
            "git checkout -b topic; git push -u origin topic",
            "git remote -v",
            "git stash && git stash pop",
            "git rev-parse HEAD",
            "git add -- *.rs && git fetch --prune origin feature/x",
            "for f in a b; do git log --oneline -- a; done",
        ] {
            assert_eq!(meets_history(line, false), HistoryAccess::Names, "{line}");
            assert_eq!(meets_history(line, true), HistoryAccess::Contents, "{line}");
        }
        for line in [
            "git log -p",
            "git log --patch",
            "git log -Ssecret",
            "git log -L1,2:.env",
            "git show HEAD:.env",
            "git diff",
            "git diff HEAD~1 --stat -p",
            "git cat-file -p HEAD:.env",
            "git grep -h x HEAD",
            "git stash show -p",
            "git stash show",
            "git commit -v",
            "git commit -avm x",
            "git add -p",
            "git add --patch",
            "git status -v",
            "git archive HEAD",
            "git worktree add x",
            "git -c alias.x='!sh' x",
            "git log $OPTIONS",
            "git status && make",
            "sh -c 'git show HEAD:.env'",
            "/usr/bin/git show",
            "git update-index --cacheinfo 100644,x,y",
            // A list, a name of a file, a blank in a value.
            "git reset {-p,HEAD~1} -- .env",
            "git reset HEAD~1 [-]p",
            "git add *",
            "git reset HEAD~1$(echo ' -p') -- .env",
            "for f in ' -p'; do git reset HEAD~1$f -- .env; done",
            "for f in -p; do git checkout \"$f\" HEAD~1; done",
            "git commit -m -- -v --dry-run",
            "git diff -- --stat",
            "git status --v",
            "git tag -l --format='%(raw)'",
            "git for-each-ref --format '%(*raw)'",
            // Where nothing hides it.
            "git init -q sub && cd sub && git fetch -q .. HEAD && git checkout FETCH_HEAD",
            "cd sub && git fetch ../x HEAD",
            "cd sub && git pull \"x$f\"",
            "git merge -Xsubtree=pub other && cat pub/.env",
        ] {
            assert_eq!(meets_history(line, false), HistoryAccess::Contents, "{line}");
        }
        for line in ["make test", "cat .gitignore", "python3 x.py", "$(echo gi)t show"] {
            assert_eq!(meets_history(line, false), HistoryAccess::Nothing, "{line}");
        }
    }

    #[test]
    fn d1_what_only_follows_the_repository_is_told_from_what_writes_files() {
        for line in [
            "git checkout other",
            "git pull --rebase 2>&1 | tail -3",
            "cd sub && git --no-pager merge topic > /dev/null",
            "git -C sub stash && git status --short; git stash pop",
        ] {
            assert!(is_following(line), "{line}");
        }
        for line in ["git status", "git add -A && git commit -m x"] {
            assert!(is_following(line), "{line}: it changes no file");
        }
        for line in [
            "git apply x.patch",
            "git am x",
            "git mv a AGENTS.md",
            "git show other:x > AGENTS.md",
            "git -c core.editor=x rebase main",
            "git checkout other && make",
            "git checkout other; echo x > AGENTS.md",
            "git checkout-index -a",
            "git archive HEAD",
        ] {
            assert!(!is_following(line), "{line}");
        }
    }

    #[test]
    fn a1_only_lines_of_git_and_readers_store_history() {
        for line in [
            "git commit -m x",
            "git add -A && git commit -m 'two words' | tail -3",
            "cd sub && git status --short; git log -1 > out.txt",
            "git commit -F - <<'END'\nwords\nEND",
            "git commit -m \"$(cat message.txt)\"",
            "GIT_AUTHOR_DATE=2001-01-01 git commit -m x 2>&1 | head",
            "if git diff --quiet; then echo same; else git stash; fi",
        ] {
            assert!(stores_history(line), "{line}");
        }
        for line in [
            "make",
            "ls",
            "git status --short && make test",
            "./git commit",
            "sh -c 'git commit'",
            "$GIT commit",
            "git status; python3 x.py",
            "PATH=.:$PATH git commit",
            "GIT_EXEC_PATH=x git commit",
            "PATH=.; git commit",
            "git status > .git/commondir",
            "echo x > $D && git status",
            "git() { sh x; }; git commit",
            "git commit -m \"$(sh x)\"",
            "env git commit",
            "export PATH=. && git commit",
            "printf -v PATH . && git commit",
            "test -v 'a[$(sh x)]'; git commit",
        ] {
            assert!(!stores_history(line), "{line}");
        }
    }

    #[test]
    fn a1_what_people_do_with_git_all_day_is_plain() {
        for line in [
            "git -C sub add -A && git -C sub commit -qm 'with x and -s'",
            "git --no-pager fetch --prune origin; git pull --rebase",
            "git push -u origin \"$(git branch --show-current)\"",
            "git push -o ci.skip origin HEAD:main",
            "git rebase --onto main topic; git rebase --continue",
            "git rebase -i HEAD~2; git rebase -X theirs main",
            "git merge --no-ff -m \"$TEXT\" topic; git merge --stat -s ours old",
            "git merge --strategy=ort -Xours topic",
            "git cherry-pick -x abc; git revert -s --no-edit HEAD",
            "git add *.rs && git checkout $BRANCH -- src",
            "git stash push -m 'words' -- a b; git stash pop",
            "git tag -a v1 -m 'one'; git worktree list",
            "git add a && GIT_EDITOR=true git rebase --continue",
            "GIT_SEQUENCE_EDITOR=: git rebase -i --autosquash main",
            "git -c core.editor=true merge --continue; git -c sequence.editor=: rebase -i main",
            "for f in old_*.py; do git mv \"$f\" \"new_${f#old_}\"; done; git commit -qm x",
            "for f in *.txt; do git mv \"$f\" \"docs/$(basename \"${f%.txt}\").md\"; done",
            "git log --oneline -- \"$f\"; git diff -q -- $f; git log -3 -- \"$f\"",
            "git rebase origin/$(git branch --show-current); git push origin \"HEAD:$B\"",
            "git stash push -u -m \"$TEXT\"; git symbolic-ref --short HEAD",
            "git submodule update --init --recursive",
            "git bisect start; git bisect good HEAD~3",
            "git clone -q . other; git init -q sub",
            "git config weir.nickname ann",
            "git -C \"$DIR\" status --short && git -C sub diff HEAD~1 -- *.rs",
            "git -c user.name='A B' -c user.email=a@b.example commit -qm x",
            "git log --oneline -1 > last.txt; git reset --soft HEAD~1",
            "git commit -m '${x} and $(y)' && git status",
        ] {
            assert!(stores_history(line), "{line}");
        }
    }

    #[test]
    fn a1_git_that_is_told_what_to_run_stores_no_history() {
        for line in [
            "git status; : ${x:='$(rm -rf .git/objects/* .git/logs/*)'}; echo ${x@P}",
            "git commit -m $((ls + _))",
            "git commit -m ${DIRSTACK[_]}",
            "git -c core.fsmonitor='sh ./e.sh; false' status",
            "git -c core.hooksPath=. commit -m x",
            "git -c core.pager='sh e.sh' log",
            "git -c filter.x.clean='sh e.sh' add -A",
            "git --config-env=core.pager=X log",
            "git --exec-path=. status",
            "git --git-dir=x commit",
            "git ls-remote --upload-pack='sh ./e.sh' .",
            "git fetch --upl='sh ./e.sh' .",
            "git fetch \"$_\" .",
            "git push --receive-pack='sh ./e.sh' . HEAD",
            "git push --exec='sh ./e.sh' . HEAD",
            "git clone -u 'sh ./e.sh' . x",
            "git clone --conf core.fsmonitor=x . y",
            "git init --template=x y",
            "git difftool -y -x 'sh ./e.sh' HEAD~1",
            "git mergetool",
            "git grep -lO./e.sh hi",
            "git bisect run sh e.sh",
            "git archive --exec='sh e.sh' HEAD",
            "git merge -s ./e.sh x",
            "git merge -qs./e.sh x",
            "git merge --strat=./e.sh x",
            "git rebase -x 'sh e.sh' HEAD~1",
            "git rebase -ix 'sh e.sh' HEAD~1",
            "git rebase --ex 'sh e.sh' HEAD~1",
            "git rebase -mx 'sh e.sh' HEAD~1",
            "git rebase -ms ./e.sh main",
            "git ls-remote -u 'sh ./e.sh' .",
            "git rebase {-x,'sh e.sh'} HEAD~1",
            "git submodule foreach 'sh e.sh'",
            "git worktree add ../x",
            "GIT_EDITOR='sh e.sh' git commit",
            "GIT_EDITOR=$X git commit",
            "GIT_SEQUENCE_EDITOR=./true git rebase -i main",
            "EDITOR=vi git commit",
            "git -c core.editor='true; sh e.sh' commit",
            "git -c sequence.editor=truer rebase -i main",
            "git -c core.editor=TRUE commit",
            "git mv \"$f\" \"${f#$(sh e.sh)}\"",
            "for PATH in .; do git commit -m x; done",
            "for git_pager in x; do git log; done",
            "for f in $(sh e.sh); do git add \"$f\"; done",
            "for f in *; do git add \"$f\"; sh \"$f\"; done",
            "for ((i=0; i<2; i++)); do git add x; done",
            "for f; do git add \"$f\"; done",
            "\"for\" f in x; git commit -m x",
            "\\for f in x; git commit -m x",
            "TZ=x for f in x; git commit -m x",
            "for x in '--exec=sh e.sh'; do git rebase -m \"$x\" HEAD~1; done",
            "git rebase -m \"$(cat x)\" HEAD~1",
            "git log -m \"$x\"",
            "git stash show -m \"$x\"",
            "git merge -m -m \"$x\" topic",
            "git merge -X -m \"$x\" topic",
            "git merge -m -- \"$x\"",
            "git merge -m $x topic",
            "for f in ' --exec=./e.sh'; do git rebase HEAD$f; done",
            "git rebase HEAD`cat x`",
            "git rebase --onto=$x topic",
            "git rebase $(git branch --show-current)--exec=./e.sh HEAD~1",
            "git rebase -X -- --exec=./e.sh HEAD~1",
            "git fetch -o -- --upload-pack=./e.sh .",
            "git clone -b -- --upload-pack=./e.sh . y",
            "git symbolic-ref HEAD refs/heads/--exec=./e.sh",
            "git symbolic-ref HEAD \"$x\"",
            "git mv \"$f\" \"${f:$(sh e.sh)}\"",
            "git filter-branch --tree-filter 'sh e.sh'",
            "git config --global core.fsmonitor 'sh e.sh'; git status",
            "git stash show --output=.git/HEAD",
            "git log --output=.git/HEAD",
            "git apply --unsafe-paths x.patch",
            "git ci -m x",
            "GIT_EXTERNAL_DIFF=x git diff",
            "GIT_PAGER=x git log",
            "GIT_SSH_COMMAND=x git fetch",
            "GIT_CONFIG_COUNT=1 git status",
            "TZ['a[$(sh x)]']=1 git status",
            "printf 'a%n' PATH; git commit",
            "cd .git && git log -1 > HEAD",
            "git archive HEAD -o .git/HEAD",
        ] {
            assert!(!stores_history(line), "{line}");
        }
    }
}
