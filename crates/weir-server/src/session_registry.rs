//! The sessions that run in this process, as a list: their names, what is counted of whoever
//! listens. Not here: opening, watching and steering them (`live`).

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_core::ids::{Seq, SessionId};
use weir_engine::engine::SessionHandle;
use weir_engine::host::{LiveSession, SessionState};
use weir_engine::hub::UpdateSubscription;
use weir_install::people::PersonId;
use weir_install::user_space::UserSpace;

use crate::limits::MinuteQuotas;
use crate::problem::HandlerResult;

pub(crate) mod listeners;
pub(crate) mod piece;

use listeners::ListenerCounts;
use piece::LineSeals;

/// Places at which feeds wait for sessions to open: they share them by their hash.
const SLOTS: usize = 256;

/// A session of a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey(Arc<str>);

impl SessionKey {
    /// The name of a session among those of all people.
    pub(crate) fn for_session(space: &UserSpace, id: &SessionId) -> SessionKey {
        SessionKey(format!("{}/{id}", space.person()).into())
    }

    /// What a first message holds whose name has this digest, until its chat has begun. No session has
    /// such a name.
    pub(crate) fn for_first_message(space: &UserSpace, digest: &str) -> SessionKey {
        SessionKey(format!("{}/message/{digest}", space.person()).into())
    }

    /// What is held by whoever looks for the name of a session. No session has such a name.
    pub(crate) fn for_title(space: &UserSpace, id: &SessionId) -> SessionKey {
        SessionKey(format!("{}/title/{id}", space.person()).into())
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

/// The sessions that run in this process.
pub(crate) struct ServerSessions {
    /// Cancelled when all of them shall end.
    pub(crate) stop: CancellationToken,
    open: Mutex<HashMap<SessionKey, Arc<ServerSession>>>,
    /// One opening of a session at a time, one try of a first message, and one who looks for a name.
    opening: Mutex<HashMap<SessionKey, Weak<tokio::sync::Mutex<()>>>>,
    slots: Vec<Notify>,
    /// Tasks that end before the server does.
    pub(crate) watchers: TaskTracker,
    /// Sessions against which a crash is held.
    suspects: Mutex<HashSet<SessionKey>>,
    listeners: ListenerCounts,
    frames: MinuteQuotas<PersonId>,
    /// For what goes to other replicas.
    pub(crate) seals: LineSeals,
    rest_ms: u64,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerSessions {
    /// None yet. `key`: the one by which the installation seals.
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
            rest_ms: REST_MS,
        }
    }

    /// The counts of those who listen.
    pub(crate) fn listeners(&self) -> &ListenerCounts {
        &self.listeners
    }

    /// What is left of everybody's frames.
    pub(crate) fn frame_quotas(&self) -> &MinuteQuotas<PersonId> {
        &self.frames
    }

    /// How long one that is at rest stays open.
    pub(crate) fn rest_ms(&self) -> u64 {
        self.rest_ms
    }

    /// What wakes feeds of a session when it opens or goes.
    pub(crate) fn feed_notifier(&self, key: &SessionKey) -> &Notify {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % SLOTS as u64).unwrap_or(0);
        &self.slots[at]
    }

    /// Wakes them.
    pub(crate) fn wake_feeds(&self, key: &SessionKey) {
        self.feed_notifier(key).notify_waiters();
    }

    /// The session that runs here and is not over.
    pub(crate) fn find_live_session(&self, key: &SessionKey) -> Option<Arc<ServerSession>> {
        lock_mutex(&self.open).get(key).filter(|server_session| !server_session.is_over()).cloned()
    }

    /// The session that runs here.
    pub(crate) fn find_session_here(
        &self,
        space: &UserSpace,
        id: &SessionId,
    ) -> Option<Arc<ServerSession>> {
        self.find_live_session(&SessionKey::for_session(space, id))
    }

    /// How many sessions run here.
    pub(crate) fn count(&self) -> usize {
        lock_mutex(&self.open).len()
    }

    /// Takes a session out of the list, unless another has its place.
    pub(crate) fn remove_live_session(
        &self,
        key: &SessionKey,
        server_session: &Arc<ServerSession>,
    ) {
        let mut open = lock_mutex(&self.open);
        if open.get(key).is_some_and(|there| Arc::ptr_eq(there, server_session)) {
            open.remove(key);
        }
        drop(open);
        self.wake_feeds(key);
    }

    /// Holds a crash against a session.
    pub(crate) fn add_suspect(&self, key: &SessionKey) {
        lock_mutex(&self.suspects).insert(key.clone());
    }

    /// Whether a crash was held against it; none is any more.
    pub(crate) fn remove_suspect(&self, key: &SessionKey) -> bool {
        lock_mutex(&self.suspects).remove(key)
    }

    /// Puts a session into the list.
    pub(crate) fn insert_live_session(
        &self,
        key: &SessionKey,
        server_session: &Arc<ServerSession>,
    ) {
        lock_mutex(&self.open).insert(key.clone(), server_session.clone());
    }

    /// The session that is in the list, also one that is over.
    pub(crate) fn find_open_session(&self, key: &SessionKey) -> Option<Arc<ServerSession>> {
        lock_mutex(&self.open).get(key).cloned()
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
        let server_sessions: Vec<Arc<ServerSession>> = lock_mutex(&self.open)
            .iter()
            .filter(of_person)
            .map(|(_, server_session)| server_session.clone())
            .collect();
        for server_session in server_sessions {
            server_session.handle().request_stop().await;
            server_session.handle().wait_until_ended().await;
        }
    }

    /// Held by whoever opens a session, begins one with a message, or looks for its name: one at a time.
    pub(crate) fn opening_lock(&self, key: &SessionKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = lock_mutex(&self.opening);
        if let Some(turn) = opening.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        opening.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        opening.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }
}

/// How long a session that is at rest stays open for what is said next, in milliseconds.
pub(crate) const REST_MS: u64 = 60_000;
/// How long is waited for a session at rest to go down.
const REST_WAIT: Duration = Duration::from_secs(2);

/// A session that runs here.
pub(crate) struct ServerSession {
    /// By which it is steered, with what its facts say of it.
    pub(crate) live: Arc<LiveSession>,
    /// Whose it is; kept as long as it runs.
    pub(crate) space: Arc<UserSpace>,
    pub(crate) key: SessionKey,
    /// The settings that it was opened with.
    revision: u64,
}

impl ServerSession {
    /// A session that was opened just now.
    pub(crate) fn new(live: LiveSession, space: Arc<UserSpace>, key: SessionKey) -> ServerSession {
        ServerSession { live: Arc::new(live), space, key, revision: 0 }
    }

    /// The same, opened with the settings of this revision.
    pub(crate) fn made_at(self, revision: u64) -> ServerSession {
        ServerSession { revision, ..self }
    }

    /// Settings changed since it was opened, and nothing was under way: it is down, to be opened
    /// with them. A run that is on goes on as it began.
    ///
    /// # Errors
    /// The database does not answer.
    pub(crate) async fn made_way(&self, space: &UserSpace) -> HandlerResult<bool> {
        if !self.live.read_state(SessionState::is_at_rest)
            || space.revision().await? == self.revision
        {
            return Ok(false);
        }
        self.handle().stop_if_idle().await;
        Ok(tokio::time::timeout(REST_WAIT, self.handle().wait_until_ended()).await.is_ok())
    }

    /// By which it is steered.
    pub(crate) fn handle(&self) -> &SessionHandle {
        self.live.handle()
    }

    /// The name of the session.
    pub(crate) fn id(&self) -> &SessionId {
        self.live.id()
    }

    /// What is known of its course.
    pub(crate) fn watch_state(&self) -> watch::Receiver<SessionState> {
        self.live.watch_state()
    }

    /// Its updates from the fact after `seen` on.
    pub(crate) fn updates_since(&self, seen: Seq) -> UpdateSubscription {
        self.handle().listen_to_updates(seen)
    }

    /// Waits for the first durable fact after `known`: each opening of a session records one.
    pub(crate) async fn wait_until_begun(&self, known: Seq) {
        let mut course = self.watch_state();
        tokio::select! {
            biased;
            _ = course.wait_for(|course| course.facts > known) => (),
            _ = self.handle().wait_until_ended() => (),
        }
    }

    /// It takes nothing any more. Known before whoever watches it has heard: a feed that came back
    /// to a session that tells nothing would ask it again and again.
    pub(crate) fn is_over(&self) -> bool {
        self.live.is_over()
    }
}
