//! The store in PostgreSQL: a database of its own for each test, where there is a server (`TestDatabase`
//! says which). Not here: what every store promises (`contract`).

mod care;
mod cluster;
mod loss;
mod rows;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use weir_engine::ports::{Records, Store};
use weir_store::{PostgresOptions, PostgresStore, PostgresStores};
use weir_test_kit::{TestDatabase, connect_raw};

/// How long a lease lives in the tests: longer than the machine lets any of them wait for their turn.
const LEASE: Duration = Duration::from_secs(60);

/// A new database, gone with this.
pub(crate) struct Database {
    /// How to reach it.
    pub(crate) url: String,
    _gone_with_this: TestDatabase,
}

/// A new database. `None`: skipped, and said so.
pub(crate) async fn database() -> Option<Database> {
    let database = TestDatabase::create().await?;
    Some(Database { url: database.url.clone(), _gone_with_this: database })
}

impl Database {
    /// Opens it as one more process would.
    pub(crate) async fn stores(&self) -> PostgresStores {
        self.stores_with(LEASE).await
    }

    /// The same with leases that live so long.
    pub(crate) async fn stores_with(&self, lease: Duration) -> PostgresStores {
        let options = PostgresOptions { lease, connections: 8 };
        PostgresStores::connect_with(&self.url, &options).await.expect("a database of our own")
    }

    /// A connection with the rights of the server's user and no owner set.
    pub(crate) async fn raw(&self) -> PgConnection {
        connect_raw(&self.url).await.expect("a database of our own")
    }
}

/// A store of `ada` in a new database. `None`: skipped.
pub(crate) async fn store() -> Option<(PostgresStore, PostgresStores, Database)> {
    let database = database().await?;
    let stores = database.stores().await;
    let store = stores.store_of_owner("ada").await.expect("a plain name");
    Some((store, stores, database))
}

/// As the contract wants it.
pub(crate) async fn place() -> Option<crate::contract::Place> {
    let (store, stores, database) = store().await?;
    let store: Arc<dyn Store> = Arc::new(store);
    Some(crate::contract::Place::new(store, (stores, database)))
}

/// Records in a new database. `None`: skipped.
pub(crate) async fn records() -> Option<(Arc<dyn Records>, Database)> {
    let database = database().await?;
    let records = database.stores().await.server_records();
    Some((records, database))
}
