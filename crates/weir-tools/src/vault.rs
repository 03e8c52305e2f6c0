//! The index of the vault that tools ask: made at the first need, brought up to date before each answer
//! (where the system tells of changes, only folders with one are looked at; what changed is read again),
//! kept in the state directory (`kept`). Not here: what stands in notes (`weir-notes`), which files may be
//! seen (the workspace).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use weir_core::record::sha256_hex;
use weir_core::sorting::sort_stably_by_key;
use weir_core::tool::{Effects, PathAccess, PathEffect};
use weir_engine::ports::{CallPlan, FileContent};
use weir_engine::scene::{self, VaultNames};
use weir_engine::workspace::{FileError, ReadableChanges, ReadableTree, Workspace, WorkspaceEntry};
use weir_notes::index::{self, FileStamp, IndexedFile, IndexedLink, KeptRecord, NoteIndex};
use weir_notes::note::{LinkForm, NOTE_BYTES_MAX, NoteLink};
use weir_notes::resolve::{FileNumber, is_note};
use weir_notes::span::ByteSpan;

use crate::draft::reading_plan;
use crate::tag_counts::count_tags;
use crate::text;
use crate::vault_names::NameCandidates;

mod kept;

#[cfg(test)]
pub(crate) use kept::INDEX_FILE;

/// Most files of a vault.
const VAULT_FILES_MAX: usize = 200_000;
/// More files than this that went at once: the index is written anew, whatever they were.
const GONE_LOOKED_AT_MAX: usize = 100;
/// How often the index answers: once more when what was kept is damaged.
const ANSWERS_MAX: u32 = 2;
/// Longest passage around a link.
const PASSAGE_CHARS_MAX: usize = 300;

/// Tools of whoever keeps notes: elsewhere a session is not told of them, so they cost nothing there.
pub const VAULT_TOOLS: &[&str] = &[
    "get_frontmatter",
    "update_frontmatter",
    "search_by_tag",
    "get_linked_notes",
    "get_daily_note",
    "rename_heading",
    "get_vault_stats",
    "vault_health_check",
    "query_base",
    "create_base",
    "update_base",
    "generate_canvas",
    "create_excalidraw",
    "create_drawio",
    "ingest_triage",
    "ingest_document",
    "ingest_deep",
    "list_memory_source_notes",
    "mark_note_as_memory_source",
    "unmark_note_as_memory_source",
    "read_agent_logs",
    "update_settings",
    "configure_model",
];

/// Whether a workspace is a vault.
pub(crate) fn is_vault(workspace: &Workspace) -> bool {
    scene::kind_of(workspace.root()) == Some("notes")
}

/// The index of a workspace and how it is kept.
#[derive(Default)]
struct HeldVault(Mutex<NoteVault>);

/// The index of a vault.
#[derive(Default)]
pub(crate) struct NoteVault {
    index: NoteIndex,
    /// What was looked at.
    tree: ReadableTree,
    /// The kept index was looked for.
    loaded: bool,
    /// The kept index has something that must not stand in it, or is not whole: it is written anew.
    rewrite_due: bool,
    /// There are more files than the index takes.
    pub(crate) truncated: bool,
    /// Notes that could not be read, with why.
    pub(crate) unread: BTreeMap<String, String>,
    /// Notes with more parts than the index takes.
    pub(crate) cut: BTreeSet<String>,
}

/// Files of the kept index that were not met yet.
type KeptFiles = HashMap<Box<str>, KeptRecord>;

/// Looks the vault over and asks it. Blocks. Where what was kept cannot be read back, all notes are read
/// anew and it is asked once more.
///
/// # Errors
/// A sentence for the model.
pub(crate) fn ask_vault<T>(
    workspace: &Workspace,
    ask: impl FnMut(&NoteVault) -> T,
) -> Result<T, String> {
    let held = workspace.derived_value::<HeldVault>();
    let mut vault = held.0.lock().unwrap_or_else(PoisonError::into_inner);
    vault.answer(workspace, ask)
}

/// The effect of asking the whole vault.
pub(crate) fn vault_effect(workspace: &Workspace) -> PathEffect {
    workspace.resolve_tree(".", PathAccess::List)
}

/// A plan that asks the whole vault.
pub(crate) fn asking_plan(workspace: &Workspace, summary: String) -> CallPlan {
    let at = vault_effect(workspace);
    let fails = at.ignored.clone().map(|why| format!("the vault cannot be read: {why}"));
    reading_plan(at, summary, fails)
}

/// The effect by which a call may read the vault.
///
/// # Errors
/// The call was judged for something else.
pub(crate) fn require_vault(effects: &Effects) -> Result<(), String> {
    let whole = |at: &&PathEffect| at.recursive && at.access == PathAccess::List;
    match effects.paths.iter().find(whole) {
        Some(_) => Ok(()),
        None => Err("the call was not judged for reading the vault".into()),
    }
}

impl NoteVault {
    /// The index.
    pub(crate) fn index(&self) -> &NoteIndex {
        &self.index
    }

    /// The note that a person means by a path, a title or an alias.
    ///
    /// # Errors
    /// There is none: a sentence with what is like it.
    pub(crate) fn require_note(&self, name: &str) -> Result<FileNumber, String> {
        let path = name.strip_prefix("./").unwrap_or(name);
        if let Some(number) = self.index.find_named(path) {
            return Ok(number);
        }
        let near = self.likely_targets(path);
        let hint = match near.first() {
            Some(near) => format!("; did you mean {near}?"),
            None => "; glob and search_by_tag find notes".to_owned(),
        };
        Err(format!("there is no note {name}{hint}"))
    }

    /// Files whose names are most like a name that leads nowhere, best first.
    pub(crate) fn likely_targets(&self, name: &str) -> Vec<String> {
        self.name_candidates().likely_targets(name)
    }

    /// All names of files, to look for several.
    pub(crate) fn name_candidates(&self) -> NameCandidates<'_> {
        let files = self.index.list_files();
        let named = files.map(|(number, file)| (file.path, self.index.aliases_of(number)));
        NameCandidates::of_names(named.collect())
    }

    /// Brings the index up to date and asks it.
    ///
    /// # Errors
    /// As [`ask_vault`].
    pub(crate) fn answer<T>(
        &mut self,
        workspace: &Workspace,
        mut ask: impl FnMut(&NoteVault) -> T,
    ) -> Result<T, String> {
        let mut damage = String::new();
        for _ in 0..ANSWERS_MAX {
            self.refresh_index(workspace)?;
            let answer = ask(self);
            match self.index.take_damage() {
                None => return Ok(answer),
                Some(why) => damage = why,
            }
            *self = NoteVault { loaded: true, ..NoteVault::default() };
            self.start_anew(workspace);
        }
        Err(format!(
            "the index of the vault cannot be read back from the state directory ({damage}); free \
             space there, or delete the folder derived in it, and ask again"
        ))
    }

    fn refresh_index(&mut self, workspace: &Workspace) -> Result<(), String> {
        let is_first = !self.loaded;
        let mut kept = if is_first { self.load_index(workspace) } else { KeptFiles::new() };
        // Where something goes wrong on the way, the next look is at everything.
        let mut tree = std::mem::take(&mut self.tree);
        let changes = workspace.readable_changes(&mut tree, VAULT_FILES_MAX);
        // What was kept is looked for again: nothing of it was met.
        self.loaded &= !(is_first && changes.is_err());
        match changes.map_err(|why| why.to_string())? {
            ReadableChanges::Whole(walk) => {
                self.truncated = walk.truncated;
                self.take_entries(workspace, &walk.entries, &mut kept);
                self.drop_missing(workspace, &walk.entries, None);
            }
            ReadableChanges::Folders(folders) => {
                for (folder, entries) in &folders {
                    self.take_entries(workspace, entries, &mut kept);
                    self.drop_missing(workspace, entries, Some(folder));
                }
            }
        }
        self.tree = tree;
        // The kept index has files that are gone, or that nobody may see any more.
        if is_first && !kept.is_empty() && !self.truncated {
            self.rewrite_due = true;
        }
        // Names change slowly: they are looked at once in a process, and when the index is written anew.
        if is_first || self.rewrite_due {
            self.names_in_use().keep_names(workspace);
        }
        self.keep_index(workspace);
        Ok(())
    }

    /// The names that the prompt of later sessions tells: those that more than one note has.
    fn names_in_use(&self) -> VaultNames {
        let mut properties: Vec<(&str, usize)> =
            self.index.count_properties().filter(|(_, count)| *count > 1).collect();
        sort_stably_by_key(&mut properties, |(_, count)| std::cmp::Reverse(*count));
        let tags = count_tags(&self.index).into_iter().filter(|(_, count)| *count > 1);
        VaultNames::new(
            properties.into_iter().map(|(name, _)| name.to_owned()),
            tags.map(|(name, _)| name),
        )
    }

    fn take_entries(
        &mut self,
        workspace: &Workspace,
        entries: &[WorkspaceEntry],
        kept: &mut KeptFiles,
    ) {
        for entry in entries {
            self.take_entry(workspace, entry, kept);
        }
    }

    /// Lets the files go that are not among those that there are: in a folder, or anywhere.
    fn drop_missing(
        &mut self,
        workspace: &Workspace,
        entries: &[WorkspaceEntry],
        folder: Option<&String>,
    ) {
        let there: HashSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        let folder = folder.map(|folder| if folder == "." { "" } else { folder.as_str() });
        let gone: Vec<(FileNumber, String)> = self
            .index
            .list_files()
            .filter(|(_, file)| {
                folder.is_none_or(|folder| weir_notes::resolve::parent_folder(file.path) == folder)
                    && !there.contains(file.path)
            })
            .map(|(number, file)| (number, file.path.to_owned()))
            .collect();
        // What is only hidden now must not stand in the kept index.
        let is_deleted = |path: &str| {
            let at = workspace.resolve(path, PathAccess::Read);
            matches!(workspace.stat_entry(&at), Err(FileError::NotFound { .. }))
        };
        if gone.len() > GONE_LOOKED_AT_MAX || !gone.iter().all(|(_, path)| is_deleted(path)) {
            self.rewrite_due = true;
        }
        for (number, path) in gone {
            self.index.remove(number);
            self.unread.remove(&path);
            self.cut.remove(&path);
        }
    }

    /// Takes an entry of a look up.
    fn take_entry(&mut self, workspace: &Workspace, entry: &WorkspaceEntry, kept: &mut KeptFiles) {
        let stamp = FileStamp { bytes: entry.bytes, modified: entry.changed_ns };
        let path = &entry.path;
        // Of a file that changed this moment a later change may not show.
        let is_same = |other: FileStamp| stamp.modified != 0 && other == stamp;
        let known = self.index.find_file(path).filter(|(_, file)| file.path == *path);
        if known.is_some_and(|(_, file)| is_same(file.stamp)) {
            return;
        }
        let known = known.map(|(number, _)| number);
        let mut file = IndexedFile { path: path.clone(), stamp, ..IndexedFile::default() };
        if !index::is_read(path) {
            self.index.put_file(&file);
            return;
        }
        // A note that could not be read has no record: it is tried again.
        let record = kept.remove(path.as_str()).filter(|record| is_same(record.stamp));
        if let Some(is_cut) = record.and_then(|record| self.index.put_kept(path, &record)) {
            self.note_cut(path, is_cut);
            return;
        }
        match read_entry(workspace, entry) {
            Ok(content) => {
                self.unread.remove(path);
                file.hash = sha256_hex(content.as_bytes());
                if let Some(number) = known
                    && self.index.hash_of(number) == file.hash
                {
                    self.index.set_stamp(number, stamp);
                    return;
                }
                let facts = index::facts_of(path, &content);
                self.note_cut(path, facts.cut);
                file.facts = Some(Box::new(facts));
                self.index.put_file(&file);
            }
            Err(why) => {
                self.unread.insert(path.clone(), why);
                self.index.put_file(&file);
            }
        }
    }

    fn note_cut(&mut self, path: &str, is_cut: bool) {
        match is_cut {
            true => self.cut.insert(path.to_owned()),
            false => self.cut.remove(path),
        };
    }
}

/// A note's text.
pub(crate) fn read_text(workspace: &Workspace, at: &PathEffect) -> Result<String, String> {
    match workspace.read(at, NOTE_BYTES_MAX).map_err(|why| why.to_string())? {
        FileContent::File { bytes, .. } => match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(format!("{} is no text in UTF-8", at.path)),
        },
        _ => Err(format!("{} is no file", at.path)),
    }
}

/// Where a link stands and what is said around it.
pub(crate) struct LinkPassage {
    /// Its line, from 1; `None`: it stands on a canvas, whose lines nobody sees.
    pub line: Option<usize>,
    /// The text of its line, or in words what it is.
    pub passage: String,
}

/// The passage of a link, in `text` of its file.
pub(crate) fn link_passage(text: &str, link: &NoteLink) -> LinkPassage {
    match link.form {
        LinkForm::Canvas => {
            LinkPassage { line: None, passage: "a card of the canvas shows it".into() }
        }
        _ => LinkPassage {
            line: Some(line_number(text, link.at.start)),
            passage: link_line(text, link.at),
        },
    }
}

/// The line of a link, in `text` of its file.
pub(crate) fn link_line(text: &str, at: ByteSpan) -> String {
    let start = text.get(..at.start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    text::one_line(line.trim(), PASSAGE_CHARS_MAX)
}

/// The number of a byte's line, from 1.
pub(crate) fn line_number(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// Why a link leads nowhere; `None`: it leads somewhere.
pub(crate) fn broken_reason(index: &NoteIndex, link: IndexedLink<'_>) -> Option<&'static str> {
    let Some(target) = index.link_target(link) else { return Some("no such file") };
    if link.link.subpath.is_empty() || !is_note(index.name_table().path_of(target)) {
        return None;
    }
    match index.facts_at(target)?.has_subpath(&link.link.subpath) {
        true => None,
        false if link.link.subpath.starts_with('^') => Some("no such block"),
        false => Some("no such heading"),
    }
}

/// The text of a note that a look found.
fn read_entry(workspace: &Workspace, entry: &WorkspaceEntry) -> Result<String, String> {
    let at = workspace.effect_of_entry(entry);
    match at.sensitive.clone() {
        Some(why) => Err(why),
        None => read_text(workspace, &at),
    }
}
