//! A backup of everything as one file: databases as of one moment each, audit logs, checkpoints,
//! settings (D9, S15). Not in it, unless it is asked for: keys. Never in it: other backups, records
//! of commands that run, the folders that people work in.
//!
//! A tar archive, compressed: `weir-backup.json` first, then `state/` and `config/`. What refers to
//! something is copied before what it refers to grows: audit logs before databases (a database
//! writes the lines that a log lacks), names of checkpoints before their objects.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use weir_core::secret::Secret;
use weir_core::sorting::sort_stably_by_key;
use weir_store::{PostgresStores, copy_sqlite};

use crate::environment::WeirFolders;
use crate::failure::usage;

mod begun;
mod restore;
#[cfg(test)]
mod tests;

pub use begun::{is_restore_begun, take_back_killed_restore};
pub use restore::restore_archive;

/// The file that says what the archive is.
const MANIFEST: &str = "weir-backup.json";
/// The form of archives that this program writes and reads.
const FORMAT: u32 = 1;
/// Name of the copy of a PostgreSQL database in an archive.
const POSTGRES: &str = "postgres.backup";
/// What is no data: the archives themselves, what only lives while a process does, and the list of what
/// the keyring of this machine has, which is untrue on another one.
const LEFT_OUT: [&str; 8] = [
    "backups",
    "egress",
    "jobs",
    "trust.lock",
    "keys.lock",
    "config.lock",
    "refused-tools.lock",
    "keyring.toml",
];
/// How the names of what is half done begin: it is no data.
const HALF_DONE: &str = ".weir-backup-";
/// What holds secrets that can be used.
const KEYS: [&str; 4] = ["keys.toml", "mcp-tokens", "server.key", "master.key"];
/// The file of keys in an archive.
const KEPT_KEYS: &str = "config/keys.toml";
/// Folders deep that are looked at.
const DEPTH_MAX: usize = 64;

/// What goes into a backup.
pub struct BackupOf<'a> {
    /// Weir's own folders.
    pub dirs: &'a WeirFolders,
    /// `postgres://…`, `sqlite:FOLDER`, or empty for the state folder.
    pub database: &'a str,
    /// Keys go along: whoever has the archive can use them.
    pub keys: bool,
    /// Every kept key as the text of a file of keys: it goes along in the place of the file, which lacks
    /// those of the keyring. `None`: the file goes along as it is, where keys do.
    pub kept_keys: Option<&'a Secret>,
}

/// What an archive says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ArchiveManifest {
    format: u32,
    version: String,
    made: String,
    postgres: bool,
    keys: bool,
}

/// A folder that goes into an archive, under another name.
struct ArchivedFolder {
    name: &'static str,
    folder: PathBuf,
}

impl BackupOf<'_> {
    fn is_postgres(&self) -> bool {
        self.database.starts_with("postgres")
    }

    /// The folder of a SQLite database that lies elsewhere.
    fn database_folder(&self) -> Option<PathBuf> {
        let path = Path::new(self.database.strip_prefix("sqlite:")?);
        let is_file = path.extension().is_some_and(|end| end == "db");
        let folder = if is_file { path.parent().unwrap_or(Path::new(".")) } else { path };
        let folder = fs::canonicalize(folder).ok()?;
        (fs::canonicalize(&self.dirs.state).ok().as_ref() != Some(&folder)).then_some(folder)
    }

    fn archive_roots(&self) -> Vec<ArchivedFolder> {
        let mut roots = vec![ArchivedFolder { name: "state", folder: self.dirs.state.clone() }];
        roots.extend(
            self.database_folder().map(|folder| ArchivedFolder { name: "database", folder }),
        );
        roots.push(ArchivedFolder { name: "config", folder: self.dirs.config.clone() });
        roots
    }

    /// Whether something goes along.
    fn is_included(&self, name: &str) -> bool {
        let beside = ["-wal", "-shm", "-journal"].iter().any(|end| name.ends_with(end));
        !LEFT_OUT.contains(&name) && !beside && (self.keys || !KEYS.contains(&name))
    }
}

/// Writes a backup of everything to the new file `to`, while other processes go on working. Its
/// size.
///
/// # Errors
/// `to` exists or lies among what is backed up, the disk is full, a database does not answer: then
/// nothing is left behind.
pub async fn write_archive(of: &BackupOf<'_>, to: &Path) -> anyhow::Result<u64> {
    if to.exists() {
        return Err(usage(format!("{} exists already; choose another name", to.display())));
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    refuse_among_data(of, folder)?;
    let staging = StagingFolder::new(folder)?;
    let doing = || format!("writing the backup {}", to.display());
    let archive = staging.0.join("archive");
    let mut file = ArchiveWriter::create_at(&archive).with_context(doing)?;
    file.write_manifest(&build_manifest(of)).with_context(doing)?;
    if let Some(keys) = of.kept_keys {
        file.append_text(keys.reveal(), Path::new(KEPT_KEYS)).with_context(doing)?;
    }
    let mut databases = Vec::new();
    for root in of.archive_roots() {
        // Everything but databases and checkpoints first.
        append_tree(of, &mut file, &root, &mut databases).with_context(doing)?;
    }
    for (number, (from, name)) in databases.into_iter().enumerate() {
        let copy = staging.0.join(format!("{number}.db"));
        copy_sqlite(&from, &copy).await?;
        file.append_file(&copy, &name).with_context(doing)?;
        fs::remove_file(&copy)?;
    }
    if of.is_postgres() {
        let copy = staging.0.join(POSTGRES);
        PostgresStores::connect(of.database).await?.write_backup(&copy).await?;
        file.append_file(&copy, Path::new(POSTGRES)).with_context(doing)?;
    }
    for root in of.archive_roots() {
        append_checkpoints(of, &mut file, &root).with_context(doing)?;
    }
    let bytes = file.finish().with_context(doing)?;
    // A link fails where somebody made a file of this name meanwhile; a rename would replace it.
    fs::hard_link(&archive, to).with_context(doing)?;
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(doing)?;
    Ok(bytes)
}

/// A backup among what is backed up would go along with each later one, and the keys in it too, where
/// that one is to have none. What never goes along may hold it.
fn refuse_among_data(of: &BackupOf<'_>, folder: &Path) -> anyhow::Result<()> {
    let real = fs::canonicalize(folder).map_err(|error| {
        usage(format!("nothing can be written in {}: {error}", folder.display()))
    })?;
    for root in of.archive_roots() {
        // One that is not there holds nothing.
        let Ok(root) = fs::canonicalize(&root.folder) else { continue };
        let Ok(below) = real.strip_prefix(&root) else { continue };
        let is_left_out = |part: Component<'_>| {
            part.as_os_str().to_str().is_some_and(|name| LEFT_OUT.contains(&name))
        };
        if !below.components().any(is_left_out) {
            return Err(usage(format!(
                "a backup in {} would go along with each later one; choose a folder outside of {}",
                folder.display(),
                root.display()
            )));
        }
    }
    Ok(())
}

fn build_manifest(of: &BackupOf<'_>) -> ArchiveManifest {
    ArchiveManifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        made: jiff::Timestamp::now().to_string(),
        postgres: of.is_postgres(),
        keys: of.keys,
    }
}

/// A folder for what is half done; gone when it is dropped.
struct StagingFolder(PathBuf);

impl StagingFolder {
    fn new(beside: &Path) -> anyhow::Result<StagingFolder> {
        let name = format!("{HALF_DONE}{}", uuid::Uuid::now_v7().simple());
        let path = beside.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            usage(format!("nothing can be written in {}: {error}", beside.display()))
        })?;
        Ok(StagingFolder(path))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "a temporary folder stays");
        }
    }
}

/// An archive that is being written.
struct ArchiveWriter {
    tar: tar::Builder<GzEncoder<File>>,
}

impl ArchiveWriter {
    fn create_at(path: &Path) -> io::Result<ArchiveWriter> {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        Ok(ArchiveWriter { tar })
    }

    fn write_manifest(&mut self, manifest: &ArchiveManifest) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(manifest)?;
        let mut header = file_header(text.len() as u64, 0o600);
        self.tar.append_data(&mut header, MANIFEST, text.as_slice())
    }

    /// A file of this text, for its owner alone.
    fn append_text(&mut self, text: &str, name: &Path) -> io::Result<()> {
        let mut header = file_header(text.len() as u64, 0o600);
        self.tar.append_data(&mut header, name, text.as_bytes())
    }

    /// The file as it is now: what is written to it meanwhile is left out, and one that is gone too.
    fn append_file(&mut self, from: &Path, name: &Path) -> io::Result<()> {
        let file = match File::open(from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        let mut header = file_header(metadata.len(), metadata.permissions().mode() & 0o700);
        // One that became shorter is filled up: an archive must not break because of it.
        let whole = file.chain(io::repeat(0)).take(metadata.len());
        self.tar.append_data(&mut header, name, whole)
    }

    fn finish(self) -> io::Result<u64> {
        let mut file = self.tar.into_inner()?.finish()?;
        file.flush()?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    }
}

/// The head of a plain file in an archive.
pub(crate) fn file_header(bytes: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(mode);
    header.set_entry_type(tar::EntryType::Regular);
    header
}

/// Everything below a folder but databases, which are put on the list, and checkpoints.
fn append_tree(
    of: &BackupOf<'_>,
    archive: &mut ArchiveWriter,
    root: &ArchivedFolder,
    databases: &mut Vec<(PathBuf, PathBuf)>,
) -> io::Result<()> {
    walk_files(of, &root.folder, Path::new(root.name), 0, &mut |from, name| {
        let in_checkpoints = name.components().any(|part| part.as_os_str() == "checkpoints");
        if in_checkpoints || (of.kept_keys.is_some() && name == Path::new(KEPT_KEYS)) {
            return Ok(());
        }
        if name.extension().is_some_and(|end| end == "db") {
            databases.push((from.to_owned(), name.to_owned()));
            return Ok(());
        }
        archive.append_file(from, name)
    })
}

/// Files as they were: names of snapshots before the objects that they name.
fn append_checkpoints(
    of: &BackupOf<'_>,
    archive: &mut ArchiveWriter,
    root: &ArchivedFolder,
) -> io::Result<()> {
    let mut objects = Vec::new();
    walk_files(of, &root.folder, Path::new(root.name), 0, &mut |from, name| {
        let has = |word: &str| name.components().any(|part| part.as_os_str() == word);
        match (has("checkpoints"), has("objects")) {
            (false, _) => Ok(()),
            (true, false) => archive.append_file(from, name),
            (true, true) => {
                objects.push((from.to_owned(), name.to_owned()));
                Ok(())
            }
        }
    })?;
    // Looked up before the names were copied, an object could be missing; looked up again, none is.
    let known: std::collections::HashSet<PathBuf> =
        objects.iter().map(|(from, _)| from.clone()).collect();
    for (from, name) in objects {
        archive.append_file(&from, &name)?;
    }
    walk_files(of, &root.folder, Path::new(root.name), 0, &mut |from, name| {
        let has = |word: &str| name.components().any(|part| part.as_os_str() == word);
        let is_new = has("checkpoints") && has("objects") && !known.contains(from);
        if is_new { archive.append_file(from, name) } else { Ok(()) }
    })
}

/// Gives every file below a folder to `each`, with its name in the archive. Links, sockets and pipes
/// are no data.
fn walk_files(
    of: &BackupOf<'_>,
    folder: &Path,
    name: &Path,
    depth: usize,
    each: &mut dyn FnMut(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    sort_stably_by_key(&mut entries, fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        let Some(word) = file_name.to_str() else { continue };
        if !of.is_included(word) || word.starts_with(HALF_DONE) {
            continue;
        }
        let (path, name) = (entry.path(), name.join(word));
        let kind = entry.file_type()?;
        if kind.is_dir() && depth < DEPTH_MAX {
            walk_files(of, &path, &name, depth + 1, each)?;
        } else if kind.is_file() {
            each(&path, &name)?;
        }
    }
    Ok(())
}
