//! Links after files moved: which must be written anew, and how, so that each leads where it led. Not
//! here: moving files, reading and writing them; headings that get other names (`renaming`).

use std::collections::{BTreeMap, BTreeSet};

use crate::index::{IndexedLink, NoteIndex};
use crate::note::{LinkForm, NoteLink, encode_target};
use crate::resolve::{FileNumber, LinkWriting, NameTable, note_title, write_path};
use crate::span::ByteSpan;

/// New text at a place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// The place.
    pub at: ByteSpan,
    /// What stands there afterwards, as the form of the link wants it.
    pub text: String,
    /// How the link is written.
    pub form: LinkForm,
    /// The link as it was, for whoever is told.
    pub was: String,
}

/// Edits of a file, and of which text they are edits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileEdits {
    /// The hash of the text whose places these are; empty: whoever indexed it gave none.
    pub hash: String,
    /// The edits, in the order of their places.
    pub edits: Vec<TextEdit>,
}

/// Edits of files, by their old paths.
pub type LinkEdits = BTreeMap<String, FileEdits>;

/// Files that get new paths, and those that leave the vault.
#[derive(Debug, Clone, Default)]
pub struct VaultMoves {
    /// Old and new paths of all files that move within the vault. What stands at a new path already is
    /// replaced. An old path that is not of the vault is of a file that comes into it.
    pub moves: BTreeMap<String, String>,
    /// Files of the vault that will not be there: what links to them is left as it is.
    pub leaving: BTreeSet<String>,
}

/// What must be written anew when files get new paths.
///
/// Only links that led somewhere are looked at: of notes that move, and those whose path names a file
/// that moves, or that would name one afterwards.
pub fn plan_link_edits(index: &NoteIndex, moves: &VaultMoves) -> LinkEdits {
    let mut planner = MovePlanner::new(index, moves);
    for (old, new) in &moves.moves {
        for path in [old, new] {
            for found in index.links_named(path) {
                planner.look_at_link(found.as_indexed());
            }
        }
        let Some((number, _)) = index.find_file(old) else { continue };
        for link in
            index.facts_at(number).iter().flat_map(|facts| IndexedLink::all_of(number, facts))
        {
            planner.look_at_link(link);
        }
    }
    for file in planner.edits.values_mut() {
        file.edits.sort_by_key(|edit| edit.at.start);
    }
    planner.edits
}

/// What is known while links are looked at.
struct MovePlanner<'a> {
    index: &'a NoteIndex,
    moves: &'a VaultMoves,
    /// New paths: what stands there already will not be there.
    replaced: BTreeSet<&'a str>,
    after: NameTable,
    seen: BTreeSet<(FileNumber, usize)>,
    edits: LinkEdits,
}

impl<'a> MovePlanner<'a> {
    fn new(index: &'a NoteIndex, moves: &'a VaultMoves) -> MovePlanner<'a> {
        let replaced = moves.moves.values().map(String::as_str).collect();
        let mut planner = MovePlanner {
            index,
            moves,
            replaced,
            after: NameTable::default(),
            seen: BTreeSet::new(),
            edits: LinkEdits::new(),
        };
        let mut next = 0;
        for (number, file) in index.list_files() {
            next = next.max(number.saturating_add(1));
            if let Some(path) = planner.path_after(file.path) {
                let path = path.to_owned();
                planner.after.insert(number, &path);
            }
        }
        // What comes from elsewhere may take a name away from a link.
        for (old, new) in &moves.moves {
            if index.find_file(old).is_none() && next < FileNumber::MAX {
                planner.after.insert(next, new);
                next += 1;
            }
        }
        planner
    }

    /// The path that a file of the vault will have; `None`: it will not be there.
    fn path_after<'b>(&self, path: &'b str) -> Option<&'b str>
    where
        'a: 'b,
    {
        match self.moves.moves.get(path) {
            Some(new) => Some(new.as_str()),
            None if self.moves.leaving.contains(path) || self.replaced.contains(path) => None,
            None => Some(path),
        }
    }

    fn look_at_link(&mut self, found: IndexedLink<'_>) {
        let (index, link) = (self.index, found.link);
        if link.path.is_empty() || !self.seen.insert((found.source, link.at.start)) {
            return;
        }
        let source = index.name_table().path_of(found.source);
        let Some(target) = index.link_target(found) else { return };
        let old_target = index.name_table().path_of(target);
        let (Some(new_source), Some(new_target)) =
            (self.path_after(source), self.path_after(old_target))
        else {
            return;
        };
        let now = self.after.resolve_link(link.form, &link.path, new_source);
        let leads_there = now.is_some_and(|number| self.after.path_of(number) == new_target);
        if leads_there && !is_recased(link, old_target, new_target) {
            return;
        }
        let writing = LinkWriting {
            form: link.form,
            written: &link.path,
            old_target,
            target: new_target,
            old_source: source,
            source: new_source,
        };
        let text = written_path(link.form, &write_path(&self.after, &writing));
        let edit = TextEdit { at: link.path_at, text, form: link.form, was: link.target_text() };
        let file = self.edits.entry(source.to_owned()).or_default();
        if file.edits.is_empty() {
            file.hash = index.hash_of(found.source);
        }
        file.edits.push(edit);
    }
}

/// Whether a move changes only the case of a name, and the link has its old letters: then it gets the new.
fn is_recased(link: &NoteLink, old: &str, new: &str) -> bool {
    let (old, new) = (note_title(old), note_title(new));
    old != new && old.to_lowercase() == new.to_lowercase() && note_title(&link.path) == old
}

/// A path as it stands in a link of this form.
fn written_path(form: LinkForm, path: &str) -> String {
    match form {
        LinkForm::Wiki => path.to_owned(),
        LinkForm::Markdown | LinkForm::PropertyMarkdown => encode_target(path),
        LinkForm::PropertyWiki => path.to_owned(),
        LinkForm::Canvas => {
            let quoted = serde_json::Value::String(path.to_owned()).to_string();
            quoted.trim_matches('"').to_owned()
        }
    }
}

/// A text with its edits made. Where a link is written in angle brackets, in quotes of a property, or in
/// a table, its path is written for that place. `None`: the places are not of this text.
pub fn apply_edits(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut changed = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in edits {
        changed.push_str(text.get(from..edit.at.start)?);
        text.get(edit.at.start..edit.at.end)?;
        let (before, behind) = (text.get(..edit.at.start)?, text.get(edit.at.end..)?);
        changed.push_str(&text_for_place(edit, before, behind));
        from = edit.at.end;
    }
    changed.push_str(text.get(from..)?);
    Some(changed)
}

/// The text of an edit as it is written between what stands before and behind it.
fn text_for_place(edit: &TextEdit, before: &str, behind: &str) -> String {
    match edit.form {
        // Between angle brackets blanks stand as they are.
        LinkForm::Markdown | LinkForm::PropertyMarkdown
            if before.ends_with('<') && behind.contains('>') =>
        {
            let plain = crate::note::decode_percent(&edit.text);
            let fits = !plain.contains(['<', '>', '\n']);
            if fits { plain } else { edit.text.clone() }
        }
        LinkForm::PropertyWiki if before.ends_with("'[[") => edit.text.replace('\'', "''"),
        LinkForm::PropertyWiki if before.ends_with("\"[[") => {
            edit.text.replace('\\', "\\\\").replace('"', "\\\"")
        }
        LinkForm::Wiki
        | LinkForm::Markdown
        | LinkForm::PropertyWiki
        | LinkForm::PropertyMarkdown
        | LinkForm::Canvas => edit.text.clone(),
    }
}
