//! How a session of a scheduled agent goes, folded from its facts: what a history needs to know and
//! no more.

use std::collections::BTreeSet;

use weir_core::event::{Event, NOBODY, RunFinished, RunStatus};
use weir_core::governance::filter::one_line;
use weir_core::ids::{InputId, SessionId};

use crate::engine::{EngineError, read_verified};
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
    queued: BTreeSet<InputId>,
    finished: Option<RunFinished>,
    asked: BTreeSet<String>,
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
            course.apply_fact(&fact_of(&record)?.event);
        }
        Ok(course)
    }

    /// Takes a fact in.
    pub fn apply_fact(&mut self, event: &Event) {
        self.facts += 1;
        match event {
            Event::InputAccepted(f) => {
                self.spoken = true;
                self.queued.insert(f.input);
            }
            Event::InputWithdrawn(f) => drop(self.queued.remove(&f.input)),
            Event::TurnStarted(f) => self.queued.retain(|input| !f.inputs.contains(input)),
            Event::QuestionAsked(f) => drop(self.asked.insert(f.question.to_string())),
            Event::QuestionAnswered(f) => {
                self.asked.remove(f.question.as_str());
                self.queued.retain(|input| Some(*input) != f.input);
            }
            Event::ApprovalRequested(f) => drop(self.asked.insert(f.approval.to_string())),
            Event::ApprovalResolved(f) => drop(self.asked.remove(f.approval.as_str())),
            // What a sub-agent asks is asked on behalf of this session.
            Event::AgentAsked(f) => drop(self.asked.insert(f.request.approval.to_string())),
            Event::AgentAnswered(f) => drop(self.asked.remove(f.approval.as_str())),
            Event::RunStarted(_) => self.finished = None,
            Event::RunFinished(f) => {
                self.asked.clear();
                self.finished = Some(f.clone());
            }
            _ => (),
        }
    }

    /// Whether it waits for a person.
    pub fn is_asking(&self) -> bool {
        !self.asked.is_empty()
    }

    /// How it came to rest; none: it has not.
    pub fn at_rest(&self) -> Option<AtRest> {
        let finished = self.finished.as_ref().filter(|_| self.queued.is_empty())?;
        Some(AtRest::Ended { status: finished.status, note: finished_run_note(finished) })
    }

    /// Whether the task is over, well or badly: what it left for itself goes (X1).
    pub fn is_over(&self) -> bool {
        self.finished.as_ref().is_some_and(|finished| finished.status.is_over())
    }

    /// Whether the task was done.
    pub fn is_completed(&self) -> bool {
        self.finished.as_ref().is_some_and(|finished| finished.status == RunStatus::Completed)
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
