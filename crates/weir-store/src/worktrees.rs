//! Copies of a workspace for sub-agents: git worktrees, made by libgit2 (M6).
//!
//! A copy is a detached worktree of the last commit below `.weir/worktrees/` of the workspace: no
//! branch stays, no hook or filter of the repository runs, and no link that it brings is followed
//! (`folder`). Whoever makes one or takes one away holds a lock of the repository meanwhile. Not here:
//! what may be done in a copy, and taking its changes over.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{Delta, DiffOptions, FileMode, Oid, Repository, WorktreePruneOptions};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use weir_engine::ports::{CopiedFile, Divergence, Worktrees};

use self::folder::CopiesFolder;

mod folder;

/// Where copies are, below the root of the workspace.
const FOLDER: &str = ".weir/worktrees";
/// Lists that say what tools see and write: they count in a copy as they stand here.
const LISTS: [&str; 2] = [".weirignore", ".weirprotected"];
/// Most files that an agent may have left different.
const FILES_MAX: usize = 2_000;
/// Largest of them, in bytes.
const FILE_BYTES_MAX: u64 = 10_000_000;
/// What the names of copies that sessions of their own work in begin with; what follows is the name
/// that a person gave.
pub const SESSION_COPY: &str = "weir-worktree-";

/// Age after which a copy belongs to nobody.
pub const ORPHAN_AGE: Duration = Duration::from_secs(14 * 24 * 3600);

/// In the repository's own folder: whoever holds it makes a copy, or takes one away.
const LOCK: &str = "weir-worktrees.lock";
/// Beside the copies: none of them shows in the repository.
const IGNORE: (&str, &str) = (".gitignore", "*\n");

/// Worktrees of the repositories that workspaces lie in.
#[derive(Debug, Clone, Copy)]
pub struct GitWorktrees;

impl GitWorktrees {
    /// The names that persons gave to the copies in `root` that their sessions work in, sorted. One that a
    /// crash left half made is none.
    pub fn list_session_copies(&self, root: &Path) -> Vec<String> {
        let Ok(Some(folder)) = CopiesFolder::open_copies(root) else { return Vec::new() };
        let name =
            |file: String| file.strip_suffix(BASE)?.strip_prefix(SESSION_COPY).map(String::from);
        let mut names: Vec<String> = folder.entry_names().into_iter().filter_map(name).collect();
        names.sort();
        names
    }

    /// Whether making a copy of this name would take a branch of the person's for its own: while it is
    /// made, and until then, a branch of git's has the name of the copy.
    pub fn holds_branch(&self, root: &Path, name: &str) -> bool {
        let found = Repository::discover(root).is_ok_and(|repository| {
            repository.find_worktree(name).is_err()
                && repository.find_branch(name, git2::BranchType::Local).is_ok()
        });
        found && base_commit(root, name).is_err()
    }

    /// The commit that a copy was made of, as git writes it.
    ///
    /// # Errors
    /// A sentence: there is no such copy.
    pub fn base_of(&self, root: &Path, name: &str) -> Result<String, String> {
        base_commit(root, name).map(|id| id.to_string())
    }

    /// The workspace in a copy that is whole. Only looks.
    ///
    /// # Errors
    /// A sentence: there is none, or what has its name is none of git's.
    pub fn find_copy(&self, root: &Path, name: &str) -> Result<PathBuf, String> {
        base_commit(root, name)?;
        whole_copy(&discover_repository(root, name)?, root, name)
    }

    /// Whether something in the repository around `root` is not committed, and so in no copy of it.
    pub fn has_uncommitted(&self, root: &Path) -> bool {
        let mut options = git2::StatusOptions::new();
        options.include_untracked(true).include_ignored(false);
        let Ok(repository) = Repository::discover(root) else { return false };
        repository.statuses(Some(&mut options)).is_ok_and(|found| !found.is_empty())
    }

    /// Takes away the copies in `root` that nobody touched for [`ORPHAN_AGE`]; how many. Those that
    /// sessions of their own work in hold what nobody merged yet: they stay until a person drops them.
    pub fn sweep_orphans(&self, root: &Path) -> usize {
        let Ok(Some(folder)) = CopiesFolder::open_copies(root) else { return 0 };
        let is_old = |file: &String| {
            let changed = folder.modified(file);
            changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > ORPHAN_AGE)
        };
        let names: Vec<String> = folder
            .entry_names()
            .into_iter()
            .filter(is_old)
            .filter_map(|file| file.strip_suffix(BASE).map(String::from))
            .filter(|name| !name.starts_with(SESSION_COPY))
            .collect();
        names.iter().for_each(|name| self.remove(root, name));
        names.len()
    }
}

/// The repository around `root`, for a copy of this name.
fn discover_repository(root: &Path, name: &str) -> Result<Repository, String> {
    // A person asked for the copy of a session, a model for that of a sub-agent.
    let asked = if name.starts_with(SESSION_COPY) { "--worktree" } else { "worktree" };
    Repository::discover(root).map_err(|_| {
        format!(
            "{} is no git repository, so no copy of it can be made; leave {asked} out",
            root.display()
        )
    })
}

/// End of the name of the file that says what a copy was made of.
const BASE: &str = ".base";

fn copy_folder(root: &Path, name: &str) -> PathBuf {
    root.join(FOLDER).join(name)
}

fn base_file(name: &str) -> String {
    format!("{name}{BASE}")
}

/// The commit that a copy was made of.
fn base_commit(root: &Path, name: &str) -> Result<Oid, String> {
    let none = || format!("there is no copy of the workspace of {name} any more");
    let folder = CopiesFolder::open_copies(root);
    let folder = folder.map_err(|error| format!("its copy cannot be found: {error}"))?;
    let text = folder.ok_or_else(none)?.read_small(&base_file(name)).map_err(|_| none())?;
    Oid::from_str(text.trim()).map_err(|error| format!("its copy cannot be read: {error}"))
}

/// The workspace in the copy of this name, which is one of git's and lies where it belongs: a repository
/// can bring a folder or a link of the same name.
fn whole_copy(repository: &Repository, root: &Path, name: &str) -> Result<PathBuf, String> {
    let copy = copy_folder(root, name);
    let broken = |why: &str| format!("the copy {} is broken: {why}", copy.display());
    let known = repository.find_worktree(name).and_then(|known| known.validate().map(|()| known));
    let known = known.map_err(|error| broken(error.message()))?;
    let real = |path: &Path| fs::canonicalize(path).ok();
    let own = real(root).map(|root| root.join(FOLDER).join(name));
    if real(known.path()).is_none() || real(known.path()) != own {
        return Err(broken("git knows it by another folder"));
    }
    // What lies in the copy was in reach of whoever worked in it: it may say that it is a copy of another.
    let of_git = Repository::open(&copy).map_err(|error| broken(error.message()))?;
    if real(of_git.path()) != real(&repository.commondir().join("worktrees").join(name)) {
        return Err(broken("its .git names another repository"));
    }
    let at = path_within_copy(repository, root, &copy);
    let within = own.map(|own| path_within_copy(repository, root, &own));
    match real(&at) == within && at.is_dir() {
        true => Ok(at),
        false => Err(broken("the folder of this project is not in it any more")),
    }
}

/// Held while a copy is made or taken away, by whatever process.
fn lock_copies(repository: &Repository) -> Result<File, String> {
    let path = repository.commondir().join(LOCK);
    let failed = |error: rustix::io::Errno| format!("the repository cannot be locked: {error}");
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).map_err(failed)?;
    Ok(File::from(lock))
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
        let repository = discover_repository(root, name)?;
        let failed = |why: &dyn std::fmt::Display| format!("no copy could be made: {why}");
        let _locked = lock_copies(&repository)?;
        let copy = copy_folder(root, name);
        let at = path_within_copy(&repository, root, &copy);
        let folder = CopiesFolder::make_copies(root).map_err(|error| failed(&error))?;
        if folder.kind_of(&base_file(name)).is_some() && folder.kind_of(name).is_some() {
            return whole_copy(&repository, root, name);
        }
        let head = repository.head().and_then(|head| head.peel_to_commit());
        let head = head.map_err(|_| "the repository has no commit to make a copy of".to_owned())?;
        // What a crash left half made is made anew. Git knows it; what git does not know is somebody's.
        let is_foreign = folder.kind_of(name).is_some() && repository.find_worktree(name).is_err();
        if is_foreign && folder.kind_of(name) != Some(FileType::Directory) {
            return Err(failed(&format!("{} is no folder", copy.display())));
        }
        self.remove_from(&repository, root, name);
        let folder = CopiesFolder::make_copies(root).map_err(|error| failed(&error))?;
        folder.write_small(IGNORE.0, IGNORE.1).map_err(|error| failed(&error))?;
        let made = repository.worktree(name, &copy, None).map_err(|error| failed(&error))?;
        let detached = Repository::open_from_worktree(&made)
            .and_then(|copy| copy.set_head_detached(head.id()))
            .and_then(|()| repository.find_branch(name, git2::BranchType::Local)?.delete());
        detached.map_err(|error| failed(&error))?;
        if !at.is_dir() {
            self.remove_from(&repository, root, name);
            return Err(failed(&"this folder is not in the last commit"));
        }
        whole_copy(&repository, root, name)?;
        if let Err(error) = copy_lists(root, &at) {
            self.remove_from(&repository, root, name);
            return Err(failed(&error));
        }
        // Last: only a copy that is whole counts.
        let base = folder.write_small(&base_file(name), &head.id().to_string());
        base.map_err(|error| failed(&error))?;
        Ok(at)
    }

    fn worktree_changes(&self, root: &Path, name: &str) -> Result<Vec<Divergence>, String> {
        let base = base_commit(root, name)?;
        let repository = discover_repository(root, name)?;
        let copy = copy_folder(root, name);
        let at = whole_copy(&repository, root, name)?;
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
            let (id, mode) = (delta.old_file().id(), delta.old_file().mode());
            let before = match id.is_zero() || mode == FileMode::Link {
                true => None,
                false => Some(CopiedFile {
                    bytes: own.find_blob(id).map_err(read)?.content().to_vec(),
                    is_executable: mode == FileMode::BlobExecutable,
                }),
            };
            let (theirs, obstacle) = match read_plain_file(&at, path) {
                Ok(theirs) => (theirs, None),
                Err(why) => (None, Some(why)),
            };
            let obstacle = obstacle.or_else(|| {
                (mode == FileMode::Link).then(|| "it was a link when the copy was made".to_owned())
            });
            if before != theirs || obstacle.is_some() {
                left.push(Divergence { path: path.to_owned(), base: before, theirs, obstacle });
            }
            if left.len() > FILES_MAX {
                return Err(format!("more than {FILES_MAX} files are different in its copy"));
            }
        }
        Ok(left)
    }

    fn remove(&self, root: &Path, name: &str) {
        let Ok(repository) = discover_repository(root, name) else { return };
        match lock_copies(&repository) {
            Ok(_locked) => self.remove_from(&repository, root, name),
            Err(why) => tracing::warn!(name, why, "a copy of the workspace is left"),
        }
    }
}

impl GitWorktrees {
    fn remove_from(&self, repository: &Repository, root: &Path, name: &str) {
        if let Ok(known) = repository.find_worktree(name) {
            let mut options = WorktreePruneOptions::new();
            // Its folder goes below, where it belongs: git would go where its own file says.
            options.valid(true).locked(true).working_tree(false);
            if let Err(error) = known.prune(Some(&mut options)) {
                tracing::warn!(name, %error, "a worktree could not be pruned");
            }
        }
        if let Ok(mut branch) = repository.find_branch(name, git2::BranchType::Local) {
            // One of that name was never anybody's but ours: it begins with a session's id.
            let _ = branch.delete();
        }
        let folder = match CopiesFolder::open_copies(root) {
            Ok(Some(folder)) => folder,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(name, %error, "a copy of the workspace is left");
                return;
            }
        };
        let gone = |done: io::Result<()>| match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(name, %error, "a copy of the workspace is left");
            }
            _ => (),
        };
        match folder.kind_of(name) {
            // Never follows a link, at its top or below.
            Some(FileType::Directory) => gone(fs::remove_dir_all(copy_folder(root, name))),
            Some(_) => gone(folder.remove_file(name)),
            None => (),
        }
        gone(folder.remove_file(&base_file(name)));
        // Both stay while another copy is there.
        if folder.entry_names() == [IGNORE.0] && folder.remove_file(IGNORE.0).is_ok() {
            let _ = fs::remove_dir(root.join(FOLDER));
            let _ = fs::remove_dir(root.join(".weir"));
        }
    }
}

/// The lists count in a copy as they stand here.
fn copy_lists(root: &Path, at: &Path) -> io::Result<()> {
    for list in LISTS {
        let Some(mut file) = folder::open_plain_below(root, list)
            .map_err(|error| io::Error::new(error.kind(), format!("{list}: {error}")))?
        else {
            continue;
        };
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        folder::write_into_folder(at, list, &content)?;
    }
    Ok(())
}

/// The file at `path` of a copy; none: nothing is there.
///
/// # Errors
/// Why what is there is not taken over, as a sentence without the path.
fn read_plain_file(copy: &Path, path: &str) -> Result<Option<CopiedFile>, String> {
    let unreadable = |error: io::Error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            "it is a link, which is not taken over".to_owned()
        }
        _ => format!("it cannot be read: {error}"),
    };
    let Some(mut file) = folder::open_plain_below(copy, path).map_err(unreadable)? else {
        return Ok(None);
    };
    let found = file.metadata().map_err(unreadable)?;
    if found.len() > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    let is_executable = found.permissions().mode() & 0o100 != 0;
    Ok(Some(CopiedFile { bytes, is_executable }))
}
