//! Small packs of a shadow repository become one: there is another one each time that the log is
//! emptied, and each that something is read from is an open file. Not here: what removes contents
//! that nothing reaches (`collect`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::{Buf, Oid};
use weir_engine::ports::StoreError;

use super::objects::{git_error, remove_if_there};
use super::repository::{PackMode, ShadowRepository, files_if_there};
use crate::filesystem::io_error;

const MERGING: &str = "making one pack of several";

/// So many small packs become one.
pub(super) const SMALL_PACKS_MAX: usize = 32;
/// A pack of so many bytes is small.
const SMALL_PACK_BYTES: u64 = 1 << 20;

/// A pack with the names of its objects.
struct SmallPack {
    file: PathBuf,
    ids: Vec<Oid>,
}

impl ShadowRepository {
    /// Makes one pack of the small ones where they are many. Nothing depends on it: where it fails
    /// they stay as they are.
    pub(super) fn merge_small_packs(&mut self) -> Result<(), StoreError> {
        let failed = |e: &git2::Error| git_error(MERGING, e);
        let small = self.small_packs().map_err(|e| io_error(MERGING, &e))?;
        if small.len() < SMALL_PACKS_MAX {
            return Ok(());
        }
        let (repository, _) = self.open_anew(PackMode::Fast)?;
        let mut builder = repository.packbuilder().map_err(|e| failed(&e))?;
        for id in small.iter().flat_map(|pack| &pack.ids) {
            builder.insert_object(*id, None).map_err(|e| failed(&e))?;
        }
        let mut pack = Buf::new();
        builder.write_buf(&mut pack).map_err(|e| failed(&e))?;
        let name = self.add_pack(&pack)?;
        let merged = small.iter().filter(|pack| !pack.is_named(&name));
        for pack in merged {
            // First what Git looks for.
            for kind in ["idx", "pack"] {
                let file = pack.file.with_extension(kind);
                remove_if_there(&file).map_err(|e| io_error(MERGING, &e))?;
            }
        }
        Ok(())
    }

    fn small_packs(&self) -> io::Result<Vec<SmallPack>> {
        let mut small = Vec::new();
        if self.pack_folder().join("multi-pack-index").exists() {
            // A person's Git knows which packs there are.
            return Ok(small);
        }
        for file in files_if_there(&self.pack_folder())? {
            let is_small = file.extension().is_some_and(|kind| kind == "pack")
                && fs::symlink_metadata(&file)?.len() <= SMALL_PACK_BYTES;
            // Beside those that Git made lies more than an index, or somebody wants to keep them.
            let is_plain =
                || !["keep", "rev", "bitmap"].iter().any(|kind| file.with_extension(kind).exists());
            if is_small
                && is_plain()
                && let Some(ids) = read_ids(&file.with_extension("idx"))?
            {
                small.push(SmallPack { file, ids });
            }
        }
        Ok(small)
    }
}

impl SmallPack {
    fn is_named(&self, name: &str) -> bool {
        self.file.file_stem().is_some_and(|stem| stem == name)
    }
}

/// The names in the index of a pack. `None`: it is no index as Git has them today.
fn read_ids(index: &Path) -> io::Result<Option<Vec<Oid>>> {
    /// The word of an index and the number of its form.
    const HEAD: &[u8] = b"\xfftOc\0\0\0\x02";
    /// How many names begin with at most each byte.
    const COUNTS_BYTES: usize = 256 * 4;
    const ID_BYTES: usize = 20;
    let bytes = match fs::read(index) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let names = || -> Option<Vec<Oid>> {
        let (counts, rest) = bytes.strip_prefix(HEAD)?.split_at_checked(COUNTS_BYTES)?;
        let count = u32::from_be_bytes(*counts.last_chunk()?) as usize;
        let ids = rest.get(..count.checked_mul(ID_BYTES)?)?;
        ids.chunks_exact(ID_BYTES).map(|id| Oid::from_bytes(id).ok()).collect()
    };
    Ok(names())
}
