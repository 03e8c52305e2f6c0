//! Everything that is read and that SQLite has alone: rows into values. Not here: who reads with
//! which connection (`connection_threads`, and the store itself), and what both databases read alike
//! (`tables`).

use rusqlite::params;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::record::Record;
use weir_engine::ports::{AuditLine, LeaseOwner, SearchHit, StoreError};

use super::connection::SqliteConnection;
use super::statements;
use crate::audit::StoredLine;
use crate::follow::GONE;
use crate::sql::{READING, SqlRow, limit_of};
use crate::tables::sessions::read_owner;

/// Who took the lease of a session last and did not give it back.
pub(super) fn lease_owner(
    connection: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Option<LeaseOwner>, StoreError> {
    let rows = connection.read_rows(READING, statements::LEASE, [session.as_str()])?;
    rows.first().map_or(Ok(None), |row| read_owner(row, 1))
}

const READING_JOURNAL: &str = "reading a journal";
const LENGTH: &str = "SELECT facts FROM sessions WHERE id = ?1";
const FACTS: &str = "SELECT seq, ts, v, hash, kind, payload FROM facts
  WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";

/// At most `limit` facts from number `from` on. How many there must be comes from the same moment,
/// because a damaged page may end a table early without an error.
pub(super) fn read_records(
    connection: &mut SqliteConnection,
    session: &SessionId,
    from: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    connection.at_one_moment(READING_JOURNAL, |connection| {
        let length = connection.read_rows(READING_JOURNAL, LENGTH, [session.as_str()])?;
        let facts = length.first().map_or(Ok(0), |row| row.number(0))?;
        let damaged =
            |why: String| StoreError::Damaged { what: format!("the journal of {session}"), why };
        let first = from.max(1);
        let mut records: Vec<Record> = Vec::new();
        let from = i64::try_from(first).unwrap_or(i64::MAX);
        let values = params![session.as_str(), from, limit_of(limit)];
        connection.visit_rows(READING_JOURNAL, FACTS, values, |row| {
            let expected = first + records.len() as u64;
            let record = read_fact(row, session)
                .map_err(|error| damaged(format!("fact {expected} cannot be read: {error}")))?;
            if record.seq != expected {
                return Err(damaged(format!("fact {expected} of {facts} is missing")));
            }
            records.push(record);
            Ok(())
        })?;
        let read = records.len() as u64;
        if read < facts.saturating_add(1).saturating_sub(first).min(limit as u64) {
            return Err(damaged(format!("fact {} of {facts} is missing", first + read)));
        }
        Ok(records)
    })
}

fn read_fact(row: &rusqlite::Row<'_>, session: &SessionId) -> rusqlite::Result<Record> {
    Ok(Record {
        session: session.clone(),
        seq: row.get::<_, i64>(0)?.cast_unsigned(),
        ts: Timestamp(row.get(1)?),
        v: row.get(2)?,
        hash: row.get(3)?,
        kind: row.get(4)?,
        payload: row.get(5)?,
    })
}

/// How long journals are; one that was deleted is gone.
pub(super) fn journal_lengths(
    connection: &mut SqliteConnection,
    sessions: &[SessionId],
) -> Result<Vec<(SessionId, u64)>, StoreError> {
    connection.at_one_moment(READING, |connection| {
        let length = |session: &SessionId| {
            let rows = connection.read_rows(READING, LENGTH, [session.as_str()])?;
            let facts = rows.first().map_or(Ok(0), |row| row.number(0))?;
            Ok((session.clone(), if facts == 0 { GONE } else { facts }))
        };
        sessions.iter().map(length).collect()
    })
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

const SEARCH: &str = "SELECT p.session, p.seq, snippet(passages_words, 0, '', '', '…', 24)
  FROM passages_words JOIN passages p ON p.id = passages_words.rowid
  WHERE passages_words MATCH ?1 ORDER BY rank, p.id DESC LIMIT ?2";

pub(super) fn search_passages(
    connection: &mut SqliteConnection,
    words: &str,
    limit: usize,
) -> Result<Vec<SearchHit>, StoreError> {
    let Some(words) = match_of(words) else { return Ok(Vec::new()) };
    let rows = connection.read_rows(READING, SEARCH, params![words, limit_of(limit)])?;
    rows.iter()
        .map(|row| {
            Ok(SearchHit {
                session: SessionId::new(row.text(0)?),
                seq: row.number(1)?,
                snippet: row.text(2)?,
            })
        })
        .collect()
}

/// The last audit line known to stand in its file.
pub(super) fn last_exported(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    match connection.read_rows(READING, statements::EXPORTED, [])?.first() {
        Some(row) => Ok(row.text(0)?.parse().unwrap_or(0)),
        None => Ok(0),
    }
}

pub(super) fn audit_count(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let rows = connection.read_rows(READING, "SELECT count(*) FROM audit", [])?;
    rows.first().map_or(Ok(0), |row| row.number(0))
}

/// Audit lines from number `from` to number `to`, at most `limit`.
pub(super) fn audit_lines(
    connection: &mut SqliteConnection,
    from: u64,
    to: u64,
    limit: u64,
) -> Result<Vec<StoredLine>, StoreError> {
    let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let values = params![bound(from), bound(to), bound(limit)];
    let rows = connection.read_rows(READING, statements::AUDIT_RANGE, values)?;
    rows.iter().map(StoredLine::read_row).collect()
}

pub(super) fn list_audit_lines(
    connection: &mut SqliteConnection,
    from: u64,
    limit: usize,
) -> Result<Vec<AuditLine>, StoreError> {
    let lines = audit_lines(connection, from, u64::MAX, limit as u64)?;
    lines.iter().map(StoredLine::to_line).collect()
}

/// Reads the whole database and says whether it holds together.
pub(super) fn check_integrity(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let rows = connection.read_rows("checking the database", "PRAGMA quick_check(1)", [])?;
    match rows.first().map_or(Ok(String::new()), |row| row.text(0))?.as_str() {
        "ok" => Ok(()),
        fault => Err(StoreError::Damaged {
            what: "the store's database".to_string(),
            why: format!("{fault}: restore it from a backup"),
        }),
    }
}
