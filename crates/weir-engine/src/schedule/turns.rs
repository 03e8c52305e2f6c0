//! Whose turn it is among the runs that wait: owners one after another, each with their oldest run
//! first. Somebody with a hundred agents does not keep somebody with one waiting.

use std::collections::{BTreeMap, VecDeque};

use weir_core::schedule::{AgentCause, AgentRun};

/// The runs that wait for a place.
#[derive(Debug, Default)]
pub(super) struct RunQueue {
    waiting: BTreeMap<String, VecDeque<AgentRun>>,
    /// The person who had the last turn.
    last: Option<String>,
}

impl RunQueue {
    /// Puts a run behind the others of its owner; before them if a person wants it now.
    pub(super) fn push(&mut self, run: AgentRun) {
        let waiting = self.waiting.entry(run.owner.clone()).or_default();
        match run.cause {
            AgentCause::Manual => waiting.push_front(run),
            AgentCause::Cron | AgentCause::After | AgentCause::Mail => waiting.push_back(run),
        }
    }

    /// Gives back what was just taken: it stays its owner's turn.
    pub(super) fn put_back(&mut self, run: AgentRun) {
        // Whoever comes before this owner had the last turn, as far as the next one is concerned.
        let before = self.waiting.range(..run.owner.clone()).next_back();
        self.last = before.map(|(owner, _)| owner.clone());
        self.waiting.entry(run.owner.clone()).or_default().push_front(run);
    }

    /// The run whose turn it is.
    pub(super) fn pop(&mut self) -> Option<AgentRun> {
        use std::ops::Bound;
        let after = match &self.last {
            Some(last) => (Bound::Excluded(last.clone()), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let next = self.waiting.range(after).next().or_else(|| self.waiting.iter().next());
        let owner = next.map(|(owner, _)| owner.clone())?;
        let waiting = self.waiting.get_mut(&owner)?;
        let run = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&owner);
        }
        self.last = Some(owner);
        run
    }

    /// Everything that waits, in no particular order.
    pub(super) fn drain(&mut self) -> Vec<AgentRun> {
        std::mem::take(&mut self.waiting).into_values().flatten().collect()
    }

    /// Whether a run of this agent waits.
    pub(super) fn has_run_of(&self, agent: &str) -> bool {
        self.waiting.values().flatten().any(|run| run.agent == agent)
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::Timestamp;
    use weir_core::schedule::{AgentCause, AgentRunState};

    use super::*;

    fn run(owner: &str, tick: &str) -> AgentRun {
        AgentRun {
            agent: tick.into(),
            tick: tick.into(),
            cause: AgentCause::Cron,
            owner: owner.into(),
            due: Timestamp(0),
            state: AgentRunState::Waiting,
            session: None,
            claimed: Timestamp(0),
            started: None,
            finished: None,
            note: String::new(),
        }
    }

    #[test]
    fn m7_owners_take_turns() {
        let mut turns = RunQueue::default();
        for tick in ["a1", "a2", "a3", "a4"] {
            turns.push(run("ada", tick));
        }
        turns.push(run("bob", "b1"));
        turns.push(run("eve", "e1"));
        turns.push(run("bob", "b2"));
        let mut order = Vec::new();
        while let Some(next) = turns.pop() {
            order.push(next.tick);
            if order.len() == 2 {
                // Nobody loses a turn because there was no place.
                turns.put_back(run("bob", order.pop().expect("it was bob's").as_str()));
                order.extend(turns.pop().map(|run| run.tick));
            }
        }
        assert_eq!(order, ["a1", "b1", "e1", "a2", "b2", "a3", "a4"]);
        assert!(turns.is_empty());
        turns.push(run("ada", "a5"));
        turns.push(run("zoe", "z1"));
        assert!(turns.has_run_of("z1") && !turns.has_run_of("a1"));
        assert_eq!(turns.drain().len(), 2);
    }
}
