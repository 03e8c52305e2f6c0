//! Marks of files that foreign words are in: how they are written and read.

use weir_core::ids::SessionId;
use weir_engine::ports::{FileMark, StoreError};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql};

const MARKING: &str = "writing the journal";
const REMOVING: &str = "taking the mark of a file away";

const MARK: SqlText = sql!("INSERT INTO marks (workspace, path, origin, session, ts)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (" owner "workspace, path) DO UPDATE SET
  origin = excluded.origin, session = excluded.session, ts = excluded.ts");
const LIST: SqlText = sql!("SELECT workspace, path, origin, session, ts FROM marks
  WHERE workspace = $1 ORDER BY path" bytewise);
const REMOVE: SqlText = sql!("DELETE FROM marks WHERE workspace = $1 AND path = $2");

/// Of two marks of one file the later one stays. Within an append.
pub(crate) async fn write_marks<C: SqlConnection>(
    connection: &mut C,
    marks: &[FileMark],
) -> Result<(), C::AppendError> {
    for mark in marks {
        let statement = SqlStatement::new(MARK)
            .bind(&mark.workspace)
            .bind(&mark.path)
            .bind(&mark.origin)
            .bind(mark.session.as_str())
            .bind(mark.ts);
        connection.append_rows(MARKING, statement).await?;
    }
    Ok(())
}

pub(crate) async fn list_marks<C: SqlConnection>(
    connection: &mut C,
    workspace: &str,
) -> Result<Vec<FileMark>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(LIST).bind(workspace)).await?;
    rows.iter().map(read_mark).collect()
}

fn read_mark(row: &impl SqlRow) -> Result<FileMark, StoreError> {
    Ok(FileMark {
        workspace: row.text(0)?,
        path: row.text(1)?,
        origin: row.text(2)?,
        session: SessionId::new(row.text(3)?),
        ts: row.timestamp(4)?,
    })
}

/// Takes the mark of a file away; whether it had one.
pub(crate) async fn remove_mark<C: SqlConnection>(
    connection: &mut C,
    workspace: &str,
    path: &str,
) -> Result<bool, StoreError> {
    let statement = SqlStatement::new(REMOVE).bind(workspace).bind(path);
    Ok(connection.change_rows(REMOVING, statement).await? > 0)
}
