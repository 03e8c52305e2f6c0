//! What is read of sessions beside their facts: summaries, bytes, found passages.

use std::sync::Arc;

use weir_core::ids::{BlobId, SessionId};
use weir_core::record::Record;
use weir_engine::ports::{LeaseOwner, Passage, SessionFilter, SessionMeta, StoreError};

use super::asks::read_record;
use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, limit_of, sql};
use crate::words::{SearchWords, text_around};

const SUMMARY: SqlText = sql!(
    "SELECT id, workspace, title, model, profile, status, created,
  updated, facts, parent FROM sessions WHERE id = $1 AND created IS NOT NULL"
);
const SUMMARIES: SqlText = sql!(
    "SELECT id, workspace, title, model, profile, status, created,
  updated, facts, parent FROM sessions
  WHERE created IS NOT NULL AND (CAST($1 AS text) IS NULL OR workspace = $1)
  ORDER BY updated DESC, id DESC LIMIT $2"
);
const SETTINGS: SqlText = sql!(
    "SELECT session, seq, ts, kind, CAST(v AS BIGINT), payload, hash FROM facts
  WHERE session = $1 AND kind IN ('session.opened', 'session.configured', 'profile.switched')
  ORDER BY seq DESC LIMIT 1"
);
const BLOB: SqlText = sql!("SELECT bytes FROM blobs WHERE id = $1");

/// The owner in the four columns from `first` on.
pub(crate) fn read_owner(
    row: &impl SqlRow,
    first: usize,
) -> Result<Option<LeaseOwner>, StoreError> {
    let Some(pid) = row.optional_integer(first)? else { return Ok(None) };
    Ok(Some(LeaseOwner {
        pid: u32::try_from(pid).unwrap_or(0),
        started: row.number(first + 1)?,
        host: row.text(first + 2)?,
        label: row.text(first + 3)?,
    }))
}

/// The summary in the first ten columns.
pub(crate) fn read_summary(row: &impl SqlRow) -> Result<SessionMeta, StoreError> {
    Ok(SessionMeta {
        id: SessionId::new(row.text(0)?),
        workspace: row.text(1)?,
        title: row.text(2)?,
        model: row.text(3)?,
        profile: row.text(4)?,
        status: row.text(5)?,
        created: row.timestamp(6)?,
        updated: row.timestamp(7)?,
        facts: row.number(8)?,
        parent: row.optional_text(9)?.map(SessionId::new),
    })
}

pub(crate) async fn find_settings_fact<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<Option<Record>, StoreError> {
    let statement = SqlStatement::new(SETTINGS).bind(session.as_str());
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.first().map(read_record).transpose()
}

pub(crate) async fn find_summary<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<Option<SessionMeta>, StoreError> {
    let statement = SqlStatement::new(SUMMARY).bind(session.as_str());
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.first().map(read_summary).transpose()
}

pub(crate) async fn list_summaries<C: SqlConnection>(
    connection: &mut C,
    filter: &SessionFilter,
) -> Result<Vec<SessionMeta>, StoreError> {
    let statement = SqlStatement::new(SUMMARIES)
        .bind(filter.workspace.as_deref())
        .bind(limit_of(filter.limit.unwrap_or(usize::MAX)));
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.iter().map(read_summary).collect()
}

pub(crate) async fn read_blob<C: SqlConnection>(
    connection: &mut C,
    id: &BlobId,
) -> Result<Arc<[u8]>, StoreError> {
    let statement = SqlStatement::new(BLOB).bind(id.as_str());
    match connection.fetch_rows(READING, statement).await?.first() {
        Some(row) => row.bytes(0),
        None => Err(StoreError::Missing { what: format!("blob {id}") }),
    }
}

/// The passage in the six columns of a row, cut to what is around the words; without them, whole.
pub(crate) fn read_passage(
    row: &impl SqlRow,
    words: Option<&SearchWords>,
) -> Result<Passage, StoreError> {
    let text = row.text(5)?;
    Ok(Passage {
        session: SessionId::new(row.text(0)?),
        seq: row.number(1)?,
        ts: row.timestamp(2)?,
        kind: row.text(3)?,
        subject: row.text(4)?,
        text: match words {
            Some(words) => text_around(&text, words),
            None => text,
        },
    })
}
