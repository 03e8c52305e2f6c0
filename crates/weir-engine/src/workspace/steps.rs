//! Single steps of a change, each with what takes it back.
//!
//! A step never destroys: what it replaces or removes is held under a temporary name until all
//! steps are done and synced. Every step finds its folder again beneath the root.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, RenameFlags};
use rustix::io::Errno;
use weir_core::tool::FileState;

use super::changes::ChangeStep;
use super::guard::PathSpot;
use super::{FileError, LocatedPath, Workspace, beneath, io_error, temporary, trash};

/// What was done, and how to undo it.
#[derive(Debug, Default)]
pub(super) struct DoneSteps {
    undo: Vec<(Option<usize>, UndoAction)>,
    held: Vec<HeldContent>,
    /// Folders whose entries changed.
    touched: BTreeSet<(Option<usize>, PathBuf)>,
}

#[derive(Debug)]
enum UndoAction {
    Move { from: PathBuf, to: PathBuf },
    Unlink(PathBuf),
    RemoveFolder(PathBuf),
    MakeFolder(PathBuf, u32),
    SetMode(PathBuf, u32),
}

/// Old content under a temporary name.
#[derive(Debug)]
struct HeldContent {
    root: Option<usize>,
    rel: PathBuf,
    /// The path it was deleted from; `None`: it was replaced.
    deleted: Option<String>,
}

impl DoneSteps {
    fn record_undo(&mut self, root: Option<usize>, folder: &Path, undo: UndoAction) {
        self.touched.insert((root, folder.to_path_buf()));
        self.undo.push((root, undo));
    }

    /// Makes all of it durable.
    pub(super) fn sync(&self, workspace: &Workspace) -> Result<(), FileError> {
        for (root, folder) in &self.touched {
            match beneath::open_folder(workspace.anchor_of(*root), folder) {
                Ok(handle) => rustix::fs::fsync(&handle)
                    .map_err(|e| io_error("sync", &folder.to_string_lossy(), &e.into()))?,
                // It was removed or replaced by a later step; its parent is in the list.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(e) => return Err(io_error("sync", &folder.to_string_lossy(), &e.into())),
            }
        }
        Ok(())
    }

    /// Lets go of old content: deleted files to the trash, replaced ones away.
    pub(super) fn dispose_held(self, workspace: &Workspace, label: &str) {
        for held in self.held {
            match &held.deleted {
                Some(shown) => trash::put_in_trash(workspace, held.root, &held.rel, label, shown),
                None => {
                    let base = workspace.anchor_of(held.root);
                    if let Ok((folder, name)) = beneath::open_parent(base, &held.rel) {
                        // A name left behind is swept later.
                        let _ = rustix::fs::unlinkat(&folder, &name, AtFlags::empty());
                    }
                }
            }
        }
    }

    /// Puts everything back, the last step first, and returns `error`, with what could not be put
    /// back.
    pub(super) fn roll_back(self, workspace: &Workspace, error: FileError) -> FileError {
        let mut lost = Vec::new();
        for (root, undo) in self.undo.iter().rev() {
            if let Err(e) = take_back(workspace, *root, undo) {
                lost.push(format!("{undo:?}: {e}"));
            }
        }
        if lost.is_empty() {
            return error;
        }
        let path = match &error {
            FileError::NotFound { path, .. }
            | FileError::WrongKind { path, .. }
            | FileError::TooLarge { path, .. }
            | FileError::Refused { path, .. }
            | FileError::Changed { path }
            | FileError::Io { path, .. } => path.clone(),
        };
        let why = format!(
            "{error}; and not everything could be put back ({}); the checkpoint holds it",
            lost.join("; ")
        );
        FileError::Io { doing: "change", path, why }
    }
}

fn take_back(workspace: &Workspace, root: Option<usize>, undo: &UndoAction) -> Result<(), Errno> {
    let base = workspace.anchor_of(root);
    match undo {
        UndoAction::Move { from, to } => {
            let (from_folder, from_name) = beneath::open_parent(base, from)?;
            let (to_folder, to_name) = beneath::open_parent(base, to)?;
            rustix::fs::renameat(&from_folder, &from_name, &to_folder, &to_name)
        }
        UndoAction::Unlink(rel) => {
            let (folder, name) = beneath::open_parent(base, rel)?;
            rustix::fs::unlinkat(&folder, &name, AtFlags::empty())
        }
        UndoAction::RemoveFolder(rel) => {
            let (folder, name) = beneath::open_parent(base, rel)?;
            rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR)
        }
        UndoAction::MakeFolder(rel, mode) => {
            let (folder, name) = beneath::open_parent(base, rel)?;
            rustix::fs::mkdirat(&folder, &name, Mode::from_raw_mode(*mode))?;
            let made = beneath::open_folder(folder.as_fd(), Path::new(&name))?;
            rustix::fs::fchmod(&made, Mode::from_raw_mode(*mode))
        }
        UndoAction::SetMode(rel, mode) => match beneath::open_regular(base, rel) {
            Ok((file, _)) => rustix::fs::fchmod(&file, Mode::from_raw_mode(*mode)),
            Err(Ok(_)) => Err(Errno::INVAL),
            Err(Err(e)) => Err(e),
        },
    }
}

/// Makes the folders above `at` that are missing.
pub(super) fn make_parents(
    workspace: &Workspace,
    at: &LocatedPath,
    made: &mut Vec<PathBuf>,
) -> Result<(), FileError> {
    let base = workspace.anchor_fd(at);
    let parent = at.rel.parent().unwrap_or(Path::new(""));
    if beneath::open_folder(base, parent).is_ok() {
        return Ok(());
    }
    let missing: Vec<&Path> =
        parent.ancestors().filter(|folder| !folder.as_os_str().is_empty()).collect();
    for folder in missing.into_iter().rev() {
        let (above, name) = beneath::open_parent(base, folder)
            .map_err(|e| workspace.file_error("create the folders of", at, e))?;
        match rustix::fs::mkdirat(&above, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) => made.push(folder.to_path_buf()),
            // What is no folder shows itself at the next part, or when the file is put there.
            Err(Errno::EXIST) => {}
            Err(e) => return Err(workspace.file_error("create the folders of", at, e)),
        }
    }
    match beneath::open_folder(base, parent) {
        Ok(_) => Ok(()),
        Err(Errno::NOTDIR) => {
            let why = "a file stands where a folder would have to be".to_owned();
            Err(FileError::Io { doing: "create", path: at.shown.clone(), why })
        }
        Err(e) => Err(workspace.file_error("create the folders of", at, e)),
    }
}

/// Opens the folder of `at`, making it when it is missing.
fn ready_parent(
    workspace: &Workspace,
    at: &LocatedPath,
    done: &mut DoneSteps,
) -> Result<(OwnedFd, OsString), FileError> {
    let mut made = Vec::new();
    let result = make_parents(workspace, at, &mut made);
    for folder in made {
        let above = folder.parent().unwrap_or(Path::new("")).to_path_buf();
        done.record_undo(at.spot.root, &above, UndoAction::RemoveFolder(folder));
    }
    result?;
    let (folder, name) = beneath::open_parent(workspace.anchor_fd(at), &at.rel)
        .map_err(|e| workspace.file_error("write", at, e))?;
    let real = at.spot.real.parent().unwrap_or(Path::new("/"));
    temporary::sweep_folder(workspace, folder.as_fd(), real);
    Ok((folder, name))
}

/// Puts the new content of a step in place.
pub(super) fn put_in_place(
    workspace: &Workspace,
    step: &ChangeStep<'_>,
    source: Option<&ChangeStep<'_>>,
    done: &mut DoneSteps,
) -> Result<(), FileError> {
    let at = &step.at;
    let parent = at.rel.parent().unwrap_or(Path::new(""));
    let (folder, name) = ready_parent(workspace, at, done)?;
    let place = StepPlace { workspace, at, folder: folder.as_fd(), name: &name };
    let nothing_there = *step.before == FileState::Absent
        || *step.before == FileState::Folder
        || *step.after == FileState::Folder;
    match step.after {
        FileState::Absent => Ok(()),
        FileState::Folder => {
            match rustix::fs::mkdirat(&folder, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    done.record_undo(
                        at.spot.root,
                        parent,
                        UndoAction::RemoveFolder(at.rel.clone()),
                    );
                    Ok(())
                }
                // Made a moment ago on the way to a file below it.
                Err(Errno::EXIST) if done.has_made(at) => Ok(()),
                Err(e) => Err(place.file_error("create", e)),
            }
        }
        FileState::Link { target } => {
            let new = temporary::temporary_name();
            rustix::fs::symlinkat(target.as_str(), &folder, &new)
                .map_err(|e| place.file_error("link", e))?;
            place.install(&new, step.before, nothing_there, done)
        }
        FileState::File { mode, .. } => match (source, &step.bytes) {
            (Some(source), _) => rename(&place, step, source, done),
            (None, Some(bytes)) => {
                let new = write_temporary(&place, bytes, kept_mode(step.before, *mode))?;
                place.install(&new, step.before, nothing_there, done)
            }
            (None, None) => set_mode(&place, step.before, *mode, done),
        },
    }
}

/// Set-id bits are kept where they were, never given.
fn kept_mode(before: &FileState, mode: u32) -> Mode {
    let old = match before {
        FileState::File { mode, .. } => *mode,
        FileState::Absent | FileState::Folder | FileState::Link { .. } => 0,
    };
    Mode::from_raw_mode(mode & (0o777 | old))
}

/// The folder and name of one step.
struct StepPlace<'a> {
    workspace: &'a Workspace,
    at: &'a LocatedPath,
    folder: BorrowedFd<'a>,
    name: &'a OsString,
}

impl StepPlace<'_> {
    fn file_error(&self, doing: &'static str, error: Errno) -> FileError {
        match error {
            Errno::EXIST => FileError::Changed { path: self.at.shown.clone() },
            other => self.workspace.file_error(doing, self.at, other),
        }
    }
    fn sibling_path(&self, name: &OsString) -> PathBuf {
        self.at.rel.with_file_name(name)
    }
    fn sibling_at(&self, name: &OsString) -> LocatedPath {
        locate_beside(self.workspace, self.at, self.sibling_path(name))
    }

    /// Gives the finished temporary file `new` its name. What was there is held.
    fn install(
        &self,
        new: &OsString,
        before: &FileState,
        nothing_there: bool,
        done: &mut DoneSteps,
    ) -> Result<(), FileError> {
        if nothing_there {
            self.install_new(new, done)
        } else {
            self.install_over(new, before, done)
        }
    }
    /// Takes a temporary file away that was not put in place. The first error is what matters.
    fn discard(&self, new: &OsString) {
        let _ = rustix::fs::unlinkat(self.folder, new, AtFlags::empty());
    }
    fn install_new(&self, new: &OsString, done: &mut DoneSteps) -> Result<(), FileError> {
        rename_to_free(self.folder, new, self.folder, self.name).map_err(|e| {
            self.discard(new);
            self.file_error("write", e)
        })?;
        let parent = self.at.rel.parent().unwrap_or(Path::new(""));
        done.record_undo(self.at.spot.root, parent, UndoAction::Unlink(self.at.rel.clone()));
        Ok(())
    }
    fn install_over(
        &self,
        new: &OsString,
        before: &FileState,
        done: &mut DoneSteps,
    ) -> Result<(), FileError> {
        let exchange = RenameFlags::EXCHANGE;
        let swapped = rustix::fs::renameat_with(self.folder, new, self.folder, self.name, exchange);
        let held = match swapped {
            Ok(()) => new.clone(),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                self.replace_keeping_copy(new, before).inspect_err(|_| self.discard(new))?
            }
            Err(e) => {
                self.discard(new);
                return Err(self.file_error("write", e));
            }
        };
        let parent = self.at.rel.parent().unwrap_or(Path::new(""));
        let back = UndoAction::Move { from: self.sibling_path(&held), to: self.at.rel.clone() };
        done.record_undo(self.at.spot.root, parent, back);
        // Only now is it certain what was replaced.
        if self.workspace.image_of(&self.sibling_at(&held))? != *before {
            return Err(FileError::Changed { path: self.at.shown.clone() });
        }
        let rel = self.sibling_path(&held);
        done.held.push(HeldContent { root: self.at.spot.root, rel, deleted: None });
        Ok(())
    }
    /// For file systems that cannot exchange two names; returns where the old content is.
    fn replace_keeping_copy(
        &self,
        new: &OsString,
        before: &FileState,
    ) -> Result<OsString, FileError> {
        let copy = self.copy_of_old(before)?;
        match rustix::fs::renameat(self.folder, new, self.folder, self.name) {
            Ok(()) => Ok(copy),
            Err(e) => {
                self.discard(&copy);
                Err(self.file_error("write", e))
            }
        }
    }
    fn copy_of_old(&self, before: &FileState) -> Result<OsString, FileError> {
        if let FileState::Link { target } = before {
            let name = temporary::temporary_name();
            rustix::fs::symlinkat(target.as_str(), self.folder, &name)
                .map_err(|e| self.file_error("keep", e))?;
            return Ok(name);
        }
        let (mut old, stat) = self.workspace.open_regular(self.at)?;
        let (mut copy, name) =
            temporary::create_temporary(self.folder).map_err(|e| self.file_error("keep", e))?;
        std::io::copy(&mut old, &mut copy).map_err(|e| io_error("keep", &self.at.shown, &e))?;
        rustix::fs::fchmod(&copy, Mode::from_raw_mode(beneath::mode_of(&stat)))
            .map_err(|e| self.file_error("keep", e))?;
        Ok(name)
    }
}

/// Another path in the same root.
fn locate_beside(workspace: &Workspace, like: &LocatedPath, rel: PathBuf) -> LocatedPath {
    let base = match like.spot.root {
        Some(i) => workspace.guard.roots[i].real.as_path(),
        None => Path::new("/"),
    };
    let spot =
        PathSpot { root: like.spot.root, rel: super::guard::nfc_text(&rel), real: base.join(&rel) };
    let shown = like.shown.clone();
    LocatedPath { spot, rel, shown }
}

/// A synced temporary file with this content and mode.
fn write_temporary(place: &StepPlace<'_>, bytes: &[u8], mode: Mode) -> Result<OsString, FileError> {
    let (mut file, name) =
        temporary::create_temporary(place.folder).map_err(|e| place.file_error("write", e))?;
    let io = |e: std::io::Error| io_error("write", &place.at.shown, &e);
    let written = file.write_all(bytes).map_err(io).and_then(|()| {
        rustix::fs::fchmod(&file, mode).map_err(|e| place.file_error("write", e))?;
        file.sync_all().map_err(io)
    });
    if let Err(error) = written {
        let _ = rustix::fs::unlinkat(place.folder, &name, AtFlags::empty());
        return Err(error);
    }
    Ok(name)
}

/// Renames without ever replacing anything.
fn rename_to_free(
    from: BorrowedFd<'_>,
    name: &OsString,
    to: BorrowedFd<'_>,
    new_name: &OsString,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            // A hard link never replaces either; where there are none, the last resort is to look
            // first.
            match rustix::fs::linkat(from, name, to, new_name, AtFlags::empty()) {
                Ok(()) => rustix::fs::unlinkat(from, name, AtFlags::empty()),
                Err(Errno::EXIST) => Err(Errno::EXIST),
                Err(_) => match rustix::fs::statat(to, new_name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => rustix::fs::renameat(from, name, to, new_name),
                    Ok(_) => Err(Errno::EXIST),
                    Err(e) => Err(e),
                },
            }
        }
        done => done,
    }
}

/// Brings the file of `source` here.
fn rename(
    place: &StepPlace<'_>,
    step: &ChangeStep<'_>,
    source: &ChangeStep<'_>,
    done: &mut DoneSteps,
) -> Result<(), FileError> {
    let (workspace, at) = (place.workspace, place.at);
    let (from, from_name) = beneath::open_parent(workspace.anchor_fd(&source.at), &source.at.rel)
        .map_err(|e| workspace.file_error("move", &source.at, e))?;
    match rename_to_free(from.as_fd(), &from_name, place.folder, place.name) {
        Ok(()) => {
            let root = at.spot.root;
            let from_folder = source.at.rel.parent().unwrap_or(Path::new(""));
            done.touched.insert((root, from_folder.to_path_buf()));
            let to_folder = at.rel.parent().unwrap_or(Path::new(""));
            let back = UndoAction::Move { from: at.rel.clone(), to: source.at.rel.clone() };
            done.record_undo(root, to_folder, back);
        }
        Err(Errno::XDEV) => return copy_across(place, step, source, done),
        Err(e) => return Err(place.file_error("move", e)),
    }
    if workspace.image_of(at)? != *step.after {
        return Err(FileError::Changed { path: source.at.shown.clone() });
    }
    Ok(())
}

/// A move between two file systems inside one root.
fn copy_across(
    place: &StepPlace<'_>,
    step: &ChangeStep<'_>,
    source: &ChangeStep<'_>,
    done: &mut DoneSteps,
) -> Result<(), FileError> {
    let (mut old, stat) = place.workspace.open_regular(&source.at)?;
    let (mut new, name) =
        temporary::create_temporary(place.folder).map_err(|e| place.file_error("move", e))?;
    let io = |e: std::io::Error| io_error("move", &place.at.shown, &e);
    let copied = std::io::copy(&mut old, &mut new).map_err(io).and_then(|_| {
        rustix::fs::fchmod(&new, Mode::from_raw_mode(beneath::mode_of(&stat)))
            .map_err(|e| place.file_error("move", e))?;
        new.sync_all().map_err(io)
    });
    if let Err(error) = copied {
        let _ = rustix::fs::unlinkat(place.folder, &name, AtFlags::empty());
        return Err(error);
    }
    place.install(&name, step.before, true, done)?;
    if place.workspace.image_of(place.at)? != *step.after {
        return Err(FileError::Changed { path: source.at.shown.clone() });
    }
    remove(place.workspace, source, &BTreeSet::new(), done)
}

fn set_mode(
    place: &StepPlace<'_>,
    before: &FileState,
    mode: u32,
    done: &mut DoneSteps,
) -> Result<(), FileError> {
    let (file, stat) = place.workspace.open_regular(place.at)?;
    let folder = place.at.rel.parent().unwrap_or(Path::new(""));
    rustix::fs::fchmod(&file, kept_mode(before, mode)).map_err(|e| place.file_error("chmod", e))?;
    let undo = UndoAction::SetMode(place.at.rel.clone(), beneath::mode_of(&stat));
    done.record_undo(place.at.spot.root, folder, undo);
    Ok(())
}

/// Takes away what a step had before. Files are held in the nearest folder that stays.
pub(super) fn remove(
    workspace: &Workspace,
    step: &ChangeStep<'_>,
    leaving_folders: &BTreeSet<&Path>,
    done: &mut DoneSteps,
) -> Result<(), FileError> {
    let at = &step.at;
    let root = at.spot.root;
    let base = workspace.anchor_fd(at);
    let fail = |e: Errno| workspace.file_error("delete", at, e);
    let above = at.rel.parent().unwrap_or(Path::new(""));
    let (folder, name) = beneath::open_parent(base, &at.rel).map_err(fail)?;
    if *step.before == FileState::Folder {
        let stat = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(fail)?;
        if beneath::kind_of(&stat) != FileType::Directory {
            return Err(FileError::Changed { path: at.shown.clone() });
        }
        rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR).map_err(|e| match e {
            Errno::NOTEMPTY | Errno::EXIST => {
                let why = "it holds entries that this call does not delete".to_owned();
                FileError::Io { doing: "delete", path: at.shown.clone(), why }
            }
            other => fail(other),
        })?;
        done.record_undo(
            root,
            above,
            UndoAction::MakeFolder(at.rel.clone(), beneath::mode_of(&stat)),
        );
        return Ok(());
    }
    let stays =
        above.ancestors().find(|folder| !leaving_folders.contains(folder)).unwrap_or(Path::new(""));
    let hold = beneath::open_folder(base, stays).map_err(fail)?;
    temporary::sweep_folder(
        workspace,
        hold.as_fd(),
        &locate_beside(workspace, at, stays.into()).spot.real,
    );
    let held = temporary::temporary_name();
    rustix::fs::renameat(&folder, &name, &hold, &held).map_err(fail)?;
    let rel = stays.join(&held);
    done.record_undo(root, above, UndoAction::Move { from: rel.clone(), to: at.rel.clone() });
    if workspace.image_of(&locate_beside(workspace, at, rel.clone()))? != *step.before {
        return Err(FileError::Changed { path: at.shown.clone() });
    }
    done.held.push(HeldContent { root, rel, deleted: Some(at.shown.clone()) });
    Ok(())
}

impl DoneSteps {
    /// Whether the folder `at` was made by an earlier step.
    fn has_made(&self, at: &LocatedPath) -> bool {
        self.undo.iter().any(|(root, undo)| {
            *root == at.spot.root && matches!(undo, UndoAction::RemoveFolder(rel) if *rel == at.rel)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::WorkspaceOptions;

    #[test]
    fn z6_file_systems_without_exchange_replace_too() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("a"), "old").unwrap();
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: vec![],
            own_folders: vec![],
        };
        let workspace = Workspace::open(options).unwrap();
        let at = workspace.locate("a").unwrap();
        let before = workspace.image_of(&at).unwrap();
        let (folder, name) = beneath::open_parent(workspace.anchor_fd(&at), &at.rel).unwrap();
        let place =
            StepPlace { workspace: &workspace, at: &at, folder: folder.as_fd(), name: &name };
        let new = write_temporary(&place, b"new", Mode::from_raw_mode(0o644)).unwrap();
        let held = place.replace_keeping_copy(&new, &before).unwrap();
        assert_eq!(std::fs::read(top.path().join("a")).unwrap(), b"new");
        assert_eq!(workspace.image_of(&place.sibling_at(&held)).unwrap(), before);
        let names = std::fs::read_dir(top.path()).unwrap().count();
        assert_eq!(names, 2);
    }
}
