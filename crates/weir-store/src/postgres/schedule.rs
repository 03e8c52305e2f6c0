//! Runs of scheduled agents (M7): how they are claimed, moved on and read. Replicas agree on who has
//! what by one lock for each owner; what others hold is passed over.

use sqlx::postgres::{PgConnection, PgRow};
use weir_core::schedule::AgentRun;
use weir_engine::ports::{LeaseOwner, PlaceLimits, RunBeginOutcome, StoreError, TickClaim};

use super::PostgresStore;
use super::holders::LeaseReplica;
use super::notices::NoticeTopic;
use super::rows::{execute_statement, fetch_rows, maybe_text};
use crate::tables::agent_runs::{
    BEGINNING, CLAIMING, NOTING, RunHolder, begin_run, claim_tick, note_run, read_run, take_run,
};

/// Columns 0 to 10: the run; 11: its holder; 12 to 16: the process as which they took it.
macro_rules! columns {
    () => {
        "SELECT r.agent, r.tick, r.cause, r.by, r.due, r.state, r.session, r.claimed, r.started,
           r.finished, r.note, r.holder, h.machine, h.pid, h.started, h.host,
           h.until > clock_timestamp()
         FROM agent_runs r LEFT JOIN holders h ON h.id = r.replica "
    };
}

const OPEN: &str =
    concat!(columns!(), "WHERE r.finished IS NULL ORDER BY r.id FOR UPDATE OF r SKIP LOCKED");
const UNDER_WAY: &str =
    concat!(columns!(), "WHERE r.finished IS NULL AND r.state = 'running' AND r.cause <> 'manual'");

async fn lock_agent_runs(work: &mut PgConnection, doing: &str) -> Result<(), StoreError> {
    let query = sqlx::query(
        "SELECT pg_advisory_xact_lock(hashtextextended('weir agents '
           || current_setting('weir.owner'), 0))",
    );
    execute_statement(work, doing, query).await.map(drop)
}

pub(super) async fn claim_ticks(
    store: &PostgresStore,
    runs: &[AgentRun],
    holder: Option<&LeaseOwner>,
) -> Result<Vec<TickClaim>, StoreError> {
    let mut work = store.begin_work(CLAIMING).await?;
    lock_agent_runs(&mut work, CLAIMING).await?;
    let replica = Some(store.shared.replica.id.as_str());
    let mine = holder.map(|holder| RunHolder::new(CLAIMING, holder, replica)).transpose()?;
    let mut claims = Vec::with_capacity(runs.len());
    for run in runs {
        claims.push(claim_tick(&mut *work, run, mine.as_ref()).await?);
    }
    match holder {
        Some(_) => store.commit_work(CLAIMING, work).await?,
        None => store.commit_and_announce(CLAIMING, NoticeTopic::Agents, work).await?,
    }
    Ok(claims)
}

pub(super) async fn begin_agent_run(
    store: &PostgresStore,
    run: &AgentRun,
    holder: &LeaseOwner,
    places: &PlaceLimits,
) -> Result<RunBeginOutcome, StoreError> {
    let replica = &store.shared.replica;
    let mut work = store.begin_among(BEGINNING).await?;
    lock_agent_runs(&mut work, BEGINNING).await?;
    replica.check_beating(&mut work).await?;
    let holder = RunHolder::new(BEGINNING, holder, Some(&replica.id))?;
    let running = count_running(replica, &mut work).await?;
    let begin = begin_run(&mut *work, run, &holder, places, running).await?;
    if matches!(begin, RunBeginOutcome::Begun) {
        store.commit_work(BEGINNING, work).await?;
    }
    Ok(begin)
}

/// Runs that take a place: begun by a schedule, not waiting for a person, and their process lives.
async fn count_running(
    replica: &LeaseReplica,
    work: &mut PgConnection,
) -> Result<usize, StoreError> {
    let mut count = 0;
    for row in &fetch_rows(work, sqlx::query(UNDER_WAY)).await? {
        count += usize::from(is_held(replica, row)?);
    }
    Ok(count)
}

pub(super) async fn note_agent_run(
    store: &PostgresStore,
    run: &AgentRun,
    holder: &LeaseOwner,
) -> Result<bool, StoreError> {
    let holder = RunHolder::new(NOTING, holder, Some(&store.shared.replica.id))?;
    let mut work = store.begin_work(NOTING).await?;
    let noted = note_run(&mut *work, run, &holder).await?;
    // A place may be free, or a run wait for whoever takes it.
    store.commit_and_announce(NOTING, NoticeTopic::Agents, work).await?;
    Ok(noted)
}

pub(super) async fn take_orphaned_runs(
    store: &PostgresStore,
    holder: &LeaseOwner,
) -> Result<Vec<AgentRun>, StoreError> {
    let replica = &store.shared.replica;
    let mut work = store.begin_among(NOTING).await?;
    let mut taken = Vec::new();
    for row in &fetch_rows(&mut work, sqlx::query(OPEN)).await? {
        if !is_held(replica, row)? {
            taken.push(read_run(row)?);
        }
    }
    if taken.is_empty() {
        return Ok(taken);
    }
    replica.check_beating(&mut work).await?;
    let holder = RunHolder::new(NOTING, holder, Some(&replica.id))?;
    for run in &mut taken {
        take_run(&mut *work, run, &holder).await?;
    }
    store.commit_work(NOTING, work).await?;
    Ok(taken)
}

/// Whether a living process has the run. One that cannot be read is nobody's.
fn is_held(replica: &LeaseReplica, row: &PgRow) -> Result<bool, StoreError> {
    let holder: Option<LeaseOwner> =
        maybe_text(row, 11)?.and_then(|holder| serde_json::from_str(&holder).ok());
    holder.map_or(Ok(false), |holder| replica.is_owner_alive(&holder, row, 12))
}
