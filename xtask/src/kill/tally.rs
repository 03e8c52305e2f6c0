//! What came of the sessions: how many, what was wrong, and of which plan. Not here: what is wrong with one.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::plan::Plan;
use super::session::Played;
use super::{Fault, Finding};

/// The columns of the summary.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) sessions: u64,
    pub(super) faulty: u64,
    facts_lost: u64,
    effects_doubled: u64,
    unknowns_unsaid: u64,
    unknowns_said: u64,
    orphans: u64,
    unfinished: u64,
    broken_journals: u64,
    plans: BTreeMap<Plan, PlanTally>,
}

/// What came of the sessions of one plan.
#[derive(Debug, Clone, Copy, Default)]
struct PlanTally {
    kills: u64,
    sessions: u64,
    faulty: u64,
    /// What they took together.
    took: Duration,
}

impl Tally {
    /// Takes in a session that was played by this plan.
    pub(super) fn add(&mut self, plan: Plan, played: &Played) {
        let faulty = u64::from(!played.findings.is_empty());
        self.sessions += 1;
        self.unknowns_said += played.unknowns_said;
        self.faulty += faulty;
        let of_plan = self.plans.entry(plan).or_default();
        of_plan.kills += played.kills;
        of_plan.sessions += 1;
        of_plan.took += played.took;
        of_plan.faulty += faulty;
        for Finding { fault, .. } in &played.findings {
            let column = match fault {
                Fault::FactLost => &mut self.facts_lost,
                Fault::EffectDoubled => &mut self.effects_doubled,
                Fault::UnknownUnsaid => &mut self.unknowns_unsaid,
                Fault::Orphan => &mut self.orphans,
                Fault::Unfinished => &mut self.unfinished,
                Fault::BrokenJournal => &mut self.broken_journals,
            };
            *column += 1;
        }
    }

    /// How many plans there were.
    pub(super) fn plans(&self) -> usize {
        self.plans.len()
    }

    /// A line for each plan: how often it was hit, which share of all kills that is, in how many sessions, how many
    /// of those were faulty, and how long a kill took with everything about it.
    pub(super) fn by_plan(&self) -> Vec<String> {
        let all: u64 = self.plans.values().map(|tally| tally.kills).sum();
        let line = |(plan, tally): (&Plan, &PlanTally)| {
            let PlanTally { kills, sessions, faulty, took } = tally;
            let share = *kills as f64 * 100.0 / all.max(1) as f64;
            let ms = took.as_secs_f64() * 1e3 / (*kills).max(1) as f64;
            format!(
                "{plan}: kills={kills} share={share:.1}% sessions={sessions} faulty={faulty} \
                 ms_per_kill={ms:.0}"
            )
        };
        self.plans.iter().map(line).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sessions={} facts_lost={} effects_doubled={} unknowns_unsaid={} unknowns_said={} \
             orphans={} unfinished={} broken_journals={}",
            self.sessions,
            self.facts_lost,
            self.effects_doubled,
            self.unknowns_unsaid,
            self.unknowns_said,
            self.orphans,
            self.unfinished,
            self.broken_journals
        )
    }
}
