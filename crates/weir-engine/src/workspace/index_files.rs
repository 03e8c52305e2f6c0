//! The files that git tracks, whether its lists name them or not: they are work, and a checkpoint holds
//! them (G7). Told from the index alone. Not here: what of it is hidden (`tracked`).

use super::Workspace;
use super::survey::{SurveyedFileStamp, is_weirs, stamp_of};
use super::tracked::git_folder;
use crate::git_index::parse_index_entries;
use crate::regular_file::{open_regular_file, read_regular_file};

/// Largest index that is read: what a larger one tracks is looked at as everything else is.
const INDEX_BYTES_MAX: u64 = 64 << 20;

impl Workspace {
    /// What the repository at the root tracks, by path; nothing where its index is as it was at
    /// `known`, which is made the present one.
    pub(crate) fn newly_tracked(&self, known: &mut Option<SurveyedFileStamp>) -> Vec<String> {
        let index = git_folder(&self.root().join(".git")).map(|git| git.join("index"));
        let Some(index) = index else { return Vec::new() };
        let stamp = open_regular_file(&index).ok().as_ref().and_then(stamp_of);
        let Some(stamp) = stamp.filter(|stamp| stamp.bytes <= INDEX_BYTES_MAX) else {
            return Vec::new();
        };
        if known.replace(stamp) == Some(stamp) {
            return Vec::new();
        }
        let Ok(bytes) = read_regular_file(&index, INDEX_BYTES_MAX) else { return Vec::new() };
        let entries = parse_index_entries(&bytes).unwrap_or_default();
        let spots = entries.iter().filter_map(|entry| {
            let text = std::str::from_utf8(&entry.path).ok()?;
            Some(self.guard.spot_of(self.root().join(text)))
        });
        let spots = spots.filter(|spot| spot.root.is_some() && !is_weirs(&spot.rel));
        spots.map(|spot| self.guard.shown_path(&spot)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::regular_file::make_pipe;
    use crate::workspace::{Workspace, WorkspaceOptions};

    #[test]
    fn g7_a_pipe_in_the_place_of_the_index_is_not_waited_for() {
        let top = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(top.path().join(".git")).expect("a folder");
        for name in ["index", "config", "commondir"] {
            make_pipe(&top.path().join(".git").join(name));
        }
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        assert_eq!(workspace.newly_tracked(&mut None), [""; 0]);
    }
}
