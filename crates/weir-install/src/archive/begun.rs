//! A restore that has begun: what it changes is written down before it changes anything, and is taken back where
//! it fails, or at the next start where the program was killed (D9). Not here: what is restored, and from what.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::HALF_DONE;
use crate::environment::WeirFolders;
use crate::failure::usage;

/// A folder with data, and where it goes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MovedFolder {
    pub(super) folder: PathBuf,
    pub(super) aside: PathBuf,
}

/// What a restore changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RestorePlan {
    /// What is restored.
    archive: PathBuf,
    /// A PostgreSQL database is filled when all files are there.
    pub(super) postgres: bool,
    /// A folder for what is half done.
    staging: PathBuf,
    /// Goes before anything is made.
    moved: Vec<MovedFolder>,
    /// Files and folders that are made, in this order. None of them was there, or it lies in what is moved.
    made: Vec<PathBuf>,
    /// The same as a set.
    #[serde(skip)]
    known: BTreeSet<PathBuf>,
}

impl RestorePlan {
    /// Nothing is made yet.
    pub(super) fn new(archive: &Path, staging: PathBuf, moved: Vec<MovedFolder>) -> RestorePlan {
        RestorePlan {
            archive: archive.to_owned(),
            postgres: false,
            staging,
            moved,
            made: Vec::new(),
            known: BTreeSet::new(),
        }
    }

    pub(super) fn staging_folder(&self) -> &Path {
        &self.staging
    }

    /// Puts a file on the list, and the folders above it that will be missing.
    ///
    /// # Errors
    /// Something is there that stays, or it is on the list already.
    pub(super) fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        if !self.goes_aside(path) && path.symlink_metadata().is_ok() {
            anyhow::bail!("{} is in the way; move it away", path.display());
        }
        if let Some(folder) = path.parent() {
            self.add_folder(folder);
        }
        if !self.known.insert(path.to_owned()) {
            anyhow::bail!("{} stands in it twice", path.display());
        }
        self.made.push(path.to_owned());
        Ok(())
    }

    /// Puts a folder on the list, and those above it, as far as they will be missing.
    pub(super) fn add_folder(&mut self, folder: &Path) {
        let will_be_missing = |one: &&Path| {
            let is_none = one.as_os_str().is_empty() || self.known.contains(*one);
            !is_none && (self.goes_aside(one) || !one.exists())
        };
        let missing: Vec<PathBuf> =
            folder.ancestors().take_while(will_be_missing).map(Path::to_path_buf).collect();
        for one in missing.into_iter().rev() {
            self.known.insert(one.clone());
            self.made.push(one);
        }
    }

    fn goes_aside(&self, path: &Path) -> bool {
        self.moved.iter().any(|moved| path.starts_with(&moved.folder))
    }

    /// Takes away the first `made` of what is made, moves back what was moved aside, and then takes away the
    /// note at `marker` that it has begun: that stays as long as anything else does.
    fn undo_changes(&self, made: usize, marker: &Path) -> UndoneRestore {
        let mut undone = UndoneRestore::default();
        // Nothing is made before all of them went, and they come back when nothing of it is left: as long as
        // one is not aside, what has the name of something that is made is data.
        let all_aside = self.moved.iter().all(|moved| moved.aside.symlink_metadata().is_ok());
        let made: &[PathBuf] = if all_aside { &self.made[..made] } else { &[] };
        for path in made.iter().rev().filter(|path| !marker.starts_with(path)) {
            let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
            let removed = if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) };
            match removed {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    undone.stays.push(format!("{} ({why})", path.display()));
                }
                Ok(()) | Err(_) => {}
            }
        }
        for MovedFolder { folder, aside } in self.moved.iter().rev() {
            match fs::rename(aside, folder) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    let (aside, folder) = (aside.display(), folder.display());
                    let text = format!("{aside} (it could not be moved back to {folder}: {why})");
                    undone.apart.push(text);
                }
                Ok(()) | Err(_) => sync_folder_of(folder),
            }
        }
        if undone.is_whole() {
            undone.remove_marker(marker);
            for folder in made.iter().rev().filter(|path| marker.starts_with(path)) {
                // Somebody else may have put something there.
                let _ = fs::remove_dir(folder);
            }
        }
        undone
    }
}

/// What could not be taken back.
#[derive(Debug, Default)]
struct UndoneRestore {
    /// What was made and is there still.
    stays: Vec<String>,
    /// Data that is not where it was.
    apart: Vec<String>,
}

impl UndoneRestore {
    fn is_whole(&self) -> bool {
        self.stays.is_empty() && self.apart.is_empty()
    }

    fn remove_marker(&mut self, marker: &Path) {
        match fs::remove_file(marker) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                self.stays.push(format!("{} ({why})", marker.display()));
            }
            Ok(()) | Err(_) => sync_folder_of(marker),
        }
    }

    /// Where the data is and what is left, in words.
    fn describe_rest(&self) -> String {
        let mut said = Vec::new();
        if !self.apart.is_empty() {
            let apart = self.apart.join(" and ");
            said.push(format!("the previous data is in {apart}; move it back"));
        }
        // The deepest one is the reason why those above it stay.
        if let Some(first) = self.stays.first() {
            said.push(format!("what was restored could not all be taken away: {first}"));
        }
        said.join("; ")
    }
}

/// A restore that has begun. As long as it lives no other program starts in its folders.
pub(super) struct BegunRestore {
    plan: RestorePlan,
    /// So many of what is made were made.
    made: usize,
    marker: PathBuf,
    /// The marker, locked.
    _lock: File,
}

impl BegunRestore {
    /// Writes down what is going to be changed; nothing is yet.
    ///
    /// # Errors
    /// It cannot be written, or another restore has begun there.
    pub(super) fn begin_restore(plan: RestorePlan, state: &Path) -> anyhow::Result<BegunRestore> {
        if is_restore_begun(state) {
            let state = state.display();
            return Err(usage(format!("a backup is being restored to {state}; wait for its end")));
        }
        let [beside, inside] = marker_places(state);
        // What is moved takes along what lies in it; beside what is not moved nothing may be writable.
        let marker = if plan.goes_aside(state) { beside } else { inside };
        match write_marker(&marker, &plan) {
            Ok(lock) => {
                // The folders that it lies in were made for it.
                let around = plan.made.iter().take_while(|path| marker.starts_with(path));
                Ok(BegunRestore { made: around.count(), plan, marker, _lock: lock })
            }
            Err(error) => {
                for folder in plan.made.iter().rev().filter(|path| marker.starts_with(path)) {
                    let _ = fs::remove_dir(folder);
                }
                let doing = format!("writing {}, which says what is restored", marker.display());
                Err(anyhow::Error::new(error).context(doing))
            }
        }
    }

    pub(super) fn staging_folder(&self) -> &Path {
        &self.plan.staging
    }

    /// Moves data aside. `step` is asked before each change.
    ///
    /// # Errors
    /// A folder cannot be moved, or `step` fails.
    pub(super) fn move_aside(
        &self,
        step: &mut dyn FnMut() -> io::Result<()>,
    ) -> anyhow::Result<()> {
        for MovedFolder { folder, aside } in &self.plan.moved {
            step()
                .and_then(|()| fs::rename(folder, aside))
                .with_context(|| format!("moving {} aside", folder.display()))?;
            sync_folder_of(aside);
        }
        Ok(())
    }

    /// Makes the next file of the plan, and the folders above it.
    ///
    /// # Errors
    /// It is none of the plan, or cannot be made.
    pub(super) fn make_file(&mut self, path: &Path, mode: u32) -> io::Result<File> {
        let ahead = self.plan.made[self.made..].iter().position(|one| one == path);
        let ahead = ahead.ok_or_else(|| io::Error::other("the backup was changed meanwhile"))?;
        for folder in &self.plan.made[self.made..self.made + ahead] {
            match fs::DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => {
                    return Err(error);
                }
                Ok(()) | Err(_) => self.made += 1,
            }
        }
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        self.made += 1;
        Ok(file)
    }

    /// All was put back: nothing of it is taken back any more.
    ///
    /// # Errors
    /// The note that it has begun cannot be taken away, so the next start would take everything back.
    pub(super) fn finish_restore(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.plan.staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, folder = %self.plan.staging.display(), "a folder stays");
            }
            Ok(()) | Err(_) => {}
        }
        fs::remove_file(&self.marker)
            .with_context(|| format!("taking {} away", self.marker.display()))?;
        sync_folder_of(&self.marker);
        Ok(())
    }

    /// Where data went.
    pub(super) fn into_moved_folders(self) -> Vec<PathBuf> {
        self.plan.moved.into_iter().map(|moved| moved.aside).collect()
    }

    /// Takes everything back because of `error`, which then says what holds: that all is as before, or where
    /// the data is.
    pub(super) fn take_back(&self, error: anyhow::Error) -> anyhow::Error {
        let undone = self.plan.undo_changes(self.made, &self.marker);
        match undone.is_whole() {
            true => error.context("nothing was restored, and all is as it was before"),
            false => error.context(format!("the restore failed; {}", undone.describe_rest())),
        }
    }
}

/// Takes back what a restore changed that was killed. What is to be said of it, in one sentence; `None`: none
/// was. Every start asks this before it looks at anything else.
///
/// # Errors
/// A restore goes on, or not all of it can be taken back: then the error says where the data is, and the next
/// start tries it again.
pub fn take_back_killed_restore(dirs: &WeirFolders) -> anyhow::Result<Option<String>> {
    for marker in marker_places(&dirs.state) {
        let Some(file) = claim_marker(&marker)? else { continue };
        let plan: RestorePlan = serde_json::from_reader(io::BufReader::new(&file))
            .map_err(|error| usage(format!("{} cannot be read: {error}", marker.display())))?;
        let undone = plan.undo_changes(plan.made.len(), &marker);
        let archive = plan.archive.display();
        if !undone.is_whole() {
            let why = undone.describe_rest();
            return Err(usage(format!(
                "restoring {archive} ended before it was done, and cannot be taken back: {why}"
            )));
        }
        let database = match plan.postgres {
            true => "; the PostgreSQL database has all of the backup or nothing of it",
            false => "",
        };
        return Ok(Some(format!(
            "restoring {archive} ended before it was done: all is as it was before it{database}"
        )));
    }
    Ok(None)
}

/// Whether a restore into this state folder has begun and is not over.
pub fn is_restore_begun(state: &Path) -> bool {
    marker_places(state).iter().any(|marker| marker.exists())
}

/// Where it is noted that a restore has begun: beside the state folder, or in it.
fn marker_places(state: &Path) -> [PathBuf; 2] {
    [named_beside(state, ".restoring"), state.join(format!("{HALF_DONE}restoring"))]
}

/// A path beside `folder`, with more at the end of its name.
pub(super) fn named_beside(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.file_name().map(OsString::from).unwrap_or_default();
    name.push(ending);
    folder.with_file_name(name)
}

/// Writes a marker, whole or not at all, and locks it.
fn write_marker(marker: &Path, plan: &RestorePlan) -> io::Result<File> {
    if let Some(folder) = marker.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let fresh = named_beside(marker, &format!("-{}", uuid::Uuid::now_v7().simple()));
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.try_lock().map_err(io::Error::from)?;
        file.write_all(&serde_json::to_vec(plan)?)?;
        file.sync_all()?;
        // A link fails where another restore has begun meanwhile; a rename would replace its note.
        fs::hard_link(&fresh, marker)?;
        Ok(file)
    };
    let written = write();
    let _ = fs::remove_file(&fresh);
    sync_folder_of(marker);
    written
}

/// The marker of a restore whose program is gone, locked; `None`: there is none.
fn claim_marker(marker: &Path) -> anyhow::Result<Option<File>> {
    // Where it cannot be opened, nothing that it is about can be used either.
    let Ok(file) = File::open(marker) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(usage(format!(
                "a backup is being restored here ({}); wait until that has ended",
                marker.display()
            )));
        }
        Err(TryLockError::Error(error)) => {
            let doing = format!("locking {}", marker.display());
            return Err(anyhow::Error::new(error).context(doing));
        }
    }
    // Another start may have been quicker.
    let own = file.metadata()?;
    let is_there =
        fs::metadata(marker).is_ok_and(|at| (at.dev(), at.ino()) == (own.dev(), own.ino()));
    Ok(is_there.then_some(file))
}

/// Makes names in the folder of `path` durable, where the system can: that they are is known better later.
fn sync_folder_of(path: &Path) {
    if let Some(folder) = path.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
