//! What a server keeps beside sessions, in the file `server.db` of the state folder: small, rarely
//! changed, each change synced. Several processes may use it at once.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use futures::executor::block_on;
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records, StoreError};

use crate::filesystem::{network_file_system, private_file, private_folder};
use crate::notice::ChangeMarker;
use crate::sql::{SqlConnection, SqlStatement, sql};
use crate::sqlite::connect::{connect_retrying, refuse_log_alone};
use crate::sqlite::connection::{SqliteConnection, SqliteRow};
use crate::sqlite::connection_threads::ConnectionThreads;
use crate::sqlite::error::database_error;
use crate::tables::entries::{
    READING, WRITING, find_named, find_owned, purge_expired, put_entry, read_entry, remove_named,
    remove_owned,
};

/// The schema, step by step; the n-th brings a database to `user_version` n. Only ever appended to.
const MIGRATIONS: &[&str] = &[include_str!("../../migrations/server/0001_entries.sql")];

const OPENING: &str = "opening the server's database";

/// What a server keeps beside sessions, in a SQLite file.
pub struct SqliteRecords {
    /// One thread with one connection: what is asked for waits for its turn.
    thread: ConnectionThreads,
    notice: Arc<ChangeMarker>,
}

impl SqliteRecords {
    /// Opens the records of `state_dir`, which is made (for the owner alone) if it does not exist.
    ///
    /// # Errors
    /// When folder or file cannot be used, or were written by a newer Weir; the file is gone and its log
    /// is not.
    pub async fn open(state_dir: &Path) -> Result<SqliteRecords, StoreError> {
        private_folder(state_dir)?;
        let database = state_dir.join("server.db");
        refuse_log_alone(&database)?;
        private_file(&database)?;
        let wal = network_file_system(state_dir).is_none();
        let connect = move || connect_records(&database, wal);
        // It stays open: there is one for a whole server, and to close the last connection is to copy the
        // log back.
        let thread = ConnectionThreads::new("weir-records", 1, None, connect);
        thread.run(|_| Ok(())).await?;
        Ok(SqliteRecords { thread, notice: Arc::new(ChangeMarker::of_records(state_dir)) })
    }

    async fn fetch_rows(&self, statement: SqlStatement) -> Result<Vec<SqliteRow>, StoreError> {
        self.thread.run_read(|connection| block_on(connection.fetch_rows(READING, statement))).await
    }

    /// Runs one statement and announces it if it changed anything; how many rows.
    async fn change_rows(&self, statement: SqlStatement) -> Result<u64, StoreError> {
        let notice = Arc::clone(&self.notice);
        // What is written is announced, even if whoever asked for it does not wait any more.
        let work = move |connection: &mut SqliteConnection| {
            let changed = block_on(connection.change_rows(WRITING, statement))?;
            if changed > 0 {
                notice.touch()?;
            }
            Ok(changed)
        };
        self.thread.run(work).await
    }
}

fn connect_records(database: &Path, wal: bool) -> Result<SqliteConnection, StoreError> {
    let settings = format!(
        "PRAGMA journal_mode = {}; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON",
        if wal { "WAL" } else { "TRUNCATE" },
    );
    let opened = connect_retrying(database, &settings);
    let mut connection = opened.map_err(|error| database_error(OPENING, &error))?;
    // Another process may be doing the same.
    connection.in_transaction(OPENING, migrate_schema)?;
    Ok(connection)
}

fn migrate_schema(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| database_error(OPENING, &error);
    let version = connection.read_number("PRAGMA user_version", 0).map_err(failed)?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(StoreError::Io {
            doing: OPENING.to_string(),
            why: format!(
                "it was written by a newer Weir (schema {version}, this one knows {}): update \
                 Weir, or name another folder",
                MIGRATIONS.len()
            ),
        });
    }
    if version == MIGRATIONS.len() {
        return Ok(());
    }
    for step in &MIGRATIONS[version..] {
        connection.run_batch(step).map_err(failed)?;
    }
    connection.run_batch(VERSION_LATEST).map_err(failed)
}

/// Must name the number of [`MIGRATIONS`]; a test compares them.
const VERSION_LATEST: &str = "PRAGMA user_version = 1";

#[async_trait]
impl Records for SqliteRecords {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RecordEntry>, StoreError> {
        let rows = self.fetch_rows(find_named(kind, name, now)).await?;
        rows.first().map(read_entry).transpose()
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        let rows = self.fetch_rows(find_owned(kind, owner, now)).await?;
        rows.iter().map(read_entry).collect()
    }

    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError> {
        let (entry, notice) = (entry.clone(), Arc::clone(&self.notice));
        let put = move |connection: &mut SqliteConnection| {
            // One change, in a transaction that looks first.
            let done = connection
                .in_transaction(WRITING, |work| block_on(put_entry(work, &entry, expected)))?;
            if matches!(done, PutOutcome::Kept(_)) {
                notice.touch()?;
            }
            Ok(done)
        };
        self.thread.run(put).await
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        Ok(self.change_rows(remove_named(kind, name)).await? > 0)
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        self.change_rows(remove_owned(owner)).await
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.change_rows(purge_expired(now)).await
    }

    async fn check_alive(&self) -> Result<(), StoreError> {
        self.fetch_rows(SqlStatement::new(sql!("SELECT 1"))).await.map(drop)
    }

    async fn wait_for_change(&self) {
        self.notice.wait_for_change().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_the_schema_version_of_the_server_is_the_number_of_migrations() {
        assert_eq!(VERSION_LATEST, format!("PRAGMA user_version = {}", MIGRATIONS.len()));
    }
}
