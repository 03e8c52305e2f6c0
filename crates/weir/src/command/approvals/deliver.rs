//! How an answer reaches its session from the command line: by the engine's host, which leaves a
//! letter while another program runs the session, and writes into the journal while nobody does.
//! Either way it counts once it is durable, and the first counts.

use std::sync::Arc;

use anyhow::anyhow;
use weir_core::ids::SessionId;
use weir_core::input::PersonCommand;
use weir_engine::engine::EngineError;
use weir_engine::host::{
    LiveSession, SentCommand, SessionAccess, SessionHost, SessionPlace, SessionState, SessionView,
    TellOutcome,
};
use weir_install::context::InstallationContext;
use weir_install::wiring;
use weir_store::SqliteStore;

use super::FoldedSession;
use crate::failure::engine_failure;

/// What came of it.
pub(super) enum AnswerDeliveryOutcome {
    /// What the letter is about is settled, by it or by another.
    Settled {
        /// It was written here: nobody runs the session.
        at_rest: bool,
    },
    /// The program that has the session (named) has not acted on it; the letter waits.
    Waits(String),
}

/// This program answers and ends: it opens no session for that.
struct OpensNothing;

impl SessionAccess for OpensNothing {
    type Error = anyhow::Error;

    fn find_live(&self, _session: &SessionId) -> Option<Arc<LiveSession>> {
        None
    }

    async fn take_up(&self, _session: &SessionId) -> anyhow::Result<SessionPlace> {
        Ok(SessionPlace::Nowhere)
    }
}

/// Something to be told to a session.
pub(super) struct AnswerDelivery {
    store: Arc<SqliteStore>,
    host: SessionHost<OpensNothing>,
    command: PersonCommand,
    by: String,
}

impl AnswerDelivery {
    pub(super) fn new(
        cx: &InstallationContext,
        command: PersonCommand,
    ) -> anyhow::Result<AnswerDelivery> {
        let store = cx.local_store()?;
        let principal = wiring::principal_name(cx);
        let by = match &command {
            // Whichever was the first: the run is paused, or goes on.
            PersonCommand::Pause | PersonCommand::Resume => principal,
            // The process tells two answers of one person apart: one of them was the first.
            _ => format!("{principal} (process {})", std::process::id()),
        };
        let parts = wiring::host_parts(cx, "weir approvals")?;
        Ok(AnswerDelivery { store, host: SessionHost::new(OpensNothing, parts), command, by })
    }

    /// Who stands in the journal as the one who answered.
    pub(super) fn answering_person(&self) -> &str {
        &self.by
    }

    /// Tells the session of `folded`, which goes forward until `settled`.
    pub(super) async fn deliver(
        &self,
        folded: &mut FoldedSession,
        settled: impl Fn(&SessionState) -> bool + Send + Sync,
    ) -> anyhow::Result<AnswerDeliveryOutcome> {
        let session = folded.session.id().clone();
        let (by, command) = (self.by.clone(), self.command.clone());
        let mut view = SessionView::of_journal(session.clone(), folded.state.clone());
        let sent = SentCommand { session, by, command };
        let settled = |state: &SessionState| settled(state).then_some(());
        view.catch_up(self.store.as_ref()).await?;
        let told = self.host.tell_session(&sent, &mut view, settled).await;
        let told = told.map_err(|error| match error.downcast::<EngineError>() {
            Ok(error) => engine_failure(error),
            Err(error) => error,
        })?;
        folded.catch_up(self.store.as_ref()).await?;
        match told {
            TellOutcome::Found { at_rest, .. } => Ok(AnswerDeliveryOutcome::Settled { at_rest }),
            // Settled otherwise: the journal says how.
            TellOutcome::TakenIn | TellOutcome::Refused(_) | TellOutcome::InUse => {
                Ok(AnswerDeliveryOutcome::Settled { at_rest: false })
            }
            TellOutcome::Waits(holder) => Ok(AnswerDeliveryOutcome::Waits(holder)),
            TellOutcome::Restless => {
                Err(anyhow!("session {} changed hands again and again; try again", sent.session))
            }
        }
    }
}
