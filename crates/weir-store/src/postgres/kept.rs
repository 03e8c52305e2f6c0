//! What was made or accepted once and counts from then on: a change of a scheduled agent is
//! announced with it. Not here: what is written (`tables`).

use weir_engine::ports::{KEPT_AGENT, StoreError, StoredItem};

use super::notices::NoticeTopic;
use super::{OwnerTransaction, PostgresStore};
use crate::tables::definitions::{KEEPING, keep_definition, remove_definition, replace_definition};

pub(super) async fn save_definition(
    store: &PostgresStore,
    kept: &StoredItem,
) -> Result<StoredItem, StoreError> {
    let mut work = store.begin_work(KEEPING).await?;
    let kept = keep_definition(&mut *work, kept).await?;
    commit_definition(store, &kept.what, work).await?;
    Ok(kept)
}

pub(super) async fn replace_and_commit_definition(
    store: &PostgresStore,
    kept: &StoredItem,
    version: u32,
) -> Result<Option<StoredItem>, StoreError> {
    let mut work = store.begin_work(KEEPING).await?;
    let replaced = replace_definition(&mut *work, kept, version).await?;
    commit_definition(store, &kept.what, work).await?;
    Ok(replaced)
}

pub(super) async fn remove_and_commit_definition(
    store: &PostgresStore,
    what: &str,
    name: &str,
) -> Result<bool, StoreError> {
    let mut work = store.begin_work(KEEPING).await?;
    let was = remove_definition(&mut *work, what, name).await?;
    commit_definition(store, what, work).await?;
    Ok(was)
}

/// Commits; a change of a scheduled agent is announced.
async fn commit_definition(
    store: &PostgresStore,
    what: &str,
    work: OwnerTransaction,
) -> Result<(), StoreError> {
    if what == KEPT_AGENT {
        return store.commit_and_announce(KEEPING, NoticeTopic::Agents, work).await;
    }
    store.commit_work(KEEPING, work).await
}
