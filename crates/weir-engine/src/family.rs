//! A session and the sub-agents below it, as their journals tell: for whoever takes changes back,
//! shows them or removes them (M6). Reads only.

use std::ops::ControlFlow;

use weir_core::event::Event;
use weir_core::ids::{RunId, SessionId};
use weir_core::session::child;

use crate::error::EngineError;
use crate::journal::visit_records;
use crate::ports::{SessionFilter, Store, fact_of};

/// A sub-agent of a session, however deep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyMember {
    /// Id of the session.
    pub session: SessionId,
    /// The run of the topmost session that it worked for.
    pub run: RunId,
}

/// The topmost session above `session`: itself, where nobody started it.
pub fn root_session(session: &SessionId) -> SessionId {
    let mut at = session.clone();
    while let Some((parent, _)) = child::parent_of(&at) {
        at = parent;
    }
    at
}

/// Every sub-agent that `session` started, and those that they started, as announced.
///
/// # Errors
/// A journal cannot be read.
pub async fn list_sub_agents(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Vec<FamilyMember>, EngineError> {
    let mut found = Vec::new();
    let mut open = vec![(session.clone(), None::<RunId>)];
    while let Some((id, run)) = open.pop() {
        visit_records(store, &id, 1, |record| {
            if record.kind == "agent.spawned"
                && let Event::AgentSpawned(f) = fact_of(record)?.event.as_ref()
            {
                let run = run.unwrap_or(f.run);
                found.push(FamilyMember { session: f.agent.clone(), run });
                open.push((f.agent.clone(), Some(run)));
            }
            Ok(ControlFlow::<()>::Continue(()))
        })
        .await?;
    }
    Ok(found)
}

/// The sessions in the store that stand below `session` by their names, whatever journals say: also
/// those that a crash left unannounced.
///
/// # Errors
/// The store refuses.
pub async fn sessions_below(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Vec<SessionId>, EngineError> {
    let all = store.list_sessions(&SessionFilter::default()).await?;
    let under = |id: &SessionId| {
        let mut at = id.clone();
        while let Some((parent, _)) = child::parent_of(&at) {
            if parent == *session {
                return true;
            }
            at = parent;
        }
        false
    };
    Ok(all.into_iter().map(|meta| meta.id).filter(|id| under(id)).collect())
}
