//! Everything that waits for a person in the sessions of a store, read from what the store keeps of
//! it: as long as what waits, however long the journals are. Not here: who is shown or told of it.

use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_core::view::transcript::PendingAsk;

use crate::folded::WithTimestamp;
use crate::ports::{Store, StoreError, fact_of};

/// Something that waits for a person.
pub struct OpenAsk {
    /// The session in which it is shown; a sub-agent of it may be the one that asks.
    pub session: SessionId,
    /// What is asked, and when it was.
    pub asked: WithTimestamp<PendingAsk>,
}

/// Everything that waits; what waits longest comes first.
///
/// # Errors
/// The store cannot be read, or what it keeps is damaged.
pub async fn list_open_asks(store: &dyn Store) -> Result<Vec<OpenAsk>, StoreError> {
    let mut found = Vec::new();
    for record in store.open_asks().await? {
        // What a sub-agent asks is told by the session that started it.
        if child::parent_of(&record.session).is_some() {
            continue;
        }
        let fact = match fact_of(&record)?.event.as_ref() {
            Event::ApprovalRequested(f) => PendingAsk::Approval(f.clone().into()),
            Event::AgentAsked(f) => PendingAsk::AgentApproval(f.clone().into()),
            Event::QuestionAsked(f) => PendingAsk::Question(f.clone().into()),
            _ => continue,
        };
        let asked = WithTimestamp { ts: record.ts, fact };
        found.push(OpenAsk { session: record.session, asked });
    }
    Ok(found)
}
