//! What is out of order in a vault: notes that nothing leads to, tags that differ by little, titles that
//! are there twice, properties that a note lacks and its siblings have. Not here: broken links (the index
//! says them), how it is told.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::{FileSet, IndexedLink, NoteIndex};
use crate::note::tag_key;
use crate::resolve::{FileNumber, is_note, note_title, parent_folder};

/// Fewest notes of a folder that say what its notes have.
const SIBLINGS_MIN: usize = 4;
/// Share of them, in per cent, that must have a property.
const SHARE_MIN: usize = 80;

/// Notes without a link to or from another, by path.
pub fn find_orphans(index: &NoteIndex) -> Vec<String> {
    let mut linked = FileSet::default();
    visit_targets(index, |number, target| {
        if target != number {
            linked.insert(number);
            linked.insert(target);
        }
    });
    let lone = index.list_notes().into_iter().filter(|(number, _)| !linked.contains(*number));
    lone.map(|(_, file)| file.path.to_owned()).collect()
}

/// Goes over all links that lead somewhere: the file in which each stands, and the one it leads to.
fn visit_targets(index: &NoteIndex, mut visit: impl FnMut(FileNumber, FileNumber)) {
    for number in index.path_order().iter() {
        let Some(facts) = index.read_facts(*number) else { continue };
        let links = IndexedLink::all_of(*number, &facts);
        links.filter_map(|link| index.link_target(link)).for_each(|target| visit(*number, target));
    }
}

/// Files that are no notes and that nothing links to.
pub fn unused_attachments(index: &NoteIndex) -> Vec<String> {
    let mut used = FileSet::default();
    visit_targets(index, |_, target| used.insert(target));
    let kept =
        |path: &str| ["canvas", "base"].iter().any(|end| crate::index::has_ending(path, end));
    let unused = index.list_files().filter(|(number, file)| {
        !is_note(file.path) && !kept(file.path) && !used.contains(*number)
    });
    let mut paths: Vec<String> = unused.map(|(_, file)| file.path.to_owned()).collect();
    paths.sort();
    paths
}

/// Tags that are one but for case, or for an `s` at the end: each group with how often each is used.
pub fn tag_drift(index: &NoteIndex) -> Vec<Vec<(String, usize)>> {
    let mut groups: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (number, _) in index.list_notes() {
        for tag in index.read_facts(number).iter().flat_map(|facts| &facts.tags) {
            let key = tag_key(&tag.name);
            let stem = key.strip_suffix('s').filter(|stem| stem.chars().count() >= 3);
            let group = groups.entry(stem.unwrap_or(&key).to_owned()).or_default();
            *group.entry(tag.name.clone()).or_default() += 1;
        }
    }
    let several = groups.into_values().filter(|group| group.len() > 1);
    several.map(|group| group.into_iter().collect()).collect()
}

/// Notes of one title in several folders.
pub fn duplicate_titles(index: &NoteIndex) -> Vec<Vec<String>> {
    let mut titles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, file) in index.list_notes() {
        titles.entry(note_title(file.path).to_lowercase()).or_default().push(file.path.to_owned());
    }
    titles.into_values().filter(|paths| paths.len() > 1).collect()
}

/// A note that lacks properties which most notes of its folder have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BareNote {
    /// Its path.
    pub path: String,
    /// What it lacks.
    pub lacks: Vec<String>,
}

/// Notes without properties that their siblings have.
pub fn bare_notes(index: &NoteIndex) -> Vec<BareNote> {
    let mut folders: BTreeMap<&str, Vec<(FileNumber, &str)>> = BTreeMap::new();
    for (number, file) in index.list_notes() {
        folders.entry(parent_folder(file.path)).or_default().push((number, file.path));
    }
    let mut found = Vec::new();
    for notes in folders.values().filter(|notes| notes.len() >= SIBLINGS_MIN) {
        // One folder at a time: what its notes have is not held longer.
        let notes = notes.iter().map(|(number, path)| {
            let names = index.property_names_of(*number).into_iter();
            (*path, names.map(|name| name.to_lowercase()).collect::<BTreeSet<String>>())
        });
        let notes: Vec<(&str, BTreeSet<String>)> = notes.collect();
        let all: BTreeSet<&String> = notes.iter().flat_map(|(_, names)| names).collect();
        let usual = all.into_iter().filter(|name| {
            let having = notes.iter().filter(|(_, names)| names.contains(*name)).count();
            having * 100 >= notes.len() * SHARE_MIN
        });
        let usual: Vec<&String> = usual.collect();
        for (path, names) in &notes {
            let lacks: Vec<String> = usual
                .iter()
                .filter(|name| !names.contains(**name))
                .map(|name| (*name).clone())
                .collect();
            if !lacks.is_empty() {
                found.push(BareNote { path: (*path).to_owned(), lacks });
            }
        }
    }
    found
}
