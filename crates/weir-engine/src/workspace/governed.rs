//! What of a workspace is told by its name alone, whatever git ignores: repositories (A1), what later
//! runs or instructs (A5), and Weir's own lists (D1). One walk over names, before a command and after.
//! Not here: what becomes of what came to be.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, PoisonError};

use weir_core::governance::flow;

use super::Workspace;
use super::beneath;
use super::guard::PathSpot;
use super::hooks::HookFolders;
use super::lists::{IGNORE_LIST, PROTECT_LIST};
use super::parallel::{spread_work, threads_for};
use super::repositories::{RepositoryMap, repository_piece};
use super::survey::WEIRS;
use super::tree::fact;

/// It runs by itself where its program is installed, and its content is never kept.
const ENVIRONMENT: &str = ".envrc";
/// What is added to a name that is set aside: it means nothing to anybody then.
const ASIDE: &str = ".taken-back";
/// The folder of a repository, however it is written: some file systems take all of them for one.
const GIT_NAMES: [&str; 8] = [".git", ".giT", ".gIt", ".gIT", ".Git", ".GiT", ".GIt", ".GIT"];
/// Most of one name that are set aside.
const SAME_NAME_MAX: u32 = 1_000;

/// The last parts of the patterns of what later runs or instructs, in small letters, and the endings
/// of those that begin with `*`: what has none of them need not be looked at closer.
static NAMES: LazyLock<(BTreeSet<String>, Vec<String>)> = LazyLock::new(|| {
    let patterns = flow::INSTRUCTS.iter().flat_map(|(_, patterns)| patterns.iter());
    let last = |pattern: &str| {
        pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase()
    };
    let (endings, names) =
        patterns.map(|p| last(p)).partition(|name: &String| name.starts_with('*'));
    let endings: BTreeSet<String> = endings;
    (names, endings.iter().map(|name| name.trim_start_matches('*').to_owned()).collect())
});

/// Names of the folders in which something later runs or instructs that are not named as a whole, in
/// small letters. Those that begin like other names too (`mise`) are usual names of links to programs.
static FOLDERS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let patterns = flow::INSTRUCTS.iter().flat_map(|(_, patterns)| patterns.iter());
    let above = patterns.flat_map(|pattern| {
        let parts: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
        parts[..parts.len() - 1].iter().map(|part| part.to_lowercase()).collect::<Vec<_>>()
    });
    above.filter(|name| name.starts_with(['.', '_'])).collect()
});

/// The governed things that are there, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GovernedPaths {
    pub(crate) repositories: RepositoryMap,
    /// Folders that hold a `.git`.
    pub(super) holders: BTreeSet<PathBuf>,
    lists: BTreeSet<PathBuf>,
    instructs: BTreeSet<PathBuf>,
}

/// The governed paths that came to be since they were looked at before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NewGovernedPaths {
    /// What makes a repository of something.
    pub(crate) repositories: Vec<PathBuf>,
    /// Lists of Weir's.
    pub(crate) lists: Vec<PathBuf>,
    /// What later runs or instructs: the topmost of each, and what is new below it.
    pub(crate) instructs: Vec<Vec<PathBuf>>,
}

impl GovernedPaths {
    fn join(&mut self, part: GovernedPaths) {
        self.repositories.join(part.repositories);
        self.holders.extend(part.holders);
        self.lists.extend(part.lists);
        self.instructs.extend(part.instructs);
    }

    /// The paths, as they are noted.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = self.repositories.paths();
        let others = self.lists.iter().chain(&self.instructs);
        paths.extend(others.map(|path| path.to_string_lossy().into_owned()));
        paths
    }

    /// What was not there `before`.
    pub(crate) fn made_since(&self, before: &[String]) -> NewGovernedPaths {
        let known: BTreeSet<&str> = before.iter().map(String::as_str).collect();
        let is_new = |path: &&PathBuf| !known.contains(path.to_string_lossy().as_ref());
        let mut instructs: Vec<Vec<PathBuf>> = Vec::new();
        for path in self.instructs.iter().filter(is_new) {
            // Sorted: what lies in a new one comes right after it.
            match instructs.last_mut() {
                Some(last) if path.starts_with(&last[0]) => last.push(path.clone()),
                Some(_) | None => instructs.push(vec![path.clone()]),
            }
        }
        NewGovernedPaths {
            repositories: self.repositories.made_since(before),
            lists: self.lists.iter().filter(is_new).cloned().collect(),
            instructs,
        }
    }
}

/// Whether a name may be one of what later runs or instructs.
pub(super) fn may_instruct(name: &str) -> bool {
    let (names, endings) = &*NAMES;
    name == ENVIRONMENT
        || names.contains(name)
        || endings.iter().any(|end| name.ends_with(end.as_str()))
}

/// Whether any part of a path may.
pub(super) fn has_part_that_may_instruct(path: &str) -> bool {
    path.split('/').any(|part| may_instruct(&part.to_lowercase()))
}

/// Whether what is shown so, with this name, later runs or instructs.
pub(super) fn is_instructing(name: &str, shown: &str) -> bool {
    name == ENVIRONMENT || flow::instructing_reason(shown).is_some()
}

/// Whether a link with this name (in small letters) that is shown so stands where a folder would hold
/// what later runs or instructs: whoever looks there finds what it leads to.
pub(super) fn leads_to_instructing(name: &str, shown: &str) -> bool {
    FOLDERS.contains(name) && flow::instructs_below(shown, None).is_some()
}

/// The folders in and below `open` that hold a `.git`. A long one in which no folder is has only that looked for:
/// to read all names of 50,000 files takes longer than to write one (Q14).
fn repository_holders(mut open: Vec<PathBuf>) -> BTreeSet<PathBuf> {
    let mut holders = BTreeSet::new();
    while let Some(folder) = open.pop() {
        // What cannot be read has nothing that git could run either.
        let Ok(handle) = beneath::open_to_read(&folder) else { continue };
        if beneath::is_long_without_folders(handle.as_fd()) {
            if GIT_NAMES.iter().any(|name| beneath::may_have_name(handle.as_fd(), name)) {
                holders.insert(folder);
            }
            continue;
        }
        let in_git = folder.file_name().is_some_and(|name| name == ".git");
        let _ = beneath::for_each_name(handle.as_fd(), |name, is_folder| {
            if name.eq_ignore_ascii_case(".git") {
                holders.insert(folder.clone());
            }
            if is_folder && !in_git {
                open.push(folder.join(name));
            }
        });
    }
    holders
}

/// What is Weir's own in its folder at the top: results of sessions and their copies of the workspace,
/// which come and go while commands of other sessions run. No command can write there.
const OWN_FOLDERS: [&str; 2] = ["tmp", "worktrees"];

/// Where a folder is, seen from Weir's own at the top. That one is made and taken away by whatever runs
/// here, to hold its place: it alone says nothing of what a command did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnPlace {
    Around,
    Inside,
    Elsewhere,
}

impl OwnPlace {
    fn of_folder(folder: &Path, roots: &[&Path]) -> OwnPlace {
        let is_root = |path: &Path| roots.contains(&path);
        let is_own = folder.file_name().is_some_and(|name| name == WEIRS);
        if is_root(folder) {
            OwnPlace::Around
        } else if is_own && folder.parent().is_some_and(is_root) {
            OwnPlace::Inside
        } else {
            OwnPlace::Elsewhere
        }
    }
}

/// A folder that is looked at.
struct GovernedFolder {
    spot: Arc<PathSpot>,
    /// It lies in one that instructs.
    instructs: bool,
}

impl Workspace {
    /// Looks at every name in it, also at what lists leave out.
    pub(crate) fn find_governed(&self) -> GovernedPaths {
        let known = self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone();
        let found = self.governed_by(&known.clone().unwrap_or_default());
        let hooks = Arc::new(HookFolders::for_repositories(&found.holders, self.guard.home()));
        *self.hooks.write().unwrap_or_else(PoisonError::into_inner) = Some(hooks.clone());
        // What a folder is that was named only now is told by another look.
        if known.is_some_and(|known| known == hooks) || hooks.is_empty() {
            return found;
        }
        self.governed_by(&hooks)
    }

    /// Finds the folders whose files git runs: all that a write of one file needs. Only names are looked at,
    /// and none is kept, so it takes a tenth of the time of [`Self::find_governed`], which knows of no other
    /// repository.
    pub(super) fn find_hooks(&self) {
        let roots = self.guard.roots.iter().map(|root| root.real.clone());
        let holders = repository_holders(roots.collect());
        let hooks = HookFolders::for_repositories(&holders, self.guard.home());
        *self.hooks.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hooks));
    }

    fn governed_by(&self, hooks: &HookFolders) -> GovernedPaths {
        let roots: Vec<&Path> = self.guard.roots.iter().map(|root| root.real.as_path()).collect();
        let folder = |root: &&Path| {
            let spot = Arc::new(self.guard.spot_of(root.to_path_buf()));
            GovernedFolder { spot, instructs: false }
        };
        let first: Vec<GovernedFolder> = roots.iter().map(folder).collect();
        let threads = threads_for(self.guard.tree.name_count());
        let parts = spread_work(threads, first, |folder, found: &mut GovernedPaths| {
            self.governed_in(&folder, hooks, &roots, found)
        });
        let mut found = GovernedPaths::default();
        parts.into_iter().for_each(|part| found.join(part));
        found
    }

    /// Notes the governed paths of one folder. Returns the folders in it.
    fn governed_in(
        &self,
        folder: &GovernedFolder,
        hooks: &HookFolders,
        roots: &[&Path],
        found: &mut GovernedPaths,
    ) -> Vec<GovernedFolder> {
        let GovernedFolder { spot: folder, instructs } = folder;
        let guard = &self.guard;
        let in_git = folder.real.file_name().is_some_and(|name| name == ".git");
        let place = OwnPlace::of_folder(&folder.real, roots);
        let Some(listing) = guard.tree.list(guard, folder) else { return Vec::new() };
        let by_hooks = !hooks.is_empty() && hooks.may_concern(&folder.real);
        let mut pieces = BTreeSet::new();
        let mut inner = Vec::new();
        for child in &listing.children {
            if child.facts == 0 && !child.is_folder && !*instructs && !by_hooks {
                continue;
            }
            let is_own = || OWN_FOLDERS.iter().any(|own| child.name == *own);
            if place == OwnPlace::Inside && child.is_folder && is_own() {
                continue;
            }
            let is_held = place == OwnPlace::Around && child.is_folder && child.name == WEIRS;
            let spot = listing.child_spot(guard, folder, child);
            let (at, name) = (&spot.real, child.name.to_string_lossy().to_lowercase());
            if child.facts & fact::GIT != 0 {
                pieces.extend(child.name.to_str().and_then(repository_piece));
            }
            if name == ".git" {
                found.holders.insert(folder.real.clone());
                if !child.is_folder {
                    found.repositories.met_pointer(at.clone());
                }
            }
            if name == IGNORE_LIST || name == PROTECT_LIST {
                found.lists.insert(at.clone());
            }
            let is_git = in_git || name == ".git";
            let instructs = !is_git
                && (*instructs
                    || child.facts & (fact::INSTRUCTS | fact::LEADS) != 0
                    || (by_hooks && hooks.is_run_by_git(at, roots)));
            if instructs && !is_held {
                found.instructs.insert(at.clone());
            }
            if child.is_folder && !in_git {
                inner.push(GovernedFolder { spot, instructs });
            }
        }
        found.repositories.met_folder(folder.real.clone(), pieces);
        inner
    }

    /// Gives something another name, beside it: nothing is lost, and it means nothing to anybody.
    ///
    /// # Errors
    /// Why it could not.
    pub(crate) fn set_aside(&self, path: &Path) -> Result<(), String> {
        let Some(name) = path.file_name() else { return Err("it has no name".into()) };
        for number in 0..SAME_NAME_MAX {
            let mut aside = name.to_os_string();
            aside.push(ASIDE);
            if number > 0 {
                aside.push(format!("-{number}"));
            }
            let aside = path.with_file_name(aside);
            if aside.symlink_metadata().is_err() {
                return std::fs::rename(path, aside).map_err(|error| error.to_string());
            }
        }
        Err("too much was set aside there".into())
    }

    /// A path on the disk, for people.
    pub(crate) fn shown_at(&self, path: &Path) -> String {
        self.guard.shown_path(&self.guard.spot_of(path.to_path_buf()))
    }

    /// Whether it lies directly in a root.
    pub(crate) fn is_at_top(&self, path: &Path) -> bool {
        self.guard.roots.iter().any(|root| path.parent() == Some(root.real.as_path()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    /// An empty workspace and its root, as long as the folder is held.
    fn workspace() -> (tempfile::TempDir, PathBuf, Workspace) {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("it is there");
        let options = WorkspaceOptions {
            root: root.clone(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        (top, root, workspace)
    }

    fn put(root: &Path, path: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, "x").expect("a file");
    }

    #[test]
    fn a1_what_makes_a_repository_is_told_from_what_was_there() {
        let (_top, root, workspace) = workspace();
        let put = |path: &str| put(&root, path);
        for path in [".git/HEAD", ".git/objects/x", ".git/refs/x", "src/objects/a", "src/refs/b"] {
            put(path);
        }
        put("fixture/HEAD");
        let before = workspace.find_governed().paths();
        assert_eq!(
            workspace.find_governed().repositories.made_since(&before),
            Vec::<PathBuf>::new()
        );
        for path in ["src/HEAD", "v/.git/HEAD", "v/.git/objects/x", "v/.git/refs/x", "w/.git"] {
            put(path);
        }
        for path in ["fixture/objects/x", "fixture/refs/x", ".git/commondir", "plain/HEAD"] {
            put(path);
        }
        let made = workspace.find_governed().repositories.made_since(&before);
        let expected = [
            ".git/commondir",
            "fixture/objects",
            "fixture/refs",
            "src/HEAD",
            "v/.git/HEAD",
            "w/.git",
        ];
        assert_eq!(made, expected.map(|path| root.join(path)));
        for piece in &made {
            workspace.set_aside(piece).expect("it is taken");
        }
        assert_eq!(
            workspace.find_governed().repositories.made_since(&before),
            Vec::<PathBuf>::new()
        );
        assert!(root.join("src/objects/a").exists(), "what was there stays");
        assert!(root.join("v/.git/HEAD.taken-back").exists());
    }

    #[test]
    fn d4_repositories_are_found_by_a_look_at_names_as_by_the_walk_that_knows_all() {
        let (_top, root, workspace) = workspace();
        for path in [".git/HEAD", ".git/modules/x/.git", "a/b/.GIT/HEAD", "c/.git", "d/.weirignore"]
        {
            put(&root, path);
        }
        std::fs::write(root.join("d/.weirignore"), "hidden/\n").expect("a list");
        for path in ["d/hidden/.git/config", "e/.git/.git", ".hidden/.git/HEAD", "f/git/.gitx"] {
            put(&root, path);
        }
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).expect("a link");
        let found = repository_holders(vec![root.clone()]);
        assert_eq!(found, workspace.find_governed().holders);
        let expected = ["", ".hidden", "a/b", "c", "d/hidden", "e", "e/.git"];
        assert_eq!(found, expected.map(|path| root.join(path)).into());
    }

    #[test]
    fn d4_a_repository_is_found_in_a_folder_of_many_names() {
        let (_top, root, workspace) = workspace();
        // So many that folders are long on each file system.
        for number in 0..1_600 {
            let folder = ["none", "deep", "plain", "odd"][number % 4];
            put(&root, &format!("{folder}/{number:05}-and-a-name-of-some-more-letters.txt"));
        }
        for path in ["deep/er/.git/HEAD", "plain/.git", "odd/.gIt", "none/.gitx", "none/xgit"] {
            put(&root, path);
        }
        let found = repository_holders(vec![root.clone()]);
        assert_eq!(found, workspace.find_governed().holders);
        assert_eq!(found, ["deep/er", "odd", "plain"].map(|path| root.join(path)).into());
        let small = |name: &str| name.to_ascii_lowercase();
        assert_eq!(GIT_NAMES.map(small), [".git"; 8]);
        assert_eq!(BTreeSet::from(GIT_NAMES).len(), 8);
    }

    #[test]
    fn a5_what_instructs_is_met_whatever_git_ignores() {
        let (_top, root, workspace) = workspace();
        let put = |path: &str| put(&root, path);
        std::fs::write(root.join(".gitignore"), "*\n").expect("a file");
        put(".claude/settings.json");
        let before = workspace.find_governed().paths();
        for path in ["AGENTS.md", "node_modules/x/Claude.md", ".envrc", "src/plain.md"] {
            put(path);
        }
        for path in [".github/workflows/a.yml", ".github/other", ".claude/b/c", "d/.weirignore"] {
            put(path);
        }
        let made = workspace.find_governed().made_since(&before);
        let expected =
            [".claude/b", ".envrc", ".github/workflows", "AGENTS.md", "node_modules/x/Claude.md"];
        let topmost: Vec<_> = made.instructs.iter().map(|group| group[0].clone()).collect();
        assert_eq!(topmost, expected.map(|path| root.join(path)));
        assert_eq!(made.instructs[0], ["", "c"].map(|name| root.join(".claude/b").join(name)));
        assert_eq!(made.lists, [root.join("d/.weirignore")]);
    }

    #[test]
    fn d1_what_weir_itself_keeps_at_the_top_was_made_by_no_command() {
        let (_top, root, workspace) = workspace();
        put(&root, "src/plain.md");
        let before = workspace.find_governed().paths();
        // As a job holds the place of what is missing, and as other sessions work here meanwhile.
        std::fs::create_dir(root.join(".weir")).expect("a folder");
        assert_eq!(workspace.find_governed().made_since(&before), NewGovernedPaths::default());
        let own = [".weir/tmp/s1/run_shell-1.md", ".weir/worktrees/x/.git"];
        for path in own.into_iter().chain([".weir/worktrees/x/AGENTS.md"]) {
            put(&root, path);
        }
        assert_eq!(workspace.find_governed().made_since(&before), NewGovernedPaths::default());
        for path in [".weir/commands/a.md", ".weir/config.toml"] {
            put(&root, path);
        }
        let made = workspace.find_governed().made_since(&before).instructs;
        let topmost: Vec<_> = made.iter().map(|group| group[0].clone()).collect();
        assert_eq!(topmost, [".weir/commands", ".weir/config.toml"].map(|path| root.join(path)));
    }

    #[test]
    fn d1_a_link_in_the_place_of_weirs_own_folder_is_met() {
        let (_top, root, workspace) = workspace();
        put(&root, "src/plain.md");
        let before = workspace.find_governed().paths();
        std::os::unix::fs::symlink(root.join("src"), root.join(".weir")).expect("a link");
        let made = workspace.find_governed().made_since(&before).instructs;
        assert_eq!(made, [[root.join(".weir")]]);
    }
}
