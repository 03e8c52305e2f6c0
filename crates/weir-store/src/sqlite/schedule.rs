//! Runs of scheduled agents (M7): how they are claimed, moved on and read. Every change is one
//! transaction that looks first, so that several processes agree on who has what.

use futures::executor::block_on;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use weir_core::ids::Timestamp;
use weir_core::schedule::{AgentRun, AgentRunState};
use weir_engine::ports::{Begin, Claim, Owner, Places, StoreError};

use super::error::failed;
use super::read::{all, cell};
use super::writer::{Answer, Writer};
use crate::owner::is_alive;
use crate::sql::to_json;
use crate::tables::agent_runs::{
    BEGINNING, CLAIMING, NOTING, find_full_hour, forget_old_runs, judge_claim, read_run,
    write_beginning,
};

const OPEN: &str = "SELECT agent, tick, cause, owner, due, state, session, claimed, started,
  finished, note, holder FROM agent_runs WHERE finished IS NULL ORDER BY id";

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
        let (claim, written) = block_on(judge_claim(&mut self.connection, run))?;
        if let Some(written) = written {
            self.insert_run(&written, holder.filter(|_| written.state.is_open()))?;
            block_on(forget_old_runs(&mut self.connection, &run.agent))?;
        }
        Ok(claim)
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
                && let Some(until) = block_on(find_full_hour(&mut me.connection, places))?
            {
                return Ok(Begin::HourFull { until });
            }
            block_on(write_beginning(&mut me.connection, run, places.now))?;
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
            found.push(read_run(row)?);
        }
    }
    Ok(found)
}

fn holder_of(row: &SqliteRow, column: usize) -> Result<Option<Owner>, StoreError> {
    let holder: Option<String> = cell(row, column)?;
    // One that cannot be read is nobody's.
    Ok(holder.and_then(|text| serde_json::from_str(&text).ok()))
}
