//! What a plain line of git means for a repository before it runs: which settings it changes, and
//! whether others may already have the commit that it makes anew (U1). For the question to a person;
//! nothing is run, and what cannot be told from words and files is not said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use weir_core::governance::shell;

use super::tracked::git_folder;
use crate::regular_file::read_regular_file;

/// Largest file of git's that is read here.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Remote-tracking branches that are looked at.
pub(super) const REFS_MAX: usize = 5_000;
/// Settings by which git runs a program or goes to another place than it says.
const RUNS: [&str; 22] = [
    "alias.",
    "askpass",
    "cmd",
    "command",
    "core.attributesfile",
    "core.gitproxy",
    "core.worktree",
    "driver",
    "editor",
    "filter.",
    "fsmonitor",
    "gpg.",
    "helper",
    "hookspath",
    "include",
    "insteadof",
    "pager",
    "program",
    "templatedir",
    "textconv",
    "uploadpack",
    "vcs",
];

/// Options of git that stand before its subcommand and take a word.
const WITH_VALUE: [&str; 6] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"];

/// The folder of the repository around `at`, and the one that its working trees share.
pub(super) struct RepositoryFolders {
    pub(super) git: PathBuf,
    pub(super) common: PathBuf,
}

impl RepositoryFolders {
    pub(super) fn find_around(at: &Path) -> Option<RepositoryFolders> {
        let git = at.ancestors().find_map(|folder| git_folder(&folder.join(".git")))?;
        let common = match read_small_file(&git.join("commondir")) {
            Some(to) => git.join(to.trim()),
            None => git.clone(),
        };
        Some(RepositoryFolders { git, common })
    }

    /// The branch that is checked out.
    fn current_branch(&self) -> Option<String> {
        let head = read_small_file(&self.git.join("HEAD"))?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }

    pub(super) fn head_commit(&self, packed: &PackedRefs) -> Option<String> {
        let head = read_small_file(&self.git.join("HEAD"))?;
        let Some(name) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().into()) };
        let loose =
            [&self.git, &self.common].into_iter().find_map(|at| read_small_file(&at.join(name)));
        loose.map(|id| id.trim().to_owned()).or_else(|| packed.commit_of(name))
    }

    pub(super) fn packed_refs(&self) -> PackedRefs {
        let path = self.common.join("packed-refs");
        match read_small_file(&path) {
            Some(text) => PackedRefs { text, is_whole: true },
            None => PackedRefs { text: String::new(), is_whole: path.symlink_metadata().is_err() },
        }
    }

    /// Remote-tracking branches that are, or once were, at `id`.
    pub(super) fn remotes_at(&self, id: &str, packed: &PackedRefs) -> Vec<String> {
        let mut found: BTreeSet<String> = packed
            .remotes()
            .filter(|(known, _)| *known == id)
            .map(|(_, name)| name.to_owned())
            .collect();
        for (folder, is_log) in [("refs/remotes", false), ("logs/refs/remotes", true)] {
            let top = self.common.join(folder);
            for file in files_below(&top) {
                let Some(text) = read_small_file(&file) else { continue };
                let mut ids = text
                    .lines()
                    .filter_map(|line| line.split(' ').nth(usize::from(is_log)).map(str::trim));
                let name = file.strip_prefix(&top).ok().map(|name| name.display().to_string());
                if let Some(name) = name.filter(|_| ids.any(|known| known == id)) {
                    found.insert(name);
                }
            }
        }
        found.retain(|name| !name.ends_with("/HEAD"));
        found.into_iter().collect()
    }

    /// Values of a setting, by its whole name.
    fn setting_values(&self, name: &str) -> Vec<(String, String)> {
        let text = read_small_file(&self.common.join("config")).unwrap_or_default();
        parse_settings(&text)
            .into_iter()
            .filter(|(known, _)| is_same_setting(known, name))
            .collect()
    }

    /// Settings of a section, by how their names begin.
    pub(super) fn section_settings(&self, start: &str) -> Vec<(String, String)> {
        let text = read_small_file(&self.common.join("config")).unwrap_or_default();
        parse_settings(&text).into_iter().filter(|(known, _)| known.starts_with(start)).collect()
    }
}

/// The file of refs that git keeps in one, read once.
pub(super) struct PackedRefs {
    text: String,
    /// It was read, or there is none.
    pub(super) is_whole: bool,
}

impl PackedRefs {
    /// Commit and whole name of each.
    fn refs(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.text.lines().filter(|line| !line.starts_with(['#', '^']));
        lines.filter_map(|line| line.split_once(' ').map(|(id, name)| (id, name.trim())))
    }

    /// Commit and name of each remote-tracking branch.
    pub(super) fn remotes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.refs().filter_map(|(id, name)| Some((id, name.strip_prefix("refs/remotes/")?)))
    }

    fn commit_of(&self, name: &str) -> Option<String> {
        self.refs().find(|(_, known)| *known == name).map(|(id, _)| id.to_owned())
    }
}

pub(super) fn read_small_file(path: &Path) -> Option<String> {
    let bytes = read_regular_file(path, FILE_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn files_below(top: &Path) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![top.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(_) if files.len() < REFS_MAX => files.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files
}

/// `remote.origin.url` and its value for each setting of a configuration that is plainly written; heads
/// and a setting may share a line.
fn parse_settings(text: &str) -> Vec<(String, String)> {
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.trim_start_matches('\u{FEFF}').lines().map(str::trim) {
        let mut rest = line;
        while let Some(after) = rest.strip_prefix('[') {
            let (head, setting) = after.split_once(']').unwrap_or((after, ""));
            section = match head.split_once([' ', '\t']) {
                Some((name, sub)) => {
                    format!("{}.{}", name.to_lowercase(), sub.trim().trim_matches('"'))
                }
                None => head.to_lowercase(),
            };
            rest = setting.trim();
        }
        let setting = rest.split_once('=').filter(|_| !rest.starts_with(['#', ';']));
        if let Some((name, value)) = setting {
            let name = format!("{section}.{}", name.trim().to_lowercase());
            found.push((name, value.trim().to_owned()));
        }
    }
    found
}

/// Names of settings are the same without regard to case, but for what stands in the middle.
fn is_same_setting(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The words after `git` and its own options, for each command of a line that is git.
pub(super) fn lines_of_git(command: &str) -> Vec<Vec<String>> {
    let reach = shell::command_reach(&shell::parse_command_line(command));
    let commands = reach.commands().filter(|words| shell::head_name(&words[0]) == "git");
    let of = |words: &[shell::ShellWord]| {
        let mut texts = words[1..].iter().map(|word| word.text.clone());
        let mut rest = Vec::new();
        while let Some(text) = texts.next() {
            if WITH_VALUE.contains(&text.as_str()) {
                texts.next();
            } else if !text.starts_with('-') {
                rest.push(text);
                rest.extend(texts);
                break;
            }
        }
        rest
    };
    commands.map(of).filter(|words| !words.is_empty()).collect()
}

/// Remote-tracking branches that have, or had, the commit which a line of git makes anew or leaves.
pub(super) fn published_branches(at: &Path, command: &str) -> Vec<String> {
    let rewrites = |words: &Vec<String>| {
        let has = |option: &str| words[1..].iter().any(|word| word == option);
        match words[0].as_str() {
            "commit" => has("--amend"),
            "rebase" => !["--abort", "--quit", "--continue"].into_iter().any(has),
            "reset" => has("--hard"),
            _ => false,
        }
    };
    if !command.contains("git") || !lines_of_git(command).iter().any(rewrites) {
        return Vec::new();
    }
    let repository = RepositoryFolders::find_around(at);
    let found = repository.and_then(|repository| {
        let packed = repository.packed_refs();
        Some(repository.remotes_at(&repository.head_commit(&packed)?, &packed))
    });
    found.unwrap_or_default()
}

/// The difference that the lines of git in a command make to the settings of the repository around
/// `at`, as far as they are plain.
pub(super) fn settings_change(at: &Path, command: &str) -> Option<String> {
    let lines = lines_of_git(command);
    let repository = RepositoryFolders::find_around(at);
    let changes: Vec<String> = lines
        .iter()
        .filter_map(|words| settings_change_lines(words, repository.as_ref()))
        .flatten()
        .collect();
    (!changes.is_empty()).then(|| changes.join("\n") + "\n")
}

fn settings_change_lines(
    words: &[String],
    repository: Option<&RepositoryFolders>,
) -> Option<Vec<String>> {
    let line = GitLine { words, repository };
    let plain = line.plain_words();
    let mut diff = SettingsDiff::default();
    match (words[0].as_str(), plain.as_slice()) {
        ("config", rest) => line.diff_config(rest, &mut diff)?,
        ("remote", rest) => line.diff_remote(rest, &mut diff)?,
        ("branch", rest) => line.diff_branch(rest, &mut diff)?,
        ("push", [remote, rest @ ..]) if line.has_option(&["-u", "--set-upstream"]) => {
            let branch = rest.first().map(|name| (*name).to_owned()).or(line.current_branch())?;
            let (from, to) = branch.split_once(':').unwrap_or((&branch, &branch));
            diff.track_branch(from, remote, to);
        }
        ("submodule", ["add", url, rest @ ..]) => {
            let url_end = url.trim_end_matches('/').rsplit('/').next().unwrap_or(url);
            let name = rest.first().copied().unwrap_or(url_end.trim_end_matches(".git"));
            diff.add_setting(&format!("submodule.{}.url", name.trim_end_matches('/')), url);
        }
        ("init", _) => {
            let what = "+ a repository with the hooks and settings of your template";
            diff.lines.push(what.to_owned());
        }
        _ => return None,
    }
    (!diff.lines.is_empty()).then(|| diff.into_lines())
}

/// One line of git, from its subcommand on, in its repository.
struct GitLine<'a> {
    words: &'a [String],
    repository: Option<&'a RepositoryFolders>,
}

impl<'a> GitLine<'a> {
    /// What is no option, after the subcommand.
    fn plain_words(&self) -> Vec<&'a str> {
        let words = self.words[1..].iter().filter(|word| !word.starts_with('-'));
        words.map(String::as_str).collect()
    }

    fn has_option(&self, options: &[&str]) -> bool {
        self.words[1..].iter().any(|word| options.contains(&word.as_str()))
    }

    fn old_values(&self, name: &str) -> Vec<(String, String)> {
        self.repository.map(|of| of.setting_values(name)).unwrap_or_default()
    }

    fn old_section(&self, start: &str) -> Vec<(String, String)> {
        self.repository.map(|of| of.section_settings(start)).unwrap_or_default()
    }

    fn current_branch(&self) -> Option<String> {
        self.repository.and_then(RepositoryFolders::current_branch)
    }

    fn diff_config(&self, plain: &[&str], diff: &mut SettingsDiff) -> Option<()> {
        let whose = [("--global", "~/.gitconfig"), ("--system", "the settings of this machine")];
        let whose = whose.into_iter().find(|(option, _)| self.has_option(&[option]));
        let rest = match plain {
            ["set" | "unset" | "get" | "list", rest @ ..] => rest,
            rest => rest,
        };
        let unsets =
            self.has_option(&["--unset", "--unset-all"]) || plain.first() == Some(&"unset");
        let [name, value @ ..] = rest else { return None };
        if whose.is_none() && !self.has_option(&["--add"]) && (unsets || !value.is_empty()) {
            diff.remove_settings(&self.old_values(name));
        }
        if let (Some(value), false) = (value.first(), unsets) {
            diff.add_setting(name, value);
        }
        diff.file = whose.map(|(_, file)| file);
        Some(())
    }

    fn diff_remote(&self, plain: &[&str], diff: &mut SettingsDiff) -> Option<()> {
        match plain {
            ["add", name, url] => {
                diff.add_setting(&format!("remote.{name}.url"), url);
                let fetch = format!("+refs/heads/*:refs/remotes/{name}/*");
                diff.add_setting(&format!("remote.{name}.fetch"), &fetch);
            }
            ["set-url", name, url, ..] => {
                let key = if self.has_option(&["--push"]) { "pushurl" } else { "url" };
                let key = format!("remote.{name}.{key}");
                diff.remove_settings(&self.old_values(&key));
                diff.add_setting(&key, url);
            }
            ["remove" | "rm", name] => {
                diff.remove_settings(&self.old_section(&format!("remote.{name}.")))
            }
            ["rename", from, to] => {
                let before = self.old_section(&format!("remote.{from}."));
                diff.remove_settings(&before);
                for (name, value) in before {
                    let value = value.replace(&format!("/{from}/"), &format!("/{to}/"));
                    diff.add_setting(&name.replacen(from, to, 1), &value);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn diff_branch(&self, plain: &[&str], diff: &mut SettingsDiff) -> Option<()> {
        let joined = self.words.iter().find_map(|word| {
            word.strip_prefix("--set-upstream-to=").or_else(|| word.strip_prefix("-u"))
        });
        let (upstream, named) = match (joined.filter(|text| !text.is_empty()), plain) {
            (Some(upstream), rest) => (upstream, rest.first()),
            (None, [upstream, rest @ ..]) if self.has_option(&["--set-upstream-to", "-u"]) => {
                (*upstream, rest.first())
            }
            (None, _) => return None,
        };
        let branch = named.map(|name| (*name).to_owned()).or(self.current_branch())?;
        let (remote, merge) = upstream.split_once('/')?;
        diff.track_branch(&branch, remote, merge);
        Some(())
    }
}

#[derive(Default)]
struct SettingsDiff {
    file: Option<&'static str>,
    lines: Vec<String>,
}

impl SettingsDiff {
    fn remove_settings(&mut self, settings: &[(String, String)]) {
        self.lines.extend(settings.iter().map(|(name, value)| format!("- {name} = {value}")));
    }

    fn add_setting(&mut self, name: &str, value: &str) {
        let low = name.to_lowercase();
        let runs = RUNS.iter().any(|part| low.contains(part)) || value.starts_with("ext::");
        let mark = if runs { "    (git runs this, or goes where it says)" } else { "" };
        self.lines.push(format!("+ {name} = {value}{mark}"));
    }

    fn track_branch(&mut self, branch: &str, remote: &str, merge: &str) {
        self.add_setting(&format!("branch.{branch}.remote"), remote);
        self.add_setting(&format!("branch.{branch}.merge"), &format!("refs/heads/{merge}"));
    }

    fn into_lines(self) -> Vec<String> {
        let file = self.file.unwrap_or(".git/config");
        [format!("--- {file}"), format!("+++ {file}")].into_iter().chain(self.lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";

    fn repository() -> tempfile::TempDir {
        let at = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = at.path().join(".git").join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        write("HEAD", "ref: refs/heads/main\n");
        write("refs/heads/main", &format!("{ID}\n"));
        write(
            "config",
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a.example/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        );
        at
    }

    #[test]
    fn u1_the_question_shows_what_changes_in_the_settings_of_a_repository() {
        let at = repository();
        let shown = |command: &str| settings_change(at.path(), command).unwrap_or_default();
        for (command, lines) in [
            ("git config user.name Ada", "+ user.name = Ada"),
            ("git config core.bare true", "- core.bare = false\n+ core.bare = true"),
            ("git config --unset core.bare", "- core.bare = false"),
            (
                "cd . && git config core.fsmonitor ./evil",
                "+ core.fsmonitor = ./evil    (git runs this, or goes where it says)",
            ),
            (
                "git -C sub remote set-url origin https://b.example/x",
                "- remote.origin.url = https://a.example/x\n+ remote.origin.url = https://b.example/x",
            ),
            (
                "git remote add far ../far",
                "+ remote.far.url = ../far\n+ remote.far.fetch = +refs/heads/*:refs/remotes/far/*",
            ),
            (
                "git push -u origin main",
                "+ branch.main.remote = origin\n+ branch.main.merge = refs/heads/main",
            ),
            (
                "git branch --set-upstream-to=origin/x",
                "+ branch.main.remote = origin\n+ branch.main.merge = refs/heads/x",
            ),
            (
                "git submodule add https://a.example/lib.git",
                "+ submodule.lib.url = https://a.example/lib.git",
            ),
        ] {
            assert_eq!(
                shown(command),
                format!("--- .git/config\n+++ .git/config\n{lines}\n"),
                "{command}"
            );
        }
        assert!(shown("git remote remove origin").contains("- remote.origin.fetch"));
        assert!(shown("git config --global alias.x '!sh'").starts_with("--- ~/.gitconfig"));
        for command in
            ["git status", "git config user.name", "git branch x", "git push origin main", "ls"]
        {
            assert_eq!(settings_change(at.path(), command), None, "{command}");
        }
    }

    #[test]
    fn u1_a_commit_that_a_remote_has_is_told_from_one_that_none_has() {
        let at = repository();
        let git = at.path().join(".git");
        for command in
            ["git commit --amend --no-edit", "git rebase -i HEAD~2", "git reset --hard HEAD~1"]
        {
            assert!(published_branches(at.path(), command).is_empty(), "{command}");
        }
        std::fs::create_dir_all(git.join("refs/remotes/origin")).expect("a folder");
        std::fs::write(git.join("refs/remotes/origin/main"), ID).expect("a file");
        std::fs::write(git.join("packed-refs"), format!("# x\n{ID} refs/remotes/far/topic\n"))
            .expect("a file");
        for command in
            ["git commit --amend --no-edit", "cd . && git rebase main", "git reset --hard HEAD~1"]
        {
            assert_eq!(
                published_branches(at.path(), command),
                ["far/topic", "origin/main"],
                "{command}"
            );
        }
        for command in ["git commit -m x", "git rebase --abort", "git reset HEAD x", "ls"] {
            assert!(published_branches(at.path(), command).is_empty(), "{command}");
        }
        // The remote went on since.
        std::fs::remove_file(git.join("packed-refs")).expect("it is there");
        std::fs::write(git.join("refs/remotes/origin/main"), "f".repeat(40)).expect("a file");
        std::fs::create_dir_all(git.join("logs/refs/remotes/origin")).expect("a folder");
        let log = format!("{} {ID} p <p@x> 1 +0000\tpush\n", "0".repeat(40));
        std::fs::write(git.join("logs/refs/remotes/origin/main"), log).expect("a file");
        assert_eq!(published_branches(at.path(), "git commit --amend"), ["origin/main"]);
    }
}
