//! An import written down: first everything is made ready and a record says what will be written,
//! then it is written. So what was made can be taken back exactly, also after a crash in between.
//! What is taken was settled before (`outcome`); nothing that is there is replaced.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_core::record::sha256_hex;
use weir_engine::ports::Clock as _;

use super::outcome::ImportFolders;
use super::{ImportItem, ImportMapping, ImportOutcome, ImportPlan, ImportTarget};
use crate::config::{self, ConfigAdditions, ConfigFile};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::files::{create_file_once, replace_file};
use crate::wiring::SystemClock;

/// Records that are looked through for the next number.
const RECORDS_MAX: usize = 10_000;

/// What an import wrote.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ImportRecord {
    /// Its number: the first is 1.
    pub(super) id: u64,
    /// Whose files were read.
    pub(super) agent: String,
    /// When, in microseconds since 1970.
    pub(super) at: i64,
    /// Files that were made.
    pub(super) files: Vec<MadeFile>,
    /// Files of settings that were changed.
    pub(super) changed: Vec<ChangedFile>,
    /// Folders that were made, the outermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// A file that an import made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MadeFile {
    pub(super) path: PathBuf,
    pub(super) sha256: String,
}

/// A file of settings that an import changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ChangedFile {
    pub(super) path: PathBuf,
    /// What stood in it; `None`: there was none.
    pub(super) before: Option<String>,
    pub(super) after_sha256: String,
}

/// Where the records are.
pub(super) fn records_folder(state: &Path) -> PathBuf {
    state.join("imports")
}

/// What is to be written.
#[derive(Default)]
struct PreparedImport {
    /// Files to be made, with their mode.
    files: BTreeMap<PathBuf, (Vec<u8>, u32)>,
    /// Files of settings: what they say and what they will say, from one reading.
    settings: Vec<PreparedSettings>,
}

/// A file of settings that is to be changed.
struct PreparedSettings {
    file: ConfigFile,
    additions: ConfigAdditions,
    before: Option<String>,
    after: String,
}

impl PreparedSettings {
    fn new(file: ConfigFile, additions: ConfigAdditions) -> anyhow::Result<PreparedSettings> {
        let (before, after) = config::config_text_with(file.path(), &additions)?;
        Ok(PreparedSettings { file, additions, before, after })
    }

    fn as_changed_file(&self) -> ChangedFile {
        ChangedFile {
            path: self.file.path().to_path_buf(),
            before: self.before.clone(),
            after_sha256: sha256_hex(self.after.as_bytes()),
        }
    }
}

/// Writes what is taken over; with `widening`, also what lets more pass. The number under which it
/// can be taken back; `None` where nothing was to be written.
///
/// # Errors
/// A file cannot be written; `weir import --undo` takes back what was.
pub fn write_import(
    cx: &InstallationContext,
    plan: &ImportPlan,
    widening: bool,
) -> anyhow::Result<Option<u64>> {
    let prepared = prepare_record(cx, plan, widening)?;
    if prepared.files.is_empty() && prepared.settings.is_empty() {
        return Ok(None);
    }
    let mut record = record_of(cx, plan.agent, &prepared)?;
    for (path, (bytes, mode)) in &prepared.files {
        if !create_file_once(path, bytes, *mode)? {
            return Err(usage(format!(
                "{}: somebody made it meanwhile; `weir import --undo {}` takes back what was \
                 imported so far",
                path.display(),
                record.id
            )));
        }
    }
    for settings in prepared.settings {
        write_settings(cx, &mut record, settings)?;
    }
    Ok(Some(record.id))
}

/// Changes a file of settings. What somebody else set since it was looked at stays, and is what the record
/// says that stood there.
fn write_settings(
    cx: &InstallationContext,
    record: &mut ImportRecord,
    settings: PreparedSettings,
) -> anyhow::Result<()> {
    let PreparedSettings { file, additions, before, .. } = settings;
    let held = file.hold_file()?;
    let now = PreparedSettings::new(file.clone(), additions)?;
    if now.before != before {
        let mut changed = record.changed.iter_mut();
        if let Some(changed) = changed.find(|changed| changed.path == file.path()) {
            *changed = now.as_changed_file();
        }
        let path = record_path(&records_folder(&cx.dirs.state), record.id);
        replace_file(&path, &json_of(record)?, 0o600)?;
    }
    held.replace_text(&now.after)
}

fn prepare_record(
    cx: &InstallationContext,
    plan: &ImportPlan,
    widening: bool,
) -> anyhow::Result<PreparedImport> {
    let (folders, settings) = (ImportFolders::of_installation(cx), cx.config_files());
    let mut prepared = PreparedImport::default();
    for target in [ImportTarget::User, ImportTarget::Project] {
        let mut additions = ConfigAdditions::default();
        let items = plan.items.iter().filter(|(item, outcome)| {
            item.target == target
                && (*outcome == ImportOutcome::Taken
                    || widening && *outcome == ImportOutcome::Widens)
        });
        for (item, _) in items {
            add_item(item, &folders, &mut additions, &mut prepared);
        }
        if !additions.is_empty() {
            let path = match target {
                ImportTarget::User => &settings.user,
                ImportTarget::Project => settings.project_for_writing()?,
            };
            prepared.settings.push(PreparedSettings::new(settings.file_at(path), additions)?);
        }
    }
    for path in prepared.files.keys() {
        folders.check_leads_nowhere_else(path).map_err(usage)?;
    }
    Ok(prepared)
}

fn add_item(
    item: &ImportItem,
    folders: &ImportFolders,
    additions: &mut ConfigAdditions,
    prepared: &mut PreparedImport,
) {
    match &item.becomes {
        ImportMapping::Rule(action, text) => additions.rules.push((*action, text.clone())),
        ImportMapping::Mode(mode) => additions.permission = Some(*mode),
        ImportMapping::Model(model) => additions.model = Some(model.clone()),
        ImportMapping::Server(name, server, secrets) => {
            additions.servers.push((name.clone(), server.as_ref().clone()));
            additions.secrets.extend(secrets.iter().cloned());
        }
        ImportMapping::Hook(event, hook) => additions.hooks.push((event.clone(), hook.clone())),
        ImportMapping::File(below, text) => {
            let path = folders.path_of(item.target, below);
            prepared.files.insert(path, (text.clone().into_bytes(), 0o644));
        }
        ImportMapping::Skill(name, files) => {
            let folder = folders.path_of(item.target, &format!("skills/{name}"));
            let files = files
                .iter()
                .map(|file| (folder.join(&file.below), (file.bytes.clone(), file.mode)));
            prepared.files.extend(files);
        }
        ImportMapping::History(history) => {
            let bytes = history.to_lines().into_bytes();
            // As private as the journals are.
            prepared.files.insert(folders.history_path(history), (bytes, 0o600));
        }
        ImportMapping::Nothing(_) => {}
    }
}

/// The record of what will be written, kept before anything is.
fn record_of(
    cx: &InstallationContext,
    agent: &str,
    prepared: &PreparedImport,
) -> anyhow::Result<ImportRecord> {
    let files = prepared
        .files
        .iter()
        .map(|(path, (bytes, _))| MadeFile { path: path.clone(), sha256: sha256_hex(bytes) });
    let changed = prepared.settings.iter().map(PreparedSettings::as_changed_file);
    let settings = prepared.settings.iter().map(|one| one.file.path());
    let paths = prepared.files.keys().map(PathBuf::as_path).chain(settings);
    let mut folders: Vec<PathBuf> = paths
        .flat_map(|path| path.ancestors().skip(1).take_while(|above| !above.exists()))
        .map(Path::to_path_buf)
        .collect();
    folders.sort_unstable();
    folders.dedup();
    let mut record = ImportRecord {
        id: 1,
        agent: agent.to_owned(),
        at: SystemClock::default().now().0,
        files: files.collect(),
        changed: changed.collect(),
        folders,
    };
    let kept = records_folder(&cx.dirs.state);
    let ids = std::fs::read_dir(&kept).into_iter().flatten().take(RECORDS_MAX).flatten();
    let ids = ids.filter_map(|entry| id_of_record(&entry.path()));
    record.id = ids.max().unwrap_or(0) + 1;
    // Of two imports at once each has a number of its own.
    while !create_file_once(&record_path(&kept, record.id), &json_of(&record)?, 0o600)? {
        record.id += 1;
    }
    Ok(record)
}

pub(super) fn record_path(folder: &Path, id: u64) -> PathBuf {
    folder.join(format!("{id}.json"))
}

pub(super) fn id_of_record(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".json")?.parse().ok()
}

pub(super) fn json_of(record: &ImportRecord) -> anyhow::Result<Vec<u8>> {
    Ok(serde_json::to_vec_pretty(record)?)
}
