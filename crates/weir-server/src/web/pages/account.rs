//! The person's own account: what they are called, password, sign-ins, tokens (S2). Not here: second
//! factors (`account/security`) and invitations (`account/invitation`).

use axum::Form;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;

use crate::api::{
    change_password, end_login, login_end, logins_of, make_token, token_revoke, tokens_of,
    with_cookies,
};
use crate::app::App;
use crate::auth::tokens::{NewToken, TokenScope};
use crate::auth::{ClientInfo, accounts, events, factors, password};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::SentBody;
use crate::route::Route;
use crate::sign_in::SignInContext;
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{page_with, render_badge, render_field, render_moment};

mod invitation;
mod security;

/// Events that are shown.
const EVENTS_MAX: usize = 15;

/// The routes of this file.
pub(crate) fn account_page_routes() -> Vec<Route> {
    let mut all = vec![
        Route::get("/account", show_account),
        Route::post("/account/profile", set_profile),
        Route::post("/account/password", set_password),
        Route::post("/account/logins/{id}/end", login_end),
        Route::post("/account/logins/end-others", end_others),
        Route::post("/account/tokens", token_make),
        Route::post("/account/tokens/{id}/revoke", token_revoke),
    ];
    all.extend(security::account_security_routes());
    all.extend(invitation::invitation_page_routes());
    all
}

/// A page of the account with what went wrong or was done above it.
pub(super) fn account_page(caller: &Caller, title: &str, body: &Markup) -> Markup {
    page_with(caller, title, "/account", &["pages/account.css", "pages/account.js"], body)
}

/// What went wrong, where something did.
pub(super) fn render_complaint(complaint: Option<&str>) -> Markup {
    html! {
        @if let Some(complaint) = complaint {
            p.notice.bad role="alert" id="complaint" { (complaint) }
        }
    }
}

/// A page with the status of what went wrong; what is not the person's doing stays a problem.
pub(super) fn page_with_problem(
    problem: ProblemDetails,
    page: impl FnOnce(&str) -> Markup,
) -> HandlerResult<Response> {
    match StatusCode::from_u16(problem.status) {
        Ok(status) if status.is_client_error() => {
            Ok((status, page(&problem.detail)).into_response())
        }
        _ => Err(problem),
    }
}

async fn account_body(
    app: &App,
    caller: &Caller,
    complaint: Option<&str>,
) -> HandlerResult<Markup> {
    let shelf = &app.auth.shelf;
    let factors = factors::load_factors(shelf, &caller.person.id).await?;
    let has_password = accounts::find_password_hash(shelf, &caller.person.id).await?.is_some();
    Ok(html! {
        h1 { "Account" }
        (render_complaint(complaint))
        div.stack {
            section.card.stack aria-labelledby="profile" {
                h2 id="profile" { "You" }
                dl.kv {
                    dt { "Name" } dd.mono { (caller.person.name) }
                    dt { "Role" } dd { @if caller.is_admin() { "admin" } @else { "user" } }
                }
                (post_form(caller, "/account/profile", "stack", &html! {
                    (render_field("display", "Display name", "Shown on pages. Optional.", &html! {
                        input type="text" name="display" id="display" value=(caller.person.display)
                            maxlength="80" autocomplete="nickname" aria-describedby="display-hint";
                    }))
                    div.row { (submit_button(ButtonLook::Plain, "Save")) }
                }))
            }
            section.card.stack aria-labelledby="factors" {
                h2 id="factors" { "Second factor" }
                p {
                    @if factors.has_any() { (render_badge("good", "on")) } @else { (render_badge("warn", "none")) }
                    " A passkey or an authenticator app, asked for beside the password."
                }
                div.row { a.btn href="/account/security" { "Passkeys and apps" } }
            }
            (password_form(caller, has_password))
            (logins_table(app, caller).await?)
            (tokens_table(app, caller).await?)
            (render_recent_activity(app, caller).await?)
        }
    })
}

fn password_form(caller: &Caller, has_password: bool) -> Markup {
    html! {
        section.card.stack aria-labelledby="password-title" {
            h2 id="password-title" { "Password" }
            (post_form(caller, "/account/password", "stack", &html! {
                input type="text" name="username" value=(caller.person.name) hidden
                    autocomplete="username" aria-label="Name" readonly;
                @if has_password {
                    (render_field("old", "Current password", "", &html! {
                        input type="password" name="old" id="old" required
                            autocomplete="current-password" maxlength="1024";
                    }))
                } @else {
                    p.muted { "No password: you sign in another way." }
                }
                (new_password_fields())
                p.muted { "This signs you out everywhere else." }
                div.row { (submit_button(ButtonLook::Plain, "Change password")) }
            }))
        }
    }
}

/// The two fields of a new password, `password` and `again`.
pub(in crate::web::pages) fn new_password_fields() -> Markup {
    let length = password::LENGTH_MIN.to_string();
    html! {
        (render_field("password", "New password", "At least 12 characters. Four random words work well.", &html! {
            input type="password" name="password" id="password" required
                autocomplete="new-password" minlength=(length) maxlength="1024"
                aria-describedby="password-hint";
        }))
        (render_field("again", "Confirm new password", "", &html! {
            input type="password" name="again" id="again" required
                autocomplete="new-password" minlength=(length) maxlength="1024";
        }))
    }
}

async fn logins_table(app: &App, caller: &Caller) -> HandlerResult<Markup> {
    let all = logins_of(app, caller).await?;
    let now = app.current_time();
    Ok(html! {
        section.card.stack aria-labelledby="logins" {
            h2 id="logins" { "Active sessions" }
            (data_table(&DataTable {
                region: None,
                caption: html! { "Sign-ins, latest first" },
                caption_seen: false,
                columns: &[
                    TableColumn::Text("Browser"), TableColumn::Text("Address"),
                    TableColumn::Text("How"), TableColumn::Text("Last used"),
                    TableColumn::Text("End"),
                ],
                rows: html! {
                    @for line in &all {
                        tr {
                            th scope="row" {
                                @if line.device.is_empty() { (browser_word(&line.agent)) }
                                @else { (line.device) span.muted { " · " (browser_word(&line.agent)) } }
                            }
                            td.mono { (line.address) }
                            td { (line.how) }
                            td { (render_moment(line.seen, now)) }
                            td {
                                @if line.current { (render_badge("info", "this one")) } @else {
                                    (post_form(caller, html! { "/account/logins/" (line.id) "/end" }, "", &html! {
                                        (submit_button(ButtonLook::Quiet, "End"))
                                    }))
                                }
                            }
                        }
                    }
                },
            }))
            @if all.len() > 1 {
                (post_form(caller, "/account/logins/end-others", "", &html! {
                    (submit_button(ButtonLook::Danger, "Sign out everywhere else"))
                }))
            }
        }
    })
}

/// A browser in a word or two.
pub(super) fn browser_word(agent: &str) -> String {
    let known = [
        ("Firefox/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    let systems = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |all: &[(&str, &'static str)]| {
        all.iter().find(|(sign, _)| agent.contains(sign)).map(|(_, word)| *word)
    };
    match (find(&known), find(&systems)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.into(),
        (None, _) if agent.is_empty() => "unknown".into(),
        (None, _) => agent.chars().take(40).collect(),
    }
}

fn scope_word(scope: TokenScope) -> &'static str {
    match scope {
        TokenScope::Read => "read only",
        TokenScope::All => "all",
        TokenScope::Mcp => "tools over MCP",
    }
}

async fn tokens_table(app: &App, caller: &Caller) -> HandlerResult<Markup> {
    let all = tokens_of(app, caller).await?;
    let now = app.current_time();
    Ok(html! {
        section.card.stack aria-labelledby="tokens" {
            h2 id="tokens" { "API tokens" }
            @if all.is_empty() {
                p.muted { "No tokens yet. A program sends one as " code { "Authorization: Bearer TOKEN" } "." }
            } @else {
                (data_table(&DataTable {
                    region: None,
                    caption: html! { "API tokens, oldest first" },
                    caption_seen: false,
                    columns: &[
                        TableColumn::Text("Name"), TableColumn::Text("May"),
                        TableColumn::Text("Last used"), TableColumn::Text("Ends"),
                        TableColumn::Text("Revoke"),
                    ],
                    rows: html! {
                        @for line in &all {
                            tr {
                                th scope="row" { (line.name) }
                                td { (scope_word(line.scope)) }
                                td { @if let Some(seen) = line.seen { (render_moment(seen, now)) }
                                    @else { "never" } }
                                td { @if let Some(end) = line.expires { (render_moment(end, now)) }
                                    @else { "never" } }
                                td {
                                    (post_form(caller, html! { "/account/tokens/" (line.id) "/revoke" }, "", &html! {
                                        (submit_button(ButtonLook::Quiet, "Revoke"))
                                    }))
                                }
                            }
                        }
                    },
                }))
            }
            (post_form(caller, "/account/tokens", "stack", &html! {
                (render_field("token-name", "Name of the new token", "", &html! {
                    input type="text" name="name" id="token-name" required maxlength="80";
                }))
                (render_field("scope", "Permissions", "", &html! {
                    select name="scope" id="scope" {
                        option value="all" { "Everything you can do" }
                        option value="read" { "Read only" }
                        option value="mcp" { "Tools over MCP, for another agent" }
                    }
                }))
                (render_field("days", "Expires after (days)", "Leave empty for a token that does not expire.", &html! {
                    input type="number" name="days" id="days" min="1" max="3650" value="90"
                        aria-describedby="days-hint";
                }))
                div.row { (submit_button(ButtonLook::Plain, "Create token")) }
            }))
        }
    })
}

async fn render_recent_activity(app: &App, caller: &Caller) -> HandlerResult<Markup> {
    let all = events::list_events(&app.auth.shelf, Some(&caller.person.name)).await?;
    let now = app.current_time();
    Ok(html! {
        section.card.stack aria-labelledby="lately" {
            h2 id="lately" { "Recent activity" }
            (data_table(&DataTable {
                region: None,
                caption: html! { "Events of this account, latest first" },
                caption_seen: false,
                columns: &[
                    TableColumn::Text("What"), TableColumn::Text("When"),
                    TableColumn::Text("By"), TableColumn::Text("From"),
                ],
                rows: html! {
                    @for event in all.iter().rev().take(EVENTS_MAX) {
                        tr {
                            th scope="row" { (event.what.replace('_', " ")) }
                            td { (render_moment(event.ts, now)) }
                            td { (event.by) }
                            td.mono { (event.address) }
                        }
                    }
                },
            }))
        }
    })
}

async fn show_account(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    Ok(account_page(&caller, "Account", &account_body(&app, &caller, None).await?))
}

/// The page after something went wrong.
async fn show_account_problem(
    app: &App,
    caller: &Caller,
    problem: ProblemDetails,
) -> HandlerResult<Response> {
    let body = account_body(app, caller, Some(&problem.detail)).await?;
    page_with_problem(problem, |_| account_page(caller, "Account", &body))
}

#[derive(Deserialize)]
struct ProfileForm {
    #[serde(default)]
    display: String,
}

async fn set_profile(
    State(app): State<App>,
    caller: Caller,
    Form(sent): Form<ProfileForm>,
) -> HandlerResult<Response> {
    match accounts::set_display(&app.auth.shelf, &caller.person.id, &sent.display).await {
        Ok(_) => Ok(Redirect::to("/account").into_response()),
        Err(problem) => show_account_problem(&app, &caller, problem).await,
    }
}

#[derive(Deserialize)]
struct PasswordForm {
    #[serde(default)]
    old: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    again: String,
}

async fn set_password(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<PasswordForm>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    if sent.password != sent.again {
        let problem = ProblemDetails::bad_request("the two new passwords do not match");
        return show_account_problem(&app, &caller, problem).await;
    }
    match change_password(&door, &caller, &sent.old, &sent.password).await {
        Ok(cookies) => Ok(with_cookies(Redirect::to("/account"), cookies)),
        Err(problem) => show_account_problem(&app, &caller, problem).await,
    }
}

async fn end_others(State(app): State<App>, caller: Caller) -> HandlerResult<Redirect> {
    for line in logins_of(&app, &caller).await?.into_iter().filter(|line| !line.current) {
        match end_login(&app, &caller, &line.id).await {
            // It ended by itself.
            Err(problem) if problem.code == "not_found" => {}
            ended => ended?,
        }
    }
    Ok(Redirect::to("/account"))
}

async fn token_make(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    SentBody(wanted): SentBody<NewToken>,
) -> HandlerResult<Response> {
    let made = make_token(&app, &caller, &client, &wanted).await;
    let (secret, line) = match made {
        Ok(made) => made,
        Err(problem) => return show_account_problem(&app, &caller, problem).await,
    };
    let body = html! {
        h1 { "New token" }
        section.card.stack {
            p { "Your new token is " strong { (line.name) } ". It is shown this once:" }
            p.mono.secret-once { (secret) }
            p { "Programs send it as " code { "Authorization: Bearer TOKEN" } "." }
            div.row { a.btn href="/account" { "Done" } }
        }
    };
    Ok(account_page(&caller, "New token", &body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_browsers_are_named_as_people_know_them() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        assert_eq!(browser_word(firefox), "Firefox on Linux");
        assert_eq!(browser_word("curl/8.9"), "curl/8.9");
        assert_eq!(browser_word(""), "unknown");
    }
}
