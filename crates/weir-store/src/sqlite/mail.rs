//! Letters to sessions, and marks of files: how they are written outside an append, and read.
//!
//! What a letter does is the engine's affair; marks that come with facts are written in `append`.

use futures::executor::block_on;
use sqlx::sqlite::SqliteConnection;
use weir_core::ids::{SessionId, Timestamp};
use weir_engine::ports::{FileMark, Letter, StoreError};

use super::error::failed;
use super::read::{all, cell, number, text};
use super::writer::Writer;
use crate::journal::check_box;

impl Writer {
    pub(super) fn post(&mut self, letter: &Letter) -> Result<u64, StoreError> {
        let doing = "leaving a letter";
        let command = serde_json::to_string(&letter.command)
            .map_err(|e| StoreError::Io { doing: doing.to_string(), why: e.to_string() })?;
        self.in_transaction(doing, |me| {
            let query = sqlx::query("SELECT count(*) FROM mail WHERE session = $1");
            let row = query.bind(letter.session.as_str()).fetch_one(&mut me.connection);
            let waiting = number(&block_on(row).map_err(|e| failed(doing, &e))?, 0)?;
            check_box(&letter.session, usize::try_from(waiting).unwrap_or(usize::MAX))?;
            let query = sqlx::query(
                "INSERT INTO mail (session, sender, ts, letter) VALUES ($1, $2, $3, $4)
                 RETURNING id",
            );
            let query = query
                .bind(letter.session.as_str())
                .bind(letter.by.as_str())
                .bind(letter.ts.micros())
                .bind(command.as_str());
            let row = block_on(query.fetch_one(&mut me.connection));
            number(&row.map_err(|e| failed(doing, &e))?, 0)
        })
    }

    pub(super) fn discard(&mut self, id: u64) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM mail WHERE id = $1").bind(id.cast_signed());
        let done = block_on(query.execute(&mut self.connection));
        let done = done.map_err(|e| failed("taking a letter away", &e))?;
        Ok(done.rows_affected() > 0)
    }

    pub(super) fn unmark(&mut self, workspace: &str, path: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM marks WHERE workspace = $1 AND path = $2")
            .bind(workspace)
            .bind(path);
        let done = block_on(query.execute(&mut self.connection));
        let done = done.map_err(|e| failed("taking the mark of a file away", &e))?;
        Ok(done.rows_affected() > 0)
    }
}

pub(super) async fn waiting(
    connection: &mut SqliteConnection,
    session: &SessionId,
) -> Result<Vec<Letter>, StoreError> {
    let query =
        sqlx::query("SELECT id, sender, ts, letter FROM mail WHERE session = $1 ORDER BY id");
    let rows = all(connection, query.bind(session.as_str())).await?;
    let mut letters = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = number(row, 0)?;
        match serde_json::from_str(&text(row, 3)?) {
            Ok(command) => letters.push(Letter {
                id,
                session: session.clone(),
                by: text(row, 1)?,
                ts: Timestamp(cell(row, 2)?),
                command,
            }),
            // A newer Weir may have posted what this one does not know. It answers nothing here,
            // and a session must not end for want of it.
            Err(error) => tracing::debug!(id, %error, "a letter cannot be read"),
        }
    }
    Ok(letters)
}

pub(super) async fn marks(
    connection: &mut SqliteConnection,
    workspace: &str,
) -> Result<Vec<FileMark>, StoreError> {
    let query = sqlx::query(
        "SELECT workspace, path, origin, session, ts FROM marks WHERE workspace = $1 ORDER BY path",
    );
    let rows = all(connection, query.bind(workspace.to_string())).await?;
    rows.iter()
        .map(|row| {
            Ok(FileMark {
                workspace: text(row, 0)?,
                path: text(row, 1)?,
                origin: text(row, 2)?,
                session: SessionId::new(text(row, 3)?),
                ts: Timestamp(cell(row, 4)?),
            })
        })
        .collect()
}
