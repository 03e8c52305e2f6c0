//! Small files of the person's: read whole within a bound, replaced whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;

use crate::failure::usage;

/// How often another program that holds a lock is waited for, and how long each time: longer than what
/// is done under one takes.
const LOCK_TRIES: u32 = 200;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// How many names are tried for what is written beside a file. Of each program that was killed while it wrote, at
/// most one is taken.
const NAMES_MAX: u32 = 1_000;
/// What this program has written beside files, so that no two have one name.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

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
    let (beside, mut file) = create_beside(folder, &name, mode).with_context(doing)?;
    let written = file
        .set_permissions(fs::Permissions::from_mode(old.unwrap_or(mode)))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.with_context(doing)?;
    // The new name itself must survive a power cut too.
    fs::File::open(folder).and_then(|folder| folder.sync_all()).with_context(doing)
}

/// A new file in `folder` for what will be named `name`. One that was left by a program that was killed stays: in
/// a container every program may have the same number, and another one may be at work in the same folder.
fn create_beside(folder: &Path, name: &str, mode: u32) -> std::io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    for _ in 0..NAMES_MAX {
        let beside = folder.join(name_beside(name, "tmp"));
        match options.open(&beside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => (),
            opened => return opened.map(|file| (beside, file)),
        }
    }
    Err(Error::new(
        ErrorKind::AlreadyExists,
        format!("{NAMES_MAX} files .{name}.*.tmp lie there; remove them"),
    ))
}

fn name_beside(name: &str, ending: &str) -> String {
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    format!(".{name}.{}-{number}.{ending}", std::process::id())
}

/// Makes `path` with `bytes` unless something is there; whether it was made. Of several that do it
/// at once exactly one makes it, and nobody sees half of it.
pub fn create_file_once(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<bool> {
    let doing = || format!("writing {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(name_beside(&name, "new"));
    replace_file(&beside, bytes, mode)?;
    let linked = fs::hard_link(&beside, path);
    let _ = fs::remove_file(&beside);
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        linked => linked.map(|()| true).with_context(doing),
    }
}

/// Holds the lock file `path`, which is made where it is missing, until what is returned is dropped: two
/// programs that read a file, change it and write it must not lose what the other wrote.
///
/// # Errors
/// It cannot be made or locked, or another program has held it for ten seconds: what to do.
pub(crate) fn hold_lock(path: &Path) -> anyhow::Result<File> {
    let shown = path.display();
    let doing = || format!("opening {shown}");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(doing)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(|error| match error.kind() {
        // A command that was run with `sudo` makes it, and nobody else may open it then.
        ErrorKind::PermissionDenied if path.exists() => {
            usage(format!("{shown} belongs to another user ({error}); remove it and try again"))
        }
        _ => anyhow::Error::new(error).context(doing()),
    })?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_WAIT),
            Err(TryLockError::Error(error)) => {
                return Err(usage(format!(
                    "{shown} cannot be locked ({error}), and two programs at once could lose what one \
                     of them writes. Nothing was changed; keep this folder on a file system with locks"
                )));
            }
        }
    }
    Err(usage(format!("{shown} is held by another program; end it and try again")))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let found = fs::read_dir(folder).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("readable").file_name().to_string_lossy().into_owned()
        };
        found.map(name).collect()
    }

    /// In a container the next program has the number of the one that was killed.
    #[test]
    fn c8_what_a_killed_program_left_beside_a_file_keeps_nobody_from_writing_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let next = WRITTEN.load(Ordering::Relaxed);
        let left = |number: u32| format!(".config.toml.{}-{number}.tmp", std::process::id());
        for number in next..next + 30 {
            fs::write(folder.path().join(left(number)), "half").expect("writable");
        }
        for text in ["one", "two"] {
            replace_file(&path, text.as_bytes(), 0o644).expect("it is written");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        let names = names_in(folder.path());
        assert_eq!(names.len(), 31, "what others may be writing stays: {names:?}");
    }

    #[test]
    fn c8_of_threads_that_write_one_file_each_writes_all_of_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = ["a", "once"].map(|name| folder.path().join(name));
        let [path, once] = paths.each_ref().map(PathBuf::as_path);
        let made = std::thread::scope(|scope| {
            let write = |letter: &'static str| {
                scope.spawn(move || {
                    let text = letter.repeat(10_000);
                    for _ in 0..10 {
                        replace_file(path, text.as_bytes(), 0o600).expect("it is written");
                    }
                    create_file_once(once, text.as_bytes(), 0o600).expect("one of them makes it")
                })
            };
            let writers: Vec<_> = ["a", "b", "c"].into_iter().map(write).collect();
            let made = writers.into_iter().map(|writer| writer.join().expect("no panic"));
            made.filter(|made| *made).count()
        });
        assert_eq!(made, 1);
        for path in [path, once] {
            let text = fs::read_to_string(path).expect("it is there");
            assert!(["a", "b", "c"].iter().any(|letter| text == letter.repeat(10_000)), "{text}");
        }
        assert_eq!(names_in(folder.path()).len(), 2, "nothing is left beside them");
    }

    #[test]
    fn c8_a_lock_that_cannot_be_had_says_what_to_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.lock");
        // What a killed program left: the file is there, and nobody holds it.
        fs::write(&path, "").expect("writable");
        drop(hold_lock(&path).expect("nobody holds it"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("it is ours");
        match hold_lock(&path) {
            // To root every file is open.
            Ok(_) => assert!(OpenOptions::new().write(true).open(&path).is_ok()),
            Err(why) => assert!(why.to_string().contains("remove it and try again"), "{why}"),
        }
    }
}
