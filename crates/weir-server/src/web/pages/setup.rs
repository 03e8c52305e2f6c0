//! The first account (S1): a form that wants the code which the server printed.

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;

use crate::api::with_cookies;
use crate::app::App;
use crate::auth::sign_in::Door;
use crate::auth::throttle::{self, Bucket};
use crate::auth::{Client, accounts, events, password, setup};
use crate::problem::{Answer, Problem};
use crate::route::{Access, Route};
use crate::web::pages::account::new_password_fields;
use crate::web::parts::{bare_with, field};

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/setup", show).access(Access::Anyone),
        Route::post("/setup", claim).access(Access::Anyone),
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

fn form(name: &str, complaint: Option<&str>) -> Markup {
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
                    (field("code", "Setup code", "Printed in the terminal where you started the server.", &html! {
                        input.mono type="text" name="code" id="code" required autofocus
                            autocomplete="one-time-code" autocapitalize="characters"
                            spellcheck="false" placeholder="XXXX-XXXX" maxlength="20"
                            aria-describedby="code-hint";
                    }))
                    (field("name", "Name", "You sign in with it. It cannot be changed later.", &html! {
                        input type="text" name="name" id="name" value=(name) required
                            autocomplete="username" autocapitalize="none" spellcheck="false"
                            maxlength="32" pattern="[a-z0-9][a-z0-9._\\-]*"
                            title="a-z, 0-9, dot, dash and underscore" aria-describedby="name-hint";
                    }))
                    (new_password_fields())
                    button.btn.primary type="submit" { "Create account" }
                }
            }
        },
    )
}

async fn show(State(app): State<App>) -> Answer<Response> {
    if accounts::any(&app.doorman.shelf).await? {
        return Ok(Redirect::to("/signin").into_response());
    }
    Ok(form("", None).into_response())
}

async fn claim(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<SetupForm>,
) -> Answer<Response> {
    if accounts::any(&app.doorman.shelf).await? {
        return Ok(Redirect::to("/signin").into_response());
    }
    let door = Door { app: &app, client: &client, headers: &headers };
    match made(&door, &sent).await {
        Ok(response) => Ok(response),
        Err(problem) if problem.status < 500 => {
            let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
            Ok((status, form(&sent.name, Some(&problem.detail))).into_response())
        }
        Err(problem) => Err(problem),
    }
}

async fn made(door: &Door<'_>, sent: &SetupForm) -> Answer<Response> {
    let doorman = &door.app.doorman;
    throttle::take(&doorman.shelf, &[Bucket::setup()]).await?;
    if !setup::is_code(&doorman.shelf, &sent.code).await? {
        return Err(setup::wrong_code());
    }
    throttle::forget(&doorman.shelf, &Bucket::setup()).await?;
    let name = sent.name.trim();
    if let Some(complaint) = accounts::name_complaint(name) {
        return Err(Problem::bad(complaint));
    }
    let hash = hash_new(door.app, name, (&sent.password, &sent.again)).await?;
    let person = setup::claim(&doorman.shelf, &sent.code, name, &hash).await?;
    events::note(&doorman.shelf, door.doer(name), ("account_made", name), "first account").await?;
    let entered = door.enter(person, "password").await?;
    Ok(with_cookies(Redirect::to("/"), entered.cookies))
}

/// The hash of a new password that somebody typed twice.
///
/// # Errors
/// They differ, or it is not good enough.
pub(crate) async fn hash_new(app: &App, name: &str, typed: (&str, &str)) -> Answer<String> {
    let (password, again) = typed;
    if password != again {
        return Err(Problem::bad("the two passwords do not match"));
    }
    if let Some(complaint) = password::complaint(password, name) {
        return Err(Problem::bad(complaint));
    }
    app.doorman.passwords.hash(password).await
}
