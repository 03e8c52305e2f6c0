//! Signing in and out, who one is, tokens (C7).

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably_by_key;
use weir_install::people::Role;

use crate::api::page::{ListPage, PageQuery};
use crate::app::App;
use crate::auth::events;
use crate::auth::shelf::TypedEntry;
use crate::auth::tokens::{self, ApiToken, NewToken, TokenScope};
use crate::auth::{ClientInfo, RevocationNotice, logins};
use crate::caller::{Caller, CallerCredential};
use crate::person_news::note_account_event;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::ReplyTo;
use crate::route::{Route, RouteAccess};
use crate::sign_in::cookies;
use crate::sign_in::{CompletedLogin, PasswordOutcome, SignInContext};

/// The routes of this file.
pub(crate) fn auth_api_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/login", log_in)
            .access(RouteAccess::Anyone)
            .summary("Signs in: sets the cookie")
            .body::<LoginBody>()
            .gives_json::<SignedInPerson>(200),
        Route::post("/api/v1/logout", log_out).summary("Ends this sign-in").gives_nothing(204),
        Route::get("/api/v1/me", show_signed_in_person)
            .summary("Who is signed in")
            .gives_json::<SignedInPerson>(200),
        Route::get("/api/v1/account/tokens", token_list)
            .summary("Tokens of programs, without their secrets")
            .query::<PageQuery>()
            .gives_json::<ListPage<TokenLine>>(200),
        Route::post("/api/v1/account/tokens", token_make)
            .summary("Makes a token: its secret is shown this once")
            .body::<NewToken>()
            .gives_json::<CreatedToken>(201),
        Route::delete("/api/v1/account/tokens/{id}", token_revoke)
            .summary("Revokes a token")
            .gives_nothing(204),
    ]
}

/// Name and password.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LoginBody {
    /// The account.
    name: String,
    /// Its password.
    password: String,
    /// The code of the authenticator app, or a recovery code, where the account has a second factor.
    code: Option<String>,
}

/// The person who is signed in.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SignedInPerson {
    /// The id of the account.
    id: String,
    /// By which they sign in.
    name: String,
    /// The name that they are called by.
    called: String,
    /// The rights of the account.
    role: Role,
    /// What scripts send back as `x-csrf-token` with every change; empty for programs.
    csrf: String,
}

/// Sets cookies on an answer.
pub(crate) fn with_cookies(answer: impl IntoResponse, cookies: Vec<HeaderValue>) -> Response {
    let mut response = answer.into_response();
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

async fn log_in(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Json(body): Json<LoginBody>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let (person, counted) = door.by_password(&body.name, &body.password).await?;
    let entered = match (door.after_password(person, &counted).await?, &body.code) {
        (PasswordOutcome::In(entered), _) => *entered,
        (PasswordOutcome::Second { pending, .. }, Some(code)) => {
            door.by_code(&pending, code).await?
        }
        (PasswordOutcome::Second { .. }, None) => {
            return Err(ProblemDetails::new(
                StatusCode::UNAUTHORIZED,
                "second_factor",
                "this account has a second factor: send its `code` too",
            ));
        }
    };
    Ok(let_in(entered))
}

/// The answer to somebody who is in.
pub(crate) fn let_in(entered: CompletedLogin) -> Response {
    let CompletedLogin { person, csrf, cookies } = entered;
    let me = SignedInPerson {
        id: person.id.0.clone(),
        called: person.display_name().to_owned(),
        name: person.name,
        role: person.role,
        csrf,
    };
    with_cookies(Json(me), cookies)
}

async fn show_signed_in_person(caller: Caller) -> Json<SignedInPerson> {
    Json(SignedInPerson {
        id: caller.person.id.0.clone(),
        name: caller.person.name.clone(),
        called: caller.person.display_name().to_owned(),
        role: caller.person.role,
        csrf: caller.csrf_token().to_owned(),
    })
}

/// Ends the sign-in of a caller: the cookie that takes it away.
pub(crate) async fn sign_out(
    app: &App,
    caller: &Caller,
    client: &ClientInfo,
) -> HandlerResult<HeaderValue> {
    let auth = &app.auth;
    match &caller.via {
        CallerCredential::Cookie { login, .. } => {
            logins::end_login(&auth.shelf, login).await?;
            auth.announce_revocation(RevocationNotice::One(login.clone()));
        }
        CallerCredential::Token { .. } => {
            return Err(ProblemDetails::bad_request("a token is not signed in; revoke it instead"));
        }
    }
    let by = caller.journal_name();
    let doer = events::EventActor { by: &by, address: Some(client.address) };
    events::record_event(&auth.shelf, doer, "signed_out", &caller.person.name, "").await?;
    cookies::sign_out(app)
}

async fn log_out(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
) -> HandlerResult<Response> {
    let cookie = sign_out(&app, &caller, &client).await?;
    Ok(with_cookies(StatusCode::NO_CONTENT, vec![cookie]))
}

/// A token, without its secret.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TokenLine {
    /// By which it is revoked.
    pub(crate) id: String,
    /// The name that its owner gave it.
    pub(crate) name: String,
    /// The uses that it is good for.
    pub(crate) scope: TokenScope,
    /// When it was made.
    pub(crate) created: Timestamp,
    /// When it was last used, to a minute.
    pub(crate) seen: Option<Timestamp>,
    /// When it ends by itself.
    pub(crate) expires: Option<Timestamp>,
}

impl TokenLine {
    fn from_token(token: ApiToken, expires: Option<Timestamp>) -> TokenLine {
        let ApiToken { id, name, scope, created, seen } = token;
        TokenLine { id, name, scope, created, seen, expires }
    }
}

/// A new token.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CreatedToken {
    /// The secret: shown this once.
    token: String,
    /// What is kept of it.
    #[serde(flatten)]
    line: TokenLine,
}

/// Tokens of somebody, oldest first.
pub(crate) async fn tokens_of(app: &App, caller: &Caller) -> HandlerResult<Vec<TokenLine>> {
    let found = tokens::list_tokens(&app.auth.shelf, &caller.person.id).await?;
    let mut lines: Vec<TokenLine> = found
        .into_iter()
        .map(|TypedEntry { value, expires, .. }| TokenLine::from_token(value, expires))
        .collect();
    sort_stably_by_key(&mut lines, |line| line.created);
    Ok(lines)
}

async fn token_list(
    State(app): State<App>,
    caller: Caller,
    axum::extract::Query(query): axum::extract::Query<PageQuery>,
) -> HandlerResult<Json<ListPage<TokenLine>>> {
    Ok(Json(ListPage::from_list(tokens_of(&app, &caller).await?, &query, |line| line.id.clone())))
}

/// Makes a token for somebody at a browser: its secret, and what is kept.
pub(crate) async fn make_token(
    app: &App,
    caller: &Caller,
    client: &ClientInfo,
    wanted: &NewToken,
) -> HandlerResult<(String, TokenLine)> {
    caller.at_browser()?;
    let shelf = &app.auth.shelf;
    let (secret, token) = tokens::create_token(shelf, &caller.person.id, wanted).await?;
    let name = &caller.person.name;
    let doer = events::EventActor { by: name, address: Some(client.address) };
    note_account_event(app, doer, &caller.person, "token_made", &token.name).await?;
    let expires = wanted.days.map(|days| token.created.plus_ms(u64::from(days) * 86_400_000));
    Ok((secret, TokenLine::from_token(token, expires)))
}

async fn token_make(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    Json(wanted): Json<NewToken>,
) -> HandlerResult<(StatusCode, Json<CreatedToken>)> {
    let (token, line) = make_token(&app, &caller, &client, &wanted).await?;
    Ok((StatusCode::CREATED, Json(CreatedToken { token, line })))
}

/// Revokes a token of somebody at a browser.
pub(crate) async fn token_revoke(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    reply: ReplyTo,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    caller.at_browser()?;
    let auth = &app.auth;
    let revoked = tokens::revoke_token(&auth.shelf, &caller.person.id, &id).await?;
    let revoked = revoked.ok_or_else(|| ProblemDetails::not_found("this token"))?;
    auth.announce_revocation(RevocationNotice::One(revoked));
    let name = &caller.person.name;
    let doer = events::EventActor { by: name, address: Some(client.address) };
    events::record_event(&auth.shelf, doer, "token_revoked", name, &id).await?;
    Ok(reply.answer_done("/account", StatusCode::NO_CONTENT))
}
