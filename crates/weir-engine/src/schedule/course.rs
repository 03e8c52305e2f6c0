//! How a session of a scheduled agent goes, folded from its facts: what a history needs to know and
//! no more.

use weir_core::event::{NOBODY, RunFinished, RunStatus};
use weir_core::governance::filter::one_line;
use weir_core::ids::SessionId;
use weir_core::view::transcript::{PlacedFact, Transcript, TranscriptChange};

use crate::engine::{EngineError, read_verified};
use crate::hub::PublishedFact;
use crate::ledger::fact_of;
use crate::ports::{AtRest, Store};

/// Denials that a history names.
const DENIALS_NAMED: usize = 3;

/// What has happened so far.
#[derive(Debug, Default)]
pub struct ScheduledRunProgress {
    /// Somebody said something to it.
    pub spoken: bool,
    /// Facts heard.
    pub facts: u64,
    seen: Transcript,
}

impl ScheduledRunProgress {
    /// That of a session that has a journal.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn from_journal(
        store: &dyn Store,
        session: &SessionId,
    ) -> Result<ScheduledRunProgress, EngineError> {
        let mut course = ScheduledRunProgress::default();
        for record in read_verified(store, session).await? {
            course.apply_fact(&fact_of(&record)?);
        }
        Ok(course)
    }

    /// Takes a fact in.
    pub fn apply_fact(&mut self, fact: &PublishedFact) {
        self.facts += 1;
        let at = PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        let changes = self.seen.apply(&at);
        self.spoken |= changes.iter().any(|change| {
            matches!(change, TranscriptChange::InputSaid(_) | TranscriptChange::InputQueued(_))
        });
    }

    /// Whether it waits for a person.
    pub fn is_asking(&self) -> bool {
        self.seen.is_running() && !self.seen.asks().is_empty()
    }

    /// How it came to rest; none: it has not.
    pub fn at_rest(&self) -> Option<AtRest> {
        let end = self.seen.last_run_end().filter(|_| !self.seen.has_untold_input())?;
        Some(AtRest::Ended { status: end.fact.status, note: finished_run_note(&end.fact) })
    }

    /// Whether the task is over, well or badly: what it left for itself goes (X1).
    pub fn is_over(&self) -> bool {
        self.seen.last_run_status().is_some_and(RunStatus::is_over)
    }

    /// Whether the task was done.
    pub fn is_completed(&self) -> bool {
        self.seen.last_run_status() == Some(RunStatus::Completed)
    }
}

/// What a history says of a finished run, beside its status.
fn finished_run_note(finished: &RunFinished) -> String {
    let mut words: Vec<String> = finished.error.iter().map(|error| one_line(error)).collect();
    let denied = finished.denials.iter().take(DENIALS_NAMED).map(|denial| {
        let what = if denial.summary.is_empty() { &denial.tool } else { &denial.summary };
        let why = match denial.by == NOBODY {
            true => "it asks, and nobody could be asked".to_owned(),
            false => format!("by {}", denial.by),
        };
        format!("denied: {} ({why})", one_line(what))
    });
    words.extend(denied);
    if let more @ 1.. = finished.denials.len().saturating_sub(DENIALS_NAMED) {
        words.push(format!("{more} more denials"));
    }
    words.join("; ")
}
