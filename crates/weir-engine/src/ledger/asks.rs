//! What waits for a person in a session, told to the store with the facts that change it: so whoever
//! wants to know it reads no journals. Not here: what counts as open (the session says it).

use std::collections::BTreeSet;

use weir_core::event::Event;
use weir_core::ids::{Seq, Timestamp};
use weir_core::session::{Session, child};

use crate::ports::{AskChanges, AskReference, RunEndReference};

/// Knows what the store was told last.
#[derive(Default)]
pub(super) struct AskTracker {
    /// The names that the store has as open; `None`: it is not known. A session that was written
    /// before tells all of them once, so that what is kept can never be wrong for longer.
    known: Option<BTreeSet<String>>,
    asked: Vec<AskReference>,
    run_ended: Option<RunEndReference>,
}

impl AskTracker {
    /// Of a journal that has so many facts.
    pub(super) fn new(facts: Seq) -> AskTracker {
        let known = (facts == 0).then(BTreeSet::new);
        AskTracker { known, ..AskTracker::default() }
    }

    pub(super) fn push(&mut self, seq: Seq, ts: Timestamp, event: &Event) {
        let name = match event {
            Event::ApprovalRequested(f) => f.approval.as_str(),
            Event::AgentAsked(f) => f.request.approval.as_str(),
            Event::QuestionAsked(f) => f.question.as_str(),
            Event::RunFinished(_) => {
                self.run_ended = Some(RunEndReference { seq, ts });
                return;
            }
            _ => return,
        };
        self.asked.push(AskReference { name: name.to_owned(), seq });
    }

    /// What is to be written with the facts that were pushed since the last time.
    pub(super) fn take_changes(&mut self, session: &Session) -> AskChanges {
        let mut asked = std::mem::take(&mut self.asked);
        let run_ended = self.run_ended.take();
        if child::parent_of(session.id()).is_some() {
            return AskChanges::default();
        }
        let open = open_names(session);
        asked.retain(|place| open.contains(&place.name));
        let is_same = self.known.as_ref() == Some(&open);
        let names = (!is_same).then(|| open.iter().cloned().collect());
        self.known = Some(open);
        AskChanges { open: names, asked, run_ended }
    }
}

/// The names of everything that waits for an answer, by way of the session that of its sub-agents too.
fn open_names(session: &Session) -> BTreeSet<String> {
    let approvals = session.open_approvals().map(|(name, _)| name.as_str());
    let agents = session.agents_ask().map(|asked| asked.request.approval.as_str());
    let questions = session.open_questions().map(|(name, _)| name.as_str());
    approvals.chain(agents).chain(questions).map(str::to_owned).collect()
}
