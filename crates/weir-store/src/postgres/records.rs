//! What a server keeps beside sessions, in PostgreSQL: rows of the installation, which the
//! transaction of a person does not see.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::postgres::PgRow;
use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records, StoreError};

use super::error::database_error;
use super::notices::{NoticeTopic, announce_change};
use super::rows::{escape_nul, execute_statement, in_time};
use super::{OwnerTransaction, StoreContext};
use crate::sql::{SqlConnection, SqlStatement};
use crate::tables::entries::{
    READING, WRITING, find_named, find_owned, purge_expired, put_entry, read_entry, remove_named,
    remove_owned,
};

/// Whose notices they are.
const INSTALLATION: &str = "";

pub(super) struct PostgresRecords {
    pub(super) shared: Arc<StoreContext>,
}

impl PostgresRecords {
    async fn begin_work(&self, doing: &str) -> Result<OwnerTransaction, StoreError> {
        self.shared.server.begin_for_house(doing).await
    }

    async fn commit_and_announce(&self, mut work: OwnerTransaction) -> Result<(), StoreError> {
        announce_change(&mut work, NoticeTopic::Records, INSTALLATION).await?;
        in_time(work.commit()).await.map_err(|e| database_error(WRITING, &e))?;
        self.shared.notices.notify_here(NoticeTopic::Records, INSTALLATION);
        Ok(())
    }

    async fn fetch_rows(&self, statement: SqlStatement) -> Result<Vec<PgRow>, StoreError> {
        self.begin_work(READING).await?.fetch_rows(READING, statement).await
    }

    /// Runs one statement and announces it if it changed anything; how many rows.
    async fn change_rows(&self, statement: SqlStatement) -> Result<u64, StoreError> {
        let mut work = self.begin_work(WRITING).await?;
        let changed = work.change_rows(WRITING, statement).await?;
        if changed > 0 {
            self.commit_and_announce(work).await?;
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
    ) -> Result<Option<RecordEntry>, StoreError> {
        let rows = self.fetch_rows(find_named(kind, name, now)).await?;
        rows.first().map(read_entry).transpose()
    }

    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError> {
        let rows = self.fetch_rows(find_owned(kind, owner, now)).await?;
        rows.iter().map(read_entry).collect()
    }

    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError> {
        let mut work = self.begin_work(WRITING).await?;
        // Also of one that is not there yet, only one at a time is put.
        let lock = sqlx::query(
            "SELECT pg_advisory_xact_lock(hashtextextended('weir entry ' || $1 || ' ' || $2, 0))",
        );
        let lock = lock.bind(escape_nul(&entry.kind)).bind(escape_nul(&entry.name));
        execute_statement(&mut work, WRITING, lock).await?;
        let put = put_entry(&mut *work, entry, expected).await?;
        if matches!(put, PutOutcome::Kept(_)) {
            self.commit_and_announce(work).await?;
        }
        Ok(put)
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        Ok(self.change_rows(remove_named(kind, name)).await? > 0)
    }

    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError> {
        self.change_rows(remove_owned(owner)).await
    }

    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.change_rows(purge_expired(now)).await
    }

    async fn check_alive(&self) -> Result<(), StoreError> {
        let mut work = self.begin_work(READING).await?;
        self.shared.replica.check_beating(&mut work).await
    }

    async fn wait_for_change(&self) {
        self.shared.notices.wait_for_notice(NoticeTopic::Records, INSTALLATION).await;
    }
}
