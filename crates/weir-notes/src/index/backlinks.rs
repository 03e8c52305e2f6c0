//! Where the links of a vault lead, asked from the other end. Not here: the rules of names (`resolve`).

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;

use super::{IndexedLink, NoteIndex, name_key};
use crate::note::{LinkForm, NoteLink};
use crate::resolve::FileNumber;

/// Most names whose links are held by where they lead, and most of those links (K1).
const LED_NAMES_MAX: usize = 4_000;
const LED_PLACES_MAX: usize = 200_000;

/// A link by the file it stands in and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkPlace {
    /// The file.
    pub source: FileNumber,
    /// The link's number in it, from 0.
    pub at: u32,
}

/// A link that was looked up, with the file it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLink {
    /// The file.
    pub source: FileNumber,
    /// The link.
    pub link: NoteLink,
}

impl FoundLink {
    /// The same as a link of the index.
    pub fn as_indexed(&self) -> IndexedLink<'_> {
        IndexedLink { source: self.source, link: &self.link }
    }
}

/// Links by where they lead, each list in the order of paths and places.
type LinksByTarget = HashMap<FileNumber, Vec<LinkPlace>>;

/// Of names that were asked for: the links by where they lead, until a file or a link of that name changes.
#[derive(Debug, Default)]
pub(super) struct LedLinks {
    names: HashMap<u32, BTreeMap<String, LinksByTarget>>,
    count: usize,
    places: usize,
}

impl LedLinks {
    /// Where links lead whose names have these hashes is looked up anew.
    pub(super) fn forget_hashes(&mut self, hashes: impl Iterator<Item = u32>) {
        if self.names.is_empty() {
            return;
        }
        for hash in hashes {
            for led in self.names.remove(&hash).into_iter().flatten() {
                self.count -= 1;
                self.places -= led.1.values().map(Vec::len).sum::<usize>();
            }
        }
    }
    fn find(&self, hash: u32, key: &str) -> Option<&LinksByTarget> {
        self.names.get(&hash)?.get(key)
    }
    fn hold(&mut self, hash: u32, key: String, led: LinksByTarget) {
        if self.count >= LED_NAMES_MAX || self.places >= LED_PLACES_MAX {
            *self = LedLinks::default();
        }
        self.count += 1;
        self.places += led.values().map(Vec::len).sum::<usize>();
        self.names.entry(hash).or_default().insert(key, led);
    }
}

impl NoteIndex {
    pub(super) fn led_mut(&mut self) -> &mut LedLinks {
        self.led.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
    /// Where links lead that end in the name of this path is looked up anew.
    pub(super) fn forget_led(&mut self, path: &str) {
        let key = name_key(path);
        // `a.md` may also be what `a.md.md` is called.
        let hashes =
            [&name_key(&key), &key].map(|key| self.postings.links.hash_of(key)).into_iter();
        self.led_mut().forget_hashes(hashes);
    }

    /// Where a link leads.
    pub fn link_target(&self, link: IndexedLink<'_>) -> Option<FileNumber> {
        self.names.resolve_link(link.link.form, &link.link.path, self.names.path_of(link.source))
    }
    /// The links of other files that lead to a file, in the order of those files' paths.
    pub fn backlinks_of(&self, target: FileNumber) -> Vec<LinkPlace> {
        let key = name_key(self.names.path_of(target));
        let hash = self.postings.links.hash_of(&key);
        let mut held = self.led.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(led) = held.find(hash, &key) {
            return led.get(&target).cloned().unwrap_or_default();
        }
        let led = self.group_by_target(&key);
        let found = led.get(&target).cloned().unwrap_or_default();
        held.hold(hash, key, led);
        found
    }
    /// The links that end in this name, by the file to which each leads.
    fn group_by_target(&self, key: &str) -> LinksByTarget {
        let mut led = LinksByTarget::new();
        for source in self.files_naming(key) {
            let Some(record) = self.record_of(source) else { continue };
            let path = self.names.path_of(source);
            let visited = record.visit_links(|at, form: LinkForm, named| {
                if named.is_empty() || name_key(named) != key {
                    return;
                }
                let target = self.names.resolve_link(form, named, path);
                if let Some(target) = target.filter(|target| *target != source) {
                    led.entry(target).or_default().push(LinkPlace { source, at });
                }
            });
            self.store.require(visited);
        }
        let at = |place: &LinkPlace| (self.names.path_of(place.source), place.at);
        for places in led.values_mut() {
            places.sort_by(|a, b| at(a).cmp(&at(b)));
            places.shrink_to_fit();
        }
        led
    }
    /// Files that may have a link that ends in this name, in the order in which they are read fastest.
    fn files_naming(&self, key: &str) -> Vec<FileNumber> {
        let mut files: Vec<FileNumber> = self.postings.links.files_of(key).collect();
        files.sort_by_key(|number| self.place_of(*number).unwrap_or_default().file_order());
        files
    }
    /// A link by its place.
    pub fn link_at(&self, place: LinkPlace) -> Option<FoundLink> {
        let link = self.facts_at(place.source)?.links.get(place.at as usize)?.clone();
        Some(FoundLink { source: place.source, link })
    }
    /// Links whose path ends in the name of this one, wherever they lead.
    pub fn links_named(&self, path: &str) -> Vec<FoundLink> {
        let key = name_key(path);
        let mut found = Vec::new();
        for source in self.postings.links.files_of(&key) {
            let links = self.read_facts(source).map(|facts| facts.links).unwrap_or_default();
            let named = links.into_iter();
            let named = named.filter(|link| !link.path.is_empty() && name_key(&link.path) == key);
            found.extend(named.map(|link| FoundLink { source, link }));
        }
        found
    }
}
