//! Who calls: every route but the open ones passes here first. Fails closed. Not here: who somebody
//! is (`auth`).

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::MethodRouter;
use http::request::Parts;
use http::{Method, StatusCode, header};

use crate::app::App;
use crate::auth::ClientInfo;
use crate::caller::{Caller, CallerCredential, CallerScope};
use crate::mcp_clients::MCP_PATH;
use crate::mcp_token::token_challenge;
use crate::peer::ClientAddress;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::sign_in::cookies;

mod arrival;
mod forgery;
mod quotas;

pub(crate) use arrival::check_host;
pub(crate) use forgery::is_own_origin;
pub(crate) use quotas::{per_address, per_person};

/// The callers that an address is open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// Everybody: it gives nothing of anybody away.
    Anyone,
    /// Everybody who is signed in, for their own things.
    Person,
    /// Admins.
    Admin,
}

impl<S: Send + Sync> FromRequestParts<S> for ClientInfo {
    type Rejection = ProblemDetails;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<ClientInfo, ProblemDetails> {
        let unknown = || {
            ProblemDetails::internal_failure("a request came without the address of whoever asks")
        };
        let address = parts.extensions.get::<ClientAddress>().ok_or_else(unknown)?;
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        Ok(ClientInfo { address: address.ip, agent: agent.unwrap_or_default().to_owned() })
    }
}

/// The same methods, for whom `access` lets in.
pub(crate) fn guard_methods(
    app: &App,
    access: RouteAccess,
    methods: MethodRouter<App>,
) -> MethodRouter<App> {
    methods.layer(from_fn_with_state(GuardedRoute { app: app.clone(), access }, admit_request))
}

/// A route, and who may use it.
#[derive(Clone)]
struct GuardedRoute {
    app: App,
    access: RouteAccess,
}

async fn admit_request(
    State(GuardedRoute { app, access }): State<GuardedRoute>,
    request: Request,
    next: Next,
) -> Response {
    let is_mcp = request.uri().path() == MCP_PATH;
    let is_page = !is_mcp && !request.uri().path().starts_with("/api/");
    let wants_page = is_page && request.method() == Method::GET;
    let to_sign_in = wants_page.then(|| sign_in(&request));
    let challenge = is_mcp.then(|| token_challenge(&app, request.headers()));
    match check_request(&app, access, request).await {
        Ok(request) => {
            let mut response = next.run(request).await;
            // What one person sees is nobody else's: no cache may keep it.
            let private = http::HeaderValue::from_static("no-store");
            response.headers_mut().entry(header::CACHE_CONTROL).or_insert(private);
            response
        }
        Err(problem) => match (to_sign_in, problem.code.as_str()) {
            (Some(to), "unauthorized") => Redirect::to(&to).into_response(),
            (Some(_), "second_factor_required") => {
                Redirect::to("/account/security").into_response()
            }
            (_, _) => {
                let mut response = problem.into_response();
                if let Some(challenge) = challenge
                    && response.status() == StatusCode::UNAUTHORIZED
                {
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                }
                response
            }
        },
    }
}

/// The request with its caller, if it may go on.
async fn check_request(app: &App, access: RouteAccess, request: Request) -> HandlerResult<Request> {
    forgery::refuse_secret_in_address(&request)?;
    let is_unsafe = !request.method().is_safe();
    let mut request = match is_unsafe && access == RouteAccess::Anyone {
        true => forgery::within_open_limit(request).await?,
        false => request,
    };
    let cookie = cookies::read_cookie(request.headers(), cookies::sign_in_name(app));
    let caller = app.auth.find_caller(request.headers(), cookie).await?;
    let by_browser = !matches!(&caller, Some(Caller { via: CallerCredential::Token { .. }, .. }));
    let is_socket = request.headers().contains_key(header::UPGRADE);
    if by_browser && (is_unsafe || is_socket) {
        forgery::refuse_foreign(app, request.headers(), is_socket && caller.is_some())?;
    }
    let Some(caller) = caller else {
        return match access {
            RouteAccess::Anyone => Ok(request),
            RouteAccess::Person | RouteAccess::Admin => Err(ProblemDetails::not_signed_in()),
        };
    };
    if is_unsafe && by_browser {
        let (rebuilt, is_ours) = forgery::is_our_form(request, caller.csrf_token()).await?;
        request = rebuilt;
        match (is_ours, access) {
            (true, _) => {}
            // Whoever is not sure to have meant it is nobody: signing in anew works from a page
            // that was opened before.
            (false, RouteAccess::Anyone) => return Ok(request),
            (false, _) => return Err(forgery::forged_request()),
        }
    }
    within_scope(&caller, &request, is_unsafe)?;
    if access == RouteAccess::Admin {
        caller.check_admin()?;
    }
    request.extensions_mut().insert(caller);
    Ok(request)
}

/// What is open to somebody who still has to add a second factor.
const ENROLMENT: &[&str] =
    &["/account", "/signout", "/assets", "/api/v1/account", "/api/v1/logout"];

fn within_scope(caller: &Caller, request: &Request, is_unsafe: bool) -> HandlerResult<()> {
    let path = request.uri().path();
    let within = |place: &&str| {
        path.strip_prefix(*place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match caller.scope {
        CallerScope::All => Ok(()),
        CallerScope::Read if is_unsafe => Err(ProblemDetails::not_permitted(
            "this token may only look; make one with the scope \"all\"",
        )),
        CallerScope::Read => Ok(()),
        // What tells programs which token they need is for everybody, those with one too.
        CallerScope::Mcp if path == MCP_PATH || path.starts_with("/.well-known/") => Ok(()),
        CallerScope::Mcp => Err(ProblemDetails::not_permitted(
            "this token is for calling tools at /mcp and nothing else",
        )),
        CallerScope::Enrol if ENROLMENT.iter().any(within) => Ok(()),
        CallerScope::Enrol => Err(ProblemDetails::new(
            StatusCode::FORBIDDEN,
            "second_factor_required",
            "this server asks for a second factor: add one in your account first",
        )),
    }
}

fn sign_in(request: &Request) -> String {
    let back = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("next", back);
    format!("/signin?{}", query.finish())
}
