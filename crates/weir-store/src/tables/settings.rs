//! The kill switch: how it is set and read.

use weir_engine::ports::{StoreError, StorePause};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql, to_json};

pub(crate) const PAUSING: &str = "setting the kill switch";

const PAUSED: SqlText = sql!("SELECT value FROM settings WHERE key = 'paused'");
const PAUSE: SqlText = sql!("INSERT INTO settings (key, value) VALUES ('paused', $1)
  ON CONFLICT (" owner "key) DO UPDATE SET value = excluded.value");
const RESUME: SqlText = sql!("DELETE FROM settings WHERE key = 'paused'");

pub(crate) async fn read_pause<C: SqlConnection>(
    connection: &mut C,
) -> Result<Option<StorePause>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(PAUSED)).await?;
    rows.first().map(|row| row.json(0, "the kill switch")).transpose()
}

pub(crate) async fn set_pause<C: SqlConnection>(
    connection: &mut C,
    pause: Option<&StorePause>,
) -> Result<(), StoreError> {
    let statement = match pause {
        Some(pause) => SqlStatement::new(PAUSE).bind(to_json(PAUSING, pause)?),
        None => SqlStatement::new(RESUME),
    };
    connection.change_rows(PAUSING, statement).await.map(drop)
}
