//! What the log of a shadow repository is for: a checkpoint is noted in it before its session's ref
//! moves; after a power cut what it notes is put back; and when it is long, or before anything is
//! removed, all of that is made durable and the log is emptied. Not here: how records are written
//! and found again (`log`).
//!
//! What was written lies in the page cache until the machine stops, so nothing is put back within
//! one boot of it, but in a copy of the repository. Where the boot
//! cannot be told, or the file system may lose files without one, every process puts back what the
//! log notes when it first comes here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Buf, Config, Odb, OdbLookupFlags, Oid, Repository};
use weir_engine::lease_owner::boot_id;
use weir_engine::ports::StoreError;

use super::collect::loose_folders;
use super::log::{LogRecord, LogState, parse_id};
use super::names::ref_name;
use super::objects::{WrittenObject, git_error, is_whole, remove_if_there};
use super::repository::{PackMode, ShadowRepository, sync_all};
use super::snapshot::MEMPACK_PRIORITY;
use crate::filesystem::{io_error, network_file_system};

const READING: &str = "reading the log of checkpoints";
const SETTLING: &str = "making checkpoints durable";

/// Larger objects are synced where they lie: to compress them once more takes longer.
const PACKED_BYTES_MAX: usize = 16 << 10;

/// What may have happened since the records were written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PossibleLoss {
    Nothing,
    /// A power cut took what was not synced.
    PowerCut,
    /// That, and some records cannot be read.
    Damage,
}

impl ShadowRepository {
    /// Looks at the log, after other processes and after a restart of the machine.
    pub(super) fn ready_log(&mut self) -> Result<(), StoreError> {
        let path = &self.path;
        let boot = self.log.boot.get_or_insert_with(|| boot_of(path)).clone();
        match self.log.find_end().map_err(|e| io_error(READING, &e))? {
            LogState::Empty => {}
            LogState::Records(written) => {
                let is_this_boot = !boot.is_empty() && written == boot;
                if !self.is_healed && !is_this_boot {
                    self.settle_log(PossibleLoss::PowerCut)?;
                }
            }
            LogState::Damaged => {
                tracing::warn!(
                    repository = %self.path.display(),
                    "the log of checkpoints is damaged: what it notes is put back as far as it \
                     can be read, and it is begun anew"
                );
                self.settle_log(PossibleLoss::Damage)?;
            }
        }
        self.is_healed = true;
        Ok(())
    }

    /// What has to go into the log: objects that no log has yet, and no pack.
    pub(super) fn unlogged_objects(&self, mut written: Vec<WrittenObject>) -> Vec<WrittenObject> {
        let mut seen = HashSet::new();
        written.retain(|object| {
            !self.log.has_object(object.id)
                && seen.insert(object.id)
                // What is not there lies in a pack, and was made durable with it.
                && self.loose_file(object.id).try_exists().unwrap_or(true)
        });
        written
    }

    /// Whether the log says something of the session with this name of a ref.
    pub(super) fn is_logged(&self, name: &str) -> Result<bool, StoreError> {
        let content = self.log.read_records().map_err(|e| io_error(READING, &e))?;
        Ok(content.records.iter().any(|record| record.name == name))
    }

    /// Points a session at another commit, or at none, durably, and everything that its checkpoint
    /// needs with it.
    pub(super) fn point_session(
        &mut self,
        session: &str,
        was: Option<Oid>,
        tip: Option<Oid>,
        objects: Vec<WrittenObject>,
    ) -> Result<(), StoreError> {
        if self.log.is_full() {
            self.settle_log(PossibleLoss::Nothing)?;
        }
        let record = LogRecord { name: ref_name(session), was, tip, objects };
        self.log.append_record(&record).map_err(|e| io_error("making a checkpoint durable", &e))?;
        match tip {
            Some(id) => self.write_tip(&record.name, id),
            None => self.remove_tips(&BTreeSet::from([record.name])),
        }
    }

    /// Makes durable what the log notes, and empties it. A crash in between leaves the log, and all
    /// of this is done again.
    pub(super) fn settle_log(&mut self, loss: PossibleLoss) -> Result<(), StoreError> {
        let content = self.log.read_records().map_err(|e| io_error(READING, &e))?;
        let loss = if content.is_whole { loss } else { PossibleLoss::Damage };
        let records = content.records;
        if records.is_empty() && loss != PossibleLoss::Damage {
            return Ok(());
        }
        if loss != PossibleLoss::Nothing {
            self.remove_empty_objects().map_err(|e| io_error(SETTLING, &e))?;
        }
        let large = self.pack_logged(&records)?;
        self.sync_objects(&large)?;
        if loss != PossibleLoss::Nothing {
            self.put_tips_back(&records)?;
        }
        let synced = match loss {
            PossibleLoss::Nothing | PossibleLoss::PowerCut => self.sync_tips(&records),
            PossibleLoss::Damage => self.sync_everything(),
        };
        synced.map_err(|e| io_error(SETTLING, &e))?;
        self.close();
        self.log.empty_log().map_err(|e| io_error(SETTLING, &e))?;
        if let Err(error) = self.merge_small_packs() {
            let repository = self.path.display();
            tracing::warn!(%repository, %error, "small packs of checkpoints stay as they are");
        }
        Ok(())
    }

    /// Puts the small objects of the log into a pack, and those that are missing or broken on the
    /// disk, as the log has them. Gives back those that lie there by themselves and have to be
    /// synced.
    fn pack_logged(&mut self, records: &[LogRecord]) -> Result<Vec<Oid>, StoreError> {
        let failed = |e: &git2::Error| git_error(SETTLING, e);
        let (repository, _) = self.open_anew(PackMode::Fast)?;
        let odb = repository.odb().map_err(|e| failed(&e))?;
        let mut seen = HashSet::new();
        let (mut packed, mut large) = (Vec::new(), Vec::new());
        let logged = records.iter().flat_map(|record| &record.objects);
        for object in logged.filter(|object| seen.insert(object.id)) {
            // Libgit2 knows the tree of nothing by heart: it can be read where it is missing.
            let is_there = odb.exists_ext(object.id, OdbLookupFlags::NO_REFRESH);
            let is_kept = is_there && is_whole(&odb, object.id, object.kind);
            if !is_kept {
                packed.push(object);
            } else if self.loose_file(object.id).exists() {
                // What lies there by itself; the rest lies in packs.
                if object.bytes.len() > PACKED_BYTES_MAX {
                    large.push(object.id);
                } else {
                    packed.push(object);
                }
            }
        }
        if packed.is_empty() {
            return Ok(large);
        }
        let config = self.path.join("weir-take.config");
        let pack = pack_of_logged(&config, &packed).map_err(|e| failed(&e))?;
        self.add_pack(&pack)?;
        for object in packed {
            remove_if_there(&self.loose_file(object.id)).map_err(|e| io_error(SETTLING, &e))?;
        }
        Ok(large)
    }

    /// Points sessions where the log says, unless somebody went on from there.
    fn put_tips_back(&mut self, records: &[LogRecord]) -> Result<(), StoreError> {
        let mut by_name: BTreeMap<&str, Vec<&LogRecord>> = BTreeMap::new();
        // It becomes the name of a file.
        for record in records.iter().filter(|record| is_ref_name(&record.name)) {
            by_name.entry(&record.name).or_default().push(record);
        }
        for (name, records) in by_name {
            let current = self.tip_as_found(name)?;
            let Some(wanted) = self.newest_readable_tip(&records)? else {
                tracing::warn!(name, "no commit that the log of checkpoints notes can be read");
                continue;
            };
            let is_known = |id: Oid| records.iter().any(|r| r.was == Some(id) || r.tip == Some(id));
            let is_beyond = match (current, wanted) {
                (Some(id), _) if is_known(id) => false,
                (Some(id), Some(wanted)) => self.reaches_commit(id, wanted)?,
                (Some(_), None) => true,
                (None, _) => false,
            };
            match wanted {
                _ if is_beyond => {}
                Some(id) if current == Some(id) => {}
                Some(id) => self.write_tip(name, id)?,
                None => self.remove_tips(&BTreeSet::from([name.to_string()]))?,
            }
        }
        Ok(())
    }

    /// Where the last of these records leaves the session; of those whose commit can be read.
    /// Outer `None`: there is none.
    fn newest_readable_tip(
        &mut self,
        records: &[&LogRecord],
    ) -> Result<Option<Option<Oid>>, StoreError> {
        let objects = self.object_database()?;
        let mut tips = records.iter().rev().map(|record| record.tip);
        Ok(tips.find(|tip| tip.is_none_or(|id| matches!(objects.try_read_commit(id), Ok(Some(_))))))
    }

    /// The tip of a ref; `None` where there is none or a power cut left no commit's name in it.
    fn tip_as_found(&self, name: &str) -> Result<Option<Oid>, StoreError> {
        let text = fs::read_to_string(self.refs_folder().join(name)).unwrap_or_default();
        match parse_id(text.trim()) {
            Some(id) => Ok(Some(id)),
            None => Ok(self.packed_tips()?.remove(name)),
        }
    }

    /// Whether `wanted` is `from` or one of the commits before it.
    fn reaches_commit(&mut self, from: Oid, wanted: Oid) -> Result<bool, StoreError> {
        let objects = self.object_database()?;
        let mut next = Some(from);
        while let Some(id) = next.filter(|id| *id != wanted) {
            // The history of one that cannot be read ends there.
            next = objects.try_read_commit(id).ok().flatten().and_then(|commit| commit.parent);
        }
        Ok(next.is_some())
    }

    fn sync_tips(&self, records: &[LogRecord]) -> io::Result<()> {
        let folder = self.refs_folder();
        let names: BTreeSet<&String> = records.iter().map(|record| &record.name).collect();
        let named = names.into_iter().filter(|name| is_ref_name(name));
        let mut paths: Vec<PathBuf> = named.map(|name| folder.join(name)).collect();
        paths.push(folder);
        // A person's `git pack-refs` takes files away.
        paths.retain(|path| path.exists());
        paths.extend(self.moved_tips());
        sync_all(&paths)
    }

    /// Where a person's `git pack-refs` may have put refs, and the folder of that: not each Git
    /// makes them durable.
    fn moved_tips(&self) -> Vec<PathBuf> {
        let packed = self.packed_refs();
        if packed.exists() { vec![packed, self.path.clone()] } else { Vec::new() }
    }

    /// Syncs every single object and every ref.
    fn sync_everything(&self) -> io::Result<()> {
        let mut paths = self.moved_tips();
        let mut folders = loose_folders(&self.path)?;
        // Where all refs are packed a backup has no folder for them.
        folders.extend(Some(self.refs_folder()).filter(|folder| folder.is_dir()));
        for folder in folders {
            paths.extend(files_of(&folder)?);
            paths.push(folder);
        }
        paths.push(self.path.join("objects"));
        sync_all(&paths)
    }

    /// Removes single objects without content, which a power cut leaves of those that no log has:
    /// plain Git would complain of them.
    fn remove_empty_objects(&self) -> io::Result<()> {
        for folder in loose_folders(&self.path)? {
            for file in files_of(&folder)? {
                if fs::metadata(&file).is_ok_and(|found| found.len() == 0) {
                    remove_if_there(&file)?;
                }
            }
        }
        Ok(())
    }
}

/// The boot in which files are kept that were not synced, and the folder in which they are: a copy
/// of it, or a backup, may lack what the log has. Empty where nobody vouches for that.
fn boot_of(repository: &Path) -> String {
    let boot = match network_file_system(repository) {
        Some(_) => String::new(),
        None => boot_id(),
    };
    match fs::metadata(repository) {
        Ok(found) if !boot.is_empty() => format!("{boot} {}:{}", found.dev(), found.ino()),
        Ok(_) | Err(_) => String::new(),
    }
}

/// A pack of these objects, whatever the disk has in their places.
fn pack_of_logged(config: &Path, objects: &[&WrittenObject]) -> Result<Buf, git2::Error> {
    let memory = Odb::new()?;
    memory.add_new_mempack_backend(MEMPACK_PRIORITY)?;
    let repository = Repository::from_odb(memory)?;
    repository.set_config(&Config::open(config)?)?;
    let odb = repository.odb()?;
    let mut builder = repository.packbuilder()?;
    for object in objects {
        builder.insert_object(odb.write(object.kind, &object.bytes)?, None)?;
    }
    let mut pack = Buf::new();
    builder.write_buf(&mut pack)?;
    Ok(pack)
}

/// Whether a name is one that `ref_name` gives.
fn is_ref_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '%');
    !name.is_empty() && name.chars().all(is_part)
}

fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests;
