//! What was made or accepted once and counts from then on: a change of a scheduled agent is
//! announced with it. Not here: what is written (`tables`).

use weir_engine::ports::{KEPT_AGENT, Kept, StoreError};

use super::notices::About;
use super::{PostgresStore, Work};
use crate::tables::definitions::{KEEPING, keep_definition, remove_definition};

pub(super) async fn keep(store: &PostgresStore, kept: &Kept) -> Result<Kept, StoreError> {
    let mut work = store.begin(KEEPING).await?;
    let kept = keep_definition(&mut *work, kept).await?;
    finish(store, &kept.what, work).await?;
    Ok(kept)
}

pub(super) async fn unkeep(
    store: &PostgresStore,
    what: &str,
    name: &str,
) -> Result<bool, StoreError> {
    let mut work = store.begin(KEEPING).await?;
    let was = remove_definition(&mut *work, what, name).await?;
    finish(store, what, work).await?;
    Ok(was)
}

/// Commits; a change of a scheduled agent is announced.
async fn finish(store: &PostgresStore, what: &str, work: Work) -> Result<(), StoreError> {
    if what == KEPT_AGENT {
        return store.told(KEEPING, About::Agents, work).await;
    }
    store.commit(KEEPING, work).await
}
