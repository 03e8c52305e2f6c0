//! Protected paths that do not exist yet, and must not come to exist.
//!
//! A mount needs something to lie on. So an empty folder is put there while a command runs, and taken
//! away again. Files are not held: whoever asks for them compares. Commands that run at the same time share it: each holds a lock, and only
//! who can have the lock alone takes it away. After a power cut it stays until the next command in
//! that place has ended. Not here: the mount.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use weir_core::record::sha256_hex;

/// The protected names whose place is held. All are folders: an empty one means nothing to git, where
/// an empty file would be committed and served (D1).
const FOLDERS: [&str; 7] = [".git", ".weir", "hooks", "info", "modules", ".github", ".vscode"];

/// In the lock: this path was made by a command's supervisor.
const MADE: &[u8] = b"made";

/// A missing path that is held. Given back when dropped.
pub(super) struct Placeholder {
    path: PathBuf,
    lock: File,
}

impl Placeholder {
    /// Makes sure that there is something at `path`, whose folder exists. Locks are kept in `folder`.
    ///
    /// # Errors
    /// When nothing can be put there.
    pub(super) fn hold(path: &Path, folder: &Path) -> io::Result<Placeholder> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let name = sha256_hex(path.as_os_str().as_bytes());
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join(name))?;
        // Waits only while another supervisor takes the same one away.
        flock(&lock, FlockOperation::LockShared)?;
        let missing = path.symlink_metadata().is_err();
        if missing {
            lock.write_all(MADE)?;
            DirBuilder::new().recursive(true).create(path)?;
        }
        Ok(Placeholder { path: path.to_path_buf(), lock })
    }

    /// Nobody else needs it, it is ours, and nothing was put into it.
    fn give_back(&mut self) -> io::Result<()> {
        if flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        let mut made = Vec::new();
        self.lock.seek(SeekFrom::Start(0))?;
        Read::by_ref(&mut self.lock).take(16).read_to_end(&mut made)?;
        if made != MADE {
            return Ok(());
        }
        let meta = self.path.symlink_metadata()?;
        if meta.is_dir() {
            fs::remove_dir(&self.path)?;
        }
        self.lock.set_len(0)
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // What cannot be taken away is empty, and the next command tries again.
        let _ = self.give_back();
    }
}

/// Whether something may be put at `path` while it is missing.
pub(super) fn can_be_held(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| FOLDERS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_a_placeholder_stays_while_anybody_needs_it_and_goes_then() {
        let home = tempfile::tempdir().expect("a folder");
        let (path, locks) = (home.path().join(".weir"), home.path().join("locks"));
        let first = Placeholder::hold(&path, &locks).expect("it can be made");
        let second = Placeholder::hold(&path, &locks).expect("it is there");
        drop(first);
        assert!(path.is_dir(), "the second needs it");
        drop(second);
        assert!(!path.exists());
        let third = Placeholder::hold(&path, &locks).expect("it can be made");
        fs::write(path.join("settings"), "a person's").expect("a file");
        drop(third);
        assert!(path.join("settings").exists());
        let fourth = Placeholder::hold(&path, &locks).expect("it is there");
        drop(fourth);
        assert!(path.join("settings").exists());
    }

    #[test]
    fn z4_what_was_there_before_is_never_taken_away() {
        let home = tempfile::tempdir().expect("a folder");
        let (path, locks) = (home.path().join(".weir"), home.path().join("locks"));
        fs::create_dir(&path).expect("a folder");
        drop(Placeholder::hold(&path, &locks).expect("it is there"));
        assert!(path.is_dir());
    }
}
