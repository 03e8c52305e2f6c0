//! The files that git tracks, whether its lists name them or not: they are work, and a checkpoint holds
//! them (G7). Told from the index alone. Not here: what of it is hidden (`tracked`).

use std::fs::File;

use super::Workspace;
use super::survey::{SurveyedFileStamp, is_weirs, stamp_of};
use super::tracked::git_folder;
use crate::git_index::parse_index_entries;

/// Largest index that is read: what a larger one tracks is looked at as everything else is.
const INDEX_BYTES_MAX: u64 = 64 << 20;

impl Workspace {
    /// What the repository at the root tracks, by path; nothing where its index is as it was at
    /// `known`, which is made the present one.
    pub(crate) fn newly_tracked(&self, known: &mut Option<SurveyedFileStamp>) -> Vec<String> {
        let index = git_folder(&self.root().join(".git")).map(|git| git.join("index"));
        let Some(index) = index else { return Vec::new() };
        let stamp = File::open(&index).ok().as_ref().and_then(stamp_of);
        let Some(stamp) = stamp.filter(|stamp| stamp.bytes <= INDEX_BYTES_MAX) else {
            return Vec::new();
        };
        if known.replace(stamp) == Some(stamp) {
            return Vec::new();
        }
        let Ok(bytes) = std::fs::read(&index) else { return Vec::new() };
        let entries = parse_index_entries(&bytes).unwrap_or_default();
        let spots = entries.iter().filter_map(|entry| {
            let text = std::str::from_utf8(&entry.path).ok()?;
            Some(self.guard.spot_of(self.root().join(text)))
        });
        let spots = spots.filter(|spot| spot.root.is_some() && !is_weirs(&spot.rel));
        spots.map(|spot| self.guard.shown_path(&spot)).collect()
    }
}
