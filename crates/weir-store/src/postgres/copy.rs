//! Everything of a database in one file and back (D9), and everything of one person taken away. No
//! program of PostgreSQL is needed for it.
//!
//! The file: a line of JSON that says what it is, then for each table a line of JSON with its name
//! and columns, its rows in PostgreSQL's text form, one a line, and a line `\.`; at the end a line
//! with the number of rows, so that half a file is never taken for a whole one.

use std::path::Path;

use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, BufWriter};
use weir_engine::ports::StoreError;

use super::PostgresStore;
use super::connect::{
    ASKS_FILL, ASKS_SCHEMA, DERIVED, DatabaseServer, INSTALLATION, OWNED, PostgresOptions,
    connect_server, schema_version,
};
use super::error::database_error;
use super::rows::{execute_statement, fetch_rows, read_cell, text_cell};
use crate::filesystem::{io_error, private_file};

const BACKING_UP: &str = "writing a backup of the PostgreSQL database";
const RESTORING: &str = "restoring a backup into the PostgreSQL database";
/// What the first line of a backup says.
const FORMAT: &str = "weir postgres backup";
/// Bytes that are sent at a time.
const PIECE_BYTES: usize = 256 * 1024;

#[derive(Serialize, Deserialize)]
struct BackupTitle {
    format: String,
    schema: usize,
}

#[derive(Serialize, Deserialize)]
struct TableHeader {
    table: String,
    columns: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct BackupEnd {
    rows: u64,
}

/// Tables that a copy has.
fn copied_tables() -> impl Iterator<Item = &'static str> {
    OWNED.iter().chain(INSTALLATION).copied().filter(|table| is_copied(table))
}

/// Who holds what is of this moment alone, and the folds of sessions are made again from their journals.
fn is_copied(table: &str) -> bool {
    table != "holders" && !DERIVED.contains(&table)
}

pub(super) async fn list_owners(server: &DatabaseServer) -> Result<Vec<String>, StoreError> {
    let doing = "listing who has anything in the database";
    let mut work = server.begin_for_house(doing).await?;
    owners_in(&mut work).await
}

async fn owners_in(work: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let query = sqlx::query("SELECT owner FROM owners ORDER BY owner COLLATE \"C\"");
    fetch_rows(work, query).await?.iter().map(|row| text_cell(row, 0)).collect()
}

/// Notes that `owner` has a store here.
pub(super) async fn note_owner(server: &DatabaseServer, owner: &str) -> Result<(), StoreError> {
    let doing = "opening the store of a person";
    let mut work = server.begin_for_house(doing).await?;
    let query = sqlx::query("INSERT INTO owners (owner) VALUES ($1) ON CONFLICT DO NOTHING");
    execute_statement(&mut work, doing, query.bind(owner)).await?;
    work.commit().await.map_err(|e| database_error(doing, &e))
}

pub(super) async fn remove(store: &PostgresStore) -> Result<u64, StoreError> {
    let doing = "removing everything of a person";
    let mut work = store.begin_among(doing).await?;
    let mut rows = 0;
    for table in OWNED {
        let query = sqlx::query(AssertSqlSafe(format!("DELETE FROM {table}")));
        rows += execute_statement(&mut work, doing, query).await?;
    }
    let query = sqlx::query("DELETE FROM owners WHERE owner = $1").bind(&*store.owner);
    execute_statement(&mut work, doing, query).await?;
    store.commit_work(doing, work).await?;
    Ok(rows)
}

pub(super) async fn write_backup(server: &DatabaseServer, path: &Path) -> Result<u64, StoreError> {
    if path.exists() {
        return Err(StoreError::Io {
            doing: format!("writing the backup {}", path.display()),
            why: "it exists already: choose another name or remove it".to_string(),
        });
    }
    private_file(path)?;
    let result = write_all(server, path).await;
    if result.is_err() {
        // Half a backup is worse than none; the error that counts is the first.
        let _ = std::fs::remove_file(path);
    }
    result
}

async fn write_all(server: &DatabaseServer, path: &Path) -> Result<u64, StoreError> {
    let lost = |e: &std::io::Error| io_error(format!("writing the backup {}", path.display()), e);
    let file = File::options().write(true).open(path).await.map_err(|e| lost(&e))?;
    let mut file = BufWriter::with_capacity(PIECE_BYTES, file);
    let mut connection = server.connect_alone().await?;
    // All tables as they are at one moment. A copy may take longer than a question.
    let begin = format!(
        "SET statement_timeout = 0; {}BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
         SET LOCAL weir.house = 'on'",
        if server.becomes { "SET ROLE weir_rows; " } else { "" }
    );
    let begun = sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut connection).await;
    begun.map_err(|e| database_error(BACKING_UP, &e))?;
    let title = BackupTitle { format: FORMAT.to_string(), schema: schema_version() };
    file.write_all(to_json_line(&title).as_bytes()).await.map_err(|e| lost(&e))?;
    let mut rows = 0;
    for table in INSTALLATION.iter().filter(|table| is_copied(table)) {
        rows += write_table(&mut connection, &mut file, table, &lost).await?;
    }
    // Each person's rows are read as they read them themselves.
    for owner in owners_in(&mut connection).await? {
        let query = sqlx::query("SELECT set_config('weir.owner', $1, true)").bind(owner);
        execute_statement(&mut connection, BACKING_UP, query).await?;
        for table in OWNED.iter().filter(|table| is_copied(table)) {
            rows += write_table(&mut connection, &mut file, table, &lost).await?;
        }
    }
    file.write_all(to_json_line(&BackupEnd { rows }).as_bytes()).await.map_err(|e| lost(&e))?;
    file.flush().await.map_err(|e| lost(&e))?;
    file.get_ref().sync_all().await.map_err(|e| lost(&e))?;
    let _ = connection.close().await;
    Ok(rows)
}

/// The rows of a table that this connection sees; how many.
async fn write_table(
    connection: &mut PgConnection,
    file: &mut BufWriter<File>,
    table: &str,
    lost: &(impl Fn(&std::io::Error) -> StoreError + Sync),
) -> Result<u64, StoreError> {
    let columns = columns_of(connection, table).await?;
    let listed = columns.join(", ");
    let head = TableHeader { table: table.to_string(), columns };
    file.write_all(to_json_line(&head).as_bytes()).await.map_err(|e| lost(&e))?;
    let sql = format!("COPY (SELECT {listed} FROM {table}) TO STDOUT");
    let copy = connection.copy_out_raw(&sql).await;
    let mut copy = copy.map_err(|e| database_error(BACKING_UP, &e))?;
    let mut rows = 0;
    while let Some(piece) = copy.try_next().await.map_err(|e| database_error(BACKING_UP, &e))? {
        // A row is one line: breaks within a text are written as two letters.
        rows += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        file.write_all(&piece).await.map_err(|e| lost(&e))?;
    }
    drop(copy);
    file.write_all(b"\\.\n").await.map_err(|e| lost(&e))?;
    Ok(rows)
}

fn to_json_line<T: Serialize>(value: &T) -> String {
    format!("{}\n", serde_json::to_string(value).unwrap_or_default())
}

/// Its columns, but for those that the database makes of the others.
async fn columns_of(connection: &mut PgConnection, table: &str) -> Result<Vec<String>, StoreError> {
    let query = sqlx::query(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0
         AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
    );
    let rows = fetch_rows(connection, query.bind(table.to_string())).await?;
    rows.iter().map(|row| read_cell(row, 0)).collect()
}

fn unreadable_backup(path: &Path, why: impl Into<String>) -> StoreError {
    StoreError::Io { doing: format!("reading the backup {}", path.display()), why: why.into() }
}

/// Lines of the file.
struct BackupLines<'p> {
    path: &'p Path,
    file: BufReader<File>,
    line: Vec<u8>,
}

impl BackupLines<'_> {
    /// The next line with its break.
    async fn next(&mut self) -> Result<&[u8], StoreError> {
        self.line.clear();
        let read = self.file.read_until(b'\n', &mut self.line).await;
        read.map_err(|e| unreadable_backup(self.path, e.to_string()))?;
        match self.line.last() {
            Some(b'\n') => Ok(&self.line),
            _ => Err(unreadable_backup(self.path, "it ends in the middle: take another backup")),
        }
    }
}

pub(super) async fn restore_backup(url: &str, path: &Path) -> Result<u64, StoreError> {
    let file = File::open(path).await.map_err(|e| unreadable_backup(path, e.to_string()))?;
    let file = BufReader::with_capacity(PIECE_BYTES, file);
    let mut lines = BackupLines { path, file, line: Vec::new() };
    let title: BackupTitle = match serde_json::from_slice(lines.next().await?) {
        Ok(BackupTitle { format, schema }) if format == FORMAT => BackupTitle { format, schema },
        _ => {
            return Err(unreadable_backup(
                path,
                "it is no backup of a PostgreSQL database by Weir",
            ));
        }
    };
    if title.schema > schema_version() {
        return Err(unreadable_backup(path, "it was written by a newer Weir: update Weir"));
    }
    let server = connect_server(url, &PostgresOptions::default()).await?;
    server.pool.close().await;
    server.aside.close().await;
    let mut connection = server.connect_alone().await?;
    let begun = sqlx::raw_sql("SET statement_timeout = 0").execute(&mut connection).await;
    begun.map_err(|e| database_error(RESTORING, &e))?;
    let mut work = connection.begin().await.map_err(|e| database_error(RESTORING, &e))?;
    let rows = read_all(&mut work, &mut lines).await?;
    if title.schema < ASKS_SCHEMA {
        let filled = sqlx::raw_sql(ASKS_FILL).execute(&mut *work).await;
        filled.map_err(|e| database_error(RESTORING, &e))?;
    }
    work.commit().await.map_err(|e| database_error(RESTORING, &e))?;
    Ok(rows)
}

async fn read_all(work: &mut PgConnection, lines: &mut BackupLines<'_>) -> Result<u64, StoreError> {
    let path = lines.path;
    // The rows of all people are written here: within this transaction the owner of the tables is
    // not bound.
    for table in copied_tables() {
        set_row_security(work, table, "NO FORCE").await?;
        let query = sqlx::query(AssertSqlSafe(format!("SELECT 1 FROM {table} LIMIT 1")));
        if !fetch_rows(work, query).await?.is_empty() {
            return Err(StoreError::Io {
                doing: RESTORING.to_string(),
                why: format!("the table {table} is not empty: name a new database"),
            });
        }
    }
    let mut rows = 0;
    loop {
        let line = lines.next().await?;
        if let Ok(end) = serde_json::from_slice::<BackupEnd>(line) {
            if end.rows == rows {
                break;
            }
            return Err(unreadable_backup(path, "rows are missing: take another backup"));
        }
        let head: TableHeader = serde_json::from_slice(line)
            .map_err(|_| unreadable_backup(path, "a table begins where none can: it is damaged"))?;
        rows += read_table(work, lines, &head).await?;
    }
    for table in copied_tables() {
        set_row_security(work, table, "FORCE").await?;
    }
    for table in ["passages", "mail", "agent_runs"] {
        let query = sqlx::query(AssertSqlSafe(format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'id'),
               (SELECT coalesce(max(id), 0) + 1 FROM {table}), false)"
        )));
        execute_statement(work, RESTORING, query).await?;
    }
    Ok(rows)
}

async fn set_row_security(
    work: &mut PgConnection,
    table: &str,
    how: &str,
) -> Result<(), StoreError> {
    let sql = format!("ALTER TABLE {table} {how} ROW LEVEL SECURITY");
    execute_statement(work, RESTORING, sqlx::query(AssertSqlSafe(sql))).await.map(drop)
}

async fn read_table(
    work: &mut PgConnection,
    lines: &mut BackupLines<'_>,
    head: &TableHeader,
) -> Result<u64, StoreError> {
    let known = columns_of(work, &head.table).await?;
    if !copied_tables().any(|table| table == head.table)
        || !head.columns.iter().all(|column| known.contains(column))
    {
        return Err(unreadable_backup(
            lines.path,
            "it names a table or column that is not known here",
        ));
    }
    let sql = format!("COPY {} ({}) FROM STDIN", head.table, head.columns.join(", "));
    let mut copy = work.copy_in_raw(&sql).await.map_err(|e| database_error(RESTORING, &e))?;
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    loop {
        let line = lines.next().await?;
        if line == b"\\.\n" {
            break;
        }
        piece.extend_from_slice(line);
        if piece.len() >= PIECE_BYTES {
            copy.send(piece.as_slice()).await.map_err(|e| database_error(RESTORING, &e))?;
            piece.clear();
        }
    }
    copy.send(piece.as_slice()).await.map_err(|e| database_error(RESTORING, &e))?;
    copy.finish().await.map_err(|e| database_error(RESTORING, &e))
}
