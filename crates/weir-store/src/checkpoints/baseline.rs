//! Files as they were before a command, on disk: one folder per session beside the shadow
//! repository, with a file of notes and a file of contents. Not the repository: what a command did
//! not touch never enters that, and goes with the session.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use weir_core::ids::SessionId;
use weir_engine::ports::{Baseline, ContentLocation, StoreError};

use super::names::ref_name;
use crate::filesystem::{ensure_room, io_error, private_folder, sync_folder};

const DOING: &str = "keeping files as they are before a command";
/// Bytes that are gathered before they are written.
const GATHERED_MAX: usize = 1 << 20;
/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;
/// What a killed process left is kept so long, for its session to be taken up again.
const LEFT_BEHIND: Duration = Duration::from_secs(14 * 24 * 3600);

/// A baseline of this process. Its notes are locked as long as it lives.
pub(super) struct DiskBaseline {
    folder: PathBuf,
    notes: AppendOnlyFile,
    contents: AppendOnlyFile,
    /// Its names are not durable yet.
    fresh: bool,
}

/// A file that only grows.
struct AppendOnlyFile {
    file: File,
    /// Bytes in the file.
    end: u64,
    /// What comes after them.
    gathered: Vec<u8>,
    synced: bool,
}

impl DiskBaseline {
    /// The baseline of `session` beside `repository`, made where there is none.
    pub(super) fn open(repository: &Path, session: &SessionId) -> Result<DiskBaseline, StoreError> {
        let folder = folder_of(repository, session);
        let fresh = !folder.is_dir();
        if fresh {
            sweep_baselines(repository, LEFT_BEHIND);
        }
        private_folder(&folder)?;
        let open =
            |name: &str| open_append_file(&folder.join(name)).map_err(|e| io_error(DOING, &e));
        let notes = open("notes")?;
        let lock = FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&notes, lock).map_err(|_| StoreError::Io {
            doing: DOING.to_string(),
            why: format!("another process works in {}", folder.display()),
        })?;
        let contents = open("contents")?;
        let appended = |file| AppendOnlyFile::new(file).map_err(|e| io_error(DOING, &e));
        let (notes, contents) = (appended(notes)?, appended(contents)?);
        Ok(DiskBaseline { folder, notes, contents, fresh })
    }
}

impl Drop for DiskBaseline {
    fn drop(&mut self) {
        // By itself the lock would last until the last copy of the file is closed, and every program
        // that is just being started elsewhere in this process has one until it has begun. Where it
        // cannot be given back it ends with the file.
        let _ = rustix::fs::flock(&self.notes.file, FlockOperation::Unlock);
    }
}

fn folder_of(repository: &Path, session: &SessionId) -> PathBuf {
    repository.join("baseline").join(ref_name(session.as_str()))
}

fn open_append_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Removes the baseline of a session that nobody runs any more.
pub(super) fn remove_baseline(repository: &Path, session: &SessionId) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder_of(repository, session)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error(DOING, &e)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes what killed processes left and nobody touched for `age`. What cannot be removed is
/// found again next time.
pub(super) fn sweep_baselines(repository: &Path, age: Duration) {
    let Ok(entries) = fs::read_dir(repository.join("baseline")) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let Ok(notes) = File::open(folder.join("notes")) else { continue };
        let changed = notes.metadata().and_then(|found| found.modified());
        let young = changed.is_ok_and(|at| at.elapsed().unwrap_or_default() < age);
        let lock = FlockOperation::NonBlockingLockExclusive;
        if !young && rustix::fs::flock(&notes, lock).is_ok() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

impl AppendOnlyFile {
    fn new(mut file: File) -> io::Result<AppendOnlyFile> {
        let end = file.seek(SeekFrom::End(0))?;
        Ok(AppendOnlyFile { file, end, gathered: Vec::new(), synced: true })
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= GATHERED_MAX { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        ensure_room(&self.file, self.gathered.len() as u64)?;
        self.synced = false;
        // At its place, whatever a failed write left behind it.
        self.file.write_all_at(&self.gathered, self.end)?;
        self.end += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        if !self.synced {
            self.file.sync_data()?;
            self.synced = true;
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.end + self.gathered.len() as u64
    }

    fn clear(&mut self) -> io::Result<()> {
        self.gathered.clear();
        self.end = 0;
        self.synced = false;
        self.file.set_len(0)
    }
}

impl Baseline for DiskBaseline {
    fn read_notes(&mut self) -> Result<Vec<String>, StoreError> {
        let mut read = || -> io::Result<Vec<String>> {
            self.notes.flush()?;
            let mut bytes = Vec::new();
            self.notes.file.rewind()?;
            self.notes.file.read_to_end(&mut bytes)?;
            // A line without its end was being written when the process was killed: what comes
            // next takes its place.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.notes.end = whole as u64;
            let text = String::from_utf8_lossy(&bytes[..whole]);
            Ok(text.lines().map(String::from).collect())
        };
        read().map_err(|e| io_error(DOING, &e))
    }

    fn append_note(&mut self, line: &str) -> Result<(), StoreError> {
        let mut add = || {
            self.notes.append_bytes(line.as_bytes()).and_then(|()| self.notes.append_bytes(b"\n"))
        };
        add().map_err(|e| io_error(DOING, &e))
    }

    fn add_content(&mut self, content: &mut dyn Read) -> Result<ContentLocation, StoreError> {
        let at = self.contents.len();
        let mut piece = vec![0_u8; PIECE_BYTES];
        let mut copy = || -> io::Result<()> {
            loop {
                match content.read(&mut piece) {
                    Ok(0) => return Ok(()),
                    Ok(n) => self.contents.append_bytes(&piece[..n])?,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
        };
        copy().map_err(|e| io_error(DOING, &e))?;
        Ok(ContentLocation { at, bytes: self.contents.len() - at })
    }

    fn read(&mut self, piece: ContentLocation) -> Result<Vec<u8>, StoreError> {
        let mut read = || -> io::Result<Vec<u8>> {
            self.contents.flush()?;
            if piece.at.saturating_add(piece.bytes) > self.contents.end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = vec![0; usize::try_from(piece.bytes).map_err(io::Error::other)?];
            self.contents.file.read_exact_at(&mut bytes, piece.at)?;
            Ok(bytes)
        };
        read().map_err(|e| io_error("reading files as they were before a command", &e))
    }

    fn bytes(&self) -> u64 {
        self.contents.len()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let mut sync = || -> io::Result<()> {
            // First what the notes speak of.
            self.contents.sync()?;
            self.notes.sync()?;
            if self.fresh {
                for folder in self.folder.ancestors().take(3) {
                    sync_folder(folder)?;
                }
                self.fresh = false;
            }
            Ok(())
        };
        sync().map_err(|e| io_error(DOING, &e))
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        // First the notes: they must not speak of contents that are gone.
        let mut clear = || self.notes.clear().and_then(|()| self.contents.clear());
        clear().map_err(|e| io_error(DOING, &e))
    }

    fn remove(self: Box<Self>) -> Result<(), StoreError> {
        fs::remove_dir_all(&self.folder).map_err(|e| io_error(DOING, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_a_baseline_is_found_again_without_its_torn_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let session = SessionId::new("s/1");
        let open = || DiskBaseline::open(folder.path(), &session).expect("writable");
        let mut first = open();
        let piece = first.add_content(&mut &b"old content"[..]).expect("kept");
        first.append_note("one").expect("noted");
        first.sync().expect("durable");
        assert!(DiskBaseline::open(folder.path(), &session).is_err(), "it is in use");
        first.notes.append_bytes(b"torn").and_then(|()| first.notes.flush()).expect("written");
        drop(first);
        let mut again = open();
        assert_eq!(again.read_notes().expect("readable"), ["one"]);
        assert_eq!(again.read(piece).expect("readable"), b"old content");
        again.append_note("two").expect("noted");
        again.sync().expect("durable");
        assert_eq!(again.read_notes().expect("readable")[..2], ["one", "two"]);
        let beyond = ContentLocation { at: 5, bytes: 1 << 40 };
        assert!(again.read(beyond).is_err(), "nothing is made up");
        again.clear().expect("emptied");
        assert_eq!((again.read_notes().expect("readable").len(), again.bytes()), (0, 0));
    }

    #[test]
    fn g7_a_baseline_is_free_once_it_is_closed_whoever_has_a_copy_of_its_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let session = SessionId::new("s/1");
        let open = || DiskBaseline::open(folder.path(), &session);
        let first = open().expect("writable");
        // What a program has that is being started, until it has begun.
        let copy = first.notes.file.try_clone().expect("a copy");
        drop(first);
        let again = open().expect("it is free");
        assert!(open().is_err(), "and in use");
        drop((again, copy));
        open().expect("free again");
    }

    #[test]
    fn g7_what_killed_processes_left_is_swept_and_what_is_in_use_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = |name: &str| DiskBaseline::open(folder.path(), &SessionId::new(name));
        let used = open("used").expect("writable");
        drop(open("left").expect("writable"));
        sweep_baselines(folder.path(), LEFT_BEHIND);
        assert_eq!(fs::read_dir(folder.path().join("baseline")).expect("there").count(), 2);
        sweep_baselines(folder.path(), Duration::ZERO);
        assert!(used.folder.is_dir());
        assert_eq!(fs::read_dir(folder.path().join("baseline")).expect("there").count(), 1);
        Box::new(used).remove().expect("removed");
        assert_eq!(fs::read_dir(folder.path().join("baseline")).expect("there").count(), 0);
    }
}
