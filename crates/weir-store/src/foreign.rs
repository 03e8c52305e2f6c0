//! A database that another program made, and perhaps works in: its rows are read within bounds, and
//! nothing is ever written into it or beside it. What its schema brings along (views, triggers,
//! columns that are computed, virtual tables) does not run. Not here: what a table means, which is
//! for whoever asks, and the files that are read (`snapshot`).

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Params, Row};

use crate::sqlite::connection::SCHEMA_SETTINGS;
use snapshot::DatabaseSnapshot;

mod snapshot;

/// Steps of a statement after which they are counted, and how often that is done while the schema
/// is read and while everything else is. They are counted and not timed: what is read of a database
/// is the same on every machine.
const STEPS_PER_LOOK: i32 = 1_000;
const LOOKS_OPENING: i64 = 200;
const LOOKS_READING: i64 = 500_000;
/// Bytes of all values that are read.
const BYTES_MAX: u64 = 512 << 20;
/// Columns of a table that are looked at.
const COLUMNS_MAX: i64 = 2_000;

/// Why a foreign database, or some of it, cannot be read. The sentence goes on from its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignDatabaseError {
    /// The file cannot be opened or copied.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It is larger than what is read.
    #[error("has {bytes} bytes with what stands beside it; at most {max} are read")]
    TooLarge {
        /// How large it is, with the files beside it.
        bytes: u64,
        /// How large it may be.
        max: u64,
    },
    /// It is a file of something else.
    #[error("is no SQLite database")]
    NotADatabase,
    /// Its pages say what cannot be.
    #[error("is damaged: mend it with its own program, then import again")]
    Damaged,
    /// To read it takes more than is spent on it.
    #[error("is more than is read of one database: its rows are too many or too large")]
    Beyond,
    /// Somebody writes to it all the time.
    #[error("changes while it is read: end the program that works in it, then import again")]
    Changing,
}

/// How much is read of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignBounds {
    /// Rows, of which the newest are read.
    pub rows_max: usize,
    /// Bytes of one value; a larger one is said to be so and is not read.
    pub value_bytes_max: usize,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignValue {
    /// There is none.
    Missing,
    /// A whole number.
    Whole(i64),
    /// Text in UTF-8.
    Text(String),
    /// It has more bytes than are read.
    TooLarge,
    /// Bytes, a number with a fraction, or text that is none.
    Other,
}

impl ForeignValue {
    /// The text, if it is any.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ForeignValue::Text(text) => Some(text),
            ForeignValue::Missing
            | ForeignValue::Whole(_)
            | ForeignValue::TooLarge
            | ForeignValue::Other => None,
        }
    }

    /// The number, if it is any.
    pub fn as_whole(&self) -> Option<i64> {
        match self {
            ForeignValue::Whole(number) => Some(*number),
            ForeignValue::Missing
            | ForeignValue::Text(_)
            | ForeignValue::TooLarge
            | ForeignValue::Other => None,
        }
    }
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRow {
    /// What SQLite calls it by.
    pub rowid: i64,
    /// The values of the columns that were asked for.
    pub values: Vec<ForeignValue>,
}

/// Rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRows {
    /// The newest first.
    pub rows: Vec<ForeignRow>,
    /// There are older ones, which were not read.
    pub has_more: bool,
}

/// A database of another program, as it was when it was opened.
pub struct ForeignDatabase {
    // Before its files: it is closed before they go.
    connection: Connection,
    snapshot: DatabaseSnapshot,
    looks_left: Arc<AtomicI64>,
    bytes_left: Cell<u64>,
}

impl ForeignDatabase {
    /// Opens the database in `file`, which the caller knows to be one that may be read.
    ///
    /// # Errors
    /// It is none, is damaged or too large, or cannot be read.
    pub fn open_file(file: &Path) -> Result<ForeignDatabase, ForeignDatabaseError> {
        let snapshot = DatabaseSnapshot::take_files(file)?;
        let looks_left = Arc::new(AtomicI64::new(LOOKS_OPENING));
        let connection =
            open_bounded(&snapshot, &looks_left).map_err(|error| problem_of(&error))?;
        looks_left.store(LOOKS_READING, Ordering::Relaxed);
        let bytes_left = Cell::new(BYTES_MAX);
        Ok(ForeignDatabase { connection, snapshot, looks_left, bytes_left })
    }

    /// The columns of a table that hold what was written into them; none where there is no such
    /// table, or what has its name is none.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn plain_columns(&self, table: &str) -> Result<Vec<String>, ForeignDatabaseError> {
        // A view has no page of its own, and a virtual table is written otherwise.
        let found = "SELECT count(*) FROM main.sqlite_schema WHERE name = ?1 AND type = 'table' \
                     AND rootpage > 0 AND substr(sql, 1, 13) = 'CREATE TABLE '";
        let mut is_table = false;
        self.visit_rows(found, [table], |row| {
            is_table = row.get::<_, i64>(0)? == 1;
            Ok(())
        })?;
        let mut columns = Vec::new();
        if is_table {
            let sql =
                format!("SELECT name, hidden FROM pragma_table_xinfo(?1) LIMIT {COLUMNS_MAX}");
            self.visit_rows(&sql, [table], |row| {
                if row.get::<_, i64>(1)? == 0
                    && let ValueRef::Text(name) = row.get_ref(0)?
                    && let Ok(name) = std::str::from_utf8(name)
                {
                    columns.push(name.to_owned());
                }
                Ok(())
            })?;
        }
        Ok(columns)
    }

    /// Rows of a table, the newest first. Table and columns are such as [`Self::plain_columns`]
    /// names.
    ///
    /// # Errors
    /// The database cannot be read, or takes too much.
    pub fn newest_rows(
        &self,
        table: &str,
        columns: &[&str],
        bounds: ForeignBounds,
    ) -> Result<ForeignRows, ForeignDatabaseError> {
        let limit = bounds.rows_max.saturating_add(1);
        let end = format!("ORDER BY t.rowid DESC LIMIT {limit}");
        let sql = select_text(table, columns, bounds.value_bytes_max, &end);
        let mut rows = Vec::new();
        self.visit_rows(&sql, [], |row| {
            rows.push(self.take_row(row, columns.len())?);
            Ok(())
        })?;
        self.check_bytes()?;
        let has_more = rows.len() > bounds.rows_max;
        rows.truncate(bounds.rows_max);
        Ok(ForeignRows { rows, has_more })
    }

    /// One row of a table.
    ///
    /// # Errors
    /// The database cannot be read, or takes too much.
    pub fn read_row(
        &self,
        table: &str,
        columns: &[&str],
        rowid: i64,
        value_bytes_max: usize,
    ) -> Result<Option<ForeignRow>, ForeignDatabaseError> {
        let sql = select_text(table, columns, value_bytes_max, "WHERE t.rowid = ?1");
        let mut found = None;
        self.visit_rows(&sql, [rowid], |row| {
            found = Some(self.take_row(row, columns.len())?);
            Ok(())
        })?;
        self.check_bytes()?;
        Ok(found)
    }

    /// Whether what was read is one state of the database: asked once everything was read.
    ///
    /// # Errors
    /// It changed meanwhile.
    pub fn check_unchanged(&self) -> Result<(), ForeignDatabaseError> {
        self.snapshot.check_unchanged()
    }

    fn visit_rows(
        &self,
        sql: &str,
        values: impl Params,
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), ForeignDatabaseError> {
        let visited = self.connection.prepare_cached(sql).and_then(|mut statement| {
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                each(row)?;
                if self.bytes_left.get() == 0 {
                    break;
                }
            }
            Ok(())
        });
        match visited {
            // The statement was stopped, whatever it calls that.
            Err(_) if self.looks_left.load(Ordering::Relaxed) <= 0 => {
                Err(ForeignDatabaseError::Beyond)
            }
            Err(error) => Err(problem_of(&error)),
            Ok(()) => Ok(()),
        }
    }

    /// The values of a row of [`select_text`].
    fn take_row(&self, row: &Row<'_>, columns: usize) -> rusqlite::Result<ForeignRow> {
        let rowid = row.get(0)?;
        let mut values = Vec::with_capacity(columns);
        for at in 0..columns {
            let has_bytes = !matches!(row.get_ref(2 * at + 2)?, ValueRef::Null);
            values.push(match row.get_ref(2 * at + 1)? {
                ValueRef::Null if has_bytes => ForeignValue::TooLarge,
                ValueRef::Null => ForeignValue::Missing,
                ValueRef::Integer(number) => ForeignValue::Whole(number),
                ValueRef::Text(text) => {
                    let bytes = text.len() as u64;
                    self.bytes_left.set(self.bytes_left.get().saturating_sub(bytes));
                    std::str::from_utf8(text)
                        .map_or(ForeignValue::Other, |text| ForeignValue::Text(text.to_owned()))
                }
                ValueRef::Real(_) | ValueRef::Blob(_) => ForeignValue::Other,
            });
        }
        Ok(ForeignRow { rowid, values })
    }

    fn check_bytes(&self) -> Result<(), ForeignDatabaseError> {
        match self.bytes_left.get() {
            0 => Err(ForeignDatabaseError::Beyond),
            _ => Ok(()),
        }
    }
}

/// A connection that only reads, with its schema read.
fn open_bounded(
    snapshot: &DatabaseSnapshot,
    looks_left: &Arc<AtomicI64>,
) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(snapshot.to_address(), snapshot.open_flags())?;
    for (setting, value) in SCHEMA_SETTINGS {
        connection.set_db_config(setting, value)?;
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let looks = Arc::clone(looks_left);
    let is_spent = move || looks.fetch_sub(1, Ordering::Relaxed) <= 1;
    connection.progress_handler(STEPS_PER_LOOK, Some(is_spent))?;
    // Pages of a stranger are checked as they are read, and no file is made for what is sorted.
    connection.execute_batch(
        "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; \
         PRAGMA temp_store = MEMORY;",
    )?;
    let read = connection
        .query_row("SELECT count(*) FROM main.sqlite_schema", [], |row| row.get::<_, i64>(0));
    read.map(|_| connection)
}

/// The rowid, then of each column its value, unless it is too large, and its bytes. How large it is
/// is known without it being read.
fn select_text(table: &str, columns: &[&str], value_bytes_max: usize, end: &str) -> String {
    let mut chosen = "t.rowid".to_owned();
    for column in columns {
        // With its table: a name alone that is no column would be a text to SQLite.
        let column = format!("t.{}", quoted_name(column));
        chosen.push_str(&format!(
            ", CASE WHEN octet_length({column}) <= {value_bytes_max} THEN {column} END, \
             octet_length({column})"
        ));
    }
    format!("SELECT {chosen} FROM main.{} AS t {end}", quoted_name(table))
}

fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What SQLite says, without words of the file in it.
fn problem_of(error: &rusqlite::Error) -> ForeignDatabaseError {
    let rusqlite::Error::SqliteFailure(failure, _) = error else {
        return ForeignDatabaseError::Damaged;
    };
    match failure.code {
        ErrorCode::OperationInterrupted | ErrorCode::TooBig => ForeignDatabaseError::Beyond,
        ErrorCode::NotADatabase => ForeignDatabaseError::NotADatabase,
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            ForeignDatabaseError::Unreadable("check its permissions".to_owned())
        }
        ErrorCode::DiskFull => {
            ForeignDatabaseError::Unreadable("the disk of temporary files is full".to_owned())
        }
        ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory => {
            ForeignDatabaseError::Unreadable(failure.to_string())
        }
        _ => ForeignDatabaseError::Damaged,
    }
}

#[cfg(test)]
mod tests;
