//! Sessions that run here and whoever listens to them (S3).
//!
//! A session that runs here has a *room*: its handle, and a task that watches it. Commands find the
//! room, open one, or travel as letters to the process that has the session; which of these, the
//! engine's host knows (`weir_engine::host`). Listeners have *feeds*,
//! which need no room. Reading order: `room`, `feed`, `tell`; then `recovery`, `pause`, `title`; and for
//! replicas `relay`, `piece`, `distant`.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_core::ids::{Seq, SessionId};
use weir_core::session::child;
use weir_engine::engine::EngineError;
use weir_engine::host::{LiveSession, SessionState};
use weir_engine::ports::StoreError;

use crate::app::App;
use crate::limits::MinuteQuotas;
use crate::problem::{HandlerResult, ProblemDetails};

mod distant;
pub(crate) mod feed;
pub(crate) mod fold;
pub(crate) mod listeners;
pub(crate) mod pause;
mod piece;
pub(crate) mod recovery;
mod relay;
pub(crate) mod room;
pub(crate) mod tell;
pub(crate) mod title;
pub(crate) mod uploads;
mod wishes;

pub(crate) use feed::SessionFeed;
use fold::FoldedSession;
use listeners::ListenerCounts;
use piece::LineSeals;
pub(crate) use room::ServerSession;
use weir_install::people::PersonId;
use weir_install::user_space::{SessionContext, SessionWish, UserSpace};

/// Places at which feeds wait for rooms to open: sessions share them by their hash.
const SLOTS: usize = 256;

/// A session of a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey(Arc<str>);

impl SessionKey {
    /// The name of a session among those of all people.
    pub(crate) fn for_session(home: &UserSpace, id: &SessionId) -> SessionKey {
        SessionKey(format!("{}/{id}", home.person()).into())
    }

    /// One of this name.
    #[cfg(test)]
    pub(crate) fn named(name: &str) -> SessionKey {
        SessionKey(name.into())
    }

    /// As text, for entries of the server.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where a session is.
pub(crate) enum SessionLocation {
    /// It runs here.
    Here(Arc<ServerSession>),
    /// Somebody else has it, in words.
    Elsewhere(String),
}

/// The sessions that run in this process.
pub(crate) struct ServerSessions {
    stop: CancellationToken,
    open: Mutex<HashMap<SessionKey, Arc<ServerSession>>>,
    /// One opening of a session at a time.
    opening: Mutex<HashMap<SessionKey, Weak<tokio::sync::Mutex<()>>>>,
    slots: Vec<Notify>,
    watchers: TaskTracker,
    /// Sessions against which a crash is held.
    suspects: Mutex<HashSet<SessionKey>>,
    listeners: ListenerCounts,
    frames: MinuteQuotas<PersonId>,
    /// For what goes to other replicas.
    seals: LineSeals,
    rest_ms: u64,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerSessions {
    /// None yet. `key`: the one by which the house seals.
    pub(crate) fn new(key: &[u8; 32], stop: CancellationToken) -> ServerSessions {
        ServerSessions {
            stop,
            open: Mutex::default(),
            opening: Mutex::default(),
            slots: (0..SLOTS).map(|_| Notify::new()).collect(),
            watchers: TaskTracker::new(),
            suspects: Mutex::default(),
            listeners: ListenerCounts::default(),
            frames: MinuteQuotas::new(listeners::FRAMES_A_MINUTE),
            seals: LineSeals::new(key),
            rest_ms: room::REST_MS,
        }
    }

    /// Whoever listens.
    pub(crate) fn listeners(&self) -> &ListenerCounts {
        &self.listeners
    }

    /// What is left of everybody's frames.
    pub(crate) fn frame_quotas(&self) -> &MinuteQuotas<PersonId> {
        &self.frames
    }

    fn rest_ms(&self) -> u64 {
        self.rest_ms
    }

    fn feed_notifier(&self, key: &SessionKey) -> &Notify {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % SLOTS as u64).unwrap_or(0);
        &self.slots[at]
    }

    fn wake_feeds(&self, key: &SessionKey) {
        self.feed_notifier(key).notify_waiters();
    }

    fn find_live_session(&self, key: &SessionKey) -> Option<Arc<ServerSession>> {
        lock_mutex(&self.open).get(key).filter(|room| !room.is_over()).cloned()
    }

    /// The room of a session that runs here.
    pub(crate) fn find_session_here(
        &self,
        home: &UserSpace,
        id: &SessionId,
    ) -> Option<Arc<ServerSession>> {
        self.find_live_session(&SessionKey::for_session(home, id))
    }

    /// How many sessions run here.
    pub(crate) fn count(&self) -> usize {
        lock_mutex(&self.open).len()
    }

    fn remove_live_session(&self, key: &SessionKey, room: &Arc<ServerSession>) {
        let mut open = lock_mutex(&self.open);
        if open.get(key).is_some_and(|there| Arc::ptr_eq(there, room)) {
            open.remove(key);
        }
        drop(open);
        self.wake_feeds(key);
    }

    fn add_suspect(&self, key: &SessionKey) {
        lock_mutex(&self.suspects).insert(key.clone());
    }

    fn remove_suspect(&self, key: &SessionKey) -> bool {
        lock_mutex(&self.suspects).remove(key)
    }

    /// Goes on with what was at work, and watches over it until the server ends.
    pub(crate) fn start_tasks(&self, app: &App) {
        self.watchers.spawn(recovery::run_recovery_watch(app.clone()));
        self.watchers.spawn(crate::schedule::run(app.clone()));
    }

    /// Waits until every session that ran here has been given back: after the server was told to
    /// end.
    pub(crate) async fn wait_until_drained(&self) {
        self.watchers.close();
        self.watchers.wait().await;
    }

    /// Stops whatever runs of a person, where it is: their account is disabled or removed.
    pub(crate) async fn close_all(&self, person: &str) {
        let prefix = format!("{person}/");
        let of_person =
            |(key, _): &(&SessionKey, &Arc<ServerSession>)| key.as_str().starts_with(&prefix);
        let rooms: Vec<Arc<ServerSession>> =
            lock_mutex(&self.open).iter().filter(of_person).map(|(_, room)| room.clone()).collect();
        for room in rooms {
            room.handle().request_stop().await;
            room.handle().wait_until_ended().await;
        }
    }

    /// Listens to a session from the fact after `after` on.
    ///
    /// # Errors
    /// There is no such session, or it has fewer facts.
    pub(crate) async fn open_feed(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        after: Seq,
    ) -> HandlerResult<SessionFeed> {
        SessionFeed::open(app, home, id, after).await
    }

    /// Begins a session. Nothing is said in it yet.
    ///
    /// # Errors
    /// It is paused, or the wish cannot be met.
    pub(crate) async fn create_session(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        wish: SessionWish,
    ) -> HandlerResult<SessionId> {
        self.create_as(app, home, home.new_session(), wish).await
    }

    /// The same under a name that is known already.
    ///
    /// # Errors
    /// As [`ServerSessions::create_session`]; there is one of this name.
    pub(crate) async fn create_as(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: SessionId,
        wish: SessionWish,
    ) -> HandlerResult<SessionId> {
        pause::may_run(app, home.as_ref()).await?;
        let edition = home.edition().await?;
        let options = home.session_options(&wish, None).await?;
        let key = SessionKey::for_session(home.as_ref(), &id);
        wishes::store_bound_options(app, home.as_ref(), &key, &wish).await?;
        let handle = home.engine().await?.open(id.clone(), options).await?;
        let live = LiveSession::new(handle, SessionState::default());
        let room = self.admit_session(app, home, &key, (live, edition));
        room.wait_until_begun(0).await;
        Ok(id)
    }

    fn admit_session(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        key: &SessionKey,
        (live, edition): (LiveSession, u64),
    ) -> Arc<ServerSession> {
        let room = ServerSession::new(live, home.clone(), key.clone()).made_at(edition);
        let room = Arc::new(room);
        lock_mutex(&self.open).insert(key.clone(), room.clone());
        self.watchers.spawn(room.clone().watch_session(app.clone()));
        self.watchers.spawn(relay::relay_session(app.clone(), room.clone()));
        self.wake_feeds(key);
        room
    }

    /// The room of a session, opened if nobody has the session. What it owed is owed again: a run
    /// that was on goes on.
    ///
    /// # Errors
    /// There is no such session, its engine crashed too often, or it cannot be opened.
    pub(crate) async fn take_session(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        wish: Option<&SessionWish>,
    ) -> HandlerResult<SessionLocation> {
        let key = SessionKey::for_session(home.as_ref(), id);
        if let Some(room) = self.find_live_session(&key)
            && !room.made_way(home.as_ref()).await?
        {
            return Ok(SessionLocation::Here(room));
        }
        if self.stop.is_cancelled() {
            return Err(ProblemDetails::internal_failure("the server ends"));
        }
        let turn = self.opening_lock(&key);
        let _turn = turn.lock().await;
        loop {
            let there = lock_mutex(&self.open).get(&key).cloned();
            match there {
                Some(room) if room.is_over() => {
                    room.handle().wait_until_ended().await;
                }
                Some(room) => return Ok(SessionLocation::Here(room)),
                None => break,
            }
            // Whoever watched it takes it out of the list now.
            tokio::task::yield_now().await;
        }
        self.open_session(app, home, &key, (id, wish)).await
    }

    fn opening_lock(&self, key: &SessionKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = lock_mutex(&self.opening);
        if let Some(turn) = opening.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        opening.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        opening.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }

    async fn open_session(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        key: &SessionKey,
        (id, wish): (&SessionId, Option<&SessionWish>),
    ) -> HandlerResult<SessionLocation> {
        let store = home.store();
        let FoldedSession { session, state, .. } =
            fold::load_session_fold(store.as_ref(), id).await?;
        if let Some((parent, _)) = child::parent_of(id) {
            return Ok(SessionLocation::Elsewhere(format!("session {parent}, which started it")));
        }
        recovery::refuse_quarantined(app, key).await?;
        let engine = home.engine().await?;
        // Whether somebody has it is asked before its servers and plugins are started for it.
        match store.acquire_lease(id, &engine.parts().owner).await {
            Ok(lease) => store.release_lease(&lease).await?,
            Err(StoreError::Held { holder, .. }) => return Ok(SessionLocation::Elsewhere(holder)),
            Err(error) => return Err(error.into()),
        }
        let kept = session.config().cloned();
        let edition = home.edition().await?;
        let own = wishes::load_bound_options(app, key).await?;
        let wish = wish
            .cloned()
            .map_or_else(|| own.clone(), |wish| wishes::join_bound_options(wish, &own));
        let options = home.session_options(&wish, kept.as_deref()).await?;
        match engine.resume(id.clone(), options).await {
            Ok(handle) => {
                let live = LiveSession::new(handle, state);
                let room = self.admit_session(app, home, key, (live, edition));
                // Whoever looks into the journal now finds what the opening changed.
                room.wait_until_begun(session.fact_count()).await;
                Ok(SessionLocation::Here(room))
            }
            Err(EngineError::Store(StoreError::Held { holder, .. })) => {
                Ok(SessionLocation::Elsewhere(holder))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a session is one of a person's own making.
pub(crate) fn is_interactive(wish: &SessionWish) -> bool {
    wish.context == SessionContext::Interactive
}
