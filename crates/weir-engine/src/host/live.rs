//! A session that runs in this process: its handle, and what its facts so far say of it. Whoever
//! opened it brings it each fact; whoever tells it something waits here for what came of it.
//!
//! Not here: opening it, and giving it back after a rest (its owner's affair).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_core::ids::SessionId;

use super::state::SessionState;
use super::waits::SETTLE_WAIT;
use crate::engine::SessionHandle;
use crate::hub::{PublishedFact, SessionUpdate};
use crate::ports::StoreError;

/// A session that runs in this process.
pub struct LiveSession {
    handle: SessionHandle,
    state: watch::Sender<SessionState>,
}

impl LiveSession {
    /// A session that was opened just now; `state`: as it was before.
    pub fn new(handle: SessionHandle, state: SessionState) -> LiveSession {
        LiveSession { handle, state: watch::Sender::new(state.taken_up()) }
    }

    /// The session's name.
    pub fn id(&self) -> &SessionId {
        self.handle.id()
    }

    /// By which it is steered.
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// What is known of it now.
    pub fn read_state<R>(&self, read: impl FnOnce(&SessionState) -> R) -> R {
        read(&self.state.borrow())
    }

    /// Its state, for whoever waits for a change.
    pub fn watch_state(&self) -> watch::Receiver<SessionState> {
        self.state.subscribe()
    }

    /// Takes a fact in. Called for each, in order, by the one task that follows the session.
    pub fn hear_fact(&self, fact: &PublishedFact) {
        self.state.send_modify(|state| state.hear_fact(fact));
    }

    /// Takes in whatever happens until the session goes down: for owners that do nothing else with
    /// its facts.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn follow_facts(self: Arc<LiveSession>) -> Result<(), StoreError> {
        let mut updates = self.handle.listen_to_facts(self.read_state(|state| state.facts));
        while let Some(update) = updates.next().await? {
            if let SessionUpdate::Fact(fact) = update {
                self.hear_fact(&fact);
            }
        }
        Ok(())
    }

    /// Waits until `settled` finds something, at most so long. `None`: it did not, or the session
    /// went down first.
    pub async fn wait_until<T>(
        &self,
        at_most: Duration,
        settled: impl Fn(&SessionState) -> Option<T>,
    ) -> Option<T> {
        let mut states = self.state.subscribe();
        let found = async {
            loop {
                let found = settled(&states.borrow_and_update());
                // The sender lives as long as this session.
                if found.is_some() || states.changed().await.is_err() {
                    return found;
                }
            }
        };
        tokio::select! {
            biased;
            found = tokio::time::timeout(at_most, found) => found.ok().flatten(),
            _ = self.handle.wait_until_ended() => self.read_state(&settled),
        }
    }

    /// Waits until it knows every fact that others may have heard of already: whoever is told of a
    /// question and answers it at once must find it known here.
    pub async fn catch_up(&self) {
        let published = self.handle.published();
        self.wait_until(SETTLE_WAIT, |state| (state.facts >= published).then_some(())).await;
    }

    /// Whether it takes nothing any more.
    pub fn is_over(&self) -> bool {
        self.handle.is_closed()
    }
}
