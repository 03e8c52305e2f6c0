//! Hard links: a second name of a key file is as closed as the first (Z6).
//!
//! A file with several names is compared, by device and inode, with what lies in the credential
//! places of the home folder and in Weir's own folders. Other files may have as many names as
//! they like. Writing needs no such look: it replaces the name and leaves the other one alone.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::credentials::{HIDDEN, HIDDEN_AT_HOME};

/// Most files that are looked at.
const FILES_MAX: usize = 5000;
/// Deepest folder below a credential place that is looked into.
const DEPTH_MAX: usize = 3;
/// How long a look is good for: searches open many files in a row.
const GOOD_FOR: Duration = Duration::from_secs(2);

type Inodes = HashSet<(u64, u64)>;

/// The inodes of closed files, as of the last look.
#[derive(Debug, Default)]
pub(super) struct ClosedInodes(Mutex<Option<(Instant, Inodes)>>);

impl ClosedInodes {
    /// Whether this inode is that of a key file or of Weir's own state.
    pub(super) fn is_closed(
        &self,
        device: u64,
        inode: u64,
        home: Option<&Path>,
        own: &[PathBuf],
    ) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_good = kept.as_ref().is_some_and(|(since, _)| since.elapsed() < GOOD_FOR);
        if !is_good {
            *kept = Some((Instant::now(), gather_inodes(home, own)));
        }
        kept.as_ref().is_some_and(|(_, inodes)| inodes.contains(&(device, inode)))
    }
}

fn gather_inodes(home: Option<&Path>, own: &[PathBuf]) -> Inodes {
    let lines = HIDDEN.lines().chain(HIDDEN_AT_HOME.lines());
    let places = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.trim_start_matches("**/").trim_matches('/'))
        .filter(|line| !line.contains('*'))
        .filter_map(|line| Some(home?.join(line)));
    let mut inodes = Inodes::new();
    for place in places.chain(own.iter().cloned()) {
        add_inodes(&place, 0, &mut inodes);
    }
    inodes
}

fn add_inodes(path: &Path, depth: usize, inodes: &mut Inodes) {
    if inodes.len() >= FILES_MAX {
        return;
    }
    let Ok(found) = std::fs::symlink_metadata(path) else { return };
    if found.is_file() {
        inodes.insert((found.dev(), found.ino()));
    } else if found.is_dir() && depth < DEPTH_MAX {
        let Ok(entries) = std::fs::read_dir(path) else { return };
        for entry in entries.take(FILES_MAX).filter_map(Result::ok) {
            add_inodes(&entry.path(), depth + 1, inodes);
        }
    }
}
