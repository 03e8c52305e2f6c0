//! Runs of scheduled agents of the store in memory: the same contract as in the database.

use std::collections::BTreeMap;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, HOUR_MS, LeaseOwner, PlaceLimits, RunBeginOutcome,
    STILL_RUNNING, TickClaim, session_of_usage,
};

use crate::owner::is_alive;

/// All of them, oldest first.
#[derive(Default)]
pub(super) struct AgentRuns {
    rows: Vec<AgentRunRow>,
}

struct AgentRunRow {
    run: AgentRun,
    holder: Option<LeaseOwner>,
}

impl AgentRuns {
    /// The agent that began `session`, or the session of which it is a sub-agent; empty: none did.
    pub(super) fn agent_of(&self, session: &SessionId) -> &str {
        let root = session_of_usage(session);
        let began = |row: &&AgentRunRow| row.run.session.as_ref() == Some(&root);
        self.rows.iter().find(began).map_or("", |row| row.run.agent.as_str())
    }

    pub(super) fn claim_ticks(
        &mut self,
        runs: &[AgentRun],
        holder: Option<&LeaseOwner>,
    ) -> Vec<TickClaim> {
        runs.iter().map(|run| self.claim_one(run, holder)).collect()
    }

    fn claim_one(&mut self, run: &AgentRun, holder: Option<&LeaseOwner>) -> TickClaim {
        let of_agent = |row: &&AgentRunRow| row.run.agent == run.agent;
        let mut own = self.rows.iter().filter(of_agent);
        if own.any(|row| row.run.tick == run.tick) {
            return TickClaim::Taken;
        }
        let busy = self.rows.iter().filter(of_agent).any(|row| row.run.finished.is_none());
        let overlaps = run.state.is_open() && busy;
        if overlaps && run.cause.can_wait() {
            return TickClaim::Overlaps;
        }
        let (run, holder) = match (overlaps, run.state.is_open()) {
            (true, _) => {
                (run.clone().with_end(AgentRunState::Skipped, run.claimed, STILL_RUNNING), None)
            }
            (false, true) => (run.clone(), holder.cloned()),
            (false, false) => (run.clone(), None),
        };
        let agent = run.agent.clone();
        self.rows.push(AgentRunRow { run, holder });
        self.forget_old(&agent);
        if overlaps { TickClaim::Overlaps } else { TickClaim::Claimed }
    }

    fn forget_old(&mut self, agent: &str) {
        let over = |row: &AgentRunRow| row.run.agent == agent && row.run.finished.is_some();
        let count = self.rows.iter().filter(|row| over(row)).count();
        let mut surplus = count.saturating_sub(AGENT_RUNS_KEPT);
        self.rows.retain(|row| {
            let goes = surplus > 0 && over(row);
            surplus -= usize::from(goes);
            !goes
        });
    }

    pub(super) fn begin_run(
        &mut self,
        run: &AgentRun,
        holder: &LeaseOwner,
        places: &PlaceLimits,
    ) -> RunBeginOutcome {
        let Some(at) = self.row_position(run) else { return RunBeginOutcome::Gone };
        let row = &self.rows[at];
        if row.run.state != AgentRunState::Waiting || row.holder.as_ref() != Some(holder) {
            return RunBeginOutcome::Gone;
        }
        let of_schedule = |row: &&AgentRunRow| row.run.cause != AgentCause::Manual;
        let under_way = |row: &&AgentRunRow| {
            row.run.state == AgentRunState::Running && row.holder.as_ref().is_some_and(is_alive)
        };
        if self.rows.iter().filter(of_schedule).filter(under_way).count() >= places.at_once {
            return RunBeginOutcome::Full;
        }
        let (since, until) = (places.hour_start(), places.latest_start());
        let begun = self.rows.iter().filter(of_schedule).filter_map(|row| row.run.started);
        let counts = |started: &Timestamp| *started > since && *started <= until;
        let mut begun: Vec<Timestamp> = begun.filter(counts).collect();
        begun.sort();
        if places.per_hour > 0 && row.run.started.is_none() && begun.len() >= places.per_hour {
            let until = begun[begun.len() - places.per_hour].plus_ms(HOUR_MS);
            return RunBeginOutcome::HourFull { until };
        }
        let row = &mut self.rows[at];
        row.run.state = AgentRunState::Running;
        row.run.session.clone_from(&run.session);
        row.run.started = row.run.started.or(Some(places.now));
        RunBeginOutcome::Begun
    }

    pub(super) fn note_run(&mut self, run: &AgentRun, holder: &LeaseOwner) -> bool {
        let Some(at) = self.row_position(run) else { return false };
        let row = &mut self.rows[at];
        if row.holder.as_ref() != Some(holder) {
            return false;
        }
        let keeps = matches!(run.state, AgentRunState::Running | AgentRunState::Asking);
        *row = AgentRunRow { run: run.clone(), holder: keeps.then(|| holder.clone()) };
        true
    }

    pub(super) fn take_orphaned_runs(&mut self, holder: &LeaseOwner) -> Vec<AgentRun> {
        let mut taken = Vec::new();
        for row in self.rows.iter_mut().filter(|row| row.run.finished.is_none()) {
            if row.holder.as_ref().is_some_and(is_alive) {
                continue;
            }
            row.holder = Some(holder.clone());
            row.run.state = AgentRunState::Waiting;
            taken.push(row.run.clone());
        }
        taken
    }

    pub(super) fn list_runs(&self, filter: &AgentRunFilter) -> Vec<AgentRun> {
        let runs = self.rows.iter().rev().map(|row| &row.run);
        let wanted = runs
            .filter(|run| filter.agent.as_ref().is_none_or(|agent| *agent == run.agent))
            .filter(|run| filter.session.is_none() || filter.session == run.session)
            .filter(|run| !filter.open || run.finished.is_none());
        wanted.take(filter.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    pub(super) fn latest_ticks(&self) -> BTreeMap<String, Timestamp> {
        let mut ticks = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.run.cause == AgentCause::Cron) {
            let newest = ticks.entry(row.run.agent.clone()).or_insert(row.run.due);
            *newest = row.run.due.max(*newest);
        }
        ticks
    }

    fn row_position(&self, run: &AgentRun) -> Option<usize> {
        self.rows.iter().position(|row| row.run.agent == run.agent && row.run.tick == run.tick)
    }
}
