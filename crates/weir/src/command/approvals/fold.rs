//! A session folded from its journal, as commands need it: a session that is not there is a mistake of
//! the command line. The fold itself is the engine's.

use weir_core::ids::SessionId;
use weir_core::session::Session;
use weir_engine::engine::{EngineError, load};
pub(in crate::command) use weir_engine::folded::FoldedSession;
use weir_engine::ports::Store;

use crate::failure::usage;

/// Folds the journal of `id`.
///
/// # Errors
/// There is none, or it cannot be read.
pub(in crate::command) async fn load_folded_session(
    store: &dyn Store,
    id: &SessionId,
) -> anyhow::Result<FoldedSession> {
    let folded = FoldedSession::load(store, id).await?;
    folded.ok_or_else(|| missing_session(id))
}

/// The session alone, from its snapshot and the facts since.
///
/// # Errors
/// There is none, or it cannot be read.
pub(in crate::command) async fn load_session(
    store: &dyn Store,
    id: &SessionId,
) -> anyhow::Result<Session> {
    match load(store, id).await {
        Ok(loaded) => Ok(loaded.session),
        Err(EngineError::Store(error)) => Err(error.into()),
        Err(_) => Err(missing_session(id)),
    }
}

fn missing_session(id: &SessionId) -> anyhow::Error {
    usage(format!("session {id} is no longer in this store"))
}
