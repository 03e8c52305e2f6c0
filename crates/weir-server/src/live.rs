//! What happens to sessions that run here, and to whoever listens to them (S3). Not here: the list of
//! them (`session_registry`).
//!
//! A session that runs here has a *room*: its handle, and a task that watches it. Commands find the
//! room, open one, or travel as letters to the process that has the session; which of these, the
//! engine's host knows (`weir_engine::host`). Listeners have *feeds*,
//! which need no room. Reading order: `room`, `feed`, `tell`; then `recovery`, `pause`, `title`; and for
//! replicas `relay`, `distant`.

use std::sync::Arc;

use weir_core::ids::{Seq, SessionId};
use weir_core::session::child;
use weir_engine::engine::EngineError;
use weir_engine::host::{LiveSession, SessionState};
use weir_engine::ports::StoreError;

use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};

mod distant;
pub(crate) mod feed;
pub(crate) mod fold;
pub(crate) mod pause;
pub(crate) mod recovery;
mod relay;
pub(crate) mod room;
pub(crate) mod tell;
pub(crate) mod title;
pub(crate) mod uploads;
mod wishes;

use crate::session_registry::ServerSessions;
pub(crate) use crate::session_registry::{ServerSession, SessionKey};
pub(crate) use feed::SessionFeed;
use fold::FoldedSession;
use weir_install::user_space::{SessionContext, SessionWish, UserSpace};

/// A session as somebody asks for it: in whose space it is, and which.
#[derive(Clone, Copy)]
pub(crate) struct SessionRequest<'a> {
    /// The server.
    pub(crate) app: &'a App,
    /// Everything of the person.
    pub(crate) space: &'a Arc<UserSpace>,
    /// Which.
    pub(crate) session: &'a SessionId,
}

impl<'a> SessionRequest<'a> {
    /// A session of a person.
    pub(crate) fn new(
        app: &'a App,
        space: &'a Arc<UserSpace>,
        session: &'a SessionId,
    ) -> SessionRequest<'a> {
        SessionRequest { app, space, session }
    }
}

/// Where a session is.
pub(crate) enum SessionLocation {
    /// It runs here.
    Here(Arc<ServerSession>),
    /// Somebody else has it, in words.
    Elsewhere(String),
}

impl ServerSessions {
    /// Listens to a session from the fact after `after` on.
    ///
    /// # Errors
    /// There is no such session, or it has fewer facts.
    pub(crate) async fn open_feed(
        &self,
        request: SessionRequest<'_>,
        after: Seq,
    ) -> HandlerResult<SessionFeed> {
        let SessionRequest { app, space: home, session: id } = request;
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
        let room = ServerSession::new(live, home.clone(), key).made_at(edition);
        let room = self.admit_session(app, room);
        room.wait_until_begun(0).await;
        Ok(id)
    }

    fn admit_session(&self, app: &App, room: ServerSession) -> Arc<ServerSession> {
        let room = Arc::new(room);
        self.insert_live_session(&room.key, &room);
        self.watchers.spawn(room.clone().watch_session(app.clone()));
        self.watchers.spawn(relay::relay_session(app.clone(), room.clone()));
        self.wake_feeds(&room.key);
        room
    }

    /// The room of a session, opened if nobody has the session. What it owed is owed again: a run
    /// that was on goes on.
    ///
    /// # Errors
    /// There is no such session, its engine crashed too often, or it cannot be opened.
    pub(crate) async fn take_session(
        &self,
        request: SessionRequest<'_>,
        wish: Option<&SessionWish>,
    ) -> HandlerResult<SessionLocation> {
        let SessionRequest { space: home, session: id, .. } = request;
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
            let there = self.find_open_session(&key);
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
        self.open_session(request, &key, wish).await
    }

    async fn open_session(
        &self,
        request: SessionRequest<'_>,
        key: &SessionKey,
        wish: Option<&SessionWish>,
    ) -> HandlerResult<SessionLocation> {
        let SessionRequest { app, space: home, session: id } = request;
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
                let room = ServerSession::new(live, home.clone(), key.clone()).made_at(edition);
                let room = self.admit_session(app, room);
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
