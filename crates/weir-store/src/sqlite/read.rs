//! Everything that is read: rows into values, and the connections that only read.

use std::sync::{Mutex, PoisonError};

use futures::executor::block_on;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Decode, Row, Sqlite, Type};
use tokio::sync::Semaphore;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::record::Record;
use weir_engine::ports::{AuditLine, LeaseOwner, SearchHit, StoreError};

use super::connect::DatabasePlace;
use super::error::database_error;
use super::statements;
use crate::audit::StoredLine;
use crate::follow::GONE;
use crate::sql::limit_of;
use crate::tables::sessions::read_owner;

/// Most connections that read at once.
const READERS: usize = 4;

/// Connections that only read, opened when they are first needed and kept.
pub(super) struct ReaderPool {
    place: DatabasePlace,
    idle: Mutex<Vec<SqliteConnection>>,
    permits: Semaphore,
}

impl ReaderPool {
    pub(super) fn new(place: DatabasePlace) -> ReaderPool {
        ReaderPool { place, idle: Mutex::new(Vec::new()), permits: Semaphore::new(READERS) }
    }

    /// Closes what is idle, so that the writer is the last and can tidy up the log.
    pub(super) fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in idle {
            if let Err(error) = block_on(sqlx::Connection::close(connection)) {
                tracing::debug!(%error, "a reading connection did not close cleanly");
            }
        }
    }

    /// Gives `work` a connection. One whose work was dropped half-way is not used again.
    pub(super) async fn with_connection<T>(
        &self,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let permit = self.permits.acquire().await.map_err(|e| StoreError::Io {
            doing: "waiting for a connection".to_string(),
            why: e.to_string(),
        })?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.place.connect_reader().await?,
        };
        let result = work(&mut connection).await;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        drop(permit);
        result
    }
}

pub(super) fn read_cell<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(
    row: &'r SqliteRow,
    column: usize,
) -> Result<T, StoreError> {
    row.try_get(column).map_err(|e| database_error("reading the database", &e))
}

pub(super) fn text_cell(row: &SqliteRow, column: usize) -> Result<String, StoreError> {
    read_cell(row, column)
}

pub(super) fn number_cell(row: &SqliteRow, column: usize) -> Result<u64, StoreError> {
    Ok(read_cell::<i64>(row, column)?.cast_unsigned())
}

/// Who took the lease of a session last and did not give it back.
pub(super) async fn lease_owner(
    connection: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Option<LeaseOwner>, StoreError> {
    let query = sqlx::query(statements::LEASE).bind(session.as_str());
    let rows = fetch_rows(connection, query).await?;
    rows.first().map_or(Ok(None), |row| read_owner(row, 1))
}

pub(super) async fn fetch_rows(
    connection: &mut SqliteConnection,
    query: sqlx::query::Query<'_, Sqlite, sqlx::sqlite::SqliteArguments>,
) -> Result<Vec<SqliteRow>, StoreError> {
    query.fetch_all(connection).await.map_err(|e| database_error("reading the database", &e))
}

/// Facts fetched at a time as one value: a row of its own for each costs three times as much.
const FACTS_AT_ONCE: usize = 128;

/// Facts one after the other: a line with the fields and the length of the payload, then the
/// payload. The number of facts that there must be comes from the same moment, because a damaged
/// page may end a table early without an error.
const FACTS: &str = "SELECT CAST(group_concat(fact, '') AS BLOB), count(*),
  COALESCE((SELECT facts FROM sessions WHERE id = $1), 0) FROM (
  SELECT seq || ' ' || ts || ' ' || v || ' ' || hash || ' ' || kind || ' '
    || length(CAST(payload AS BLOB)) || char(10) || payload AS fact
  FROM facts WHERE session = $1 AND seq >= $2 ORDER BY seq LIMIT $3)";

pub(super) async fn read_records(
    connection: &mut SqliteConnection,
    session: &SessionId,
    from: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let mut records: Vec<Record> = Vec::new();
    let first = from.max(1);
    while records.len() < limit {
        let next = first.saturating_add(records.len() as u64);
        let wanted = FACTS_AT_ONCE.min(limit - records.len());
        let query = sqlx::query(FACTS)
            .bind(session.as_str())
            .bind(i64::try_from(next).unwrap_or(i64::MAX))
            .bind(limit_of(wanted));
        let row = query.fetch_one(&mut *connection).await;
        let row = row.map_err(|e| database_error("reading a journal", &e))?;
        let (count, facts) = (number_cell(&row, 1)?, number_cell(&row, 2)?);
        let expected = (facts + 1).saturating_sub(next).min(wanted as u64);
        let damaged =
            |why: String| StoreError::Damaged { what: format!("the journal of {session}"), why };
        if count < expected {
            return Err(damaged(format!("fact {} of {facts} is missing", next + count)));
        }
        let before = records.len();
        if count > 0 && parse_facts(read_cell(&row, 0)?, session, &mut records).is_none() {
            return Err(damaged(format!("a fact from {next} on cannot be read")));
        }
        for (record, expected) in records[before..].iter().zip(next..) {
            if record.seq != expected {
                return Err(damaged(format!("fact {expected} of {facts} is missing")));
            }
        }
        if count < wanted as u64 {
            break;
        }
    }
    Ok(records)
}

fn parse_facts(mut bytes: &[u8], session: &SessionId, records: &mut Vec<Record>) -> Option<()> {
    while !bytes.is_empty() {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let mut fields = std::str::from_utf8(&bytes[..end]).ok()?.split(' ');
        let seq = fields.next()?.parse().ok()?;
        let ts = Timestamp(fields.next()?.parse().ok()?);
        let v = fields.next()?.parse().ok()?;
        let hash = fields.next()?.to_string();
        let kind = fields.next()?.to_string();
        let length: usize = fields.next()?.parse().ok()?;
        let payload = bytes.get(end + 1..end + 1 + length)?;
        let payload = std::str::from_utf8(payload).ok()?.to_string();
        records.push(Record { session: session.clone(), seq, ts, kind, v, payload, hash });
        bytes = &bytes[end + 1 + length..];
    }
    Some(())
}

/// How long journals are; one that was deleted is gone.
pub(super) async fn journal_lengths(
    connection: &mut SqliteConnection,
    sessions: &[SessionId],
) -> Result<Vec<(SessionId, u64)>, StoreError> {
    let ids: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
    let query = sqlx::query(
        "SELECT id.value, coalesce(s.facts, 0) FROM json_each($1) id
         LEFT JOIN sessions s ON s.id = id.value",
    );
    let rows =
        fetch_rows(connection, query.bind(serde_json::to_string(&ids).unwrap_or_default())).await?;
    let length = |row| {
        let facts = number_cell(row, 1)?;
        Ok((SessionId::new(text_cell(row, 0)?), if facts == 0 { GONE } else { facts }))
    };
    rows.iter().map(length).collect()
}

/// The words as a query of the index: every one must occur, none is an operator.
fn match_of(words: &str) -> Option<String> {
    let quoted: Vec<String> = words
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"").replace('\0', " ")))
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

pub(super) async fn search_passages(
    connection: &mut SqliteConnection,
    words: &str,
    limit: usize,
) -> Result<Vec<SearchHit>, StoreError> {
    let Some(words) = match_of(words) else { return Ok(Vec::new()) };
    let query = sqlx::query(
        "SELECT p.session, p.seq, snippet(passages_words, 0, '', '', '…', 24)
         FROM passages_words JOIN passages p ON p.id = passages_words.rowid
         WHERE passages_words MATCH $1 ORDER BY rank, p.id DESC LIMIT $2",
    );
    let rows = fetch_rows(connection, query.bind(words).bind(limit_of(limit))).await?;
    rows.iter()
        .map(|row| {
            Ok(SearchHit {
                session: SessionId::new(text_cell(row, 0)?),
                seq: number_cell(row, 1)?,
                snippet: text_cell(row, 2)?,
            })
        })
        .collect()
}

/// The last audit line known to stand in its file.
pub(super) async fn last_exported(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let query = sqlx::query("SELECT value FROM settings WHERE key = 'audit_exported'");
    match fetch_rows(connection, query).await?.first() {
        Some(row) => Ok(text_cell(row, 0)?.parse().unwrap_or(0)),
        None => Ok(0),
    }
}

pub(super) async fn audit_count(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let rows = fetch_rows(connection, sqlx::query("SELECT count(*) FROM audit")).await?;
    rows.first().map_or(Ok(0), |row| number_cell(row, 0))
}

/// Audit lines from number `from` to number `to`, at most `limit`.
pub(super) async fn audit_lines(
    connection: &mut SqliteConnection,
    from: u64,
    to: u64,
    limit: u64,
) -> Result<Vec<StoredLine>, StoreError> {
    let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let query = sqlx::query(statements::AUDIT_RANGE);
    let query = query.bind(bound(from)).bind(bound(to)).bind(bound(limit));
    let rows = fetch_rows(connection, query).await?;
    rows.iter().map(StoredLine::read_row).collect()
}

pub(super) async fn list_audit_lines(
    connection: &mut SqliteConnection,
    from: u64,
    limit: usize,
) -> Result<Vec<AuditLine>, StoreError> {
    let lines = audit_lines(connection, from, u64::MAX, limit as u64).await?;
    lines.iter().map(StoredLine::to_line).collect()
}
