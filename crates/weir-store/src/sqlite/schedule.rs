//! Runs of scheduled agents (M7): how they are claimed, moved on and read. Every change is one
//! transaction that looks first, so that several processes agree on who has what.

use std::collections::BTreeMap;

use futures::executor::block_on;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, Begin, Claim, HOUR_MS, Owner, Places, STILL_RUNNING,
    StoreError,
};

use super::error::failed;
use super::knowledge::to_json;
use super::read::{all, cell, text};
use super::writer::{Answer, Writer};
use crate::owner::is_alive;

const CLAIMING: &str = "claiming ticks of scheduled agents";
const BEGINNING: &str = "beginning a run of a scheduled agent";
const NOTING: &str = "writing down a run of a scheduled agent";

const OPEN: &str = "SELECT agent, tick, cause, owner, due, state, session, claimed, started,
  finished, note, holder FROM agent_runs WHERE finished IS NULL ORDER BY id";

const LIST: &str = "SELECT agent, tick, cause, owner, due, state, session, claimed, started,
  finished, note, holder FROM agent_runs WHERE ($1 IS NULL OR agent = $1)
  AND ($2 = 0 OR finished IS NULL) ORDER BY id DESC LIMIT $3";

/// What the writing thread is asked to do about them.
pub(super) enum AgentCommand {
    Claim(Vec<AgentRun>, Option<Owner>, Answer<Vec<Claim>>),
    Begin(Box<AgentRun>, Owner, Places, Answer<Begin>),
    Note(Box<AgentRun>, Owner, Answer<bool>),
    Take(Owner, Answer<Vec<AgentRun>>),
}

impl Writer {
    pub(super) fn serve_agents(&mut self, command: AgentCommand) {
        match command {
            AgentCommand::Claim(runs, holder, answer) => {
                let _ = answer.send(self.claim_ticks(&runs, holder.as_ref()));
            }
            AgentCommand::Begin(run, holder, places, answer) => {
                let _ = answer.send(self.begin_agent_run(&run, &holder, &places));
            }
            AgentCommand::Note(run, holder, answer) => {
                let _ = answer.send(self.note_agent_run(&run, &holder));
            }
            AgentCommand::Take(holder, answer) => {
                let _ = answer.send(self.take_agent_runs(&holder));
            }
        }
    }

    fn claim_ticks(
        &mut self,
        runs: &[AgentRun],
        holder: Option<&Owner>,
    ) -> Result<Vec<Claim>, StoreError> {
        let holder = holder.map(|holder| to_json(CLAIMING, holder)).transpose()?;
        self.in_transaction(CLAIMING, |me| {
            runs.iter().map(|run| me.claim_tick(run, holder.as_deref())).collect()
        })
    }

    fn claim_tick(&mut self, run: &AgentRun, holder: Option<&str>) -> Result<Claim, StoreError> {
        let query = sqlx::query("SELECT 1 FROM agent_runs WHERE agent = $1 AND tick = $2");
        let query = query.bind(run.agent.clone()).bind(run.tick.clone());
        if !block_on(all(&mut self.connection, query))?.is_empty() {
            return Ok(Claim::Taken);
        }
        let query =
            sqlx::query("SELECT 1 FROM agent_runs WHERE agent = $1 AND finished IS NULL LIMIT 1");
        let busy = block_on(all(&mut self.connection, query.bind(run.agent.clone())))?;
        let overlaps = run.state.is_open() && !busy.is_empty();
        if overlaps && run.cause.can_wait() {
            return Ok(Claim::Overlaps);
        }
        let written = match overlaps {
            true => run.clone().ended(AgentRunState::Skipped, run.claimed, STILL_RUNNING),
            false => run.clone(),
        };
        self.insert_run(&written, holder.filter(|_| written.state.is_open()))?;
        // What is over and old goes.
        let query = sqlx::query(
            "DELETE FROM agent_runs WHERE agent = $1 AND finished IS NOT NULL AND id <= (
               SELECT id FROM agent_runs WHERE agent = $1 AND finished IS NOT NULL
               ORDER BY id DESC LIMIT 1 OFFSET $2)",
        );
        let kept = i64::try_from(AGENT_RUNS_KEPT).unwrap_or(i64::MAX);
        self.done(CLAIMING, query.bind(run.agent.clone()).bind(kept))?;
        Ok(if overlaps { Claim::Overlaps } else { Claim::Claimed })
    }

    fn insert_run(&mut self, run: &AgentRun, holder: Option<&str>) -> Result<(), StoreError> {
        let query = sqlx::query(
            "INSERT INTO agent_runs (agent, tick, cause, owner, due, state, session, claimed,
               started, finished, note, holder)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(run.agent.clone())
        .bind(run.tick.clone())
        .bind(run.cause.as_str())
        .bind(run.owner.clone())
        .bind(run.due.micros())
        .bind(run.state.as_str())
        .bind(run.session.as_ref().map(|id| id.as_str().to_owned()))
        .bind(run.claimed.micros())
        .bind(run.started.map(Timestamp::micros))
        .bind(run.finished.map(Timestamp::micros))
        .bind(run.note.clone())
        .bind(holder.map(str::to_owned));
        self.done(CLAIMING, query).map(drop)
    }

    fn begin_agent_run(
        &mut self,
        run: &AgentRun,
        holder: &Owner,
        places: &Places,
    ) -> Result<Begin, StoreError> {
        let mine = to_json(BEGINNING, holder)?;
        self.in_transaction(BEGINNING, |me| {
            let query = sqlx::query(
                "SELECT started FROM agent_runs WHERE agent = $1 AND tick = $2
                 AND state = 'waiting' AND holder = $3",
            );
            let query = query.bind(run.agent.clone()).bind(run.tick.clone()).bind(mine.clone());
            let found = block_on(all(&mut me.connection, query))?;
            let Some(row) = found.first() else { return Ok(Begin::Gone) };
            let begun_before: Option<i64> = cell(row, 0)?;
            if me.under_way()? >= places.at_once {
                return Ok(Begin::Full);
            }
            if begun_before.is_none()
                && places.per_hour > 0
                && let Some(until) = me.hour_full(places)?
            {
                return Ok(Begin::HourFull { until });
            }
            let query = sqlx::query(
                "UPDATE agent_runs SET state = 'running', session = $3,
                   started = COALESCE(started, $4) WHERE agent = $1 AND tick = $2",
            )
            .bind(run.agent.clone())
            .bind(run.tick.clone())
            .bind(run.session.as_ref().map(|id| id.as_str().to_owned()))
            .bind(places.now.micros());
            me.done(BEGINNING, query)?;
            Ok(Begin::Begun)
        })
    }

    /// Runs that take a place: begun by a schedule, not waiting for a person, and their process
    /// lives.
    fn under_way(&mut self) -> Result<usize, StoreError> {
        let query = sqlx::query(
            "SELECT holder FROM agent_runs WHERE finished IS NULL AND state = 'running'
             AND cause <> 'manual'",
        );
        let rows = block_on(all(&mut self.connection, query))?;
        let mut count = 0;
        for row in &rows {
            count += usize::from(holder_of(row, 0)?.is_some_and(|holder| is_alive(&holder)));
        }
        Ok(count)
    }

    /// When the next run may begin, if as many as may were begun within the hour.
    fn hour_full(&mut self, places: &Places) -> Result<Option<Timestamp>, StoreError> {
        let query = sqlx::query(
            "SELECT started FROM agent_runs WHERE started > $1 AND started <= $3
             AND cause <> 'manual' ORDER BY started DESC LIMIT $2",
        );
        let since = places.since().micros();
        let most = i64::try_from(places.per_hour).unwrap_or(i64::MAX);
        let query = query.bind(since).bind(most).bind(places.until().micros());
        let rows = block_on(all(&mut self.connection, query))?;
        match rows.last() {
            Some(row) if rows.len() >= places.per_hour => {
                Ok(Some(Timestamp(cell(row, 0)?).plus_ms(HOUR_MS)))
            }
            _ => Ok(None),
        }
    }

    fn note_agent_run(&mut self, run: &AgentRun, holder: &Owner) -> Result<bool, StoreError> {
        let mine = to_json(NOTING, holder)?;
        let keeps = matches!(run.state, AgentRunState::Running | AgentRunState::Asking);
        let query = sqlx::query(
            "UPDATE agent_runs SET state = $3, session = $4, started = $5, finished = $6, note = $7,
               holder = $8 WHERE agent = $1 AND tick = $2 AND holder = $9",
        )
        .bind(run.agent.clone())
        .bind(run.tick.clone())
        .bind(run.state.as_str())
        .bind(run.session.as_ref().map(|id| id.as_str().to_owned()))
        .bind(run.started.map(Timestamp::micros))
        .bind(run.finished.map(Timestamp::micros))
        .bind(run.note.clone())
        .bind(keeps.then(|| mine.clone()))
        .bind(mine);
        Ok(self.done(NOTING, query)? > 0)
    }

    fn take_agent_runs(&mut self, holder: &Owner) -> Result<Vec<AgentRun>, StoreError> {
        let mine = to_json(NOTING, holder)?;
        self.in_transaction(NOTING, |me| {
            let mut taken = block_on(orphans(&mut me.connection))?;
            for run in &mut taken {
                run.state = AgentRunState::Waiting;
                let query = sqlx::query(
                    "UPDATE agent_runs SET state = 'waiting', holder = $3
                     WHERE agent = $1 AND tick = $2",
                );
                let query = query.bind(run.agent.clone()).bind(run.tick.clone());
                me.done(NOTING, query.bind(mine.clone()))?;
            }
            Ok(taken)
        })
    }

    /// Runs a statement; how many rows it touched.
    fn done(
        &mut self,
        doing: &str,
        query: sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>,
    ) -> Result<u64, StoreError> {
        let done = block_on(query.execute(&mut self.connection));
        Ok(done.map_err(|e| failed(doing, &e))?.rows_affected())
    }
}

/// Runs that are not over and that no living process has, oldest first.
pub(super) async fn orphans(
    connection: &mut SqliteConnection,
) -> Result<Vec<AgentRun>, StoreError> {
    let rows = all(connection, sqlx::query(OPEN)).await?;
    let mut found = Vec::new();
    for row in &rows {
        if !holder_of(row, 11)?.is_some_and(|holder| is_alive(&holder)) {
            found.push(run_of(row)?);
        }
    }
    Ok(found)
}

pub(super) async fn agent_runs(
    connection: &mut SqliteConnection,
    filter: &AgentRunFilter,
) -> Result<Vec<AgentRun>, StoreError> {
    let limit = filter.limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX);
    let query = sqlx::query(LIST).bind(filter.agent.clone()).bind(i64::from(filter.open));
    let query = query.bind(limit);
    let rows = all(connection, query).await?;
    rows.iter().map(run_of).collect()
}

pub(super) async fn agent_ticks(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, Timestamp>, StoreError> {
    let query =
        sqlx::query("SELECT agent, max(due) FROM agent_runs WHERE cause = 'cron' GROUP BY agent");
    let rows = all(connection, query).await?;
    rows.iter().map(|row| Ok((text(row, 0)?, Timestamp(cell(row, 1)?)))).collect()
}

fn holder_of(row: &SqliteRow, column: usize) -> Result<Option<Owner>, StoreError> {
    let holder: Option<String> = cell(row, column)?;
    // One that cannot be read is nobody's.
    Ok(holder.and_then(|text| serde_json::from_str(&text).ok()))
}

fn run_of(row: &SqliteRow) -> Result<AgentRun, StoreError> {
    let damaged =
        |why: String| StoreError::Damaged { what: "a run of a scheduled agent".to_string(), why };
    let session: Option<String> = cell(row, 6)?;
    let started: Option<i64> = cell(row, 8)?;
    let finished: Option<i64> = cell(row, 9)?;
    Ok(AgentRun {
        agent: text(row, 0)?,
        tick: text(row, 1)?,
        cause: text(row, 2)?.parse().map_err(damaged)?,
        owner: text(row, 3)?,
        due: Timestamp(cell(row, 4)?),
        state: text(row, 5)?.parse().map_err(damaged)?,
        session: session.map(SessionId::new),
        claimed: Timestamp(cell(row, 7)?),
        started: started.map(Timestamp),
        finished: finished.map(Timestamp),
        note: text(row, 10)?,
    })
}
