//! Walks: visible entries, folders before what is in them, names in byte order, never through a
//! link. Stops at its bound without looking at the rest.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use super::guard::{Seen, Spot, nfc, said_of};
use super::lists::{GIT_LIST, IGNORE_LIST, List};
use super::{Entry, EntryKind, FileError, Located, Walk, WalkOptions, Workspace};
use super::{beneath, wrong_kind};

/// Deepest folder that is entered: each level holds a handle.
const DEPTH_MAX: usize = 128;

/// So much of what git ignores is named.
const SKIPPED_MAX: usize = 10_000;

/// What [`Workspace::walk`] does.
pub(super) fn walk(
    workspace: &Workspace,
    start: &Located,
    options: WalkOptions,
) -> Result<Walk, FileError> {
    let mut entries = Vec::new();
    let each = &mut |found: &Found<'_>| {
        entries.push(entry(workspace.guard.shown(found.spot), found.stat));
    };
    let seen = visit(workspace, start, options, each)?;
    Ok(Walk { entries, truncated: seen.truncated })
}

/// An entry that a walk meets.
pub(super) struct Found<'a> {
    pub(super) spot: &'a Spot,
    pub(super) stat: &'a Stat,
    /// The folder it lies in, and its name there.
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

/// What a walk did not meet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unseen {
    /// There was more than its bounds allow.
    pub(crate) truncated: bool,
    /// `.gitignore` named something.
    pub(crate) gitignored: bool,
    /// The topmost of what it named, up to a bound.
    pub(crate) skipped: Vec<PathBuf>,
}

/// The same, entry by entry.
pub(super) fn visit(
    workspace: &Workspace,
    start: &Located,
    options: WalkOptions,
    each: &mut dyn FnMut(&Found<'_>),
) -> Result<Unseen, FileError> {
    let anchor = workspace.anchor(start);
    let (_, stat) =
        beneath::probe(anchor, &start.rel).map_err(|e| workspace.failed("list", start, e))?;
    if beneath::kind_of(&stat) != FileType::Directory {
        return Err(wrong_kind(start, beneath::kind_of(&stat), "a folder"));
    }
    let folder =
        beneath::open_folder(anchor, &start.rel).map_err(|e| workspace.failed("list", start, e))?;
    let mut walker = Walker {
        workspace,
        options,
        hiding: Vec::new(),
        skipping: Vec::new(),
        met: 0,
        unseen: Unseen::default(),
        each,
    };
    walker.enter_ancestors(&start.spot);
    walker.folder(&folder, &start.spot, 0).map_err(|e| workspace.failed("list", start, e))?;
    Ok(walker.unseen)
}

/// An entry from what the system says about it.
pub(super) fn entry(path: String, stat: &Stat) -> Entry {
    let kind = match beneath::kind_of(stat) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => EntryKind::Other,
    };
    let bytes = if kind == EntryKind::File { beneath::size_of(stat) } else { 0 };
    Entry { path, kind, bytes, modified: stat.st_mtime }
}

struct Walker<'a> {
    workspace: &'a Workspace,
    options: WalkOptions,
    /// `.weirignore` lists on the way, with the length of their folder's path.
    hiding: Vec<(usize, Arc<List>)>,
    /// The same of `.gitignore`.
    skipping: Vec<(usize, Arc<List>)>,
    /// Entries so far.
    met: usize,
    unseen: Unseen,
    each: &'a mut dyn FnMut(&Found<'_>),
}

impl Walker<'_> {
    /// Loads the lists of the folders above the start.
    fn enter_ancestors(&mut self, start: &Spot) {
        let Some(root) = start.root.map(|i| &self.workspace.guard.roots[i]) else { return };
        let mut folder = root.real.clone();
        let mut begin = 0;
        let below = start.real.strip_prefix(&root.real).unwrap_or(Path::new(""));
        for part in below.components() {
            self.enter(&folder, begin);
            let end = start.rel[begin..].find('/').map_or(start.rel.len(), |at| begin + at);
            begin = (end + 1).min(start.rel.len());
            folder.push(part);
        }
    }
    /// Loads the lists of one folder; returns how many there were before.
    fn enter(&mut self, folder: &Path, path_begin: usize) -> (usize, usize) {
        let before = (self.hiding.len(), self.skipping.len());
        let lists = &self.workspace.guard.lists;
        if let Some(list) = lists.load(folder, IGNORE_LIST) {
            self.hiding.push((path_begin, list));
        }
        if self.options.respect_gitignore
            && let Some(list) = lists.load(folder, GIT_LIST)
        {
            self.skipping.push((path_begin, list));
        }
        before
    }

    fn folder(&mut self, handle: &OwnedFd, spot: &Spot, depth: usize) -> Result<(), Errno> {
        let (names, more) = beneath::names(handle.as_fd())?;
        let begin = if spot.rel.is_empty() { 0 } else { spot.rel.len() + 1 };
        let before = if spot.root.is_some() {
            self.enter(&spot.real, begin)
        } else {
            (self.hiding.len(), self.skipping.len())
        };
        for (name, kind) in names {
            if !self.options.hidden && name.as_bytes().starts_with(b".") {
                continue;
            }
            self.child(handle, spot, (&name, kind), depth);
            if self.unseen.truncated {
                break;
            }
        }
        self.unseen.truncated |= more;
        self.hiding.truncate(before.0);
        self.skipping.truncate(before.1);
        Ok(())
    }

    fn child(
        &mut self,
        handle: &OwnedFd,
        parent: &Spot,
        (name, kind): (&OsStr, FileType),
        depth: usize,
    ) {
        let name_text = nfc(Path::new(name));
        let rel =
            if parent.rel.is_empty() { name_text } else { format!("{}/{name_text}", parent.rel) };
        let spot = Spot { root: parent.root, rel, real: parent.real.join(name) };
        // Some file systems do not say the kind with the name.
        let stat = if kind == FileType::Unknown { look(handle, name) } else { None };
        let is_folder = stat.as_ref().map_or(kind, beneath::kind_of) == FileType::Directory;
        if self.is_left_out(&spot, is_folder) {
            return;
        }
        // What went away since its name was read is no entry.
        let Some(stat) = stat.or_else(|| look(handle, name)) else { return };
        if self.met >= self.options.max_entries {
            self.unseen.truncated = true;
            return;
        }
        self.met += 1;
        let folder = handle.as_fd();
        (self.each)(&Found { spot: &spot, stat: &stat, folder, name });
        if !is_folder || !self.options.recursive {
            return;
        }
        if depth >= DEPTH_MAX {
            self.unseen.truncated = true;
            return;
        }
        // A folder that cannot be opened shows its name and nothing more.
        if let Ok(inner) = beneath::open_folder(handle.as_fd(), &PathBuf::from(name)) {
            let _ = self.folder(&inner, &spot, depth + 1);
        }
    }

    fn is_left_out(&mut self, spot: &Spot, is_folder: bool) -> bool {
        let seen = if is_folder { Seen::Folder } else { Seen::File };
        if self.workspace.guard.hides_entry(spot, seen)
            || said_of(&self.hiding, &spot.rel, is_folder).is_some()
        {
            return true;
        }
        let skipped = said_of(&self.skipping, &spot.rel, is_folder).is_some();
        self.unseen.gitignored |= skipped;
        if skipped && self.unseen.skipped.len() < SKIPPED_MAX {
            self.unseen.skipped.push(spot.real.clone());
        }
        skipped
    }
}

fn look(folder: &OwnedFd, name: &OsStr) -> Option<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}
