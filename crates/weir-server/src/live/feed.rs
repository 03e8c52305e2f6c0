//! What one listener hears of one session, from a place in its journal on: of a session that runs
//! here, of one at rest, of one that another process writes; of one at another replica also what
//! streams in it, which `distant` puts in its place. Nothing is opened for listening, and a feed that
//! waits holds no fact.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use weir_core::ids::{Seq, SessionId};
use weir_engine::hub::{PublishedFact, SessionUpdate, UpdateSubscription};
use weir_engine::ledger::fact_of;
use weir_engine::ports::{SessionMeta, Store};
use weir_install::user_space::UserSpace;

use super::SessionKey;
use super::distant::RemoteStream;
use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};

/// Facts read at once from a journal.
const READ_BATCH: usize = 64;

/// A listener's place in one session.
pub(crate) struct SessionFeed {
    app: App,
    /// Kept open as long as somebody listens.
    _space: Arc<UserSpace>,
    store: Arc<dyn Store>,
    key: SessionKey,
    id: SessionId,
    seen: Seq,
    read: VecDeque<PublishedFact>,
    live: Option<Box<UpdateSubscription>>,
    /// What streams where it runs, if that is at another replica.
    distant: Option<Box<RemoteStream>>,
    /// The journal was read to its end; this resolves when it may be longer.
    longer: Option<BoxFuture<'static, ()>>,
}

impl SessionFeed {
    /// Listens from the fact after `after` on.
    ///
    /// # Errors
    /// It has fewer facts than `after`.
    pub(super) fn open(
        app: &App,
        space: &Arc<UserSpace>,
        session: &SessionMeta,
        after: Seq,
    ) -> HandlerResult<SessionFeed> {
        let (id, facts) = (&session.id, session.facts);
        if after > facts {
            return Err(ProblemDetails::bad_request(format!(
                "session {id} has {facts} facts, so there is nothing after {after}; ask from 0"
            )));
        }
        Ok(SessionFeed {
            app: app.clone(),
            _space: space.clone(),
            store: space.store(),
            key: SessionKey::for_session(space.as_ref(), id),
            id: id.clone(),
            seen: after,
            read: VecDeque::new(),
            live: None,
            distant: None,
            longer: None,
        })
    }

    /// The name of the session.
    pub(crate) fn session(&self) -> &SessionId {
        &self.id
    }

    /// The last fact that was given.
    pub(crate) fn last_given_seq(&self) -> Seq {
        self.seen
    }

    /// The next update: each fact once, in order, without a gap; signals as they come. `None`: the
    /// server ends, or the session was deleted. Giving up waiting loses nothing.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) async fn next(&mut self) -> HandlerResult<Option<SessionUpdate>> {
        loop {
            if let Some(live) = &mut self.live {
                match live.next().await? {
                    Some(update) => {
                        if let SessionUpdate::Fact(fact) = &update {
                            self.seen = fact.seq;
                        }
                        return Ok(Some(update));
                    }
                    // It was given back; what follows is told by the journal.
                    None => self.live = None,
                }
            }
            if let Some(update) = self.streamed_elsewhere() {
                return Ok(Some(update));
            }
            if let Some(fact) = self.read.pop_front() {
                self.seen = fact.seq;
                if let Some(distant) = &mut self.distant {
                    distant.note_fact(&fact);
                }
                return Ok(Some(SessionUpdate::Fact(fact)));
            }
            self.read.shrink_to_fit();
            if !self.find_more().await? {
                return Ok(None);
            }
        }
    }

    /// Resolves when there is something to give of a session that runs here, and takes nothing: what streams
    /// until it is taken is joined. Of any other session at once. Giving up waiting loses nothing.
    pub(crate) async fn wait_for_update(&mut self) {
        if let Some(live) = &mut self.live {
            live.wait_for_update().await;
        }
    }

    /// What streams elsewhere and has its place here.
    fn streamed_elsewhere(&mut self) -> Option<SessionUpdate> {
        let distant = self.distant.as_mut()?;
        if distant.take_in(&self.app.sessions.seals, self.seen) {
            // The facts before it stand in the journal: whoever sends it had published them.
            self.longer = None;
        }
        distant.next_update(self.seen)
    }

    /// Looks where the next facts come from, and waits until there are some. `false`: there will be
    /// none.
    async fn find_more(&mut self) -> HandlerResult<bool> {
        let app = self.app.clone();
        let opened = app.sessions.feed_notifier(&self.key).notified();
        tokio::pin!(opened);
        // It listens before it looks, so that no opening is missed.
        opened.as_mut().enable();
        if let Some(server_session) = app.sessions.find_live_session(&self.key) {
            self.live = Some(Box::new(server_session.updates_since(self.seen)));
            (self.distant, self.longer) = (None, None);
            return Ok(true);
        }
        let longer = match &mut self.longer {
            // What streams elsewhere wakes it often: only the journal's growth makes it read again.
            Some(longer) => longer,
            None => {
                let records = self.store.read_records(&self.id, self.seen + 1, READ_BATCH).await?;
                for record in &records {
                    self.read.push_back(fact_of(record)?);
                }
                if !records.is_empty() {
                    return Ok(true);
                }
                if self.store.session_meta(&self.id).await?.is_none() {
                    return Ok(false);
                }
                if self.distant.is_none() {
                    let ear = self.store.hear_signals(&self.id);
                    let distant =
                        |ear| Box::new(RemoteStream::new(ear, self.key.clone(), self.seen));
                    self.distant = ear.map(distant);
                }
                let (store, id, seen) = (self.store.clone(), self.id.clone(), self.seen);
                self.longer.insert(Box::pin(async move { store.facts_changed(&id, seen).await }))
            }
        };
        let heard = async {
            match &mut self.distant {
                Some(distant) => distant.wait_for_arrival().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = opened => (),
            () = longer => self.longer = None,
            () = heard => (),
            () = app.stop.cancelled() => return Ok(false),
        }
        Ok(true)
    }
}
