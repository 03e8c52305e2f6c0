//! One connection of SQLite with its prepared statements, and its rows, as `tables` and this store
//! use them. What is asked of it is done when the call returns: the futures of [`SqlConnection`] are
//! ready at once. Not here: how a database is opened (`connect`), and who has which connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, Params, Row};
use weir_engine::ports::StoreError;

use super::error::database_error;
use crate::sql::{SqlConnection, SqlRow, SqlStatement, SqlValue};

/// Prepared statements that are kept: about as many as there are texts.
const STATEMENTS: usize = 96;
/// Steps of a statement after which it is looked whether anybody still waits for it: a fraction of a
/// millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// A database may be from elsewhere, as in a backup that somebody gave: what its schema brings along
/// (triggers, views, functions in it) does not run, and no statement writes into it past SQLite.
pub(crate) const SCHEMA_SETTINGS: [(DbConfig, bool); 5] = [
    (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
];

/// A path that SQLite takes for nothing else: as it is built here, a name that begins with `file:` is an
/// address to it.
pub(super) fn plain_path(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

/// A connection to a SQLite database.
pub(crate) struct SqliteConnection {
    inner: Connection,
    /// A change was refused, perhaps after it was written to the log: whoever reads the log anew may
    /// find it there.
    pub(crate) has_refused: bool,
}

impl SqliteConnection {
    /// Opens a file that exists. Where another program is in the way, a statement waits for so long.
    pub(crate) fn open(database: &Path, wait: Duration) -> rusqlite::Result<SqliteConnection> {
        // It is not made where there is none.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let inner = Connection::open_with_flags(plain_path(database), flags)?;
        inner.busy_timeout(wait)?;
        for (setting, value) in SCHEMA_SETTINGS {
            inner.set_db_config(setting, value)?;
        }
        inner.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(SqliteConnection { inner, has_refused: false })
    }

    /// Runs statements that stand in one text and need no values. They are not kept.
    pub(crate) fn run_batch(&mut self, sql: &str) -> rusqlite::Result<()> {
        self.inner.execute_batch(sql)
    }

    /// A number in the one row that a statement gives. It is not kept.
    pub(crate) fn read_number(&mut self, sql: &str, column: usize) -> rusqlite::Result<i64> {
        self.inner.query_row(sql, [], |row| row.get(column))
    }

    /// Runs a statement that gives no rows; how many it touched.
    pub(crate) fn run_statement(
        &mut self,
        doing: &str,
        sql: &'static str,
        values: impl Params,
    ) -> Result<u64, StoreError> {
        let done = self.prepare_kept(sql).and_then(|mut statement| statement.execute(values));
        self.has_refused |= done.is_err();
        done.map(|rows| rows as u64).map_err(|error| database_error(doing, &error))
    }

    /// Runs a statement and gives each of its rows to `each`.
    pub(crate) fn visit_rows(
        &mut self,
        doing: &str,
        sql: &'static str,
        values: impl Params,
        mut each: impl FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: rusqlite::Error| database_error(doing, &error);
        let mut statement = self.prepare_kept(sql).map_err(failed)?;
        let mut rows = statement.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(row)?;
        }
        Ok(())
    }

    /// The rows that a statement gives.
    pub(crate) fn read_rows(
        &mut self,
        doing: &str,
        sql: &'static str,
        values: impl Params,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let mut found = Vec::new();
        self.visit_rows(doing, sql, values, |row| {
            found.push(SqliteRow::copy_cells(row).map_err(|error| database_error(doing, &error))?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Begins a transaction that will write: it has its turn before it looks at anything.
    pub(crate) fn begin_writing(&mut self, doing: &str) -> Result<(), StoreError> {
        // One that could not be taken back is taken back now: no other begins within it.
        self.roll_back();
        self.run_statement(doing, "BEGIN IMMEDIATE", []).map(drop)
    }

    /// Ends a transaction: everything in it is durable, or an error says why not.
    pub(crate) fn commit_changes(&mut self, doing: &str) -> Result<(), StoreError> {
        self.run_statement(doing, "COMMIT", []).map(drop)
    }

    /// Takes back what a transaction did. After some errors SQLite has done so already.
    pub(crate) fn roll_back(&mut self) {
        if !self.inner.is_autocommit()
            && let Err(error) = self.run_statement("taking back a change", "ROLLBACK", [])
        {
            tracing::debug!(%error, "a transaction was not rolled back");
        }
    }

    /// Does all of `work` or nothing of it, alone among those who write.
    pub(crate) fn in_transaction<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.begin_writing(doing)?;
        self.end_transaction(doing, work)
    }

    /// Shows `work` the database as it is at one moment.
    pub(crate) fn at_one_moment<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.roll_back();
        self.run_statement(doing, "BEGIN", [])?;
        self.end_transaction(doing, work)
    }

    fn end_transaction<T>(
        &mut self,
        doing: &str,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = work(self).and_then(|value| self.commit_changes(doing).map(|()| value));
        if result.is_err() {
            self.roll_back();
        }
        result
    }

    /// Whether closing the last connection leaves the write-ahead log beside the database, for the
    /// next program to go on with, instead of copying it back and removing it.
    pub(crate) fn keep_write_ahead_log(&mut self, keep: bool) -> rusqlite::Result<()> {
        self.inner.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(drop)
    }

    /// Ends every statement from now on with an error as soon as `given_up` is set, until the job has
    /// ended. Asked for by the statement itself, since an interrupt from outside goes to whatever runs
    /// just then, and would end what comes next, or the copying back of the log when it is closed.
    pub(crate) fn stop_when(&mut self, given_up: Arc<AtomicBool>) -> rusqlite::Result<()> {
        let handler = move || given_up.load(Ordering::Relaxed);
        self.inner.progress_handler(STEPS_BETWEEN_LOOKS, Some(handler))
    }

    /// Makes it ready for other work, however the job before it ended: nobody's wish ends it, and it is
    /// within no transaction.
    pub(crate) fn end_job(&mut self) {
        if let Err(error) = self.inner.progress_handler(0, None::<fn() -> bool>) {
            tracing::debug!(%error, "a connection still heeds a former wish");
        }
        self.roll_back();
    }

    /// Gives back the pages that it keeps and does not need just now: they are read again when they are.
    pub(crate) fn give_back_pages(&mut self) -> rusqlite::Result<()> {
        self.inner.release_memory()
    }

    /// Closes it, and says when that did not succeed.
    pub(crate) fn close(self) -> rusqlite::Result<()> {
        self.inner.close().map_err(|(_, error)| error)
    }

    fn prepare_kept(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.inner.prepare_cached(sql)
    }

    /// The statement of SQLite with its values in their places.
    fn prepare_bound(&self, statement: &SqlStatement) -> rusqlite::Result<CachedStatement<'_>> {
        let mut prepared = self.prepare_kept(statement.text.sqlite)?;
        for place in 1..=prepared.parameter_count() {
            // `$2` is a name to SQLite: its place is where the text has it first.
            let number =
                prepared.parameter_name(place).and_then(|name| name.get(1..)?.parse().ok());
            let value =
                number.and_then(|number: usize| statement.values.get(number.checked_sub(1)?));
            match value {
                Some(SqlValue::Text(text) | SqlValue::PostgresText(text)) => {
                    prepared.raw_bind_parameter(place, text)?;
                }
                Some(SqlValue::Integer(number)) => prepared.raw_bind_parameter(place, number)?,
                None => {
                    return Err(rusqlite::Error::InvalidParameterCount(place, number.unwrap_or(0)));
                }
            }
        }
        Ok(prepared)
    }

    fn fetch_all(&self, statement: &SqlStatement) -> rusqlite::Result<Vec<SqliteRow>> {
        let mut prepared = self.prepare_bound(statement)?;
        let mut rows = prepared.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(SqliteRow::copy_cells(row)?);
        }
        Ok(found)
    }
}

/// A row that was read.
pub(crate) struct SqliteRow(Vec<Value>);

impl SqliteRow {
    fn copy_cells(row: &Row<'_>) -> rusqlite::Result<SqliteRow> {
        let columns = row.as_ref().column_count();
        (0..columns).map(|column| row.get(column)).collect::<rusqlite::Result<_>>().map(SqliteRow)
    }

    pub(crate) fn read_cell<T: FromSql>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.0.get(column).map_or(ValueRef::Null, ValueRef::from);
        T::column_result(value).map_err(|error| StoreError::Damaged {
            what: "the store's database".to_string(),
            why: format!("column {column} of a row cannot be read: {error}"),
        })
    }
}

impl SqlRow for SqliteRow {
    fn text(&self, column: usize) -> Result<String, StoreError> {
        self.read_cell(column)
    }

    fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        self.read_cell(column)
    }

    fn integer(&self, column: usize) -> Result<i64, StoreError> {
        self.read_cell(column)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        self.read_cell(column)
    }

    fn boolean(&self, column: usize) -> Result<bool, StoreError> {
        self.read_cell(column)
    }

    fn real(&self, column: usize) -> Result<f64, StoreError> {
        self.read_cell(column)
    }

    fn bytes(&self, column: usize) -> Result<Arc<[u8]>, StoreError> {
        self.read_cell(column)
    }
}

impl SqlConnection for SqliteConnection {
    type Row = SqliteRow;
    type AppendError = StoreError;

    async fn fetch_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        self.fetch_all(&statement).map_err(|error| database_error(doing, &error))
    }

    async fn change_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<u64, StoreError> {
        let done = self.prepare_bound(&statement).and_then(|mut prepared| prepared.raw_execute());
        self.has_refused |= done.is_err();
        done.map(|rows| rows as u64).map_err(|error| database_error(doing, &error))
    }

    async fn append_rows(
        &mut self,
        doing: &'static str,
        statement: SqlStatement,
    ) -> Result<(), StoreError> {
        self.change_rows(doing, statement).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d9_a_path_is_never_read_as_an_address() {
        let opened = SqliteConnection::open(Path::new("file:weir.db?mode=memory"), Duration::ZERO);
        assert!(opened.is_err(), "there is no file of that name");
        assert_eq!(plain_path(Path::new("/a/weir.db")), Path::new("/a/weir.db"));
    }
}
