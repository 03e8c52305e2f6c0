//! Runs of scheduled agents of the store in memory: the same contract as in the database.

use std::collections::BTreeMap;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState};
use weir_engine::ports::{
    AGENT_RUNS_KEPT, AgentRunFilter, Begin, Claim, HOUR_MS, Owner, Places, STILL_RUNNING,
};

use crate::owner::is_alive;

/// All of them, oldest first.
#[derive(Default)]
pub(super) struct AgentRuns {
    rows: Vec<Row>,
}

struct Row {
    run: AgentRun,
    holder: Option<Owner>,
}

impl AgentRuns {
    /// The agent that began `session`; empty: none did.
    pub(super) fn agent_of(&self, session: &SessionId) -> &str {
        let began = |row: &&Row| row.run.session.as_ref() == Some(session);
        self.rows.iter().find(began).map_or("", |row| row.run.agent.as_str())
    }

    pub(super) fn claim(&mut self, runs: &[AgentRun], holder: Option<&Owner>) -> Vec<Claim> {
        runs.iter().map(|run| self.claim_one(run, holder)).collect()
    }

    fn claim_one(&mut self, run: &AgentRun, holder: Option<&Owner>) -> Claim {
        let of_agent = |row: &&Row| row.run.agent == run.agent;
        let mut own = self.rows.iter().filter(of_agent);
        if own.any(|row| row.run.tick == run.tick) {
            return Claim::Taken;
        }
        let busy = self.rows.iter().filter(of_agent).any(|row| row.run.finished.is_none());
        let overlaps = run.state.is_open() && busy;
        if overlaps && run.cause.can_wait() {
            return Claim::Overlaps;
        }
        let (run, holder) = match (overlaps, run.state.is_open()) {
            (true, _) => {
                (run.clone().ended(AgentRunState::Skipped, run.claimed, STILL_RUNNING), None)
            }
            (false, true) => (run.clone(), holder.cloned()),
            (false, false) => (run.clone(), None),
        };
        let agent = run.agent.clone();
        self.rows.push(Row { run, holder });
        self.forget_old(&agent);
        if overlaps { Claim::Overlaps } else { Claim::Claimed }
    }

    fn forget_old(&mut self, agent: &str) {
        let over = |row: &Row| row.run.agent == agent && row.run.finished.is_some();
        let count = self.rows.iter().filter(|row| over(row)).count();
        let mut surplus = count.saturating_sub(AGENT_RUNS_KEPT);
        self.rows.retain(|row| {
            let goes = surplus > 0 && over(row);
            surplus -= usize::from(goes);
            !goes
        });
    }

    pub(super) fn begin(&mut self, run: &AgentRun, holder: &Owner, places: &Places) -> Begin {
        let Some(at) = self.position(run) else { return Begin::Gone };
        let row = &self.rows[at];
        if row.run.state != AgentRunState::Waiting || row.holder.as_ref() != Some(holder) {
            return Begin::Gone;
        }
        let of_schedule = |row: &&Row| row.run.cause != AgentCause::Manual;
        let under_way = |row: &&Row| {
            row.run.state == AgentRunState::Running && row.holder.as_ref().is_some_and(is_alive)
        };
        if self.rows.iter().filter(of_schedule).filter(under_way).count() >= places.at_once {
            return Begin::Full;
        }
        let (since, until) = (places.since(), places.until());
        let begun = self.rows.iter().filter(of_schedule).filter_map(|row| row.run.started);
        let counts = |started: &Timestamp| *started > since && *started <= until;
        let mut begun: Vec<Timestamp> = begun.filter(counts).collect();
        begun.sort();
        if places.per_hour > 0 && row.run.started.is_none() && begun.len() >= places.per_hour {
            let until = begun[begun.len() - places.per_hour].plus_ms(HOUR_MS);
            return Begin::HourFull { until };
        }
        let row = &mut self.rows[at];
        row.run.state = AgentRunState::Running;
        row.run.session.clone_from(&run.session);
        row.run.started = row.run.started.or(Some(places.now));
        Begin::Begun
    }

    pub(super) fn note(&mut self, run: &AgentRun, holder: &Owner) -> bool {
        let Some(at) = self.position(run) else { return false };
        let row = &mut self.rows[at];
        if row.holder.as_ref() != Some(holder) {
            return false;
        }
        let keeps = matches!(run.state, AgentRunState::Running | AgentRunState::Asking);
        *row = Row { run: run.clone(), holder: keeps.then(|| holder.clone()) };
        true
    }

    pub(super) fn take(&mut self, holder: &Owner) -> Vec<AgentRun> {
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

    pub(super) fn list(&self, filter: &AgentRunFilter) -> Vec<AgentRun> {
        let runs = self.rows.iter().rev().map(|row| &row.run);
        let wanted = runs
            .filter(|run| filter.agent.as_ref().is_none_or(|agent| *agent == run.agent))
            .filter(|run| !filter.open || run.finished.is_none());
        wanted.take(filter.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    pub(super) fn ticks(&self) -> BTreeMap<String, Timestamp> {
        let mut ticks = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.run.cause == AgentCause::Cron) {
            let newest = ticks.entry(row.run.agent.clone()).or_insert(row.run.due);
            *newest = row.run.due.max(*newest);
        }
        ticks
    }

    fn position(&self, run: &AgentRun) -> Option<usize> {
        self.rows.iter().position(|row| row.run.agent == run.agent && row.run.tick == run.tick)
    }
}
