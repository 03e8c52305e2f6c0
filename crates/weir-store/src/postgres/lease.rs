//! Who writes a session (D2, D8): leases are taken, given back and lost; and how a session is deleted.

use sqlx::postgres::{PgConnection, PgRow};
use weir_core::ids::SessionId;
use weir_core::record::GENESIS;
use weir_engine::ports::{Lease, LeaseOwner, StoreError};

use super::PostgresStore;
use super::holders::LeaseReplica;
use super::rows::{escape_nul, execute_statement, fetch_rows, number_cell};
use crate::owner::describe_owner;
use crate::tables::sessions::read_owner;

const TAKING: &str = "taking the lease of a session";
const DELETING: &str = "deleting a session";

const FIRST: &str = "INSERT INTO sessions (id, epoch, facts, last_hash) VALUES ($1, 0, 0, $2)
  ON CONFLICT (owner, id) DO NOTHING";

/// Columns 1 to 4: who took it; 5 to 9: the process as which they took it.
macro_rules! holder_query {
    ($lock:literal) => {
        concat!(
            "SELECT s.epoch, s.owner_pid, s.owner_started, s.owner_host, s.owner_label,
             h.machine, h.pid, h.started, h.host, h.until > clock_timestamp()
             FROM sessions s LEFT JOIN holders h ON h.id = s.holder WHERE s.id = $1",
            $lock
        )
    };
}

const HOLDER: &str = holder_query!("");

/// The same, for whoever takes it.
const HOLDER_LOCKED: &str = holder_query!(" FOR UPDATE OF s");

const TAKE: &str = "UPDATE sessions SET epoch = epoch + 1, holder = $2, owner_pid = $3,
  owner_started = $4, owner_host = $5, owner_label = $6 WHERE id = $1 RETURNING epoch";

const GIVE_BACK: &str = "UPDATE sessions SET holder = NULL, owner_pid = NULL, owner_started = NULL,
  owner_host = NULL, owner_label = NULL WHERE id = $1 AND epoch = $2";

pub(super) async fn acquire_lease(
    store: &PostgresStore,
    session: &SessionId,
    owner: &LeaseOwner,
) -> Result<Lease, StoreError> {
    let replica = &store.shared.replica;
    let mut work = store.begin_among(TAKING).await?;
    replica.check_beating(&mut work).await?;
    let id = escape_nul(session.as_str());
    execute_statement(&mut work, TAKING, sqlx::query(FIRST).bind(id.clone()).bind(GENESIS)).await?;
    let rows = fetch_rows(&mut work, sqlx::query(HOLDER_LOCKED).bind(id.clone())).await?;
    refuse_held(replica, session, &rows)?;
    let query = sqlx::query(TAKE)
        .bind(id)
        .bind(replica.id.as_str())
        .bind(i64::from(owner.pid))
        .bind(owner.started.cast_signed())
        .bind(escape_nul(&owner.host))
        .bind(escape_nul(&owner.label));
    let rows = fetch_rows(&mut work, query).await?;
    let epoch = rows.first().map_or(Ok(0), |row| number_cell(row, 0))?;
    store.commit_work(TAKING, work).await?;
    replica.clear_owed_lease(session);
    Ok(Lease { session: session.clone(), epoch })
}

/// Only reads: of two who look at once none is told that the other has it.
pub(super) async fn check_not_held(
    store: &PostgresStore,
    session: &SessionId,
) -> Result<(), StoreError> {
    let replica = &store.shared.replica;
    let mut work = store.begin_among(TAKING).await?;
    replica.check_beating(&mut work).await?;
    let query = sqlx::query(HOLDER).bind(escape_nul(session.as_str()));
    refuse_held(replica, session, &fetch_rows(&mut work, query).await?)
}

/// Refuses what a living owner has. `rows`: what is known of who has it.
fn refuse_held(
    replica: &LeaseReplica,
    session: &SessionId,
    rows: &[PgRow],
) -> Result<(), StoreError> {
    if let Some(row) = rows.first()
        && let Some(holder) = read_owner(row, 1)?
        && replica.is_owner_alive(&holder, row, 5)?
        && !replica.owes_lease(session, number_cell(row, 0)?)
    {
        return Err(StoreError::Held { session: session.clone(), holder: describe_owner(&holder) });
    }
    Ok(())
}

pub(super) async fn release_lease(store: &PostgresStore, lease: &Lease) -> Result<(), StoreError> {
    let given_back = give_back(store, lease).await;
    if given_back.is_err() {
        store.shared.replica.note_owed_lease(lease);
    }
    given_back
}

async fn give_back(store: &PostgresStore, lease: &Lease) -> Result<(), StoreError> {
    let doing = "giving back the lease of a session";
    let mut work = store.begin_work(doing).await?;
    let query = sqlx::query(GIVE_BACK).bind(escape_nul(lease.session.as_str()));
    execute_statement(&mut work, doing, query.bind(lease.epoch.cast_signed())).await?;
    store.commit_work(doing, work).await
}

pub(super) async fn delete_session(
    store: &PostgresStore,
    session: &SessionId,
) -> Result<(), StoreError> {
    let mut work = store.begin_work(DELETING).await?;
    delete_session_rows(&mut work, session).await?;
    store.commit_work(DELETING, work).await
}

async fn delete_session_rows(
    work: &mut PgConnection,
    session: &SessionId,
) -> Result<(), StoreError> {
    let id = escape_nul(session.as_str());
    let query = sqlx::query("SELECT facts FROM sessions WHERE id = $1 FOR UPDATE");
    let rows = fetch_rows(work, query.bind(id.clone())).await?;
    if rows.first().map_or(Ok(0), |row| number_cell(row, 0))? == 0 {
        return Err(StoreError::Missing { what: format!("session {session}") });
    }
    for statement in [
        "DELETE FROM passages WHERE session = $1",
        "DELETE FROM facts WHERE session = $1",
        "DELETE FROM blobs WHERE id IN (SELECT blob FROM blob_refs WHERE session = $1)
           AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = blobs.id AND r.session <> $1)",
        "DELETE FROM blob_refs WHERE session = $1",
        "DELETE FROM mail WHERE session = $1",
        "DELETE FROM memories_said WHERE session = $1",
        "DELETE FROM solved_runs WHERE session = $1",
        "DELETE FROM asks WHERE session = $1",
        "DELETE FROM ended_runs WHERE session = $1",
        "DELETE FROM snapshots WHERE session = $1",
        "DELETE FROM looks WHERE session = $1",
    ] {
        execute_statement(work, DELETING, sqlx::query(statement).bind(id.clone())).await?;
    }
    let query = sqlx::query(
        "UPDATE sessions SET epoch = epoch + 1, holder = NULL, owner_pid = NULL,
           owner_started = NULL, owner_host = NULL, owner_label = NULL, facts = 0, last_hash = $2,
           workspace = NULL, title = NULL, model = NULL, profile = NULL, status = NULL,
           created = NULL, updated = NULL, parent = NULL WHERE id = $1",
    );
    execute_statement(work, DELETING, query.bind(id).bind(GENESIS)).await.map(drop)
}
