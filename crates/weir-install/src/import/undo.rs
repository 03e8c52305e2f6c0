//! An import taken back: files that it made are removed and settings say what they said before, to
//! the byte. What a person changed since is theirs: it stays, and is named. Not here: file changes
//! of a session, which `weir undo` takes back.

use std::path::{Path, PathBuf};

use weir_core::record::sha256_hex;

use super::write::{ImportRecord, id_of_record, json_of, record_path, records_folder};
use crate::config::ConfigFiles;
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::files::replace_file;

/// What came of taking an import back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportUndoResult {
    /// The number of the import.
    pub id: u64,
    /// Whose files had been read.
    pub agent: String,
    /// Files that were removed, and settings that say again what they said.
    pub restored: Vec<PathBuf>,
    /// Files that somebody changed since, with the reason; they are left as they are.
    pub refused: Vec<(PathBuf, String)>,
}

/// What the disk says of a file that an import wrote.
enum FileState {
    /// As the import left it.
    Written,
    /// As it was before, or gone.
    Before,
    /// Changed since.
    Changed,
}

/// Takes back the import of this number, or the newest.
///
/// # Errors
/// There is no such import, or a file cannot be removed or written.
pub fn undo_import(cx: &InstallationContext, id: Option<u64>) -> anyhow::Result<ImportUndoResult> {
    let folder = records_folder(&cx.dirs.state);
    let LoadedRecords { records, broken } = load_records(&folder);
    let newest = records.last().map(|record| record.id).max(broken.last().map(|(id, _)| *id));
    let wanted = id.or(newest);
    // One that cannot be read keeps nobody from another; it is said where it is the one meant.
    if let Some((_, why)) = broken.iter().find(|(id, _)| Some(*id) == wanted) {
        let hint = match (id, records.last()) {
            (None, Some(other)) => {
                format!("; `weir import --undo {}` takes back another", other.id)
            }
            _ => String::new(),
        };
        return Err(usage(format!("{why}{hint}")));
    }
    let found = records.iter().find(|record| Some(record.id) == wanted);
    let Some(record) = found else {
        let known: Vec<String> =
            records.iter().map(|record| format!("{} ({})", record.id, record.agent)).collect();
        return Err(usage(match (id, known.is_empty()) {
            (_, true) => "there is no import to take back".to_owned(),
            (Some(id), false) => {
                format!("there is no import {id}; there are {}", known.join(", "))
            }
            (None, false) => "there is no import to take back".to_owned(),
        }));
    };
    let mut result = ImportUndoResult {
        id: record.id,
        agent: record.agent.clone(),
        restored: Vec::new(),
        refused: Vec::new(),
    };
    let mut rest = ImportRecord { files: Vec::new(), changed: Vec::new(), ..record.clone() };
    take_back_settings(&cx.config_files(), record, &records, &mut rest, &mut result)?;
    take_back_files(record, &mut rest, &mut result)?;
    for made in record.folders.iter().rev() {
        // One that is not empty holds something else: it stays.
        let _ = std::fs::remove_dir(made);
    }
    let path = record_path(&folder, record.id);
    match rest.files.is_empty() && rest.changed.is_empty() {
        true => std::fs::remove_file(&path)?,
        // What is left can be taken back later, once it is again as it was.
        false => replace_file(&path, &json_of(&rest)?, 0o600)?,
    }
    let _ = std::fs::remove_dir(&folder);
    Ok(result)
}

fn take_back_settings(
    files: &ConfigFiles,
    record: &ImportRecord,
    all: &[ImportRecord],
    rest: &mut ImportRecord,
    result: &mut ImportUndoResult,
) -> anyhow::Result<()> {
    for changed in &record.changed {
        let file = files.file_at(&changed.path);
        let held = file.hold_file()?;
        let before = changed.before.as_ref().map(|text| sha256_hex(text.as_bytes()));
        match state_of(&changed.path, &changed.after_sha256, before.as_deref())? {
            FileState::Before => {}
            FileState::Written => {
                held.put_back(changed.before.as_deref())?;
                result.restored.push(changed.path.clone());
            }
            FileState::Changed => {
                let later = all.iter().find(|other| {
                    other.id > record.id
                        && other.changed.iter().any(|file| file.path == changed.path)
                });
                let why = match later {
                    Some(later) => format!(
                        "was changed since, by import {} too; take that back first",
                        later.id
                    ),
                    None => "was changed since; take out yourself what you do not want".into(),
                };
                result.refused.push((changed.path.clone(), why));
                rest.changed.push(changed.clone());
            }
        }
    }
    Ok(())
}

fn take_back_files(
    record: &ImportRecord,
    rest: &mut ImportRecord,
    result: &mut ImportUndoResult,
) -> anyhow::Result<()> {
    for made in &record.files {
        match state_of(&made.path, &made.sha256, None)? {
            FileState::Before => {}
            FileState::Written => {
                std::fs::remove_file(&made.path)?;
                result.restored.push(made.path.clone());
            }
            FileState::Changed => {
                let why = "was changed since; remove it yourself if you do not want it";
                result.refused.push((made.path.clone(), why.to_owned()));
                rest.files.push(made.clone());
            }
        }
    }
    Ok(())
}

fn state_of(path: &Path, written: &str, before: Option<&str>) -> anyhow::Result<FileState> {
    let now = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return Ok(FileState::Changed),
        // Settings may be a link of the person's own; what it leads to is compared.
        Ok(_) => sha256_hex(&std::fs::read(path)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(match before {
                None => FileState::Before,
                Some(_) => FileState::Changed,
            });
        }
        Err(error) => return Err(usage(format!("{}: {error}", path.display()))),
    };
    Ok(match now {
        now if now == written => FileState::Written,
        now if Some(now.as_str()) == before => FileState::Before,
        _ => FileState::Changed,
    })
}

/// The records that can be read, and the others with the reason; the oldest first.
struct LoadedRecords {
    records: Vec<ImportRecord>,
    broken: Vec<(u64, String)>,
}

fn load_records(folder: &Path) -> LoadedRecords {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<(u64, PathBuf)> =
        entries.filter_map(|entry| Some((id_of_record(&entry.path())?, entry.path()))).collect();
    paths.sort_unstable();
    let mut loaded = LoadedRecords { records: Vec::new(), broken: Vec::new() };
    for (id, path) in paths {
        let read = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
            serde_json::from_slice(&bytes)
                .map_err(|error| format!("is no record of an import: {error}"))
        });
        match read {
            Ok(record) => loaded.records.push(record),
            Err(why) => loaded.broken.push((id, format!("{}: {why}", path.display()))),
        }
    }
    loaded
}
