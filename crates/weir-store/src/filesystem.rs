//! Where the state lies: network file systems need care (D1), folders and files are private (C5), and
//! copies of a person's files leave the journal room (G7).

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::StatVfs;
use rustix::io::Errno;
use weir_engine::ports::{NO_SPACE, StoreError};

/// Bytes of a disk that copies of a person's files leave to the journal: they may have any size, and
/// a journal that cannot be written ends the run in place of telling why one call was refused (G7).
const JOURNAL_ROOM: u64 = 512 << 10;

/// File systems on which locks or shared memory between machines cannot be relied on, by the magic
/// number that `statfs` gives.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x564c, "NCP"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
    (0x6573_5546, "FUSE"),
];

/// Says so when `path` lies on a file system where SQLite's fast journal is not safe. The store
/// then uses a slower, safe one.
pub fn filesystem_warning(path: &Path) -> Option<String> {
    let name = network_file_system(path)?;
    Some(format!(
        "{} lies on a network file system ({name}): Weir uses a slower, safe journal there, and \
         only one machine may use it at a time. Set WEIR_STATE_DIR to a local folder.",
        path.display()
    ))
}

/// Name of the network file system on which `path` lies.
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    let magic = u64::try_from(rustix::fs::statfs(path).ok()?.f_type).ok()? & 0xffff_ffff;
    name_of(magic)
}

fn name_of(magic: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

/// Makes `path` and what is missing above it, for the owner alone.
pub(crate) fn private_folder(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|e| io_error(format!("making the folder {}", path.display()), &e))
}

/// Makes an empty file for the owner alone, unless there is one.
pub(crate) fn private_file(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(io_error(format!("making {}", path.display()), &e)),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

/// Whether so many bytes more leave the journal room at `place`. Where a file system does not say what
/// is free, it refuses by itself.
pub(crate) fn has_room(place: &Path, bytes: u64) -> bool {
    rustix::fs::statvfs(place).map_or(true, |found| leaves_room(&found, bytes))
}

/// The same where an open file lies, as the disk's own refusal.
pub(crate) fn ensure_room(file: &fs::File, bytes: u64) -> io::Result<()> {
    let found = rustix::fs::fstatvfs(file);
    let enough = found.map_or(true, |found| leaves_room(&found, bytes));
    if enough { Ok(()) } else { Err(Errno::NOSPC.into()) }
}

fn leaves_room(found: &StatVfs, bytes: u64) -> bool {
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    found.f_blocks == 0 || free >= bytes.saturating_add(JOURNAL_ROOM)
}

/// An operating system's refusal in the store's words.
pub(crate) fn io_error(doing: impl Into<String>, error: &io::Error) -> StoreError {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => format!(" ({NO_SPACE})"),
        io::ErrorKind::PermissionDenied => " (check owner and permissions)".to_string(),
        io::ErrorKind::ReadOnlyFilesystem => " (the disk is read-only)".to_string(),
        _ => String::new(),
    };
    StoreError::Io { doing: doing.into(), why: format!("{error}{advice}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_copies_leave_the_journal_room() {
        let mut found = rustix::fs::statvfs("/").expect("there is a root");
        (found.f_blocks, found.f_bavail, found.f_frsize) = (1000, 600, 4096);
        let free = 600 * 4096;
        assert!(leaves_room(&found, free - JOURNAL_ROOM));
        assert!(!leaves_room(&found, free - JOURNAL_ROOM + 1));
        assert!(!leaves_room(&found, u64::MAX));
        found.f_blocks = 0;
        assert!(leaves_room(&found, u64::MAX), "it does not say what it has");
    }

    #[test]
    fn d1_network_file_systems_are_known_by_their_number() {
        assert_eq!(name_of(0x6969), Some("NFS"));
        assert_eq!(name_of(0xff53_4d42), Some("CIFS"));
        assert_eq!(name_of(0xef53), None, "ext4 is local");
        assert_eq!(filesystem_warning(Path::new("/proc")), None);
    }
}
