//! The index of the vault that tools ask: made at the first need, brought up to date before each answer
//! (where the system tells of changes, only folders with one are looked at; what changed is read again),
//! kept in the state directory. Not here: what stands in notes (`weir-notes`), which files may be seen (the
//! workspace).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use weir_core::record::sha256_hex;
use weir_core::tool::{Effects, PathAccess, PathEffect};
use weir_engine::ports::{CallPlan, FileContent};
use weir_engine::scene::{self, VaultNames};
use weir_engine::workspace::{FileError, ReadableChanges, ReadableTree, Workspace, WorkspaceEntry};
use weir_notes::index::{self, FileStamp, IndexedFile, IndexedLink, NoteIndex};
use weir_notes::note::{LinkForm, NOTE_BYTES_MAX, NoteLink};
use weir_notes::resolve::FileNumber;
use weir_notes::span::ByteSpan;

use crate::draft::reading_plan;
use crate::tag_counts::count_tags;
use crate::text;
use crate::vault_names::NameLetters;

/// Most files of a vault.
const VAULT_FILES_MAX: usize = 200_000;
/// The index's file in the state directory.
const INDEX_FILE: &str = "notes.jsonl";
/// More files than this that went at once: the index is written anew, whatever they were.
const GONE_LOOKED_AT_MAX: usize = 100;
/// So many lines more than files, and the file is written anew.
const SPARE_LINES_MAX: usize = 2_000;
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
    /// Lines of the kept index.
    lines: usize,
    /// There are more files than the index takes.
    pub(crate) truncated: bool,
    /// Notes that could not be read, with why.
    pub(crate) unread: BTreeMap<String, String>,
    /// Notes with more parts than the index takes.
    pub(crate) cut: BTreeSet<String>,
}

/// Looks the vault over and asks it. Blocks.
///
/// # Errors
/// A sentence for the model.
pub(crate) fn ask_vault<T>(
    workspace: &Workspace,
    ask: impl FnOnce(&NoteVault) -> T,
) -> Result<T, String> {
    let held = workspace.derived_value::<HeldVault>();
    let mut vault = held.0.lock().unwrap_or_else(PoisonError::into_inner);
    vault.refresh_index(workspace)?;
    Ok(ask(&vault))
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
        let wanted = NameLetters::of_name(weir_notes::resolve::note_title(name));
        let mut near: Vec<(usize, &str)> = Vec::new();
        for (_, file) in self.index.list_files() {
            let title = weir_notes::resolve::note_title(&file.path);
            let aliases = file.facts.iter().flat_map(|facts| facts.aliases.iter());
            let mut names = std::iter::once(title).chain(aliases.map(String::as_str));
            let best = names.find_map(|other| wanted.distance_to(other));
            near.extend(best.map(|distance| (distance, file.path.as_str())));
        }
        near.sort();
        near.into_iter().map(|(_, path)| path.to_owned()).collect()
    }

    fn refresh_index(&mut self, workspace: &Workspace) -> Result<(), String> {
        let is_first = !self.loaded;
        let mut kept = if is_first { self.load_index(workspace) } else { HashMap::new() };
        // Where something goes wrong on the way, the next look is at everything.
        let mut tree = std::mem::take(&mut self.tree);
        let changes = workspace.readable_changes(&mut tree, VAULT_FILES_MAX);
        let mut lines = String::new();
        match changes.map_err(|why| why.to_string())? {
            ReadableChanges::Whole(walk) => {
                self.truncated = walk.truncated;
                self.take_entries(workspace, &walk.entries, &mut kept, &mut lines);
                self.drop_missing(workspace, &walk.entries, None, &mut lines);
            }
            ReadableChanges::Folders(folders) => {
                for (folder, entries) in &folders {
                    self.take_entries(workspace, entries, &mut kept, &mut lines);
                    self.drop_missing(workspace, entries, Some(folder), &mut lines);
                }
            }
        }
        self.tree = tree;
        // The kept index has files that are gone, or that nobody may see any more.
        if is_first && !kept.is_empty() && !self.truncated {
            self.lines = usize::MAX;
        }
        // Names change slowly: they are looked at once in a process, and when the index is written anew.
        if is_first || self.lines == usize::MAX {
            self.names_in_use().keep_names(workspace);
        }
        self.keep_index(workspace, &lines);
        Ok(())
    }

    /// The names that the prompt of later sessions tells: those that more than one note has.
    fn names_in_use(&self) -> VaultNames {
        let mut properties: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, _, facts) in self.index.list_notes() {
            for (name, _) in &facts.properties {
                *properties.entry(name).or_default() += 1;
            }
        }
        let mut properties: Vec<(&str, usize)> =
            properties.into_iter().filter(|(_, count)| *count > 1).collect();
        properties.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
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
        kept: &mut HashMap<String, IndexedFile>,
        lines: &mut String,
    ) {
        for entry in entries {
            let changed = self.take_entry(workspace, entry, kept);
            if let Some(file) = changed.and_then(|number| self.index.file_at(number)) {
                lines.push_str(&index::record_line(file));
                self.lines = self.lines.saturating_add(1);
            }
        }
    }

    /// Lets the files go that are not among those that there are: in a folder, or anywhere.
    fn drop_missing(
        &mut self,
        workspace: &Workspace,
        entries: &[WorkspaceEntry],
        folder: Option<&String>,
        lines: &mut String,
    ) {
        let there: HashSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        let folder = folder.map(|folder| if folder == "." { "" } else { folder.as_str() });
        let gone: Vec<(FileNumber, String)> = self
            .index
            .list_files()
            .filter(|(_, file)| {
                folder.is_none_or(|folder| weir_notes::resolve::parent_folder(&file.path) == folder)
                    && !there.contains(file.path.as_str())
            })
            .map(|(number, file)| (number, file.path.clone()))
            .collect();
        // What is only hidden now must not stand in the kept index.
        let is_deleted = |path: &str| {
            let at = workspace.resolve(path, PathAccess::Read);
            matches!(workspace.stat_entry(&at), Err(FileError::NotFound { .. }))
        };
        if gone.len() > GONE_LOOKED_AT_MAX || !gone.iter().all(|(_, path)| is_deleted(path)) {
            self.lines = usize::MAX;
        }
        for (number, path) in gone {
            self.index.remove(number);
            self.unread.remove(&path);
            self.cut.remove(&path);
            lines.push_str(&index::removal_line(&path));
            self.lines = self.lines.saturating_add(1);
        }
    }

    /// Takes an entry of a look up; the number of a file that must be kept anew.
    fn take_entry(
        &mut self,
        workspace: &Workspace,
        entry: &WorkspaceEntry,
        kept: &mut HashMap<String, IndexedFile>,
    ) -> Option<FileNumber> {
        let stamp = FileStamp { bytes: entry.bytes, modified: entry.changed_ns };
        let path = &entry.path;
        // Of a file that changed this moment a later change may not show.
        let is_same = |file: &IndexedFile| stamp.modified != 0 && file.stamp == stamp;
        let known = self.index.find_file(path).filter(|(_, file)| file.path == *path);
        if known.is_some_and(|(_, file)| is_same(file)) {
            return None;
        }
        let mut file =
            IndexedFile { path: path.clone(), stamp: stamp.clone(), ..IndexedFile::default() };
        if !index::is_read(path) {
            self.index.put_file(file);
            return None;
        }
        // A note that could not be read is tried again.
        let usable = |file: &IndexedFile| is_same(file) && file.facts.is_some();
        if let Some(file) = kept.remove(path).filter(usable) {
            self.note_cut(&file);
            self.index.put_file(file);
            return None;
        }
        match read_entry(workspace, entry) {
            Ok(content) => {
                self.unread.remove(path);
                file.hash = sha256_hex(content.as_bytes());
                if let Some((number, known)) = known
                    && known.hash == file.hash
                {
                    self.index.set_stamp(number, file.stamp);
                    return Some(number);
                }
                file.facts = Some(Box::new(index::facts_of(path, &content)));
                self.note_cut(&file);
                Some(self.index.put_file(file))
            }
            Err(why) => {
                self.unread.insert(path.clone(), why);
                self.index.put_file(file);
                None
            }
        }
    }

    fn note_cut(&mut self, file: &IndexedFile) {
        match file.facts.as_ref().is_some_and(|facts| facts.cut) {
            true => self.cut.insert(file.path.clone()),
            false => self.cut.remove(&file.path),
        };
    }

    fn load_index(&mut self, workspace: &Workspace) -> HashMap<String, IndexedFile> {
        self.loaded = true;
        let text =
            workspace.read_derived(INDEX_FILE).and_then(|bytes| String::from_utf8(bytes).ok());
        let Some((files, lines)) = text.as_deref().and_then(index::read_records) else {
            // None, or of another version: the first line makes it one of this.
            self.lines = usize::MAX;
            return HashMap::new();
        };
        self.lines = lines;
        files
    }

    /// Writes down what changed. That it cannot be written costs the next session time, nothing else.
    fn keep_index(&mut self, workspace: &Workspace, lines: &str) {
        let notes = self.index.list_files().filter(|(_, file)| index::is_read(&file.path)).count();
        let written = match self.lines > notes.saturating_mul(2).saturating_add(SPARE_LINES_MAX) {
            true => {
                let mut whole = index::version_line();
                for (_, file) in
                    self.index.list_files().filter(|(_, file)| index::is_read(&file.path))
                {
                    whole.push_str(&index::record_line(file));
                }
                self.lines = notes;
                workspace.replace_derived(INDEX_FILE, whole.as_bytes())
            }
            false if lines.is_empty() => Ok(()),
            false => workspace.append_derived(INDEX_FILE, lines.as_bytes()),
        };
        // The file may lack lines from now on: it is written anew at the next need.
        if written.is_err() {
            self.lines = usize::MAX;
        }
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
    let facts = index.file_at(target).and_then(|file| file.facts.as_deref())?;
    let path = index.name_table().path_of(target);
    match weir_notes::resolve::is_note(path) && !facts.has_subpath(&link.link.subpath) {
        true if link.link.subpath.starts_with('^') => Some("no such block"),
        true => Some("no such heading"),
        false => None,
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
