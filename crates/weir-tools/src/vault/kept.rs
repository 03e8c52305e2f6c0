//! The index of a vault in the state directory: a file of records that is read at its places and grows at its
//! end, written anew when much of it counts no more, and at once when it has what nobody may see. It can be
//! deleted at any time. Not here: what records say (`weir-notes`), what the vault has (`vault`).

use weir_engine::workspace::{DerivedFile, Workspace};
use weir_notes::index::{KeptIndex, RecordFile, header_bytes, scan_records};

use super::{KeptFiles, NoteVault};

/// The index's file in the state directory.
pub(crate) const INDEX_FILE: &str = "notes.index";
/// What it was called before 100,000 notes fitted into memory.
const FORMER_INDEX_FILE: &str = "notes.jsonl";

/// The file of records.
#[derive(Debug)]
struct IndexFile(DerivedFile);

impl RecordFile for IndexFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, String> {
        self.0.read_at(offset, bytes).map_err(|error| error.to_string())
    }
    fn append(&mut self, bytes: &[u8]) -> Result<u64, String> {
        self.0.append(bytes).map_err(|error| error.to_string())
    }
}

impl NoteVault {
    /// The files that the kept index has. What is new is put to it, or where it cannot be used to one that
    /// is begun anew.
    pub(super) fn load_index(&mut self, workspace: &Workspace) -> KeptFiles {
        self.loaded = true;
        workspace.remove_derived(FORMER_INDEX_FILE);
        let opened = workspace.open_derived(INDEX_FILE, &header_bytes(), |file| {
            scan_records(|offset, bytes| file.read_at(offset, bytes).ok())
        });
        let Ok(Some((file, Some(kept)))) = opened else {
            self.start_anew(workspace);
            return KeptFiles::new();
        };
        self.index.use_kept(Box::new(IndexFile(file)), &kept);
        self.rewrite_due = !kept.whole;
        kept.files
    }

    /// Begins an empty file, so that what is read on the way need not stay in memory.
    pub(super) fn start_anew(&mut self, workspace: &Workspace) {
        let made = workspace.create_derived(INDEX_FILE, &header_bytes());
        let placed = made.ok().flatten().and_then(|mut file| {
            file.put_in_place().ok()?;
            Some(file)
        });
        match placed {
            Some(file) => {
                self.index.use_kept(Box::new(IndexFile(file)), &KeptIndex::default());
            }
            // The whole of it is in memory, and written when that is possible.
            None => self.rewrite_due = true,
        }
    }

    /// Writes down what changed. Where it cannot be written it stays in memory, and costs the next session
    /// time, nothing else.
    pub(super) fn keep_index(&mut self, workspace: &Workspace) {
        // Somebody deleted it: the next session would find what is put to it now nowhere.
        let is_lost = self.index.has_waiting() && !workspace.has_derived(INDEX_FILE);
        if self.rewrite_due || is_lost || self.index.is_wasteful() {
            let made = workspace.create_derived(INDEX_FILE, &header_bytes());
            let written = made.map_err(|why| why.to_string()).and_then(|file| {
                self.index.rewrite(file.map(IndexFile), |file| {
                    file.0.put_in_place().map_err(|why| why.to_string())
                })
            });
            self.rewrite_due = written.is_err();
        }
        // After it was written anew nothing waits; what is refused is tried again at the next need.
        let _ = self.index.write_waiting();
    }
}
