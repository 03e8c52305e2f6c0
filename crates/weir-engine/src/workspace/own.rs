//! Weir's own files in the workspace: externalised results below `.weir/` (X1). Not for tools.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::steps::make_parents;
use super::temporary;
use super::{FileError, LocatedPath, Workspace, beneath};

/// Deepest folder that is removed with what is in it.
const DEPTH_MAX: usize = 64;

/// What [`Workspace::write_own`] does. Not synced: the blob store has the durable copy.
pub(super) fn write_own_file(
    workspace: &Workspace,
    path: &str,
    bytes: &[u8],
) -> Result<(), FileError> {
    let located = locate_own(workspace, path, Path::new(".weir"))?;
    let fail = |e: Errno| workspace.file_error("write", &located, e);
    make_parents(workspace, &located, &mut Vec::new())?;
    let (folder, name) =
        beneath::open_parent(workspace.anchor_fd(&located), &located.rel).map_err(fail)?;
    let (mut file, temporary) = temporary::create_temporary(folder.as_fd()).map_err(fail)?;
    let written = file
        .write_all(bytes)
        .map_err(|e| super::io_error("write", &located.shown, &e))
        .and_then(|()| {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644)).map_err(fail)?;
            rustix::fs::renameat(&folder, &temporary, &folder, &name).map_err(fail)
        });
    if written.is_err() {
        // The first error is the one to report; a name left behind is swept later.
        let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
    }
    written
}

/// What [`Workspace::remove_own`] does. What is not there is no error; `.weir/tmp` and `.weir` go
/// too when nothing else is in them.
pub(super) fn remove(workspace: &Workspace, path: &str) -> Result<(), FileError> {
    let located = locate_own(workspace, path, Path::new(".weir/tmp"))?;
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
