//! A derived file that is read at its places and grows at its end, also where several processes have it.
//! Whoever opened it reads what was there, whatever takes its name later. Not here: what it holds.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, Result};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::{FileError, Workspace, io_error};
use super::make_folder;

/// Another process that writes is waited for: so often, so long (K1).
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// A file that is made while another process puts its own in place is made again, so often.
const OPEN_TRIES: u32 = 5;
/// How a file begins, of this many bytes at most: others get nothing put at their end.
const HEADER_BYTES_MAX: usize = 64;

/// A derived file that is open.
#[derive(Debug)]
pub struct DerivedFile {
    file: File,
    /// What it is called, or will be.
    path: PathBuf,
    /// What it is called until it is put in place.
    fresh: Option<PathBuf>,
    /// How it must begin so that it is one of this kind.
    header: Vec<u8>,
}

impl Workspace {
    /// Opens a derived file that begins with `header` and has `look` look at it while nobody puts anything
    /// to it. `None`: there is none.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open_derived<T>(
        &self,
        name: &str,
        header: &[u8],
        look: impl FnOnce(&DerivedFile) -> T,
    ) -> std::result::Result<Option<(DerivedFile, T)>, FileError> {
        let Some(path) = self.derived_path(name) else { return Ok(None) };
        remove_abandoned(&fresh_path(&path));
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("open", name, &error)),
        };
        let opened = DerivedFile { file, path, fresh: None, header: cut_header(header) };
        // Where somebody writes it all the while, the end of it may be half a record: `look` sees that.
        let locked = wait_for_lock(&opened.file, File::try_lock_shared).is_ok();
        let seen = look(&opened);
        if locked {
            let _ = opened.file.unlock();
        }
        Ok(Some((opened, seen)))
    }
    /// Makes an empty derived file that begins with `header`; it has its name when it is put in place.
    /// `None`: nothing is kept.
    ///
    /// # Errors
    /// The system refuses, or another process makes one just now.
    pub fn create_derived(
        &self,
        name: &str,
        header: &[u8],
    ) -> std::result::Result<Option<DerivedFile>, FileError> {
        let Some(path) = self.derived_path(name) else { return Ok(None) };
        let made = create_fresh(&path, header);
        made.map(Some).map_err(|error| io_error("make", name, &error))
    }
    /// Whether a derived file is there.
    pub fn has_derived(&self, name: &str) -> bool {
        self.derived_path(name).is_some_and(|path| path.exists())
    }
    /// Removes a derived file that nobody needs any more.
    pub fn remove_derived(&self, name: &str) {
        if let Some(path) = self.derived_path(name) {
            // That it is not there is what is wanted.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl DerivedFile {
    /// Reads bytes from a place; fewer than wanted only where the file ends.
    ///
    /// # Errors
    /// The system cannot read them.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
    /// Puts bytes at the end, in one piece; where they begin. Where another process put its own file in
    /// place meanwhile, that one gets them too: whoever opens it later need not compute them.
    ///
    /// # Errors
    /// The system refuses, or another process has the file for too long. Then nothing was put to it.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        if self.fresh.is_some() {
            return put_at_end(&self.file, bytes);
        }
        let offset = with_lock(&self.file, |file| put_at_end(file, bytes))?;
        if !is_called(&self.file, &self.path) {
            // It is derived: what it lacks is computed anew.
            let _ = self.append_to_successor(bytes);
        }
        Ok(offset)
    }
    fn append_to_successor(&self, bytes: &[u8]) -> Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        with_lock(&file, |file| {
            let mut header = vec![0; self.header.len()];
            file.read_exact_at(&mut header, 0)?;
            match header == self.header {
                true => put_at_end(file, bytes).map(|_| ()),
                false => Ok(()),
            }
        })
    }
    /// Gives a file that was made its name, in place of the one that has it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn put_in_place(&mut self) -> Result<()> {
        if let Some(fresh) = &self.fresh {
            std::fs::rename(fresh, &self.path)?;
            self.fresh = None;
            self.file.unlock()?;
        }
        Ok(())
    }
}

impl Drop for DerivedFile {
    fn drop(&mut self) {
        if let Some(fresh) = &self.fresh {
            // Nobody else has it: it is locked.
            let _ = std::fs::remove_file(fresh);
        }
    }
}

fn cut_header(header: &[u8]) -> Vec<u8> {
    header.iter().take(HEADER_BYTES_MAX).copied().collect()
}

/// What a file is called before it is in place: always the same, so that one that a crash left is found.
fn fresh_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

fn create_fresh(path: &Path, header: &[u8]) -> Result<DerivedFile> {
    make_folder(path)?;
    let fresh = fresh_path(path);
    for _ in 0..OPEN_TRIES {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&fresh)?;
        file.try_lock().map_err(Error::from)?;
        // Between the two another process may have put this very file in place.
        if !is_called(&file, &fresh) {
            continue;
        }
        file.set_len(0)?;
        file.write_all_at(header, 0)?;
        let (path, fresh) = (path.to_owned(), Some(fresh));
        return Ok(DerivedFile { file, path, fresh, header: cut_header(header) });
    }
    Err(Error::other("another process makes it just now"))
}

/// Removes a file that was made and never put in place, when nobody makes it now.
fn remove_abandoned(fresh: &Path) {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(fresh) else { return };
    if file.try_lock().is_ok() && is_called(&file, fresh) {
        let _ = std::fs::remove_file(fresh);
    }
}

/// Whether an open file is the one of this name.
fn is_called(file: &File, path: &Path) -> bool {
    let of = |about: std::fs::Metadata| (about.dev(), about.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(own), Ok(named)) => of(own) == of(named),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

fn put_at_end(file: &File, bytes: &[u8]) -> Result<u64> {
    let end = file.metadata()?.len();
    let written = file.write_all_at(bytes, end);
    if written.is_err() {
        // Half a record would hide all that is put behind it.
        let _ = file.set_len(end);
    }
    written.map(|()| end)
}

fn with_lock<T>(file: &File, act: impl FnOnce(&File) -> Result<T>) -> Result<T> {
    wait_for_lock(file, File::try_lock)?;
    let done = act(file);
    file.unlock()?;
    done
}

/// Waits until the file can be had, alone or with others who read it; not forever, as whoever has it may
/// stand still.
fn wait_for_lock(
    file: &File,
    lock: impl Fn(&File) -> std::result::Result<(), TryLockError>,
) -> Result<()> {
    for _ in 0..LOCK_TRIES {
        match lock(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(Error::other("another process has it for too long"))
}

#[cfg(test)]
mod tests {
    use super::super::super::{Workspace, WorkspaceOptions};
    use super::*;

    const HEADER: &[u8] = b"kind 1\n";

    fn opened() -> (tempfile::TempDir, Workspace) {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().join("root");
        std::fs::create_dir_all(&root).expect("its root");
        let options = WorkspaceOptions {
            root,
            extra_roots: Vec::new(),
            own_folders: vec![place.path().join("state")],
        };
        let state = place.path().join("state/derived");
        let workspace = Workspace::open(options).expect("a workspace").with_derived(&state);
        (place, workspace)
    }

    fn made(workspace: &Workspace) -> DerivedFile {
        let made = workspace.create_derived("index", HEADER).expect("made");
        let mut file = made.expect("it is kept");
        file.put_in_place().expect("in place");
        file
    }

    fn whole(file: &DerivedFile) -> String {
        let mut bytes = vec![0; 100];
        let read = file.read_at(0, &mut bytes).expect("read");
        String::from_utf8(bytes[..read].to_vec()).expect("text")
    }

    fn kept(workspace: &Workspace) -> Option<String> {
        let opened = workspace.open_derived("index", HEADER, whole).expect("it can be opened");
        opened.map(|(_, text)| text)
    }

    #[test]
    fn k1_two_that_share_a_derived_file_both_put_to_it() {
        let (_place, workspace) = opened();
        assert_eq!(kept(&workspace), None);
        let mut one = made(&workspace);
        let (mut two, _) =
            workspace.open_derived("index", HEADER, |_| ()).expect("opened").expect("it is there");
        assert_eq!(one.append(b"a").expect("put"), 7);
        assert_eq!(two.append(b"bc").expect("put"), 8);
        assert_eq!(one.append(b"d").expect("put"), 10);
        assert_eq!(kept(&workspace).as_deref(), Some("kind 1\nabcd"));
        // One writes it anew: the other reads on from what it has, and both put to what is there.
        let mut anew = made(&workspace);
        assert_eq!(anew.append(b"x").expect("put"), 7);
        assert_eq!(two.append(b"y").expect("put"), 11);
        assert_eq!((whole(&two).as_str(), whole(&anew).as_str()), ("kind 1\nabcdy", "kind 1\nxy"));
        assert_eq!(kept(&workspace).as_deref(), Some("kind 1\nxy"));
    }

    #[test]
    fn k1_a_derived_file_of_another_kind_gets_nothing() {
        let (_place, workspace) = opened();
        let mut old = made(&workspace);
        let newer = workspace.create_derived("index", b"kind 2\n").expect("made");
        newer.expect("it is kept").put_in_place().expect("in place");
        assert_eq!(old.append(b"a").expect("put"), 7);
        assert_eq!(kept(&workspace).as_deref(), Some("kind 2\n"));
    }

    #[test]
    fn k1_a_file_that_was_never_put_in_place_is_gone() {
        let (_place, workspace) = opened();
        drop(made(&workspace));
        let fresh = workspace.derived_path("index.new").expect("a path");
        let mut half = workspace.create_derived("index", HEADER).expect("made").expect("kept");
        half.append(b"secret").expect("put");
        // While one makes it nobody else does, nor takes it away.
        assert!(workspace.create_derived("index", HEADER).is_err());
        assert_eq!(kept(&workspace).as_deref(), Some("kind 1\n"));
        assert!(fresh.exists());
        drop(half);
        assert!(!fresh.exists());
        // As a process leaves it that was killed.
        std::fs::write(&fresh, b"kind 1\nsecret").expect("written");
        assert_eq!(kept(&workspace).as_deref(), Some("kind 1\n"));
        assert!(!fresh.exists(), "it is removed when the index is opened");
        std::fs::write(&fresh, b"kind 1\nsecret").expect("written");
        drop(made(&workspace));
        assert_eq!(kept(&workspace).as_deref(), Some("kind 1\n"), "and when it is made anew");
    }

    #[test]
    fn k1_who_stands_still_with_a_derived_file_is_not_waited_for_forever() {
        let (_place, workspace) = opened();
        let mut file = made(&workspace);
        let other = File::open(workspace.derived_path("index").expect("a path")).expect("open");
        other.lock().expect("locked");
        assert!(file.append(b"a").is_err());
        assert_eq!(kept(&workspace).as_deref(), Some("kind 1\n"), "it is looked at all the same");
        drop(other);
        assert_eq!(file.append(b"a").expect("put"), 7);
    }
}
