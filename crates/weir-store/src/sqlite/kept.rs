//! What was made or accepted once and counts from then on: how it is written and read.

use futures::executor::block_on;
use sqlx::sqlite::SqliteConnection;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Kept, StoreError};

use super::error::failed;
use super::knowledge::{json, to_json};
use super::read::{all, cell, number, text};
use super::writer::Writer;

const KEEPING: &str = "keeping a definition";

impl Writer {
    pub(super) fn keep_named(&mut self, kept: &Kept) -> Result<Kept, StoreError> {
        self.in_transaction(KEEPING, |me| {
            let old = sqlx::query("SELECT text, version FROM kept WHERE what = $1 AND name = $2");
            let old = old.bind(kept.what.clone()).bind(kept.name.clone());
            let old = block_on(all(&mut me.connection, old))?;
            let mut kept = kept.clone();
            kept.version = match old.first() {
                None => 1,
                Some(row) => {
                    let version = u32::try_from(number(row, 1)?).unwrap_or(u32::MAX);
                    version.saturating_add(u32::from(text(row, 0)? != kept.text))
                }
            };
            let query = sqlx::query(
                "INSERT INTO kept (what, name, text, state, hash, version, label, by, ts)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (what, name) DO UPDATE SET
                 text = excluded.text, state = excluded.state, hash = excluded.hash,
                 version = excluded.version, label = excluded.label, by = excluded.by,
                 ts = excluded.ts",
            )
            .bind(kept.what.clone())
            .bind(kept.name.clone())
            .bind(kept.text.clone())
            .bind(kept.state.clone())
            .bind(kept.hash.clone())
            .bind(i64::from(kept.version))
            .bind(to_json(KEEPING, &kept.label)?)
            .bind(kept.by.clone())
            .bind(kept.ts.micros());
            block_on(query.execute(&mut me.connection)).map_err(|e| failed(KEEPING, &e))?;
            Ok(kept)
        })
    }

    pub(super) fn unkeep(&mut self, what: &str, name: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM kept WHERE what = $1 AND name = $2");
        let query = query.bind(what.to_string()).bind(name.to_string());
        let done = block_on(query.execute(&mut self.connection));
        Ok(done.map_err(|e| failed("taking a definition away", &e))?.rows_affected() > 0)
    }
}

pub(super) async fn kept(
    connection: &mut SqliteConnection,
    what: &str,
) -> Result<Vec<Kept>, StoreError> {
    let query = sqlx::query(
        "SELECT what, name, text, state, hash, version, label, by, ts FROM kept WHERE what = $1
         ORDER BY name",
    );
    let rows = all(connection, query.bind(what.to_string())).await?;
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
