//! The fold of a session that is kept beside its journal: how it is written, read and taken away. Not
//! here: whether it fits the journal (the engine).

use std::sync::Arc;

use weir_core::ids::SessionId;
use weir_core::record::SessionSnapshot;
use weir_engine::ports::StoreError;

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql};

pub(crate) const KEEPING: &str = "keeping the fold of a session";
pub(crate) const DROPPING: &str = "taking the fold of a session away";

// A session that was deleted meanwhile has no facts: nothing of it comes back. In PostgreSQL whoever
// deletes it holds its row, and is waited for.
const KEEP: SqlText = sql!("INSERT INTO snapshots (session, seq, record_hash, format, digest, state)
  SELECT $1, $2, $3, $4, $5, $6 FROM sessions WHERE id = $1 AND facts >= $2"
  (postgres " FOR SHARE")
  " ON CONFLICT (" owner "session) DO UPDATE SET seq = excluded.seq,
    record_hash = excluded.record_hash, format = excluded.format, digest = excluded.digest,
    state = excluded.state WHERE excluded.seq >= snapshots.seq");
const FIND: SqlText =
    sql!("SELECT seq, record_hash, format, digest, state FROM snapshots WHERE session = $1");
const KEEP_LOOK: SqlText = sql!("INSERT INTO looks (session, kind, seq, record_hash, format, digest,
    state)
  SELECT $1, $2, $3, $4, $5, $6, $7 FROM sessions WHERE id = $1 AND facts >= $3"
  (postgres " FOR SHARE")
  " ON CONFLICT (" owner "session, kind) DO UPDATE SET seq = excluded.seq,
    record_hash = excluded.record_hash, format = excluded.format, digest = excluded.digest,
    state = excluded.state WHERE excluded.seq >= looks.seq");
const FIND_LOOK: SqlText = sql!(
    "SELECT seq, record_hash, format, digest, state FROM looks WHERE session = $1 AND kind = $2"
);
const DROP: SqlText = sql!("DELETE FROM snapshots WHERE session = $1");

pub(crate) async fn keep_snapshot<C: SqlConnection>(
    connection: &mut C,
    snapshot: &SessionSnapshot,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(KEEP)
        .bind(snapshot.session.as_str())
        .bind(snapshot.seq.cast_signed())
        .bind(&snapshot.record_hash)
        .bind(&snapshot.format)
        .bind(&snapshot.digest)
        .bind(&*snapshot.state);
    connection.change_rows(KEEPING, statement).await.map(drop)
}

pub(crate) async fn find_snapshot<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<Option<SessionSnapshot>, StoreError> {
    let statement = SqlStatement::new(FIND).bind(session.as_str());
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.first().map(|row| read_snapshot(row, session)).transpose()
}

fn read_snapshot(row: &impl SqlRow, session: &SessionId) -> Result<SessionSnapshot, StoreError> {
    Ok(SessionSnapshot {
        session: session.clone(),
        seq: row.number(0)?,
        record_hash: row.text(1)?,
        format: row.text(2)?,
        digest: row.text(3)?,
        state: Arc::from(row.text(4)?),
    })
}

/// The same for what is looked at of a session, of which there are kinds.
pub(crate) async fn keep_look<C: SqlConnection>(
    connection: &mut C,
    kind: &str,
    look: &SessionSnapshot,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(KEEP_LOOK)
        .bind(look.session.as_str())
        .bind(kind)
        .bind(look.seq.cast_signed())
        .bind(&look.record_hash)
        .bind(&look.format)
        .bind(&look.digest)
        .bind(&*look.state);
    connection.change_rows(KEEPING, statement).await.map(drop)
}

pub(crate) async fn find_look<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
    kind: &str,
) -> Result<Option<SessionSnapshot>, StoreError> {
    let statement = SqlStatement::new(FIND_LOOK).bind(session.as_str()).bind(kind);
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.first().map(|row| read_snapshot(row, session)).transpose()
}

pub(crate) async fn drop_snapshot<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(DROP).bind(session.as_str());
    connection.change_rows(DROPPING, statement).await.map(drop)
}
