//! Sign in and out (S2).

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, header};
use maud::{Markup, html};
use serde::Deserialize;

use crate::api::{sign_out, with_cookies};
use crate::app::App;
use crate::auth::{ClientInfo, accounts};
use crate::caller::{Caller, MaybeCaller};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::{Route, RouteAccess};
use crate::sign_in::{PasswordOutcome, SignInContext, cookies, oidc, safe_next};
use crate::web::controls::{ButtonLook, submit_button};
use crate::web::parts::{bare_with, render_field};

/// The routes of this file.
pub(crate) fn sign_in_page_routes() -> Vec<Route> {
    vec![
        Route::get("/signin", show_sign_in).access(RouteAccess::Anyone),
        Route::post("/signin", post_sign_in).access(RouteAccess::Anyone),
        Route::post("/signin/second", post_second_step).access(RouteAccess::Anyone),
        Route::get("/signin/oidc", to_provider).access(RouteAccess::Anyone),
        Route::get("/signin/oidc/back", from_provider).access(RouteAccess::Anyone),
        Route::post("/signout", post_sign_out),
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

async fn sign_in_form(
    app: &App,
    name: &str,
    next: &str,
    complaint: Option<&str>,
) -> HandlerResult<Markup> {
    let provider = oidc::find_provider(&app.auth.shelf).await?;
    Ok(bare_with(
        "Sign in",
        &["pages/account.css", "pages/account.js"],
        &html! {
            section.card.stack.door {
                h1 { "Sign in" }
                (render_complaint(complaint))
                form.stack method="post" action="/signin" {
                    input type="hidden" name="next" value=(next);
                    (render_field("name", "Name", "", &html! {
                        input type="text" name="name" id="name" value=(name) required
                            autofocus[name.is_empty()] autocomplete="username"
                            autocapitalize="none" spellcheck="false" maxlength="64";
                    }))
                    (render_field("password", "Password", "", &html! {
                        input type="password" name="password" id="password" required
                            autofocus[!name.is_empty()] autocomplete="current-password"
                            maxlength="1024";
                    }))
                    (submit_button(ButtonLook::Primary, "Sign in"))
                }
                (passkey_button(next))
                @if let Some(provider) = provider {
                    form method="get" action="/signin/oidc" {
                        input type="hidden" name="next" value=(next);
                        (submit_button(ButtonLook::Plain, html! {
                            "Sign in with " (provider.label)
                        }))
                    }
                }
            }
        },
    ))
}

async fn show_sign_in(
    State(app): State<App>,
    MaybeCaller(caller): MaybeCaller,
    Query(query): Query<NextQuery>,
) -> HandlerResult<Response> {
    let next = safe_next(query.next.as_deref());
    if caller.is_some() {
        return Ok(Redirect::to(&next).into_response());
    }
    if !accounts::has_usable_account(&app.auth.shelf).await? {
        return Ok(Redirect::to("/setup").into_response());
    }
    Ok(sign_in_form(&app, "", &next, None).await?.into_response())
}

async fn post_sign_in(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<SignInForm>,
) -> HandlerResult<Response> {
    let next = safe_next(sent.next.as_deref());
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    match sign_in_by_password(&door, &sent, &next).await {
        Ok(response) => Ok(response),
        Err(problem) if problem.status < 500 => {
            let page = sign_in_form(&app, &sent.name, &next, Some(&problem.detail)).await?;
            Ok(page_with_status(&problem, page))
        }
        Err(problem) => Err(problem),
    }
}

/// The page with its complaint, and the status that the problem has.
fn page_with_status(problem: &ProblemDetails, page: Markup) -> Response {
    let status = problem.status_code();
    let mut response = (status, page).into_response();
    if let Some(seconds) = problem.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

async fn sign_in_by_password(
    door: &SignInContext<'_>,
    sent: &SignInForm,
    next: &str,
) -> HandlerResult<Response> {
    let (person, counted) = door.by_password(&sent.name, &sent.password).await?;
    match door.after_password(person, &counted).await? {
        PasswordOutcome::In(entered) => Ok(with_cookies(Redirect::to(next), entered.cookies)),
        PasswordOutcome::Second { pending, has_app } => {
            Ok(second_form(&SecondStep { pending: &pending, has_app, next }, None).into_response())
        }
    }
}

/// The second step.
struct SecondStep<'a> {
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

fn second_form(step: &SecondStep<'_>, complaint: Option<&str>) -> Markup {
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
                (render_complaint(complaint))
                form.stack method="post" action="/signin/second" {
                    input type="hidden" name="next" value=(step.next);
                    input type="hidden" name="pending" value=(step.pending);
                    input type="hidden" name="has_app" value=(if step.has_app { "yes" } else { "" });
                    (render_field("code", "Code", hint, &html! {
                        input.mono type="text" name="code" id="code" required autofocus
                            inputmode=(if step.has_app { "numeric" } else { "text" })
                            autocomplete="one-time-code" autocapitalize="characters"
                            spellcheck="false" maxlength="20" aria-describedby="code-hint";
                    }))
                    (submit_button(ButtonLook::Primary, "Sign in"))
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

async fn post_second_step(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<SecondForm>,
) -> HandlerResult<Response> {
    let next = safe_next(sent.next.as_deref());
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    match door.by_code(&sent.pending, &sent.code).await {
        Ok(entered) => Ok(with_cookies(Redirect::to(&next), entered.cookies)),
        Err(problem) if problem.code == "begin_anew" => Ok(page_with_status(
            &problem,
            sign_in_form(&app, "", &next, Some(&problem.detail)).await?,
        )),
        Err(problem) if problem.status < 500 => {
            let step = SecondStep {
                pending: &sent.pending,
                has_app: !sent.has_app.is_empty(),
                next: &next,
            };
            Ok(page_with_status(&problem, second_form(&step, Some(&problem.detail))))
        }
        Err(problem) => Err(problem),
    }
}

fn render_complaint(complaint: Option<&str>) -> Markup {
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
) -> HandlerResult<Response> {
    let next = safe_next(query.next.as_deref());
    let way = oidc::begin_authorization(&app, &headers, &next).await?;
    Ok(with_cookies(
        Redirect::to(way.to.as_str()),
        vec![cookies::authorization_cookie(&app, &way.errand)?],
    ))
}

async fn from_provider(
    State(app): State<App>,
    client: ClientInfo,
    headers: HeaderMap,
    Query(back): Query<oidc::AuthorizationCallback>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    match oidc::finish_authorization(&door, &back).await {
        Ok((entered, next)) => {
            let mut all = entered.cookies;
            all.push(cookies::authorization_cookie(&app, "")?);
            Ok(with_cookies(Redirect::to(&next), all))
        }
        Err(problem) if problem.status < 500 => Ok(page_with_status(
            &problem,
            sign_in_form(&app, "", "/", Some(&problem.detail)).await?,
        )),
        Err(problem) => Err(problem),
    }
}

async fn post_sign_out(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
) -> HandlerResult<Response> {
    let cookie = sign_out(&app, &caller, &client).await?;
    Ok(with_cookies(Redirect::to("/signin"), vec![cookie]))
}
