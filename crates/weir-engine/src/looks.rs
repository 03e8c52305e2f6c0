//! What the first facts of a journal come to for whoever looks at it, kept beside it so that looking again
//! reads the facts since (Q10). Not here: what it is (whoever looks), and the fold of the session itself
//! (`snapshots`).
//!
//! As with snapshots, nothing depends on what is kept: whatever does not fit, all facts are folded again.

use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::Record;
use weir_core::session::SessionSnapshot;

use crate::ports::{Store, StoreError};

/// What is kept under `kind` of the journal of `session`, and of how many facts it is. It counts where it
/// has this `format`, its bytes are those that were written, and the journal's own record at its place is
/// the one that it was made after.
///
/// # Errors
/// The journal cannot be read.
pub async fn find_look<F: DeserializeOwned>(
    store: &dyn Store,
    session: &SessionId,
    kind: &str,
    format: &str,
) -> Result<Option<(F, Seq)>, StoreError> {
    let look = match store.read_look(session, kind).await {
        Ok(Some(look)) => look,
        Ok(None) => return Ok(None),
        Err(error) => {
            tracing::debug!(%session, kind, %error, "what is kept cannot be read: all is folded");
            return Ok(None);
        }
    };
    let records = store.read_records(session, look.seq, 1).await?;
    if !records.first().is_some_and(|record| look.is_made_after(record)) {
        return Ok(None);
    }
    let state = look.checked_state(format).ok();
    let fold = state.and_then(|state| serde_json::from_str(state).ok());
    Ok(fold.map(|fold| (fold, look.seq)))
}

/// Keeps `fold`, which is that of the facts up to `last`. That it cannot be kept concerns nobody.
pub async fn keep_look<F: Serialize + Sync>(
    store: &dyn Store,
    kind: &str,
    format: String,
    last: &Record,
    fold: &F,
) {
    let kept = match serde_json::to_string(fold) {
        Ok(state) => {
            let look = SessionSnapshot::of_state(last, format, state);
            store.write_look(kind, &look).await.map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    if let Err(why) = kept {
        tracing::debug!(session = %last.session, kind, %why, "what was looked at is not kept");
    }
}
