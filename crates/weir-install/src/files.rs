//! Small files of the person's: read whole within a bound, replaced whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::failure::usage;

/// How often another program that holds a lock is waited for, and how long each time: longer than what
/// is done under one takes.
const LOCK_TRIES: u32 = 200;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// Puts `bytes` in the place of `path`: written beside it, synced, renamed. A file that exists
/// keeps its mode unless that is wider than `mode` says for a new one and `mode` is private.
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    // A link stays a link: people keep such files in another folder.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let doing = || format!("writing {}", path.display());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(doing)?;
    let private = mode & 0o077 == 0;
    let old = fs::metadata(&target).ok().filter(|_| !private).map(|found| found.mode() & 0o777);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&beside)
        .and_then(|mut file| {
            file.set_permissions(fs::Permissions::from_mode(old.unwrap_or(mode)))?;
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.with_context(doing)?;
    // The new name itself must survive a power cut too.
    fs::File::open(folder).and_then(|folder| folder.sync_all()).with_context(doing)
}

/// Makes `path` with `bytes` unless something is there; whether it was made. Of several that do it
/// at once exactly one makes it, and nobody sees half of it.
pub fn create_file_once(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<bool> {
    let doing = || format!("writing {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
    replace_file(&beside, bytes, mode)?;
    let linked = fs::hard_link(&beside, path);
    let _ = fs::remove_file(&beside);
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        linked => linked.map(|()| true).with_context(doing),
    }
}

/// Holds the lock file `path`, which is made where it is missing, until what is returned is dropped: two
/// programs that read a file, change it and write it must not lose what the other wrote.
///
/// # Errors
/// It cannot be made, or another program has held it for ten seconds.
pub(crate) fn hold_lock(path: &Path) -> anyhow::Result<File> {
    let doing = || format!("opening {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(doing)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).with_context(doing)?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_WAIT),
            Err(TryLockError::Error(error)) => return Err(error).with_context(doing),
        }
    }
    Err(usage(format!("{} is held by another program; end it and try again", path.display())))
}

/// The text of a file that a flag named.
///
/// # Errors
/// A usage error that names flag and file.
pub fn named_text(flag: &str, path: &Path) -> anyhow::Result<String> {
    const BYTES_MAX: u64 = 4 << 20;
    let wrong = |why: String| usage(format!("{flag} {}: {why}", path.display()));
    let found = fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !found.is_file() {
        return Err(wrong("is not a file".into()));
    }
    if found.len() > BYTES_MAX {
        return Err(wrong(format!("has {} bytes; at most {BYTES_MAX} are read", found.len())));
    }
    let bytes = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8".into()))
}
