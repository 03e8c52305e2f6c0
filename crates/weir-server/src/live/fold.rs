//! A person's session folded from its journal, as the answers of the server need it: a session that
//! is not there is a problem. The fold itself is the engine's.

use weir_core::ids::SessionId;
pub(crate) use weir_engine::folded::Folded;
use weir_engine::ports::Store;

use crate::problem::{Answer, Problem};

/// Folds the journal of `id`.
///
/// # Errors
/// There is none, or it cannot be read.
pub(crate) async fn load(store: &dyn Store, id: &SessionId) -> Answer<Folded> {
    let folded = Folded::load(store, id).await?;
    folded.ok_or_else(|| Problem::missing(format!("session {id}")))
}
