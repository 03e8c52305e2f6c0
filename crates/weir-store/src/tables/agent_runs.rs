//! Runs of scheduled agents (M7): what both databases write and read of them alike. Not here: who
//! has a run, which each database judges by its own notion of a process that lives.

use std::collections::BTreeMap;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, Claim, HOUR_MS, Places, STILL_RUNNING, StoreError,
};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, limit_of, sql};

pub(crate) const CLAIMING: &str = "claiming ticks of scheduled agents";
pub(crate) const BEGINNING: &str = "beginning a run of a scheduled agent";
pub(crate) const NOTING: &str = "writing down a run of a scheduled agent";

const TAKEN: SqlText = sql!("SELECT 1 FROM agent_runs WHERE agent = $1 AND tick = $2");
const BUSY: SqlText =
    sql!("SELECT 1 FROM agent_runs WHERE agent = $1 AND finished IS NULL LIMIT 1");
const FORGET_OLD: SqlText = sql!(
    "DELETE FROM agent_runs
  WHERE agent = $1 AND finished IS NOT NULL AND id <= (
    SELECT id FROM agent_runs WHERE agent = $1 AND finished IS NOT NULL
    ORDER BY id DESC LIMIT 1 OFFSET $2)"
);
const BEGIN: SqlText = sql!(
    "UPDATE agent_runs SET state = 'running', session = $3,
  started = coalesce(started, $4) WHERE agent = $1 AND tick = $2"
);
const STARTED_WITHIN: SqlText = sql!(
    "SELECT started FROM agent_runs
  WHERE started > $1 AND started <= $3 AND cause <> 'manual' ORDER BY started DESC LIMIT $2"
);
const LIST: SqlText = sql!("SELECT agent, tick, cause, " agent_owner ", due, state, session,
    claimed, started, finished, note FROM agent_runs
  WHERE (CAST($1 AS text) IS NULL OR agent = $1) AND ($2 = 0 OR finished IS NULL)
  ORDER BY id DESC LIMIT $3");
const TICKS: SqlText =
    sql!("SELECT agent, max(due) FROM agent_runs WHERE cause = 'cron' GROUP BY agent");

/// Looks what a claim of `run` comes to, and which run is to be written for it, if any.
pub(crate) async fn judge_claim<C: SqlConnection>(
    connection: &mut C,
    run: &AgentRun,
) -> Result<(Claim, Option<AgentRun>), StoreError> {
    let taken = SqlStatement::new(TAKEN).bind(&run.agent).bind(&run.tick);
    if !connection.fetch_rows(CLAIMING, taken).await?.is_empty() {
        return Ok((Claim::Taken, None));
    }
    let busy = SqlStatement::new(BUSY).bind(&run.agent);
    let busy = !connection.fetch_rows(CLAIMING, busy).await?.is_empty();
    if !(run.state.is_open() && busy) {
        return Ok((Claim::Claimed, Some(run.clone())));
    }
    if run.cause.can_wait() {
        return Ok((Claim::Overlaps, None));
    }
    let skipped = run.clone().ended(AgentRunState::Skipped, run.claimed, STILL_RUNNING);
    Ok((Claim::Overlaps, Some(skipped)))
}

/// Removes runs that are over and old.
pub(crate) async fn forget_old_runs<C: SqlConnection>(
    connection: &mut C,
    agent: &str,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(FORGET_OLD).bind(agent).bind(limit_of(AGENT_RUNS_KEPT));
    connection.change_rows(CLAIMING, statement).await.map(drop)
}

/// Writes down that a run that was claimed runs now.
pub(crate) async fn write_beginning<C: SqlConnection>(
    connection: &mut C,
    run: &AgentRun,
    now: Timestamp,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(BEGIN)
        .bind(&run.agent)
        .bind(&run.tick)
        .bind(run.session.as_ref().map(SessionId::as_str))
        .bind(now);
    connection.change_rows(BEGINNING, statement).await.map(drop)
}

/// When the next run may begin, if as many as may were begun within the hour.
pub(crate) async fn find_full_hour<C: SqlConnection>(
    connection: &mut C,
    places: &Places,
) -> Result<Option<Timestamp>, StoreError> {
    let statement = SqlStatement::new(STARTED_WITHIN)
        .bind(places.since())
        .bind(limit_of(places.per_hour))
        .bind(places.until());
    let rows = connection.fetch_rows(BEGINNING, statement).await?;
    match rows.last() {
        Some(row) if rows.len() >= places.per_hour => Ok(Some(row.timestamp(0)?.plus_ms(HOUR_MS))),
        _ => Ok(None),
    }
}

pub(crate) async fn list_runs<C: SqlConnection>(
    connection: &mut C,
    filter: &AgentRunFilter,
) -> Result<Vec<AgentRun>, StoreError> {
    let statement = SqlStatement::new(LIST)
        .bind(filter.agent.as_deref())
        .bind(i64::from(filter.open))
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
