//! How the records of an index come to a file and are written anew. Not here: opening the file, what a
//! record says (`record`), where each is held (`store`).

use super::NoteIndex;
use super::record::{HEADER_BYTES, KeptIndex};
use super::store::{RecordFile, RecordPlace};

/// So many records more than twice the notes, and the file of records is written anew (K1).
const SPARE_RECORDS_MAX: usize = 2_000;
/// Without a file, so many bytes of records that count no more are held (K1).
const SPARE_BYTES_MAX: usize = 1 << 20;
/// A file of records is written anew in pieces of so many bytes.
const COPIED_BYTES: usize = 1 << 20;

impl NoteIndex {
    /// Takes a file of records that was looked through: `put_kept` reads from it, and what is new is put
    /// at its end. Before any file is taken up.
    pub fn use_kept(&mut self, file: Box<dyn RecordFile>, kept: &KeptIndex) {
        self.records = kept.records;
        self.store.replace_file(Some(file), Vec::new());
    }
    /// Writes to the file what waits in memory. Without a file it stays there.
    ///
    /// # Errors
    /// A sentence: the file does not take it. It stays in memory, and nothing is lost.
    pub fn write_waiting(&mut self) -> Result<(), String> {
        let slots = &mut self.slots;
        self.store.write_waiting(|number, place| {
            if let Some(slot) = slots.get_mut(number as usize) {
                slot.place = place(slot.place);
            }
        })
    }
    /// Whether there is something to write, and a file to write it to.
    pub fn has_waiting(&self) -> bool {
        self.store.has_file() && self.store.waiting_bytes() > 0
    }
    /// Whether so many records count no more that all should be written anew.
    pub fn is_wasteful(&self) -> bool {
        match self.store.has_file() {
            true => {
                let kept = || self.slots.iter().filter(|slot| slot.place.is_some()).count();
                self.records > SPARE_RECORDS_MAX && self.records > kept() * 2 + SPARE_RECORDS_MAX
            }
            false => {
                let held: usize = self.slots.iter().map(|slot| slot.place.bytes()).sum();
                self.store.waiting_bytes() > held.saturating_mul(2).saturating_add(SPARE_BYTES_MAX)
            }
        }
    }
    /// Writes the records that count to an empty file, or in memory where there is none, in the order of
    /// their paths; `put_in_place` then makes it the file that is found later.
    ///
    /// # Errors
    /// A sentence: a record cannot be read, or the file does not take it. Then all is as it was.
    pub fn rewrite<F: RecordFile + 'static>(
        &mut self,
        file: Option<F>,
        put_in_place: impl FnOnce(&mut F) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut file = file;
        let (mut places, mut waiting) = (Vec::new(), Vec::new());
        let mut written: usize = 0;
        for number in self.path_order().iter() {
            let Some(place) = self.place_of(*number) else { continue };
            // Who asks next makes the index anew, or it would never be written again.
            let record = self.store.read_intact(place);
            waiting
                .extend_from_slice(&record.inspect_err(|why| self.store.note_damage(why.clone()))?);
            places.push((*number, written, place.bytes()));
            written += place.bytes();
            if let Some(file) = file.as_mut().filter(|_| waiting.len() >= COPIED_BYTES) {
                file.append(&waiting)?;
                waiting.clear();
            }
        }
        if let Some(file) = &mut file {
            file.append(&waiting)?;
            waiting = Vec::new();
            put_in_place(file)?;
        }
        waiting.shrink_to_fit();
        let base = file.is_some().then_some(HEADER_BYTES);
        self.records = places.len();
        self.store.replace_file(file.map(|file| Box::new(file) as Box<dyn RecordFile>), waiting);
        for (number, offset, length) in places {
            self.slots[number as usize].place = RecordPlace::after_rewrite(base, offset, length);
        }
        self.postings.shrink();
        Ok(())
    }
}
