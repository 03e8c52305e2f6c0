//! Files that a walk found, opened one after the other by a call that names no single one of them (Q24): what is
//! said of their folder is looked at once for many, and each is opened by its own name beneath the folder's
//! handle. Not here: how a file is judged that is named by itself; each is that is not plainly open.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use super::guard::{PathKind, PathSpot, said_of};
use super::lists::{IGNORE_LIST, PathList};
use super::{FileError, Workspace, WorkspaceEntry, beneath};

/// Files that are opened before their folder is looked at again: so soon counts what lists say anew, and a link
/// in the place of the folder.
const FILES_PER_LOOK: usize = 100;

/// What became of a file that a walk found.
#[derive(Debug)]
pub enum FoundFile {
    /// It is open.
    Open(File),
    /// It is not there for tools.
    Hidden,
    /// A person is asked first, by its name.
    AsksFirst,
}

/// Opens files that a walk found.
#[derive(Debug)]
pub struct FoundFiles<'a> {
    workspace: &'a Workspace,
    /// The folder of the last one.
    folder: Option<LookedFolder>,
}

#[derive(Debug)]
struct LookedFolder {
    /// As paths of what lies in it have it.
    path: String,
    /// Files of it that are opened before it is looked at again.
    left: usize,
    /// `None`: all that lies in it is judged file by file.
    open: Option<OpenFolder>,
}

/// A folder of which nothing says that it is closed, or asks first.
#[derive(Debug)]
struct OpenFolder {
    spot: PathSpot,
    handle: OwnedFd,
    /// What hides entries of it, with where paths below each begin.
    lists: Vec<(usize, Arc<PathList>)>,
}

impl Workspace {
    /// To open files that [`Workspace::walk`] found, best in its order.
    pub fn found_files(&self) -> FoundFiles<'_> {
        FoundFiles { workspace: self, folder: None }
    }

    /// `None`: what lies in it is not told by this alone.
    fn look_at_folder(&self, path: &str) -> Option<OpenFolder> {
        let located = self.locate(path).ok()?;
        located.spot.root?;
        // No link stands on the way to it, or it does not open.
        let handle = beneath::open_folder(self.anchor_fd(&located), &located.rel).ok()?;
        let verdict = self.guard.judge(&located.spot, PathKind::Folder);
        if verdict.ignored.is_some() || verdict.sensitive.is_some() {
            return None;
        }
        let lists = self.guard.lists_for_entries(IGNORE_LIST, &located.spot)?;
        Some(OpenFolder { spot: located.spot, handle, lists })
    }
}

impl FoundFiles<'_> {
    /// Opens one for reading. Rules, lists and tables say of it what they say of a file that is judged by
    /// itself.
    ///
    /// # Errors
    /// It cannot be read, or a list names it since the walk.
    pub fn open_entry(&mut self, entry: &WorkspaceEntry) -> Result<FoundFile, FileError> {
        if let Some(file) = self.open_plain(entry) {
            return Ok(FoundFile::Open(file));
        }
        let at = self.workspace.effect_of_entry(entry);
        if at.ignored.is_some() {
            return Ok(FoundFile::Hidden);
        }
        if at.sensitive.is_some() {
            return Ok(FoundFile::AsksFirst);
        }
        self.workspace.open_file(&at).map(FoundFile::Open)
    }

    /// The file, where nothing at all speaks against it: whatever else there is to say of one is found out as
    /// of a file that is named by itself.
    fn open_plain(&mut self, entry: &WorkspaceEntry) -> Option<File> {
        let path = entry.path.as_str();
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        // Other letters may stand for the same name on the disk.
        if !name.is_ascii() {
            return None;
        }
        let workspace = self.workspace;
        let guard = &workspace.guard;
        let folder = self.folder_at(folder)?;
        let name = OsStr::new(name);
        let spot = guard.spot_inside(&folder.spot, name);
        let is_closed = guard.hides_entry(&spot, PathKind::File)
            || guard.may_hold_secrets(&spot, PathKind::File)
            || said_of(&folder.lists, &spot.rel, false).is_some()
            || workspace.closed_by_rule(path).is_some();
        if is_closed {
            return None;
        }
        let (file, stat) = beneath::open_regular_entry(folder.handle.as_fd(), name).ok()?;
        (!guard.is_closed_twin(&stat)).then_some(file)
    }

    fn folder_at(&mut self, path: &str) -> Option<&OpenFolder> {
        let is_good = |folder: &LookedFolder| folder.path == path && folder.left > 0;
        if !self.folder.as_ref().is_some_and(is_good) {
            let open = self.workspace.look_at_folder(path);
            self.folder = Some(LookedFolder { path: path.to_owned(), left: FILES_PER_LOOK, open });
        }
        let folder = self.folder.as_mut()?;
        folder.left -= 1;
        folder.open.as_ref()
    }
}
