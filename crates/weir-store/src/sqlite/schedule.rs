//! Runs of scheduled agents (M7): how they are claimed, moved on and read. Every change is one
//! transaction that looks first, so that several processes agree on who has what.

use futures::executor::block_on;
use weir_core::schedule::AgentRun;
use weir_engine::ports::{LeaseOwner, PlaceLimits, RunBeginOutcome, StoreError, TickClaim};

use super::connection::{SqliteConnection, SqliteRow};
use super::writer::{ReplySender, WriterThread};
use crate::owner::is_alive;
use crate::sql::{READING, SqlRow};
use crate::tables::agent_runs::{
    BEGINNING, CLAIMING, NOTING, RunHolder, begin_run, claim_tick, note_run, read_run, take_run,
};

const OPEN: &str = "SELECT agent, tick, cause, owner, due, state, session, claimed, started,
  finished, note, holder FROM agent_runs WHERE finished IS NULL ORDER BY id";

const RUNNING: &str = "SELECT holder FROM agent_runs
  WHERE finished IS NULL AND state = 'running' AND cause <> 'manual'";

/// What the writing thread is asked to do about them.
pub(super) enum AgentCommand {
    Claim(Vec<AgentRun>, Option<LeaseOwner>, ReplySender<Vec<TickClaim>>),
    Begin(Box<AgentRun>, LeaseOwner, PlaceLimits, ReplySender<RunBeginOutcome>),
    Note(Box<AgentRun>, LeaseOwner, ReplySender<bool>),
    Take(LeaseOwner, ReplySender<Vec<AgentRun>>),
}

impl WriterThread {
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
        holder: Option<&LeaseOwner>,
    ) -> Result<Vec<TickClaim>, StoreError> {
        let holder = holder.map(|holder| RunHolder::new(CLAIMING, holder, None)).transpose()?;
        self.connection.in_transaction(CLAIMING, |work| {
            let mut claim = |run| block_on(claim_tick(work, run, holder.as_ref()));
            runs.iter().map(&mut claim).collect()
        })
    }

    fn begin_agent_run(
        &mut self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> Result<RunBeginOutcome, StoreError> {
        let holder = RunHolder::new(BEGINNING, holder, None)?;
        self.connection.in_transaction(BEGINNING, |work| {
            let running = count_running(work)?;
            block_on(begin_run(work, run, &holder, places, running))
        })
    }

    fn note_agent_run(&mut self, run: &AgentRun, holder: &LeaseOwner) -> Result<bool, StoreError> {
        let holder = RunHolder::new(NOTING, holder, None)?;
        block_on(note_run(&mut self.connection, run, &holder))
    }

    fn take_agent_runs(&mut self, holder: &LeaseOwner) -> Result<Vec<AgentRun>, StoreError> {
        let holder = RunHolder::new(NOTING, holder, None)?;
        self.connection.in_transaction(NOTING, |work| {
            let mut taken = orphaned_runs(work)?;
            for run in &mut taken {
                block_on(take_run(work, run, &holder))?;
            }
            Ok(taken)
        })
    }
}

/// Runs that take a place: begun by a schedule, not waiting for a person, and their process lives.
fn count_running(connection: &mut SqliteConnection) -> Result<usize, StoreError> {
    let rows = connection.read_rows(READING, RUNNING, [])?;
    let mut count = 0;
    for row in &rows {
        count += usize::from(holder_of(row, 0)?.is_some_and(|holder| is_alive(&holder)));
    }
    Ok(count)
}

/// Runs that are not over and that no living process has, oldest first.
pub(super) fn orphaned_runs(
    connection: &mut SqliteConnection,
) -> Result<Vec<AgentRun>, StoreError> {
    let rows = connection.read_rows(READING, OPEN, [])?;
    let mut found = Vec::new();
    for row in &rows {
        if !holder_of(row, 11)?.is_some_and(|holder| is_alive(&holder)) {
            found.push(read_run(row)?);
        }
    }
    Ok(found)
}

fn holder_of(row: &SqliteRow, column: usize) -> Result<Option<LeaseOwner>, StoreError> {
    let holder = row.optional_text(column)?;
    // One that cannot be read is nobody's.
    Ok(holder.and_then(|text| serde_json::from_str(&text).ok()))
}
