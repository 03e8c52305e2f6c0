//! One's own account as scripts see it: password, sign-ins, passkeys. Tokens stand beside
//! signing in (`auth`); apps and recovery codes are shown once, on pages only.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_core::sorting::sort_stably_by_key;

use crate::api::auth::{SignedInPerson, let_in};
use crate::api::page::{ListPage, PageQuery};
use crate::api::with_cookies;
use crate::app::App;
use crate::auth::passkeys::{self, PasskeyAssertion, PasskeyChallenge, PasskeyRegistration};
use crate::auth::throttle::{self, ThrottleBucket};
use crate::auth::{ClientInfo, RevocationNotice, accounts, logins, password};
use crate::caller::{Caller, CallerScope};
use crate::person_news::note_account_event;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::ReplyTo;
use crate::route::{Route, RouteAccess};
use crate::sign_in::SignInContext;
use crate::sign_in::site::passkey_site;

/// The routes of this file.
pub(crate) fn account_api_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/account/password", set_password)
            .summary("Sets a new password; every other sign-in ends")
            .body::<NewPassword>()
            .gives_nothing(204),
        Route::get("/api/v1/account/logins", login_list)
            .summary("Where one is signed in")
            .query::<PageQuery>()
            .gives_json::<ListPage<LoginLine>>(200),
        Route::delete("/api/v1/account/logins/{id}", login_end)
            .summary("Ends a sign-in")
            .gives_nothing(204),
        Route::post("/api/v1/account/passkeys/question", ask_to_add)
            .summary("Begins to add a passkey")
            .body::<PasswordProof>()
            .gives_json::<PasskeyChallenge>(200),
        Route::post("/api/v1/account/passkeys", add_passkey)
            .summary("Adds a passkey")
            .body::<PasskeyRegistration>()
            .gives_nothing(204),
        Route::post("/api/v1/passkey/question", ask_to_sign_in)
            .access(RouteAccess::Anyone)
            .summary("Begins to sign in with a passkey")
            .gives_json::<PasskeyChallenge>(200),
        Route::post("/api/v1/passkey/login", sign_in)
            .access(RouteAccess::Anyone)
            .summary("Signs in with a passkey: sets the cookie")
            .body::<PasskeyAssertion>()
            .gives_json::<SignedInPerson>(200),
    ]
}

/// A new password and the one before it.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NewPassword {
    /// The one that is there; empty where there is none.
    #[serde(default)]
    old: String,
    /// The one that takes its place.
    new: String,
}

/// That somebody is who they were when they signed in.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PasswordProof {
    /// Their password; empty where they have none and signed in just now.
    #[serde(default)]
    password: String,
}

/// A sign-in.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LoginLine {
    /// By which it is ended.
    pub(crate) id: String,
    /// Whether it is this one.
    pub(crate) current: bool,
    /// When it began.
    pub(crate) created: Timestamp,
    /// When it was last used, to five minutes.
    pub(crate) seen: Timestamp,
    /// From where it began.
    pub(crate) address: String,
    /// What the browser calls itself.
    pub(crate) agent: String,
    /// `password`, `passkey`, `phone`, …
    pub(crate) how: String,
    /// The name of the paired telephone that it is; empty: it is none.
    pub(crate) device: String,
}

/// Sign-ins of somebody, the latest first.
pub(crate) async fn logins_of(app: &App, caller: &Caller) -> HandlerResult<Vec<LoginLine>> {
    let here = caller.phone_login().or(caller.at_browser().ok()).unwrap_or_default();
    let mut all: Vec<LoginLine> = logins::list_logins(&app.auth.shelf, &caller.person.id)
        .await?
        .into_iter()
        .map(|kept| LoginLine {
            id: logins::public_id(&kept.name).to_owned(),
            current: kept.name == here,
            created: kept.value.created,
            seen: kept.value.seen,
            address: kept.value.address,
            agent: kept.value.agent,
            how: kept.value.how,
            device: kept.value.device,
        })
        .collect();
    sort_stably_by_key(&mut all, |line| std::cmp::Reverse(line.seen));
    Ok(all)
}

/// Ends one sign-in of somebody at a browser.
pub(crate) async fn end_login(app: &App, caller: &Caller, id: &str) -> HandlerResult<()> {
    caller.at_browser()?;
    let auth = &app.auth;
    let all = logins::list_logins(&auth.shelf, &caller.person.id).await?;
    let found = all.into_iter().find(|kept| logins::public_id(&kept.name) == id);
    let found = found.ok_or_else(|| ProblemDetails::not_found("this sign-in"))?;
    logins::end_login(&auth.shelf, &found.name).await?;
    if !found.value.device.is_empty() {
        return app.forget_phone(&caller.person, &found).await;
    }
    auth.announce_revocation(RevocationNotice::One(found.name));
    Ok(())
}

/// Sets a new password of somebody at a browser: every other sign-in ends, and this one is made
/// anew. Cookies to set.
pub(crate) async fn change_password(
    door: &SignInContext<'_>,
    caller: &Caller,
    old: &str,
    new: &str,
) -> HandlerResult<Vec<http::HeaderValue>> {
    let (auth, person) = (&door.app.auth, &caller.person);
    door.prove_identity(caller, old).await?;
    if let Some(complaint) = password::password_complaint(new, &person.name) {
        return Err(ProblemDetails::bad_request(complaint));
    }
    let hash = auth.passwords.hash(new).await?;
    accounts::set_password(&auth.shelf, &person.id, &hash).await?;
    auth.end_logins(&person.id, None).await?;
    let doer = door.event_actor(&person.name);
    note_account_event(door.app, doer, person, "password_changed", "").await?;
    Ok(door.renew_login(caller, "password+change").await?.cookies)
}

async fn set_password(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Json(body): Json<NewPassword>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let cookies = change_password(&door, &caller, &body.old, &body.new).await?;
    Ok(with_cookies(StatusCode::NO_CONTENT, cookies))
}

async fn login_list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<LoginLine>>> {
    Ok(Json(ListPage::from_list(logins_of(&app, &caller).await?, &query, |line| line.id.clone())))
}

pub(crate) async fn login_end(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    end_login(&app, &caller, &id).await?;
    Ok(reply.answer_done("/account", StatusCode::NO_CONTENT))
}

async fn ask_to_add(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Json(proof): Json<PasswordProof>,
) -> HandlerResult<Json<PasskeyChallenge>> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    door.prove_identity(&caller, &proof.password).await?;
    let (person, site) = (&caller.person, passkey_site(&app, &headers)?);
    Ok(Json(passkeys::ask_to_add(&app.auth.shelf, &person.id, &person.name, &site).await?))
}

async fn add_passkey(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Json(added): Json<PasskeyRegistration>,
) -> HandlerResult<Response> {
    caller.at_browser()?;
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let (shelf, person) = (&app.auth.shelf, &caller.person);
    passkeys::add_passkey(shelf, &person.id, &passkey_site(&app, &headers)?, &added).await?;
    note_account_event(&app, door.event_actor(&person.name), person, "passkey_added", "").await?;
    let cookies = match caller.scope {
        // What was asked of them is there now: they are let in whole.
        CallerScope::Enrol => door.renew_login(&caller, "password+passkey").await?.cookies,
        CallerScope::All | CallerScope::Read | CallerScope::Mcp => Vec::new(),
    };
    Ok(with_cookies(StatusCode::NO_CONTENT, cookies))
}

async fn ask_to_sign_in(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
) -> HandlerResult<Json<PasskeyChallenge>> {
    let shelf = &app.auth.shelf;
    let bucket = ThrottleBucket::for_passkey_question(client.address);
    throttle::take_attempt(shelf, &[bucket]).await?;
    Ok(Json(passkeys::ask_to_sign_in(shelf, &passkey_site(&app, &headers)?).await?))
}

async fn sign_in(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Json(said): Json<PasskeyAssertion>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let shelf = &app.auth.shelf;
    let address = ThrottleBucket::for_address(client.address);
    throttle::take_attempt(shelf, std::slice::from_ref(&address)).await?;
    let id = passkeys::sign_in(shelf, &passkey_site(&app, &headers)?, &said).await?;
    let person = accounts::get(shelf, id.as_str()).await?.filter(|person| !person.disabled);
    let person = person.ok_or_else(passkeys::no_account)?;
    throttle::give_back(shelf, &address).await?;
    throttle::forget_failures(shelf, &ThrottleBucket::for_passkey_question(client.address)).await?;
    Ok(let_in(door.complete_login(person, "passkey").await?))
}
