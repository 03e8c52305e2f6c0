//! Everything that waits for a person, over all of their sessions (S10): one list, which the page, the
//! count in every page's frame and the API show. It is read from what the store keeps of it, so it
//! costs as much as what waits, however long the sessions are. Not here: how it is shown, answering it
//! (`live::tell`), and who is told of it elsewhere (`person_news`).

use std::collections::HashMap;
use std::sync::Arc;

use weir_core::ids::Timestamp;
use weir_core::view::transcript::PendingAsk;
use weir_engine::open_asks::{OpenAsk, list_open_asks};
use weir_engine::ports::{SessionMeta, Store, StoreError};

/// Something that waits for a person.
pub(crate) struct InboxEntry {
    /// The session of the person in which it is shown; a sub-agent of it may be the one that asks.
    pub(crate) top: Arc<SessionMeta>,
    /// When it was asked.
    pub(crate) since: Timestamp,
    /// The request.
    pub(crate) ask: PendingAsk,
}

/// Everything in a person's store that waits for an answer; what waits longest comes first.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn list_inbox(store: &dyn Store) -> Result<Vec<InboxEntry>, StoreError> {
    let mut tops: HashMap<_, Option<Arc<SessionMeta>>> = HashMap::new();
    let mut found = Vec::new();
    for OpenAsk { session, asked } in list_open_asks(store).await? {
        let top = match tops.get(&session) {
            Some(top) => top.clone(),
            None => {
                let top = store.session_meta(&session).await?.filter(may_wait).map(Arc::new);
                tops.insert(session, top.clone());
                top
            }
        };
        found.extend(top.map(|top| InboxEntry { top, since: asked.ts, ask: asked.fact }));
    }
    Ok(found)
}

/// Whether an answer still leads anywhere. A question outlives its run where nobody could answer it.
fn may_wait(meta: &SessionMeta) -> bool {
    matches!(meta.status.as_str(), "waiting" | "running" | "needs_input")
}
