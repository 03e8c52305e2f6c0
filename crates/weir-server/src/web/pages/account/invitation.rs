//! An invitation: a link by which somebody without a password sets one and is in.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::people::Person;

use super::{new_password_fields, page_with_problem, render_complaint};
use crate::api::with_cookies;
use crate::app::App;
use crate::auth::throttle::{self, ThrottleBucket};
use crate::auth::{ClientInfo, accounts, events, invitations, password};
use crate::person_news::note_account_event;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::{Route, RouteAccess};
use crate::sign_in::{PasswordOutcome, SignInContext};
use crate::web::controls::{ButtonLook, submit_button};
use crate::web::parts::bare_with;

/// The routes of this file.
pub(super) fn invitation_page_routes() -> Vec<Route> {
    vec![
        Route::get("/invitation/{token}", show_invitation).access(RouteAccess::Anyone),
        Route::post("/invitation/{token}", accept_invitation).access(RouteAccess::Anyone),
    ]
}

#[derive(Deserialize)]
struct PasswordForm {
    #[serde(default)]
    password: String,
    #[serde(default)]
    again: String,
}

fn invitation_form(person: &Person, token: &str, complaint: Option<&str>) -> Markup {
    bare_with(
        "Set your password",
        &["pages/account.css"],
        &html! {
            section.card.stack.door {
                h1 { "Set your password" }
                p { "You sign in as " strong { (person.name) } "." }
                (render_complaint(complaint))
                form.stack method="post" action={ "/invitation/" (token) } {
                    input type="text" name="username" value=(person.name) hidden
                        autocomplete="username" aria-label="Name" readonly;
                    (new_password_fields())
                    (submit_button(ButtonLook::Primary, "Set password and sign in"))
                }
            }
        },
    )
}

async fn show_invitation(
    State(app): State<App>,
    client: ClientInfo,
    Path(token): Path<String>,
) -> HandlerResult<Markup> {
    let shelf = &app.auth.shelf;
    let address = ThrottleBucket::for_address(client.address);
    throttle::take_attempt(shelf, std::slice::from_ref(&address)).await?;
    let person = invitations::find_invited_person(shelf, &token).await?;
    throttle::give_back(shelf, &address).await?;
    Ok(invitation_form(&person, &token, None))
}

async fn accept_invitation(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Path(token): Path<String>,
    Form(sent): Form<PasswordForm>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let shelf = &app.auth.shelf;
    let address = ThrottleBucket::for_address(client.address);
    throttle::take_attempt(shelf, std::slice::from_ref(&address)).await?;
    let person = invitations::find_invited_person(shelf, &token).await?;
    throttle::give_back(shelf, &address).await?;
    match set_invited_password(&door, &person, &token, &sent).await {
        Ok(response) => Ok(response),
        Err(problem) => {
            page_with_problem(problem, |said| invitation_form(&person, &token, Some(said)))
        }
    }
}

async fn set_invited_password(
    door: &SignInContext<'_>,
    person: &Person,
    token: &str,
    sent: &PasswordForm,
) -> HandlerResult<Response> {
    let auth = &door.app.auth;
    if sent.password != sent.again {
        return Err(ProblemDetails::bad_request("the two passwords do not match"));
    }
    if let Some(complaint) = password::password_complaint(&sent.password, &person.name) {
        return Err(ProblemDetails::bad_request(complaint));
    }
    let hash = auth.passwords.hash(&sent.password).await?;
    let person = invitations::redeem_invitation(&auth.shelf, token).await?;
    let is_first = accounts::find_password_hash(&auth.shelf, &person.id).await?.is_none();
    accounts::set_password(&auth.shelf, &person.id, &hash).await?;
    auth.end_logins(&person.id, None).await?;
    let (doer, what) = (door.event_actor(&person.name), "password_set_by_invitation");
    match is_first {
        // Nobody had this account before: there is nobody to be told.
        true => events::record_event(&auth.shelf, doer, what, &person.name, "").await?,
        false => note_account_event(door.app, doer, &person, what, "").await?,
    }
    // The link stands for the password only: a second factor is asked for all the same.
    let counted = door.count_attempt(&person.name, Some(&person)).await?;
    match door.after_password(person, &counted).await? {
        PasswordOutcome::In(entered) => Ok(with_cookies(Redirect::to("/"), entered.cookies)),
        PasswordOutcome::Second { .. } => Ok(Redirect::to("/signin").into_response()),
    }
}
