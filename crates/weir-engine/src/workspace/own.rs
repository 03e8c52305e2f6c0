//! Weir's own files in the workspace: externalised results below `.weir/` (X1). Not for tools.

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::lists::GIT_LIST;
use super::steps::make_parents;
use super::temporary;
use super::{FileError, LocatedPath, Workspace, beneath};

/// Where results of sessions lie, each session's in a folder of its own.
const RESULTS: &str = ".weir/tmp";
/// In that folder's list of git: all of it, the list included. Else the next `git add -A` would commit
/// what commands printed.
const NOTHING_FOR_GIT: &[u8] = b"*\n";
/// Deepest folder that is removed with what is in it.
const DEPTH_MAX: usize = 64;

/// What [`Workspace::write_own`] does. Not synced: the blob store has the durable copy.
pub(super) fn write_own_file(
    workspace: &Workspace,
    path: &str,
    bytes: &[u8],
) -> Result<(), FileError> {
    let located = locate_own(workspace, path, Path::new(".weir"))?;
    make_parents(workspace, &located, &mut Vec::new())?;
    if let Some(list) = list_for_git(&located.rel) {
        let (folder, name) = beneath::open_parent(workspace.anchor_fd(&located), &list)
            .map_err(|e| workspace.file_error("write", &located, e))?;
        let there = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if !there {
            put_file(workspace, &located, &folder, &name, NOTHING_FOR_GIT)?;
        }
    }
    let (folder, name) = beneath::open_parent(workspace.anchor_fd(&located), &located.rel)
        .map_err(|e| workspace.file_error("write", &located, e))?;
    put_file(workspace, &located, &folder, &name, bytes)
}

/// The list of git that belongs beside what is written: in the session's folder.
fn list_for_git(rel: &Path) -> Option<PathBuf> {
    let mut below = rel.strip_prefix(RESULTS).ok()?.components();
    let (session, _) = (below.next()?, below.next()?);
    Some(Path::new(RESULTS).join(session).join(GIT_LIST))
}

/// Writes a file whole, under another name first. An error is about `at`.
fn put_file(
    workspace: &Workspace,
    at: &LocatedPath,
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
) -> Result<(), FileError> {
    let fail = |e: Errno| workspace.file_error("write", at, e);
    let (mut file, temporary) = temporary::create_temporary(folder.as_fd()).map_err(fail)?;
    let written =
        file.write_all(bytes).map_err(|e| super::io_error("write", &at.shown, &e)).and_then(|()| {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644)).map_err(fail)?;
            rustix::fs::renameat(folder, &temporary, folder, name).map_err(fail)
        });
    if written.is_err() {
        // The first error is the one to report; a name left behind is swept later.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    written
}

/// What [`Workspace::remove_own`] does. What is not there is no error; `.weir/tmp` and `.weir` go
/// too when nothing else is in them.
pub(super) fn remove(workspace: &Workspace, path: &str) -> Result<(), FileError> {
    let located = locate_own(workspace, path, Path::new(RESULTS))?;
    let anchor = workspace.anchor_fd(&located);
    let (folder, name) = match beneath::open_parent(anchor, &located.rel) {
        Ok(parent) => parent,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        Err(e) => return Err(workspace.file_error("remove", &located, e)),
    };
    remove_tree(&folder, Path::new(&name), 0)
        .map_err(|e| workspace.file_error("remove", &located, e))?;
    for parent in located.rel.ancestors().skip(1).filter(|p| p.starts_with(".weir")) {
        if !remove_if_empty(anchor, parent) {
            break;
        }
    }
    Ok(())
}

fn locate_own(workspace: &Workspace, path: &str, below: &Path) -> Result<LocatedPath, FileError> {
    let located = workspace.locate(path)?;
    if located.spot.root == Some(0)
        && located.rel.starts_with(below)
        && located.rel.as_path() != below
    {
        return Ok(located);
    }
    let why = format!("it is not below {}", below.display());
    Err(FileError::Refused { path: path.to_owned(), why })
}

fn remove_if_empty(anchor: BorrowedFd<'_>, folder: &Path) -> bool {
    beneath::open_parent(anchor, folder).is_ok_and(|(parent, name)| {
        rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR).is_ok()
    })
}

/// Removes `name` and all below it, never following a link.
fn remove_tree(folder: &OwnedFd, name: &Path, depth: usize) -> Result<(), Errno> {
    let is_folder = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => beneath::kind_of(&stat) == FileType::Directory,
        Err(Errno::NOENT) => return Ok(()),
        Err(e) => return Err(e),
    };
    if !is_folder {
        return rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    if depth >= DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let inner = beneath::open_folder(folder.as_fd(), name)?;
    let (names, _) = beneath::folder_names(inner.as_fd())?;
    for (child, _) in names {
        remove_tree(&inner, &PathBuf::from(child), depth + 1)?;
    }
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}
