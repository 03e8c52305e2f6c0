//! What is told of foreign servers: that one offers other tools than a person approved (R3). Not here: finding
//! that out (the client of servers), and their calls and questions, which are calls of the session.

use crate::event::{AlertName, AlertRaised, Event};

use super::Session;

/// Changes that are told of in one session: of a server that goes on changing nothing more is learned.
const CHANGES_MAX: usize = 64;

impl Session {
    /// The fact about tools of a server that differ from what was approved, in these words; none where they
    /// were said before.
    pub(super) fn tools_change_fact(&self, detail: String) -> Option<Event> {
        let known = self.tool_changes.contains(&detail) || self.tool_changes.len() >= CHANGES_MAX;
        (!known).then(|| AlertRaised { alert: AlertName::ToolsChanged, detail }.into())
    }

    /// The fold of an alert, so far as it is about that.
    pub(super) fn note_tools_change(&mut self, f: &AlertRaised) {
        if f.alert == AlertName::ToolsChanged {
            self.tool_changes.insert(f.detail.clone());
        }
    }
}
