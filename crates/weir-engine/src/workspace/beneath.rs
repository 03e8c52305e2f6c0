//! Directory handles: every file operation of the workspace ends in one of these functions.
//!
//! A path is opened beneath a handle, and no part of it may be a symbolic link: links were
//! resolved, and judged, before. So a link that is swapped in later makes the operation fail and
//! never leads it elsewhere. What may be touched at all is not decided here.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// How often a lookup that raced with a rename is tried again.
const LOOKUP_TRIES: usize = 16;
/// Bytes hashed or copied at a time.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// Most names that are read from one folder.
pub(super) const FOLDER_NAMES_MAX: usize = 1_000_000;
/// A folder of so many bytes has hundreds of names: to read them takes longer than to ask for some.
const LONG_FOLDER_BYTES: i64 = 8 << 10;
/// File systems that count a link of a folder for each folder in it: ext2 to ext4, and XFS.
const COUNT_FOLDERS: [u64; 2] = [0xef53, 0x5846_5342];

/// Opens `rel` beneath `base` without following any link.
pub(super) fn open_beneath(
    base: BorrowedFd<'_>,
    rel: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    for _ in 0..LOOKUP_TRIES {
        match rustix::fs::openat2(base, rel, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Old kernels do not know the call; some containers forbid it.
            Err(Errno::NOSYS | Errno::PERM) => return open_stepwise(base, rel, flags),
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// The same with one `openat` for each part, for machines without `openat2`.
pub(super) fn open_stepwise(
    base: BorrowedFd<'_>,
    rel: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::openat(base, ".", through, Mode::empty())?;
    let parts: Vec<&OsStr> = rel
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => Err(Errno::XDEV),
        })
        .collect::<Result<_, Errno>>()?;
    let Some((last, parents)) = parts.split_last() else {
        return rustix::fs::openat(&folder, ".", flags | OFlags::NOFOLLOW, Mode::empty());
    };
    for name in parents {
        folder = match rustix::fs::openat(&folder, *name, through, Mode::empty()) {
            // A link is no directory; say which of the two it was.
            Err(Errno::NOTDIR) if is_link(folder.as_fd(), name) => return Err(Errno::LOOP),
            next => next?,
        };
    }
    match rustix::fs::openat(&folder, *last, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOTDIR) if is_link(folder.as_fd(), last) => Err(Errno::LOOP),
        opened => opened,
    }
}

fn is_link(folder: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| kind_of(&stat) == FileType::Symlink)
}

/// Opens the folder that holds `rel`, for changes in it, and names the entry.
pub(super) fn open_parent(base: BorrowedFd<'_>, rel: &Path) -> Result<(OwnedFd, OsString), Errno> {
    let name = rel.file_name().ok_or(Errno::BUSY)?.to_os_string();
    let parent = rel.parent().unwrap_or(Path::new(""));
    Ok((open_folder(base, parent)?, name))
}

/// Opens a folder for reading its entries.
pub(super) fn open_folder(base: BorrowedFd<'_>, rel: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(base, rel, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Looks at `rel` without opening it: devices notice nothing, links are not followed.
pub(super) fn probe_path(base: BorrowedFd<'_>, rel: &Path) -> Result<(OwnedFd, Stat), Errno> {
    let handle = open_beneath(base, rel, OFlags::PATH | OFlags::NOFOLLOW)?;
    let stat = rustix::fs::fstat(&handle)?;
    Ok((handle, stat))
}

/// Opens a regular file for reading; anything else is `Err(Ok(its kind))`.
pub(super) fn open_regular(
    base: BorrowedFd<'_>,
    rel: &Path,
) -> Result<(std::fs::File, Stat), Result<FileType, Errno>> {
    let (_, looked) = probe_path(base, rel).map_err(Err)?;
    if kind_of(&looked) != FileType::RegularFile {
        return Err(Ok(kind_of(&looked)));
    }
    open_looked_at(base, rel)
}

/// The same of an entry of an open folder, by its own name.
pub(super) fn open_regular_entry(
    folder: BorrowedFd<'_>,
    name: &OsStr,
) -> Result<(std::fs::File, Stat), Result<FileType, Errno>> {
    let looked = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(Err)?;
    if kind_of(&looked) != FileType::RegularFile {
        return Err(Ok(kind_of(&looked)));
    }
    open_looked_at(folder, Path::new(name))
}

/// Opens what was a regular file a moment ago.
fn open_looked_at(
    base: BorrowedFd<'_>,
    rel: &Path,
) -> Result<(std::fs::File, Stat), Result<FileType, Errno>> {
    // What was put there since may be a pipe or a terminal: it must neither block nor be taken.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let handle = open_beneath(base, rel, flags).map_err(Err)?;
    let stat = rustix::fs::fstat(&handle).map_err(Err)?;
    match kind_of(&stat) {
        FileType::RegularFile => Ok((std::fs::File::from(handle), stat)),
        other => Err(Ok(other)),
    }
}

/// What a link says.
pub(super) fn read_link(link: BorrowedFd<'_>) -> Result<String, Errno> {
    let target = rustix::fs::readlinkat(link, "", Vec::new())?;
    Ok(target.to_string_lossy().into_owned())
}

/// Kind of file.
pub(super) fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Permission bits.
pub(super) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

/// Size in bytes.
pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Hashes in pieces: bytes read and the lower-case hex of their SHA-256.
pub(super) fn hash(file: &mut std::fs::File) -> std::io::Result<(u64, String)> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0_u8; PIECE_BYTES];
    let mut total = 0_u64;
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => {
                hasher.update(&piece[..n]);
                total += n as u64;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let hex = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((total, hex))
}

/// Names in a folder with what the folder says they are, sorted by their bytes; and whether there
/// were more than the bound.
pub(super) fn folder_names(
    folder: BorrowedFd<'_>,
) -> Result<(Vec<(OsString, FileType)>, bool), Errno> {
    names_up_to(folder, FOLDER_NAMES_MAX)
}

/// All of them, however many.
pub(super) fn all_names(folder: BorrowedFd<'_>) -> Result<Vec<(OsString, FileType)>, Errno> {
    names_up_to(folder, usize::MAX).map(|(names, _)| names)
}

/// Opens the folder at `path`, no link, to read the names in it.
pub(super) fn open_to_read(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Calls `each` with every name in a folder, and whether that is a folder.
pub(super) fn for_each_name(
    folder: BorrowedFd<'_>,
    mut each: impl FnMut(&OsStr, bool),
) -> Result<(), Errno> {
    read_names(folder, |name, said| {
        each(name, kind_of_entry(folder, name, said) == FileType::Directory);
        ControlFlow::Continue(())
    })
}

/// Whether a folder has many names and its file system says that none of them is a folder. `false` where it does
/// not count them: those that join others, of the network, or that are not known.
pub(super) fn is_long_without_folders(folder: BorrowedFd<'_>) -> bool {
    // Its own name and `.` in it are links too.
    let is_without = |stat: Stat| stat.st_size >= LONG_FOLDER_BYTES && stat.st_nlink == 2;
    rustix::fs::fstat(folder).is_ok_and(is_without)
        && rustix::fs::fstatfs(folder).is_ok_and(|system| {
            u64::try_from(system.f_type).is_ok_and(|kind| COUNT_FOLDERS.contains(&kind))
        })
}

/// Whether something in a folder may have this name: only where the system says so there is nothing.
pub(super) fn may_have_name(folder: BorrowedFd<'_>, name: &str) -> bool {
    !matches!(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
}

/// What an entry of a folder is, of which the folder says this: some file systems do not say the kind
/// with the name. [`FileType::Unknown`] only where nothing can be seen there.
pub(super) fn kind_of_entry(folder: BorrowedFd<'_>, name: &OsStr, said: FileType) -> FileType {
    match said {
        FileType::Unknown => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| kind_of(&stat)),
        said => said,
    }
}

/// Calls `each` with the names in a folder, as it gives them, and what it says they are.
fn read_names(
    folder: BorrowedFd<'_>,
    mut each: impl FnMut(&OsStr, FileType) -> ControlFlow<()>,
) -> Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if each(OsStr::from_bytes(name), entry.file_type()).is_break() {
            break;
        }
    }
    Ok(())
}

fn names_up_to(
    folder: BorrowedFd<'_>,
    max: usize,
) -> Result<(Vec<(OsString, FileType)>, bool), Errno> {
    let mut names = Vec::new();
    let mut more = false;
    read_names(folder, |name, said| {
        if names.len() >= max {
            more = true;
            return ControlFlow::Break(());
        }
        names.push((name.to_owned(), said));
        ControlFlow::Continue(())
    })?;
    names.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
    Ok((names, more))
}

/// Parts of a path that must all be plain names.
pub(super) fn plain_parts(path: &str) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z6_both_ways_to_open_agree() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/file"), "text").unwrap();
        std::fs::write(at("outside"), "text").unwrap();
        std::os::unix::fs::symlink("b", at("a/link")).unwrap();
        std::os::unix::fs::symlink("../outside", at("a/out")).unwrap();
        let base = std::fs::File::open(at("a")).unwrap();
        let read = OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = read | OFlags::DIRECTORY;
        let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let cases = [
            ("b/file", read, Ok(())),
            ("b", folder, Ok(())),
            (".", folder, Ok(())),
            ("b/file", folder, Err(Errno::NOTDIR)),
            ("b/file/x", read, Err(Errno::NOTDIR)),
            ("b/none", read, Err(Errno::NOENT)),
            ("link/file", read, Err(Errno::LOOP)),
            ("link", folder, Err(Errno::LOOP)),
            ("out", read, Err(Errno::LOOP)),
            ("out", look, Ok(())),
            ("../outside", read, Err(Errno::XDEV)),
            ("/etc/hosts", read, Err(Errno::XDEV)),
        ];
        for (path, flags, expected) in cases {
            let path = Path::new(path);
            let done = |opened: Result<OwnedFd, Errno>| opened.map(|_| ());
            assert_eq!(done(open_beneath(base.as_fd(), path, flags)), expected, "{path:?}");
            assert_eq!(done(open_stepwise(base.as_fd(), path, flags)), expected, "{path:?}");
        }
    }
}
