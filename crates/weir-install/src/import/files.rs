//! Files of other agents: read within a bound and below the folder they belong to, and understood
//! with the line of a mistake. Nothing here decides what a file's content becomes; what cannot be
//! read is an item like any other, so that one broken file keeps nobody from the rest.

use std::path::{Path, PathBuf};

use serde_json::Value;
use weir_engine::regular_file::read_regular_file;
use weir_providers::catalogue::ModelCatalogue;

use super::listing::{TreeBounds, list_tree};
use super::marked::{MarkedDocument, NameForm};
use super::{ImportFindings, ImportTarget};
use crate::environment::ProcessEnvironment;

/// Largest file of settings, or of instructions, that is read.
const TEXT_BYTES_MAX: u64 = 8 << 20;
/// Files that are taken of one folder, and how far it is looked into.
const LISTED_MAX: usize = 500;
/// Bytes of one name in a file of settings: paths are made of names, one for each value.
const KEY_BYTES_MAX: usize = 4_096;
const BOUNDS: TreeBounds = TreeBounds { depth_max: 4, entries_max: LISTED_MAX * 4 };

/// Where files are looked for, and what they are held against.
pub(super) struct ImportPlaces<'a> {
    /// The folder that stands for the home of the person.
    pub(super) home: &'a Path,
    /// The workspace.
    pub(super) workspace: &'a Path,
    /// Variables, for what files name.
    pub(super) environment: &'a ProcessEnvironment,
    /// Models that are known here.
    pub(super) models: &'a ModelCatalogue,
    /// `home` is where the person is at home, so that Weir reads what is shared there where it is.
    pub(super) is_own_home: bool,
}

impl ImportPlaces<'_> {
    /// Whether a path of the workspace is meant.
    pub(super) fn target_of(&self, path: &Path) -> ImportTarget {
        let (in_workspace, in_home) =
            (path.starts_with(self.workspace), path.starts_with(self.home));
        // Who works in the home folder has one set of files: their own.
        match in_workspace && !(in_home && self.home.starts_with(self.workspace)) {
            true => ImportTarget::Project,
            false => ImportTarget::User,
        }
    }

    /// The real path, where it is below the home or, for files of the workspace, below that: a
    /// link must not make a foreign file something that a model is told.
    pub(super) fn real_path(&self, path: &Path) -> Result<Option<PathBuf>, String> {
        let root = match self.target_of(path) {
            ImportTarget::Project => self.workspace,
            ImportTarget::User => self.home,
        };
        let real = match std::fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return match std::fs::symlink_metadata(path).is_ok() {
                    true => Err("is a link to nothing; remove it or mend it".into()),
                    false => Ok(None),
                };
            }
            Err(error) => return Err(format!("cannot be read: {error}; check its permissions")),
        };
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        match real.starts_with(&root) {
            true => Ok(Some(real)),
            false => Err(format!(
                "is a link that leads out of {}; put a copy of the file there",
                root.display()
            )),
        }
    }

    /// Bytes of a file below home or workspace; `None` where there is no such file.
    pub(super) fn read_bytes(&self, path: &Path, max: u64) -> Result<Option<Vec<u8>>, String> {
        let Some(real) = self.real_path(path)? else { return Ok(None) };
        let cannot =
            |error: std::io::Error| format!("cannot be read: {error}; check its permissions");
        let found = std::fs::metadata(&real).map_err(cannot)?;
        if !found.is_file() {
            return Err("is not a file; put a file there or remove it".into());
        }
        if found.len() > max {
            return Err(format!("has {} bytes; at most {max} are read", found.len()));
        }
        read_regular_file(&real, max).map(Some).map_err(cannot)
    }
}

/// A file that was read.
pub(super) struct ImportedFile {
    /// Its path, for people.
    pub(super) name: String,
    /// What stands in it.
    pub(super) text: String,
    /// Whose it is.
    pub(super) target: ImportTarget,
}

impl ImportedFile {
    /// The file, if there is one; it is noted as read, or as one that cannot be.
    pub(super) fn read_noted(
        path: &Path,
        places: &ImportPlaces<'_>,
        found: &mut ImportFindings,
    ) -> Option<ImportedFile> {
        let (name, target) = (path.display().to_string(), places.target_of(path));
        let text = places.read_bytes(path, TEXT_BYTES_MAX).and_then(|bytes| {
            let Some(bytes) = bytes else { return Ok(None) };
            String::from_utf8(bytes).map(Some).map_err(|error| {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
                format!("line {line}: is not valid UTF-8; save it as UTF-8")
            })
        });
        match text {
            Ok(None) => None,
            Ok(Some(text)) => {
                found.read.push(name.clone());
                Some(ImportedFile { name, text, target })
            }
            Err(why) => {
                found.break_file(&name, &why, target);
                None
            }
        }
    }

    /// As JSON, comments and needless commas allowed; an empty file is an empty object.
    pub(super) fn to_json(&self, found: &mut ImportFindings) -> Option<MarkedDocument> {
        let plain = without_comments(&self.text);
        if plain.trim().is_empty() {
            let empty = Value::Object(serde_json::Map::new());
            return Some(self.mark_values(empty, NameForm::Quoted));
        }
        let json = serde_json::from_str(&plain).map_err(|error| {
            let told = error.to_string();
            let why = told.split(" at line ").next().unwrap_or(&told).to_owned();
            (error.line().max(1), why)
        });
        self.as_table(json, NameForm::Quoted, found)
    }

    /// As TOML.
    pub(super) fn to_toml(&self, found: &mut ImportFindings) -> Option<MarkedDocument> {
        let toml = toml::from_str(&self.text).map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| {
                self.text.get(..span.start).unwrap_or_default().matches('\n').count() + 1
            });
            (line, error.message().replace('\n', "; "))
        });
        self.as_table(toml, NameForm::Bare, found)
    }

    /// As YAML; an empty file is an empty table.
    pub(super) fn to_yaml(&self, found: &mut ImportFindings) -> Option<MarkedDocument> {
        let yaml = match weir_notes::properties::parse_yaml(&self.text) {
            Ok(Value::Null) => Ok(Value::Object(serde_json::Map::new())),
            Ok(value) => Ok(value),
            Err(why) => Err((line_in(&why).unwrap_or(1), why)),
        };
        self.as_table(yaml, NameForm::Bare, found)
    }

    /// These values as what stands in this file.
    pub(super) fn mark_values(&self, root: Value, form: NameForm) -> MarkedDocument {
        MarkedDocument::new(self.name.clone(), self.text.clone(), form, root, self.target)
    }

    fn as_table(
        &self,
        parsed: Result<Value, (usize, String)>,
        form: NameForm,
        found: &mut ImportFindings,
    ) -> Option<MarkedDocument> {
        let (line, why) = match (parsed, form) {
            (Ok(root), _) if has_long_name(&root) => {
                (1, format!("has a name of more than {KEY_BYTES_MAX} bytes"))
            }
            (Ok(root), _) if root.is_object() => return Some(self.mark_values(root, form)),
            (Ok(_), NameForm::Quoted) => (1, "is no JSON object".to_owned()),
            (Ok(_), NameForm::Bare) => (1, "is no table".to_owned()),
            (Err(problem), _) => problem,
        };
        found.break_file(&format!("{}:{line}", self.name), &why, self.target);
        None
    }
}

fn has_long_name(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.len() > KEY_BYTES_MAX || has_long_name(value))
        }
        Value::Array(items) => items.iter().any(has_long_name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The line that a sentence of the YAML reader names.
fn line_in(why: &str) -> Option<usize> {
    let (_, rest) = why.split_once("line ")?;
    rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

/// Names of files below `folder` that end so, with `/` between, in order. What is left out is said.
pub(super) fn list_files(
    folder: &Path,
    endings: &[&str],
    places: &ImportPlaces<'_>,
    found: &mut ImportFindings,
) -> Vec<String> {
    let target = places.target_of(folder);
    match places.real_path(folder) {
        Ok(Some(_)) => {}
        Ok(None) => return Vec::new(),
        Err(why) => {
            found.break_file(&folder.display().to_string(), &why, target);
            return Vec::new();
        }
    }
    let listing = list_tree(folder, &BOUNDS);
    let (mut listed, others): (Vec<_>, Vec<_>) = listing
        .names
        .into_iter()
        .partition(|name| endings.iter().any(|ending| name.ends_with(ending)));
    let mut leave = |name: &str, why: &str| {
        let place = folder.join(name).display().to_string();
        let says = if name.is_empty() { "the folder".into() } else { format!("file {name}") };
        found.leave_item(place, says, why, target);
    };
    for (name, why) in listing.left {
        leave(&name, &why);
    }
    for name in others {
        leave(&name, &format!("is no file that ends with {}", endings.join(" or ")));
    }
    if listed.len() > LISTED_MAX {
        let more =
            format!("and {} more are not read: at most {LISTED_MAX}", listed.len() - LISTED_MAX);
        leave(&listed[LISTED_MAX].clone(), &more);
        listed.truncate(LISTED_MAX);
    }
    listed.retain(|name| {
        let plain = !name.contains(char::is_control);
        if !plain {
            leave(name, "has control characters in its name; give it another");
        }
        plain
    });
    listed
}

/// Whether two paths are one file or folder.
pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| -> Option<PathBuf> { std::fs::canonicalize(path).ok() };
    real(a).is_some_and(|a| Some(a) == real(b))
}

/// The text with blanks where comments and needless commas stood: every other sign keeps its line
/// and column.
fn without_comments(text: &str) -> String {
    let mut plain: Vec<char> = text.chars().collect();
    let (mut at, mut comma) = (0, None);
    while at < plain.len() {
        match (plain[at], plain.get(at + 1)) {
            ('"', _) => {
                comma = None;
                at = end_of_text(&plain, at);
            }
            ('/', Some('/')) => {
                while at < plain.len() && plain[at] != '\n' {
                    plain[at] = ' ';
                    at += 1;
                }
            }
            ('/', Some('*')) => at = blank_block(&mut plain, at),
            (',', _) => {
                comma = Some(at);
                at += 1;
            }
            ('}' | ']', _) => {
                if let Some(comma) = comma.take() {
                    plain[comma] = ' ';
                }
                at += 1;
            }
            (sign, _) => {
                if !sign.is_whitespace() {
                    comma = None;
                }
                at += 1;
            }
        }
    }
    plain.into_iter().collect()
}

/// The place behind the text that begins at `at`.
fn end_of_text(plain: &[char], at: usize) -> usize {
    let mut at = at + 1;
    while at < plain.len() && plain[at] != '"' && plain[at] != '\n' {
        at += if plain[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// Blanks the comment that begins at `at`; the place behind it.
fn blank_block(plain: &mut [char], mut at: usize) -> usize {
    let begin = at;
    at += 2;
    while at < plain.len() && !(plain[at] == '/' && plain[at - 1] == '*' && at >= begin + 3) {
        at += 1;
    }
    let end = (at + 1).min(plain.len());
    for sign in plain[begin..end].iter_mut().filter(|sign| **sign != '\n') {
        *sign = ' ';
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_import_reads_json_with_comments_and_keeps_its_lines() {
        for (text, plain) in [
            ("{} // a", "{}     "),
            ("{/* a */\"b\": 1,}", "{       \"b\": 1 }"),
            ("[1, 2, // x\n]", "[1, 2      \n]"),
            ("{\"a//b\": \"/* c */\"}", "{\"a//b\": \"/* c */\"}"),
            ("{\"a\\\"//\": 1}", "{\"a\\\"//\": 1}"),
            ("/* \n */{}", "   \n   {}"),
            ("/*/ {}", "      "),
            ("\"open", "\"open"),
            ("/", "/"),
        ] {
            assert_eq!(without_comments(text), plain, "{text}");
        }
    }

    #[test]
    fn r8_a_file_with_a_name_without_end_is_left() {
        let text = format!("{{\"{}\": {{\"a\": 1}}}}", "k".repeat(KEY_BYTES_MAX + 1));
        let file = ImportedFile { name: "f".into(), text, target: ImportTarget::User };
        let mut found = ImportFindings::default();
        assert!(file.to_json(&mut found).is_none());
        assert_eq!(found.broken, ["f:1: has a name of more than 4096 bytes"]);
    }
}
