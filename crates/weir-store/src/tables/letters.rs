//! Letters to sessions: how they are written outside an append, and read. What a letter does is the
//! engine's affair.

use weir_core::ids::SessionId;
use weir_engine::ports::{RemoteCommand, StoreError};

use crate::journal::check_box;
use crate::sql::{
    READING, SqlConnection, SqlRow, SqlStatement, SqlText, fetch_number, sql, to_json,
};

pub(crate) const POSTING: &str = "leaving a letter";
const DISCARDING: &str = "taking a letter away";

const COUNT: SqlText = sql!("SELECT count(*) FROM mail WHERE session = $1");
const POST: SqlText =
    sql!("INSERT INTO mail (session, sender, ts, letter) VALUES ($1, $2, $3, $4) RETURNING id");
const LIST: SqlText =
    sql!("SELECT id, sender, ts, letter FROM mail WHERE session = $1 ORDER BY id");
const DISCARD: SqlText = sql!("DELETE FROM mail WHERE id = $1");

/// Leaves a letter; its number. Within a transaction.
pub(crate) async fn post_letter<C: SqlConnection>(
    connection: &mut C,
    letter: &RemoteCommand,
) -> Result<u64, StoreError> {
    let session = letter.session.as_str();
    let waiting = fetch_number(connection, POSTING, SqlStatement::new(COUNT).bind(session)).await?;
    check_box(&letter.session, usize::try_from(waiting).unwrap_or(usize::MAX))?;
    let statement = SqlStatement::new(POST)
        .bind(session)
        .bind(&letter.by)
        .bind(letter.ts)
        .bind(to_json(POSTING, &letter.command)?);
    fetch_number(connection, POSTING, statement).await
}

/// Takes a letter away; whether it lay there.
pub(crate) async fn discard_letter<C: SqlConnection>(
    connection: &mut C,
    id: u64,
) -> Result<bool, StoreError> {
    let statement = SqlStatement::new(DISCARD).bind(id.cast_signed());
    Ok(connection.change_rows(DISCARDING, statement).await? > 0)
}

pub(crate) async fn list_letters<C: SqlConnection>(
    connection: &mut C,
    session: &SessionId,
) -> Result<Vec<RemoteCommand>, StoreError> {
    let statement = SqlStatement::new(LIST).bind(session.as_str());
    let rows = connection.fetch_rows(READING, statement).await?;
    let mut letters = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = row.number(0)?;
        match serde_json::from_str(&row.text(3)?) {
            Ok(command) => letters.push(RemoteCommand {
                id,
                session: session.clone(),
                by: row.text(1)?,
                ts: row.timestamp(2)?,
                command,
            }),
            // A newer Weir may have posted what this one does not know. It answers nothing here,
            // and a session must not end for want of it.
            Err(error) => tracing::debug!(id, %error, "a letter cannot be read"),
        }
    }
    Ok(letters)
}
