//! A transaction on a connection of a pool, which goes back to it afterwards. Not here: whose rows it sees.
//!
//! The one that sqlx has gives its connection back in a task of seven kilobytes. Tasks are aligned, and older
//! allocators (glibc before 2.38) never use the place of an aligned piece again for another one of its size: a server
//! kept ten kilobytes for each browser that had ever connected (Q18). Here that work is in a box, and its task is
//! small. Everything else is sqlx's own.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Database, PgConnection, PgPool, Postgres, SqlSafeStr as _};
use sqlx_core::transaction::TransactionManager as _;
use tokio::runtime::Handle;

type PgTransactions = <Postgres as Database>::TransactionManager;

/// One that was not committed is rolled back before its connection is used again.
pub(super) struct PooledTransaction {
    connection: PoolConnection<Postgres>,
    is_open: bool,
}

impl PooledTransaction {
    /// Begins one by `statement`.
    pub(super) async fn begin_with(
        pool: &PgPool,
        statement: String,
    ) -> Result<PooledTransaction, sqlx::Error> {
        let statement = AssertSqlSafe(statement).into_sql_str();
        // From here on it is rolled back, also where the answer does not come.
        let mut begun = PooledTransaction { connection: pool.acquire().await?, is_open: true };
        PgTransactions::begin(&mut begun.connection, Some(statement)).await?;
        Ok(begun)
    }

    pub(super) async fn commit(mut self) -> Result<(), sqlx::Error> {
        PgTransactions::commit(&mut self.connection).await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for PooledTransaction {
    fn drop(&mut self) {
        if self.is_open {
            // Sent with the next question.
            PgTransactions::start_rollback(&mut self.connection);
        }
        let returning = Box::pin(self.connection.return_to_pool());
        // Without a runtime nobody could ask it anything, and it is closed.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(returning);
        }
    }
}

impl Deref for PooledTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for PooledTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}
