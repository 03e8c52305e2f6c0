//! What was made or accepted once and counts from then on: how it is written and read.

use weir_engine::ports::{StoreError, StoredItem};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql, to_json};

pub(crate) const KEEPING: &str = "keeping a definition";
const REMOVING: &str = "taking a definition away";

/// Its version grows where the text differs, in one statement: nobody comes between.
const KEEP: SqlText = sql!("INSERT INTO kept (what, name, text, state, hash, version, label, by, ts)
  VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8) ON CONFLICT (" owner "what, name) DO UPDATE SET
  version = kept.version + CASE WHEN kept.text = excluded.text THEN 0 ELSE 1 END,
  text = excluded.text, state = excluded.state, hash = excluded.hash, label = excluded.label,
  by = excluded.by, ts = excluded.ts RETURNING version");

/// Nobody comes between looking at the version and writing: each is one statement.
const KEEP_NEW: SqlText = sql!("INSERT INTO kept (what, name, text, state, hash, version, label, by, ts)
  VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8) ON CONFLICT (" owner "what, name) DO NOTHING");

const KEEP_NEXT: SqlText = sql!(
    "UPDATE kept SET version = version + 1, text = $3, state = $4,
  hash = $5, label = $6, by = $7, ts = $8 WHERE what = $1 AND name = $2 AND version = $9"
);

const REMOVE: SqlText = sql!("DELETE FROM kept WHERE what = $1 AND name = $2");

const LIST: SqlText = sql!("SELECT what, name, text, state, hash, version, label, by, ts FROM kept
  WHERE what = $1 ORDER BY name" bytewise);

const FIND: SqlText = sql!(
    "SELECT what, name, text, state, hash, version, label, by, ts FROM kept
  WHERE what = $1 AND name = $2"
);

pub(crate) async fn keep_definition<C: SqlConnection>(
    connection: &mut C,
    definition: &StoredItem,
) -> Result<StoredItem, StoreError> {
    let statement = bind_definition(KEEP, definition)?;
    let rows = connection.fetch_rows(KEEPING, statement).await?;
    let version = rows.first().map_or(Ok(1), |row| row.small_number(0))?;
    Ok(StoredItem { version, ..definition.clone() })
}

/// The same where what is there has `version`; 0: where nothing is. `None`: it is not so.
pub(crate) async fn replace_definition<C: SqlConnection>(
    connection: &mut C,
    definition: &StoredItem,
    version: u32,
) -> Result<Option<StoredItem>, StoreError> {
    let statement = match version {
        0 => bind_definition(KEEP_NEW, definition)?,
        _ => bind_definition(KEEP_NEXT, definition)?.bind(i64::from(version)),
    };
    let changed = connection.change_rows(KEEPING, statement).await? > 0;
    let version = version.saturating_add(1);
    Ok(changed.then(|| StoredItem { version, ..definition.clone() }))
}

fn bind_definition(text: SqlText, definition: &StoredItem) -> Result<SqlStatement, StoreError> {
    Ok(SqlStatement::new(text)
        .bind(&definition.what)
        .bind(&definition.name)
        .bind(&definition.text)
        .bind(&definition.state)
        .bind(&definition.hash)
        .bind(to_json(KEEPING, &definition.label)?)
        .bind(&definition.by)
        .bind(definition.ts))
}

/// Takes a definition away; whether it was there.
pub(crate) async fn remove_definition<C: SqlConnection>(
    connection: &mut C,
    what: &str,
    name: &str,
) -> Result<bool, StoreError> {
    let statement = SqlStatement::new(REMOVE).bind(what).bind(name);
    Ok(connection.change_rows(REMOVING, statement).await? > 0)
}

pub(crate) async fn list_definitions<C: SqlConnection>(
    connection: &mut C,
    what: &str,
) -> Result<Vec<StoredItem>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(LIST).bind(what)).await?;
    rows.iter().map(read_definition).collect()
}

pub(crate) async fn find_definition<C: SqlConnection>(
    connection: &mut C,
    what: &str,
    name: &str,
) -> Result<Option<StoredItem>, StoreError> {
    let statement = SqlStatement::new(FIND).bind(what).bind(name);
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.first().map(read_definition).transpose()
}

fn read_definition(row: &impl SqlRow) -> Result<StoredItem, StoreError> {
    Ok(StoredItem {
        what: row.text(0)?,
        name: row.text(1)?,
        text: row.text(2)?,
        state: row.text(3)?,
        hash: row.text(4)?,
        version: row.small_number(5)?,
        label: row.json(6, "a definition")?,
        by: row.text(7)?,
        ts: row.timestamp(8)?,
    })
}
