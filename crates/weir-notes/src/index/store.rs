//! Where the records of an index are: in a file of whoever holds the index, the newest in memory until they
//! are written; and the notes that were asked for last, parsed. Not here: what a record says (`record`),
//! opening the file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::{NoteRecord, is_intact};
use crate::note::NoteFacts;
use crate::resolve::FileNumber;

/// A file that bytes are put at the end of and read from at their places. What was once appended never
/// changes and stays as long as this value lives, whatever becomes of the file's name.
pub trait RecordFile: std::fmt::Debug + Send + Sync {
    /// Reads bytes from a place; fewer than wanted only where the file ends.
    ///
    /// # Errors
    /// A sentence: the system cannot read them.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, String>;
    /// Puts bytes at the end, in one piece; where they begin.
    ///
    /// # Errors
    /// A sentence: the system refuses.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, String>;
}

/// Where a record stands, frame included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordPlace {
    offset: u64,
    /// 0: there is no record.
    length: u32,
}

/// Offsets of records that are not written yet: their places in memory.
const WAITING: u64 = 1 << 63;
/// So many bytes of records wait in memory until they are written in one piece (K1).
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Where one record is read behind another, so much is read at once (K1).
const AHEAD_BYTES: usize = 1 << 18;
/// So far behind the last one a record is still one that follows it.
const AHEAD_GAP_MAX: u64 = 1 << 14;
/// Bytes of parsed notes that are held in memory, those asked for last (K1): some hundreds of notes.
const PARSED_BYTES_MAX: usize = 4_000_000;
/// A parsed note takes about so many times the bytes of its record.
const PARSED_FACTOR: usize = 5;

impl RecordPlace {
    /// A place; `None`: no record is so long or so far.
    pub(super) fn new(offset: u64, length: usize) -> Option<RecordPlace> {
        let length = u32::try_from(length).ok()?;
        (offset < WAITING).then_some(RecordPlace { offset, length })
    }
    /// Whether a record stands there.
    pub(super) fn is_some(self) -> bool {
        self.length > 0
    }
    /// Bytes of the record, frame included.
    pub(super) fn bytes(self) -> usize {
        self.length as usize
    }
    /// The place of a record in a file that was written anew, or in memory where there is none.
    pub(super) fn after_rewrite(base: Option<usize>, offset: usize, length: usize) -> RecordPlace {
        let offset = match base {
            Some(base) => (base + offset) as u64,
            None => WAITING | offset as u64,
        };
        RecordPlace { offset, length: u32::try_from(length).unwrap_or(0) }
    }
    /// In the order of the file: what is read in it is read fast.
    pub(super) fn file_order(self) -> u64 {
        self.offset
    }
}

/// The records.
#[derive(Debug, Default)]
pub(super) struct RecordStore {
    file: Option<Box<dyn RecordFile>>,
    /// Records that are not written: all of them where there is no file.
    waiting: Vec<u8>,
    /// Files whose records wait.
    waiting_files: Vec<FileNumber>,
    /// The file took nothing the last time: it is asked again when somebody wants it.
    refused: bool,
    ahead: Mutex<ReadAhead>,
    parsed: Mutex<ParsedNotes>,
    /// Why a record could not be read.
    damage: Mutex<Option<String>>,
}

/// What was read of the file beyond what was asked for.
#[derive(Debug, Default)]
struct ReadAhead {
    from: u64,
    bytes: Vec<u8>,
    /// Behind the record that was read last.
    last_end: u64,
}

/// Parsed notes in two halves: when the newer one is full, the older one goes.
#[derive(Debug, Default)]
struct ParsedNotes {
    newer: HashMap<FileNumber, Arc<NoteFacts>>,
    newer_bytes: usize,
    older: HashMap<FileNumber, Arc<NoteFacts>>,
}

fn lock_value<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordStore {
    /// Whether there is a file.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }
    /// Bytes in memory that wait to be written.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.len()
    }
    /// Whether so much waits that it should be written.
    pub(super) fn is_full(&self) -> bool {
        self.file.is_some() && !self.refused && self.waiting.len() >= WAITING_BYTES_MAX
    }
    /// Takes a record up; `number`: whose it is.
    pub(super) fn put(&mut self, record: &[u8], number: FileNumber) -> RecordPlace {
        let offset = WAITING | self.waiting.len() as u64;
        self.waiting.extend_from_slice(record);
        self.waiting_files.push(number);
        lock_value(&self.parsed).forget(number);
        RecordPlace { offset, length: u32::try_from(record.len()).unwrap_or(0) }
    }
    /// Takes up that a file is gone.
    pub(super) fn put_removal(&mut self, record: &[u8], number: FileNumber) {
        if self.file.is_some() {
            self.waiting.extend_from_slice(record);
        }
        lock_value(&self.parsed).forget(number);
    }
    /// Forgets a parsed note.
    pub(super) fn forget_parsed(&mut self, number: FileNumber) {
        lock_value(&self.parsed).forget(number);
    }
    /// Writes what waits. Each file with a place in memory gets its place in the file from `moved`.
    ///
    /// # Errors
    /// The file does not take it: it stays in memory.
    pub(super) fn write_waiting(
        &mut self,
        mut moved: impl FnMut(FileNumber, &dyn Fn(RecordPlace) -> RecordPlace),
    ) -> Result<(), String> {
        let Some(file) = self.file.as_mut().filter(|_| !self.waiting.is_empty()) else {
            return Ok(());
        };
        let base = match file.append(&self.waiting) {
            Ok(base) => base,
            Err(why) => {
                self.refused = true;
                return Err(why);
            }
        };
        self.refused = false;
        let place = |place: RecordPlace| match place.offset & WAITING {
            0 => place,
            _ => RecordPlace { offset: base + (place.offset & !WAITING), ..place },
        };
        for number in self.waiting_files.drain(..) {
            moved(number, &place);
        }
        self.waiting.clear();
        self.waiting.shrink_to(WAITING_BYTES_MAX);
        self.waiting_files.shrink_to(0);
        Ok(())
    }
    /// Takes another file in place of what there is. Places of before mean nothing any more.
    pub(super) fn replace_file(&mut self, file: Option<Box<dyn RecordFile>>, waiting: Vec<u8>) {
        self.file = file;
        self.waiting = waiting;
        self.waiting_files = Vec::new();
        self.refused = false;
        *lock_value(&self.ahead) = ReadAhead::default();
    }

    /// A record. `None`: there is none, or it cannot be read, which is then known.
    pub(super) fn read(&self, place: RecordPlace) -> Option<NoteRecord> {
        if !place.is_some() {
            return None;
        }
        let read = self.read_intact(place).map(NoteRecord::of_intact);
        read.map_err(|why| self.note_damage(why)).ok()
    }
    /// The bytes of a record, frame included.
    pub(super) fn read_intact(&self, place: RecordPlace) -> Result<Vec<u8>, String> {
        let bytes = self.read_bytes(place)?;
        match is_intact(&bytes) {
            true => Ok(bytes),
            false => Err("a record is not as it was written".to_owned()),
        }
    }
    fn read_bytes(&self, place: RecordPlace) -> Result<Vec<u8>, String> {
        let length = place.length as usize;
        if place.offset & WAITING != 0 {
            let from = usize::try_from(place.offset & !WAITING).unwrap_or(usize::MAX);
            let bytes = self.waiting.get(from..from.saturating_add(length));
            return bytes.map(<[u8]>::to_vec).ok_or_else(|| "a record is gone".to_owned());
        }
        let file = self.file.as_deref().ok_or("the file of records is gone")?;
        lock_value(&self.ahead).read(file, place.offset, length)
    }
    /// What stands in a note, held for a while.
    pub(super) fn read_parsed(
        &self,
        number: FileNumber,
        place: RecordPlace,
    ) -> Option<Arc<NoteFacts>> {
        if let Some(found) = lock_value(&self.parsed).find(number) {
            return Some(found);
        }
        let facts = Arc::new(self.read_facts(place)?);
        lock_value(&self.parsed).hold(number, &facts, place.length as usize * PARSED_FACTOR);
        Some(facts)
    }
    /// What stands in a note, for whoever goes over many of them.
    pub(super) fn read_facts(&self, place: RecordPlace) -> Option<NoteFacts> {
        self.require(self.read(place)?.facts())
    }
    /// What was read of an intact record; where it is nothing, the record is not one of ours.
    pub(super) fn require<T>(&self, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.note_damage("a record says what no record says".to_owned());
        }
        read
    }
    pub(super) fn note_damage(&self, why: String) {
        lock_value(&self.damage).get_or_insert(why);
    }
    /// Why a record could not be read, since it was asked last.
    pub(super) fn take_damage(&self) -> Option<String> {
        lock_value(&self.damage).take()
    }
}

impl ReadAhead {
    fn read(
        &mut self,
        file: &dyn RecordFile,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, String> {
        let end = offset + length as u64;
        let follows = offset >= self.last_end && offset - self.last_end <= AHEAD_GAP_MAX;
        self.last_end = end;
        if let Some(bytes) = self.held_bytes(offset, length) {
            return Ok(bytes.to_vec());
        }
        if !follows || length > AHEAD_BYTES {
            let mut bytes = vec![0; length];
            let read = file.read_at(offset, &mut bytes)?;
            return if read == length { Ok(bytes) } else { Err("the file ends early".into()) };
        }
        self.bytes.resize(AHEAD_BYTES, 0);
        self.from = offset;
        // Where it fails, nothing that was held before is taken for what was asked.
        let read = file.read_at(offset, &mut self.bytes);
        self.bytes.truncate(read.as_ref().map_or(0, |read| *read));
        read?;
        self.held_bytes(offset, length)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| "the file ends early".into())
    }
    fn held_bytes(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let at = usize::try_from(offset.checked_sub(self.from)?).ok()?;
        self.bytes.get(at..at.checked_add(length)?)
    }
}

impl ParsedNotes {
    fn find(&mut self, number: FileNumber) -> Option<Arc<NoteFacts>> {
        let found = self.newer.get(&number).or_else(|| self.older.get(&number));
        found.cloned()
    }
    fn hold(&mut self, number: FileNumber, facts: &Arc<NoteFacts>, bytes: usize) {
        if bytes > PARSED_BYTES_MAX / 2 {
            return;
        }
        if self.newer_bytes + bytes > PARSED_BYTES_MAX / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
        self.newer_bytes += bytes;
        self.newer.insert(number, Arc::clone(facts));
    }
    fn forget(&mut self, number: FileNumber) {
        self.newer.remove(&number);
        self.older.remove(&number);
    }
}
