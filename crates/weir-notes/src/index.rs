//! The index of a vault: every file, and what stands in each note, so that links, tags and properties
//! are answered without reading a note again. Derived: it is made anew from the files at any time. What
//! stands in a note is kept in a file of records; in memory are names, places and what notes are found by
//! (K1: some hundred bytes a note). Not here: reading notes and opening that file (whoever holds the
//! index), which files may be seen.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::note::{self, LinkForm, NoteFacts, NoteLink, tag_key};
use crate::resolve::{FileNumber, NameTable, file_name, is_note};

mod backlinks;
mod keeping;
mod postings;
mod record;
mod store;

pub use backlinks::{FoundLink, LinkPlace};
pub use postings::FileSet;
pub use record::{
    HEADER_BYTES, INDEX_VERSION, KeptIndex, KeptRecord, NoteRecord, file_record, header_bytes,
    removal_record, scan_records,
};
pub use store::{RecordFile, RecordPlace};

use backlinks::LedLinks;
use postings::{FileKeys, FilePostings};
use store::RecordStore;

/// By what a file is known to be unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub bytes: u64,
    /// Last change, in nanoseconds since 1970; 0: it is not known.
    pub modified: i64,
}

/// A file of the vault as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexedFile {
    /// Its path from the vault.
    pub path: String,
    /// What it was when it was read.
    pub stamp: FileStamp,
    /// Of what its text is, so that a new time alone is no new text. Empty: it was not read.
    pub hash: String,
    /// What stands in it: of notes and canvases.
    pub facts: Option<Box<NoteFacts>>,
}

/// A file of the vault as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFile<'a> {
    /// Its path from the vault.
    pub path: &'a str,
    /// What it was when it was read.
    pub stamp: FileStamp,
    /// What stands in it is known.
    pub known: bool,
}

/// A link with the file it stands in.
#[derive(Debug, Clone, Copy)]
pub struct IndexedLink<'a> {
    /// The file.
    pub source: FileNumber,
    /// The link.
    pub link: &'a NoteLink,
}

impl<'a> IndexedLink<'a> {
    /// The links of a file.
    pub fn all_of(
        source: FileNumber,
        facts: &'a NoteFacts,
    ) -> impl Iterator<Item = IndexedLink<'a>> {
        facts.links.iter().map(move |link| IndexedLink { source, link })
    }
}

/// What is held of a file.
#[derive(Debug, Default)]
struct FileSlot {
    stamp: FileStamp,
    place: RecordPlace,
}

/// All files of a vault.
#[derive(Debug, Default)]
pub struct NoteIndex {
    slots: Vec<FileSlot>,
    free: Vec<FileNumber>,
    names: NameTable,
    store: RecordStore,
    /// Records of the file and of those that wait, those that count no more included.
    records: usize,
    postings: FilePostings,
    order: Mutex<PathOrder>,
    led: Mutex<LedLinks>,
}

/// Files in the order of their paths, made when somebody asks.
#[derive(Debug, Default)]
struct PathOrder {
    numbers: Arc<Vec<FileNumber>>,
    /// Files that are not among them yet.
    added: Vec<FileNumber>,
}

/// So many files are put in their places one by one; where there are more, all are sorted.
const PLACED_ONE_BY_ONE_MAX: usize = 50;

impl PathOrder {
    fn settle(&mut self, names: &NameTable) {
        if self.added.is_empty() {
            return;
        }
        let numbers = Arc::make_mut(&mut self.numbers);
        if self.added.len() > PLACED_ONE_BY_ONE_MAX {
            numbers.append(&mut self.added);
            numbers.sort_by(|a, b| names.path_of(*a).cmp(names.path_of(*b)));
            numbers.shrink_to_fit();
            self.added = Vec::new();
        }
        for number in self.added.drain(..) {
            let path = names.path_of(number);
            let at = numbers.partition_point(|other| names.path_of(*other) < path);
            numbers.insert(at, number);
        }
    }
    /// Lets a file go that still has its path.
    fn remove(&mut self, number: FileNumber, names: &NameTable) {
        if let Some(at) = self.added.iter().position(|other| *other == number) {
            self.added.swap_remove(at);
            return;
        }
        let path = names.path_of(number);
        let at = self.numbers.binary_search_by(|other| names.path_of(*other).cmp(path));
        if let Ok(at) = at {
            Arc::make_mut(&mut self.numbers).remove(at);
        }
    }
}

/// Whether what stands in a file of this path is read.
pub fn is_read(path: &str) -> bool {
    is_note(path) || has_ending(path, "canvas")
}

/// Whether a path has this ending, whatever the case.
pub fn has_ending(path: &str, ending: &str) -> bool {
    file_name(path).rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case(ending))
}

/// What stands in a text of this path.
pub fn facts_of(path: &str, text: &str) -> NoteFacts {
    if is_note(path) { note::parse_note(text) } else { note::parse_canvas(text) }
}

fn name_key(path: &str) -> String {
    crate::resolve::strip_note_ending(file_name(path)).to_lowercase()
}

impl NoteIndex {
    /// Files, in no order that means anything.
    pub fn list_files(&self) -> impl Iterator<Item = (FileNumber, ListedFile<'_>)> {
        let numbers = (0..self.slots.len()).filter_map(|at| FileNumber::try_from(at).ok());
        numbers.filter_map(|number| Some((number, self.file_at(number)?)))
    }
    /// The numbers of all files in the order of their paths.
    pub fn path_order(&self) -> Arc<Vec<FileNumber>> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.settle(&self.names);
        Arc::clone(&order.numbers)
    }
    /// Notes in which it is known what stands, in the order of their paths.
    pub fn list_notes(&self) -> Vec<(FileNumber, ListedFile<'_>)> {
        let order = self.path_order();
        let files = order.iter().filter_map(|number| Some((*number, self.file_at(*number)?)));
        files.filter(|(_, file)| file.known && is_note(file.path)).collect()
    }
    /// How many files there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Files by name.
    pub fn name_table(&self) -> &NameTable {
        &self.names
    }
    /// A file by its number.
    pub fn file_at(&self, number: FileNumber) -> Option<ListedFile<'_>> {
        let slot = self.slots.get(number as usize)?;
        let path = self.names.path_of(number);
        let known = slot.place.is_some();
        (!path.is_empty()).then_some(ListedFile { path, stamp: slot.stamp, known })
    }
    /// A file by its path, whatever the case.
    pub fn find_file(&self, path: &str) -> Option<(FileNumber, ListedFile<'_>)> {
        let number = self.names.find_path(path)?;
        Some((number, self.file_at(number)?))
    }
    /// What a person means by a name: a path, a path without its ending, a title, an alias.
    pub fn find_named(&self, name: &str) -> Option<FileNumber> {
        let name = name.trim().trim_start_matches("[[").trim_end_matches("]]");
        let by_name = self.names.resolve_link(LinkForm::Wiki, name, "");
        by_name.or_else(|| self.files_with_alias(name).into_iter().next())
    }
    /// Notes that have this alias, in the order of their paths.
    pub fn files_with_alias(&self, alias: &str) -> Vec<FileNumber> {
        let key = alias.to_lowercase();
        let has = |number: &FileNumber| {
            is_note(self.names.path_of(*number))
                && self.aliases_of(*number).iter().any(|other| other.to_lowercase() == key)
        };
        let mut found: Vec<FileNumber> = self.postings.aliases.files_of(&key).filter(has).collect();
        found.sort_by(|a, b| self.names.path_of(*a).cmp(self.names.path_of(*b)));
        found
    }
    /// Other names of a note.
    pub fn aliases_of(&self, number: FileNumber) -> Vec<String> {
        if !self.postings.aliased.contains(number) {
            return Vec::new();
        }
        let record = self.record_of(number);
        record.and_then(|record| self.store.require(record.aliases())).unwrap_or_default()
    }

    /// What stands in a file, held for a while: for a few files.
    pub fn facts_at(&self, number: FileNumber) -> Option<Arc<NoteFacts>> {
        self.store.read_parsed(number, self.place_of(number)?)
    }
    /// What stands in a file: for whoever goes over many.
    pub fn read_facts(&self, number: FileNumber) -> Option<NoteFacts> {
        self.store.read_facts(self.place_of(number)?)
    }
    /// A file's record, of which parts are read.
    pub fn record_of(&self, number: FileNumber) -> Option<NoteRecord> {
        self.store.read(self.place_of(number)?)
    }
    /// The hash of the text that is indexed; empty: it is not known.
    pub fn hash_of(&self, number: FileNumber) -> String {
        let record = self.record_of(number);
        record.and_then(|record| self.store.require(record.hash())).unwrap_or_default()
    }
    fn place_of(&self, number: FileNumber) -> Option<RecordPlace> {
        let place = self.slots.get(number as usize)?.place;
        place.is_some().then_some(place)
    }
    /// Why a record could not be read since this was asked last: then answers lack what stands there, and
    /// the index must be made anew.
    pub fn take_damage(&self) -> Option<String> {
        self.store.take_damage()
    }

    /// Takes a file up, in place of what was known of it.
    pub fn put_file(&mut self, file: &IndexedFile) -> FileNumber {
        let number = self.take_number(&file.path);
        let keys = file.facts.as_deref().map(|facts| self.postings.keys_of(facts));
        // A record that is longer than one may be is as if the note had not been read.
        let record = keys.as_ref().and_then(|_| file_record(file));
        let old = self.known_keys(number);
        let place = match &record {
            Some(record) => {
                self.records += 1;
                self.store.put(record, number)
            }
            None => {
                self.store.forget_parsed(number);
                RecordPlace::default()
            }
        };
        let keys = keys.filter(|_| record.is_some()).unwrap_or_default();
        self.set_file(number, FileSlot { stamp: file.stamp, place }, old, &keys);
        if self.store.is_full() {
            // What is not taken stays in memory, and whoever holds the index asks again.
            let _ = self.write_waiting();
        }
        number
    }
    /// Takes a file up as its record tells it; whether it has more parts than are known. `None`: the record
    /// is of another file, or cannot be read.
    pub fn put_kept(&mut self, path: &str, kept: &KeptRecord) -> Option<bool> {
        let file = self.store.read(kept.place)?.to_file().filter(|file| file.path == path)?;
        let facts = file.facts?;
        let keys = self.postings.keys_of(&facts);
        let number = self.take_number(path);
        let old = self.known_keys(number);
        self.store.forget_parsed(number);
        self.set_file(number, FileSlot { stamp: kept.stamp, place: kept.place }, old, &keys);
        Some(facts.cut)
    }
    fn take_number(&mut self, path: &str) -> FileNumber {
        self.forget_led(path);
        let known = self.names.find_path(path);
        if let Some(number) = known.filter(|number| self.names.path_of(*number) == path) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(FileSlot::default());
            FileNumber::try_from(self.slots.len() - 1).unwrap_or(FileNumber::MAX)
        });
        self.names.insert(number, path);
        self.order.get_mut().unwrap_or_else(PoisonError::into_inner).added.push(number);
        number
    }
    /// By what a file is found now; `None`: its record cannot be read.
    fn known_keys(&self, number: FileNumber) -> Option<FileKeys> {
        match self.place_of(number) {
            Some(place) => Some(self.postings.keys_of(&self.store.read_facts(place)?)),
            None => Some(FileKeys::default()),
        }
    }
    fn set_file(
        &mut self,
        number: FileNumber,
        slot: FileSlot,
        old: Option<FileKeys>,
        keys: &FileKeys,
    ) {
        let old = old.unwrap_or_else(|| {
            self.postings.purge(number);
            FileKeys::default()
        });
        self.postings.change(number, &old, keys);
        self.led_mut().forget_hashes(old.links().chain(keys.links()));
        if let Some(held) = self.slots.get_mut(number as usize) {
            *held = slot;
        }
    }
    /// A new time for a file whose text is the same.
    pub fn set_stamp(&mut self, number: FileNumber, stamp: FileStamp) {
        let known = self.record_of(number).and_then(|record| self.store.require(record.to_file()));
        let Some(file) = known else { return };
        let Some(record) = file_record(&IndexedFile { stamp, ..file }) else { return };
        self.records += 1;
        let place = self.store.put(&record, number);
        if let Some(slot) = self.slots.get_mut(number as usize) {
            *slot = FileSlot { stamp, place };
        }
    }
    /// Lets a file go.
    pub fn remove(&mut self, number: FileNumber) {
        let path = self.names.path_of(number).to_owned();
        if path.is_empty() {
            return;
        }
        let old = self.known_keys(number);
        self.set_file(number, FileSlot::default(), old, &FileKeys::default());
        self.records += 1;
        self.store.put_removal(&removal_record(&path), number);
        self.forget_led(&path);
        let order = self.order.get_mut().unwrap_or_else(PoisonError::into_inner);
        order.remove(number, &self.names);
        self.names.remove(number);
        self.free.push(number);
    }
}

/// What notes have.
impl NoteIndex {
    /// Files that have a tag or one below it, whatever its case.
    pub fn tagged_files(&self, tag: &str) -> FileSet {
        self.postings.files_with_tag(&tag_key(tag))
    }
    /// All tags with the number of notes that have them, by their keys; each as the first note writes it.
    pub fn count_tags(&self) -> Vec<(String, usize)> {
        let tags = self.postings.list_tags();
        tags.map(|(key, spelling, files)| {
            let name = spelling.map_or_else(|| self.first_spelling(key, files), str::to_owned);
            (name, files.len())
        })
        .collect()
    }
    fn first_spelling(&self, key: &str, files: &[FileNumber]) -> String {
        let first = files.iter().min_by_key(|number| self.names.path_of(**number));
        let names = first.map(|number| self.tag_names_of(*number));
        let written = names.into_iter().flatten().find(|name| tag_key(name) == key);
        written.unwrap_or_else(|| key.to_owned())
    }
    /// Tags of a note as it writes them, those of the properties first.
    pub fn tag_names_of(&self, number: FileNumber) -> Vec<String> {
        let record = self.record_of(number);
        record.and_then(|record| self.store.require(record.tag_names())).unwrap_or_default()
    }
    /// Names of properties as they are written, by name, with the number of notes that have one.
    pub fn count_properties(&self) -> impl Iterator<Item = (&str, usize)> {
        self.postings.list_properties().map(|(name, files)| (name, files.len()))
    }
    /// Names of a note's properties as it writes them.
    pub fn property_names_of(&self, number: FileNumber) -> Vec<String> {
        let record = self.record_of(number);
        let names = record.and_then(|record| self.store.require(record.property_names()));
        names.unwrap_or_default()
    }
    /// Notes that have a property of exactly this name, in the order of their paths.
    pub fn notes_with_property(&self, name: &str) -> Vec<FileNumber> {
        let mut files = self.postings.with_property(name).to_vec();
        files.sort_by(|a, b| self.names.path_of(*a).cmp(self.names.path_of(*b)));
        files
    }
}
