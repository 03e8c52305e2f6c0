//! What was made or accepted once and counts from then on: how it is written and read.

use sqlx::postgres::PgConnection;
use weir_core::ids::Timestamp;
use weir_engine::ports::{KEPT_AGENT, Kept, StoreError};

use super::notices::About;
use super::rows::{all, cell, done, json, number, sealed, text, to_json};
use super::{PostgresStore, Work};

const KEEPING: &str = "keeping a definition";

/// Its version grows where the text differs, in one statement: nobody comes between.
const KEEP: &str = "INSERT INTO kept (what, name, text, state, hash, version, label, by, ts)
  VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8) ON CONFLICT (owner, what, name) DO UPDATE SET
  version = kept.version + CASE WHEN kept.text = excluded.text THEN 0 ELSE 1 END,
  text = excluded.text, state = excluded.state, hash = excluded.hash, label = excluded.label,
  by = excluded.by, ts = excluded.ts RETURNING version";

pub(super) async fn keep(store: &PostgresStore, kept: &Kept) -> Result<Kept, StoreError> {
    let mut work = store.begin(KEEPING).await?;
    let query = sqlx::query(KEEP)
        .bind(sealed(&kept.what))
        .bind(sealed(&kept.name))
        .bind(sealed(&kept.text))
        .bind(sealed(&kept.state))
        .bind(sealed(&kept.hash))
        .bind(to_json(KEEPING, &kept.label)?)
        .bind(sealed(&kept.by))
        .bind(kept.ts.micros());
    let version = all(&mut work, query).await?.first().map_or(Ok(1), |row| number(row, 0))?;
    finish(store, &kept.what, work).await?;
    Ok(Kept { version: u32::try_from(version).unwrap_or(u32::MAX), ..kept.clone() })
}

pub(super) async fn unkeep(
    store: &PostgresStore,
    what: &str,
    name: &str,
) -> Result<bool, StoreError> {
    let mut work = store.begin(KEEPING).await?;
    let query = sqlx::query("DELETE FROM kept WHERE what = $1 AND name = $2");
    let query = query.bind(sealed(what)).bind(sealed(name));
    let was = done(&mut work, "taking a definition away", query).await? > 0;
    finish(store, what, work).await?;
    Ok(was)
}

/// Commits; a change of a scheduled agent is announced.
async fn finish(store: &PostgresStore, what: &str, work: Work) -> Result<(), StoreError> {
    if what == KEPT_AGENT {
        return store.told(KEEPING, About::Agents, work).await;
    }
    store.commit(KEEPING, work).await
}

pub(super) async fn kept(work: &mut PgConnection, what: &str) -> Result<Vec<Kept>, StoreError> {
    let query = sqlx::query(
        "SELECT what, name, text, state, hash, version, label, by, ts FROM kept WHERE what = $1
         ORDER BY name COLLATE \"C\"",
    );
    let rows = all(work, query.bind(sealed(what))).await?;
    rows.iter()
        .map(|row| {
            Ok(Kept {
                what: text(row, 0)?,
                name: text(row, 1)?,
                text: text(row, 2)?,
                state: text(row, 3)?,
                hash: text(row, 4)?,
                version: u32::try_from(number(row, 5)?).unwrap_or(u32::MAX),
                label: json(row, 6, "a definition")?,
                by: text(row, 7)?,
                ts: Timestamp(cell(row, 8)?),
            })
        })
        .collect()
}
