//! The folder of one skill, wherever it lies, and what may be read of it. In the workspace everything
//! goes through its guard; nowhere does a name lead out of the folder.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use weir_core::tool::{PathAccess, PathEffect, PathPlace};

use super::bundled::BundledSkill;
use crate::ports::FileContent;
use crate::regular_file::open_regular_file;
use crate::workspace::{EntryKind, WalkOptions, Workspace, WorkspaceEntry};

/// Files of one skill that are listed.
pub(super) const FILES_MAX: usize = 200;
/// Folders in each other below a skill of the person's own.
const DEPTH_MAX: usize = 8;
/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// Where a skill lies.
#[derive(Debug, Clone)]
pub(super) enum SkillFolder {
    /// In the workspace, below its root.
    Workspace(String),
    /// In a folder of the person's own.
    Yours(PathBuf),
    /// In the program.
    Bundled(&'static BundledSkill),
}

/// A file as it is read, and whether it may be executed.
#[derive(Debug)]
pub(super) struct SkillFile {
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

/// What tells that a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SkillFileStamp([i64; 6], u64);

impl SkillFileStamp {
    pub(super) fn from_metadata(meta: &std::fs::Metadata) -> SkillFileStamp {
        let node = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        let [mtime, mtime_nsec, ctime, ctime_nsec] = node;
        let ids = [meta.dev() as i64, meta.ino() as i64];
        SkillFileStamp([mtime, mtime_nsec, ctime, ctime_nsec, ids[0], ids[1]], meta.len())
    }
}

impl SkillFolder {
    /// Reads a file of the skill.
    ///
    /// # Errors
    /// A sentence: it is not there, leads out, is closed, or is larger than `max` bytes.
    pub(super) fn read(
        &self,
        workspace: &Workspace,
        file: &str,
        max: u64,
    ) -> Result<SkillFile, String> {
        let file = plain_file_name(file)?;
        match self {
            SkillFolder::Workspace(folder) => {
                let at = resolve_inside(workspace, folder, &file)?;
                match workspace.read(&at, max).map_err(|error| error.to_string())? {
                    FileContent::File { bytes, mode } => {
                        Ok(SkillFile { bytes: bytes.to_vec(), executable: mode & 0o111 != 0 })
                    }
                    FileContent::Absent => Err(missing_file_text(&file)),
                    FileContent::Folder | FileContent::Link { .. } => {
                        Err(format!("{file} is no file"))
                    }
                }
            }
            SkillFolder::Yours(folder) => read_own(folder, &file, max),
            SkillFolder::Bundled(skill) if file == SKILL_FILE => {
                Ok(SkillFile { bytes: skill.text.as_bytes().to_vec(), executable: false })
            }
            SkillFolder::Bundled(_) => Err(missing_file_text(&file)),
        }
    }

    /// Names of the skill's other files, in order, at most [`FILES_MAX`].
    pub(super) fn files(&self, workspace: &Workspace) -> Vec<String> {
        let mut files = match self {
            SkillFolder::Workspace(folder) => {
                let at = workspace.resolve(folder, PathAccess::List);
                let options = WalkOptions {
                    recursive: true,
                    respect_gitignore: false,
                    hidden: false,
                    max_entries: FILES_MAX * 2,
                };
                let found = workspace.walk(&at, options).map(|walk| walk.entries);
                let files = found.unwrap_or_default().into_iter();
                let files = files.filter(|entry| entry.kind == EntryKind::File);
                let below = |entry: WorkspaceEntry| {
                    let name = entry.path.strip_prefix(&at.path)?.strip_prefix('/')?;
                    Some(name.to_owned())
                };
                files.filter_map(below).collect()
            }
            SkillFolder::Yours(folder) => {
                let mut files = Vec::new();
                gather_files(folder, "", 0, &mut files);
                files
            }
            SkillFolder::Bundled(_) => Vec::new(),
        };
        files.retain(|name| name != SKILL_FILE);
        files.sort();
        files.truncate(FILES_MAX);
        files
    }
}

/// Opens the `SKILL.md` of a folder of the person's own.
pub(super) fn open_own(folder: &Path) -> Result<File, String> {
    let path = folder.join(SKILL_FILE);
    match std::fs::metadata(&path) {
        Ok(meta) if meta.is_file() => open_regular_file(&path).map_err(|error| error.to_string()),
        Ok(_) => Err("SKILL.md is no file".into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err("there is no SKILL.md in it".into())
        }
        Err(error) => Err(format!("SKILL.md cannot be read: {error}")),
    }
}

/// Opens the `SKILL.md` of a folder of the workspace.
pub(super) fn open_in(workspace: &Workspace, folder: &str) -> Result<File, String> {
    let at = resolve_inside(workspace, folder, SKILL_FILE)?;
    workspace.open_file(&at).map_err(|error| match error {
        crate::workspace::FileError::NotFound { .. } => "there is no SKILL.md in it".into(),
        error => error.to_string(),
    })
}

/// Why a path of the workspace may not be read as part of a skill; `None`: it may.
pub(super) fn closed_reason(workspace: &Workspace, at: &PathEffect) -> Option<String> {
    if at.place != PathPlace::Inside {
        return Some("it leads out of the workspace".into());
    }
    if let Some(why) = &at.ignored {
        return Some(format!("it is closed ({why})"));
    }
    if let Some(origin) = &at.marked {
        return Some(marked_file_reason(origin));
    }
    let entry = WorkspaceEntry {
        path: at.path.clone(),
        kind: EntryKind::File,
        bytes: 0,
        modified: 0,
        changed_ns: 0,
    };
    let why = workspace.effect_of_entry(&entry).sensitive?;
    Some(format!("reading it is not free ({why})"))
}

/// Why something marked is left out, and what a person can do.
pub(super) fn marked_file_reason(origin: &str) -> String {
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(100).collect();
    format!(
        "it was written while words from {origin} stood in the context; a person reads what \
         `weir permissions marks` names of it, and vouches with `weir permissions unmark FILE`"
    )
}

fn resolve_inside(workspace: &Workspace, folder: &str, file: &str) -> Result<PathEffect, String> {
    let at = workspace.resolve(&format!("{folder}/{file}"), PathAccess::Read);
    if let Some(why) = closed_reason(workspace, &at) {
        return Err(format!("{file} cannot be read: {why}"));
    }
    let below = at.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    if !below {
        return Err(format!("{file} leads out of the skill's folder"));
    }
    Ok(at)
}

fn read_own(folder: &Path, file: &str, max: u64) -> Result<SkillFile, String> {
    let wrong = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => missing_file_text(file),
        _ => format!("{file} cannot be read: {error}"),
    };
    let folder = folder.canonicalize().map_err(wrong)?;
    let path = folder.join(file).canonicalize().map_err(wrong)?;
    if !path.starts_with(&folder) {
        return Err(format!("{file} leads out of the skill's folder"));
    }
    let meta = std::fs::metadata(&path).map_err(wrong)?;
    if !meta.is_file() {
        return Err(format!("{file} is no file"));
    }
    let mut bytes = Vec::new();
    let opened = open_regular_file(&path).map_err(wrong)?;
    opened.take(max + 1).read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 > max {
        return Err(format!("{file} has more than {max} bytes"));
    }
    Ok(SkillFile { bytes, executable: meta.permissions().mode() & 0o111 != 0 })
}

fn gather_files(folder: &Path, below: &str, depth: usize, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if files.len() > FILES_MAX {
            return;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let shown = if below.is_empty() { name } else { format!("{below}/{name}") };
        if kind.is_dir() && depth < DEPTH_MAX {
            gather_files(&entry.path(), &shown, depth + 1, files);
        } else if kind.is_file() {
            files.push(shown);
        }
    }
}

/// A name of a file below a skill's folder, in its plain form.
fn plain_file_name(file: &str) -> Result<String, String> {
    let bad = || {
        let file: String = file.chars().take(200).collect();
        format!("{file:?} is no name of a file of the skill; write it as `scripts/check.py`")
    };
    if file.contains(['\0', '\\']) || file.len() > 1_000 {
        return Err(bad());
    }
    let mut parts = Vec::new();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str().ok_or_else(bad)?),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(bad()),
        }
    }
    if parts.is_empty() { Err(bad()) } else { Ok(parts.join("/")) }
}

fn missing_file_text(file: &str) -> String {
    format!("the skill has no file {file}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_no_name_leads_out_of_a_skill() {
        for bad in ["", ".", "..", "../x", "a/../../x", "/etc/passwd", "a\\b", "a\0", "./.."] {
            assert!(plain_file_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(plain_file_name("./scripts//run.sh"), Ok("scripts/run.sh".into()));
    }

    #[test]
    fn m1_a_link_does_not_lead_out_of_a_skill_of_yours() {
        let home = tempfile::tempdir().expect("a folder");
        let skill = home.path().join("skills/a");
        std::fs::create_dir_all(&skill).expect("a folder");
        std::fs::write(home.path().join("secret"), "x").expect("a file");
        std::os::unix::fs::symlink("../../secret", skill.join("notes.md")).expect("a link");
        std::fs::write(skill.join("real.md"), "y").expect("a file");
        let why = read_own(&skill, "notes.md", 100).expect_err("it leads out");
        assert!(why.contains("leads out"), "{why}");
        assert_eq!(read_own(&skill, "real.md", 100).expect("a file").bytes, b"y");
        assert!(read_own(&skill, "real.md", 0).is_err());
        assert!(read_own(&skill, "none.md", 9).is_err_and(|why| why.contains("has no file")));
    }
}
