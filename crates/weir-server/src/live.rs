//! What happens to sessions that run here, and to whoever listens to them (S3). Not here: the list of
//! them (`session_registry`).
//!
//! A session that runs here is a *server session*: its handle, and a task that watches it. Commands
//! find it, open it, or travel as letters to the process that has the session; which of these, the
//! engine's host knows (`weir_engine::host`). Listeners have *feeds*, which need no session that
//! runs here. Reading order: `watch`, `feed`, `tell`; then `recovery`, `pause`, `title`; and for
//! replicas `relay`, `distant`.

use std::sync::Arc;

use weir_core::ids::{Seq, SessionId};
use weir_core::session::child;
use weir_engine::engine::EngineError;
use weir_engine::host::{LiveSession, SessionState};
use weir_engine::ports::{SessionMeta, StoreError};

use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};

pub(crate) mod begun;
mod bound_options;
mod distant;
pub(crate) mod feed;
pub(crate) mod fold;
pub(crate) mod pause;
pub(crate) mod recovery;
mod relay;
pub(crate) mod tell;
pub(crate) mod title;
pub(crate) mod uploads;
pub(crate) mod watch;

use crate::session_registry::ServerSessions;
pub(crate) use crate::session_registry::{ServerSession, SessionKey};
pub(crate) use feed::SessionFeed;
use weir_install::user_space::{SessionContext, SessionPreferences, UserSpace};

/// A session as somebody asks for it: in whose space it is, and which.
#[derive(Clone, Copy)]
pub(crate) struct SessionRequest<'a> {
    /// The server.
    pub(crate) app: &'a App,
    /// Everything of the person.
    pub(crate) space: &'a Arc<UserSpace>,
    /// The name of the session.
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
    /// It has fewer facts.
    pub(crate) fn open_feed(
        &self,
        app: &App,
        space: &Arc<UserSpace>,
        session: &SessionMeta,
        after: Seq,
    ) -> HandlerResult<SessionFeed> {
        SessionFeed::open(app, space, session, after)
    }

    /// Begins a session. Nothing is said in it yet.
    ///
    /// # Errors
    /// It is paused, or what is wanted cannot be met.
    pub(crate) async fn create_session(
        &self,
        app: &App,
        space: &Arc<UserSpace>,
        preferences: SessionPreferences,
    ) -> HandlerResult<SessionId> {
        self.create_as(app, space, space.new_session(), preferences).await
    }

    /// The session of this name, begun unless it was. Whoever wants the same at the same moment waits.
    /// `false`: it was begun before, with what was wanted then.
    ///
    /// # Errors
    /// As [`ServerSessions::create_session`].
    pub(crate) async fn begin_once(
        &self,
        request: SessionRequest<'_>,
        preferences: SessionPreferences,
    ) -> HandlerResult<bool> {
        let SessionRequest { app, space, session: id } = request;
        let turn = self.opening_lock(&SessionKey::for_session(space.as_ref(), id));
        let _turn = turn.lock().await;
        let known = space.store().session_meta(id).await?;
        let is_new = known.is_none_or(|meta| meta.facts == 0);
        if is_new {
            self.create_as(app, space, id.clone(), preferences).await?;
        }
        Ok(is_new)
    }

    /// The same under a name that is known already.
    ///
    /// # Errors
    /// As [`ServerSessions::create_session`]; there is one of this name.
    pub(crate) async fn create_as(
        &self,
        app: &App,
        space: &Arc<UserSpace>,
        id: SessionId,
        preferences: SessionPreferences,
    ) -> HandlerResult<SessionId> {
        pause::may_run(app, space.as_ref()).await?;
        let look = space.look_at_settings().await?;
        let options = space.session_options_at(&look, &preferences, None).await?;
        let key = SessionKey::for_session(space.as_ref(), &id);
        bound_options::store_bound_options(app, space.as_ref(), &key, &preferences).await?;
        let handle = space.engine_at(&look).await?.open(id.clone(), options).await?;
        let live = LiveSession::new(handle, SessionState::default());
        let server_session = ServerSession::new(live, space.clone(), key).made_at(look.revision());
        let server_session = self.admit_session(app, server_session);
        server_session.wait_until_begun(0).await;
        Ok(id)
    }

    fn admit_session(&self, app: &App, server_session: ServerSession) -> Arc<ServerSession> {
        let server_session = Arc::new(server_session);
        self.insert_live_session(&server_session.key, &server_session);
        self.watchers.spawn(server_session.clone().watch_session(app.clone()));
        self.watchers.spawn(relay::relay_session(app.clone(), server_session.clone()));
        self.wake_feeds(&server_session.key);
        server_session
    }

    /// A session that runs here, opened if nobody has the session. What it owed is owed again: a
    /// run that was on goes on.
    ///
    /// # Errors
    /// There is no such session, its engine crashed too often, or it cannot be opened.
    pub(crate) async fn take_session(
        &self,
        request: SessionRequest<'_>,
    ) -> HandlerResult<SessionLocation> {
        let SessionRequest { space, session: id, .. } = request;
        let key = SessionKey::for_session(space.as_ref(), id);
        if let Some(server_session) = self.find_live_session(&key)
            && !server_session.made_way(space.as_ref()).await?
        {
            return Ok(SessionLocation::Here(server_session));
        }
        let turn = self.opening_lock(&key);
        let _turn = turn.lock().await;
        match self.find_settled_session(&key).await? {
            Some(server_session) => Ok(SessionLocation::Here(server_session)),
            None => self.open_session(request, &key, None).await,
        }
    }

    /// The same with these settings, for a session that was at rest. `None`: somebody opened it
    /// meanwhile, as it was.
    ///
    /// # Errors
    /// As [`ServerSessions::take_session`]; or what is wanted cannot be met.
    pub(crate) async fn reopen_session(
        &self,
        request: SessionRequest<'_>,
        preferences: &SessionPreferences,
    ) -> HandlerResult<Option<SessionLocation>> {
        let key = SessionKey::for_session(request.space.as_ref(), request.session);
        let turn = self.opening_lock(&key);
        let _turn = turn.lock().await;
        match self.find_settled_session(&key).await? {
            Some(_) => Ok(None),
            None => self.open_session(request, &key, Some(preferences)).await.map(Some),
        }
    }

    /// The session that runs here, for whoever has its turn to open it. One that goes down is waited
    /// for until it is gone.
    ///
    /// # Errors
    /// The server ends: nothing is opened any more.
    async fn find_settled_session(
        &self,
        key: &SessionKey,
    ) -> HandlerResult<Option<Arc<ServerSession>>> {
        if self.stop.is_cancelled() {
            return Err(ProblemDetails::internal_failure("the server ends"));
        }
        loop {
            match self.find_open_session(key) {
                Some(server_session) if server_session.is_over() => {
                    server_session.handle().wait_until_ended().await;
                }
                there => return Ok(there),
            }
            // Whoever watched it takes it out of the list now.
            tokio::task::yield_now().await;
        }
    }

    async fn open_session(
        &self,
        request: SessionRequest<'_>,
        key: &SessionKey,
        preferences: Option<&SessionPreferences>,
    ) -> HandlerResult<SessionLocation> {
        let SessionRequest { app, space, session: id } = request;
        if let Some((parent, _)) = child::parent_of(id) {
            return Ok(SessionLocation::Elsewhere(format!("session {parent}, which started it")));
        }
        recovery::refuse_quarantined(app, key).await?;
        // Settings that change from here on count at the next opening: this one is of their revision.
        let look = space.look_at_settings().await?;
        let engine = space.engine_at(&look).await?;
        // Before its journal is folded, and its servers and plugins are started.
        match engine.check_not_held(id).await {
            Ok(()) => (),
            Err(StoreError::Held { holder, .. }) => return Ok(SessionLocation::Elsewhere(holder)),
            Err(error) => return Err(error.into()),
        }
        let loaded = fold::load_journal(space.store().as_ref(), id).await?;
        let (kept, facts) = (loaded.session.config().cloned(), loaded.session.fact_count());
        let state = SessionState::read_of_session(space.store().as_ref(), &loaded.session).await?;
        let own = bound_options::load_bound_options(app, key).await?;
        let preferences = preferences.cloned().map_or_else(
            || own.clone(),
            |preferences| bound_options::join_bound_options(preferences, &own),
        );
        let options = space.session_options_at(&look, &preferences, kept.as_deref()).await?;
        match engine.resume_loaded(loaded, options).await {
            Ok(handle) => {
                let live = LiveSession::new(handle, state);
                let server_session =
                    ServerSession::new(live, space.clone(), key.clone()).made_at(look.revision());
                let server_session = self.admit_session(app, server_session);
                // Whoever looks into the journal now finds what the opening changed.
                server_session.wait_until_begun(facts).await;
                Ok(SessionLocation::Here(server_session))
            }
            Err(EngineError::Store(StoreError::Held { holder, .. })) => {
                Ok(SessionLocation::Elsewhere(holder))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a session is one of a person's own making.
pub(crate) fn is_interactive(preferences: &SessionPreferences) -> bool {
    preferences.context == SessionContext::Interactive
}
