//! Letters to sessions, marks of files, and the kill switch.

use sqlx::postgres::PgConnection;
use weir_core::ids::{SessionId, Timestamp};
use weir_engine::ports::{FileMark, Letter, Pause, StoreError};

use super::append::Ended;
use super::rows::{all, cell, done, number, sealed, text, to_json};
use crate::journal::check_box;

pub(super) const POSTING: &str = "leaving a letter";
const PAUSING: &str = "setting the kill switch";

pub(super) async fn post(work: &mut PgConnection, letter: &Letter) -> Result<u64, StoreError> {
    let session = sealed(letter.session.as_str());
    let query = sqlx::query("SELECT count(*) FROM mail WHERE session = $1").bind(session.clone());
    let waiting = all(work, query).await?.first().map_or(Ok(0), |row| number(row, 0))?;
    check_box(&letter.session, usize::try_from(waiting).unwrap_or(usize::MAX))?;
    let query = sqlx::query(
        "INSERT INTO mail (session, sender, ts, letter) VALUES ($1, $2, $3, $4) RETURNING id",
    )
    .bind(session)
    .bind(sealed(&letter.by))
    .bind(letter.ts.micros())
    .bind(to_json(POSTING, &letter.command)?);
    all(work, query).await?.first().map_or(Ok(0), |row| number(row, 0))
}

pub(super) async fn waiting(
    work: &mut PgConnection,
    session: &SessionId,
) -> Result<Vec<Letter>, StoreError> {
    let query =
        sqlx::query("SELECT id, sender, ts, letter FROM mail WHERE session = $1 ORDER BY id");
    let rows = all(work, query.bind(sealed(session.as_str()))).await?;
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

pub(super) async fn discard(work: &mut PgConnection, id: u64) -> Result<bool, StoreError> {
    let query = sqlx::query("DELETE FROM mail WHERE id = $1").bind(id.cast_signed());
    Ok(done(work, "taking a letter away", query).await? > 0)
}

/// Of two marks of one file the later one stays. Within an append.
pub(super) async fn mark(work: &mut PgConnection, mark: &FileMark) -> Result<(), Ended> {
    let query = sqlx::query(
        "INSERT INTO marks (workspace, path, origin, session, ts) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (owner, workspace, path) DO UPDATE SET
         origin = excluded.origin, session = excluded.session, ts = excluded.ts",
    )
    .bind(sealed(&mark.workspace))
    .bind(sealed(&mark.path))
    .bind(sealed(&mark.origin))
    .bind(sealed(mark.session.as_str()))
    .bind(mark.ts.micros());
    query.execute(work).await?;
    Ok(())
}

pub(super) async fn marks(
    work: &mut PgConnection,
    workspace: &str,
) -> Result<Vec<FileMark>, StoreError> {
    let query = sqlx::query(
        "SELECT workspace, path, origin, session, ts FROM marks WHERE workspace = $1
         ORDER BY path COLLATE \"C\"",
    );
    let rows = all(work, query.bind(sealed(workspace))).await?;
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

pub(super) async fn unmark(
    work: &mut PgConnection,
    workspace: &str,
    path: &str,
) -> Result<bool, StoreError> {
    let query = sqlx::query("DELETE FROM marks WHERE workspace = $1 AND path = $2");
    let query = query.bind(sealed(workspace)).bind(sealed(path));
    Ok(done(work, "taking the mark of a file away", query).await? > 0)
}

pub(super) async fn set_paused(
    work: &mut PgConnection,
    pause: Option<&Pause>,
) -> Result<(), StoreError> {
    let query = match pause {
        Some(pause) => sqlx::query(
            "INSERT INTO settings (key, value) VALUES ('paused', $1)
             ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value",
        )
        .bind(to_json(PAUSING, pause)?),
        None => sqlx::query("DELETE FROM settings WHERE key = 'paused'"),
    };
    done(work, PAUSING, query).await.map(drop)
}
