//! One instruction file and what it imports (M2): read through the guard, bounded, with a reason for
//! whatever is left out. Not here: which files are looked for.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use weir_core::tool::{PathAccess, PathEffect, PathPlace};

use crate::regular_file::open_regular_file;
use crate::workspace::{FileError, Workspace};

use super::imports::{self, Import};
use super::person;

/// Characters of one file: one of a megabyte must not take the place of all others.
const FILE_CHARS_MAX: usize = 20_000;
/// How deep a file that is imported may import.
const DEPTH_MAX: usize = 5;
/// Files that are imported in one look.
const IMPORTS_MAX: usize = 50;

/// An instruction file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path in the workspace, or what else it is called.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What the model is told of it, with a line about what is missing; empty: nothing at all.
    pub text: String,
    /// Why not all of it is told.
    pub left_out: Option<String>,
}

impl InstructionFile {
    /// Left out, in words that the model reads too.
    pub(super) fn with_refusal(name: &str, why: String) -> InstructionFile {
        let text = format!("[left out: {why}]");
        InstructionFile { name: name.into(), bytes: 0, text, left_out: Some(why) }
    }
}

/// Where a file lies: that decides how it is read and what it may import.
#[derive(Debug, Clone)]
pub(super) enum InstructionLocation {
    /// In the workspace.
    Workspace(PathEffect),
    /// In the person's own folder.
    Person(PathBuf),
    /// In a folder of the repository above the workspace.
    Above(PathBuf),
}

impl InstructionLocation {
    fn path_key(&self) -> String {
        match self {
            InstructionLocation::Workspace(at) => at.path.clone(),
            // An absolute path is never one of the workspace.
            InstructionLocation::Person(path) | InstructionLocation::Above(path) => {
                path.display().to_string()
            }
        }
    }
}

/// What a file looked like when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstructionStamp {
    path: PathBuf,
    state: Option<(SystemTime, u64)>,
}

impl InstructionStamp {
    pub(super) fn for_path(path: PathBuf) -> InstructionStamp {
        let found = std::fs::metadata(&path).ok();
        let state = found.and_then(|found| Some((found.modified().ok()?, found.len())));
        InstructionStamp { path, state }
    }
    pub(super) fn still_holds(&self) -> bool {
        InstructionStamp::for_path(self.path.clone()) == *self
    }
}

/// Reads instruction files; each is told once.
pub(super) struct InstructionReader<'a> {
    workspace: &'a Workspace,
    /// The person's own folder, without links.
    person: Option<PathBuf>,
    seen: BTreeSet<String>,
    imported: usize,
    /// The files that were looked at.
    pub(super) stamps: Vec<InstructionStamp>,
}

impl<'a> InstructionReader<'a> {
    pub(super) fn new(workspace: &'a Workspace, person: Option<&Path>) -> InstructionReader<'a> {
        let person = person.and_then(|folder| folder.canonicalize().ok());
        InstructionReader {
            workspace,
            person,
            seen: BTreeSet::new(),
            imported: 0,
            stamps: Vec::new(),
        }
    }

    /// Says that `spot` is read for its own sake: no import brings it a second time.
    pub(super) fn mark_seen(&mut self, spot: &InstructionLocation) {
        self.seen.insert(spot.path_key());
    }

    /// The file and what it imports; empty: there is none.
    pub(super) fn read_with_imports(
        &mut self,
        spot: &InstructionLocation,
        name: &str,
    ) -> Vec<InstructionFile> {
        self.mark_seen(spot);
        let mut all = Vec::new();
        if let Some(found) = self.read(spot, name) {
            let text = found.text.clone();
            let may_import = found.bytes > 0;
            all.push(found);
            if may_import {
                self.add_imports(&ImportSource { spot, name, depth: 0 }, &text, &mut all);
            }
        }
        all
    }

    fn add_imports(&mut self, from: &ImportSource<'_>, text: &str, all: &mut Vec<InstructionFile>) {
        for import in imports::parse_imports(text) {
            let spot = match self.import_target(from.spot, &import) {
                Ok(spot) => spot,
                Err(why) => {
                    if import.is_sure {
                        all.push(InstructionFile::with_refusal(
                            &from.imported_name(&import.path),
                            why,
                        ));
                    }
                    continue;
                }
            };
            let name = from.imported_name(&self.display_path(&spot));
            if self.seen.contains(&spot.path_key()) {
                continue;
            }
            let too_deep = from.depth >= DEPTH_MAX;
            if import.is_sure && (too_deep || self.imported >= IMPORTS_MAX) {
                let why = match too_deep {
                    true => format!("imports go {DEPTH_MAX} files deep"),
                    false => format!("at most {IMPORTS_MAX} files are imported"),
                };
                self.seen.insert(spot.path_key());
                all.push(InstructionFile::with_refusal(&name, why));
                continue;
            }
            match self.read(&spot, &name) {
                Some(found) => {
                    self.seen.insert(spot.path_key());
                    self.imported += 1;
                    let (inner, may_import) = (found.text.clone(), found.bytes > 0);
                    all.push(found);
                    if may_import {
                        let from = ImportSource { spot: &spot, name: &name, depth: from.depth + 1 };
                        self.add_imports(&from, &inner, all);
                    }
                }
                None if import.is_sure => {
                    all.push(InstructionFile::with_refusal(&name, "there is no such file".into()));
                }
                None => (),
            }
        }
    }

    /// Where an import leads. Relative to the file that imports; from the workspace and above it
    /// only into the workspace, from the person's folder only into that.
    fn import_target(
        &self,
        from: &InstructionLocation,
        import: &Import,
    ) -> Result<InstructionLocation, String> {
        let beside = |path: &Path| path.parent().unwrap_or(Path::new("")).join(&import.path);
        if let InstructionLocation::Person(path) = from {
            let own = self.person.as_deref().ok_or("the folder of settings is not there")?;
            let real = beside(path).canonicalize().map_err(|_| "there is no such file")?;
            return match real.starts_with(own) {
                true => Ok(InstructionLocation::Person(real)),
                false => Err("it lies outside the person's folder of settings".into()),
            };
        }
        let written = match from {
            InstructionLocation::Workspace(_) if import.path.starts_with("~/") => {
                import.path.clone()
            }
            InstructionLocation::Workspace(at) => beside(Path::new(&at.path)).display().to_string(),
            InstructionLocation::Person(path) | InstructionLocation::Above(path) => {
                beside(path).display().to_string()
            }
        };
        let at = self.workspace.resolve(&written, PathAccess::Read);
        match at.place {
            PathPlace::Inside => Ok(InstructionLocation::Workspace(at)),
            PathPlace::Outside | PathPlace::Escapes => Err("it lies outside the workspace".into()),
        }
    }

    fn display_path(&self, spot: &InstructionLocation) -> String {
        match spot {
            InstructionLocation::Workspace(at) => at.path.clone(),
            InstructionLocation::Above(path) => path.display().to_string(),
            InstructionLocation::Person(path) => {
                let below = self.person.as_deref().and_then(|own| path.strip_prefix(own).ok());
                format!("{} of the person", below.unwrap_or(path).display())
            }
        }
    }

    /// One file; `None`: there is none.
    fn read(&mut self, spot: &InstructionLocation, name: &str) -> Option<InstructionFile> {
        let file = match spot {
            InstructionLocation::Workspace(at) => {
                self.stamps.push(InstructionStamp::for_path(self.workspace.root().join(&at.path)));
                match self.open_file(at) {
                    Ok(file) => file?,
                    Err(InstructionRefusal::Unseen(why)) => {
                        let text = String::new();
                        let name = name.into();
                        return Some(InstructionFile { name, bytes: 0, text, left_out: Some(why) });
                    }
                    Err(InstructionRefusal::Said(why)) => {
                        return Some(InstructionFile::with_refusal(name, why));
                    }
                }
            }
            InstructionLocation::Person(path) | InstructionLocation::Above(path) => {
                match open_regular_file(path) {
                    Ok(file) => file,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
                    Err(error) => {
                        return Some(InstructionFile::with_refusal(name, error.to_string()));
                    }
                }
            }
        };
        Some(match person::read_bounded_text(file, name, FILE_CHARS_MAX) {
            Ok(read) if read.text.contains('\0') => {
                InstructionFile::with_refusal(name, "it is not text".into())
            }
            Ok(read) => InstructionFile {
                name: name.into(),
                bytes: read.bytes,
                text: read.text,
                left_out: read.is_cut.then(|| {
                    format!("more than {FILE_CHARS_MAX} characters of one file are not told")
                }),
            },
            Err(error) => InstructionFile::with_refusal(name, error.to_string()),
        })
    }

    /// Opens a file of the workspace, unless a list, a rule or a mark closes it.
    fn open_file(&self, at: &PathEffect) -> Result<Option<File>, InstructionRefusal> {
        if at.place != PathPlace::Inside {
            return Err(InstructionRefusal::Said("it leads out of the workspace".into()));
        }
        // What is invisible stays so: the model is not told that it is there.
        if let Some(list) = &at.ignored {
            return Err(InstructionRefusal::Unseen(format!("it is ignored ({list})")));
        }
        let entry = match self.workspace.stat_entry(at) {
            Ok(entry) => entry,
            Err(FileError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(InstructionRefusal::Said(error.to_string())),
        };
        let held = self.workspace.effect_of_entry(&entry).sensitive;
        let closed =
            held.or_else(|| at.sensitive.clone()).or_else(|| self.workspace.key_inside(at));
        if let Some(why) = closed {
            return Err(InstructionRefusal::Said(format!(
                "it may not be read without asking ({why})"
            )));
        }
        // A command may have written it while foreign words stood in the context: what is marked
        // instructs nobody, whoever left it (Z1).
        if let Some(origin) = &at.marked {
            return Err(InstructionRefusal::Said(marked_file_reason(&at.path, origin)));
        }
        self.workspace
            .open_file(at)
            .map(Some)
            .map_err(|error| InstructionRefusal::Said(error.to_string()))
    }
}

/// Why a file of the workspace is not read.
enum InstructionRefusal {
    /// The model is told why.
    Said(String),
    /// It is not told that there is anything.
    Unseen(String),
}

/// The file that imports.
struct ImportSource<'a> {
    spot: &'a InstructionLocation,
    name: &'a str,
    depth: usize,
}

impl ImportSource<'_> {
    fn imported_name(&self, path: &str) -> String {
        let importer = self.name.split(", imported by ").next().unwrap_or_default();
        format!("{path}, imported by {importer}")
    }
}

fn marked_file_reason(name: &str, origin: &str) -> String {
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(100).collect();
    format!(
        "{name} was written while words from {origin} stood in the context; a person vouches for it \
         with `weir permissions unmark {name}`"
    )
}
