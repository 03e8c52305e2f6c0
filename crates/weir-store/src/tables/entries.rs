//! What a server keeps beside sessions: how it is written and read.

use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, StoreError};

use crate::sql::{SqlConnection, SqlRow, SqlStatement, SqlText, sql};

pub(crate) const READING: &str = "reading the server's database";
pub(crate) const WRITING: &str = "writing the server's database";

const LIVING: SqlText = sql!("SELECT kind, name, owner, text, version, expires, ts FROM entries
  WHERE kind = $1 AND (CAST($2 AS text) IS NULL OR name = $2)
  AND (CAST($3 AS text) IS NULL OR owner = $3)
  AND (expires IS NULL OR expires > $4) ORDER BY name" bytewise);
const VERSION: SqlText = sql!("SELECT version, expires IS NULL OR expires > $3 FROM entries
  WHERE kind = $1 AND name = $2" (postgres " FOR UPDATE"));
const PUT: SqlText = sql!(
    "INSERT INTO entries (kind, name, owner, text, version, expires, ts)
  VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, name) DO UPDATE SET
  owner = excluded.owner, text = excluded.text, version = excluded.version,
  expires = excluded.expires, ts = excluded.ts"
);
const REMOVE: SqlText = sql!("DELETE FROM entries WHERE kind = $1 AND name = $2");
const REMOVE_OWNED: SqlText = sql!("DELETE FROM entries WHERE owner = $1");
const PURGE: SqlText = sql!("DELETE FROM entries WHERE expires <= $1");

/// Finds an entry that lives.
pub(crate) fn find_named(kind: &str, name: &str, now: Timestamp) -> SqlStatement {
    SqlStatement::new(LIVING).bind(kind).bind(name).bind(None::<&str>).bind(now)
}

/// Finds the entries that live, of everybody or of one owner.
pub(crate) fn find_owned(kind: &str, owner: Option<&str>, now: Timestamp) -> SqlStatement {
    SqlStatement::new(LIVING).bind(kind).bind(None::<&str>).bind(owner).bind(now)
}

pub(crate) fn remove_named(kind: &str, name: &str) -> SqlStatement {
    SqlStatement::new(REMOVE).bind(kind).bind(name)
}

pub(crate) fn remove_owned(owner: &str) -> SqlStatement {
    SqlStatement::new(REMOVE_OWNED).bind(owner)
}

/// Removes what is over.
pub(crate) fn purge_expired(now: Timestamp) -> SqlStatement {
    SqlStatement::new(PURGE).bind(now)
}

pub(crate) fn read_entry(row: &impl SqlRow) -> Result<RecordEntry, StoreError> {
    Ok(RecordEntry {
        kind: row.text(0)?,
        name: row.text(1)?,
        owner: row.text(2)?,
        text: row.text(3)?,
        version: row.number(4)?,
        expires: row.optional_timestamp(5)?,
        ts: row.timestamp(6)?,
    })
}

/// Puts an entry, if the one that is there is the `expected` one. Within a transaction that nobody
/// else puts this entry in.
pub(crate) async fn put_entry<C: SqlConnection>(
    connection: &mut C,
    entry: &RecordEntry,
    expected: Option<u64>,
) -> Result<PutOutcome, StoreError> {
    let statement = SqlStatement::new(VERSION).bind(&entry.kind).bind(&entry.name).bind(entry.ts);
    let (mut version, mut seen) = (0, 0);
    if let Some(row) = connection.fetch_rows(WRITING, statement).await?.first() {
        version = row.number(0)?;
        seen = if row.boolean(1)? { version } else { 0 };
    }
    if expected.is_some_and(|expected| expected != seen) {
        return Ok(PutOutcome::Changed(seen));
    }
    let statement = SqlStatement::new(PUT)
        .bind(&entry.kind)
        .bind(&entry.name)
        .bind(&entry.owner)
        .bind(&entry.text)
        .bind((version + 1).cast_signed())
        .bind(entry.expires)
        .bind(entry.ts);
    connection.change_rows(WRITING, statement).await?;
    Ok(PutOutcome::Kept(version + 1))
}
