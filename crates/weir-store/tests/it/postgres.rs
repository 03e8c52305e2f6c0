//! PostgreSQL for the tests: a database of its own for each of them in the server that
//! `WEIR_TEST_POSTGRES` names, or one at 127.0.0.1:5432, or one started for this run from the
//! installed programs. Where there is none at all, what needs it says SKIPPED with the reason; in CI
//! (`CI` is set) it fails.

mod care;
mod cluster;
mod loss;
mod rows;
mod server;
mod signals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use tokio::sync::OnceCell;
use weir_engine::ports::{Records, Store};
use weir_store::{PostgresOptions, PostgresStore, PostgresStores};

use server::PrivateServer;

/// How long a lease lives in the tests: longer than the machine lets any of them wait for their turn.
pub(crate) const LEASE: Duration = Duration::from_secs(6);

/// A new database, gone with this.
pub(crate) struct Database {
    /// How to reach it.
    pub(crate) url: String,
    admin: String,
    name: String,
}

/// Where databases are made; `Err`: why there is no such place.
async fn server() -> &'static Result<String, String> {
    static SERVER: OnceCell<Result<String, String>> = OnceCell::const_new();
    static PRIVATE: OnceCell<PrivateServer> = OnceCell::const_new();
    SERVER
        .get_or_init(|| async {
            if let Ok(named) = std::env::var("WEIR_TEST_POSTGRES") {
                return Ok(named);
            }
            let local = "postgres://postgres@127.0.0.1:5432/postgres".to_string();
            if raw(&local).await.is_ok() {
                return Ok(local);
            }
            let started = PrivateServer::start()?;
            Ok(PRIVATE.get_or_init(|| async { started }).await.url("postgres"))
        })
        .await
}

/// A connection that is nobody's.
pub(crate) async fn raw(url: &str) -> Result<PgConnection, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    let connecting = options.disable_statement_logging();
    match tokio::time::timeout(Duration::from_secs(20), connecting.connect()).await {
        Ok(connection) => connection,
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// What a test needs. `None`: it is not to be had here, so the test is skipped, and said so.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was left out")]
fn or_skipped<T, E: std::fmt::Display>(needed: Result<T, E>) -> Option<T> {
    match needed {
        Ok(needed) => Some(needed),
        Err(why) if std::env::var_os("CI").is_none() => {
            eprintln!("SKIPPED: no PostgreSQL to test with: {why}");
            None
        }
        Err(why) => panic!("CI has no PostgreSQL: {why}"),
    }
}

/// A new database. `None`: skipped, and said so.
pub(crate) async fn database() -> Option<Database> {
    let admin = or_skipped(server().await.as_ref())?.clone();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("weir_test_{}_{count}", std::process::id());
    let mut connection = raw(&admin).await.expect("it answered a moment ago");
    let made = connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await;
    made.expect("the user of the test server may make databases");
    Some(Database { url: with_name(&admin, &name), admin, name })
}

/// The same server, another database.
fn with_name(url: &str, name: &str) -> String {
    let (address, query) = url
        .split_once('?')
        .map_or((url, String::new()), |(address, query)| (address, format!("?{query}")));
    let end = address.rfind('/').expect("a URL with a database");
    format!("{}/{name}{query}", &address[..end])
}

impl Database {
    /// Opens it as one more process would.
    pub(crate) async fn stores(&self) -> PostgresStores {
        let options = PostgresOptions { lease: LEASE, connections: 8 };
        PostgresStores::connect_with(&self.url, &options).await.expect("a database of our own")
    }

    /// A connection with the rights of the server's user and no owner set.
    pub(crate) async fn raw(&self) -> PgConnection {
        raw(&self.url).await.expect("a database of our own")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let gone = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                // What cannot be removed does no harm: the name is not used again.
                let Ok(mut connection) = raw(&admin).await else { return };
                let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                let _ = connection.execute(AssertSqlSafe(sql)).await;
                let _ = connection.close().await;
            });
        });
        let _ = gone.join();
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
