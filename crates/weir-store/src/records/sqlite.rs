//! What a server keeps beside sessions, in the file `server.db` of the state folder: small, rarely
//! changed, each change synced. Several processes may use it at once.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions, Connection, Row};
use tokio::sync::Mutex;
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records, StoreError};

use crate::filesystem::{network_file_system, private_file, private_folder};
use crate::notice::ChangeMarker;
use crate::sql::{SqlConnection, SqlStatement, sql};
use crate::sqlite::error::database_error;
use crate::tables::entries::{
    READING, WRITING, find_named, find_owned, purge_expired, put_entry, read_entry, remove_named,
    remove_owned,
};

/// The schema, step by step; the n-th brings a database to `user_version` n. Only ever appended to.
const MIGRATIONS: &[&str] = &[include_str!("../../migrations/server/0001_entries.sql")];
/// How long to wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const OPENING: &str = "opening the server's database";

/// What a server keeps beside sessions, in a SQLite file.
pub struct SqliteRecords {
    connection: Mutex<SqliteConnection>,
    options: SqliteConnectOptions,
    notice: ChangeMarker,
}

impl SqliteRecords {
    /// Opens the records of `state_dir`, which is made (for the owner alone) if it does not exist.
    ///
    /// # Errors
    /// When folder or file cannot be used, or were written by a newer Weir.
    pub async fn open(state_dir: &Path) -> Result<SqliteRecords, StoreError> {
        private_folder(state_dir)?;
        let database = state_dir.join("server.db");
        private_file(&database)?;
        let wal = network_file_system(state_dir).is_none();
        let options = SqliteConnectOptions::new()
            .filename(&database)
            .create_if_missing(false)
            .busy_timeout(BUSY_TIMEOUT)
            .pragma("journal_mode", if wal { "WAL" } else { "TRUNCATE" })
            .pragma("synchronous", "FULL")
            .pragma("secure_delete", "ON")
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(|e| database_error(OPENING, &e))?;
        migrate_schema(&mut connection).await?;
        let notice = ChangeMarker::of_records(state_dir);
        Ok(SqliteRecords { connection: Mutex::new(connection), options, notice })
    }

    /// Another connection for one on which a change failed. On some errors (a full disk) SQLite has
    /// rolled back by itself already; a connection that does not know begins nothing any more. The
    /// old one goes on reading when no other can be had.
    async fn renew(&self, connection: &mut SqliteConnection) {
        match self.options.connect().await {
            Ok(fresh) => *connection = fresh,
            Err(error) => tracing::debug!(%error, "the server's database was not opened again"),
        }
    }

    async fn fetch_rows(&self, statement: SqlStatement) -> Result<Vec<SqliteRow>, StoreError> {
        self.connection.lock().await.fetch_rows(READING, statement).await
    }

    /// Runs one statement and announces it if it changed anything; how many rows.
    async fn change_rows(&self, statement: SqlStatement) -> Result<u64, StoreError> {
        let changed = self.connection.lock().await.change_rows(WRITING, statement).await?;
        if changed > 0 {
            self.notice.touch()?;
        }
        Ok(changed)
    }
}

async fn migrate_schema(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    // Another process may be doing the same.
    let work = connection.begin_with("BEGIN IMMEDIATE").await;
    let mut work = work.map_err(|e| database_error(OPENING, &e))?;
    let row = sqlx::query("PRAGMA user_version").fetch_one(&mut *work).await;
    let version: i64 = row.map_err(|e| database_error(OPENING, &e))?.get(0);
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
        let done = sqlx::raw_sql(*step).execute(&mut *work).await;
        done.map_err(|e| database_error(OPENING, &e))?;
    }
    let done = sqlx::raw_sql(VERSION_LATEST).execute(&mut *work).await;
    done.map_err(|e| database_error(OPENING, &e))?;
    work.commit().await.map_err(|e| database_error(OPENING, &e))
}

/// Must name the number of [`MIGRATIONS`]; a test compares them.
const VERSION_LATEST: &str = "PRAGMA user_version = 1";

/// One change, in a transaction that looks first.
async fn put_and_commit_entry(
    connection: &mut SqliteConnection,
    entry: &RecordEntry,
    expected: Option<u64>,
) -> Result<PutOutcome, StoreError> {
    let work = connection.begin_with("BEGIN IMMEDIATE").await;
    let mut work = work.map_err(|e| database_error(WRITING, &e))?;
    let put = put_entry(&mut *work, entry, expected).await?;
    if matches!(put, PutOutcome::Kept(_)) {
        work.commit().await.map_err(|e| database_error(WRITING, &e))?;
    }
    Ok(put)
}

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
        let mut connection = self.connection.lock().await;
        let mut done = put_and_commit_entry(&mut connection, entry, expected).await;
        if done.is_err() {
            self.renew(&mut connection).await;
            // What was in the way may have been the connection alone.
            done = put_and_commit_entry(&mut connection, entry, expected).await;
        }
        drop(connection);
        let done = done?;
        if matches!(done, PutOutcome::Kept(_)) {
            self.notice.touch()?;
        }
        Ok(done)
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
