//! Where a link leads, by Obsidian's rules, and how a link to a file is written so that it leads there.
//! Names alone: no file is looked at.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use crate::note::LinkForm;

/// Number of a file in a [`NameTable`].
pub type FileNumber = u32;

/// Files by the hash of a name: eight bytes for each. Two names may share a hash, so whoever asks looks at
/// the files.
#[derive(Debug, Default)]
pub(crate) struct HashedNames {
    /// Its keys are of this process, so nobody can write names that share one.
    hasher: RandomState,
    places: BTreeSet<(u32, FileNumber)>,
}

impl HashedNames {
    /// The hash of a name.
    #[expect(clippy::cast_possible_truncation, reason = "half of a hash is one too")]
    pub(crate) fn hash_of(&self, name: &str) -> u32 {
        self.hasher.hash_one(name) as u32
    }
    /// Takes a file up.
    pub(crate) fn insert(&mut self, hash: u32, number: FileNumber) {
        self.places.insert((hash, number));
    }
    /// Lets a file go.
    pub(crate) fn remove(&mut self, hash: u32, number: FileNumber) {
        self.places.remove(&(hash, number));
    }
    /// Files that may have the name, in the order of their numbers.
    pub(crate) fn files_of(&self, name: &str) -> impl Iterator<Item = FileNumber> + '_ {
        let hash = self.hash_of(name);
        let range = (hash, FileNumber::MIN)..=(hash, FileNumber::MAX);
        self.places.range(range).map(|(_, number)| *number)
    }
    /// Lets a file go of which nothing is known.
    pub(crate) fn purge(&mut self, number: FileNumber) {
        self.places.retain(|(_, other)| *other != number);
    }
}

/// The files of a vault by name.
#[derive(Debug, Default)]
pub struct NameTable {
    /// Paths as they are; empty: the number is free.
    paths: Vec<Box<str>>,
    /// Numbers by last part of the path, in small letters.
    by_name: HashedNames,
}

/// The part behind the last stroke.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder of a path; empty: the vault itself.
pub fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The name without the ending of a note; other endings stay.
pub fn note_title(path: &str) -> &str {
    strip_note_ending(file_name(path))
}

/// A path without the ending of a note.
pub fn strip_note_ending(path: &str) -> &str {
    match path.len().checked_sub(3).and_then(|at| path.split_at_checked(at)) {
        Some((bare, ending)) if ending.eq_ignore_ascii_case(".md") && !bare.is_empty() => bare,
        _ => path,
    }
}

/// Whether a file of this path is a note.
pub fn is_note(path: &str) -> bool {
    strip_note_ending(path).len() < path.len()
}

impl NameTable {
    /// Takes a file up; `number` is free or new.
    pub fn insert(&mut self, number: FileNumber, path: &str) {
        let at = number as usize;
        if self.paths.len() <= at {
            self.paths.resize_with(at + 1, Box::default);
        }
        let hash = self.by_name.hash_of(&file_name(path).to_lowercase());
        self.by_name.insert(hash, number);
        self.paths[at] = path.into();
    }
    /// Lets a file go.
    pub fn remove(&mut self, number: FileNumber) {
        let Some(path) = self.paths.get_mut(number as usize).map(std::mem::take) else { return };
        let hash = self.by_name.hash_of(&file_name(&path).to_lowercase());
        self.by_name.remove(hash, number);
    }
    /// The path of a file.
    pub fn path_of(&self, number: FileNumber) -> &str {
        self.paths.get(number as usize).map_or("", |path| path)
    }
    /// The file at exactly this path, whatever the case.
    pub fn find_path(&self, path: &str) -> Option<FileNumber> {
        let key = path.to_lowercase();
        let mut lowered = LoweredPath::default();
        let mut found = None;
        for number in self.by_name.files_of(file_name(&key)) {
            let other = self.path_of(number);
            if other == path {
                return Some(number);
            }
            if found.is_none() && lowered.take(other) == key {
                found = Some(number);
            }
        }
        found
    }
    /// Where a link of this form with this path, in the file `source`, leads. An empty path is the file
    /// itself.
    pub fn resolve_link(&self, form: LinkForm, path: &str, source: &str) -> Option<FileNumber> {
        if path.is_empty() {
            return self.find_path(source);
        }
        if form == LinkForm::Canvas {
            return self.find_path(path);
        }
        // A Markdown link is tried beside the file first, as Markdown means it.
        let beside = || {
            let folder = parent_folder(source);
            let whole =
                if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
            self.find_ending(&whole)
        };
        match form.is_encoded() && path.contains('/') && !path.starts_with(['/', '.']) {
            true => self.resolve_text(path, source).or_else(beside),
            false => self.resolve_text(path, source),
        }
    }

    fn resolve_text(&self, path: &str, source: &str) -> Option<FileNumber> {
        if path.starts_with("./") || path.starts_with("../") {
            return self.find_ending(&join_path(parent_folder(source), path)?);
        }
        if let Some(whole) = path.strip_prefix('/') {
            return self.find_ending(whole);
        }
        let key = path.to_lowercase();
        let exact = self.find_nearest(&key, source);
        exact.or_else(|| self.find_nearest(&format!("{key}.md"), source))
    }

    /// The file at this path, or the note of that name.
    fn find_ending(&self, path: &str) -> Option<FileNumber> {
        self.find_path(path).or_else(|| self.find_path(&format!("{path}.md")))
    }

    /// Of files that end in this path, given in small letters: the one that is the path; else below the
    /// folder of the source before elsewhere, the shortest path first.
    fn find_nearest(&self, key: &str, source: &str) -> Option<FileNumber> {
        let folder = parent_folder(source).to_lowercase();
        let mut lowered = LoweredPath::default();
        let mut best: Option<(bool, usize, String, FileNumber)> = None;
        for number in self.by_name.files_of(file_name(key)) {
            let path = lowered.take(self.path_of(number));
            if path == key {
                return Some(number);
            }
            let Some(above) = path.strip_suffix(key) else { continue };
            if !above.ends_with('/') {
                continue;
            }
            let near = path
                .strip_prefix(folder.as_str())
                .is_some_and(|rest| folder.is_empty() || rest.starts_with('/'));
            let rank = (!near, path.len(), path, number);
            if best
                .as_ref()
                .is_none_or(|found| rank < (found.0, found.1, found.2.as_str(), found.3))
            {
                best = Some((rank.0, rank.1, path.to_owned(), number));
            }
        }
        best.map(|(_, _, _, number)| number)
    }
}

/// Paths in small letters, one after the other in the same room.
#[derive(Default)]
struct LoweredPath(String);

impl LoweredPath {
    fn take(&mut self, path: &str) -> &str {
        self.0.clear();
        match path.is_ascii() {
            true => {
                self.0.push_str(path);
                self.0.make_ascii_lowercase();
            }
            false => self.0.push_str(&path.to_lowercase()),
        }
        &self.0
    }
}

/// A relative path from a folder, without `.` and `..`; `None`: it leads out of the vault.
pub fn join_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// How the path of a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    /// The name alone.
    Name,
    /// From the vault: `folder/name`.
    Whole,
    /// The same with a stroke before it.
    Rooted,
    /// From the folder of the note: `./name`, `../other/name`.
    Relative,
    /// The same without `./` before what lies below.
    Beside,
}

/// The style of a written path that leads to `target`.
pub fn style_of(written: &str, target: &str, source: &str) -> PathStyle {
    let bare = strip_note_ending(written).to_lowercase();
    let whole = strip_note_ending(target).to_lowercase();
    match () {
        () if written.starts_with('/') => PathStyle::Rooted,
        () if written.starts_with("./") || written.starts_with("../") => PathStyle::Relative,
        // A file of the vault itself has one path whatever the style.
        () if !written.contains('/') => PathStyle::Name,
        () if bare == whole => PathStyle::Whole,
        () => {
            let beside = join_path(&parent_folder(source).to_lowercase(), &bare);
            match beside.is_some_and(|path| path == whole) {
                true => PathStyle::Beside,
                false => PathStyle::Whole,
            }
        }
    }
}

/// `target` as seen from the folder of `source`.
pub fn relative_path(source: &str, target: &str) -> String {
    let from: Vec<&str> =
        parent_folder(source).split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = target.split('/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = vec![".."; from.len() - shared];
    up.into_iter().chain(to[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

/// What a link must be rewritten for.
#[derive(Debug, Clone, Copy)]
pub struct LinkWriting<'a> {
    /// How the link is written.
    pub form: LinkForm,
    /// Its path as it was, decoded.
    pub written: &'a str,
    /// The file it led to, under its old path.
    pub old_target: &'a str,
    /// The file it must lead to.
    pub target: &'a str,
    /// The file it stands in, under its old path.
    pub old_source: &'a str,
    /// The file it stands in.
    pub source: &'a str,
}

/// The path by which the link leads to its target among these files, in the person's own style; where
/// that leads elsewhere it is written out longer.
pub fn write_path(files: &NameTable, link: &LinkWriting<'_>) -> String {
    if link.form == LinkForm::Canvas {
        return link.target.to_owned();
    }
    let style = style_of(link.written, link.old_target, link.old_source);
    let ending_shown = is_note(link.written) || !is_note(link.target);
    let text = |style: PathStyle| {
        let path = match style {
            PathStyle::Name => file_name(link.target).to_owned(),
            PathStyle::Whole => link.target.to_owned(),
            PathStyle::Rooted => format!("/{}", link.target),
            PathStyle::Relative => {
                let relative = relative_path(link.source, link.target);
                if relative.starts_with("../") { relative } else { format!("./{relative}") }
            }
            PathStyle::Beside => relative_path(link.source, link.target),
        };
        if ending_shown { path } else { strip_note_ending(&path).to_owned() }
    };
    let leads_there = |path: &str| {
        let found = files.resolve_link(link.form, path, link.source);
        found.is_some_and(|number| files.path_of(number) == link.target)
    };
    let mut last = text(style);
    for longer in [style, PathStyle::Whole, PathStyle::Rooted] {
        last = text(longer);
        if leads_there(&last) {
            return last;
        }
    }
    // Only the ending tells it from a file whose name it would otherwise be.
    if is_note(link.target) { format!("/{}", link.target) } else { last }
}
