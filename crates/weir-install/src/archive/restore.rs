//! Putting a backup back (D9, S15): planned from the names in it, then done, then over. Not here: how a half is
//! taken back (`begun`), and how a backup is made.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use flate2::read::GzDecoder;
use weir_store::PostgresStores;

use super::begun::{ASIDE, BegunRestore, MovedFolder, RestorePlan, free_name_beside};
use super::{ArchiveManifest, ArchivedFolder, BackupOf, FORMAT, HALF_DONE, MANIFEST, POSTGRES};
use crate::failure::usage;

/// Bytes of the manifest.
const MANIFEST_BYTES_MAX: u64 = 64 * 1024;
/// What a folder with data has one of. A log whose database is gone counts: SQLite takes it for that of
/// the database that is put beside it, and shows what it was before instead of what was restored.
const DATA: [&str; 6] =
    ["weir.db", "weir.db-wal", "server.db", "server.db-wal", "config.toml", "people"];

/// Puts everything in the backup `from` back. Folders must be empty of Weir's data, or are moved
/// aside with `replace`; where they went. Where it fails, all is as it was before, or the error says
/// where the data is; where the program is killed, the next start takes it back
/// ([`super::take_back_killed_restore`]).
///
/// # Errors
/// It is damaged or no backup, it was written by a newer Weir, or there is data that it would replace.
pub async fn restore_archive(
    of: &BackupOf<'_>,
    from: &Path,
    replace: bool,
) -> anyhow::Result<Vec<PathBuf>> {
    check_whole(from)?;
    let manifest = read_manifest(from)?;
    if manifest.format > FORMAT {
        return Err(usage(format!(
            "{} was written by Weir {}, which is newer; use that one",
            from.display(),
            manifest.version
        )));
    }
    if manifest.postgres != of.is_postgres() {
        let kind = if manifest.postgres { "a PostgreSQL database" } else { "SQLite" };
        return Err(usage(format!(
            "the backup is of {kind}; name the database it is to go to with --database"
        )));
    }
    let targets = RestoreTargets::of_backup(of);
    let plan = plan_restore(of, &targets, from, replace)?;
    let mut begun = BegunRestore::begin_restore(plan, of.dirs)?;
    let mut done = apply_files(&targets, from, &mut begun, &mut || Ok(()));
    if done.is_ok() && of.is_postgres() {
        // It is taken in as a whole or not at all, and nothing can fail once it was.
        let copy = begun.staging_folder().join(POSTGRES);
        done =
            PostgresStores::restore_backup(of.database, &copy).await.map(drop).map_err(Into::into);
    }
    match done.and_then(|()| begun.finish_restore()) {
        Ok(()) => Ok(begun.into_moved_folders()),
        Err(error) => Err(begun.take_back(error)),
    }
}

/// Reads all of the file before anything is changed: who reads the tar stops at its end marker, and what
/// says that every byte came as it was written stands behind that.
fn check_whole(from: &Path) -> anyhow::Result<()> {
    let damaged = |why: &dyn std::fmt::Display| {
        usage(format!("{} is damaged: {why}; nothing was changed", from.display()))
    };
    let file = File::open(from).map_err(|error| usage(format!("{}: {error}", from.display())))?;
    let mut stream = flate2::bufread::GzDecoder::new(BufReader::new(file));
    if stream.header().is_none() {
        // Nothing compressed: whoever looks for the manifest says that it is no backup.
        return Ok(());
    }
    io::copy(&mut stream, &mut io::sink()).map_err(|error| damaged(&error))?;
    // One stream is all that is ever written.
    let mut rest = stream.into_inner();
    if !rest.fill_buf().map_err(|error| damaged(&error))?.is_empty() {
        return Err(damaged(&"something follows its end"));
    }
    Ok(())
}

fn read_manifest(from: &Path) -> anyhow::Result<ArchiveManifest> {
    let no_backup = |why: &dyn std::fmt::Display| {
        usage(format!("{} is no backup of Weir: {why}", from.display()))
    };
    let file = File::open(from).map_err(|error| usage(format!("{}: {error}", from.display())))?;
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    let mut entries = tar.entries().map_err(|error| no_backup(&error))?;
    let first = entries.next().ok_or_else(|| no_backup(&"it is empty"))?;
    let first = first.map_err(|error| no_backup(&error))?;
    if first.path().map_err(|error| no_backup(&error))?.as_ref() != Path::new(MANIFEST) {
        return Err(no_backup(&format!("it does not begin with {MANIFEST}")));
    }
    let mut text = String::new();
    first.take(MANIFEST_BYTES_MAX).read_to_string(&mut text).map_err(|e| no_backup(&e))?;
    serde_json::from_str(&text).map_err(|error| no_backup(&error))
}

/// What is moved aside and what is made; nothing is changed yet. Data that is there already is moved aside,
/// or is a reason to stop.
pub(super) fn plan_restore(
    of: &BackupOf<'_>,
    targets: &RestoreTargets,
    from: &Path,
    replace: bool,
) -> anyhow::Result<RestorePlan> {
    let has_data = |folder: &Path| DATA.iter().any(|name| folder.join(name).exists());
    let full: Vec<ArchivedFolder> =
        of.archive_roots().into_iter().filter(|root| has_data(&root.folder)).collect();
    if let (false, Some(root)) = (replace, full.first()) {
        return Err(usage(format!(
            "there is data in {}; end every Weir that uses it, then use --replace to move it aside, \
             or restore into another folder with --state-dir",
            root.folder.display()
        )));
    }
    let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    let moved = full.into_iter().map(|ArchivedFolder { folder, .. }| {
        let aside = free_name_beside(&folder, &format!("{ASIDE}{stamp}"));
        MovedFolder::new(folder, aside)
    });
    let staging = of.dirs.state.join(format!("{HALF_DONE}{}", uuid::Uuid::now_v7().simple()));
    let moved = moved.collect::<io::Result<Vec<_>>>();
    let plan = moved.map_err(anyhow::Error::from).and_then(|moved| {
        let mut plan = RestorePlan::new(from, staging, moved, of.dirs)?;
        plan.postgres = of.is_postgres();
        add_files(&mut plan, targets, from)?;
        Ok(plan)
    });
    plan.with_context(|| format!("restoring {}", from.display()))
        .context("nothing was restored, and all is as it was before")
}

/// Puts every file of the archive on the list. Names that lead elsewhere are refused.
fn add_files(plan: &mut RestorePlan, targets: &RestoreTargets, from: &Path) -> anyhow::Result<()> {
    let mut tar = tar::Archive::new(GzDecoder::new(File::open(from)?));
    for entry in tar.entries()? {
        let entry = entry?;
        let name = entry.path()?.into_owned();
        let Some(to) = target_path(targets, &name, plan.staging_folder())? else { continue };
        if entry.header().entry_type() != tar::EntryType::Regular {
            anyhow::bail!("{} is no plain file", name.display());
        }
        plan.add_file(&to)?;
    }
    Ok(())
}

/// Makes room, and writes every file of the archive to where it belongs. `step` is asked before each change:
/// where it fails, the restore does.
pub(super) fn apply_files(
    targets: &RestoreTargets,
    from: &Path,
    begun: &mut BegunRestore,
    step: &mut dyn FnMut() -> io::Result<()>,
) -> anyhow::Result<()> {
    let doing = || format!("restoring {}", from.display());
    begun.move_aside(step)?;
    let mut tar = tar::Archive::new(GzDecoder::new(File::open(from).with_context(doing)?));
    for entry in tar.entries().with_context(doing)? {
        let mut entry = entry.with_context(doing)?;
        let name = entry.path()?.into_owned();
        let Some(to) = target_path(targets, &name, begun.staging_folder())? else { continue };
        let mode = entry.header().mode().unwrap_or(0o600) & 0o700;
        let writing = || format!("writing {}", to.display());
        step().with_context(writing)?;
        let mut file = begun.make_file(&to).with_context(writing)?;
        step().with_context(writing)?;
        io::copy(&mut entry, &mut file).with_context(writing)?;
        begun.finish_file(&file, mode).with_context(writing)?;
    }
    step().with_context(doing)
}

/// Where the folders of an archive belong, as it was before anything was moved.
pub(super) struct RestoreTargets {
    state: PathBuf,
    config: PathBuf,
    database: PathBuf,
}

impl RestoreTargets {
    pub(super) fn of_backup(of: &BackupOf<'_>) -> RestoreTargets {
        let (state, config) = (of.dirs.state.clone(), of.dirs.config.clone());
        // Where the settings do not name another place, it goes where a database is looked for.
        let database = of.database_folder().unwrap_or_else(|| state.clone());
        RestoreTargets { state, config, database }
    }
}

/// Where a file of an archive belongs; `None`: it is not unpacked.
pub(super) fn target_path(
    targets: &RestoreTargets,
    name: &Path,
    staging: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let mut parts = name.components();
    let Some(Component::Normal(first)) = parts.next() else {
        anyhow::bail!("{} is no name of a backup", name.display());
    };
    let rest = parts.as_path();
    if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
        anyhow::bail!("{} leads out of the backup", name.display());
    }
    // What a restore notes in a folder comes from no backup.
    if rest.as_os_str().as_encoded_bytes().starts_with(HALF_DONE.as_bytes()) {
        anyhow::bail!("{} is no name of a backup", name.display());
    }
    if rest.as_os_str().is_empty() {
        return match first.to_str() {
            Some(MANIFEST) => Ok(None),
            Some(POSTGRES) => Ok(Some(staging.join(POSTGRES))),
            _ => anyhow::bail!("{} is no name of a backup", name.display()),
        };
    }
    match first.to_str() {
        Some("state") => Ok(Some(targets.state.join(rest))),
        Some("config") => Ok(Some(targets.config.join(rest))),
        Some("database") => Ok(Some(targets.database.join(rest))),
        _ => anyhow::bail!("{} is no name of a backup", name.display()),
    }
}
