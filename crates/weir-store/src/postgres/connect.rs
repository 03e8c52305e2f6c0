//! Opening the database: address, rights, schema. Nothing that reads or writes what it is for.
//!
//! Row-level security is the second lock between people (S2), so a connection that it does not bind
//! is never used: a user that it would not bind becomes `weir_rows` first, and what cannot be bound
//! is refused.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use tokio::sync::{Semaphore, SemaphorePermit};
use weir_engine::ports::StoreError;

use super::error::database_error;
use super::rows::{execute_statement, fetch_rows, read_cell, with_time_limit};

/// The schema, step by step; the n-th brings a database to version n. Only ever appended to.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_store.sql"),
    include_str!("../../migrations/postgres/0002_asks.sql"),
    ASKS_FILL,
    include_str!("../../migrations/postgres/0004_snapshots.sql"),
    include_str!("../../migrations/postgres/0005_facts_of_asks.sql"),
    include_str!("../../migrations/postgres/0006_looks.sql"),
    include_str!("../../migrations/postgres/0007_whole_marks.sql"),
];
/// Finds what waits in the journals of a version that did not keep it.
pub(super) const ASKS_FILL: &str = include_str!("../../migrations/postgres/0003_asks_fill.sql");
/// The first version that has what waits beside the journals.
pub(super) const ASKS_SCHEMA: usize = 3;

/// The folds of sessions, and what is looked at of them: derived, so no copy has them.
pub(super) const DERIVED: [&str; 2] = ["snapshots", "looks"];

/// Every table that has an owner.
pub(super) const OWNED: &[&str] = &[
    "sessions",
    "facts",
    "blobs",
    "blob_refs",
    "chains",
    "audit",
    "settings",
    "passages",
    "mail",
    "marks",
    "memories",
    "memories_said",
    "proposals",
    "kept",
    "recipe_counts",
    "solved_runs",
    "agent_runs",
    "usage",
    "asks",
    "ended_runs",
    "snapshots",
    "looks",
];
/// Those of the installation.
pub(super) const INSTALLATION: &[&str] = &["entries", "holders", "owners"];

/// The role that a user becomes whom row-level security would not bind.
const ROLE: &str = "weir_rows";
/// Names the lock under which the schema is changed.
const MIGRATION_LOCK: i64 = 0x7765_6972;
/// How long a connection is waited for.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection that is given back, or that nobody said anything on, may take to say that it
/// is there.
pub(super) const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections for heartbeat and listener: two, and two more, since one whose line fell silent is
/// given up only when the system below does so.
const ASIDE: u32 = 4;

const OPENING: &str = "opening the PostgreSQL database";
const MIGRATING: &str = "bringing the PostgreSQL database to this version";

/// How a database is opened. Everything has a sensible default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    /// A process that was not heard of for so long has lost its leases.
    pub lease: Duration,
    /// Most connections at once, beside two for heartbeat and notices (for a while up to four, when
    /// a line fell silent), and one for what streams.
    pub connections: u32,
}

impl Default for PostgresOptions {
    fn default() -> PostgresOptions {
        PostgresOptions { lease: Duration::from_secs(10), connections: 16 }
    }
}

/// As many as a pool has connections: who waits for one of them waits here, with little.
#[derive(Clone)]
pub(super) struct PoolTurns(Arc<Semaphore>);

/// What was found out about a database.
#[derive(Clone)]
pub(super) struct DatabaseServer {
    pub(super) pool: PgPool,
    /// Who waits for one of its connections waits here.
    pub(super) turns: PoolTurns,
    /// Those of what writes journals, which does not stand behind all who read.
    pub(super) writer_turns: PoolTurns,
    /// For heartbeat and listener alone: they must not wait for whoever is busy.
    pub(super) aside: PgPool,
    /// For signals alone, opened with the first: one connection, so that they stay in order and keep
    /// nobody waiting.
    pub(super) signals: PgPool,
    /// For connections outside the pool.
    pub(super) options: PgConnectOptions,
    /// The user must become [`ROLE`].
    pub(super) becomes: bool,
}

/// Reads a URL. Its text, which may hold a password, stands in no error.
pub(super) fn options_of(url: &str) -> Result<PgConnectOptions, StoreError> {
    let options = PgConnectOptions::from_str(url).map_err(|_| StoreError::Io {
        doing: "reading the URL of the database".to_string(),
        why: "it is not like postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full"
            .to_string(),
    })?;
    Ok(options.application_name("weir").disable_statement_logging())
}

/// Opens the database and brings its schema up to date.
pub(super) async fn connect_server(
    url: &str,
    wanted: &PostgresOptions,
) -> Result<DatabaseServer, StoreError> {
    let options = options_of(url)?;
    let mut connection = connect_once(&options).await?;
    migrate_schema(&mut connection).await?;
    let becomes = is_unbound(&mut connection).await?;
    if becomes {
        make_role(&mut connection).await?;
    }
    let _ = connection.close().await;
    // A process that sleeps in the middle of a transaction must not keep others from its rows.
    let idle_ms = wanted.lease.as_millis();
    let begin = format!(
        "SET idle_in_transaction_session_timeout = {idle_ms}; SET lock_timeout = '10s'; \
         SET statement_timeout = '60s'{}",
        if becomes { "; SET ROLE weir_rows" } else { "" }
    );
    let pool = |connections: u32, more: &str| {
        let begin = format!("{begin}{more}");
        PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(CONNECT_TIMEOUT)
            .after_connect(move |connection, _| {
                let begin = begin.clone();
                Box::pin(async move { connection.execute(AssertSqlSafe(begin)).await.map(drop) })
            })
            // One that was left in the middle of a question, because no answer came, is not waited
            // for without end: it would count among the most for as long.
            .after_release(|connection, _| {
                Box::pin(async move {
                    with_time_limit(PING_TIMEOUT, connection.ping()).await.map(|()| true)
                })
            })
            .connect_lazy_with(options.clone())
    };
    // What is announced is gone in a moment: no disk need wait for it.
    let signals = pool(1, "; SET synchronous_commit = off");
    let (pool, aside) = (pool(wanted.connections, ""), pool(ASIDE, ""));
    let turns = || PoolTurns::for_connections(wanted.connections);
    let (turns, writer_turns) = (turns(), turns());
    let server = DatabaseServer { pool, turns, writer_turns, aside, signals, options, becomes };
    server.check_bound().await?;
    Ok(server)
}

async fn connect_once(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    with_time_limit(CONNECT_TIMEOUT, options.connect())
        .await
        .map_err(|e| database_error(OPENING, &e))
}

impl PoolTurns {
    fn for_connections(connections: u32) -> PoolTurns {
        PoolTurns(Arc::new(Semaphore::new(connections as usize)))
    }

    /// The turn to ask the pool for a connection, to be kept until it gave one. A thousand sessions that
    /// begin at once would each hold what opening a connection needs, where sixteen can be had (Q19).
    ///
    /// # Errors
    /// It does not come, in the time in which the pool would have to give one.
    pub(super) async fn take_turn(&self) -> Result<SemaphorePermit<'_>, sqlx::Error> {
        let turn = tokio::time::timeout(CONNECT_TIMEOUT, self.0.acquire()).await;
        // It is never closed.
        turn.ok().and_then(Result::ok).ok_or(sqlx::Error::PoolTimedOut)
    }
}

impl DatabaseServer {
    /// A connection of its own that nothing but the server's answer bounds: for copies.
    pub(super) async fn connect_alone(&self) -> Result<PgConnection, StoreError> {
        connect_once(&self.options).await
    }

    /// Refuses to work where row-level security does not bind this connection on every table.
    async fn check_bound(&self) -> Result<(), StoreError> {
        let pool = self.pool.acquire().await;
        let mut connection = pool.map_err(|e| database_error(OPENING, &e))?;
        let refused = |why: String| Err(StoreError::Io { doing: OPENING.to_string(), why });
        if is_unbound(&mut connection).await? {
            return refused(format!(
                "row-level security does not bind the role {ROLE}: take SUPERUSER and BYPASSRLS \
                 from it"
            ));
        }
        let tables: Vec<String> =
            OWNED.iter().chain(INSTALLATION).map(|name| (*name).into()).collect();
        let query = sqlx::query(
            "SELECT name FROM unnest($1::text[]) name WHERE NOT EXISTS (
               SELECT 1 FROM pg_class WHERE oid = to_regclass(name)
               AND relrowsecurity AND relforcerowsecurity)",
        );
        match fetch_rows(&mut connection, query.bind(tables)).await?.first() {
            Some(row) => refused(format!(
                "row-level security is off for the table {}: switch it on (ALTER TABLE … ENABLE \
                 and FORCE ROW LEVEL SECURITY), or restore a backup",
                read_cell::<String>(row, 0)?
            )),
            None => Ok(()),
        }
    }
}

/// Whether row-level security does not hold for whoever this connection is.
async fn is_unbound(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let query =
        sqlx::query("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user");
    match fetch_rows(connection, query).await?.first() {
        Some(row) => read_cell(row, 0),
        None => Ok(true),
    }
}

/// Makes the role that is bound, with the rights that it needs here and no others.
async fn make_role(connection: &mut PgConnection) -> Result<(), StoreError> {
    let made = sqlx::raw_sql(
        "DO $$ BEGIN
           IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'weir_rows') THEN
             CREATE ROLE weir_rows NOLOGIN;
           END IF;
         EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
         END $$",
    );
    made.execute(&mut *connection).await.map_err(|error| StoreError::Io {
        doing: OPENING.to_string(),
        why: format!(
            "row-level security does not bind the user of the URL, and the role {ROLE} cannot be \
             made ({error}): name a user without SUPERUSER and BYPASSRLS that owns the database, \
             or make the role by hand (CREATE ROLE {ROLE} NOLOGIN)"
        ),
    })?;
    let tables = [OWNED, INSTALLATION].concat().join(", ");
    let granted = sqlx::raw_sql(AssertSqlSafe(format!(
        "BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK});
         DO $$ BEGIN
           EXECUTE format('GRANT USAGE ON SCHEMA %I TO {ROLE}', current_schema());
         END $$;
         GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {ROLE};
         COMMIT"
    )));
    granted.execute(connection).await.map(drop).map_err(|e| database_error(OPENING, &e))
}

async fn migrate_schema(connection: &mut PgConnection) -> Result<(), StoreError> {
    let mut work = connection.begin().await.map_err(|e| database_error(MIGRATING, &e))?;
    let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATION_LOCK);
    execute_statement(&mut work, MIGRATING, lock).await?;
    let made = sqlx::query(
        "CREATE TABLE IF NOT EXISTS weir_schema (version BIGINT NOT NULL, made TIMESTAMPTZ NOT NULL
           DEFAULT clock_timestamp())",
    );
    // Whoever may not make it may still use a database that is up to date.
    let known = sqlx::query("SELECT to_regclass('weir_schema') IS NOT NULL");
    let known: bool = read_cell(&fetch_rows(&mut work, known).await?[0], 0)?;
    if !known {
        execute_statement(&mut work, MIGRATING, made).await?;
    }
    let version = sqlx::query("SELECT coalesce(max(version), 0) FROM weir_schema");
    let version: i64 = read_cell(&fetch_rows(&mut work, version).await?[0], 0)?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        return Err(StoreError::Io {
            doing: OPENING.to_string(),
            why: format!(
                "it was written by a newer Weir (schema {version}, this one knows {}): update \
                 Weir, or name another database",
                MIGRATIONS.len()
            ),
        });
    }
    for (at, step) in MIGRATIONS.iter().enumerate().skip(version) {
        let done_so_far = sqlx::raw_sql(*step).execute(&mut *work).await;
        done_so_far.map_err(|e| database_error(MIGRATING, &e))?;
        let note = sqlx::query("INSERT INTO weir_schema (version) VALUES ($1)");
        execute_statement(
            &mut work,
            MIGRATING,
            note.bind(i64::try_from(at + 1).unwrap_or(i64::MAX)),
        )
        .await?;
    }
    work.commit().await.map_err(|e| database_error(MIGRATING, &e))
}

/// The newest schema that this program knows.
pub(super) fn schema_version() -> usize {
    MIGRATIONS.len()
}
