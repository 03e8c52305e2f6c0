//! Files of sessions of other agents: the newest of a folder, and their values one after the other,
//! so that no file is in memory as more than its text. Not here: what a value says, and sessions in
//! databases (`database`).

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::super::files::ImportPlaces;
use super::super::listing::{TreeBounds, list_tree};
use super::super::{ImportFindings, ImportItem, ImportMapping, ImportTarget};
use super::ImportedHistory;

/// Largest file of a session, sessions of one import, and bytes of text of all of them.
const FILE_BYTES_MAX: u64 = 64 << 20;
pub(super) const SESSIONS_MAX: usize = 2_000;
pub(super) const ALL_BYTES_MAX: usize = 256 << 20;
/// Values in one line, or in a file that is one value: each takes many times its text.
const VALUES_MAX: usize = 200_000;
/// Why a session is left that could be read.
pub(super) const NOTHING_SAID: &str = "has no words of a person or an agent in it";
/// How far a folder of sessions is looked into.
const BOUNDS: TreeBounds = TreeBounds { depth_max: 6, entries_max: 50_000 };

/// Which files of a folder are sessions.
pub(in crate::import) struct SessionFiles {
    /// How their names end.
    pub(in crate::import) endings: &'static [&'static str],
    /// A folder that they must be in, at any depth; none: any.
    pub(in crate::import) folder: Option<&'static str>,
}

/// Files of sessions below `folder`: the newest of them as far as the import takes any, by their
/// names.
pub(in crate::import) fn list_history_files(
    folder: &Path,
    wanted: &SessionFiles,
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> Vec<PathBuf> {
    let place = folder.display().to_string();
    match places.real_path(folder) {
        Ok(None) => return Vec::new(),
        Ok(Some(_)) => {}
        Err(why) => {
            found.break_file(&place, &why, ImportTarget::User);
            return Vec::new();
        }
    }
    let listing = list_tree(folder, &BOUNDS);
    for (name, why) in listing.left {
        let says = "sessions".to_owned();
        let place = folder.join(name).display().to_string();
        found.leave_item(place, says, &why, ImportTarget::User);
    }
    let is_wanted = |name: &String| {
        let (above, _) = name.rsplit_once('/').unwrap_or(("", name));
        wanted.endings.iter().any(|ending| name.ends_with(ending))
            && wanted.folder.is_none_or(|folder| above.split('/').any(|part| part == folder))
    };
    let paths = listing.names.into_iter().filter(is_wanted).map(|name| folder.join(name));
    let left = SESSIONS_MAX.saturating_sub(found.sessions);
    let (newest, older) = newest_files(paths.collect(), left);
    if older > 0 {
        let why = format!("at most {SESSIONS_MAX} are imported: the newest");
        found.leave_item(place, format!("{older} more sessions"), &why, ImportTarget::User);
    }
    found.sessions += newest.len();
    newest
}

/// The newest `most` of these files, by their names, and how many older ones there are.
fn newest_files(paths: Vec<PathBuf>, most: usize) -> (Vec<PathBuf>, usize) {
    let changed = |path: &Path| {
        let found = std::fs::symlink_metadata(path).and_then(|found| found.modified());
        found.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let mut dated: Vec<(SystemTime, PathBuf)> =
        paths.into_iter().map(|path| (changed(&path), path)).collect();
    dated.sort_unstable();
    let older = dated.len().saturating_sub(most);
    let mut newest: Vec<PathBuf> = dated.into_iter().skip(older).map(|(_, path)| path).collect();
    newest.sort_unstable();
    (newest, older)
}

/// A file of sessions that was read.
pub(in crate::import) struct HistoryFile {
    /// Its path, for people.
    pub(in crate::import) name: String,
    /// Its name without what comes before or after.
    pub(in crate::import) stem: String,
    text: String,
    /// A value a line; else the file is one value.
    has_lines: bool,
    /// Lines that are no JSON, and lines of more values than are read.
    broken: Cell<usize>,
    large: Cell<usize>,
}

impl HistoryFile {
    /// The file; it is noted as read, or as one that cannot be.
    pub(in crate::import) fn read_noted(
        path: &Path,
        places: &ImportPlaces<'_>,
        found: &mut ImportFindings,
    ) -> Option<HistoryFile> {
        let name = path.display().to_string();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = places.read_bytes(path, FILE_BYTES_MAX).and_then(|bytes| {
            String::from_utf8(bytes.unwrap_or_default())
                .map_err(|_| "is not valid UTF-8".to_owned())
        });
        match text {
            Ok(text) => {
                found.read.push(name.clone());
                let has_lines = path.extension().is_some_and(|ending| ending == "jsonl");
                let (broken, large) = (Cell::new(0), Cell::new(0));
                Some(HistoryFile { name, stem, text, has_lines, broken, large })
            }
            Err(why) => {
                found.leave_item(name, format!("session {stem}"), &why, ImportTarget::User);
                None
            }
        }
    }

    /// The first value that is wanted.
    pub(in crate::import) fn find_value(&self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        self.value_texts().filter_map(parse_bounded).find(|value| wanted(value))
    }

    /// Says each value in turn, until the session is full. One value is in memory at a time.
    pub(in crate::import) fn fill_history(
        &self,
        history: &mut ImportedHistory,
        mut say: impl FnMut(&mut ImportedHistory, &Value),
    ) {
        for text in self.value_texts() {
            if history.is_full() {
                history.is_cut = true;
                return;
            }
            match parse_bounded(text) {
                Some(value) => say(history, &value),
                None if count_values(text) > VALUES_MAX => self.large.set(self.large.get() + 1),
                None => self.broken.set(self.broken.get() + 1),
            }
        }
    }

    fn value_texts(&self) -> impl Iterator<Item = &str> {
        let whole = (!self.has_lines).then_some(self.text.as_str());
        let lines = self.has_lines.then(|| self.text.lines());
        let texts = whole.into_iter().chain(lines.into_iter().flatten());
        texts.filter(|text| !text.trim().is_empty())
    }

    /// This session, with what could not be understood of the file.
    pub(in crate::import) fn add_history(
        &self,
        history: ImportedHistory,
        found: &mut ImportFindings,
    ) {
        let (broken, large) = (self.broken.get(), self.large.get());
        let why_empty = match (broken, large) {
            (0, 0) => NOTHING_SAID.to_owned(),
            (_, 0) => format!("{broken} of its lines are no JSON, and the rest says nothing"),
            _ => format!("has lines of more than {VALUES_MAX} values, which are not read"),
        };
        let mut notes = Vec::new();
        if broken > 0 {
            notes.push(format!("{broken} of its lines are no JSON and are left"));
        }
        if large > 0 {
            notes.push(format!("{large} of its lines have too many values and are left"));
        }
        put_history(&self.name, history, HistoryRest { why_empty, notes }, found);
    }
}

/// What could not be read of a session.
pub(super) struct HistoryRest {
    /// Why there is nothing, if there is nothing.
    pub(super) why_empty: String,
    /// What is left of it, for the person.
    pub(super) notes: Vec<String>,
}

/// Puts a session that was read among what was found, within the bound of all of them.
pub(super) fn put_history(
    place: &str,
    mut history: ImportedHistory,
    rest: HistoryRest,
    found: &mut ImportFindings,
) {
    history.close_head();
    let place = place.to_owned();
    let says = format!("session {}", history.head.id);
    if history.lines.is_empty() {
        return found.leave_item(place, says, &rest.why_empty, ImportTarget::User);
    }
    found.history_bytes += history.bytes;
    if found.history_bytes > ALL_BYTES_MAX {
        found.history_bytes -= history.bytes;
        let why = format!("all sessions together have more than {ALL_BYTES_MAX} bytes of text");
        return found.leave_item(place, says, &why, ImportTarget::User);
    }
    let mut notes = rest.notes;
    if history.is_cut {
        notes.push("it is longer than what is imported of one session; the rest is left".into());
    }
    let becomes = ImportMapping::History(Box::new(history));
    found.push_item(ImportItem { place, says, becomes, target: ImportTarget::User, notes });
}

/// A value, unless it has more values in it than are read.
pub(in crate::import) fn parse_bounded(text: &str) -> Option<Value> {
    if count_values(text) > VALUES_MAX {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// About how many values a text of JSON has: what stands between commas and after brackets.
fn count_values(text: &str) -> usize {
    let (mut count, mut in_text, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn file_of(text: String, has_lines: bool) -> HistoryFile {
        HistoryFile {
            name: "f".into(),
            stem: "f".into(),
            text,
            has_lines,
            broken: Cell::new(0),
            large: Cell::new(0),
        }
    }

    #[test]
    fn r8_the_newest_files_are_kept_whatever_they_are_called() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut paths = Vec::new();
        for (name, day) in [("zzz", 1), ("mmm", 2), ("aaa", 3)] {
            let path = folder.path().join(name);
            let time = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * day);
            File::create(&path).and_then(|file| file.set_modified(time)).expect("made");
            paths.push(path);
        }
        let (newest, older) = newest_files(paths.clone(), 2);
        assert_eq!(newest, [folder.path().join("aaa"), folder.path().join("mmm")]);
        assert_eq!(older, 1);
        assert_eq!(newest_files(paths, 0).1, 3);
    }

    #[test]
    fn r8_values_without_number_are_never_in_memory() {
        assert_eq!(count_values(r#"{"a": [1, "x, [y", "\", {"], "b": {}}"#), 7);
        let many = format!("[{}0]", "[],".repeat(2 * VALUES_MAX));
        for (text, has_lines) in [(many.clone(), false), (format!("{many}\n{{\"a\": 1}}\n"), true)]
        {
            let file = file_of(text, has_lines);
            let mut history = ImportedHistory::new("a", "1", "f");
            let mut seen = 0;
            file.fill_history(&mut history, |_, _| seen += 1);
            assert_eq!((seen, file.large.get()), (usize::from(has_lines), 1));
        }
    }

    #[test]
    fn r8_a_full_session_reads_no_further() {
        let line = format!("{{\"text\": \"{}\"}}\n", "w".repeat(40_000));
        let file = file_of(line.repeat(1_000), true);
        let mut history = ImportedHistory::new("a", "1", "f");
        let mut seen = 0;
        file.fill_history(&mut history, |history, value| {
            seen += 1;
            history.add_line("user", super::super::text_at(value, "/text"), "");
        });
        assert!(seen < 500 && history.is_full(), "{seen}");
        let mut found = ImportFindings::default();
        file.add_history(history, &mut found);
        assert!(found.items[0].notes[0].contains("the rest is left"));
    }
}
