//! How the texts of a workspace get into their index and stay current: by size, times and content. Not
//! here: what becomes of a text in it (`weir-meaning`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use weir_core::tool::PathAccess;
use weir_engine::ports::{Clock as _, FileContent};
use weir_engine::workspace::{
    EntryKind, WalkOptions, WorkspaceEntry, holds_private_key, is_fixture,
};
use weir_meaning::{MeaningIndex, SourceParts, SourceStamp};

use super::super::SystemClock;
use super::{IndexState, WorkspaceSearch, is_closed};

/// Endings of files that people read.
const TEXT_ENDINGS: [&str; 7] = [".md", ".markdown", ".mdx", ".txt", ".rst", ".org", ".adoc"];
/// Largest file that is read.
pub(super) const FILE_BYTES_MAX: u64 = 2_000_000;
/// Most entries of a workspace that are looked at.
const ENTRIES_MAX: usize = 400_000;
/// How long one call reads files; what is left is read by the next.
const READING_TIME: Duration = Duration::from_secs(20);
/// Files between two words of progress.
const PROGRESS_EVERY: usize = 500;
/// A file that was changed so shortly before it was read may change again within the same tick of the
/// clock that stamps it.
const YOUNG_SECONDS: i64 = 2;

/// What reading a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceChange {
    Nothing,
    Stamp,
    Content,
}

impl WorkspaceSearch {
    /// Reads what is new or changed and forgets what is gone or hidden.
    pub(super) fn bring_up_to_date(&self, index: &mut MeaningIndex) -> Result<IndexState, String> {
        let top = self.workspace.resolve_tree(".", PathAccess::List);
        let options = WalkOptions {
            recursive: true,
            respect_gitignore: true,
            hidden: false,
            max_entries: ENTRIES_MAX,
        };
        let walk = self.workspace.walk(&top, options).map_err(|why| why.to_string())?;
        let mut state = IndexState::default();
        if walk.truncated {
            state.notes.push(format!(
                "the workspace has more than {ENTRIES_MAX} entries; the others are left out"
            ));
        }
        let start = Instant::now();
        let now_s = SystemClock::default().now().0 / 1_000_000;
        let mut here: BTreeSet<&str> = BTreeSet::new();
        let mut read = 0;
        for entry in walk.entries.iter().filter(|entry| is_text(entry)) {
            if self.cancel.is_cancelled() {
                return Err("the search was cancelled".into());
            }
            here.insert(&entry.path);
            if index.source_stamp(&entry.path).is_some_and(|known| is_as_stamped(entry, known)) {
                continue;
            }
            if start.elapsed() > READING_TIME {
                state.left += 1;
                continue;
            }
            match self.read_source(index, entry, now_s) {
                SourceChange::Nothing => (),
                SourceChange::Stamp => state.restamped = true,
                SourceChange::Content => state.changed = true,
            }
            read += 1;
            if read % PROGRESS_EVERY == 0 {
                self.progress.send(&format!("{read} files read\n"));
            }
        }
        let gone: Vec<String> = index
            .source_stamps()
            .filter(|(name, _)| !here.contains(name))
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in gone {
            state.changed |= index.remove_source(&name);
        }
        Ok(state)
    }

    /// Puts a file in as it is now.
    fn read_source(
        &self,
        index: &mut MeaningIndex,
        entry: &WorkspaceEntry,
        now_s: i64,
    ) -> SourceChange {
        let at = self.workspace.effect_of_entry(entry);
        let text = (!is_closed(&at)).then(|| self.workspace.read(&at, FILE_BYTES_MAX));
        let Some(Ok(FileContent::File { bytes, .. })) = text else {
            return match index.remove_source(&entry.path) {
                true => SourceChange::Content,
                false => SourceChange::Nothing,
            };
        };
        let digest = Sha256::digest(&bytes);
        let digest = digest.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        let changed_s = (entry.changed_ns / 1_000_000_000).max(entry.modified);
        let is_young = now_s - changed_s < YOUNG_SECONDS;
        let changed_ns = if is_young { 0 } else { entry.changed_ns };
        let WorkspaceEntry { bytes: length, modified, .. } = *entry;
        let stamp = SourceStamp { bytes: length, modified, changed_ns, digest };
        match index.source_stamp(&entry.path) {
            Some(known) if known == stamp => SourceChange::Nothing,
            Some(known) if known.digest == digest => {
                index.replace_stamp(&entry.path, stamp);
                SourceChange::Stamp
            }
            Some(_) | None => {
                let text = String::from_utf8_lossy(&bytes);
                let parts = match is_left_out(&entry.path, &text) {
                    true => SourceParts::default(),
                    false => SourceParts::of_text(&text),
                };
                index.put_source(&entry.path, stamp, &parts);
                SourceChange::Content
            }
        }
    }
}

/// Whether a file stands in no index: it is no text, whatever its name says, or its passages would show a
/// private key, to the model and to the one that makes vectors.
pub(super) fn is_left_out(path: &str, text: &str) -> bool {
    text.contains('\0') || (!is_fixture(path) && holds_private_key(text))
}

/// Whether a file has the size and times of when it was read; then it is not read again.
fn is_as_stamped(entry: &WorkspaceEntry, known: SourceStamp) -> bool {
    known.changed_ns != 0
        && known.changed_ns == entry.changed_ns
        && known.modified == entry.modified
        && known.bytes == entry.bytes
}

fn is_text(entry: &WorkspaceEntry) -> bool {
    let name = entry.path.to_lowercase();
    entry.kind == EntryKind::File
        && entry.bytes <= FILE_BYTES_MAX
        && TEXT_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
