//! What a server keeps beside sessions: one contract, three places (D1).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records, StoreError};

mod sqlite;

pub use sqlite::SqliteRecords;

use crate::postgres::PostgresStores;

/// Opens the records of a server. `database`: `postgres://…`, `sqlite:FOLDER`, `memory:`, or empty
/// for `state_dir`. A server that has the [`PostgresStores`] already takes theirs.
///
/// # Errors
/// It cannot be used.
pub async fn open_records(
    database: &str,
    state_dir: &Path,
) -> Result<Arc<dyn Records>, StoreError> {
    match database.split_once(':') {
        None if database.is_empty() => Ok(Arc::new(SqliteRecords::open(state_dir).await?)),
        Some(("memory", "")) => Ok(Arc::new(MemoryRecords::default())),
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(Arc::new(SqliteRecords::open(Path::new(path)).await?))
        }
        Some(("postgres" | "postgresql", _)) => {
            Ok(PostgresStores::connect(database).await?.server_records())
        }
        _ => Err(StoreError::Io {
            doing: "opening the database of the server".to_string(),
            why: "unknown kind: use sqlite:FOLDER or postgres://USER@HOST/DATABASE".to_string(),
        }),
    }
}

/// Records that end with the process.
#[derive(Default)]
pub struct MemoryRecords {
    entries: Mutex<BTreeMap<(String, String), RecordEntry>>,
    changed: Notify,
}

impl MemoryRecords {
    fn lock_entries(&self) -> MutexGuard<'_, BTreeMap<(String, String), RecordEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_unexpired(entry: &RecordEntry, now: Timestamp) -> bool {
    entry.expires.is_none_or(|at| at > now)
}

#[async_trait]
impl Records for MemoryRecords {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RecordEntry>, StoreError> {
        let found = self.lock_entries().get(&(kind.to_owned(), name.to_owned())).cloned();
        Ok(found.filter(|entry| is_unexpired(entry, now)))
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        let entries = self.lock_entries();
        let wanted = |entry: &&RecordEntry| {
            entry.kind == kind
                && owner.is_none_or(|owner| entry.owner == owner)
                && is_unexpired(entry, now)
        };
        Ok(entries.values().filter(wanted).cloned().collect())
    }

    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError> {
        let mut entries = self.lock_entries();
        let key = (entry.kind.clone(), entry.name.clone());
        let found = entries.get(&key);
        let version = found.map_or(0, |found| found.version);
        let seen =
            found.filter(|found| is_unexpired(found, entry.ts)).map_or(0, |found| found.version);
        if expected.is_some_and(|expected| expected != seen) {
            return Ok(PutOutcome::Changed(seen));
        }
        entries.insert(key, RecordEntry { version: version + 1, ..entry.clone() });
        drop(entries);
        self.changed.notify_waiters();
        Ok(PutOutcome::Kept(version + 1))
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        let was = self.lock_entries().remove(&(kind.to_owned(), name.to_owned())).is_some();
        if was {
            self.changed.notify_waiters();
        }
        Ok(was)
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        let mut entries = self.lock_entries();
        let before = entries.len();
        entries.retain(|_, entry| entry.owner != owner);
        let gone = before - entries.len();
        drop(entries);
        if gone > 0 {
            self.changed.notify_waiters();
        }
        Ok(gone as u64)
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut entries = self.lock_entries();
        let before = entries.len();
        entries.retain(|_, entry| is_unexpired(entry, now));
        Ok((before - entries.len()) as u64)
    }

    async fn check_alive(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn wait_for_change(&self) {
        self.changed.notified().await;
    }
}
