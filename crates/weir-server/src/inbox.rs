//! Everything that waits for a person, over all of their sessions (S10): one walk, which the page,
//! the count in every page's frame and the API show. Not here: how it is shown, and answering it
//! (`live::tell`).

use std::sync::Arc;

use weir_core::ids::{SessionId, Timestamp};
use weir_core::session::child;
use weir_core::view::transcript::PendingAsk;
use weir_engine::host::SessionState;
use weir_engine::ports::{SessionFilter, SessionMeta};
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::live::fold;
use crate::problem::HandlerResult;

/// Something that waits for a person.
pub(crate) struct InboxEntry {
    /// The session of the person in which it is shown; a sub-agent of it may be the one that asks.
    pub(crate) top: Arc<SessionMeta>,
    /// When it was asked.
    pub(crate) since: Timestamp,
    /// The request.
    pub(crate) ask: PendingAsk,
}

/// Everything of a person that waits for an answer; what waits longest comes first.
///
/// # Errors
/// A journal cannot be read.
pub(crate) async fn list_inbox(app: &App, space: &UserSpace) -> HandlerResult<Vec<InboxEntry>> {
    let store = space.store();
    let mut found = Vec::new();
    for meta in store.list_sessions(&SessionFilter::default()).await? {
        // A question outlives its run where nobody could answer it; what a sub-agent asks is told
        // by the session that started it.
        let may_wait = matches!(meta.status.as_str(), "waiting" | "running" | "needs_input");
        if !may_wait || child::parent_of(&meta.id).is_some() {
            continue;
        }
        if !may_ask(app, space, &meta.id).await {
            continue;
        }
        let folded = fold::load_session_fold(store.as_ref(), &meta.id).await?;
        let top = Arc::new(meta);
        found.extend(folded.open_asks().into_iter().map(|asked| InboxEntry {
            top: top.clone(),
            since: asked.ts,
            ask: asked.fact,
        }));
    }
    found.sort_by_key(|entry| entry.since);
    Ok(found)
}

/// Whether somebody may be waited for in a session. One that runs here says so from memory: most of
/// those that run ask nothing, and their journals are not read for the inbox. Of others the journal
/// tells.
async fn may_ask(app: &App, space: &UserSpace, id: &SessionId) -> bool {
    let Some(server_session) = app.sessions.find_session_here(space, id) else { return true };
    server_session.live.catch_up().await;
    server_session.live.read_state(SessionState::has_open_requests)
}
