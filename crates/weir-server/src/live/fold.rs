//! A person's session folded from its journal, as the answers of the server need it: a session that
//! is not there is a problem. The fold itself is the engine's.

use weir_core::ids::SessionId;
use weir_engine::engine::{Loaded, load_if_any};
pub(crate) use weir_engine::folded::FoldedSession;
use weir_engine::ports::Store;

use crate::problem::{HandlerResult, ProblemDetails};

/// Folds the journal of `id`.
///
/// # Errors
/// There is none, or it cannot be read.
pub(crate) async fn load_session_fold(
    store: &dyn Store,
    id: &SessionId,
) -> HandlerResult<FoldedSession> {
    let folded = FoldedSession::load(store, id).await?;
    folded.ok_or_else(|| ProblemDetails::not_found(format!("session {id}")))
}

/// The same, to be gone on with.
///
/// # Errors
/// There is none, or it cannot be read.
pub(crate) async fn load_journal(store: &dyn Store, id: &SessionId) -> HandlerResult<Loaded> {
    let loaded = load_if_any(store, id).await?;
    loaded.ok_or_else(|| ProblemDetails::not_found(format!("session {id}")))
}
