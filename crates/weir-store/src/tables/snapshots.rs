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
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(SessionSnapshot {
        session: session.clone(),
        seq: row.number(0)?,
        record_hash: row.text(1)?,
        format: row.text(2)?,
        digest: row.text(3)?,
        state: Arc::from(row.text(4)?),
    }))
}

pub(crate) async fn drop_snapshot<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(DROP).bind(session.as_str());
    connection.change_rows(DROPPING, statement).await.map(drop)
}
