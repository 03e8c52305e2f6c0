//! The files of a foreign database as they are at one moment: where it stands if all of it is in
//! one file, else a copy with what was not yet written into it, for SQLite reads that only where it
//! may write. Not here: what stands in it.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::OpenFlags;
use weir_engine::regular_file::open_regular_file;

use super::ForeignDatabaseError;

/// Largest database that is read, with what stands beside it.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 30;
/// What SQLite keeps beside a database that is worked in: a write-ahead log, or a journal to take
/// back what was half done.
const BESIDE: [&str; 2] = ["-wal", "-journal"];
/// The beginning of such a file: it is another one for each time that it is begun anew.
const HEAD_BYTES: u64 = 32;
/// How often a copy is tried while somebody writes.
const ATTEMPTS: usize = 3;
const COPY_NAME: &str = "copy.db";
/// The last bytes of a journal at whose end stands the name of a file that all databases of one transaction share.
/// SQLite removes the file of that name once it has taken the transaction back, wherever it is.
const NAMES_FILE: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The files of a database, to be read by SQLite.
pub(super) enum DatabaseSnapshot {
    /// Where it stands, as it was then.
    Original(PathBuf, FileStamp),
    /// A copy, which nobody else changes.
    Copy(ScratchFolder),
}

/// By what it is told that a file was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    fn of_file(found: &Metadata) -> FileStamp {
        FileStamp { bytes: found.len(), modified: found.modified().ok() }
    }
}

/// A file beside the database.
#[derive(Debug)]
struct BesideFile {
    ending: &'static str,
    bytes: u64,
    head: Vec<u8>,
}

/// The state of a database with what stands beside it.
#[derive(Debug)]
struct DatabaseState {
    stamp: FileStamp,
    beside: Vec<BesideFile>,
}

impl DatabaseState {
    fn look_at(file: &Path) -> Result<DatabaseState, ForeignDatabaseError> {
        let found = open_regular_file(file)
            .and_then(|file| file.metadata())
            .map_err(|error| unreadable(&error))?;
        let mut state = DatabaseState { stamp: FileStamp::of_file(&found), beside: Vec::new() };
        for ending in BESIDE {
            if let Some(beside) = look_beside(&path_beside(file, ending), ending)? {
                state.beside.push(beside);
            }
        }
        let beside = state.beside.iter().map(|file| file.bytes);
        let bytes = beside.fold(state.stamp.bytes, u64::saturating_add);
        match bytes > FILE_BYTES_MAX {
            true => Err(ForeignDatabaseError::TooLarge { bytes, max: FILE_BYTES_MAX }),
            false => Ok(state),
        }
    }

    /// Whether a copy that was begun in this state and ended in the other is one state: a log may
    /// have grown, for what is behind its last whole entry does not count.
    fn goes_on_as(&self, later: &DatabaseState) -> bool {
        let heads = |state: &DatabaseState| -> Vec<(&'static str, Vec<u8>)> {
            state.beside.iter().map(|file| (file.ending, file.head.clone())).collect()
        };
        self.stamp == later.stamp && heads(self) == heads(later)
    }
}

/// The file of this path, if it is there and has anything in it. A link beside a database is none
/// of SQLite's.
fn look_beside(
    path: &Path,
    ending: &'static str,
) -> Result<Option<BesideFile>, ForeignDatabaseError> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !found.is_file() {
        return Err(ForeignDatabaseError::Unreadable(format!(
            "what stands beside it with {ending} at its end is no file"
        )));
    }
    if found.len() == 0 {
        return Ok(None);
    }
    let mut head = Vec::new();
    match open_regular_file(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)) {
        Ok(_) => Ok(Some(BesideFile { ending, bytes: found.len(), head })),
        // It went between two looks, as it does when its program ends.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&error)),
    }
}

fn path_beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn unreadable(error: &io::Error) -> ForeignDatabaseError {
    ForeignDatabaseError::Unreadable(error.to_string())
}

impl DatabaseSnapshot {
    pub(super) fn take_files(file: &Path) -> Result<DatabaseSnapshot, ForeignDatabaseError> {
        for _ in 0..ATTEMPTS {
            let state = DatabaseState::look_at(file)?;
            if state.beside.is_empty() {
                return Ok(DatabaseSnapshot::Original(file.to_path_buf(), state.stamp));
            }
            let copy = ScratchFolder::make_folder()?;
            let is_whole = copy_files(file, &state, &copy.path)?;
            if is_whole && state.goes_on_as(&DatabaseState::look_at(file)?) {
                if names_other_file(&copy.path).map_err(|error| unreadable(&error))? {
                    return Err(ForeignDatabaseError::Unreadable(
                        "it was left in the middle of a change to several databases; open it with its \
                         own program, then import again"
                            .to_owned(),
                    ));
                }
                return Ok(DatabaseSnapshot::Copy(copy));
            }
        }
        Err(ForeignDatabaseError::Changing)
    }

    /// The database as an address: as one that never changes it is read without locks and without
    /// any file beside it.
    pub(super) fn to_address(&self) -> String {
        match self {
            DatabaseSnapshot::Original(file, _) => address_of(file) + "?immutable=1",
            DatabaseSnapshot::Copy(folder) => address_of(&folder.path.join(COPY_NAME)),
        }
    }

    pub(super) fn open_flags(&self) -> OpenFlags {
        let access = match self {
            DatabaseSnapshot::Original(..) => OpenFlags::SQLITE_OPEN_READ_ONLY,
            // What is half done is taken back there.
            DatabaseSnapshot::Copy(_) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        access | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX
    }

    pub(super) fn check_unchanged(&self) -> Result<(), ForeignDatabaseError> {
        let DatabaseSnapshot::Original(file, stamp) = self else { return Ok(()) };
        let found = std::fs::metadata(file).map_err(|error| unreadable(&error))?;
        match FileStamp::of_file(&found) == *stamp {
            true => Ok(()),
            false => Err(ForeignDatabaseError::Changing),
        }
    }
}

/// A path as an address of SQLite, in which nothing but the path has a meaning.
fn address_of(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address
}

/// Copies the database and what stands beside it; false where a file went meanwhile.
fn copy_files(
    file: &Path,
    state: &DatabaseState,
    folder: &Path,
) -> Result<bool, ForeignDatabaseError> {
    let beside = state.beside.iter().map(|beside| beside.ending);
    for ending in std::iter::once("").chain(beside) {
        let to = folder.join(format!("{COPY_NAME}{ending}"));
        match copy_file(&path_beside(file, ending), &to) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => {
                return Err(ForeignDatabaseError::Unreadable(format!(
                    "it cannot be copied to a temporary folder ({error}); set TMPDIR to one with \
                     room"
                )));
            }
        }
    }
    Ok(true)
}

/// Copies a file for the owner alone, and no more of it than is read.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = open_regular_file(from)?.take(FILE_BYTES_MAX);
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from, &mut to).map(drop)
}

/// Whether to open the copy in `folder` would remove a file that its journal names.
fn names_other_file(folder: &Path) -> io::Result<bool> {
    let mut journal = match File::open(folder.join(format!("{COPY_NAME}-journal"))) {
        Ok(journal) => journal,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let Some(end) = journal.metadata()?.len().checked_sub(NAMES_FILE.len() as u64) else {
        return Ok(false);
    };
    let (mut first, mut last) = ([0; 1], [0; NAMES_FILE.len()]);
    journal.read_exact(&mut first)?;
    journal.seek(SeekFrom::Start(end))?;
    journal.read_exact(&mut last)?;
    // One that begins with nothing is left over from what was done, and is not looked into.
    Ok(first != [0] && last == NAMES_FILE)
}

/// A folder for the owner alone that goes with this value.
pub(super) struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    fn make_folder() -> Result<ScratchFolder, ForeignDatabaseError> {
        let name = format!("weir-import-{}", uuid::Uuid::now_v7().simple());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            ForeignDatabaseError::Unreadable(format!(
                "no temporary folder can be made for a copy of it ({error}); set TMPDIR to one \
                 with room"
            ))
        })?;
        Ok(ScratchFolder { path })
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // What cannot be removed here is in the folder of temporary files, for the owner alone.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_a_path_is_nothing_but_a_path_to_sqlite() {
        for (path, address) in [
            ("/home/a/x.db", "file:/home/a/x.db"),
            ("/a b/%41?mode=rwc#x", "file:/a%20b/%2541%3Fmode%3Drwc%23x"),
            ("/ä", "file:/%C3%A4"),
        ] {
            assert_eq!(address_of(Path::new(path)), address);
        }
    }

    #[test]
    fn r8_a_copy_of_what_was_begun_anew_meanwhile_is_not_taken() {
        let stamp = FileStamp { bytes: 1, modified: None };
        let state = |head: &[u8], bytes| DatabaseState {
            stamp,
            beside: vec![BesideFile { ending: "-wal", bytes, head: head.to_vec() }],
        };
        assert!(state(b"a", 1).goes_on_as(&state(b"a", 9)), "a log that grows");
        assert!(!state(b"a", 1).goes_on_as(&state(b"b", 1)), "another log");
        assert!(!state(b"a", 1).goes_on_as(&DatabaseState { stamp, beside: Vec::new() }));
        let mut written = state(b"a", 1);
        written.stamp.bytes = 2;
        assert!(!state(b"a", 1).goes_on_as(&written), "written to");
    }
}
