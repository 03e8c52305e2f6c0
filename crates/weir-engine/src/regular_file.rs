//! Files that the engine reads beside the tools: lists, instructions, what git keeps. A pipe, a device or
//! a socket in the place of one is an error at once, never waited for, and no more is read than a caller
//! bounds. Not here: whether a path may be read at all, which is for `workspace` to judge.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading, at the end of a link too. Blocks no longer than the disk does.
///
/// # Errors
/// There is none, it cannot be opened, or it is something else than a file.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let no_file = || io::Error::other("it is not a file");
    // Not even opened: a device would notice.
    if !std::fs::metadata(path)?.is_file() {
        return Err(no_file());
    }
    // What was put there since may be a pipe or a terminal: it must neither block nor be taken.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(no_file()),
    }
}

/// The bytes of a regular file of at most `bytes_max`.
///
/// # Errors
/// As [`open_regular_file`]; it is larger, or cannot be read.
pub fn read_regular_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular_file(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(io::Error::other(format!("it has more than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

/// A pipe that nobody writes to: whoever opened it as a file would wait for ever.
#[cfg(test)]
pub(crate) fn make_pipe(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn g6_only_a_file_is_read_and_nothing_else_is_waited_for() {
        let top = tempfile::tempdir().expect("a folder");
        let at = |name: &str| top.path().join(name);
        std::fs::write(at("file"), "text").expect("a file");
        std::os::unix::fs::symlink(at("file"), at("link")).expect("a link");
        make_pipe(&at("pipe"));
        let _socket = UnixListener::bind(at("socket")).expect("a socket");
        for (name, found) in [("file", true), ("link", true), ("pipe", false), ("socket", false)] {
            let read = read_regular_file(&at(name), 4).ok();
            assert_eq!(read.as_deref(), found.then_some(&b"text"[..]), "{name}");
        }
        for other in [at("none"), at("."), "/dev/zero".into()] {
            assert!(read_regular_file(&other, 4).is_err(), "{}", other.display());
        }
        let why = read_regular_file(&at("file"), 3).expect_err("it is larger");
        assert_eq!(why.to_string(), "it has more than 3 bytes");
    }
}
