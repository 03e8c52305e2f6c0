//! Opening the database: options, private files, migrations. Quick, because it stands before the
//! first request of every run (Q1): one connection, one look at `user_version`, nothing else.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::StatVfsMountFlags;
use weir_engine::ports::StoreError;

use super::connection::SqliteConnection;
use super::error::{database_error, is_busy};
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
    include_str!("../../migrations/sqlite/0010_facts_of_asks.sql"),
    include_str!("../../migrations/sqlite/0011_looks.sql"),
    include_str!("../../migrations/sqlite/0012_whole_marks.sql"),
];

/// How long to wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait before opening is tried again.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// Page cache of a connection, in kibibytes: what one session needs (Q5).
pub(super) const CACHE_KIB: u32 = 512;
/// The same of one that only reads. A journal is read from one end to the other, and each of its pages once;
/// what is read again and again are the few pages by which they are found. Of these connections a server has
/// up to four for each person who looks at something, and what one gave back stays with the allocator (Q18).
const READER_CACHE_KIB: u32 = 128;
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
    /// A program with one session uses the store: what it reads waits its turn in the journal's thread, and no
    /// other connection is opened for it while little is wanted at once.
    pub one_session: bool,
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
        refuse_log_alone(&database)?;
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

    /// A connection that only reads.
    pub(crate) fn connect_reader(&self) -> Result<SqliteConnection, StoreError> {
        let settings = format!("PRAGMA cache_size = -{READER_CACHE_KIB}; PRAGMA query_only = ON;");
        self.connect_with(&settings).map_err(|error| self.explain_error(error))
    }

    /// A connection for one long piece of work.
    pub(crate) fn connect_plain(&self) -> Result<SqliteConnection, StoreError> {
        self.connect_with(&format!("PRAGMA cache_size = -{CACHE_KIB};"))
    }

    /// The one connection that writes, with the schema brought up to date.
    pub(crate) fn connect_writer(&self) -> Result<SqliteConnection, StoreError> {
        let mut settings = format!(
            "PRAGMA cache_size = -{CACHE_KIB}; PRAGMA journal_mode = {};
             PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {AUTO_CHECKPOINT_PAGES};",
            if self.wal { "WAL" } else { "TRUNCATE" },
        );
        if let Some(pages) = self.max_pages {
            settings.push_str(&format!("PRAGMA max_page_count = {pages};"));
        }
        let opened = self.connect_with(&settings);
        let mut connection = opened.map_err(|error| self.explain_error(error))?;
        self.migrate_schema(&mut connection)?;
        Ok(connection)
    }

    fn connect_with(&self, settings: &str) -> Result<SqliteConnection, StoreError> {
        let settings = format!("PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; {settings}");
        connect_retrying(&self.database, &settings)
            .map_err(|error| database_error("opening the database", &error))
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

    fn migrate_schema(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let doing = "bringing the database to this version";
        if self.schema_version(connection)? == MIGRATIONS.len() {
            return Ok(());
        }
        connection.in_transaction(doing, |connection| {
            // Another process may have done the same: look again under the lock.
            for step in &MIGRATIONS[self.schema_version(connection)?..] {
                connection.run_batch(step).map_err(|e| database_error(doing, &e))?;
            }
            connection.run_batch(VERSION_LATEST).map_err(|e| database_error(doing, &e))
        })?;
        if let Some(folder) = self.database.parent() {
            sync_folder(folder).map_err(|e| crate::filesystem::io_error(doing, &e))?;
        }
        Ok(())
    }

    /// The schema's version, at most the newest that this program knows.
    fn schema_version(&self, connection: &mut SqliteConnection) -> Result<usize, StoreError> {
        let version = connection.read_number("PRAGMA user_version", 0);
        let version = version.map_err(|e| database_error("opening the database", &e))?;
        let found = usize::try_from(version).unwrap_or(usize::MAX);
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

/// Refuses to begin anew beside the log of a database that is gone: SQLite would remove the log, and
/// what was written last may stand nowhere else.
pub(crate) fn refuse_log_alone(database: &Path) -> Result<(), StoreError> {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    // The log is looked at first: whoever makes a database makes it before its log.
    let has_log = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    if !has_log || database.exists() {
        return Ok(());
    }
    let name = database.file_name().unwrap_or_default().to_string_lossy();
    Err(StoreError::Io {
        doing: format!("opening {}", database.display()),
        why: format!(
            "it is gone, but the last facts of it are in its log, {name}-wal: put {name} back, or \
             move {name}-wal and {name}-shm away too, to begin anew"
        ),
    })
}

/// Opens a database so set. Two programs that open a new one at once are in each other's way while it
/// becomes a WAL database, and SQLite does not wait there by itself.
pub(crate) fn connect_retrying(
    database: &Path,
    settings: &str,
) -> rusqlite::Result<SqliteConnection> {
    let connect = || {
        let mut connection = SqliteConnection::open(database, BUSY_TIMEOUT)?;
        connection.run_batch(settings)?;
        Ok(connection)
    };
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connect() {
            // This is rare and short.
            Err(error) if is_busy(&error) && Instant::now() < until => {
                std::thread::sleep(BUSY_PAUSE);
            }
            other => return other,
        }
    }
}

/// Must name the number of [`MIGRATIONS`]; a test compares them.
const VERSION_LATEST: &str = "PRAGMA user_version = 12";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d1_the_schema_version_is_the_number_of_migrations() {
        assert_eq!(VERSION_LATEST, format!("PRAGMA user_version = {}", MIGRATIONS.len()));
    }

    #[test]
    fn q18_a_connection_that_only_reads_keeps_few_pages() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = DatabasePlace::prepare_database(folder.path(), &SqliteOptions::default());
        let place = place.expect("a place");
        let cache_of = |connection: Result<SqliteConnection, StoreError>| {
            let mut connection = connection.expect("it opens");
            connection.read_number("PRAGMA cache_size", 0).expect("a number")
        };
        assert_eq!(cache_of(place.connect_writer()), -i64::from(CACHE_KIB));
        assert_eq!(cache_of(place.connect_reader()), -i64::from(READER_CACHE_KIB));
    }
}
