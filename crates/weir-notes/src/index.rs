//! The index of a vault: every file, and what stands in each note, so that links, tags and properties
//! are answered without reading a note again. Derived: it is made anew from the files at any time. Not
//! here: reading files and keeping the index (whoever holds it), which files may be seen.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::note::{self, LinkForm, NoteFacts, NoteLink};
use crate::resolve::{FileNumber, NameTable, file_name, is_note};

mod record;

pub use record::{INDEX_VERSION, read_records, record_line, removal_line, version_line};

/// By what a file is known to be unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub bytes: u64,
    /// Last change, in seconds since 1970.
    pub modified: i64,
}

/// A file of the vault.
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

/// A link with the file it stands in.
#[derive(Debug, Clone, Copy)]
pub struct IndexedLink<'a> {
    /// The file.
    pub source: FileNumber,
    /// The link.
    pub link: &'a NoteLink,
}

/// All files of a vault.
#[derive(Debug, Default)]
pub struct NoteIndex {
    files: Vec<IndexedFile>,
    free: Vec<FileNumber>,
    names: NameTable,
    /// Links whose path ends in this name, in small letters, without the ending of a note.
    sources: HashMap<String, Vec<LinkPlace>>,
    /// Of names that were asked for: the links by where they lead, until a file or a link of that name
    /// changes.
    led: Mutex<HashMap<String, LinksByTarget>>,
}

/// Most names whose links are held by where they lead.
const LED_NAMES_MAX: usize = 50_000;

/// A link by the file it stands in and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinkPlace {
    source: FileNumber,
    at: u32,
}

type LinksByTarget = HashMap<FileNumber, Vec<LinkPlace>>;

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
    pub fn list_files(&self) -> impl Iterator<Item = (FileNumber, &IndexedFile)> {
        let numbered = self.files.iter().enumerate().filter(|(_, file)| !file.path.is_empty());
        numbered.filter_map(|(at, file)| Some((FileNumber::try_from(at).ok()?, file)))
    }
    /// Notes, in the order of their paths.
    pub fn list_notes(&self) -> Vec<(FileNumber, &IndexedFile, &NoteFacts)> {
        let notes = self.list_files().filter(|(_, file)| is_note(&file.path));
        let mut notes: Vec<_> = notes
            .filter_map(|(number, file)| Some((number, file, file.facts.as_deref()?)))
            .collect();
        notes.sort_by(|a, b| a.1.path.cmp(&b.1.path));
        notes
    }
    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len() - self.free.len()
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
    pub fn file_at(&self, number: FileNumber) -> Option<&IndexedFile> {
        self.files.get(number as usize).filter(|file| !file.path.is_empty())
    }
    /// A file by its path, whatever the case.
    pub fn find_file(&self, path: &str) -> Option<(FileNumber, &IndexedFile)> {
        let number = self.names.find_path(path)?;
        Some((number, self.file_at(number)?))
    }
    /// What a person means by a name: a path, a path without its ending, a title, an alias.
    pub fn find_named(&self, name: &str) -> Option<FileNumber> {
        let name = name.trim().trim_start_matches("[[").trim_end_matches("]]");
        let by_name = self.names.resolve_link(LinkForm::Wiki, name, "");
        by_name.or_else(|| self.files_with_alias(name).into_iter().next())
    }
    /// Notes that have this alias.
    pub fn files_with_alias(&self, alias: &str) -> Vec<FileNumber> {
        let key = alias.to_lowercase();
        let has = |facts: &NoteFacts| facts.aliases.iter().any(|other| other.to_lowercase() == key);
        let notes = self.list_notes().into_iter().filter(|(_, _, facts)| has(facts));
        notes.map(|(number, _, _)| number).collect()
    }

    /// Takes a file up, in place of what was known of it.
    pub fn put_file(&mut self, file: IndexedFile) -> FileNumber {
        self.forget_led(&file.path);
        let known = self.names.find_path(&file.path);
        let number = match known.filter(|number| self.names.path_of(*number) == file.path) {
            Some(number) => {
                self.drop_links(number);
                number
            }
            None => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.files.push(IndexedFile::default());
                    FileNumber::try_from(self.files.len() - 1).unwrap_or(FileNumber::MAX)
                });
                self.names.insert(number, &file.path);
                number
            }
        };
        for (key, at) in link_keys(&file) {
            self.forget_led(&key);
            self.sources.entry(key).or_default().push(LinkPlace { source: number, at });
        }
        self.files[number as usize] = file;
        number
    }
    /// A new time for a file whose text is the same.
    pub fn set_stamp(&mut self, number: FileNumber, stamp: FileStamp) {
        if let Some(file) = self.files.get_mut(number as usize) {
            file.stamp = stamp;
        }
    }
    /// Lets a file go.
    pub fn remove(&mut self, number: FileNumber) {
        self.drop_links(number);
        let path = self.names.path_of(number).to_owned();
        self.forget_led(&path);
        self.names.remove(number);
        if let Some(file) = self.files.get_mut(number as usize) {
            *file = IndexedFile::default();
            self.free.push(number);
        }
    }
    fn drop_links(&mut self, number: FileNumber) {
        let Some(file) = self.files.get(number as usize) else { return };
        let mut keys: Vec<String> = link_keys(file).into_iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            self.forget_led(&key);
            if let Some(places) = self.sources.get_mut(&key) {
                places.retain(|place| place.source != number);
                if places.is_empty() {
                    self.sources.remove(&key);
                }
            }
        }
    }
    /// Where links lead that end in the name of this path is looked up anew.
    fn forget_led(&mut self, path: &str) {
        let led = self.led.get_mut().unwrap_or_else(PoisonError::into_inner);
        if led.is_empty() {
            return;
        }
        let key = name_key(path);
        // `a.md` may also be what `a.md.md` is called.
        led.remove(&name_key(&key));
        led.remove(&key);
    }

    /// Where a link leads.
    pub fn link_target(&self, link: IndexedLink<'_>) -> Option<FileNumber> {
        self.names.resolve_link(link.link.form, &link.link.path, self.names.path_of(link.source))
    }
    /// The links of a file.
    pub fn links_of(&self, source: FileNumber) -> impl Iterator<Item = IndexedLink<'_>> {
        let facts = self.file_at(source).and_then(|file| file.facts.as_deref());
        let links = facts.map(|facts| facts.links.as_slice()).unwrap_or_default();
        links.iter().map(move |link| IndexedLink { source, link })
    }
    /// The links of other files that lead to a file, in the order of those files' paths.
    pub fn backlinks_of(&self, target: FileNumber) -> Vec<IndexedLink<'_>> {
        let key = name_key(self.names.path_of(target));
        let mut led = self.led.lock().unwrap_or_else(PoisonError::into_inner);
        if led.len() >= LED_NAMES_MAX {
            led.clear();
        }
        let led = led.entry(key).or_insert_with_key(|key| self.group_by_target(key));
        let places = led.get(&target).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| self.link_at(*place)).collect()
    }
    /// The links that end in this name, by the file to which each leads.
    fn group_by_target(&self, key: &str) -> LinksByTarget {
        let mut led = LinksByTarget::new();
        for place in self.sources.get(key).into_iter().flatten() {
            let Some(target) = self.link_at(*place).and_then(|link| self.link_target(link)) else {
                continue;
            };
            if target != place.source {
                led.entry(target).or_default().push(*place);
            }
        }
        let at = |place: &LinkPlace| (self.names.path_of(place.source), place.at);
        for places in led.values_mut() {
            places.sort_by(|a, b| at(a).cmp(&at(b)));
        }
        led
    }
    fn link_at(&self, place: LinkPlace) -> Option<IndexedLink<'_>> {
        let facts = self.file_at(place.source)?.facts.as_deref()?;
        let link = facts.links.get(place.at as usize)?;
        Some(IndexedLink { source: place.source, link })
    }
    /// Links whose path ends in the name of this one, wherever they lead.
    pub fn links_named(&self, path: &str) -> Vec<IndexedLink<'_>> {
        let places = self.sources.get(&name_key(path)).map(Vec::as_slice).unwrap_or_default();
        let mut places = places.to_vec();
        places.sort_unstable();
        places.into_iter().filter_map(|place| self.link_at(place)).collect()
    }
}

/// The names that the links of a file end in, with the number of each link.
fn link_keys(file: &IndexedFile) -> Vec<(String, u32)> {
    let links = file.facts.as_deref().map(|facts| facts.links.as_slice()).unwrap_or_default();
    let named = links.iter().zip(0..).filter(|(link, _)| !link.path.is_empty());
    named.map(|(link, at)| (name_key(&link.path), at)).collect()
}
