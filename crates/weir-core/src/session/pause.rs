//! A run that a person paused (R5): who did it, and what waits until somebody lets it go on. Its wall time
//! stands still meanwhile. Not here: the kill switch, which ends runs.

use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::event::{Event, RunPaused, RunResumed};
use crate::ids::Timestamp;

use super::{RunPhase, Session};

/// That the run is paused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunPause {
    /// Name of the person who paused it.
    by: String,
    #[serde(with = "super::snapshot::exact_time")]
    since: Timestamp,
}

impl Session {
    /// The name of the person who paused the run that is on; `None`: it is not paused, or none is on.
    pub fn paused_by(&self) -> Option<&str> {
        let pause = self.run.as_ref()?.paused.as_ref()?;
        Some(pause.by.as_str())
    }

    /// Whether `effect` is owed and must not begin now, because the run is paused. What is in flight goes
    /// on: the journal says that it happened, or it changes nothing.
    pub fn holds_back(&self, effect: &Effect) -> bool {
        let begins = match effect {
            // The journal says that it began, or it ends something.
            Effect::Ask { .. }
            | Effect::Salvage { .. }
            | Effect::Run { .. }
            | Effect::Stop { .. }
            | Effect::Reconcile { .. } => false,
            // A person may answer, and time passes.
            Effect::AskPerson { .. } | Effect::AskQuestion { .. } | Effect::Wait { .. } => false,
            Effect::Look
            | Effect::Prepare { .. }
            | Effect::Inspect { .. }
            | Effect::Checkpoint { .. }
            | Effect::Verify
            | Effect::Condense
            | Effect::PlanRecipe
            | Effect::Remember
            | Effect::Switch
            | Effect::SwitchModel => true,
        };
        begins && self.paused_by().is_some()
    }

    /// The moment to which the run's wall time has come at `now`: that of a paused run stands still.
    pub(super) fn run_clock(&self, now: Timestamp) -> Timestamp {
        let pause = self.run.as_ref().and_then(|run| run.paused.as_ref());
        pause.map_or(now, |pause| pause.since.min(now))
    }

    /// Pausing it, where that changes anything.
    pub(super) fn pause_fact(&self, by: String) -> Option<Event> {
        let run = self.run.as_ref()?;
        let ends = run.cancel.is_some() || matches!(run.phase, RunPhase::Ending(..));
        (run.paused.is_none() && !ends).then(|| RunPaused { by }.into())
    }

    /// Letting it go on, where that changes anything.
    pub(super) fn resume_fact(&self, by: String) -> Option<Event> {
        self.paused_by()?;
        Some(RunResumed { by }.into())
    }

    pub(super) fn apply_pause(&mut self, since: Timestamp, f: &RunPaused) {
        if let Some(run) = &mut self.run {
            run.paused = Some(RunPause { by: f.by.clone(), since });
        }
    }

    pub(super) fn apply_resume(&mut self, now: Timestamp) {
        let Some(run) = &mut self.run else { return };
        if let Some(pause) = run.paused.take() {
            run.away_ms += now.ms_since(pause.since);
        }
    }
}

#[cfg(test)]
mod tests;
