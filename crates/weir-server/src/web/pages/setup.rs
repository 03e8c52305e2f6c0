//! The first account (S1): a form that wants the code which the server printed.

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;

use crate::api::with_cookies;
use crate::app::App;
use crate::auth::throttle::{self, ThrottleBucket};
use crate::auth::{ClientInfo, accounts, events, password, setup};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::{Route, RouteAccess};
use crate::sign_in::SignInContext;
use crate::web::controls::{ButtonLook, submit_button};
use crate::web::pages::account::new_password_fields;
use crate::web::parts::{bare_with, render_field};

/// The routes of this file.
pub(crate) fn setup_page_routes() -> Vec<Route> {
    vec![
        Route::get("/setup", show_setup).access(RouteAccess::Anyone),
        Route::post("/setup", claim_server).access(RouteAccess::Anyone),
    ]
}

#[derive(Deserialize)]
struct SetupForm {
    #[serde(default)]
    code: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    again: String,
}

fn setup_form(name: &str, complaint: Option<&str>) -> Markup {
    let name = if name.is_empty() { "admin" } else { name };
    bare_with(
        "Set up",
        &["pages/account.css"],
        &html! {
            section.card.stack.door {
                h1 { "Set up Weir" }
                p { "The first account is an admin with full access." }
                @if let Some(complaint) = complaint {
                    p.notice.bad role="alert" id="complaint" { (complaint) }
                }
                form.stack method="post" action="/setup" {
                    (render_field("code", "Setup code", "Printed in the terminal where you started the server.", &html! {
                        input.mono type="text" name="code" id="code" required autofocus
                            autocomplete="one-time-code" autocapitalize="characters"
                            spellcheck="false" placeholder="XXXX-XXXX" maxlength="20"
                            aria-describedby="code-hint";
                    }))
                    (render_field("name", "Name", "You sign in with it. It cannot be changed later.", &html! {
                        input type="text" name="name" id="name" value=(name) required
                            autocomplete="username" autocapitalize="none" spellcheck="false"
                            maxlength="32" pattern="[a-z0-9][a-z0-9._\\-]*"
                            title="a-z, 0-9, dot, dash and underscore" aria-describedby="name-hint";
                    }))
                    (new_password_fields())
                    (submit_button(ButtonLook::Primary, "Create account"))
                }
            }
        },
    )
}

async fn show_setup(State(app): State<App>) -> HandlerResult<Response> {
    if accounts::has_usable_account(&app.auth.shelf).await? {
        return Ok(Redirect::to("/signin").into_response());
    }
    Ok(setup_form("", None).into_response())
}

async fn claim_server(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<SetupForm>,
) -> HandlerResult<Response> {
    if accounts::has_usable_account(&app.auth.shelf).await? {
        return Ok(Redirect::to("/signin").into_response());
    }
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    match make_first_account(&door, &sent).await {
        Ok(response) => Ok(response),
        Err(problem) if problem.status < 500 => {
            let status = problem.status_code();
            Ok((status, setup_form(&sent.name, Some(&problem.detail))).into_response())
        }
        Err(problem) => Err(problem),
    }
}

async fn make_first_account(door: &SignInContext<'_>, sent: &SetupForm) -> HandlerResult<Response> {
    let auth = &door.app.auth;
    throttle::take_attempt(&auth.shelf, &[ThrottleBucket::for_setup()]).await?;
    if !setup::is_code(&auth.shelf, &sent.code).await? {
        return Err(setup::wrong_code());
    }
    throttle::forget_failures(&auth.shelf, &ThrottleBucket::for_setup()).await?;
    let name = sent.name.trim();
    if let Some(complaint) = accounts::name_complaint(name) {
        return Err(ProblemDetails::bad_request(complaint));
    }
    let hash = hash_new(door.app, name, &sent.password, &sent.again).await?;
    let person = setup::claim_first_account(&auth.shelf, &sent.code, name, &hash).await?;
    events::record_event(
        &auth.shelf,
        door.event_actor(name),
        "account_made",
        name,
        "first account",
    )
    .await?;
    let entered = door.complete_login(person, "password").await?;
    Ok(with_cookies(Redirect::to("/"), entered.cookies))
}

/// The hash of a new password that somebody typed twice.
///
/// # Errors
/// They differ, or it is not good enough.
pub(crate) async fn hash_new(
    app: &App,
    name: &str,
    password: &str,
    again: &str,
) -> HandlerResult<String> {
    if password != again {
        return Err(ProblemDetails::bad_request("the two passwords do not match"));
    }
    if let Some(complaint) = password::password_complaint(password, name) {
        return Err(ProblemDetails::bad_request(complaint));
    }
    app.auth.passwords.hash(password).await
}
