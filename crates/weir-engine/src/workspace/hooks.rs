//! Folders whose files git runs: what `core.hooksPath` names in the configuration of a repository, of the
//! person and of the machine (A9). Read as text, whatever its conditions: more counts rather than less.
//! Not here: which repositories there are, and what becomes of what lies in these folders.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::tracked::{git_folder, read_pointer};
use crate::regular_file::open_regular_file;

/// Files of configuration that are read for one repository, those that it includes among them.
const FILES_MAX: usize = 32;
/// Bytes of one.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Where the machine and the person keep theirs.
const MACHINE: &str = "/etc/gitconfig";
const PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];
/// What git runs of a folder of hooks.
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// Folders of hooks, absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HookFolders(BTreeSet<PathBuf>);

impl HookFolders {
    /// Those of the repositories whose `.git` lie in these folders.
    pub(super) fn for_repositories(
        holders: &BTreeSet<PathBuf>,
        home: Option<&Path>,
    ) -> HookFolders {
        let mut shared = vec![PathBuf::from(MACHINE)];
        shared.extend(home.into_iter().flat_map(|home| PERSON.map(|name| home.join(name))));
        let shared = named_hook_folders(shared, home);
        let mut folders = BTreeSet::new();
        for holder in holders {
            let Some(git) = git_folder(&holder.join(".git")) else { continue };
            let common = read_pointer(&git.join("commondir")).map(|to| git.join(to));
            let files =
                [common.as_ref().unwrap_or(&git).join("config"), git.join("config.worktree")];
            let own = named_hook_folders(files.to_vec(), home);
            for value in own.iter().chain(&shared) {
                // What is not whole begins where git works: at the top of the files.
                let path = normalise_path(&holder.join(value));
                folders.extend(path.canonicalize().ok());
                folders.insert(path);
            }
        }
        HookFolders(folders)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether git would run a file at `path`, or what a folder there holds. `roots`: of a folder that
    /// is one of them, or holds one, only what has the name of a hook counts.
    pub(super) fn is_run_by_git(&self, path: &Path, roots: &[&Path]) -> bool {
        self.0.iter().any(|folder| {
            let Ok(below) = path.strip_prefix(folder) else { return false };
            if !roots.iter().any(|root| root.starts_with(folder)) {
                return true;
            }
            let name = below.to_string_lossy();
            HOOKS.iter().any(|hook| name.eq_ignore_ascii_case(hook))
        })
    }

    /// Whether anything that lies directly in this folder may be one, or be in one.
    pub(super) fn may_concern(&self, folder: &Path) -> bool {
        self.0.iter().any(|hooks| hooks.parent() == Some(folder) || folder.starts_with(hooks))
    }

    /// Whether such a folder lies below `path`, or is it.
    pub(super) fn lie_below(&self, path: &Path) -> bool {
        self.0.iter().any(|folder| folder.starts_with(path))
    }
}

/// The values of `core.hooksPath` in these files and in what they include.
fn named_hook_folders(files: Vec<PathBuf>, home: Option<&Path>) -> Vec<PathBuf> {
    let mut values = Vec::new();
    let mut open = files;
    let mut seen = BTreeSet::new();
    while let Some(file) = open.pop() {
        if seen.len() >= FILES_MAX || !seen.insert(file.clone()) {
            continue;
        }
        let Some(text) = text_of(&file) else { continue };
        for (key, value) in hook_settings(&text) {
            let value = match (value.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                (Some(_) | None, _) => PathBuf::from(value),
            };
            match key {
                ConfigKey::Hooks => values.push(value),
                ConfigKey::Include => {
                    open.push(file.parent().unwrap_or(Path::new("/")).join(value))
                }
            }
        }
    }
    values
}

fn text_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular_file(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigKey {
    Hooks,
    Include,
}

/// What a configuration says of hooks and of other files.
fn hook_settings(text: &str) -> Vec<(ConfigKey, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    let text = text.replace("\r\n", "\n").replace("\\\n", "");
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((head, after)) = rest.split_once(']') else { continue };
            section = head.split([' ', '\t', '"', '.']).next().unwrap_or_default().to_lowercase();
            line = after.trim();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = match (section.as_str(), key.trim().to_lowercase().as_str()) {
            ("core", "hookspath") => ConfigKey::Hooks,
            ("include" | "includeif", "path") => ConfigKey::Include,
            _ => continue,
        };
        found.push((key, unquote_value(value)));
    }
    found
}

/// A value as git reads it: without quotes and comments.
fn unquote_value(value: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut characters = value.trim().chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => out.extend(characters.next()),
            c => out.push(c),
        }
    }
    if quoted { out } else { out.trim_end().to_owned() }
}

/// A path without `.` and `..`, as its text has it.
fn normalise_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => (),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a9_a_configuration_is_read_as_git_reads_it() {
        for (text, value) in [
            ("[core]\n\thooksPath = tools/hooks\n", "tools/hooks"),
            ("[CORE] HooksPath=\"a b\" # words\n", "a b"),
            ("[core]\nbare = false\nhookspath = x ; words\n", "x"),
            ("[core]\nhooksPath = a\\\nb\n", "ab"),
        ] {
            assert_eq!(hook_settings(text), [(ConfigKey::Hooks, value.to_owned())], "{text}");
        }
        let included = hook_settings("[includeIf \"gitdir:/x\"]\npath = ~/y\n[include]\npath=z\n");
        assert_eq!(
            included,
            [(ConfigKey::Include, "~/y".into()), (ConfigKey::Include, "z".into())]
        );
        for text in ["[other]\nhooksPath = x\n", "[core]\n# hooksPath = x\n", "hooksPath = x"] {
            assert_eq!(hook_settings(text), [], "{text}");
        }
    }

    #[test]
    fn a9_the_folder_that_a_repository_names_is_known_wherever_it_is_named() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("it is there");
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        put("home/.gitconfig", "[core]\nhooksPath = everywhere\n");
        put("ws/.git/config", "[include]\npath = ../more\n");
        put("ws/more", "[core]\nhooksPath = tools/./x/../hooks\n");
        put("ws/sub/.git/config", "");
        put("ws/sub/.git/config.worktree", "[core]\nhooksPath = ../up\n");
        put("ws/top/.git/config", "[core]\nhooksPath = .\n");
        let holders = ["ws", "ws/sub", "ws/top"].map(|name| root.join(name)).into();
        let hooks = HookFolders::for_repositories(&holders, Some(&root.join("home")));
        let ws = root.join("ws");
        let roots = [ws.as_path(), &root.join("ws/top")];
        let runs = |path: &str| hooks.is_run_by_git(&root.join(path), &roots);
        for path in [
            "ws/tools/hooks/pre-commit",
            "ws/tools/hooks/lib/a.sh",
            "ws/everywhere/x",
            "ws/sub/everywhere/x",
            "ws/up/x",
            "ws/top/pre-commit",
        ] {
            assert!(runs(path), "{path}");
        }
        for path in ["ws/tools/x", "ws/hooks/x", "ws/top/a.txt", "ws/top/sub/pre-commit"] {
            assert!(!runs(path), "{path}");
        }
        assert!(hooks.lie_below(&root.join("ws/tools")) && !hooks.lie_below(&root.join("ws/src")));
    }
}
