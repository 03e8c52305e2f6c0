//! Care of the whole installation: what the machine says, and backups that lie with it (S15).

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::StatVfsMountFlags;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably;
use weir_engine::blocking::run_blocking;

use crate::archive::{self, BackupOf};
use crate::environment::WeirFolders;
use crate::failure::{InstallationError, refused};

/// How well something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HealthLevel {
    /// As it should be.
    Good,
    /// Somebody should look at it.
    Warn,
    /// The server cannot do its work.
    Bad,
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HealthFinding {
    /// What: `database`, `disk`, `clock`, `certificate`, …
    pub name: String,
    /// How well it is.
    pub health: HealthLevel,
    /// One sentence for admins, with what to do where something is wrong.
    pub says: String,
}

impl HealthFinding {
    /// A finding.
    pub fn new(name: &str, health: HealthLevel, says: impl Into<String>) -> HealthFinding {
        HealthFinding { name: name.into(), health, says: says.into() }
    }
}

/// A backup that lies with the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct BackupLine {
    /// Its name, a plain file name.
    pub name: String,
    /// Size of the backup in bytes.
    pub bytes: u64,
    /// When it was finished.
    pub made: Timestamp,
}

/// Below it nothing more may be done: what was promised could not be written.
const DISK_BYTES_MIN: u64 = 32 * 1024 * 1024;

/// Below it somebody should look.
const DISK_BYTES_LOW: u64 = 1024 * 1024 * 1024;

/// How the name of a backup ends.
const ENDING: &str = ".tar.gz";

/// Health and backups of an installation.
pub struct Maintenance {
    dirs: WeirFolders,
    database: String,
    /// One backup at a time.
    busy: Mutex<()>,
}

impl Maintenance {
    /// Of the program with these folders and this database.
    pub(super) fn new(dirs: &WeirFolders, database: &str) -> Maintenance {
        Maintenance { dirs: dirs.clone(), database: database.to_owned(), busy: Mutex::default() }
    }

    fn folder(&self) -> PathBuf {
        self.dirs.state.join("backups")
    }

    fn disk(&self) -> HealthFinding {
        let Some(free) = self.disk_free_bytes() else {
            let says = format!("{} cannot be looked at", self.dirs.state.display());
            return HealthFinding::new("disk", HealthLevel::Bad, says);
        };
        let mounted = rustix::fs::statvfs(&self.dirs.state);
        if mounted.is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY)) {
            let says = format!(
                "the disk with {} is read-only: make it writable, then runs go on",
                self.dirs.state.display()
            );
            return HealthFinding::new("disk", HealthLevel::Bad, says);
        }
        disk_finding(free)
    }

    fn storage(&self) -> Option<HealthFinding> {
        let warning = weir_store::filesystem_warning(&self.dirs.state)?;
        Some(HealthFinding::new("storage", HealthLevel::Warn, warning))
    }

    fn version() -> HealthFinding {
        let version = env!("CARGO_PKG_VERSION");
        HealthFinding::new("version", HealthLevel::Good, format!("Weir {version}"))
    }
}

fn disk_finding(free: u64) -> HealthFinding {
    let megabytes = free / (1024 * 1024);
    match free {
        0..DISK_BYTES_MIN => HealthFinding::new(
            "disk",
            HealthLevel::Bad,
            format!("the disk is full ({megabytes} MB free): make room, then runs go on"),
        ),
        DISK_BYTES_MIN..DISK_BYTES_LOW => HealthFinding::new(
            "disk",
            HealthLevel::Warn,
            format!("{megabytes} MB are free where the data lies: make room soon"),
        ),
        _ => HealthFinding::new(
            "disk",
            HealthLevel::Good,
            format!("{} GB are free", megabytes / 1024),
        ),
    }
}

fn line_of(path: &Path) -> Option<BackupLine> {
    let name = path.file_name()?.to_str()?;
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || !is_name(name) {
        return None;
    }
    let made = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let made = Timestamp(i64::try_from(made.as_micros()).ok()?);
    Some(BackupLine { name: name.to_owned(), bytes: metadata.len(), made })
}

/// A plain name as backups have it: nothing that leads to another folder.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    name.ends_with(ENDING) && !name.starts_with('.') && name.bytes().all(plain)
}

impl Maintenance {
    /// What the machine says: disk, folders, sandbox, versions. Quick: it is asked for every few
    /// seconds.
    pub async fn findings(&self) -> Vec<HealthFinding> {
        let mut all = vec![self.disk()];
        all.extend(self.storage());
        all.push(Self::version());
        all
    }

    /// Bytes free where the data lies; `None`: that cannot be told.
    pub fn disk_free_bytes(&self) -> Option<u64> {
        let found = rustix::fs::statvfs(&self.dirs.state).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Makes a backup of everything while everything runs, and keeps it with the installation. Keys
    /// of providers are not in it.
    ///
    /// # Errors
    /// One is being made, or it could not be written; nothing half is left.
    pub async fn back_up(&self) -> Result<BackupLine, InstallationError> {
        let Ok(_busy) = self.busy.try_lock() else {
            return Err(InstallationError::Refused(
                "a backup is being made; wait until it is done".into(),
            ));
        };
        let folder = self.folder();
        let name = format!("weir-{}{ENDING}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"));
        let (dirs, database) = (self.dirs.clone(), self.database.clone());
        let to = folder.join(name);
        let runtime = tokio::runtime::Handle::current();
        // Reading and packing blocks: not on the threads that serve.
        let written = run_blocking(move || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let of = BackupOf { dirs: &dirs, database: &database, keys: false, kept_keys: None };
            runtime.block_on(archive::write_archive(&of, &to))?;
            Ok::<PathBuf, anyhow::Error>(to)
        });
        let written =
            written.await.map_err(|error| InstallationError::Failed(error.to_string()))?;
        let path = written.map_err(|error| {
            tracing::error!(error = format!("{error:#}"), "no backup was made");
            refused(&error)
        })?;
        line_of(&path).ok_or_else(|| InstallationError::Failed("the backup is gone again".into()))
    }

    /// Backups that are kept, the newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn list_backups(&self) -> Result<Vec<BackupLine>, InstallationError> {
        let entries = match std::fs::read_dir(self.folder()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(InstallationError::Failed(error.to_string())),
        };
        let mut lines: Vec<BackupLine> =
            entries.flatten().filter_map(|entry| line_of(&entry.path())).collect();
        sort_stably(&mut lines, |a, b| b.made.cmp(&a.made).then_with(|| b.name.cmp(&a.name)));
        Ok(lines)
    }

    /// Where one of them lies.
    ///
    /// # Errors
    /// There is none of this name.
    pub async fn backup_file(&self, name: &str) -> Result<PathBuf, InstallationError> {
        let missing = || InstallationError::Missing(format!("the backup {name}"));
        if !is_name(name) {
            return Err(missing());
        }
        let path = self.folder().join(name);
        line_of(&path).map(|_| path).ok_or_else(missing)
    }

    /// Removes one.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be removed.
    pub async fn remove_backup(&self, name: &str) -> Result<(), InstallationError> {
        let path = self.backup_file(name).await?;
        std::fs::remove_file(path).map_err(|error| InstallationError::Failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s15_a_full_disk_is_told_of_before_it_is_full() {
        assert_eq!(disk_finding(0).health, HealthLevel::Bad);
        assert_eq!(disk_finding(DISK_BYTES_MIN).health, HealthLevel::Warn);
        assert_eq!(disk_finding(DISK_BYTES_LOW).health, HealthLevel::Good);
    }

    #[test]
    fn s15_the_name_of_a_backup_leads_nowhere_else() {
        assert!(is_name("weir-20261122-150000.tar.gz"));
        for name in ["../weir.tar.gz", "a/b.tar.gz", ".x.tar.gz", "weir.db", "", "x.tar.gz\0"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
