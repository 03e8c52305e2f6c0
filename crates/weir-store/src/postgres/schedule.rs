//! Runs of scheduled agents (M7): how they are claimed, moved on and read. Replicas agree on who has
//! what by one lock for each owner; what others hold is passed over.

use std::collections::BTreeMap;

use sqlx::postgres::{PgConnection, PgRow};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, Begin, Claim, Owner, Places, STILL_RUNNING, StoreError,
};

use super::PostgresStore;
use super::holders::Replica;
use super::notices::About;
use super::rows::{all, cell, done, limit_of, maybe_text, sealed, text, to_json};

const CLAIMING: &str = "claiming ticks of scheduled agents";
const BEGINNING: &str = "beginning a run of a scheduled agent";
const NOTING: &str = "writing down a run of a scheduled agent";

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
const LIST: &str = concat!(
    columns!(),
    "WHERE ($1::text IS NULL OR r.agent = $1) AND (NOT $2 OR r.finished IS NULL)
     ORDER BY r.id DESC LIMIT $3"
);

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
    let agent = sealed(&run.agent);
    let query = sqlx::query("SELECT 1 FROM agent_runs WHERE agent = $1 AND tick = $2");
    let query = query.bind(agent.clone()).bind(sealed(&run.tick));
    if !all(work, query).await?.is_empty() {
        return Ok(Claim::Taken);
    }
    let query =
        sqlx::query("SELECT 1 FROM agent_runs WHERE agent = $1 AND finished IS NULL LIMIT 1");
    let busy = !all(work, query.bind(agent.clone())).await?.is_empty();
    let overlaps = run.state.is_open() && busy;
    if overlaps && run.cause.can_wait() {
        return Ok(Claim::Overlaps);
    }
    let written = match overlaps {
        true => run.clone().ended(AgentRunState::Skipped, run.claimed, STILL_RUNNING),
        false => run.clone(),
    };
    insert(work, &written, mine.filter(|_| written.state.is_open())).await?;
    // What is over and old goes.
    let query = sqlx::query(
        "DELETE FROM agent_runs WHERE agent = $1 AND finished IS NOT NULL AND id <= (
           SELECT id FROM agent_runs WHERE agent = $1 AND finished IS NOT NULL
           ORDER BY id DESC LIMIT 1 OFFSET $2)",
    );
    done(work, CLAIMING, query.bind(agent).bind(limit_of(AGENT_RUNS_KEPT))).await?;
    Ok(if overlaps { Claim::Overlaps } else { Claim::Claimed })
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
        && let Some(until) = hour_full(&mut work, places).await?
    {
        return Ok(Begin::HourFull { until });
    }
    let query = sqlx::query(
        "UPDATE agent_runs SET state = 'running', session = $3, started = coalesce(started, $4)
         WHERE agent = $1 AND tick = $2",
    )
    .bind(sealed(&run.agent))
    .bind(sealed(&run.tick))
    .bind(run.session.as_ref().map(|id| sealed(id.as_str())))
    .bind(places.now.micros());
    done(&mut work, BEGINNING, query).await?;
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

/// When the next run may begin, if as many as may were begun within the hour.
async fn hour_full(
    work: &mut PgConnection,
    places: &Places,
) -> Result<Option<Timestamp>, StoreError> {
    let query = sqlx::query(
        "SELECT started FROM agent_runs WHERE started > $1 AND started <= $3
         AND cause <> 'manual' ORDER BY started DESC LIMIT $2",
    );
    let query = query.bind(places.since().micros()).bind(limit_of(places.per_hour));
    let query = query.bind(places.until().micros());
    let rows = all(work, query).await?;
    match rows.last() {
        Some(row) if rows.len() >= places.per_hour => {
            Ok(Some(Timestamp(cell(row, 0)?).plus_ms(weir_engine::ports::HOUR_MS)))
        }
        _ => Ok(None),
    }
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
            taken.push(run_of(row)?);
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

pub(super) async fn list(
    work: &mut PgConnection,
    filter: &AgentRunFilter,
) -> Result<Vec<AgentRun>, StoreError> {
    let query = sqlx::query(LIST)
        .bind(filter.agent.as_deref().map(sealed))
        .bind(filter.open)
        .bind(limit_of(filter.limit.unwrap_or(usize::MAX)));
    all(work, query).await?.iter().map(run_of).collect()
}

pub(super) async fn ticks(
    work: &mut PgConnection,
) -> Result<BTreeMap<String, Timestamp>, StoreError> {
    let query =
        sqlx::query("SELECT agent, max(due) FROM agent_runs WHERE cause = 'cron' GROUP BY agent");
    let rows = all(work, query).await?;
    rows.iter().map(|row| Ok((text(row, 0)?, Timestamp(cell(row, 1)?)))).collect()
}

/// Whether a living process has the run. One that cannot be read is nobody's.
fn is_held(replica: &Replica, row: &PgRow) -> Result<bool, StoreError> {
    let holder: Option<Owner> =
        maybe_text(row, 11)?.and_then(|holder| serde_json::from_str(&holder).ok());
    holder.map_or(Ok(false), |holder| replica.lives(&holder, row, 12))
}

fn run_of(row: &PgRow) -> Result<AgentRun, StoreError> {
    let damaged =
        |why: String| StoreError::Damaged { what: "a run of a scheduled agent".to_string(), why };
    Ok(AgentRun {
        agent: text(row, 0)?,
        tick: text(row, 1)?,
        cause: text(row, 2)?.parse().map_err(damaged)?,
        owner: text(row, 3)?,
        due: Timestamp(cell(row, 4)?),
        state: text(row, 5)?.parse().map_err(damaged)?,
        session: maybe_text(row, 6)?.map(SessionId::new),
        claimed: Timestamp(cell(row, 7)?),
        started: cell::<Option<i64>>(row, 8)?.map(Timestamp),
        finished: cell::<Option<i64>>(row, 9)?.map(Timestamp),
        note: text(row, 10)?,
    })
}
