//! What a handler asks for in its signature, found once for all of them: whoever calls with their user
//! space, and one of their sessions; below, what was sent and how it is answered. Not here: who
//! somebody is (`caller`), what admins do (`account_admin`).

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use weir_core::ids::SessionId;
use weir_engine::ports::SessionMeta;
use weir_install::user_space::UserSpace;

use crate::app::App;
use crate::caller::Caller;
use crate::live::SessionRequest;
use crate::problem::{HandlerResult, ProblemDetails};

pub(crate) mod body;
mod form;

/// The part of an address that names a session.
const SESSION_PARAMETER: &str = "id";

/// The caller, and everything that is theirs.
#[derive(Clone)]
pub(crate) struct CallerSpace {
    /// The server.
    pub(crate) app: App,
    /// The caller.
    pub(crate) caller: Caller,
    /// What is theirs.
    pub(crate) space: Arc<UserSpace>,
}

impl CallerSpace {
    /// The user space of whoever calls.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) async fn open_space(app: &App, caller: &Caller) -> HandlerResult<CallerSpace> {
        let space = app.user_space(&caller.person).await?;
        Ok(CallerSpace { app: app.clone(), caller: caller.clone(), space })
    }

    /// What lists show of a session of theirs.
    ///
    /// # Errors
    /// They have none of this name.
    pub(crate) async fn find_session(&self, id: &SessionId) -> HandlerResult<SessionMeta> {
        let meta = self.space.store().session_meta(id).await?.filter(|meta| meta.facts > 0);
        meta.ok_or_else(|| ProblemDetails::not_found(format!("session {id}")))
    }

    /// What a session of theirs is told through.
    pub(crate) fn session_request<'a>(&'a self, session: &'a SessionId) -> SessionRequest<'a> {
        SessionRequest::new(&self.app, &self.space, session)
    }
}

impl FromRequestParts<App> for CallerSpace {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> HandlerResult<CallerSpace> {
        let caller = Caller::from_request_parts(parts, app).await?;
        CallerSpace::open_space(app, &caller).await
    }
}

/// The session of whoever calls that `{id}` of the address names.
#[derive(Clone)]
pub(crate) struct CallerSession {
    /// Whose it is.
    pub(crate) owner: CallerSpace,
    /// The name of the session.
    pub(crate) id: SessionId,
    /// What lists show of it, as it was when the request came.
    pub(crate) meta: SessionMeta,
}

impl CallerSession {
    /// The request by which the session is told something.
    pub(crate) fn session_request(&self) -> SessionRequest<'_> {
        self.owner.session_request(&self.id)
    }
}

impl FromRequestParts<App> for CallerSession {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> HandlerResult<CallerSession> {
        let owner = CallerSpace::from_request_parts(parts, app).await?;
        let params = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(|error| ProblemDetails::bad_request(error.body_text()))?;
        let named = params.iter().find(|(name, _)| *name == SESSION_PARAMETER);
        let named = named.ok_or_else(|| ProblemDetails::not_found("this session"))?;
        let id = SessionId::new(named.1);
        let meta = owner.find_session(&id).await?;
        Ok(CallerSession { owner, id, meta })
    }
}
