//! Runs of scheduled agents (M7): what both databases write and read of them alike. Not here:
//! whether the process that has a run lives, which each database judges in its own way.

use std::collections::BTreeMap;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, HOUR_MS, LeaseOwner, PlaceLimits, RunBeginOutcome,
    STILL_RUNNING, StoreError, TickClaim,
};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, limit_of, sql, to_json};

pub(crate) const CLAIMING: &str = "claiming ticks of scheduled agents";
pub(crate) const BEGINNING: &str = "beginning a run of a scheduled agent";
pub(crate) const NOTING: &str = "writing down a run of a scheduled agent";

const TAKEN: SqlText = sql!("SELECT 1 FROM agent_runs WHERE agent = $1 AND tick = $2");
const BUSY: SqlText =
    sql!("SELECT 1 FROM agent_runs WHERE agent = $1 AND finished IS NULL LIMIT 1");
const INSERT: SqlText = sql!("INSERT INTO agent_runs (agent, tick, cause, "
    (sqlite "owner") (postgres "by") ", due, state, session, claimed, started, finished, note,
    holder" (postgres ", replica") ")
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12" (postgres ", $13") ")");
const FORGET_OLD: SqlText = sql!(
    "DELETE FROM agent_runs
  WHERE agent = $1 AND finished IS NOT NULL AND id <= (
    SELECT id FROM agent_runs WHERE agent = $1 AND finished IS NOT NULL
    ORDER BY id DESC LIMIT 1 OFFSET $2)"
);
const WAITING: SqlText = sql!("SELECT started FROM agent_runs WHERE agent = $1 AND tick = $2
  AND state = 'waiting' AND holder = $3" (postgres " AND replica = $4"));
const BEGIN: SqlText = sql!(
    "UPDATE agent_runs SET state = 'running', session = $3,
  started = coalesce(started, $4) WHERE agent = $1 AND tick = $2"
);
const STARTED_WITHIN: SqlText = sql!(
    "SELECT started FROM agent_runs
  WHERE started > $1 AND started <= $3 AND cause <> 'manual' ORDER BY started DESC LIMIT $2"
);
const NOTE: SqlText = sql!("UPDATE agent_runs SET state = $3, session = $4, started = $5,
    finished = $6, note = $7, holder = $8" (postgres ", replica = $10") "
  WHERE agent = $1 AND tick = $2 AND holder = $9" (postgres " AND replica = $11"));
const TAKE: SqlText = sql!("UPDATE agent_runs SET state = 'waiting', holder = $3"
  (postgres ", replica = $4") " WHERE agent = $1 AND tick = $2");
const LIST: SqlText = sql!("SELECT agent, tick, cause, " (sqlite "owner") (postgres "by") ", due, state, session,
    claimed, started, finished, note FROM agent_runs
  WHERE (CAST($1 AS text) IS NULL OR agent = $1) AND ($2 = 0 OR finished IS NULL)
    AND (CAST($3 AS text) IS NULL OR session = $3)
  ORDER BY id DESC LIMIT $4");
const TICKS: SqlText =
    sql!("SELECT agent, max(due) FROM agent_runs WHERE cause = 'cron' GROUP BY agent");

/// Who has a run: a process, and the replica of a server as which it took the run. SQLite knows no
/// replicas.
pub(crate) struct RunHolder {
    process: String,
    replica: Option<String>,
}

impl RunHolder {
    pub(crate) fn new(
        doing: &str,
        process: &LeaseOwner,
        replica: Option<&str>,
    ) -> Result<RunHolder, StoreError> {
        let process = to_json(doing, process)?;
        Ok(RunHolder { process, replica: replica.map(str::to_owned) })
    }
}

/// Claims a tick. Within a transaction that nobody else claims in.
pub(crate) async fn claim_tick<C: SqlConnection>(
    connection: &mut C,
    run: &AgentRun,
    holder: Option<&RunHolder>,
) -> Result<TickClaim, StoreError> {
    let taken = SqlStatement::new(TAKEN).bind(&run.agent).bind(&run.tick);
    if !connection.fetch_rows(CLAIMING, taken).await?.is_empty() {
        return Ok(TickClaim::Taken);
    }
    let busy = SqlStatement::new(BUSY).bind(&run.agent);
    let busy = !connection.fetch_rows(CLAIMING, busy).await?.is_empty();
    let overlaps = run.state.is_open() && busy;
    if overlaps && run.cause.can_wait() {
        return Ok(TickClaim::Overlaps);
    }
    let written = match overlaps {
        true => run.clone().with_end(AgentRunState::Skipped, run.claimed, STILL_RUNNING),
        false => run.clone(),
    };
    insert_run(connection, &written, holder.filter(|_| written.state.is_open())).await?;
    // What is over and old goes.
    let forget = SqlStatement::new(FORGET_OLD).bind(&run.agent).bind(limit_of(AGENT_RUNS_KEPT));
    connection.change_rows(CLAIMING, forget).await?;
    Ok(if overlaps { TickClaim::Overlaps } else { TickClaim::Claimed })
}

async fn insert_run<C: SqlConnection>(
    connection: &mut C,
    run: &AgentRun,
    holder: Option<&RunHolder>,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(INSERT)
        .bind(&run.agent)
        .bind(&run.tick)
        .bind(run.cause.as_str())
        .bind(&run.owner)
        .bind(run.due)
        .bind(run.state.as_str())
        .bind(run.session.as_ref().map(SessionId::as_str))
        .bind(run.claimed)
        .bind(run.started)
        .bind(run.finished)
        .bind(&run.note)
        .bind(holder.map(|holder| holder.process.as_str()))
        .bind_postgres(holder.and_then(|holder| holder.replica.as_deref()));
    connection.change_rows(CLAIMING, statement).await.map(drop)
}

/// Begins a run that was claimed, where `running` runs take a place already. Within a transaction
/// that nobody else begins in.
pub(crate) async fn begin_run<C: SqlConnection>(
    connection: &mut C,
    run: &AgentRun,
    holder: &RunHolder,
    places: &PlaceLimits,
    running: usize,
) -> Result<RunBeginOutcome, StoreError> {
    let waiting = SqlStatement::new(WAITING)
        .bind(&run.agent)
        .bind(&run.tick)
        .bind(&holder.process)
        .bind_postgres(holder.replica.as_deref());
    let found = connection.fetch_rows(BEGINNING, waiting).await?;
    let Some(row) = found.first() else { return Ok(RunBeginOutcome::Gone) };
    let begun_before = row.optional_timestamp(0)?;
    if running >= places.at_once {
        return Ok(RunBeginOutcome::Full);
    }
    if begun_before.is_none()
        && places.per_hour > 0
        && let Some(until) = find_full_hour(connection, places).await?
    {
        return Ok(RunBeginOutcome::HourFull { until });
    }
    let statement = SqlStatement::new(BEGIN)
        .bind(&run.agent)
        .bind(&run.tick)
        .bind(run.session.as_ref().map(SessionId::as_str))
        .bind(places.now);
    connection.change_rows(BEGINNING, statement).await?;
    Ok(RunBeginOutcome::Begun)
}

/// When the next run may begin, if as many as may were begun within the hour.
async fn find_full_hour<C: SqlConnection>(
    connection: &mut C,
    places: &PlaceLimits,
) -> Result<Option<Timestamp>, StoreError> {
    let statement = SqlStatement::new(STARTED_WITHIN)
        .bind(places.hour_start())
        .bind(limit_of(places.per_hour))
        .bind(places.latest_start());
    let rows = connection.fetch_rows(BEGINNING, statement).await?;
    match rows.last() {
        Some(row) if rows.len() >= places.per_hour => Ok(Some(row.timestamp(0)?.plus_ms(HOUR_MS))),
        _ => Ok(None),
    }
}

/// Writes down how far a run is; whether `holder` has it still.
pub(crate) async fn note_run<C: SqlConnection>(
    connection: &mut C,
    run: &AgentRun,
    holder: &RunHolder,
) -> Result<bool, StoreError> {
    let keeps = matches!(run.state, AgentRunState::Running | AgentRunState::Asking);
    let replica = holder.replica.as_deref();
    let statement = SqlStatement::new(NOTE)
        .bind(&run.agent)
        .bind(&run.tick)
        .bind(run.state.as_str())
        .bind(run.session.as_ref().map(SessionId::as_str))
        .bind(run.started)
        .bind(run.finished)
        .bind(&run.note)
        .bind(keeps.then_some(holder.process.as_str()))
        .bind(&holder.process)
        .bind_postgres(replica.filter(|_| keeps))
        .bind_postgres(replica);
    Ok(connection.change_rows(NOTING, statement).await? > 0)
}

/// Gives a run that nobody has to `holder`, to begin it again.
pub(crate) async fn take_run<C: SqlConnection>(
    connection: &mut C,
    run: &mut AgentRun,
    holder: &RunHolder,
) -> Result<(), StoreError> {
    run.state = AgentRunState::Waiting;
    let statement = SqlStatement::new(TAKE)
        .bind(&run.agent)
        .bind(&run.tick)
        .bind(&holder.process)
        .bind_postgres(holder.replica.as_deref());
    connection.change_rows(NOTING, statement).await.map(drop)
}

pub(crate) async fn list_runs<C: SqlConnection>(
    connection: &mut C,
    filter: &AgentRunFilter,
) -> Result<Vec<AgentRun>, StoreError> {
    let statement = SqlStatement::new(LIST)
        .bind(filter.agent.as_deref())
        .bind(i64::from(filter.open))
        .bind(filter.session.as_ref().map(SessionId::as_str))
        .bind(limit_of(filter.limit.unwrap_or(usize::MAX)));
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.iter().map(read_run).collect()
}

/// The latest tick of each agent.
pub(crate) async fn read_ticks<C: SqlConnection>(
    connection: &mut C,
) -> Result<BTreeMap<String, Timestamp>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(TICKS)).await?;
    rows.iter().map(|row| Ok((row.text(0)?, row.timestamp(1)?))).collect()
}

/// The run in the first eleven columns of a row.
pub(crate) fn read_run(row: &impl SqlRow) -> Result<AgentRun, StoreError> {
    let damaged =
        |why: String| StoreError::Damaged { what: "a run of a scheduled agent".to_string(), why };
    Ok(AgentRun {
        agent: row.text(0)?,
        tick: row.text(1)?,
        cause: row.text(2)?.parse().map_err(damaged)?,
        owner: row.text(3)?,
        due: row.timestamp(4)?,
        state: row.text(5)?.parse().map_err(damaged)?,
        session: row.optional_text(6)?.map(SessionId::new),
        claimed: row.timestamp(7)?,
        started: row.optional_timestamp(8)?,
        finished: row.optional_timestamp(9)?,
        note: row.text(10)?,
    })
}
