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
use crate::limits::Quotas;
use crate::problem::{Answer, Problem};

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

pub(crate) use feed::Feed;
use fold::Folded;
use listeners::Listeners;
use piece::LineSeals;
pub(crate) use room::Room;
use weir_install::people::PersonId;
use weir_install::user_space::{SessionContext, SessionWish, UserSpace};

/// Places at which feeds wait for rooms to open: sessions share them by their hash.
const SLOTS: usize = 256;

/// A session of a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key(Arc<str>);

impl Key {
    /// The name of a session among those of all people.
    pub(crate) fn of(home: &UserSpace, id: &SessionId) -> Key {
        Key(format!("{}/{id}", home.person()).into())
    }

    /// One of this name.
    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Key {
        Key(name.into())
    }

    /// As text, for entries of the server.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where a session is.
pub(crate) enum Hold {
    /// It runs here.
    Here(Arc<Room>),
    /// Somebody else has it, in words.
    Elsewhere(String),
}

/// The sessions that run in this process.
pub(crate) struct Rooms {
    stop: CancellationToken,
    open: Mutex<HashMap<Key, Arc<Room>>>,
    /// One opening of a session at a time.
    opening: Mutex<HashMap<Key, Weak<tokio::sync::Mutex<()>>>>,
    slots: Vec<Notify>,
    watchers: TaskTracker,
    /// Sessions against which a crash is held.
    suspects: Mutex<HashSet<Key>>,
    listeners: Listeners,
    frames: Quotas<PersonId>,
    /// For what goes to other replicas.
    seals: LineSeals,
    rest_ms: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rooms {
    /// None yet. `key`: the one by which the house seals.
    pub(crate) fn new(key: &[u8; 32], stop: CancellationToken) -> Rooms {
        Rooms {
            stop,
            open: Mutex::default(),
            opening: Mutex::default(),
            slots: (0..SLOTS).map(|_| Notify::new()).collect(),
            watchers: TaskTracker::new(),
            suspects: Mutex::default(),
            listeners: Listeners::default(),
            frames: Quotas::new(listeners::FRAMES_A_MINUTE),
            seals: LineSeals::new(key),
            rest_ms: room::REST_MS,
        }
    }

    /// Whoever listens.
    pub(crate) fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    /// What is left of everybody's frames.
    pub(crate) fn frames(&self) -> &Quotas<PersonId> {
        &self.frames
    }

    fn rest_ms(&self) -> u64 {
        self.rest_ms
    }

    fn slot(&self, key: &Key) -> &Notify {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % SLOTS as u64).unwrap_or(0);
        &self.slots[at]
    }

    fn wake(&self, key: &Key) {
        self.slot(key).notify_waiters();
    }

    fn find(&self, key: &Key) -> Option<Arc<Room>> {
        lock(&self.open).get(key).filter(|room| !room.is_over()).cloned()
    }

    /// The room of a session that runs here.
    pub(crate) fn here(&self, home: &UserSpace, id: &SessionId) -> Option<Arc<Room>> {
        self.find(&Key::of(home, id))
    }

    /// How many sessions run here.
    pub(crate) fn count(&self) -> usize {
        lock(&self.open).len()
    }

    fn gone(&self, key: &Key, room: &Arc<Room>) {
        let mut open = lock(&self.open);
        if open.get(key).is_some_and(|there| Arc::ptr_eq(there, room)) {
            open.remove(key);
        }
        drop(open);
        self.wake(key);
    }

    fn suspect(&self, key: &Key) {
        lock(&self.suspects).insert(key.clone());
    }

    fn forgive(&self, key: &Key) -> bool {
        lock(&self.suspects).remove(key)
    }

    /// Goes on with what was at work, and watches over it until the server ends.
    pub(crate) fn begin(&self, app: &App) {
        self.watchers.spawn(recovery::watch(app.clone()));
        self.watchers.spawn(crate::schedule::run(app.clone()));
    }

    /// Waits until every session that ran here has been given back: after the server was told to
    /// end.
    pub(crate) async fn drained(&self) {
        self.watchers.close();
        self.watchers.wait().await;
    }

    /// Stops whatever runs of a person, where it is: their account is disabled or removed.
    pub(crate) async fn close_all(&self, person: &str) {
        let prefix = format!("{person}/");
        let of_person = |(key, _): &(&Key, &Arc<Room>)| key.as_str().starts_with(&prefix);
        let rooms: Vec<Arc<Room>> =
            lock(&self.open).iter().filter(of_person).map(|(_, room)| room.clone()).collect();
        for room in rooms {
            room.handle().stop().await;
            room.handle().ended().await;
        }
    }

    /// Listens to a session from the fact after `after` on.
    ///
    /// # Errors
    /// There is no such session, or it has fewer facts.
    pub(crate) async fn feed(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        after: Seq,
    ) -> Answer<Feed> {
        Feed::open(app, home, id, after).await
    }

    /// Begins a session. Nothing is said in it yet.
    ///
    /// # Errors
    /// It is paused, or the wish cannot be met.
    pub(crate) async fn create(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        wish: SessionWish,
    ) -> Answer<SessionId> {
        self.create_as(app, home, home.new_session(), wish).await
    }

    /// The same under a name that is known already.
    ///
    /// # Errors
    /// As [`Rooms::create`]; there is one of this name.
    pub(crate) async fn create_as(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: SessionId,
        wish: SessionWish,
    ) -> Answer<SessionId> {
        pause::may_run(app, home.as_ref()).await?;
        let edition = home.edition().await?;
        let options = home.session_options(&wish, None).await?;
        let key = Key::of(home.as_ref(), &id);
        wishes::keep(app, home.as_ref(), &key, &wish).await?;
        let handle = home.engine().await?.open(id.clone(), options).await?;
        let live = LiveSession::new(handle, SessionState::default());
        let room = self.admit(app, home, &key, (live, edition));
        room.begun(0).await;
        Ok(id)
    }

    fn admit(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        key: &Key,
        (live, edition): (LiveSession, u64),
    ) -> Arc<Room> {
        let room = Room::new(live, home.clone(), key.clone()).made_at(edition);
        let room = Arc::new(room);
        lock(&self.open).insert(key.clone(), room.clone());
        self.watchers.spawn(room.clone().watch(app.clone()));
        self.watchers.spawn(relay::relay(app.clone(), room.clone()));
        self.wake(key);
        room
    }

    /// The room of a session, opened if nobody has the session. What it owed is owed again: a run
    /// that was on goes on.
    ///
    /// # Errors
    /// There is no such session, its engine crashed too often, or it cannot be opened.
    pub(crate) async fn take(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        id: &SessionId,
        wish: Option<&SessionWish>,
    ) -> Answer<Hold> {
        let key = Key::of(home.as_ref(), id);
        if let Some(room) = self.find(&key)
            && !room.made_way(home.as_ref()).await?
        {
            return Ok(Hold::Here(room));
        }
        if self.stop.is_cancelled() {
            return Err(Problem::failed("the server ends"));
        }
        let turn = self.turn(&key);
        let _turn = turn.lock().await;
        loop {
            let there = lock(&self.open).get(&key).cloned();
            match there {
                Some(room) if room.is_over() => {
                    room.handle().ended().await;
                }
                Some(room) => return Ok(Hold::Here(room)),
                None => break,
            }
            // Whoever watched it takes it out of the list now.
            tokio::task::yield_now().await;
        }
        self.open(app, home, &key, (id, wish)).await
    }

    fn turn(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut opening = lock(&self.opening);
        if let Some(turn) = opening.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        opening.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        opening.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }

    async fn open(
        &self,
        app: &App,
        home: &Arc<UserSpace>,
        key: &Key,
        (id, wish): (&SessionId, Option<&SessionWish>),
    ) -> Answer<Hold> {
        let store = home.store();
        let Folded { session, state, .. } = fold::load(store.as_ref(), id).await?;
        if let Some((parent, _)) = child::parent_of(id) {
            return Ok(Hold::Elsewhere(format!("session {parent}, which started it")));
        }
        recovery::refuse_quarantined(app, key).await?;
        let engine = home.engine().await?;
        // Whether somebody has it is asked before its servers and plugins are started for it.
        match store.acquire(id, &engine.parts().owner).await {
            Ok(lease) => store.release(&lease).await?,
            Err(StoreError::Held { holder, .. }) => return Ok(Hold::Elsewhere(holder)),
            Err(error) => return Err(error.into()),
        }
        let kept = session.config().cloned();
        let edition = home.edition().await?;
        let own = wishes::kept(app, key).await?;
        let wish = wish.cloned().map_or_else(|| own.clone(), |wish| wishes::joined(wish, &own));
        let options = home.session_options(&wish, kept.as_deref()).await?;
        match engine.resume(id.clone(), options).await {
            Ok(handle) => {
                let live = LiveSession::new(handle, state);
                let room = self.admit(app, home, key, (live, edition));
                // Whoever looks into the journal now finds what the opening changed.
                room.begun(session.facts()).await;
                Ok(Hold::Here(room))
            }
            Err(EngineError::Store(StoreError::Held { holder, .. })) => Ok(Hold::Elsewhere(holder)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a session is one of a person's own making.
pub(crate) fn is_interactive(wish: &SessionWish) -> bool {
    wish.context == SessionContext::Interactive
}
