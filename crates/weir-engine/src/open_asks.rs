//! Everything that waits for a person in the sessions of a store, read from what the store keeps of
//! it: as long as what waits, however long the journals are. Not here: who is shown or told of it.

use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::{Session, child};
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
        // One that cannot be read must not keep all others from being answered.
        let read = match fact_of(&record) {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(session = %record.session, %error, "what waits cannot be read");
                continue;
            }
        };
        let fact = match read.event.as_ref() {
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

/// What a run of `session` that is under way waits for a person with, as it was asked: what
/// [`crate::folded::FoldedSession::open_requests`] gives, without reading its journal.
///
/// # Errors
/// The store cannot be read, or what it keeps is damaged.
pub async fn list_open_requests(
    store: &dyn Store,
    session: &Session,
) -> Result<Vec<Event>, StoreError> {
    if session.run().is_none() {
        return Ok(Vec::new());
    }
    let mut asked = Vec::new();
    for record in store.open_asks().await? {
        if record.session == *session.id() {
            asked.push(fact_of(&record)?.event);
        }
    }
    // The session says what is open; the store has how it was asked.
    let approvals = session.open_approvals().filter_map(|(id, _)| {
        asked.iter().find(|event| match event.as_ref() {
            Event::ApprovalRequested(f) => f.approval == *id,
            _ => false,
        })
    });
    let question = session.open_question().and_then(|(id, _)| {
        asked.iter().find(|event| match event.as_ref() {
            Event::QuestionAsked(f) => f.question == *id,
            _ => false,
        })
    });
    let own = approvals.chain(question).map(|event| Event::clone(event));
    let agents = session.agents_ask().cloned().map(Event::AgentAsked);
    Ok(own.chain(agents).collect())
}

/// What `asker` waits for under `name`; `None`: nothing of that name waits.
///
/// # Errors
/// As [`list_open_asks`].
pub async fn find_open_ask(
    store: &dyn Store,
    asker: &SessionId,
    name: &str,
) -> Result<Option<OpenAsk>, StoreError> {
    let mut all = list_open_asks(store).await?.into_iter();
    Ok(all.find(|open| {
        open.asked.fact.asking_session(&open.session) == asker && open.asked.fact.name() == name
    }))
}
