//! Runs of scheduled agents (M7): how they are claimed, moved on and read. Replicas agree on who has
//! what by one lock for each owner; what others hold is passed over.

use sqlx::postgres::{PgConnection, PgRow};
use weir_core::ids::Timestamp;
use weir_core::schedule::{AgentRun, AgentRunState};
use weir_engine::ports::{Begin, Claim, Owner, Places, StoreError};

use super::PostgresStore;
use super::holders::Replica;
use super::notices::About;
use super::rows::{all, cell, done, maybe_text, sealed, to_json};
use crate::tables::agent_runs::{
    BEGINNING, CLAIMING, NOTING, find_full_hour, forget_old_runs, judge_claim, read_run,
    write_beginning,
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
async fn lock(work: &mut PgConnection, doing: &str) -> Result<(), StoreError> {
    let query = sqlx::query(
        "SELECT pg_advisory_xact_lock(hashtextextended('weir agents '
           || current_setting('weir.owner'), 0))",
    );
    done(work, doing, query).await.map(drop)
}

pub(super) async fn claim(
    store: &PostgresStore,
    runs: &[AgentRun],
    holder: Option<&Owner>,
) -> Result<Vec<Claim>, StoreError> {
    let mut work = store.begin(CLAIMING).await?;
    lock(&mut work, CLAIMING).await?;
    let mine = holder.map(|holder| to_json(CLAIMING, holder)).transpose()?;
    let mine = mine.as_deref().map(|holder| (holder, store.shared.replica.id.as_str()));
    let mut claims = Vec::with_capacity(runs.len());
    for run in runs {
        claims.push(claim_one(&mut work, run, mine).await?);
    }
    match holder {
        Some(_) => store.commit(CLAIMING, work).await?,
        None => store.told(CLAIMING, About::Agents, work).await?,
    }
    Ok(claims)
}

async fn claim_one(
    work: &mut PgConnection,
    run: &AgentRun,
    mine: Option<(&str, &str)>,
) -> Result<Claim, StoreError> {
    let (claim, written) = judge_claim(work, run).await?;
    if let Some(written) = written {
        insert(work, &written, mine.filter(|_| written.state.is_open())).await?;
        forget_old_runs(work, &run.agent).await?;
    }
    Ok(claim)
}

async fn insert(
    work: &mut PgConnection,
    run: &AgentRun,
    mine: Option<(&str, &str)>,
) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO agent_runs (agent, tick, cause, by, due, state, session, claimed, started,
           finished, note, holder, replica)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(sealed(&run.agent))
    .bind(sealed(&run.tick))
    .bind(run.cause.as_str())
    .bind(sealed(&run.owner))
    .bind(run.due.micros())
    .bind(run.state.as_str())
    .bind(run.session.as_ref().map(|id| sealed(id.as_str())))
    .bind(run.claimed.micros())
    .bind(run.started.map(Timestamp::micros))
    .bind(run.finished.map(Timestamp::micros))
    .bind(sealed(&run.note))
    .bind(mine.map(|(holder, _)| holder.to_string()))
    .bind(mine.map(|(_, replica)| replica.to_string()));
    done(work, CLAIMING, query).await.map(drop)
}

pub(super) async fn begin(
    store: &PostgresStore,
    run: &AgentRun,
    holder: &Owner,
    places: &Places,
) -> Result<Begin, StoreError> {
    let replica = &store.shared.replica;
    let mut work = store.begin_among(BEGINNING).await?;
    lock(&mut work, BEGINNING).await?;
    replica.check_beating(&mut work).await?;
    let query = sqlx::query(
        "SELECT started FROM agent_runs WHERE agent = $1 AND tick = $2 AND state = 'waiting'
         AND holder = $3 AND replica = $4",
    );
    let query = query.bind(sealed(&run.agent)).bind(sealed(&run.tick));
    let query = query.bind(to_json(BEGINNING, holder)?).bind(replica.id.as_str());
    let found = all(&mut work, query).await?;
    let Some(row) = found.first() else { return Ok(Begin::Gone) };
    let begun_before: Option<i64> = cell(row, 0)?;
    if under_way(replica, &mut work).await? >= places.at_once {
        return Ok(Begin::Full);
    }
    if begun_before.is_none()
        && places.per_hour > 0
        && let Some(until) = find_full_hour(&mut *work, places).await?
    {
        return Ok(Begin::HourFull { until });
    }
    write_beginning(&mut *work, run, places.now).await?;
    store.commit(BEGINNING, work).await?;
    Ok(Begin::Begun)
}

/// Runs that take a place: begun by a schedule, not waiting for a person, and their process lives.
async fn under_way(replica: &Replica, work: &mut PgConnection) -> Result<usize, StoreError> {
    let mut count = 0;
    for row in &all(work, sqlx::query(UNDER_WAY)).await? {
        count += usize::from(is_held(replica, row)?);
    }
    Ok(count)
}

pub(super) async fn note(
    store: &PostgresStore,
    run: &AgentRun,
    holder: &Owner,
) -> Result<bool, StoreError> {
    let replica = store.shared.replica.id.as_str();
    let mine = to_json(NOTING, holder)?;
    let keeps = matches!(run.state, AgentRunState::Running | AgentRunState::Asking);
    let mut work = store.begin(NOTING).await?;
    let query = sqlx::query(
        "UPDATE agent_runs SET state = $3, session = $4, started = $5, finished = $6, note = $7,
           holder = $8, replica = $9 WHERE agent = $1 AND tick = $2 AND holder = $10
           AND replica = $11",
    )
    .bind(sealed(&run.agent))
    .bind(sealed(&run.tick))
    .bind(run.state.as_str())
    .bind(run.session.as_ref().map(|id| sealed(id.as_str())))
    .bind(run.started.map(Timestamp::micros))
    .bind(run.finished.map(Timestamp::micros))
    .bind(sealed(&run.note))
    .bind(keeps.then(|| mine.clone()))
    .bind(keeps.then(|| replica.to_string()))
    .bind(mine)
    .bind(replica);
    let noted = done(&mut work, NOTING, query).await? > 0;
    // A place may be free, or a run wait for whoever takes it.
    store.told(NOTING, About::Agents, work).await?;
    Ok(noted)
}

pub(super) async fn take(
    store: &PostgresStore,
    holder: &Owner,
) -> Result<Vec<AgentRun>, StoreError> {
    let replica = &store.shared.replica;
    let mut work = store.begin_among(NOTING).await?;
    let mut taken = Vec::new();
    for row in &all(&mut work, sqlx::query(OPEN)).await? {
        if !is_held(replica, row)? {
            taken.push(read_run(row)?);
        }
    }
    if taken.is_empty() {
        return Ok(taken);
    }
    replica.check_beating(&mut work).await?;
    let mine = to_json(NOTING, holder)?;
    for run in &mut taken {
        run.state = AgentRunState::Waiting;
        let query = sqlx::query(
            "UPDATE agent_runs SET state = 'waiting', holder = $3, replica = $4
             WHERE agent = $1 AND tick = $2",
        );
        let query = query.bind(sealed(&run.agent)).bind(sealed(&run.tick));
        let query = query.bind(mine.clone()).bind(replica.id.as_str());
        done(&mut work, NOTING, query).await?;
    }
    store.commit(NOTING, work).await?;
    Ok(taken)
}

/// Whether a living process has the run. One that cannot be read is nobody's.
fn is_held(replica: &Replica, row: &PgRow) -> Result<bool, StoreError> {
    let holder: Option<Owner> =
        maybe_text(row, 11)?.and_then(|holder| serde_json::from_str(&holder).ok());
    holder.map_or(Ok(false), |holder| replica.lives(&holder, row, 12))
}
