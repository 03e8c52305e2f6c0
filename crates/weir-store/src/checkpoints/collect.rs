//! Removing checkpoints: those of a session, old ones, and the oldest when there are too many.
//!
//! A session's chain is cut the way git cuts shallow histories, so that the checkpoints that stay
//! keep their names. What nothing reaches any more is then removed by packing what is left. The
//! last known content of every file that a session touched stays as long as one of its checkpoints
//! does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{Buf, Oid, Repository};
use weir_core::ids::{CheckpointId, SessionId, Timestamp};
use weir_engine::ports::{CheckpointFilter, StoreError};

use super::names::ref_name;
use super::note::CheckpointNote;
use super::objects::{ObjectDatabase, git_error};
use super::repository::{PackMode, ShadowRepository, files_if_there};
use super::settle::PossibleLoss;
use super::snapshot::ListedCheckpoint;
use crate::filesystem::io_error;

const DOING: &str = "collecting checkpoints";

/// While a repository is too large, one part in so many of its oldest checkpoints goes at a time.
const SHARE: usize = 8;

impl ShadowRepository {
    /// Removes all checkpoints of a session and their contents.
    pub(super) fn forget_session(&mut self, session: &SessionId) -> Result<(), StoreError> {
        let name = ref_name(session.as_str());
        // One whose checkpoints were taken away again has no ref, and its words may be in the log.
        if self.session_tip(session.as_str())?.is_none() && !self.is_logged(&name)? {
            return Ok(());
        }
        // What the log says would come back with it, and its words with the log.
        self.settle_log(PossibleLoss::Nothing)?;
        self.remove_tips(&BTreeSet::from([name]))?;
        self.repack()
    }

    /// Lets the chain of a session end before its newest checkpoint, if that is `id`. Its contents go
    /// when checkpoints are collected.
    pub(super) fn void_checkpoint(
        &mut self,
        session: &SessionId,
        id: &CheckpointId,
    ) -> Result<(), StoreError> {
        let tip = self.session_tip(session.as_str())?;
        let Some(tip) = tip.filter(|tip| tip.to_string() == id.as_str()) else { return Ok(()) };
        let mut before = self.object_database()?.read_commit(tip)?.parent;
        // What was there meanwhile was noted for this checkpoint alone.
        while let Some(id) = before {
            let commit = self.object_database()?.read_commit(id)?;
            if CheckpointNote::parse(&commit.message).is_some() {
                break;
            }
            before = commit.parent;
        }
        self.point_session(session.as_str(), Some(tip), before, Vec::new())
    }

    pub(super) fn collect_old(
        &mut self,
        before: Timestamp,
        max_bytes: u64,
    ) -> Result<usize, StoreError> {
        let all = self.list_with_commits(&CheckpointFilter::default())?;
        // Oldest last.
        let mut kept = all.len();
        let young = all.iter().filter(|listed| listed.info.ts >= before).count();
        if young < kept {
            kept = young;
            self.keep_only(&all[..kept])?;
        } else if self.stored_bytes()? > max_bytes {
            self.repack()?;
        }
        while kept > 0 && self.stored_bytes()? > max_bytes {
            kept -= kept.div_ceil(SHARE);
            self.keep_only(&all[..kept])?;
        }
        Ok(all.len() - kept)
    }

    /// Keeps only these checkpoints, the newest of each chain.
    fn keep_only(&mut self, kept: &[ListedCheckpoint]) -> Result<(), StoreError> {
        self.settle_log(PossibleLoss::Nothing)?;
        let kept: BTreeSet<Oid> = kept.iter().map(|listed| listed.commit).collect();
        let tips = self.session_tips()?;
        let old_cuts = self.shallow_commits()?;
        let (mut cuts, mut gone) = (BTreeSet::new(), BTreeSet::new());
        for (name, tip) in tips {
            let objects = self.object_database()?;
            let mut oldest = None;
            let mut next = Some(tip);
            while let Some(id) = next.filter(|id| !old_cuts.contains(id)) {
                let commit = objects.read_commit(id)?;
                next = commit.parent;
                if kept.contains(&id) {
                    oldest = Some(commit);
                }
            }
            match oldest {
                // What was there before the oldest stays, as the first commit of the history.
                Some(oldest) => cuts.extend(oldest.parent),
                None => {
                    gone.insert(name);
                }
            }
        }
        // First the cut, then the refs, then the objects: a crash in between only leaves too much.
        self.set_shallow(&cuts)?;
        self.remove_tips(&gone)?;
        self.repack()
    }

    /// Packs everything that the refs reach and removes everything else.
    fn repack(&mut self) -> Result<(), StoreError> {
        self.settle_log(PossibleLoss::Nothing)?;
        let tips: Vec<Oid> = self.session_tips()?.into_values().collect();
        let cuts = self.shallow_commits()?;
        let old_packs = self.pack_files()?;
        let (repository, _) = self.open_anew(PackMode::Small)?;
        let pack = pack_of(&repository, &self.path, &tips, &cuts)?;
        let kept = match pack {
            Some(pack) => Some(self.add_pack(&pack)?),
            None => None,
        };
        for path in old_packs {
            let name = path.file_stem().and_then(|name| name.to_str());
            if kept.is_none() || name != kept.as_deref() {
                fs::remove_file(path).map_err(|e| io_error(DOING, &e))?;
            }
        }
        self.remove_loose()?;
        self.close();
        Ok(())
    }

    /// Removes single objects, which are in the pack now or not wanted any more, and what a
    /// person's `git gc` wrote about commits that may be gone.
    fn remove_loose(&self) -> Result<(), StoreError> {
        let remove = || -> std::io::Result<()> {
            self.remove_unfinished()?;
            for folder in loose_folders(&self.path)? {
                fs::remove_dir_all(folder)?;
            }
            let info = self.path.join("objects/info");
            for path in [info.join("commit-graph"), info.join("commit-graphs")] {
                if path.is_dir() {
                    fs::remove_dir_all(path)?;
                } else if path.exists() {
                    fs::remove_file(path)?;
                }
            }
            Ok(())
        };
        remove().map_err(|e| io_error(DOING, &e))
    }

    /// Bytes that the objects take.
    fn stored_bytes(&self) -> Result<u64, StoreError> {
        let measure = || -> std::io::Result<u64> {
            let mut bytes = 0;
            let mut folders = loose_folders(&self.path)?;
            folders.push(self.pack_folder());
            for folder in folders {
                for file in files_if_there(&folder)? {
                    bytes += fs::symlink_metadata(file)?.len();
                }
            }
            Ok(bytes)
        };
        measure().map_err(|e| io_error(DOING, &e))
    }
}

/// The folders of single objects.
pub(super) fn loose_folders(repository: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(repository.join("objects"))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit) {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// A pack of everything that `tips` reach down to `cuts`, of the repository in a folder; `None` when
/// that is nothing.
fn pack_of(
    repository: &Repository,
    folder: &Path,
    tips: &[Oid],
    cuts: &BTreeSet<Oid>,
) -> Result<Option<Buf>, StoreError> {
    let failed = |e: &git2::Error| git_error(DOING, e);
    let objects = ObjectDatabase::new(repository.odb().map_err(|e| failed(&e))?, folder);
    let mut builder = repository.packbuilder().map_err(|e| failed(&e))?;
    for tip in tips {
        let mut next = Some(*tip);
        while let Some(id) = next {
            let commit = objects.read_commit(id)?;
            builder.insert_object(commit.id, None).map_err(|e| failed(&e))?;
            builder.insert_tree(commit.tree).map_err(|e| failed(&e))?;
            next = commit.parent.filter(|_| !cuts.contains(&id));
        }
    }
    if builder.object_count() == 0 {
        return Ok(None);
    }
    let mut pack = Buf::new();
    builder.write_buf(&mut pack).map_err(|e| failed(&e))?;
    Ok(Some(pack))
}
