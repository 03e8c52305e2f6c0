//! What git keeps of what later runs or instructs (A6): the index, and every commit that a name leads
//! to, before a command under foreign words and after. What is new there is told and marked; what the
//! work tree took over from what was there before is nobody's work of now (D1). Blocks. Not here: what
//! is taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::baseline::CommandOpening;
use super::made::ChangeSource;
use crate::git_index;
use crate::regular_file::read_regular_file;
use crate::workspace::Workspace;
use crate::workspace::governed::GovernedPaths;
use crate::workspace::survey::file_time;

/// Repositories that are looked at.
pub(super) const REPOSITORIES_MAX: usize = 64;
/// Names of commits that are known of one, and changed ones that are compared. Where more changed, all
/// that the index has counts as new.
const REFS_MAX: usize = 512;
/// Paths that are asked about.
const PATHS_MAX: usize = 1_000;
/// Bytes of an answer of git.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Largest index that is read.
const INDEX_BYTES_MAX: u64 = 512 << 20;
/// What of a repository names commits and objects.
const NAMING: [&str; 5] = ["index", "HEAD", "packed-refs", "refs", "reftable"];
/// Settings under which git runs nothing of others and asks nobody.
const HARMLESS: [&str; 7] = [
    "safe.directory=*",
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "protocol.allow=never",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "diff.ignoreSubmodules=all",
];

/// What repositories had.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct CommandGitHistory {
    /// When the look at them began, by the clock of the files.
    at: i64,
    /// By where the files of each begin.
    of: BTreeMap<PathBuf, RepositorySnapshot>,
}

/// What one had.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct RepositorySnapshot {
    /// Commits by name, `HEAD` among them.
    refs: BTreeMap<String, String>,
    /// Objects in the index of what later runs or instructs, by its path as it is shown.
    index: BTreeMap<String, String>,
    /// The same of the files themselves.
    files: BTreeMap<String, String>,
}

/// What a comparison came to.
#[derive(Debug, Default)]
pub(super) struct HistoryFindings {
    /// Paths of which git keeps something new.
    pub(super) stored: Vec<String>,
    /// Files that are now what git kept of them before.
    pub(super) followed: BTreeSet<String>,
    /// The git history as it is now.
    pub(super) history: Option<CommandGitHistory>,
}

/// What the repositories of a workspace have. `known`: what was found before, which is still so where
/// nothing was written since.
pub(super) fn read_git_history(
    workspace: &Workspace,
    governed: &GovernedPaths,
    known: Option<&CommandGitHistory>,
) -> CommandGitHistory {
    let at = file_time();
    let all = workspace.git_histories(governed).into_iter().take(REPOSITORIES_MAX);
    let of = |(top, git): (PathBuf, PathBuf)| {
        let repository = GitRepository { workspace, top, git };
        let known = known.and_then(|known| Some((known.at, known.of.get(&repository.top)?)));
        let same = known.filter(|(at, memory)| {
            repository.is_as_it_was(*at) && repository.are_as_they_were(memory, *at)
        });
        let memory = same.map_or_else(|| repository.take_snapshot(), |(_, memory)| memory.clone());
        (repository.top, memory)
    };
    CommandGitHistory { at, of: all.map(of).collect() }
}

/// What is new, and which of these changed files follow what there was: their paths, and what is there
/// now. A job is believed nothing: it may go on writing into a file that it mapped, which no time shows.
pub(super) fn compare_git_history(
    workspace: &Workspace,
    opening: &CommandOpening,
    of: ChangeSource,
    governed: &GovernedPaths,
    changed: &BTreeMap<String, Option<PathBuf>>,
) -> HistoryFindings {
    let Some(before) = opening.history.as_ref().filter(|_| opening.foreign) else {
        return HistoryFindings::default();
    };
    let mut now = CommandGitHistory { at: file_time(), of: BTreeMap::new() };
    let mut found = HistoryFindings::default();
    for (top, git) in workspace.git_histories(governed).into_iter().take(REPOSITORIES_MAX) {
        let none = RepositorySnapshot::default();
        let repository = GitRepository { workspace, top, git };
        let known = before.of.get(&repository.top);
        let may_be_same = of == ChangeSource::Command && changed.is_empty();
        let same = known.filter(|_| may_be_same && repository.is_as_it_was(before.at));
        let after = same.cloned().unwrap_or_else(|| repository.take_snapshot());
        let after = now.of.entry(repository.top.clone()).or_insert(after);
        let before = known.unwrap_or(&none);
        let new = repository.new_objects(before, after);
        let mine = |path: &String| workspace.on_disk(path).starts_with(&repository.top);
        let files = changed.iter().filter(|(path, _)| mine(path) && !workspace.is_marked(path));
        let mut asked: BTreeSet<&String> = new.keys().collect();
        asked.extend(files.clone().map(|(path, _)| path));
        if asked.is_empty() {
            continue;
        }
        let known = repository
            .known_objects(before, &asked.into_iter().take(PATHS_MAX).collect::<Vec<_>>());
        let is_known = |path: &String, object: &Option<String>| {
            known.get(path).is_some_and(|known| known.contains(object))
        };
        for (path, objects) in &new {
            if !objects.iter().all(|object| is_known(path, object)) {
                found.stored.push(path.clone());
            }
        }
        let there: Vec<PathBuf> = files.clone().filter_map(|(_, file)| file.clone()).collect();
        let hashes = repository.hash_files(&there);
        for (path, file) in files {
            let object = file.as_ref().map(|_| hashes.get(path).cloned().unwrap_or_default());
            // What git itself would take for a change is none of what it kept.
            let tracked = after.index.get(path) == object.as_ref();
            if tracked && is_known(path, &object) && !found.stored.contains(path) {
                found.followed.insert(path.clone());
            }
        }
    }
    found.stored.sort();
    found.stored.dedup();
    found.history = Some(now);
    found
}

pub(super) struct GitRepository<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) top: PathBuf,
    pub(super) git: PathBuf,
}

impl GitRepository<'_> {
    fn take_snapshot(&self) -> RepositorySnapshot {
        let index = self.index();
        let paths: Vec<PathBuf> = index.keys().map(|path| self.workspace.on_disk(path)).collect();
        RepositorySnapshot { refs: self.refs(), files: self.hash_files(&paths), index }
    }

    /// Whether nothing that names commits or objects was written at `from` or later. A name that went
    /// away brings nothing new.
    fn is_as_it_was(&self, from: i64) -> bool {
        let common = self.workspace.common_of(&self.git);
        let in_both = |name: &str| [self.git.join(name), common.join(name)];
        let named: Vec<PathBuf> = NAMING.iter().flat_map(|name| in_both(name)).collect();
        self.git.join("index").exists()
            && self.workspace.written_since(&named.iter().collect::<Vec<_>>(), from).is_empty()
    }

    /// The path of one of its files, as it is shown.
    fn shown_path(&self, path: &str) -> String {
        self.workspace.shown_at(&self.top.join(path))
    }

    /// Whether none of the files that it remembers was written at `from` or later.
    fn are_as_they_were(&self, memory: &RepositorySnapshot, from: i64) -> bool {
        let files: Vec<PathBuf> =
            memory.index.keys().map(|path| self.workspace.on_disk(path)).collect();
        self.workspace.written_since(&files.iter().collect::<Vec<_>>(), from).is_empty()
    }

    fn index(&self) -> BTreeMap<String, String> {
        let path = self.git.join("index");
        let bytes = read_regular_file(&path, INDEX_BYTES_MAX).unwrap_or_default();
        let entries = git_index::parse_index_entries(&bytes).unwrap_or_default();
        let governed = entries.iter().filter_map(|entry| {
            let text = entry.path_text();
            if !self.workspace.may_be_governed(&text) {
                return None;
            }
            let path = self.shown_path(&text);
            let hex = entry.object.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            self.workspace.instructing_reason(&path).map(|_| (path, hex))
        });
        governed.take(PATHS_MAX).collect()
    }

    pub(super) fn refs(&self) -> BTreeMap<String, String> {
        let answer = self.run_git(&["show-ref", "--head"], "").unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(id, name)| (name.into(), id.into()));
        answer.lines().filter_map(pair).collect()
    }

    /// What the index or a commit has now and had not before, by path: its objects, or that it is gone.
    fn new_objects(
        &self,
        before: &RepositorySnapshot,
        now: &RepositorySnapshot,
    ) -> BTreeMap<String, BTreeSet<Option<String>>> {
        let mut new: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
        for path in now.index.keys().chain(before.index.keys()) {
            let object = now.index.get(path);
            if object != before.index.get(path) {
                new.entry(path.clone()).or_default().insert(object.cloned());
            }
        }
        let known: BTreeSet<&String> = before.refs.values().collect();
        let head = before.refs.get("HEAD");
        let moved = now.refs.iter().filter(|(_, id)| !known.contains(id));
        let pairs: BTreeSet<(Option<&String>, &String)> =
            moved.map(|(name, id)| (before.refs.get(name).or(head), id)).collect();
        let too_many = pairs.len() > REFS_MAX;
        let differences =
            pairs.into_iter().take(REFS_MAX).map(|(from, to)| self.commit_difference(from, to));
        let differences: Option<Vec<_>> = differences.collect();
        for (path, object) in differences.iter().flatten().flatten() {
            new.entry(path.clone()).or_default().insert(object.clone());
        }
        if too_many || differences.is_none() {
            // What cannot be told is new.
            let unknown = now.index.keys().map(|path| (path.clone(), Some(String::new())));
            unknown.for_each(|(path, object)| {
                new.entry(path).or_default().insert(object);
            });
        }
        new
    }

    /// The paths that later run or instruct in which two commits differ, with the objects of the second.
    /// `None`: git does not tell.
    fn commit_difference(
        &self,
        from: Option<&String>,
        to: &str,
    ) -> Option<Vec<(String, Option<String>)>> {
        let Some(from) = from else { return self.all_of(to) };
        let options =
            ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", from, to, "--"];
        let answer = self.run_git(&options, "")?;
        let mut fields = answer.split('\0');
        let mut found = Vec::new();
        while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
            let path = self.shown_path(path);
            let object = about.split(' ').nth(3).unwrap_or_default();
            let is_gone = object.bytes().all(|byte| byte == b'0');
            if self.workspace.instructing_reason(&path).is_some() {
                found.push((path, (!is_gone).then(|| object.to_owned())));
            }
        }
        Some(found)
    }

    /// The same of a commit that has none before it.
    fn all_of(&self, commit: &str) -> Option<Vec<(String, Option<String>)>> {
        let answer = self.run_git(&["ls-tree", "-r", "-z", "--full-tree", commit], "")?;
        let of = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            let path = self.shown_path(path);
            let object = about.split(' ').nth(2)?.to_owned();
            self.workspace.instructing_reason(&path).map(|_| (path, Some(object)))
        };
        Some(answer.split('\0').filter_map(of).collect())
    }

    /// What was known of these paths before: the objects in every commit with a name, in the index and
    /// in the files, or that there was none.
    fn known_objects(
        &self,
        before: &RepositorySnapshot,
        paths: &[&String],
    ) -> BTreeMap<String, BTreeSet<Option<String>>> {
        // `HEAD` comes first, then branches.
        let mut seen = BTreeSet::new();
        let commits: Vec<&String> =
            before.refs.values().filter(|id| seen.insert(*id)).take(REFS_MAX).collect();
        let mut wanted = Vec::new();
        for path in paths {
            let Ok(below) =
                self.workspace.on_disk(path).strip_prefix(&self.top).map(Path::to_path_buf)
            else {
                continue;
            };
            let below = below.to_string_lossy().into_owned();
            if !below.contains('\n') {
                wanted.extend(commits.iter().map(|id| (*path, format!("{id}:{below}"))));
            }
        }
        let input: String = wanted.iter().map(|(_, name)| format!("{name}\n")).collect();
        let options = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
        let answer = self.run_git(&options, &input).unwrap_or_default();
        let mut known: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
        for ((path, _), line) in wanted.iter().zip(answer.lines()) {
            let object = match line.strip_suffix(" blob") {
                Some(object) => Some(object.to_owned()),
                None if line.ends_with(" missing") => None,
                None => continue,
            };
            known.entry((*path).clone()).or_default().insert(object);
        }
        for path in paths {
            let own = [before.index.get(*path), before.files.get(*path)].into_iter().flatten();
            let known = known.entry((*path).clone()).or_default();
            known.extend(own.map(|object| Some(object.clone())));
        }
        known
    }

    /// Objects that files would be, by the paths as they are shown.
    fn hash_files(&self, paths: &[PathBuf]) -> BTreeMap<String, String> {
        let is_file = |path: &&PathBuf| {
            path.symlink_metadata().is_ok_and(|meta| meta.is_file())
                && path.to_str().is_some_and(|text| !text.contains('\n'))
        };
        let files: Vec<&PathBuf> = paths.iter().filter(is_file).take(PATHS_MAX).collect();
        if files.is_empty() {
            return BTreeMap::new();
        }
        let input: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
        let answer = self.run_git(&["hash-object", "--no-filters", "--stdin-paths"], &input);
        let answer = answer.unwrap_or_default();
        let shown = files.into_iter().map(|path| self.workspace.shown_at(path));
        shown.zip(answer.lines().map(str::to_owned)).collect()
    }

    /// What git answers, whole; `None`: it does not. It reads objects, and runs nothing that the
    /// repository names.
    pub(super) fn run_git(&self, arguments: &[&str], input: &str) -> Option<String> {
        let mut git = Command::new("git");
        git.arg("--no-pager").arg("--git-dir").arg(&self.git).current_dir("/");
        HARMLESS.iter().for_each(|setting| {
            git.args(["-c", setting]);
        });
        git.args(arguments).env_clear();
        git.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
        ] {
            git.env(name, value);
        }
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = git.spawn().ok()?;
        let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        let mut answer = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input.as_bytes()).ok());
            stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).ok()
        })?;
        if answer.len() as u64 == ANSWER_BYTES_MAX {
            // It has more to say, which nobody reads.
            let _ = child.kill();
        }
        let told = child.wait().is_ok_and(|status| status.success());
        told.then(|| String::from_utf8_lossy(&answer).into_owned())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    pub(crate) struct Place {
        top: tempfile::TempDir,
        pub(crate) workspace: Workspace,
    }

    impl Place {
        pub(crate) fn new() -> Place {
            let top = tempfile::tempdir().expect("a folder");
            let options = WorkspaceOptions {
                root: top.path().to_path_buf(),
                extra_roots: Vec::new(),
                own_folders: Vec::new(),
            };
            let workspace = Workspace::open(options).expect("a workspace");
            let place = Place { top, workspace };
            place.run("git init -q -b main . && echo old > AGENTS.md && echo x > a.txt");
            place.run("git add -A && git commit -qm one && git branch other");
            place.run("git checkout -q other && echo theirs > AGENTS.md && git commit -qam two");
            place.run("git checkout -q main");
            place
        }
        pub(crate) fn run(&self, line: &str) {
            let mut shell = Command::new("sh");
            shell.args(["-ec", line]).current_dir(self.top.path()).env("HOME", self.top.path());
            for who in ["AUTHOR", "COMMITTER"] {
                shell.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@x");
            }
            let ran = shell.output().expect("a shell");
            assert!(ran.status.success(), "{line}: {ran:?}");
        }
        /// What is found after a line, as changed: these files.
        fn after(&self, line: &str, changed: &[&str]) -> HistoryFindings {
            let opening = CommandOpening {
                foreign: true,
                stores: true,
                history: Some(read_git_history(
                    &self.workspace,
                    &self.workspace.find_governed(),
                    None,
                )),
                ..CommandOpening::first_of_session()
            };
            self.run(line);
            let file = |path: &&str| {
                let at = self.workspace.on_disk(path);
                (path.to_string(), at.is_file().then_some(at))
            };
            let changed = changed.iter().map(file).collect();
            let governed = self.workspace.find_governed();
            compare_git_history(
                &self.workspace,
                &opening,
                ChangeSource::Command,
                &governed,
                &changed,
            )
        }
    }

    #[test]
    fn a6_what_comes_into_the_index_or_a_commit_is_found() {
        let evil = "H=$(echo evil | git hash-object -w --stdin)";
        for (line, stored) in [
            (
                format!("{evil}; git update-index --add --cacheinfo 100644,$H,AGENTS.md"),
                "AGENTS.md",
            ),
            (
                format!("{evil}; git update-index --add --cacheinfo 100644,$H,.github/workflows/x"),
                ".github/workflows/x",
            ),
            (
                format!(
                    "{evil}; git update-index --cacheinfo 100644,$H,AGENTS.md; git commit -qm x; \
                     git reset -q --hard HEAD~1"
                ),
                "",
            ),
            (
                format!(
                    "{evil}; git update-index --cacheinfo 100644,$H,AGENTS.md; T=$(git write-tree); \
                     git read-tree HEAD; git branch evil $(git commit-tree -m x $T)"
                ),
                "AGENTS.md",
            ),
            ("git rm -q --cached AGENTS.md".into(), "AGENTS.md"),
            ("echo y > a.txt; git commit -qam x".into(), ""),
            ("git checkout -q other".into(), ""),
            ("git checkout -q other -- AGENTS.md".into(), ""),
            ("git merge -q --no-ff other -m x".into(), ""),
            ("git branch topic; git checkout -q topic; git tag v1".into(), ""),
            ("echo evil > AGENTS.md; git commit -qam x".into(), "AGENTS.md"),
        ] {
            let place = Place::new();
            let found = place.after(&line, &[]);
            let expected: Vec<&str> =
                Some(stored).filter(|path| !path.is_empty()).into_iter().collect();
            assert_eq!(found.stored, expected, "{line}");
        }
    }

    #[test]
    fn a6_the_first_commit_and_what_git_does_not_tell_are_new() {
        let place = Place::new();
        for format in ["sha1", "sha256"] {
            place.run(&format!("git init -q --object-format={format} {format}"));
            let line = format!("cd {format}; echo evil > AGENTS.md; git add -A; git commit -qm x");
            assert_eq!(place.after(&line, &[]).stored, [format!("{format}/AGENTS.md")]);
        }
        // A commit whose files are gone.
        let line = "T=$(echo evil > a.txt; git add -A; git write-tree); \
                    git branch x $(git commit-tree -m x $T); git reset -q --hard; \
                    rm .git/objects/$(echo $T | cut -c1-2)/$(echo $T | cut -c3-)";
        assert_eq!(place.after(line, &[]).stored, ["AGENTS.md"]);
    }

    #[test]
    fn d1_the_work_tree_follows_what_the_repository_had() {
        for (line, follows) in [
            ("git checkout -q other", true),
            ("git checkout -q other -- AGENTS.md", true),
            ("git merge -q other", true),
            ("echo evil > AGENTS.md", false),
            ("git checkout -q other; echo evil > AGENTS.md", false),
            ("echo evil > AGENTS.md; git add -A", false),
            ("git show other:AGENTS.md > AGENTS.md", false),
        ] {
            let place = Place::new();
            let found = place.after(line, &["AGENTS.md"]);
            assert_eq!(found.followed.contains("AGENTS.md"), follows, "{line}: {found:?}");
        }
        // What a commit brings that was made by hand a moment ago is not followed.
        let place = Place::new();
        let found = place.after(
            "echo evil > AGENTS.md; git commit -qam x; git branch e; git reset -q --hard HEAD~1; \
             git checkout -q e",
            &["AGENTS.md"],
        );
        assert!(found.followed.is_empty(), "{found:?}");
        assert_eq!(found.stored, ["AGENTS.md"]);
        // Nor in a later command, once it is marked.
        place.workspace.mark(&["AGENTS.md".into()], "docs.example");
        let found = place.after("git checkout -q main", &["AGENTS.md"]);
        assert!(found.followed.is_empty(), "{found:?}");
    }

    #[test]
    fn a6_what_a_person_had_not_committed_is_the_person_s() {
        let place = Place::new();
        place.run("echo mine > AGENTS.md");
        let found = place.after("git stash -q", &["AGENTS.md"]);
        assert_eq!(found.stored, Vec::<String>::new(), "{found:?}");
        assert!(found.followed.contains("AGENTS.md"), "{found:?}");
        let found = place.after("git stash pop -q", &["AGENTS.md"]);
        assert!(found.stored.is_empty(), "{found:?}");
    }
}
