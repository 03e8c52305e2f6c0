//! What those are told who work below a session: its sub-agents, and programs that run. Not here: what either
//! says to it.

use weir_core::event::Event;
use weir_core::session::SessionConfig;

use super::SessionLoop;
use crate::children::ChildTerms;

impl SessionLoop {
    /// Tells sub-agents what holds for them at once. What waits for a person who has gone must not wait in a
    /// sub-agent either (C2), what a person lets pass no more does not pass there (F1), and nothing begins
    /// there while the run is paused (R5).
    pub(super) fn tell_children(&self) {
        let Some(config) = self.session.config() else { return };
        let SessionConfig { attended, permission, .. } = **config;
        let paused = self.session.paused_by().is_some();
        self.workers.children.set_terms(ChildTerms { attended, permission, paused });
    }

    /// Tells a program that runs of a step of it that is answered.
    pub(super) fn tell_program(&self, fact: &Event) {
        let call = match fact {
            Event::CallFinished(f) => f.call,
            Event::CallUnknown(f) => f.call,
            _ => return,
        };
        if self.programs.is_empty() {
            return;
        }
        if let Some((of, end)) = self.session.step_end(call)
            && let Some(program) = self.programs.get(&of)
        {
            program.tell(end);
        }
    }
}
