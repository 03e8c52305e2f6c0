//! From what people type for a session to its id: the whole id, the beginning of one, or `last`.

use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_engine::ports::{SessionFilter, SessionMeta, Store};

use crate::failure::usage;

/// Sessions that are looked at for a beginning.
const SESSIONS_MAX: usize = 100_000;
/// The word for the newest session.
const LAST: &str = "last";
/// Candidates that an error names.
const NAMED_MAX: usize = 5;

/// Whether sub-agents are listed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubAgentListing {
    /// Only sessions that somebody began.
    Hidden,
    /// All of them.
    Shown,
}

/// The newest `limit` sessions, of one folder or of all.
pub async fn list_newest_sessions(
    store: &dyn Store,
    workspace: Option<String>,
    limit: usize,
    agents: SubAgentListing,
) -> anyhow::Result<Vec<SessionMeta>> {
    let mut wanted = limit;
    loop {
        let filter = SessionFilter { workspace: workspace.clone(), limit: Some(wanted) };
        let mut found = store.list_sessions(&filter).await?;
        let whole = found.len() < wanted;
        if agents == SubAgentListing::Hidden {
            found.retain(|meta| child::parent_of(&meta.id).is_none());
        }
        if whole || found.len() >= limit || wanted >= SESSIONS_MAX {
            found.truncate(limit);
            return Ok(found);
        }
        // Sub-agents took the places: look further back.
        wanted = wanted.saturating_mul(8).clamp(64, SESSIONS_MAX);
    }
}

/// The session that `text` means.
///
/// # Errors
/// A usage error: there is none, or several begin so.
pub async fn find_session_id(store: &dyn Store, text: &str) -> anyhow::Result<SessionId> {
    let text = text.trim();
    let exact = SessionId::new(text);
    if !text.is_empty() && store.session_meta(&exact).await?.is_some() {
        return Ok(exact);
    }
    if text == LAST {
        let newest = list_newest_sessions(store, None, 1, SubAgentListing::Hidden).await?;
        let newest = newest.into_iter().next().map(|meta| meta.id);
        return newest.ok_or_else(|| usage("there is no session in this store yet"));
    }
    let filter = SessionFilter { workspace: None, limit: Some(SESSIONS_MAX) };
    let sessions = store.list_sessions(&filter).await?;
    let begins = |id: &SessionId| !text.is_empty() && id.as_str().starts_with(text);
    // A beginning that a session and its sub-agents share means the session.
    let its_own = |id: &SessionId| {
        child::parent_of(id).is_none_or(|(parent, _)| !parent.as_str().starts_with(text))
    };
    let mut found = sessions.into_iter().map(|meta| meta.id).filter(|id| begins(id) && its_own(id));
    let Some(first) = found.next() else {
        return Err(usage(format!(
            "there is no session {text:?} in this store; `weir sessions list` shows them"
        )));
    };
    let others: Vec<String> = found.take(NAMED_MAX).map(|id| id.to_string()).collect();
    if others.is_empty() {
        return Ok(first);
    }
    let others = others.join(", ");
    Err(usage(format!("several sessions begin with {text}: {first}, {others}; write more of it")))
}
