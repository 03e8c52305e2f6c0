//! Which files have what: sets of file numbers by name, tag and property, a few bytes for each. Not here:
//! what stands in a file (`record`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::note::{NoteFacts, tag_covers, tag_key};
use crate::resolve::{FileNumber, HashedNames};

/// Files that have a tag, in the order of their numbers.
#[derive(Debug, Default)]
struct TaggedFiles {
    files: Vec<FileNumber>,
    /// How all of them write it; `None`: they may differ.
    spelling: Option<Box<str>>,
}

/// A set of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSet {
    words: Vec<u64>,
}

impl FileSet {
    /// Takes a file up.
    pub fn insert(&mut self, number: FileNumber) {
        let at = number as usize / 64;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (number % 64);
    }
    /// Whether a file is in it.
    pub fn contains(&self, number: FileNumber) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
    /// Lets a file go.
    pub fn remove(&mut self, number: FileNumber) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }
    /// Lets all go that are not in another.
    pub fn keep_common(&mut self, other: &FileSet) {
        self.words.truncate(other.words.len());
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= other;
        }
    }
    /// Takes up all of another.
    pub fn insert_all(&mut self, other: &FileSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own |= other;
        }
    }
}

/// By what a file is found: each name once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileKeys {
    /// Hashes of the names that its links end in.
    links: BTreeSet<u32>,
    /// Hashes of its aliases in small letters.
    aliases: BTreeSet<u32>,
    /// Keys of its tags, and how it writes each first.
    tags: BTreeMap<String, String>,
    /// Names of its properties as they are written.
    properties: BTreeSet<String>,
}

/// What files are found by.
#[derive(Debug, Default)]
pub(super) struct FilePostings {
    pub(super) links: HashedNames,
    pub(super) aliases: HashedNames,
    /// Files that have an alias.
    pub(super) aliased: FileSet,
    tags: BTreeMap<Box<str>, TaggedFiles>,
    properties: BTreeMap<Box<str>, Vec<FileNumber>>,
}

fn insert_sorted(files: &mut Vec<FileNumber>, number: FileNumber) {
    match files.last() {
        Some(last) if *last >= number => {
            if let Err(at) = files.binary_search(&number) {
                files.insert(at, number);
            }
        }
        _ => files.push(number),
    }
}

fn remove_sorted(files: &mut Vec<FileNumber>, number: FileNumber) {
    if let Ok(at) = files.binary_search(&number) {
        files.remove(at);
    }
}

impl FileKeys {
    /// Hashes of the names that its links end in.
    pub(super) fn links(&self) -> impl Iterator<Item = u32> + '_ {
        self.links.iter().copied()
    }
}

impl FilePostings {
    /// By what a file is found.
    pub(super) fn keys_of(&self, facts: &NoteFacts) -> FileKeys {
        let named = facts.links.iter().filter(|link| !link.path.is_empty());
        let mut tags = BTreeMap::new();
        for tag in &facts.tags {
            tags.entry(tag_key(&tag.name)).or_insert_with(|| tag.name.clone());
        }
        FileKeys {
            links: named.map(|link| self.links.hash_of(&super::name_key(&link.path))).collect(),
            aliases: facts
                .aliases
                .iter()
                .map(|alias| self.aliases.hash_of(&alias.to_lowercase()))
                .collect(),
            tags,
            properties: facts.properties.keys().cloned().collect(),
        }
    }
    /// Takes a file up that was found by `old`, and now is by `new`.
    pub(super) fn change(&mut self, number: FileNumber, old: &FileKeys, new: &FileKeys) {
        for hash in old.links.difference(&new.links) {
            self.links.remove(*hash, number);
        }
        for hash in new.links.difference(&old.links) {
            self.links.insert(*hash, number);
        }
        for hash in old.aliases.difference(&new.aliases) {
            self.aliases.remove(*hash, number);
        }
        for hash in new.aliases.difference(&old.aliases) {
            self.aliases.insert(*hash, number);
        }
        match new.aliases.is_empty() {
            true => self.aliased.remove(number),
            false => self.aliased.insert(number),
        }
        for key in old.tags.keys().filter(|key| !new.tags.contains_key(*key)) {
            self.remove_tag(key, number);
        }
        for (key, name) in new.tags.iter().filter(|(key, name)| old.tags.get(*key) != Some(*name)) {
            self.insert_tag(key, name, number);
        }
        for name in old.properties.difference(&new.properties) {
            self.remove_property(name, number);
        }
        for name in new.properties.difference(&old.properties) {
            match self.properties.get_mut(name.as_str()) {
                Some(files) => insert_sorted(files, number),
                None => {
                    self.properties.insert(name.as_str().into(), vec![number]);
                }
            }
        }
    }
    fn insert_tag(&mut self, key: &str, name: &str, number: FileNumber) {
        match self.tags.get_mut(key) {
            Some(tagged) => {
                insert_sorted(&mut tagged.files, number);
                tagged.spelling = tagged.spelling.take().filter(|other| **other == *name);
            }
            None => {
                let tagged = TaggedFiles { files: vec![number], spelling: Some(name.into()) };
                self.tags.insert(key.into(), tagged);
            }
        }
    }
    fn remove_tag(&mut self, key: &str, number: FileNumber) {
        let Some(tagged) = self.tags.get_mut(key) else { return };
        remove_sorted(&mut tagged.files, number);
        if tagged.files.is_empty() {
            self.tags.remove(key);
        }
    }
    fn remove_property(&mut self, name: &str, number: FileNumber) {
        let Some(files) = self.properties.get_mut(name) else { return };
        remove_sorted(files, number);
        if files.is_empty() {
            self.properties.remove(name);
        }
    }
    /// Lets a file go whose record cannot be read, wherever it stands.
    pub(super) fn purge(&mut self, number: FileNumber) {
        self.links.purge(number);
        self.aliases.purge(number);
        self.aliased.remove(number);
        self.tags.retain(|_, tagged| {
            remove_sorted(&mut tagged.files, number);
            !tagged.files.is_empty()
        });
        self.properties.retain(|_, files| {
            remove_sorted(files, number);
            !files.is_empty()
        });
    }
    /// Gives back the room that grew with the lists.
    pub(super) fn shrink(&mut self) {
        self.tags.values_mut().for_each(|tagged| tagged.files.shrink_to_fit());
        self.properties.values_mut().for_each(Vec::shrink_to_fit);
    }

    /// Files that have a tag, given as key, or one below it.
    pub(super) fn files_with_tag(&self, wanted: &str) -> FileSet {
        let mut set = FileSet::default();
        let from = self.tags.range::<str, _>((Bound::Included(wanted), Bound::Unbounded));
        let alike = from.take_while(|(key, _)| key.starts_with(wanted));
        for (_, tagged) in alike.filter(|(key, _)| tag_covers(wanted, key)) {
            tagged.files.iter().for_each(|number| set.insert(*number));
        }
        set
    }
    /// All tags: the key, the one way in which it is written, and the files that have it.
    pub(super) fn list_tags(&self) -> impl Iterator<Item = (&str, Option<&str>, &[FileNumber])> {
        self.tags.iter().map(|(key, tagged)| (&**key, tagged.spelling.as_deref(), &*tagged.files))
    }
    /// Names of properties as they are written, and the files that have one.
    pub(super) fn list_properties(&self) -> impl Iterator<Item = (&str, &[FileNumber])> {
        self.properties.iter().map(|(name, files)| (&**name, files.as_slice()))
    }
    /// Files that have a property of exactly this name.
    pub(super) fn with_property(&self, name: &str) -> &[FileNumber] {
        self.properties.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}
