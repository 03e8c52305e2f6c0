//! Copies of a workspace for sub-agents: git worktrees, made by libgit2 (M6).
//!
//! A copy is a detached worktree of the last commit below `.weir/worktrees/` of the workspace: no
//! branch stays, no hook or filter of the repository runs. Not here: what may be done in it, and
//! taking its changes over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use git2::{Delta, DiffOptions, Oid, Repository, WorktreePruneOptions};
use weir_engine::ports::{Divergence, Worktrees};

/// Where copies are, below the root of the workspace.
const FOLDER: &str = ".weir/worktrees";
/// Lists that say what tools see and write: they count in a copy as they stand here.
const LISTS: [&str; 2] = [".weirignore", ".weirprotected"];
/// Most files that an agent may have left different.
const FILES_MAX: usize = 2_000;
/// Largest of them, in bytes.
const FILE_BYTES_MAX: u64 = 10_000_000;
/// Age after which a copy belongs to nobody.
pub const ORPHAN_AGE: Duration = Duration::from_secs(14 * 24 * 3600);

/// Worktrees of the repositories that workspaces lie in.
#[derive(Debug, Default)]
pub struct GitWorktrees {
    /// Making one touches the repository: one at a time.
    making: Mutex<()>,
}

impl GitWorktrees {
    /// Takes away the copies in `root` that nobody touched for [`ORPHAN_AGE`]; how many.
    pub fn sweep_orphans(&self, root: &Path) -> usize {
        let Ok(entries) = fs::read_dir(root.join(FOLDER)) else { return 0 };
        let old = |path: &Path| {
            let changed = fs::metadata(path).and_then(|meta| meta.modified()).ok();
            changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > ORPHAN_AGE)
        };
        let names: Vec<String> = entries
            .flatten()
            .filter(|entry| old(&entry.path()))
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(BASE).map(String::from))
            .collect();
        names.iter().for_each(|name| self.remove(root, name));
        names.len()
    }

    fn discover_repository(&self, root: &Path) -> Result<Repository, String> {
        Repository::discover(root).map_err(|_| {
            format!(
                "{} is no git repository, so no copy of it can be made; leave worktree out",
                root.display()
            )
        })
    }
}

/// End of the name of the file that says what a copy was made of.
const BASE: &str = ".base";

fn copy_folder(root: &Path, name: &str) -> PathBuf {
    root.join(FOLDER).join(name)
}

fn base_file(root: &Path, name: &str) -> PathBuf {
    root.join(FOLDER).join(format!("{name}{BASE}"))
}

/// The commit that a copy was made of.
fn base_commit(root: &Path, name: &str) -> Result<Oid, String> {
    let none = |_: io::Error| format!("there is no copy of the workspace of {name} any more");
    let text = fs::read_to_string(base_file(root, name)).map_err(none)?;
    Oid::from_str(text.trim()).map_err(|error| format!("its copy cannot be read: {error}"))
}

/// The place in `copy` that `root` has in the repository.
fn path_within_copy(repository: &Repository, root: &Path, copy: &Path) -> PathBuf {
    let top = repository.workdir().and_then(|top| fs::canonicalize(top).ok());
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    match top.and_then(|top| root.strip_prefix(top).ok().map(Path::to_path_buf)) {
        Some(below) => copy.join(below),
        None => copy.to_path_buf(),
    }
}

impl Worktrees for GitWorktrees {
    fn create_worktree(&self, root: &Path, name: &str) -> Result<PathBuf, String> {
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = self.discover_repository(root)?;
        let (copy, there) = (copy_folder(root, name), base_file(root, name));
        let at = path_within_copy(&repository, root, &copy);
        if there.exists() && at.is_dir() {
            return Ok(at);
        }
        let failed = |why: &dyn std::fmt::Display| format!("no copy could be made: {why}");
        let head = repository.head().and_then(|head| head.peel_to_commit());
        let head = head.map_err(|_| "the repository has no commit to make a copy of".to_owned())?;
        // What a crash left half made is made anew.
        self.remove_from(&repository, root, name);
        let folder = root.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        fs::write(folder.join(".gitignore"), "*\n").map_err(|error| failed(&error))?;
        let made = repository.worktree(name, &copy, None).map_err(|error| failed(&error))?;
        let detached = Repository::open_from_worktree(&made)
            .and_then(|copy| copy.set_head_detached(head.id()))
            .and_then(|()| repository.find_branch(name, git2::BranchType::Local)?.delete());
        detached.map_err(|error| failed(&error))?;
        if !at.is_dir() {
            self.remove_from(&repository, root, name);
            return Err(failed(&"this folder is not in the last commit"));
        }
        for list in LISTS {
            let (from, to) = (root.join(list), at.join(list));
            if from.is_file() {
                fs::copy(&from, &to).map_err(|error| failed(&error))?;
            }
        }
        // Last: only a copy that is whole counts.
        fs::write(&there, head.id().to_string()).map_err(|error| failed(&error))?;
        Ok(at)
    }

    fn worktree_changes(&self, root: &Path, name: &str) -> Result<Vec<Divergence>, String> {
        let base = base_commit(root, name)?;
        let repository = self.discover_repository(root)?;
        let copy = copy_folder(root, name);
        let at = path_within_copy(&repository, root, &copy);
        let own = Repository::open(&copy).map_err(|error| format!("its copy: {error}"))?;
        let read = |error: git2::Error| format!("its copy cannot be read: {}", error.message());
        let tree = own.find_commit(base).and_then(|commit| commit.tree()).map_err(read)?;
        let mut options = DiffOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).ignore_submodules(true);
        let diff = own.diff_tree_to_workdir(Some(&tree), Some(&mut options)).map_err(read)?;
        let below = at.strip_prefix(&copy).unwrap_or(Path::new("")).to_path_buf();
        let mut left = Vec::new();
        for delta in diff.deltas() {
            let whole = delta.new_file().path().or_else(|| delta.old_file().path());
            let path = whole.and_then(|path| path.strip_prefix(&below).ok()?.to_str());
            let Some(path) = path.filter(|path| !LISTS.contains(path)) else { continue };
            if delta.status() == Delta::Unmodified {
                continue;
            }
            let id = delta.old_file().id();
            let before = match id.is_zero() {
                true => None,
                false => Some(own.find_blob(id).map_err(read)?.content().to_vec()),
            };
            let theirs = read_plain_file(&at.join(path), path)?;
            if before != theirs {
                left.push(Divergence { path: path.to_owned(), base: before, theirs });
            }
            if left.len() > FILES_MAX {
                return Err(format!("more than {FILES_MAX} files are different in its copy"));
            }
        }
        Ok(left)
    }

    fn remove(&self, root: &Path, name: &str) {
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(repository) = self.discover_repository(root) {
            self.remove_from(&repository, root, name);
        }
    }
}

impl GitWorktrees {
    fn remove_from(&self, repository: &Repository, root: &Path, name: &str) {
        if let Ok(known) = repository.find_worktree(name) {
            let mut options = WorktreePruneOptions::new();
            options.valid(true).locked(true).working_tree(true);
            if let Err(error) = known.prune(Some(&mut options)) {
                tracing::warn!(name, %error, "a worktree could not be pruned");
            }
        }
        if let Ok(mut branch) = repository.find_branch(name, git2::BranchType::Local) {
            // One of that name was never anybody's but ours: it begins with a session's id.
            let _ = branch.delete();
        }
        let gone = |done: io::Result<()>| match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(name, %error, "a copy of the workspace is left");
            }
            _ => (),
        };
        gone(fs::remove_dir_all(copy_folder(root, name)));
        gone(fs::remove_file(base_file(root, name)));
        // Both stay while another copy is there.
        let folder = root.join(FOLDER);
        let others = fs::read_dir(&folder).map_or(0, |entries| entries.flatten().count());
        if others == 1 && fs::remove_file(folder.join(".gitignore")).is_ok() {
            let _ = fs::remove_dir(&folder);
            let _ = fs::remove_dir(root.join(".weir"));
        }
    }
}

/// What stands at `file`; none: nothing. What is no plain file is not taken over.
fn read_plain_file(file: &Path, path: &str) -> Result<Option<Vec<u8>>, String> {
    let found = match fs::symlink_metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{path} cannot be read: {error}")),
    };
    if !found.is_file() {
        return Err(format!("{path} is no plain file in its copy"));
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(format!("{path} has more than {FILE_BYTES_MAX} bytes"));
    }
    fs::read(file).map(Some).map_err(|error| format!("{path} cannot be read: {error}"))
}
