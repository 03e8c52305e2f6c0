//! What a restore has changed so far, so that it can be taken back where it fails. Not here: what is
//! restored, and from what.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A folder with data, and where it went.
pub(super) struct MovedFolder {
    pub(super) folder: PathBuf,
    pub(super) aside: PathBuf,
}

/// What a restore has changed so far.
#[derive(Default)]
pub(super) struct RestoreChanges {
    pub(super) moved: Vec<MovedFolder>,
    /// Files and folders that were made, in this order.
    made: Vec<PathBuf>,
}

impl RestoreChanges {
    /// Makes a folder, and those above it that are missing.
    pub(super) fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        let is_missing = |one: &&Path| !one.as_os_str().is_empty() && !one.exists();
        let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        for one in missing.into_iter().rev() {
            match fs::DirBuilder::new().mode(0o700).create(one) {
                Ok(()) => self.made.push(one.to_owned()),
                // Somebody else made it meanwhile: then it is not taken away either.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && one.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Makes a file that is not there yet, and the folders above it.
    pub(super) fn make_file(&mut self, path: &Path, mode: u32) -> io::Result<File> {
        if let Some(folder) = path.parent() {
            self.make_folder(folder)?;
        }
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        self.made.push(path.to_owned());
        Ok(file)
    }

    /// Takes away what was made and moves back what was moved aside, because of `error`, which then says
    /// what holds: that all is as before, or where the data is.
    pub(super) fn take_back(&self, error: anyhow::Error) -> anyhow::Error {
        if self.moved.is_empty() && self.made.is_empty() {
            return error;
        }
        let mut stays = Vec::new();
        for path in self.made.iter().rev() {
            let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
            let removed = if is_folder { fs::remove_dir(path) } else { fs::remove_file(path) };
            match removed {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    stays.push(format!("{} ({why})", path.display()));
                }
                Ok(()) | Err(_) => {}
            }
        }
        let mut apart = Vec::new();
        for MovedFolder { folder, aside } in self.moved.iter().rev() {
            if let Err(why) = fs::rename(aside, folder) {
                let (aside, folder) = (aside.display(), folder.display());
                apart.push(format!("{aside} (it could not be moved back to {folder}: {why})"));
            }
        }
        let mut said = Vec::new();
        if !apart.is_empty() {
            said.push(format!("the previous data is in {}; move it back", apart.join(" and ")));
        }
        // The deepest one is the reason why those above it stay.
        if let Some(first) = stays.first() {
            said.push(format!("what was restored could not all be taken away: {first}"));
        }
        match said.is_empty() {
            true => error.context("nothing was restored, and all is as it was before"),
            false => error.context(format!("the restore failed; {}", said.join("; "))),
        }
    }
}
