//! Sign in and out (S2).

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use maud::{Markup, html};
use serde::Deserialize;

use crate::api::{sign_out, with_cookies};
use crate::app::App;
use crate::auth::sign_in::{Came, Door, safe_next};
use crate::auth::{Client, accounts, cookies, oidc};
use crate::guard::{Caller, MaybeCaller};
use crate::problem::{Answer, Problem};
use crate::route::{Access, Route};
use crate::web::parts::{bare_with, field};

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/signin", show).access(Access::Anyone),
        Route::post("/signin", enter).access(Access::Anyone),
        Route::post("/signin/second", second).access(Access::Anyone),
        Route::get("/signin/oidc", to_provider).access(Access::Anyone),
        Route::get("/signin/oidc/back", from_provider).access(Access::Anyone),
        Route::post("/signout", leave),
    ]
}

#[derive(Deserialize)]
struct NextQuery {
    next: Option<String>,
}

#[derive(Deserialize)]
struct SignInForm {
    #[serde(default)]
    name: String,
    #[serde(default)]
    password: String,
    next: Option<String>,
}

async fn form(app: &App, name: &str, next: &str, complaint: Option<&str>) -> Answer<Markup> {
    let provider = oidc::provider(&app.doorman.shelf).await?;
    Ok(bare_with(
        "Sign in",
        &["pages/account.css", "pages/account.js"],
        &html! {
            section.card.stack.door {
                h1 { "Sign in" }
                (told(complaint))
                form.stack method="post" action="/signin" {
                    input type="hidden" name="next" value=(next);
                    (field("name", "Name", "", &html! {
                        input type="text" name="name" id="name" value=(name) required
                            autofocus[name.is_empty()] autocomplete="username"
                            autocapitalize="none" spellcheck="false" maxlength="64";
                    }))
                    (field("password", "Password", "", &html! {
                        input type="password" name="password" id="password" required
                            autofocus[!name.is_empty()] autocomplete="current-password"
                            maxlength="1024";
                    }))
                    button.btn.primary type="submit" { "Sign in" }
                }
                (passkey_button(next))
                @if let Some(provider) = provider {
                    form method="get" action="/signin/oidc" {
                        input type="hidden" name="next" value=(next);
                        button.btn type="submit" { "Sign in with " (provider.label) }
                    }
                }
            }
        },
    ))
}

async fn show(
    State(app): State<App>,
    MaybeCaller(caller): MaybeCaller,
    Query(query): Query<NextQuery>,
) -> Answer<Response> {
    let next = safe_next(query.next.as_deref());
    if caller.is_some() {
        return Ok(Redirect::to(&next).into_response());
    }
    if !accounts::any(&app.doorman.shelf).await? {
        return Ok(Redirect::to("/setup").into_response());
    }
    Ok(form(&app, "", &next, None).await?.into_response())
}

async fn enter(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<SignInForm>,
) -> Answer<Response> {
    let next = safe_next(sent.next.as_deref());
    let door = Door { app: &app, client: &client, headers: &headers };
    match admitted(&door, &sent, &next).await {
        Ok(response) => Ok(response),
        Err(problem) if problem.status < 500 => {
            let page = form(&app, &sent.name, &next, Some(&problem.detail)).await?;
            Ok(again(&problem, page))
        }
        Err(problem) => Err(problem),
    }
}

/// The page with its complaint, and the status that the problem has.
fn again(problem: &Problem, page: Markup) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = (status, page).into_response();
    if let Some(seconds) = problem.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

async fn admitted(door: &Door<'_>, sent: &SignInForm, next: &str) -> Answer<Response> {
    let (person, counted) = door.by_password(&sent.name, &sent.password).await?;
    match door.after_password(person, &counted).await? {
        Came::In(entered) => Ok(with_cookies(Redirect::to(next), entered.cookies)),
        Came::Second { pending, has_app } => {
            Ok(second_form(&Step { pending: &pending, has_app, next }, None).into_response())
        }
    }
}

/// The second step.
struct Step<'a> {
    pending: &'a str,
    has_app: bool,
    next: &'a str,
}

#[derive(Deserialize)]
struct SecondForm {
    #[serde(default)]
    pending: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    has_app: String,
    next: Option<String>,
}

fn second_form(step: &Step<'_>, complaint: Option<&str>) -> Markup {
    let hint = match step.has_app {
        true => "Six digits, or a recovery code.",
        false => "Enter one of your recovery codes.",
    };
    bare_with(
        "Second factor",
        &["pages/account.css", "pages/account.js"],
        &html! {
            section.card.stack.door {
                h1 { "Second factor" }
                (told(complaint))
                form.stack method="post" action="/signin/second" {
                    input type="hidden" name="next" value=(step.next);
                    input type="hidden" name="pending" value=(step.pending);
                    input type="hidden" name="has_app" value=(if step.has_app { "yes" } else { "" });
                    (field("code", "Code", hint, &html! {
                        input.mono type="text" name="code" id="code" required autofocus
                            inputmode=(if step.has_app { "numeric" } else { "text" })
                            autocomplete="one-time-code" autocapitalize="characters"
                            spellcheck="false" maxlength="20" aria-describedby="code-hint";
                    }))
                    button.btn.primary type="submit" { "Sign in" }
                }
                (passkey_button(step.next))
                p { a href="/signin" { "Start over" } }
            }
        },
    )
}

/// Signing in with a passkey. Hidden until the script finds that the browser has them.
fn passkey_button(next: &str) -> Markup {
    html! {
        div.stack data-passkey-sign-in=(next) hidden {
            button.btn type="button" { "Sign in with a passkey" }
            p.notice.bad role="alert" hidden {}
        }
    }
}

async fn second(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<SecondForm>,
) -> Answer<Response> {
    let next = safe_next(sent.next.as_deref());
    let door = Door { app: &app, client: &client, headers: &headers };
    match door.by_code(&sent.pending, &sent.code).await {
        Ok(entered) => Ok(with_cookies(Redirect::to(&next), entered.cookies)),
        Err(problem) if problem.code == "begin_anew" => {
            Ok(again(&problem, form(&app, "", &next, Some(&problem.detail)).await?))
        }
        Err(problem) if problem.status < 500 => {
            let step =
                Step { pending: &sent.pending, has_app: !sent.has_app.is_empty(), next: &next };
            Ok(again(&problem, second_form(&step, Some(&problem.detail))))
        }
        Err(problem) => Err(problem),
    }
}

fn told(complaint: Option<&str>) -> Markup {
    html! {
        @if let Some(complaint) = complaint {
            p.notice.bad role="alert" id="complaint" { (complaint) }
        }
    }
}

async fn to_provider(
    State(app): State<App>,
    headers: HeaderMap,
    Query(query): Query<NextQuery>,
) -> Answer<Response> {
    let next = safe_next(query.next.as_deref());
    let way = oidc::begin(&app, &headers, &next).await?;
    Ok(with_cookies(Redirect::to(way.to.as_str()), vec![cookies::errand(&app, &way.errand)?]))
}

async fn from_provider(
    State(app): State<App>,
    client: Client,
    headers: HeaderMap,
    Query(back): Query<oidc::Back>,
) -> Answer<Response> {
    let door = Door { app: &app, client: &client, headers: &headers };
    match oidc::arrive(&door, &back).await {
        Ok((entered, next)) => {
            let mut all = entered.cookies;
            all.push(cookies::errand(&app, "")?);
            Ok(with_cookies(Redirect::to(&next), all))
        }
        Err(problem) if problem.status < 500 => {
            Ok(again(&problem, form(&app, "", "/", Some(&problem.detail)).await?))
        }
        Err(problem) => Err(problem),
    }
}

async fn leave(State(app): State<App>, caller: Caller, client: Client) -> Answer<Response> {
    let cookie = sign_out(&app, &caller, &client).await?;
    Ok(with_cookies(Redirect::to("/signin"), vec![cookie]))
}
