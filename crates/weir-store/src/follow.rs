//! Whoever waits for new facts of sessions that another process may write: they are told together,
//! so that a thousand who wait cost one question, not a thousand. Nothing here asks a store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;
use weir_core::ids::{Seq, SessionId};

/// What is told of a session that is not there any more.
pub(crate) const GONE: Seq = Seq::MAX;

/// Everyone who waits.
#[derive(Default)]
pub(crate) struct JournalFollowers {
    sessions: Mutex<HashMap<SessionId, FollowedJournal>>,
    /// When the store was last asked about all of them.
    asked: tokio::sync::Mutex<Option<Instant>>,
    /// Held by the one who looks for all whether anything is new.
    looking: tokio::sync::Mutex<()>,
}

struct FollowedJournal {
    waiting: usize,
    facts: watch::Sender<Seq>,
}

/// One who waits for one session.
pub(crate) struct JournalFollower<'a> {
    all: &'a JournalFollowers,
    session: SessionId,
    facts: watch::Receiver<Seq>,
}

impl JournalFollowers {
    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<SessionId, FollowedJournal>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn follow(&self, session: &SessionId) -> JournalFollower<'_> {
        let mut sessions = self.lock_sessions();
        let new = || FollowedJournal { waiting: 0, facts: watch::Sender::new(0) };
        let followed = sessions.entry(session.clone()).or_insert_with(new);
        followed.waiting += 1;
        let facts = followed.facts.subscribe();
        JournalFollower { all: self, session: session.clone(), facts }
    }

    /// The sessions that somebody waits for.
    pub(crate) fn waited_for(&self) -> Vec<SessionId> {
        self.lock_sessions().keys().cloned().collect()
    }

    /// Tells those who wait for `session` how long its journal is.
    pub(crate) fn notify_followers(&self, session: &SessionId, facts: Seq) {
        if let Some(followed) = self.lock_sessions().get(session) {
            followed.facts.send_if_modified(|known| {
                let news = *known != facts;
                *known = facts;
                news
            });
        }
    }

    /// Runs `ask` unless somebody else began to since this was called: theirs was late enough.
    pub(crate) async fn ask_once<E>(
        &self,
        ask: impl AsyncFnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let called = Instant::now();
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|at| at >= called) {
            return Ok(());
        }
        let begun = Instant::now();
        // Whoever asks may give up in between: only what was answered counts for others.
        *asked = None;
        ask().await?;
        *asked = Some(begun);
        Ok(())
    }

    /// The turn to look for all who follow, for as long as it is kept: others wait for it, the first first.
    pub(crate) async fn turn_to_look(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.looking.lock().await
    }

    /// Whether somebody began to ask at `since` or later, and was answered.
    pub(crate) async fn was_asked_since(&self, since: Instant) -> bool {
        self.asked.lock().await.is_some_and(|at| at >= since)
    }
}

impl JournalFollower<'_> {
    /// Resolves when the journal is known to be longer than `seen`, or to be gone.
    pub(crate) async fn wait_beyond(&mut self, seen: Seq) {
        let news = |facts: &Seq| *facts > seen && (*facts != GONE || seen > 0);
        // The sender lives as long as somebody waits.
        let _ = self.facts.wait_for(news).await;
    }
}

impl Drop for JournalFollower<'_> {
    fn drop(&mut self) {
        let mut sessions = self.all.lock_sessions();
        if let Some(followed) = sessions.get_mut(&self.session) {
            followed.waiting -= 1;
            if followed.waiting == 0 {
                sessions.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn q18_who_rests_while_another_asks_need_not_ask() {
        let followers = JournalFollowers::default();
        let before = Instant::now();
        assert!(!block_on(followers.was_asked_since(before)), "nobody asked");
        let asked = block_on(followers.ask_once(async || Ok::<_, &str>(())));
        asked.expect("it was answered");
        assert!(block_on(followers.was_asked_since(before)));
        let after = Instant::now() + std::time::Duration::from_nanos(1);
        assert!(!block_on(followers.was_asked_since(after)));
        let refused = block_on(followers.ask_once(async || Err("away")));
        refused.expect_err("it was refused");
        assert!(!block_on(followers.was_asked_since(before)), "nobody was answered");
        let mut given_up = Box::pin(followers.ask_once(async || {
            std::future::pending::<()>().await;
            Ok::<_, &str>(())
        }));
        assert!(given_up.as_mut().now_or_never().is_none(), "it is not answered");
        drop(given_up);
        assert!(!block_on(followers.was_asked_since(before)), "who asked gave up");
    }

    #[test]
    fn q18_one_looks_for_all_and_the_next_when_it_has_left() {
        let followers = JournalFollowers::default();
        let first = followers.turn_to_look().now_or_never().expect("nobody looks");
        let mut second = Box::pin(followers.turn_to_look());
        let mut third = Box::pin(followers.turn_to_look());
        assert!(second.as_mut().now_or_never().is_none(), "one looks for it");
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        drop(first);
        assert!(third.as_mut().now_or_never().is_some(), "the second gave up");
    }
}
