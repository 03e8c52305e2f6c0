//! Waiting for letters to a session, and taking them away. Not here: what a letter does (the loop).

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use weir_core::ids::SessionId;

use crate::ports::{RemoteCommand, Store, StoreError};

pub(super) async fn discard_remote_command(store: &dyn Store, letter: u64) {
    if let Err(error) = store.discard_remote_command(letter).await {
        tracing::warn!(letter, %error, "a letter could not be taken away");
    }
}

/// The letters that wait, or the next ones that come.
pub(super) fn next_mail(
    store: Arc<dyn Store>,
    session: SessionId,
    read: HashSet<u64>,
) -> BoxFuture<'static, Result<Vec<RemoteCommand>, StoreError>> {
    Box::pin(async move {
        // One that was acted on and cannot be taken away must not wake the loop again and again.
        let unread = |letters: Vec<RemoteCommand>| -> Vec<RemoteCommand> {
            letters.into_iter().filter(|letter| !read.contains(&letter.id)).collect()
        };
        let mut changed = store.mail_changed();
        // It listens from its first poll on: before the box is read, so that no letter is missed.
        if futures::poll!(&mut changed).is_pending() {
            let waiting = unread(store.waiting_remote_commands(&session).await?);
            if !waiting.is_empty() {
                return Ok(waiting);
            }
            changed.await;
        } else {
            drop(changed);
        }
        Ok(unread(store.waiting_remote_commands(&session).await?))
    })
}
