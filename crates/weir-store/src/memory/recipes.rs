//! How often recipes worked, and solved runs, of the store in memory: the same contract as in the
//! database.

use std::collections::BTreeMap;

use weir_core::ids::{RunId, SessionId, Timestamp};
use weir_core::recipe::{RecipeStanding, RecipeUse, SolvedRun};
use weir_core::sorting::sort_stably;
use weir_engine::ports::{SOLVED_RUNS_MAX, SolvedFilter};

/// What is known about recipes and their makings.
#[derive(Default)]
pub(super) struct RecipeNotes {
    counts: BTreeMap<String, RecipeStanding>,
    solved: BTreeMap<(SessionId, RunId), SolvedRun>,
}

impl RecipeNotes {
    pub(super) fn count_use(&mut self, used: &RecipeUse, ts: Timestamp) {
        let standing = self.counts.entry(used.recipe.clone()).or_default();
        let count = if used.ok { &mut standing.successes } else { &mut standing.failures };
        *count = count.saturating_add(1);
        standing.last_used = Some(ts);
    }

    pub(super) fn note_solved_run(&mut self, run: SolvedRun) {
        self.solved.entry((run.session.clone(), run.run)).or_insert(run);
        while self.solved.len() > SOLVED_RUNS_MAX {
            let oldest = self.solved.values().min_by_key(|run| (run.ts, &run.session, run.run));
            let Some(key) = oldest.map(|run| (run.session.clone(), run.run)) else { return };
            self.solved.remove(&key);
        }
    }

    pub(super) fn recipe_counts(&self) -> BTreeMap<String, RecipeStanding> {
        self.counts.clone()
    }

    pub(super) fn reset_counts(&mut self, recipe: &str) {
        self.counts.remove(recipe);
    }

    pub(super) fn solved_runs(&self, filter: &SolvedFilter) -> Vec<SolvedRun> {
        let wanted = |run: &&SolvedRun| filter.profile.as_ref().is_none_or(|p| *p == run.profile);
        let mut found: Vec<SolvedRun> = self.solved.values().filter(wanted).cloned().collect();
        sort_stably(&mut found, |a, b| (b.ts, &b.session, b.run).cmp(&(a.ts, &a.session, a.run)));
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        found
    }

    /// Forgets the runs of a session that is deleted.
    pub(super) fn forget_session(&mut self, session: &SessionId) {
        self.solved.retain(|(of, _), _| of != session);
    }
}
