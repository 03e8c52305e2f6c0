//! What waits for a person, and the last run that ended in each session: how the places of their
//! facts are written and read. Not here: what the facts mean.

use weir_core::ids::{SessionId, Timestamp};
use weir_core::record::Record;
use weir_engine::ports::{Append, StoreError};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql, to_json};

const WRITING: &str = "writing the journal";

const CLOSE: SqlText = sql!("DELETE FROM asks WHERE session = $1 AND name NOT IN (SELECT "
  (sqlite "value FROM json_each($2)") (postgres "jsonb_array_elements_text(CAST($2 AS jsonb))") ")");
const ASK: SqlText = sql!("INSERT INTO asks (session, name, seq) VALUES ($1, $2, $3)
  ON CONFLICT (" owner "session, name) DO UPDATE SET seq = excluded.seq");
const END: SqlText = sql!("INSERT INTO ended_runs (session, seq, ts) VALUES ($1, $2, $3)
  ON CONFLICT (" owner "session) DO UPDATE SET seq = excluded.seq, ts = excluded.ts");
const OPEN: SqlText = sql!(
    "SELECT f.session, f.seq, f.ts, f.kind, CAST(f.v AS BIGINT), f.payload, f.hash
  FROM asks a JOIN facts f ON f.session = a.session AND f.seq = a.seq
  ORDER BY f.ts, f.session" bytewise ", f.seq"
);
const ENDED: SqlText = sql!(
    "SELECT f.session, f.seq, f.ts, f.kind, CAST(f.v AS BIGINT), f.payload, f.hash
  FROM ended_runs e JOIN facts f ON f.session = e.session AND f.seq = e.seq
  WHERE e.ts >= $1 ORDER BY e.ts, f.session" bytewise ", f.seq"
);

// In SQLite the index is named: only it leaves the rest of the journal unread.
const OF_SESSION: SqlText = sql!(
    "SELECT f.session, f.seq, f.ts, f.kind, CAST(f.v AS BIGINT), f.payload, f.hash
  FROM facts f " (sqlite "INDEXED BY facts_of_asks ") "WHERE f.session = $1
    AND f.kind IN ('approval.requested', 'approval.resolved', 'question.asked', 'question.answered',
      'agent.asked', 'agent.answered', 'lease.revoked')
  ORDER BY f.seq"
);

/// What an append changes about what waits. Within the append.
pub(crate) async fn write_asks<C: SqlConnection>(
    connection: &mut C,
    append: &Append,
) -> Result<(), C::AppendError> {
    let (session, changes) = (append.lease.session.as_str(), &append.asks);
    if let Some(open) = &changes.open {
        let names = to_json(WRITING, open)?;
        let statement = SqlStatement::new(CLOSE).bind(session).bind(names);
        connection.append_rows(WRITING, statement).await?;
    }
    for place in &changes.asked {
        let statement = SqlStatement::new(ASK).bind(session).bind(&place.name);
        connection.append_rows(WRITING, statement.bind(place.seq.cast_signed())).await?;
    }
    if let Some(end) = &changes.run_ended {
        let statement = SqlStatement::new(END).bind(session).bind(end.seq.cast_signed());
        connection.append_rows(WRITING, statement.bind(end.ts)).await?;
    }
    Ok(())
}

pub(crate) async fn list_open<C: SqlConnection>(
    connection: &mut C,
) -> Result<Vec<Record>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(OPEN)).await?;
    rows.iter().map(read_record).collect()
}

pub(crate) async fn list_ended<C: SqlConnection>(
    connection: &mut C,
    since: Timestamp,
) -> Result<Vec<Record>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(ENDED).bind(since)).await?;
    rows.iter().map(read_record).collect()
}

/// The facts of a session of the kinds in [`weir_engine::ports::ASK_KINDS`], in their order.
pub(crate) async fn list_of_session<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<Vec<Record>, StoreError> {
    let statement = SqlStatement::new(OF_SESSION).bind(session.as_str());
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.iter().map(read_record).collect()
}

pub(crate) fn read_record(row: &impl SqlRow) -> Result<Record, StoreError> {
    Ok(Record {
        session: SessionId::new(row.text(0)?),
        seq: row.number(1)?,
        ts: row.timestamp(2)?,
        kind: row.text(3)?,
        v: u16::try_from(row.integer(4)?).unwrap_or(0),
        payload: row.text(5)?,
        hash: row.text(6)?,
    })
}

#[cfg(test)]
mod tests {
    use weir_engine::ports::ASK_KINDS;

    use super::*;

    #[test]
    fn q10_the_statement_and_its_index_name_the_kinds_that_ask_and_answer() {
        let indexes = [
            include_str!("../../migrations/sqlite/0010_facts_of_asks.sql"),
            include_str!("../../migrations/postgres/0005_facts_of_asks.sql"),
        ];
        for text in [OF_SESSION.sqlite, OF_SESSION.postgres, indexes[0], indexes[1]] {
            let named: Vec<&str> = text.split('\'').skip(1).step_by(2).collect();
            assert_eq!(named, ASK_KINDS, "{text}");
        }
    }
}
