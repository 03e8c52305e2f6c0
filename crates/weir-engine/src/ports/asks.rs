//! What waits for a person, and which runs ended, as a store keeps it beside the journals: where the
//! facts stand that say so, written with them. Not here: what is asked (the facts say it), and who is
//! told.

use weir_core::ids::{Seq, Timestamp};

/// Kinds of facts that ask a person something, or say what became of what was asked and allowed.
pub const ASK_KINDS: [&str; 7] = [
    "approval.requested",
    "approval.resolved",
    "question.asked",
    "question.answered",
    "agent.asked",
    "agent.answered",
    "lease.revoked",
];

/// Where the fact stands that asks a person something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskReference {
    /// The name of the approval or question; one of a session.
    pub name: String,
    /// Place of the fact in the journal.
    pub seq: Seq,
}

/// Where the fact stands that says that a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEndReference {
    /// Place of the fact in the journal.
    pub seq: Seq,
    /// When it was recorded, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
}

/// What facts of a session change about what waits for a person. Sub-agents have none: what they ask
/// stands in the session that a person began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskChanges {
    /// The names of all that is open after these facts: whatever else was kept of the session is
    /// open no more. `None`: nothing changed.
    pub open: Option<Vec<String>>,
    /// What these facts asked and did not answer themselves.
    pub asked: Vec<AskReference>,
    /// The last run that ended in them; it takes the place of the one before.
    pub run_ended: Option<RunEndReference>,
}

impl AskChanges {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.open.is_none() && self.asked.is_empty() && self.run_ended.is_none()
    }
}
