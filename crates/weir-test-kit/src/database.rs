//! A PostgreSQL database of a test's own, in the server that `WEIR_TEST_POSTGRES` names, or one at
//! 127.0.0.1:5432, or one started for this run from the installed programs. Where there is none at
//! all, what needs it says SKIPPED with the reason; in CI (`CI` is set) it fails. Not here: a server
//! that is stopped and started (`postgres`).

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::OnceCell;

use crate::postgres::PrivatePostgres;
use crate::skip::or_skipped;

/// Where a server is looked for if no variable names one.
const LOCAL: &str = "postgres://postgres@127.0.0.1:5432/postgres";
/// How long a server may take to answer.
const CONNECT: Duration = Duration::from_secs(20);

/// A new database, gone with this.
pub struct TestDatabase {
    /// How to reach it.
    pub url: String,
    admin: String,
    name: String,
    people: AtomicU32,
}

/// Where databases are made; `Err`: why there is no such place.
async fn server() -> &'static Result<String, String> {
    static SERVER: OnceCell<Result<String, String>> = OnceCell::const_new();
    static PRIVATE: OnceCell<PrivatePostgres> = OnceCell::const_new();
    SERVER
        .get_or_init(|| async {
            if let Ok(named) = std::env::var("WEIR_TEST_POSTGRES") {
                return Ok(named);
            }
            if connect_raw(LOCAL).await.is_ok() {
                return Ok(LOCAL.to_owned());
            }
            let started = PrivatePostgres::start()?;
            Ok(PRIVATE.get_or_init(|| async { started }).await.url("postgres"))
        })
        .await
}

/// A connection that is nobody's.
///
/// # Errors
/// It does not come about.
pub async fn connect_raw(url: &str) -> Result<PgConnection, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    let connecting = options.disable_statement_logging();
    match tokio::time::timeout(CONNECT, connecting.connect()).await {
        Ok(connection) => connection,
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

impl TestDatabase {
    /// A new one. `None`: there is no server to make it in, and that was said.
    ///
    /// # Panics
    /// In CI, where there must be one; and where the server's user may not make databases.
    pub async fn create() -> Option<TestDatabase> {
        let why = |why: &String| format!("no PostgreSQL to test with: {why}");
        let admin = or_skipped(server().await.as_ref().map_err(why))?.clone();
        let name = unused_name();
        let mut connection = connect_raw(&admin).await.expect("it answered a moment ago");
        let made = connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await;
        made.expect("the user of the test server may make databases");
        let url = url_with_name(&admin, &name);
        Some(TestDatabase { url, admin, name, people: AtomicU32::new(0) })
    }

    /// Ends the time of a replica that died, as its lease does when nobody prolongs it: a test need
    /// not wait for that. Whether there was such a replica.
    ///
    /// # Errors
    /// The database cannot be reached or written.
    pub async fn end_leases_of(&self, replica: &str) -> Result<bool, sqlx::Error> {
        let mut connection = connect_raw(&self.url).await?;
        let over =
            "UPDATE holders SET until = clock_timestamp() - interval '1 second' WHERE id = $1";
        let touched = sqlx::query(over).bind(replica).execute(&mut connection).await?;
        connection.close().await?;
        Ok(touched.rows_affected() == 1)
    }

    /// A name under which nobody has anything in it yet.
    pub fn new_person(&self) -> String {
        format!("person-{}", self.people.fetch_add(1, Ordering::Relaxed))
    }
}

/// By chance: the number of a process comes again within one run of all tests, and what a killed one
/// made may still be there.
fn unused_name() -> String {
    format!("weir_test_{:016x}", RandomState::new().build_hasher().finish())
}

/// The same server, another database.
fn url_with_name(url: &str, name: &str) -> String {
    let (address, query) = url
        .split_once('?')
        .map_or((url, String::new()), |(address, query)| (address, format!("?{query}")));
    let end = address.rfind('/').expect("a URL with a database");
    format!("{}/{name}{query}", &address[..end])
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (admin, name) = (self.admin.clone(), self.name.clone());
        let gone = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                // What cannot be removed does no harm: the name is not used again.
                let Ok(mut connection) = connect_raw(&admin).await else { return };
                let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                let _ = connection.execute(AssertSqlSafe(sql)).await;
                let _ = connection.close().await;
            });
        });
        let _ = gone.join();
    }
}
