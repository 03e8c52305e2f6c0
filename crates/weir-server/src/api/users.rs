//! People: made, changed and removed by admins (S2).

use axum::Json;
use axum::extract::{Path, Query, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_core::sorting::sort_stably;
use weir_install::people::{Person, Role};

use crate::account_admin::{AdminContext, NewAccountRequest};
use crate::api::page::{ListPage, PageQuery};
use crate::app::App;
use crate::auth::accounts;
use crate::problem::HandlerResult;
use crate::route::{Route, RouteAccess};

/// The routes of this file.
pub(crate) fn user_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/users", list_users)
            .access(RouteAccess::Admin)
            .summary("Everybody with an account, by name")
            .query::<PageQuery>()
            .gives_json::<ListPage<Person>>(200),
        Route::post("/api/v1/users", create_user)
            .access(RouteAccess::Admin)
            .summary("Makes an account, with a password or with an invitation")
            .body::<NewUser>()
            .gives_json::<CreatedUser>(201),
        Route::get("/api/v1/users/{id}", get)
            .access(RouteAccess::Admin)
            .summary("One account")
            .gives_json::<Person>(200),
        Route::patch("/api/v1/users/{id}", change_user)
            .access(RouteAccess::Admin)
            .summary("Changes role, name shown, mail address, or whether they may sign in")
            .body::<ChangedUser>()
            .gives_json::<Person>(200),
        Route::delete("/api/v1/users/{id}", remove)
            .access(RouteAccess::Admin)
            .summary("Removes an account and everything of it")
            .gives_nothing(204),
        Route::post("/api/v1/users/{id}/invitation", invite_user)
            .access(RouteAccess::Admin)
            .summary("Makes a link by which they set a new password; it works once, for a week")
            .gives_json::<InvitationLink>(201),
        Route::delete("/api/v1/users/{id}/factors", reset_factors)
            .access(RouteAccess::Admin)
            .summary("Takes their second factors away; their sign-ins end")
            .gives_nothing(204),
        Route::post("/api/v1/users/{id}/signout", sign_out)
            .access(RouteAccess::Admin)
            .summary("Ends their sign-ins and tokens")
            .gives_nothing(204),
    ]
}

/// A new account.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewUser {
    /// By which they sign in: `[a-z0-9][a-z0-9._-]{0,31}`. It cannot be changed.
    pub(crate) name: String,
    /// The rights of the account (default `user`).
    #[serde(default)]
    pub(crate) role: Role,
    /// Their first password; without it an invitation is made.
    pub(crate) password: Option<String>,
    /// Their mail address, for signing in through an identity provider.
    #[serde(default)]
    pub(crate) email: String,
}

/// A new account, and how its owner gets in.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CreatedUser {
    /// The account.
    #[serde(flatten)]
    person: Person,
    /// Where they set their password, if no password was given: shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    invitation: Option<String>,
}

/// A link.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InvitationLink {
    /// Where they set their password: shown this once.
    invitation: String,
}

/// What changes; what is absent stays.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ChangedUser {
    /// The rights of the account.
    role: Option<Role>,
    /// The name that they are called by.
    display: Option<String>,
    /// Their mail address; empty: none.
    email: Option<String>,
    /// Whether they may not sign in.
    disabled: Option<bool>,
}

/// Where an invitation leads.
pub(crate) fn invitation_path(token: &str) -> String {
    format!("/invitation/{token}")
}

/// Everybody, by name.
pub(crate) async fn list_people(app: &App) -> HandlerResult<Vec<Person>> {
    let mut all = accounts::list_accounts(&app.auth.shelf).await?;
    sort_stably(&mut all, |one, other| one.name.cmp(&other.name));
    Ok(all)
}

async fn list_users(
    State(app): State<App>,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<Person>>> {
    Ok(Json(ListPage::from_list(list_people(&app).await?, &query, |person| person.name.clone())))
}

async fn create_user(
    admin: AdminContext,
    Json(body): Json<NewUser>,
) -> HandlerResult<(StatusCode, Json<CreatedUser>)> {
    let wanted = NewAccountRequest {
        name: &body.name,
        role: body.role,
        password: body.password.as_deref(),
        email: &body.email,
    };
    let (person, link) = admin.create_account(&wanted).await?;
    let invitation = link.map(|link| invitation_path(&link));
    Ok((StatusCode::CREATED, Json(CreatedUser { person, invitation })))
}

async fn get(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<Json<Person>> {
    Ok(Json(admin.find_person(&id).await?))
}

async fn change_user(
    admin: AdminContext,
    Path(id): Path<String>,
    Json(body): Json<ChangedUser>,
) -> HandlerResult<Json<Person>> {
    let mut person =
        admin.set_contact_details(&id, body.display.as_deref(), body.email.as_deref()).await?;
    if let Some(role) = body.role {
        person = admin.set_role(&id, role).await?;
    }
    if let Some(disabled) = body.disabled {
        person = admin.set_disabled(&id, disabled).await?;
    }
    Ok(Json(person))
}

async fn remove(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<StatusCode> {
    admin.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn invite_user(
    admin: AdminContext,
    Path(id): Path<String>,
) -> HandlerResult<(StatusCode, Json<InvitationLink>)> {
    let link = admin.invite_person(&id).await?;
    Ok((StatusCode::CREATED, Json(InvitationLink { invitation: invitation_path(&link) })))
}

async fn sign_out(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<StatusCode> {
    admin.sign_out(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reset_factors(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<StatusCode> {
    admin.reset_factors(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
