//! The workspace as section 15 tells it, and what kind it is (section 3). Looks at the root alone, and of a
//! vault at its settings.
//! Not here: what instructs.

use std::path::Path;

use weir_core::tool::PathAccess;

use super::vault;
use crate::regular_file::read_regular_file;
use crate::workspace::{EntryKind, WalkOptions, Workspace, WorkspaceEntry};

/// Entries of the workspace's root that are named.
const ENTRIES_MAX: usize = 60;
/// The same of the root of each folder that was added.
const ADDED_ENTRIES_MAX: usize = 30;
/// Characters of the name of a git branch that are told.
const BRANCH_CHARS_MAX: usize = 100;
/// Largest `.git/HEAD`, in bytes.
const HEAD_BYTES_MAX: u64 = 4 << 10;
/// What a vault of notes has at its root.
const NOTES_SIGN: &str = ".obsidian";
/// What a code repository has at its root, one of them.
const CODE_SIGNS: [&str; 12] = [
    ".git",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "Makefile",
    "CMakeLists.txt",
    "composer.json",
    "Gemfile",
];

/// The kind of workspace whose conventions stand in the prompt: `notes`, `code`, or none that is
/// known. Blocks.
pub fn kind_of(root: &Path) -> Option<&'static str> {
    if root.join(NOTES_SIGN).is_dir() {
        return Some("notes");
    }
    CODE_SIGNS.iter().any(|sign| root.join(sign).exists()).then_some("code")
}

/// Name of the folder, its top entries, and the git branch, where there is one. The same of the folders
/// that were added to it.
pub(super) fn describe_structure(workspace: &Workspace) -> String {
    let root = workspace.root();
    let mut text = format!("Workspace: {}{}", root.display(), branch_text(workspace, root));
    if let Some(listed) = list_top_level(workspace, ".", ENTRIES_MAX) {
        text.push_str(&format!("\nTop level: {listed}"));
    }
    for folder in workspace.added_folders() {
        text.push_str(&format!(
            "\nAlso part of the workspace, by its whole path: {folder}{}",
            branch_text(workspace, Path::new(folder))
        ));
        if let Some(listed) = list_top_level(workspace, folder, ADDED_ENTRIES_MAX) {
            text.push_str(&format!("\nTop level of it: {listed}"));
        }
    }
    if let Some(vault) = vault::describe_vault(workspace) {
        text.push('\n');
        text.push_str(&vault);
    }
    text
}

/// The entries at the top of `folder`, by their names in it.
fn list_top_level(workspace: &Workspace, folder: &str, max_entries: usize) -> Option<String> {
    let options =
        WalkOptions { recursive: false, respect_gitignore: true, hidden: false, max_entries };
    let at = workspace.resolve(folder, PathAccess::List);
    let walk = workspace.walk(&at, options).ok()?;
    let below = format!("{}/", at.path);
    let name = |entry: &WorkspaceEntry| {
        let name = entry.path.strip_prefix(&below).unwrap_or(&entry.path);
        match entry.kind {
            EntryKind::Folder => format!("{name}/"),
            EntryKind::File | EntryKind::Link | EntryKind::Other => name.to_owned(),
        }
    };
    // Whoever reads this has read nothing foreign (Z1).
    let (foreign, told): (Vec<&WorkspaceEntry>, Vec<&WorkspaceEntry>) =
        walk.entries.iter().partition(|entry| workspace.has_foreign_name(entry));
    let mut names: Vec<String> = told.into_iter().map(name).collect();
    if !foreign.is_empty() {
        names.push(format!("{} more whose names may be words from elsewhere", foreign.len()));
    }
    let more = if walk.truncated { ", …" } else { "" };
    let listed = if names.is_empty() { "nothing".into() } else { names.join(", ") };
    Some(format!("{listed}{more}"))
}

/// ` (git branch main)`, or nothing: also where the name may be somebody else's words.
fn branch_text(workspace: &Workspace, root: &Path) -> String {
    if !workspace.may_tell_history(root) {
        return String::new();
    }
    git_branch(root).map(|branch| format!(" (git branch {branch})")).unwrap_or_default()
}

fn git_branch(root: &Path) -> Option<String> {
    let head = read_regular_file(&root.join(".git/HEAD"), HEAD_BYTES_MAX).ok()?;
    let head = String::from_utf8(head).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.chars().filter(|c| !c.is_control()).take(BRANCH_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular_file::make_pipe;

    #[test]
    fn p5_a_pipe_where_git_keeps_the_branch_is_not_waited_for() {
        let top = tempfile::tempdir().expect("a folder");
        let head = top.path().join(".git/HEAD");
        std::fs::create_dir(top.path().join(".git")).expect("a folder");
        std::fs::write(&head, "ref: refs/heads/main\n").expect("a file");
        assert_eq!(git_branch(top.path()).as_deref(), Some("main"));
        std::fs::remove_file(&head).expect("removed");
        make_pipe(&head);
        assert_eq!(git_branch(top.path()), None);
    }
}
