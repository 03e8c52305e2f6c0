//! Between two commands nobody runs whom Weir cannot trust, so the system's word that nothing happened in
//! a folder is enough, and the look before a command costs nothing (Q6). Where the system does not say, or
//! says that folders or lists changed, everything is looked at. Not here: the look after a command, which
//! believes nobody.
//!
//! What the system does not say: writes through a name that a file has elsewhere, so folders with such
//! files are always looked at; and writes to memory of a program that still holds the file open, which
//! show with the look after the command.

use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::lists::{GIT_LIST, IGNORE_LIST, PROTECT_LIST};
use super::tree::KNOWN_SYSTEMS;

/// Most folders that are watched: each takes a kilobyte of the system's memory.
const FOLDERS_MAX: usize = 20_000;
/// Room for the events that are read at a time.
const EVENTS_BYTES: usize = 16 * 1024;
/// An overlay does not tell of files that lie below it.
const OVERLAY: u64 = 0x794c_7630;

/// What happens to something in a folder.
const WATCHED: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The folders of the last look.
#[derive(Debug, Default)]
pub(crate) struct FolderWatch(Mutex<WatchedFolders>);

#[derive(Debug, Default)]
struct WatchedFolders {
    system: Option<OwnedFd>,
    folders: HashMap<i32, PathBuf>,
    /// Folders with files that have names elsewhere.
    linked: BTreeSet<PathBuf>,
    /// Every folder of the last look is watched, and nothing was lost.
    whole: bool,
    /// The system refused once, and would again.
    refused: bool,
}

impl FolderWatch {
    /// Before everything is looked at: what happened until now will be seen. `pays`: from now on folders
    /// are watched.
    pub(crate) fn begin_look(&self, pays: bool) {
        let mut watched = self.lock_watched();
        if !watched.whole || watched.take_changes().is_none() {
            *watched = WatchedFolders { refused: watched.refused, ..WatchedFolders::default() };
        }
        watched.linked.clear();
        watched.whole = pays && !watched.refused;
    }
    /// Before a folder is looked at.
    pub(super) fn add(&self, folder: &Path, handle: BorrowedFd<'_>) {
        let mut watched = self.lock_watched();
        if !watched.whole {
            return;
        }
        if watched.add(folder, handle).is_none() {
            *watched = WatchedFolders { refused: true, ..WatchedFolders::default() };
        }
    }
    /// A folder has files with names elsewhere.
    pub(super) fn has_links(&self, folder: &Path) {
        self.lock_watched().linked.insert(folder.to_path_buf());
    }
    /// Not everything was looked at, or not all that was seen is held.
    pub(crate) fn is_not_whole(&self) {
        self.lock_watched().whole = false;
    }
    /// The folders in which something may have happened since they were looked at, by path. `None`: it
    /// is not known.
    pub(crate) fn changed_folders(&self) -> Option<BTreeSet<PathBuf>> {
        let mut watched = self.lock_watched();
        let changed = watched.whole.then(|| watched.take_changes()).flatten();
        watched.whole = changed.is_some();
        let mut changed = changed?;
        changed.extend(watched.linked.iter().cloned());
        Some(changed)
    }
    fn lock_watched(&self) -> MutexGuard<'_, WatchedFolders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedFolders {
    /// `None`: the system refuses.
    fn add(&mut self, folder: &Path, handle: BorrowedFd<'_>) -> Option<()> {
        if self.system.is_none() {
            self.system = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        }
        let system = self.system.as_ref()?;
        if self.folders.len() >= FOLDERS_MAX || !has_change_events(handle) {
            return None;
        }
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let number = inotify::add_watch(system, path, WATCHED).ok()?;
        self.folders.insert(number, folder.to_path_buf());
        Some(())
    }
    /// What happened since this was asked before. `None`: folders or lists are others now, or more
    /// happened than the system keeps.
    fn take_changes(&mut self) -> Option<BTreeSet<PathBuf>> {
        let system = self.system.as_ref()?;
        let mut room = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = inotify::Reader::new(system, &mut room);
        let mut changed = BTreeSet::new();
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Some(changed),
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            };
            let name = event.file_name().map(|name| name.to_bytes().to_ascii_lowercase());
            let is_list = name.is_some_and(|name| {
                [IGNORE_LIST, PROTECT_LIST, GIT_LIST].iter().any(|list| name == list.as_bytes())
            });
            let of_folder = ReadFlags::ISDIR
                | ReadFlags::DELETE_SELF
                | ReadFlags::MOVE_SELF
                | ReadFlags::IGNORED
                | ReadFlags::UNMOUNT
                | ReadFlags::QUEUE_OVERFLOW;
            if is_list || event.events().intersects(of_folder) {
                return None;
            }
            let folder = self.folders.get(&event.wd())?;
            if !changed.contains(folder) {
                changed.insert(folder.clone());
            }
        }
    }
}

/// Whether the file system of a folder tells of everything that happens in it.
fn has_change_events(folder: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(folder)
        .ok()
        .and_then(|system| u64::try_from(system.f_type).ok())
        .is_some_and(|kind| kind != OVERLAY && KNOWN_SYSTEMS.contains(&kind))
}
