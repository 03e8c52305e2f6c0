//! An invitation: a link by which somebody without a password sets one and is in.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::people::Person;

use super::{again, new_password_fields, told};
use crate::api::with_cookies;
use crate::app::App;
use crate::auth::sign_in::{Came, Door};
use crate::auth::throttle::{self, Bucket};
use crate::auth::{Client, accounts, events, invitations, password};
use crate::problem::{Answer, Problem};
use crate::route::{Access, Route};
use crate::web::parts::bare_with;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/invitation/{token}", show).access(Access::Anyone),
        Route::post("/invitation/{token}", accept).access(Access::Anyone),
    ]
}

#[derive(Deserialize)]
struct PasswordForm {
    #[serde(default)]
    password: String,
    #[serde(default)]
    again: String,
}

fn form(person: &Person, token: &str, complaint: Option<&str>) -> Markup {
    bare_with(
        "Set your password",
        &["pages/account.css"],
        &html! {
            section.card.stack.door {
                h1 { "Set your password" }
                p { "You sign in as " strong { (person.name) } "." }
                (told(complaint))
                form.stack method="post" action={ "/invitation/" (token) } {
                    input type="text" name="username" value=(person.name) hidden
                        autocomplete="username" aria-label="Name" readonly;
                    (new_password_fields())
                    button.btn.primary type="submit" { "Set password and sign in" }
                }
            }
        },
    )
}

async fn show(State(app): State<App>, client: Client, Path(token): Path<String>) -> Answer<Markup> {
    let shelf = &app.doorman.shelf;
    let address = Bucket::address(client.address);
    throttle::take(shelf, std::slice::from_ref(&address)).await?;
    let person = invitations::find(shelf, &token).await?;
    throttle::give_back(shelf, &address).await?;
    Ok(form(&person, &token, None))
}

async fn accept(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    Path(token): Path<String>,
    Form(sent): Form<PasswordForm>,
) -> Answer<Response> {
    let door = Door { app: &app, client: &client, headers: &headers };
    let shelf = &app.doorman.shelf;
    let address = Bucket::address(client.address);
    throttle::take(shelf, std::slice::from_ref(&address)).await?;
    let person = invitations::find(shelf, &token).await?;
    throttle::give_back(shelf, &address).await?;
    match taken(&door, &person, (&token, &sent)).await {
        Ok(response) => Ok(response),
        Err(problem) => again(problem, |said| form(&person, &token, Some(said))),
    }
}

async fn taken(
    door: &Door<'_>,
    person: &Person,
    (token, sent): (&str, &PasswordForm),
) -> Answer<Response> {
    let doorman = &door.app.doorman;
    if sent.password != sent.again {
        return Err(Problem::bad("the two passwords do not match"));
    }
    if let Some(complaint) = password::complaint(&sent.password, &person.name) {
        return Err(Problem::bad(complaint));
    }
    let hash = doorman.passwords.hash(&sent.password).await?;
    let person = invitations::take(&doorman.shelf, token).await?;
    accounts::set_password(&doorman.shelf, &person.id, &hash).await?;
    doorman.end_logins(&person.id, None).await?;
    let note = ("password_set_by_invitation", person.name.as_str());
    events::note(&doorman.shelf, door.doer(&person.name), note, "").await?;
    // The link stands for the password only: a second factor is asked for all the same.
    let counted = door.count(&person.name, Some(&person)).await?;
    match door.after_password(person, &counted).await? {
        Came::In(entered) => Ok(with_cookies(Redirect::to("/"), entered.cookies)),
        Came::Second { .. } => Ok(Redirect::to("/signin").into_response()),
    }
}
