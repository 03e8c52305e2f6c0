//! Care of the whole installation: what works, backups (S15).

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use super::HouseError;

/// How well something is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Somebody should look at it.
    Warn,
    /// The server cannot do its work.
    Bad,
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What: `database`, `disk`, `clock`, `certificate`, …
    pub name: String,
    /// How well it is.
    pub health: Health,
    /// One sentence for admins, with what to do where something is wrong.
    pub says: String,
}

impl Finding {
    /// A finding.
    pub fn new(name: &str, health: Health, says: impl Into<String>) -> Finding {
        Finding { name: name.into(), health, says: says.into() }
    }
}

/// A backup that lies with the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackupLine {
    /// Its name, a plain file name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was finished.
    pub made: Timestamp,
}

/// Health and backups of an installation.
#[async_trait]
pub trait Care: Send + Sync {
    /// What the machine says: disk, folders, sandbox, versions. Quick: it is asked for every few
    /// seconds.
    async fn findings(&self) -> Vec<Finding>;
    /// Bytes free where the data lies; `None`: that cannot be told.
    fn disk_free_bytes(&self) -> Option<u64>;
    /// Makes a backup of everything while everything runs, and keeps it with the installation. Keys
    /// of providers are not in it.
    ///
    /// # Errors
    /// One is being made, or it could not be written; nothing half is left.
    async fn back_up(&self) -> Result<BackupLine, HouseError>;
    /// Backups that are kept, the newest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    async fn backups(&self) -> Result<Vec<BackupLine>, HouseError>;
    /// Where one of them lies.
    ///
    /// # Errors
    /// There is none of this name.
    async fn backup_file(&self, name: &str) -> Result<PathBuf, HouseError>;
    /// Removes one.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be removed.
    async fn remove_backup(&self, name: &str) -> Result<(), HouseError>;
}
