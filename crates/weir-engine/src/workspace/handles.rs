//! Handles of the folders that sessions work in, open once for all sessions of the program with the same
//! folder: each would keep one of its own open, and one of `/` (Q18). Not here: what is reached beneath
//! a handle (`beneath`).

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

/// Those that somebody holds.
static OPEN: Mutex<BTreeMap<FolderId, Weak<FolderHandle>>> = Mutex::new(BTreeMap::new());

fn lock_open() -> MutexGuard<'static, BTreeMap<FolderId, Weak<FolderHandle>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which folder it is, reached by which name through which mount. As long as a handle of it is open no
/// other folder has the same, whatever is removed, moved or mounted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FolderId {
    path: PathBuf,
    device: (u32, u32),
    inode: u64,
    mount: u64,
}

impl FolderId {
    /// `None`: the system does not say it all.
    fn read(path: &Path, handle: &OwnedFd) -> Option<FolderId> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let stat = rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, wanted).ok()?;
        let is_told = (StatxFlags::INO | StatxFlags::MNT_ID).bits();
        (stat.stx_mask & is_told == is_told).then(|| FolderId {
            path: path.to_path_buf(),
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            mount: stat.stx_mnt_id,
        })
    }
}

/// The handle of a folder. Nobody reads entries by it: what is done begins with opening something
/// beneath it.
#[derive(Debug)]
pub(super) struct FolderHandle {
    handle: OwnedFd,
    id: Option<FolderId>,
}

impl FolderHandle {
    /// The folder that `path`, a real path, names now: opened anew, or the handle that somebody holds of
    /// the very same.
    pub(super) fn open(path: &Path) -> Result<Arc<FolderHandle>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        let Some(id) = FolderId::read(path, &handle) else {
            return Ok(Arc::new(FolderHandle { handle, id: None }));
        };
        let mut open = lock_open();
        if let Some(held) = open.get(&id).and_then(Weak::upgrade) {
            return Ok(held);
        }
        let made = Arc::new(FolderHandle { handle, id: Some(id.clone()) });
        open.insert(id, Arc::downgrade(&made));
        Ok(made)
    }
}

impl AsFd for FolderHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Drop for FolderHandle {
    fn drop(&mut self) {
        let Some(id) = &self.id else { return };
        let mut open = lock_open();
        // Somebody may have opened it anew just now.
        if open.get(id).is_some_and(|held| held.strong_count() == 0) {
            open.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Workspace, WorkspaceOptions};
    use super::*;

    fn open(root: &Path) -> Workspace {
        let (root, extra_roots, own_folders) = (root.to_path_buf(), Vec::new(), Vec::new());
        Workspace::open(WorkspaceOptions { root, extra_roots, own_folders }).expect("a workspace")
    }

    fn is_same(one: &Workspace, other: &Workspace) -> bool {
        Arc::ptr_eq(&one.anchors[0], &other.anchors[0])
    }

    #[test]
    fn q18_sessions_in_one_folder_hold_one_handle_of_it() {
        let top = tempfile::tempdir().expect("a folder");
        let (here, link) = (top.path().join("here"), top.path().join("link"));
        std::fs::create_dir(&here).expect("a folder");
        std::os::unix::fs::symlink(&here, &link).expect("a link");
        let (one, again, elsewhere) = (open(&here), open(&link), open(top.path()));
        assert!(is_same(&one, &again) && !is_same(&one, &elsewhere));
        assert!(Arc::ptr_eq(&one.top, &elsewhere.top));
        let id = one.anchors[0].id.clone().expect("the system says");
        drop(one);
        assert!(lock_open().contains_key(&id));
        drop(again);
        assert!(!lock_open().contains_key(&id));
    }

    #[test]
    fn z6_another_folder_of_the_same_name_is_another_one() {
        let top = tempfile::tempdir().expect("a folder");
        let (here, away) = (top.path().join("here"), top.path().join("away"));
        std::fs::create_dir(&here).expect("a folder");
        let before = open(&here);
        std::fs::rename(&here, &away).expect("moved");
        std::fs::create_dir(&here).expect("a folder");
        let after = open(&here);
        assert!(!is_same(&before, &after));
        // By another name it is not taken for it either, though it is the same folder.
        assert!(!is_same(&before, &open(&away)));
        std::fs::remove_dir(&away).expect("empty");
        std::fs::remove_dir(&here).expect("empty");
        std::fs::create_dir(&here).expect("a folder");
        let last = open(&here);
        assert!(!is_same(&before, &last) && !is_same(&after, &last));
    }
}
