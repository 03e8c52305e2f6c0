//! What came of the sessions: how many, what was wrong, and of which plan. Not here: what is wrong with one.

use std::collections::BTreeMap;
use std::fmt;

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

    /// A line for each plan: how often it was hit, in how many sessions, and how many of those were faulty.
    pub(super) fn by_plan(&self) -> Vec<String> {
        let line = |(plan, tally): (&Plan, &PlanTally)| {
            let PlanTally { kills, sessions, faulty } = tally;
            format!("{plan}: kills={kills} sessions={sessions} faulty={faulty}")
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
