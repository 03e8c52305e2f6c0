//! By which name the history of a repository is marked (Z1): by that of the folder that keeps it, which all
//! work trees of the repository share. Looks at the disk. Not here: what in a history was written, and what
//! a mark means.

use std::path::{Component, Path, PathBuf};

use super::Workspace;
use super::guard::nfc_text;
use super::repositories::repository_around;
use super::resolve::real_form;
use super::tracked::{common_of, git_folder};

/// Where a repository is kept, or which it is.
const GIT: &str = ".git";

/// The whole path by which the history is marked that git would tell in `folder`, without the stroke at the
/// end of a mark.
pub(super) fn history_around(folder: &Path) -> Option<String> {
    let git = git_folder(&repository_around(folder)?.join(GIT))?;
    Some(nfc_text(&marked_folder(&git)))
}

/// Whether a mark is of the history of a repository: messages and names in it are foreign words, and the
/// files around it are not.
pub(super) fn is_history(path: &str) -> bool {
    path.ends_with('/') && path.split('/').any(|name| name == GIT)
}

/// The folder that keeps the history of a repository with this folder of its own. One in whose path nothing
/// is called `.git`, as of a bare repository, would look like a folder of files: it gets that name in it.
fn marked_folder(git: &Path) -> PathBuf {
    let common = real_form(&common_of(git));
    let is_named = |part: Component<'_>| part.as_os_str() == GIT;
    if common.components().any(is_named) { common } else { common.join(GIT) }
}

impl Workspace {
    /// The mark of the history of a repository with this folder of its own.
    pub(crate) fn history_mark(&self, git: &Path) -> String {
        format!("{}/", self.shown_at(&marked_folder(git)))
    }

    /// Whether names and messages of the repository in `top` are nobody else's words, as far as is known. Of
    /// one that is found by a link nothing is noted.
    pub(crate) fn may_tell_history(&self, top: &Path) -> bool {
        git_folder(&top.join(GIT)).is_some_and(|git| !self.is_marked(&self.history_mark(&git)))
    }
}

#[cfg(test)]
mod tests {
    use weir_test_kit::TestFolder;

    use super::*;
    use crate::workspace::WorkspaceOptions;

    #[test]
    fn z1_work_trees_of_a_repository_have_one_name_for_its_history() {
        let folder = TestFolder::with_files(&[
            ("p/.git/HEAD", "ref: refs/heads/main\n"),
            ("p/.git/worktrees/wt/commondir", "../..\n"),
            ("p/.git/modules/sub/HEAD", "x"),
            ("p/sub/.git", "gitdir: ../.git/modules/sub\n"),
            ("p/src/deep/a.rs", "x"),
            ("bare/HEAD", "x"),
            ("bare/worktrees/one/commondir", "../..\n"),
            ("none/a", "x"),
        ]);
        let top = folder.at("p").canonicalize().expect("a folder");
        let top = top.parent().expect("a parent").to_path_buf();
        let own = |of: &str| format!("gitdir: {}\n", top.join(of).display());
        folder.write("wt/.git", &own("p/.git/worktrees/wt"));
        folder.write("one/.git", &own("bare/worktrees/one"));
        for (at, expected) in [
            ("p", Some("p/.git")),
            ("p/src/deep", Some("p/.git")),
            ("wt", Some("p/.git")),
            ("p/sub", Some("p/.git/modules/sub")),
            ("one", Some("bare/.git")),
            ("none", None),
        ] {
            let expected = expected.map(|path| top.join(path).display().to_string());
            assert_eq!(history_around(&top.join(at)), expected, "{at}");
        }
        for mark in [".git/", "/a/.git/", "sub/.git/", ".git/modules/sub/"] {
            assert!(is_history(mark), "{mark}");
        }
        for mark in ["", "/", "a.git/", ".github/", ".git/config"] {
            assert!(!is_history(mark), "{mark}");
        }
    }

    #[test]
    fn z1_a_history_that_is_found_by_a_link_is_not_told() {
        let folder = TestFolder::with_files(&[
            ("p/.git/HEAD", "ref: refs/heads/main\n"),
            ("linked/a", "x"),
            ("none/a", "x"),
        ]);
        std::os::unix::fs::symlink("../p/.git", folder.at("linked/.git")).expect("a link");
        for (at, told) in [("p", true), ("linked", false), ("none", false)] {
            let options = WorkspaceOptions {
                root: folder.at(at),
                extra_roots: Vec::new(),
                own_folders: Vec::new(),
            };
            let workspace = Workspace::open(options).expect("a workspace");
            assert_eq!(workspace.may_tell_history(workspace.root()), told, "{at}");
        }
    }
}
