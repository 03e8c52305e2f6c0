//! Opening the database: options, private files, migrations. Quick, because it stands before the
//! first request of every run (Q1): one connection, one look at `user_version`, nothing else.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::StatVfsMountFlags;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Row};
use weir_engine::ports::StoreError;

use super::error::database_error;
use crate::filesystem::{network_file_system, private_file, private_folder, sync_folder};

/// The schema, step by step; the n-th brings a database to `user_version` n. Only ever appended to.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_journal.sql"),
    include_str!("../../migrations/sqlite/0002_mail_and_marks.sql"),
    include_str!("../../migrations/sqlite/0003_memory_and_recall.sql"),
    include_str!("../../migrations/sqlite/0004_kept.sql"),
    include_str!("../../migrations/sqlite/0005_recipes.sql"),
    include_str!("../../migrations/sqlite/0006_agent_runs.sql"),
    include_str!("../../migrations/sqlite/0007_usage.sql"),
    include_str!("../../migrations/sqlite/0008_asks.sql"),
    include_str!("../../migrations/sqlite/0009_snapshots.sql"),
];

/// How long to wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait before opening is tried again.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// Page cache of a connection that reads, in kibibytes.
const READ_CACHE_KIB: u32 = 512;
/// Page cache of the connection that writes: a group of a thousand sessions touches as many pages,
/// and what does not fit is written twice. It grows only with what is touched.
const WRITE_CACHE_KIB: u32 = 8192;
/// Pages of the write-ahead log after which a commit itself copies them back. The writer does that
/// earlier, when it has nothing else to do.
const AUTO_CHECKPOINT_PAGES: u32 = 4000;

/// How a store is opened. Everything has a sensible default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The database may grow to so many pages of 4 KiB; beyond that it counts as full.
    pub max_pages: Option<u32>,
    /// Use the slower journal that is safe on network file systems although the folder does not
    /// look like one.
    pub safe_journal: bool,
}

/// Where the database is and how it is spoken to.
#[derive(Debug, Clone)]
pub(crate) struct DatabasePlace {
    pub(crate) database: PathBuf,
    /// Write-ahead log; a truncated rollback journal otherwise.
    pub(crate) wal: bool,
    max_pages: Option<u32>,
}

impl DatabasePlace {
    /// Makes folder and file, for the owner alone, where they do not exist.
    pub(crate) fn prepare_database(
        state_dir: &Path,
        options: &SqliteOptions,
    ) -> Result<DatabasePlace, StoreError> {
        private_folder(state_dir)?;
        let database = state_dir.join("weir.db");
        private_file(&database)?;
        let wal = !options.safe_journal && network_file_system(state_dir).is_none();
        Ok(DatabasePlace { database, wal, max_pages: options.max_pages })
    }

    /// An existing database, to read from.
    pub(crate) fn open_existing(state_dir: &Path) -> Result<DatabasePlace, StoreError> {
        let database = state_dir.join("weir.db");
        if !database.is_file() {
            return Err(StoreError::Missing { what: database.display().to_string() });
        }
        let wal = network_file_system(state_dir).is_none();
        Ok(DatabasePlace { database, wal, max_pages: None })
    }

    fn connect_options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(&self.database)
            .create_if_missing(false)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(false)
            .pragma("cache_size", format!("-{READ_CACHE_KIB}"))
            .pragma("temp_store", "MEMORY")
            .pragma("mmap_size", "0")
            .statement_cache_capacity(48)
            .disable_statement_logging()
    }

    /// A connection that only reads.
    pub(crate) async fn connect_reader(&self) -> Result<SqliteConnection, StoreError> {
        let options = self
            .connect_options()
            .pragma("query_only", "ON")
            .row_buffer_size(512)
            .thread_name(|n| format!("weir-db-read-{n}"));
        connect_retrying(&options).await.map_err(|error| self.explain_error(error))
    }

    /// A connection for one long piece of work.
    pub(crate) async fn connect_plain(&self) -> Result<SqliteConnection, StoreError> {
        connect_retrying(&self.connect_options()).await
    }

    /// The one connection that writes, with the schema brought up to date.
    pub(crate) async fn connect_writer(&self) -> Result<SqliteConnection, StoreError> {
        let journal = if self.wal { "WAL" } else { "TRUNCATE" };
        let mut options = self
            .connect_options()
            .pragma("cache_size", format!("-{WRITE_CACHE_KIB}"))
            .pragma("journal_mode", journal)
            .pragma("synchronous", "FULL")
            .pragma("wal_autocheckpoint", AUTO_CHECKPOINT_PAGES.to_string())
            .thread_name(|n| format!("weir-db-write-{n}"));
        if let Some(pages) = self.max_pages {
            options = options.pragma("max_page_count", pages.to_string());
        }
        let opened = connect_retrying(&options).await;
        let mut connection = opened.map_err(|error| self.explain_error(error))?;
        self.migrate_schema(&mut connection).await?;
        Ok(connection)
    }

    /// SQLite says of a disk that is read-only that it cannot open a file: it needs to make one.
    fn explain_error(&self, error: StoreError) -> StoreError {
        let found = rustix::fs::statvfs(&self.database);
        let read_only = found.is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
        match error {
            StoreError::Io { doing, why } if read_only => StoreError::Io {
                doing,
                why: format!(
                    "{why}; the disk with {} is read-only: make it writable, or set WEIR_STATE_DIR \
                     to another folder",
                    self.database.display()
                ),
            },
            error => error,
        }
    }

    async fn migrate_schema(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let doing = "bringing the database to this version";
        let latest = MIGRATIONS.len();
        if self.schema_version(connection).await? == latest {
            return Ok(());
        }
        // Another process may be doing the same: look again under the lock.
        let begin = sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *connection).await;
        begin.map_err(|e| database_error(doing, &e))?;
        let result = self.migrate_locked(connection).await;
        let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = sqlx::raw_sql(end).execute(&mut *connection).await;
        result?;
        ended.map_err(|e| database_error(doing, &e))?;
        if let Some(folder) = self.database.parent() {
            sync_folder(folder).map_err(|e| crate::filesystem::io_error(doing, &e))?;
        }
        Ok(())
    }

    async fn migrate_locked(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let doing = "bringing the database to this version";
        for step in &MIGRATIONS[self.schema_version(connection).await?..] {
            let done = sqlx::raw_sql(*step).execute(&mut *connection).await;
            done.map_err(|e| database_error(doing, &e))?;
        }
        let done = sqlx::raw_sql(VERSION_LATEST).execute(&mut *connection).await;
        done.map(drop).map_err(|e| database_error(doing, &e))
    }

    /// The schema's version, at most the newest that this program knows.
    async fn schema_version(&self, connection: &mut SqliteConnection) -> Result<usize, StoreError> {
        let row = sqlx::query("PRAGMA user_version").fetch_one(connection).await;
        let row = row.map_err(|e| database_error("opening the database", &e))?;
        let found = usize::try_from(row.get::<i64, _>(0)).unwrap_or(usize::MAX);
        if found > MIGRATIONS.len() {
            return Err(StoreError::Io {
                doing: format!("opening {}", self.database.display()),
                why: format!(
                    "it was written by a newer Weir (schema {found}, this one knows {}): update \
                     Weir, or point WEIR_STATE_DIR at another folder",
                    MIGRATIONS.len()
                ),
            });
        }
        Ok(found)
    }
}

/// Opens the database. Two programs that open a new one at once are in each other's way while it
/// becomes a WAL database, and SQLite does not wait there by itself.
async fn connect_retrying(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        match options.connect().await {
            Ok(connection) => return Ok(connection),
            Err(error) if is_busy(&error) && Instant::now() < until => {
                // The writer's thread has no timer; this is rare and short.
                std::thread::sleep(BUSY_PAUSE);
            }
            Err(error) => return Err(database_error("opening the database", &error)),
        }
    }
}

/// SQLITE_BUSY and its extended codes.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 5)
}

/// Must name the number of [`MIGRATIONS`]; a test compares them.
const VERSION_LATEST: &str = "PRAGMA user_version = 9";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_the_schema_version_is_the_number_of_migrations() {
        assert_eq!(VERSION_LATEST, format!("PRAGMA user_version = {}", MIGRATIONS.len()));
    }
}
