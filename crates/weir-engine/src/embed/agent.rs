//! An agent that was opened: it is given tasks, and told when it may go. Not here: making one
//! (`embed`), and everything that its session can do beside (`SessionHandle`).

use weir_core::event::{Event, RunFinished};
use weir_core::message::MessageBlock;

use crate::engine::{EngineError, SessionHandle};
use crate::hub::SessionUpdate;

/// An agent with its session. Dropping it stops the session where it is.
pub struct EmbeddedAgent {
    session: SessionHandle,
    by: String,
}

impl EmbeddedAgent {
    pub(super) fn new(session: SessionHandle, by: String) -> EmbeddedAgent {
        EmbeddedAgent { session, by }
    }

    /// The session itself: to listen to it, answer what it asks, cancel.
    pub fn session(&self) -> &SessionHandle {
        &self.session
    }

    /// Gives it a task and waits until its run is over: the answer, how it ended, what was denied,
    /// which files were changed, what was used. A run that ended badly is no error; its status says
    /// so. Where a person attends, it waits as long as what asks is not answered. One task at a time:
    /// what is said meanwhile goes into the same run.
    ///
    /// # Errors
    /// The session has stopped, the store refused, or a hook refused the task.
    pub async fn run_task(&self, task: &str) -> Result<RunFinished, EngineError> {
        let mut facts = self.session.listen_to_facts(self.session.published());
        self.session.submit_input(vec![MessageBlock::text(task)], &self.by).await?;
        while let Some(update) = facts.next().await? {
            let SessionUpdate::Fact(fact) = update else { continue };
            if let Event::RunFinished(finished) = fact.event.as_ref() {
                return Ok(finished.clone());
            }
        }
        Err(self.session.hub.silence_reason())
    }

    /// Stops the session where it is; what is known of it is durable.
    ///
    /// # Errors
    /// Why the session went down before.
    pub async fn close_session(self) -> Result<(), EngineError> {
        self.session.close().await
    }
}
