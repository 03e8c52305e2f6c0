//! What of a workspace a person could grant by name: registries by the files that are there, remotes by
//! the configuration of its repository (U13). Nothing is run, and of a package file only its name
//! counts. Not here: what a grant covers (`weir_core::governance::grants`).

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use weir_core::governance::grants;
use weir_core::tool::NamedGrant;

use super::Workspace;
use super::tracked::{common_of, git_folder};
use crate::regular_file::open_regular_file;

/// Entries of the workspace's top folder that are looked at for folders with packages of their own.
const ENTRIES_MAX: usize = 512;
/// Bytes of a repository's configuration that are read; a longer one gives no grant.
const CONFIG_BYTES_MAX: u64 = 64 << 10;

impl Workspace {
    /// The grants that the workspace shows for a command that runs in `folder`, relative to it.
    pub fn named_grants(&self, folder: &str) -> Vec<NamedGrant> {
        let markers = package_files(self.root(), folder);
        let mut found = grants::registry_grants(|name| markers.contains(name));
        if let Some(config) = repository_config(self.root()) {
            found.extend(grants::remote_grants(&config));
        }
        found
    }
}

/// The names of package files that lie in the folder, above it, at the top or one below the top.
fn package_files(root: &Path, folder: &str) -> BTreeSet<&'static str> {
    let names: Vec<&'static str> = grants::marker_files().collect();
    let mut found = BTreeSet::new();
    let mut look = |at: &Path| {
        let there = |name: &&&str| at.join(name).symlink_metadata().is_ok_and(|m| m.is_file());
        found.extend(names.iter().filter(there));
    };
    // A judged folder has no steps back.
    let straight = !folder.split('/').any(|step| step == "..");
    let at = if straight { root.join(folder) } else { root.to_path_buf() };
    let inside = at.ancestors().take_while(|above| above.starts_with(root));
    inside.for_each(&mut look);
    look(root);
    let entries = root.read_dir().into_iter().flatten().take(ENTRIES_MAX).flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        look(&entry.path());
    }
    found
}

/// The configuration of the repository whose top is the workspace, with that of its work tree; `None`:
/// there is no such repository, or not all of it can be read.
fn repository_config(root: &Path) -> Option<String> {
    let git = git_folder(&root.join(".git"))?;
    let mut text = read_config(&common_of(&git).join("config"))?;
    let own = git.join("config.worktree");
    if own.symlink_metadata().is_ok() {
        text.push('\n');
        text.push_str(&read_config(&own)?);
    }
    Some(text)
}

fn read_config(path: &Path) -> Option<String> {
    // A device or a pipe would be waited for.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = open_regular_file(path).ok()?;
    file.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= CONFIG_BYTES_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const CONFIG: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\
        \turl = https://forge.example/me/project.git\n";

    fn put(root: &Path, path: &str, text: &str) -> PathBuf {
        let at = root.join(path);
        std::fs::create_dir_all(at.parent().expect("a folder")).expect("made");
        std::fs::write(&at, text).expect("written");
        at
    }

    #[test]
    fn u13_markers_are_found_where_a_command_works_and_one_below_the_top() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path();
        put(root, "web/package.json", "{}");
        put(root, "a/b/go.mod", "module x");
        put(root, "a/b/c/x.go", "");
        std::fs::create_dir_all(root.join("Cargo.toml")).expect("a folder is no marker");
        assert_eq!(package_files(root, "."), BTreeSet::from(["package.json"]));
        assert_eq!(package_files(root, "a/b/c"), BTreeSet::from(["package.json", "go.mod"]));
        // Not above the workspace, however it is asked.
        assert_eq!(package_files(&root.join("a/b/c"), "../.."), BTreeSet::new());
        assert_eq!(package_files(&root.join("a/b/c"), "/"), BTreeSet::new());
    }

    #[test]
    fn u13_the_configuration_of_the_repository_is_read_whole_or_not_at_all() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path();
        assert_eq!(repository_config(root), None);
        put(root, ".git/config", CONFIG);
        let found = repository_config(root).expect("it is there");
        let remotes = grants::remote_grants(&found);
        assert_eq!(remotes[0].name, "origin (forge.example/me/project) for git fetch and pull");
        // A work tree of its own may send elsewhere: both count.
        put(root, ".git/config.worktree", "[include]\n\tpath = ../x\n");
        let found = repository_config(root).expect("it is there");
        assert_eq!(grants::remote_grants(&found), []);
        std::fs::remove_file(root.join(".git/config.worktree")).expect("removed");
        put(root, ".git/config", &format!("{CONFIG}# {}", "x".repeat(70 << 10)));
        assert_eq!(repository_config(root), None);
        std::fs::remove_file(root.join(".git/config")).expect("removed");
        put(root, "elsewhere", CONFIG);
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join(".git/config"))
            .expect("linked");
        assert_eq!(repository_config(root), None, "a link is not followed");
    }
}
