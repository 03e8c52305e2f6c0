//! What a server keeps beside sessions, in the file `server.db` of the state folder: small, rarely
//! changed, each change synced. Several processes may use it at once.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions, Connection, Row};
use tokio::sync::Mutex;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Entry, Put, Records, StoreError};

use crate::filesystem::{network_file_system, private_file, private_folder};
use crate::notice::Notice;
use crate::sqlite::error::failed;

/// The schema, step by step; the n-th brings a database to `user_version` n. Only ever appended to.
const MIGRATIONS: &[&str] = &[include_str!("../../migrations/server/0001_entries.sql")];
/// How long to wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const OPENING: &str = "opening the server's database";
const READING: &str = "reading the server's database";
const WRITING: &str = "writing the server's database";

/// Records in SQLite.
pub struct SqliteRecords {
    connection: Mutex<SqliteConnection>,
    options: SqliteConnectOptions,
    notice: Notice,
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
        let mut connection = options.connect().await.map_err(|e| failed(OPENING, &e))?;
        migrate(&mut connection).await?;
        let notice = Notice::of_records(state_dir);
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

    async fn all(&self, query: Statement<'_>) -> Result<Vec<SqliteRow>, StoreError> {
        let mut connection = self.connection.lock().await;
        query.fetch_all(&mut *connection).await.map_err(|e| failed(READING, &e))
    }

    /// Runs one statement and announces it if it changed anything; how many rows.
    async fn change(&self, query: Statement<'_>) -> Result<u64, StoreError> {
        let mut connection = self.connection.lock().await;
        let done = query.execute(&mut *connection).await.map_err(|e| failed(WRITING, &e))?;
        drop(connection);
        if done.rows_affected() > 0 {
            self.notice.touch()?;
        }
        Ok(done.rows_affected())
    }
}

type Statement<'q> = sqlx::query::Query<'q, Sqlite, SqliteArguments>;

async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    // Another process may be doing the same.
    let work = connection.begin_with("BEGIN IMMEDIATE").await;
    let mut work = work.map_err(|e| failed(OPENING, &e))?;
    let row = sqlx::query("PRAGMA user_version").fetch_one(&mut *work).await;
    let version: i64 = row.map_err(|e| failed(OPENING, &e))?.get(0);
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
        done.map_err(|e| failed(OPENING, &e))?;
    }
    let done = sqlx::raw_sql(VERSION_LATEST).execute(&mut *work).await;
    done.map_err(|e| failed(OPENING, &e))?;
    work.commit().await.map_err(|e| failed(OPENING, &e))
}

/// Must name the number of [`MIGRATIONS`]; a test compares them.
const VERSION_LATEST: &str = "PRAGMA user_version = 1";

const COLUMNS: &str = "SELECT kind, name, owner, text, version, expires, ts FROM entries
  WHERE kind = $1 AND ($2 IS NULL OR name = $2) AND ($3 IS NULL OR owner = $3)
  AND (expires IS NULL OR expires > $4) ORDER BY name";

fn entry_of(row: &SqliteRow) -> Result<Entry, StoreError> {
    let read = || -> Result<Entry, sqlx::Error> {
        Ok(Entry {
            kind: row.try_get(0)?,
            name: row.try_get(1)?,
            owner: row.try_get(2)?,
            text: row.try_get(3)?,
            version: row.try_get::<i64, _>(4)?.cast_unsigned(),
            expires: row.try_get::<Option<i64>, _>(5)?.map(Timestamp),
            ts: Timestamp(row.try_get(6)?),
        })
    };
    read().map_err(|e| failed(READING, &e))
}

/// One change, in a transaction that looks first.
async fn put(
    connection: &mut SqliteConnection,
    entry: &Entry,
    expected: Option<u64>,
) -> Result<Put, StoreError> {
    let work = connection.begin_with("BEGIN IMMEDIATE").await;
    let mut work = work.map_err(|e| failed(WRITING, &e))?;
    let query = sqlx::query(
        "SELECT version, expires IS NULL OR expires > $3 FROM entries
             WHERE kind = $1 AND name = $2",
    );
    let query = query.bind(entry.kind.clone()).bind(entry.name.clone()).bind(entry.ts.micros());
    let row = query.fetch_optional(&mut *work).await.map_err(|e| failed(WRITING, &e))?;
    let found = row.map(|row| (row.get::<i64, _>(0).cast_unsigned(), row.get::<bool, _>(1)));
    let version = found.map_or(0, |(version, _)| version);
    let seen = found.filter(|(_, lives)| *lives).map_or(0, |(version, _)| version);
    if expected.is_some_and(|expected| expected != seen) {
        return Ok(Put::Changed(seen));
    }
    let query = sqlx::query(
        "INSERT INTO entries (kind, name, owner, text, version, expires, ts)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, name) DO UPDATE SET
             owner = excluded.owner, text = excluded.text, version = excluded.version,
             expires = excluded.expires, ts = excluded.ts",
    )
    .bind(entry.kind.clone())
    .bind(entry.name.clone())
    .bind(entry.owner.clone())
    .bind(entry.text.clone())
    .bind((version + 1).cast_signed())
    .bind(entry.expires.map(Timestamp::micros))
    .bind(entry.ts.micros());
    query.execute(&mut *work).await.map_err(|e| failed(WRITING, &e))?;
    work.commit().await.map_err(|e| failed(WRITING, &e))?;
    Ok(Put::Kept(version + 1))
}

#[async_trait]
impl Records for SqliteRecords {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Entry>, StoreError> {
        let query = sqlx::query(COLUMNS).bind(kind.to_string()).bind(Some(name.to_string()));
        let rows = self.all(query.bind(None::<String>).bind(now.micros())).await?;
        rows.first().map(entry_of).transpose()
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Entry>, StoreError> {
        let query = sqlx::query(COLUMNS).bind(kind.to_string()).bind(None::<String>);
        let query = query.bind(owner.map(str::to_string)).bind(now.micros());
        self.all(query).await?.iter().map(entry_of).collect()
    }

    async fn put(&self, entry: &Entry, expected: Option<u64>) -> Result<Put, StoreError> {
        let mut connection = self.connection.lock().await;
        let mut done = put(&mut connection, entry, expected).await;
        if done.is_err() {
            self.renew(&mut connection).await;
            // What was in the way may have been the connection alone.
            done = put(&mut connection, entry, expected).await;
        }
        drop(connection);
        let done = done?;
        if matches!(done, Put::Kept(_)) {
            self.notice.touch()?;
        }
        Ok(done)
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM entries WHERE kind = $1 AND name = $2");
        Ok(self.change(query.bind(kind.to_string()).bind(name.to_string())).await? > 0)
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        let query = sqlx::query("DELETE FROM entries WHERE owner = $1").bind(owner.to_string());
        self.change(query).await
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        let query = sqlx::query("DELETE FROM entries WHERE expires <= $1").bind(now.micros());
        self.change(query).await
    }

    async fn alive(&self) -> Result<(), StoreError> {
        self.all(sqlx::query("SELECT 1")).await.map(drop)
    }

    async fn changed(&self) {
        self.notice.changed().await;
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
