//! The folder in which copies of a workspace lie, through handles that follow no link. A repository can
//! bring links under these names: nothing is written, read or taken away where they lead. Not here: what
//! the files mean, git.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The folders that lead to it, below the root of the workspace.
const PARTS: [&str; 2] = [".weir", "worktrees"];
/// Mode of a folder that is made.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o755);
/// Mode of a file that is made.
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
/// Longest small file, in bytes.
const SMALL_BYTES_MAX: u64 = 4_096;

const FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// The folder, open.
#[derive(Debug)]
pub(super) struct CopiesFolder {
    handle: OwnedFd,
}

impl CopiesFolder {
    /// The folder in `root`; none: there is none.
    ///
    /// # Errors
    /// A link or a file has its name, or that of the folder around it.
    pub(super) fn open_copies(root: &Path) -> io::Result<Option<CopiesFolder>> {
        let mut handle = open_root(root)?;
        for part in PARTS {
            handle = match rustix::fs::openat(&handle, part, FOLDER, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(named_error(part, error)),
            };
        }
        Ok(Some(CopiesFolder { handle }))
    }

    /// The same, made where there is none.
    ///
    /// # Errors
    /// As [`Self::open_copies`], or it cannot be made.
    pub(super) fn make_copies(root: &Path) -> io::Result<CopiesFolder> {
        let mut handle = open_root(root)?;
        for part in PARTS {
            match rustix::fs::mkdirat(&handle, part, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => (),
                Err(error) => return Err(named_error(part, error)),
            }
            handle = rustix::fs::openat(&handle, part, FOLDER, Mode::empty())
                .map_err(|error| named_error(part, error))?;
        }
        Ok(CopiesFolder { handle })
    }

    /// The names in it.
    pub(super) fn entry_names(&self) -> Vec<String> {
        let Ok(entries) = rustix::fs::Dir::read_from(&self.handle) else { return Vec::new() };
        let names =
            entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(Into::into));
        names.filter(|name: &String| name != "." && name != "..").collect()
    }

    /// What kind of thing has this name; none: nothing.
    pub(super) fn kind_of(&self, name: &str) -> Option<FileType> {
        let found = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    }

    /// When the file of this name was written last.
    pub(super) fn modified(&self, name: &str) -> Option<std::time::SystemTime> {
        open_plain(&self.handle, name).ok()?.metadata().ok()?.modified().ok()
    }

    /// The text of a small file.
    ///
    /// # Errors
    /// It is not there, or no plain file.
    pub(super) fn read_small(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        open_plain(&self.handle, name)?.take(SMALL_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes a small file, over a plain one of its name.
    ///
    /// # Errors
    /// Something else has its name, or it cannot be written.
    pub(super) fn write_small(&self, name: &str, text: &str) -> io::Result<()> {
        write_plain(&self.handle, name, text.as_bytes())
    }

    /// Takes a file or a link away, and never what a link leads to.
    ///
    /// # Errors
    /// It cannot be; that it is not there is none.
    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(named_error(name, error)),
        }
    }
}

/// Writes a file of this name into the folder at `path`, over a plain one and through no link.
///
/// # Errors
/// Something else has its name, or it cannot be written.
pub(super) fn write_into_folder(path: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    write_plain(&open_root(path)?, name, content)
}

/// Opens a plain file below the folder at `base`, through no link; none: nothing is there.
///
/// # Errors
/// Something else is there, or it cannot be opened.
pub(super) fn open_plain_below(base: &Path, path: &str) -> io::Result<Option<File>> {
    let mut handle = open_root(base)?;
    let parts: Vec<_> = Path::new(path).components().collect();
    let Some((last, parents)) = parts.split_last() else { return Err(Errno::INVAL.into()) };
    for part in parents {
        let Component::Normal(name) = part else { return Err(Errno::XDEV.into()) };
        handle = match rustix::fs::openat(&handle, *name, FOLDER, Mode::empty()) {
            Ok(next) => next,
            // A folder that became a file or a link: what was in it is gone.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    }
    let Component::Normal(name) = last else { return Err(Errno::XDEV.into()) };
    match open_plain(&handle, *name) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The folder that somebody chose: links to it are theirs.
fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn open_plain(folder: &OwnedFd, name: impl rustix::path::Arg + Copy) -> io::Result<File> {
    // What is there may be a pipe or a terminal: it must neither block nor be taken.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(no_plain_file()),
    }
}

fn write_plain(folder: &OwnedFd, name: &str, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    let opened = rustix::fs::openat(folder, name, flags, FILE_MODE);
    let mut file = File::from(opened.map_err(|error| named_error(name, error))?);
    if !file.metadata()?.is_file() {
        return Err(no_plain_file());
    }
    file.set_len(0)?;
    file.write_all(content)
}

fn no_plain_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")
}

/// An error that says what stands in the way.
fn named_error(name: &str, error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name} is a link, or not what belongs there; take it away first"),
        ),
        error => io::Error::new(io::Error::from(error).kind(), format!("{name}: {error}")),
    }
}
