//! What a server keeps beside sessions, in PostgreSQL: rows of the house, which the transaction of a
//! person does not see.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use weir_core::ids::Timestamp;
use weir_engine::ports::{Entry, Put, Records, StoreError};

use super::error::failed;
use super::notices::{About, announce};
use super::rows::{Statement, all, cell, done, in_time, number, sealed, text};
use super::{Shared, Work, begin_house};

const READING: &str = "reading the server's database";
const WRITING: &str = "writing the server's database";
/// Whose notices they are.
const HOUSE: &str = "";

/// Records in PostgreSQL.
pub(super) struct PostgresRecords {
    pub(super) shared: Arc<Shared>,
}

const COLUMNS: &str = "SELECT kind, name, owner, text, version, expires, ts FROM entries
  WHERE kind = $1 AND ($2::text IS NULL OR name = $2) AND ($3::text IS NULL OR owner = $3)
  AND (expires IS NULL OR expires > $4) ORDER BY name COLLATE \"C\"";

fn entry_of(row: &PgRow) -> Result<Entry, StoreError> {
    Ok(Entry {
        kind: text(row, 0)?,
        name: text(row, 1)?,
        owner: text(row, 2)?,
        text: text(row, 3)?,
        version: number(row, 4)?,
        expires: cell::<Option<i64>>(row, 5)?.map(Timestamp),
        ts: Timestamp(cell(row, 6)?),
    })
}

impl PostgresRecords {
    async fn begin(&self, doing: &str) -> Result<Work, StoreError> {
        begin_house(&self.shared.server.pool, doing).await
    }

    async fn told(&self, mut work: Work) -> Result<(), StoreError> {
        announce(&mut work, About::Records, HOUSE).await?;
        in_time(work.commit()).await.map_err(|e| failed(WRITING, &e))?;
        self.shared.notices.here(About::Records, HOUSE);
        Ok(())
    }

    /// Runs one statement and announces it if it changed anything; how many rows.
    async fn change(&self, query: Statement<'_>) -> Result<u64, StoreError> {
        let mut work = self.begin(WRITING).await?;
        let changed = done(&mut work, WRITING, query).await?;
        if changed > 0 {
            self.told(work).await?;
        }
        Ok(changed)
    }
}

#[async_trait]
impl Records for PostgresRecords {
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Entry>, StoreError> {
        let query = sqlx::query(COLUMNS).bind(sealed(kind)).bind(Some(sealed(name)));
        let query = query.bind(None::<String>).bind(now.micros());
        let rows = all(&mut *self.begin(READING).await?, query).await?;
        rows.first().map(entry_of).transpose()
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Entry>, StoreError> {
        let query = sqlx::query(COLUMNS).bind(sealed(kind)).bind(None::<String>);
        let query = query.bind(owner.map(sealed)).bind(now.micros());
        let rows = all(&mut *self.begin(READING).await?, query).await?;
        rows.iter().map(entry_of).collect()
    }

    async fn put(&self, entry: &Entry, expected: Option<u64>) -> Result<Put, StoreError> {
        let mut work = self.begin(WRITING).await?;
        let (kind, name) = (sealed(&entry.kind), sealed(&entry.name));
        // Also of one that is not there yet, only one at a time is put.
        let lock = sqlx::query(
            "SELECT pg_advisory_xact_lock(hashtextextended('weir entry ' || $1 || ' ' || $2, 0))",
        );
        done(&mut work, WRITING, lock.bind(kind.clone()).bind(name.clone())).await?;
        let query = sqlx::query(
            "SELECT version, expires IS NULL OR expires > $3 FROM entries
             WHERE kind = $1 AND name = $2 FOR UPDATE",
        );
        let query = query.bind(kind.clone()).bind(name.clone()).bind(entry.ts.micros());
        let (mut version, mut seen) = (0, 0);
        if let Some(row) = all(&mut work, query).await?.first() {
            version = number(row, 0)?;
            seen = if cell(row, 1)? { version } else { 0 };
        }
        if expected.is_some_and(|expected| expected != seen) {
            return Ok(Put::Changed(seen));
        }
        let query = sqlx::query(
            "INSERT INTO entries (kind, name, owner, text, version, expires, ts)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, name) DO UPDATE SET
             owner = excluded.owner, text = excluded.text, version = excluded.version,
             expires = excluded.expires, ts = excluded.ts",
        )
        .bind(kind)
        .bind(name)
        .bind(sealed(&entry.owner))
        .bind(sealed(&entry.text))
        .bind((version + 1).cast_signed())
        .bind(entry.expires.map(Timestamp::micros))
        .bind(entry.ts.micros());
        done(&mut work, WRITING, query).await?;
        self.told(work).await?;
        Ok(Put::Kept(version + 1))
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        let query = sqlx::query("DELETE FROM entries WHERE kind = $1 AND name = $2");
        Ok(self.change(query.bind(sealed(kind)).bind(sealed(name))).await? > 0)
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        let query = sqlx::query("DELETE FROM entries WHERE owner = $1").bind(sealed(owner));
        self.change(query).await
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        let query = sqlx::query("DELETE FROM entries WHERE expires <= $1").bind(now.micros());
        self.change(query).await
    }

    async fn alive(&self) -> Result<(), StoreError> {
        let mut work = self.begin(READING).await?;
        self.shared.replica.check_beating(&mut work).await
    }

    async fn changed(&self) {
        self.shared.notices.changed(About::Records, HOUSE).await;
    }
}
