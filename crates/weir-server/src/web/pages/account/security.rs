//! Second factors of one's own account: authenticator app, passkeys, recovery codes.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::BASE32_NOPAD;
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;

use super::{account_page, page_with_problem, render_complaint};
use crate::api::with_cookies;
use crate::app::App;
use crate::auth::{ClientInfo, accounts, factors, passkeys, qr, totp};
use crate::caller::{Caller, CallerScope};
use crate::person_news::note_account_event;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;
use crate::sign_in::{SignInContext, SignInRequest};
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{render_badge, render_field, render_moment};

/// The routes of this file.
pub(super) fn account_security_routes() -> Vec<Route> {
    vec![
        Route::get("/account/security", show_security),
        Route::get("/account/security/app", app_page),
        Route::post("/account/security/app", app_confirm),
        Route::post("/account/security/app/remove", app_remove),
        Route::post("/account/security/recovery", make_recovery_codes),
        Route::post("/account/security/passkeys/{id}/remove", passkey_remove),
    ]
}

#[derive(Deserialize)]
struct ProofForm {
    #[serde(default)]
    password: String,
}

#[derive(Deserialize)]
struct CodeForm {
    #[serde(default)]
    code: String,
    #[serde(default)]
    password: String,
}

/// The field for one's password, where there is one.
fn proof_field(id: &str, has_password: bool) -> Markup {
    html! {
        @if has_password {
            (render_field(id, "Your password", "", &html! {
                input type="password" name="password" id=(id) required
                    autocomplete="current-password" maxlength="1024";
            }))
        }
    }
}

async fn security_body(
    app: &App,
    caller: &Caller,
    complaint: Option<&str>,
) -> HandlerResult<Markup> {
    let (shelf, person) = (&app.auth.shelf, &caller.person);
    let has = factors::load_factors(shelf, &person.id).await?;
    let has_password = accounts::find_password_hash(shelf, &person.id).await?.is_some();
    Ok(html! {
        h1 { "Second factor" }
        (render_complaint(complaint))
        @if caller.scope == CallerScope::Enrol {
            p.notice.warn role="status" {
                "This server asks for a second factor. Add a passkey or an authenticator app; then "
                "you have full access."
            }
        }
        div.stack {
            (passkeys_card(app, caller, has_password).await?)
            section.card.stack aria-labelledby="app" {
                h2 id="app" { "Authenticator app" }
                @if has.has_app {
                    p { (render_badge("good", "on")) " You enter six digits from the app at each sign-in." }
                    (post_form(caller, "/account/security/app/remove", "stack", &html! {
                        (proof_field("app-password", has_password))
                        div.row { (submit_button(ButtonLook::Danger, "Remove the app")) }
                    }))
                } @else {
                    p.muted { "An app on your phone shows a new six-digit code every 30 seconds." }
                    div.row { a.btn href="/account/security/app" { "Add an app" } }
                }
            }
            @if has.has_any() {
                section.card.stack aria-labelledby="recovery" {
                    h2 id="recovery" { "Recovery codes" }
                    p { (has.recovery_codes) " are left. Each works once, when app and passkey are \
                        not at hand." }
                    (post_form(caller, "/account/security/recovery", "stack", &html! {
                        (proof_field("recovery-password", has_password))
                        div.row { (submit_button(ButtonLook::Plain, "Create new codes")) }
                    }))
                }
            }
            p { a href="/account" { "Back to the account" } }
        }
    })
}

async fn passkeys_card(app: &App, caller: &Caller, has_password: bool) -> HandlerResult<Markup> {
    let all = passkeys::list_passkeys(&app.auth.shelf, &caller.person.id).await?;
    let now = app.current_time();
    Ok(html! {
        section.card.stack aria-labelledby="passkeys" {
            h2 id="passkeys" { "Passkeys" }
            p.muted { "A passkey is on your phone, computer or key, and signs you in without a \
                password." }
            @if !all.is_empty() {
                (data_table(&DataTable {
                    region: None,
                    caption: html! { "Passkeys" },
                    caption_seen: false,
                    columns: &[
                        TableColumn::Text("Name"), TableColumn::Text("Added"),
                        TableColumn::Text("Last used"), TableColumn::Text("Remove"),
                    ],
                    rows: html! {
                        @for (number, kept) in all.iter().enumerate() {
                            tr {
                                th scope="row" { (kept.value.called) }
                                td { (render_moment(kept.value.created, now)) }
                                td { @if let Some(seen) = kept.value.seen { (render_moment(seen, now)) }
                                    @else { "never" } }
                                td {
                                    (post_form(caller, html! { "/account/security/passkeys/" (kept.name) "/remove" }, "row", &html! {
                                        (proof_field(&format!("key-{number}"), has_password))
                                        (submit_button(ButtonLook::Quiet, "Remove"))
                                    }))
                                }
                            }
                        }
                    },
                }))
            }
            form.stack data-passkey-add hidden method="post" action="/account/security" {
                (render_field("called", "Name of the new passkey", "", &html! {
                    input type="text" name="called" id="called" required maxlength="80"
                        value="This device";
                }))
                (proof_field("passkey-password", has_password))
                div.row { (submit_button(ButtonLook::Plain, "Add a passkey")) }
                p.notice.bad role="alert" hidden {}
            }
            p.notice data-passkey-impossible {
                "Here none can be added: passkeys need a browser that has them, scripts, and a name \
                in the address (" code { "localhost" } " and not " code { "127.0.0.1" } ")."
            }
        }
    })
}

async fn show_security(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    Ok(account_page(&caller, "Second factor", &security_body(&app, &caller, None).await?))
}

async fn show_security_problem(
    app: &App,
    caller: &Caller,
    problem: ProblemDetails,
) -> HandlerResult<Response> {
    let body = security_body(app, caller, Some(&problem.detail)).await?;
    page_with_problem(problem, |_| account_page(caller, "Second factor", &body))
}

async fn app_form(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    complaint: Option<&str>,
) -> HandlerResult<Markup> {
    let shelf = &app.auth.shelf;
    let secret = factors::begin_app(shelf, &caller.person.id).await?;
    let has_password = accounts::find_password_hash(shelf, &caller.person.id).await?.is_some();
    let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let address = totp::otpauth_address(&secret, host.unwrap_or("server"), &caller.person.name);
    let groups: Vec<String> = BASE32_NOPAD
        .encode(&secret)
        .as_bytes()
        .chunks(4)
        .map(|four| String::from_utf8_lossy(four).into_owned())
        .collect();
    let body = html! {
        h1 { "Add an authenticator app" }
        (render_complaint(complaint))
        section.card.stack {
            p { "Scan this with the app, or enter the key below." }
            (qr::render_qr_code(&address, "QR code of the key below")?)
            p.mono.secret-once { (groups.join(" ")) }
            (post_form(caller, "/account/security/app", "stack", &html! {
                (render_field("code", "Six-digit code", "", &html! {
                    input.mono type="text" name="code" id="code" required inputmode="numeric"
                        autocomplete="one-time-code" maxlength="8";
                }))
                (proof_field("password", has_password))
                div.row {
                    (submit_button(ButtonLook::Primary, "Add app"))
                    a.btn.quiet href="/account/security" { "Not now" }
                }
            }))
        }
    };
    Ok(account_page(caller, "Add an authenticator app", &body))
}

async fn app_page(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    caller.at_browser()?;
    match app_form(&app, &caller, &headers, None).await {
        Ok(page) => Ok(page.into_response()),
        Err(problem) => show_security_problem(&app, &caller, problem).await,
    }
}

async fn app_confirm(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<CodeForm>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let (shelf, person) = (&app.auth.shelf, &caller.person);
    let confirmed = match door.prove_identity(&caller, &sent.password).await {
        Ok(()) => factors::confirm_app(shelf, &person.id, &sent.code).await,
        Err(problem) => Err(problem),
    };
    if let Err(problem) = confirmed {
        let page = app_form(&app, &caller, &headers, Some(&problem.detail)).await?;
        return page_with_problem(problem, |_| page);
    }
    note_account_event(&app, door.event_actor(&person.name), person, "app_added", "").await?;
    let entered = door.renew_login(&caller, "password+app").await?;
    let codes = factors::new_recovery(shelf, &person.id).await?;
    // The page is shown with the new sign-in: its forms need what belongs to that.
    let mut renewed = caller.clone();
    renewed.scope = CallerScope::All;
    if let crate::caller::CallerCredential::Cookie { csrf, .. } = &mut renewed.via {
        csrf.clone_from(&entered.csrf);
    }
    Ok(with_cookies(codes_page(&renewed, &codes), entered.cookies))
}

fn codes_page(caller: &Caller, codes: &[String]) -> Markup {
    let body = html! {
        h1 { "Recovery codes" }
        section.card.stack {
            p { "Keep these where you find them without your phone. Each works once. They are shown \
                this once." }
            ul.codes.mono { @for code in codes { li { (code) } } }
            div.row { a.btn.primary href="/account/security" { "I have saved them" } }
        }
    };
    account_page(caller, "Recovery codes", &body)
}

async fn app_remove(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<ProofForm>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    if let Err(problem) = door.prove_identity(&caller, &sent.password).await {
        return show_security_problem(&app, &caller, problem).await;
    }
    let (shelf, person) = (&app.auth.shelf, &caller.person);
    factors::remove_app(shelf, &person.id).await?;
    note_account_event(&app, door.event_actor(&person.name), person, "app_removed", "").await?;
    Ok(Redirect::to("/account/security").into_response())
}

async fn make_recovery_codes(
    State(app): State<App>,
    caller: Caller,
    client: ClientInfo,
    headers: HeaderMap,
    Form(sent): Form<ProofForm>,
) -> HandlerResult<Response> {
    let door = SignInContext { app: &app, client: &client, headers: &headers };
    let (shelf, person) = (&app.auth.shelf, &caller.person);
    if let Err(problem) = door.prove_identity(&caller, &sent.password).await {
        return show_security_problem(&app, &caller, problem).await;
    }
    if !factors::load_factors(shelf, &person.id).await?.has_any() {
        return show_security_problem(
            &app,
            &caller,
            ProblemDetails::conflict("add a passkey or an authenticator app first"),
        )
        .await;
    }
    let codes = factors::new_recovery(shelf, &person.id).await?;
    note_account_event(&app, door.event_actor(&person.name), person, "recovery_codes_made", "")
        .await?;
    Ok(codes_page(&caller, &codes).into_response())
}

async fn passkey_remove(
    State(app): State<App>,
    caller: Caller,
    arrived: SignInRequest,
    Path(id): Path<String>,
    Form(sent): Form<ProofForm>,
) -> HandlerResult<Response> {
    let door = arrived.context(&app);
    let (shelf, person) = (&app.auth.shelf, &caller.person);
    if !passkeys::list_passkeys(shelf, &person.id).await?.iter().any(|kept| kept.name == id) {
        return Err(ProblemDetails::not_found("this passkey"));
    }
    if let Err(problem) = door.prove_identity(&caller, &sent.password).await {
        return show_security_problem(&app, &caller, problem).await;
    }
    passkeys::remove(shelf, &person.id, &id).await?;
    factors::prune_recovery_codes(shelf, &person.id).await?;
    note_account_event(&app, door.event_actor(&person.name), person, "passkey_removed", "").await?;
    Ok(Redirect::to("/account/security").into_response())
}
