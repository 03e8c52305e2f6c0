//! What follows from how a run ended. Not here: how it comes to end.

use super::RunStatus;

impl RunStatus {
    /// Whether the task is over with it, so that what it left for itself goes (X1). What waits for a
    /// person, a switch or a resume reads that again when it goes on.
    pub fn is_over(self) -> bool {
        match self {
            RunStatus::Completed
            | RunStatus::Failed
            | RunStatus::Limit
            | RunStatus::Budget
            | RunStatus::Denied
            | RunStatus::Cancelled => true,
            RunStatus::NeedsInput | RunStatus::Paused | RunStatus::Interrupted => false,
        }
    }
}
