//! Second factors of one's own account: authenticator app, passkeys, recovery codes.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use data_encoding::BASE32_NOPAD;
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;

use super::{again, framed, told};
use crate::api::with_cookies;
use crate::app::App;
use crate::auth::sign_in::Door;
use crate::auth::{Client, accounts, events, factors, passkeys, qr, totp};
use crate::guard::{Caller, Scope};
use crate::problem::{Answer, Problem};
use crate::route::Route;
use crate::web::parts::{badge, csrf, field, moment};

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/account/security", show),
        Route::get("/account/security/app", app_page),
        Route::post("/account/security/app", app_confirm),
        Route::post("/account/security/app/remove", app_remove),
        Route::post("/account/security/recovery", recovery),
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
fn proof(id: &str, has_password: bool) -> Markup {
    html! {
        @if has_password {
            (field(id, "Your password", "", &html! {
                input type="password" name="password" id=(id) required
                    autocomplete="current-password" maxlength="1024";
            }))
        }
    }
}

async fn body(app: &App, caller: &Caller, complaint: Option<&str>) -> Answer<Markup> {
    let (shelf, person) = (&app.doorman.shelf, &caller.person);
    let has = factors::of(shelf, &person.id).await?;
    let has_password = accounts::password(shelf, &person.id).await?.is_some();
    Ok(html! {
        h1 { "Second factor" }
        (told(complaint))
        @if caller.scope == Scope::Enrol {
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
                    p { (badge("good", "on")) " You enter six digits from the app at each sign-in." }
                    form.stack method="post" action="/account/security/app/remove" {
                        (csrf(caller))
                        (proof("app-password", has_password))
                        div.row { button.btn.danger type="submit" { "Remove the app" } }
                    }
                } @else {
                    p.muted { "An app on your phone shows a new six-digit code every 30 seconds." }
                    div.row { a.btn href="/account/security/app" { "Add an app" } }
                }
            }
            @if has.any() {
                section.card.stack aria-labelledby="recovery" {
                    h2 id="recovery" { "Recovery codes" }
                    p { (has.recovery_codes) " are left. Each works once, when app and passkey are \
                        not at hand." }
                    form.stack method="post" action="/account/security/recovery" {
                        (csrf(caller))
                        (proof("recovery-password", has_password))
                        div.row { button.btn type="submit" { "Create new codes" } }
                    }
                }
            }
            p { a href="/account" { "Back to the account" } }
        }
    })
}

async fn passkeys_card(app: &App, caller: &Caller, has_password: bool) -> Answer<Markup> {
    let all = passkeys::of(&app.doorman.shelf, &caller.person.id).await?;
    let now = app.now();
    Ok(html! {
        section.card.stack aria-labelledby="passkeys" {
            h2 id="passkeys" { "Passkeys" }
            p.muted { "A passkey is on your phone, computer or key, and signs you in without a \
                password." }
            @if !all.is_empty() {
                div.table-wrap tabindex="0" {
                    table {
                        caption.unseen { "Passkeys" }
                        thead { tr {
                            th scope="col" { "Name" } th scope="col" { "Added" }
                            th scope="col" { "Last used" } th scope="col" { "Remove" }
                        } }
                        tbody {
                            @for (number, kept) in all.iter().enumerate() {
                                tr {
                                    th scope="row" { (kept.value.called) }
                                    td { (moment(kept.value.created, now)) }
                                    td { @if let Some(seen) = kept.value.seen { (moment(seen, now)) }
                                        @else { "never" } }
                                    td {
                                        form.row method="post" action={
                                            "/account/security/passkeys/" (kept.name) "/remove"
                                        } {
                                            (csrf(caller))
                                            (proof(&format!("key-{number}"), has_password))
                                            button.btn.quiet type="submit" { "Remove" }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            form.stack data-passkey-add hidden method="post" action="/account/security" {
                (field("called", "Name of the new passkey", "", &html! {
                    input type="text" name="called" id="called" required maxlength="80"
                        value="This device";
                }))
                (proof("passkey-password", has_password))
                div.row { button.btn type="submit" { "Add a passkey" } }
                p.notice.bad role="alert" hidden {}
            }
            p.notice data-passkey-impossible {
                "Here none can be added: passkeys need a browser that has them, scripts, and a name \
                in the address (" code { "localhost" } " and not " code { "127.0.0.1" } ")."
            }
        }
    })
}

async fn show(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    Ok(framed(&caller, "Second factor", &body(&app, &caller, None).await?))
}

async fn failed(app: &App, caller: &Caller, problem: Problem) -> Answer<Response> {
    let body = body(app, caller, Some(&problem.detail)).await?;
    again(problem, |_| framed(caller, "Second factor", &body))
}

async fn app_form(
    app: &App,
    (caller, headers): (&Caller, &HeaderMap),
    complaint: Option<&str>,
) -> Answer<Markup> {
    let shelf = &app.doorman.shelf;
    let secret = factors::begin_app(shelf, &caller.person.id).await?;
    let has_password = accounts::password(shelf, &caller.person.id).await?.is_some();
    let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let address = totp::address(&secret, host.unwrap_or("server"), &caller.person.name);
    let groups: Vec<String> = BASE32_NOPAD
        .encode(&secret)
        .as_bytes()
        .chunks(4)
        .map(|four| String::from_utf8_lossy(four).into_owned())
        .collect();
    let body = html! {
        h1 { "Add an authenticator app" }
        (told(complaint))
        section.card.stack {
            p { "Scan this with the app, or enter the key below." }
            (qr::picture(&address, "QR code of the key below")?)
            p.mono.secret-once { (groups.join(" ")) }
            form.stack method="post" action="/account/security/app" {
                (csrf(caller))
                (field("code", "Six-digit code", "", &html! {
                    input.mono type="text" name="code" id="code" required inputmode="numeric"
                        autocomplete="one-time-code" maxlength="8";
                }))
                (proof("password", has_password))
                div.row {
                    button.btn.primary type="submit" { "Add app" }
                    a.btn.quiet href="/account/security" { "Not now" }
                }
            }
        }
    };
    Ok(framed(caller, "Add an authenticator app", &body))
}

async fn app_page(State(app): State<App>, caller: Caller, headers: HeaderMap) -> Answer<Response> {
    caller.at_browser()?;
    match app_form(&app, (&caller, &headers), None).await {
        Ok(page) => Ok(page.into_response()),
        Err(problem) => failed(&app, &caller, problem).await,
    }
}

async fn app_confirm(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<CodeForm>,
) -> Answer<Response> {
    let door = Door { app: &app, client: &client, headers: &headers };
    let (shelf, person) = (&app.doorman.shelf, &caller.person);
    let confirmed = match door.prove(&caller, &sent.password).await {
        Ok(()) => factors::confirm_app(shelf, &person.id, &sent.code).await,
        Err(problem) => Err(problem),
    };
    if let Err(problem) = confirmed {
        let page = app_form(&app, (&caller, &headers), Some(&problem.detail)).await?;
        return again(problem, |_| page);
    }
    events::note(shelf, door.doer(&person.name), ("app_added", &person.name), "").await?;
    let entered = door.renew(&caller, "password+app").await?;
    let codes = factors::new_recovery(shelf, &person.id).await?;
    // The page is shown with the new sign-in: its forms need what belongs to that.
    let mut renewed = caller.clone();
    renewed.scope = Scope::All;
    if let crate::guard::Via::Cookie { csrf, .. } = &mut renewed.via {
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
    framed(caller, "Recovery codes", &body)
}

async fn app_remove(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<ProofForm>,
) -> Answer<Response> {
    let door = Door { app: &app, client: &client, headers: &headers };
    if let Err(problem) = door.prove(&caller, &sent.password).await {
        return failed(&app, &caller, problem).await;
    }
    let (shelf, person) = (&app.doorman.shelf, &caller.person);
    factors::remove_app(shelf, &person.id).await?;
    events::note(shelf, door.doer(&person.name), ("app_removed", &person.name), "").await?;
    Ok(Redirect::to("/account/security").into_response())
}

async fn recovery(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<ProofForm>,
) -> Answer<Response> {
    let door = Door { app: &app, client: &client, headers: &headers };
    let (shelf, person) = (&app.doorman.shelf, &caller.person);
    if let Err(problem) = door.prove(&caller, &sent.password).await {
        return failed(&app, &caller, problem).await;
    }
    if !factors::of(shelf, &person.id).await?.any() {
        return failed(
            &app,
            &caller,
            Problem::conflict("add a passkey or an authenticator app first"),
        )
        .await;
    }
    let codes = factors::new_recovery(shelf, &person.id).await?;
    events::note(shelf, door.doer(&person.name), ("recovery_codes_made", &person.name), "").await?;
    Ok(codes_page(&caller, &codes).into_response())
}

async fn passkey_remove(
    State(app): State<App>,
    caller: Caller,
    (client, headers): (Client, HeaderMap),
    Path(id): Path<String>,
    Form(sent): Form<ProofForm>,
) -> Answer<Response> {
    let door = Door { app: &app, client: &client, headers: &headers };
    let (shelf, person) = (&app.doorman.shelf, &caller.person);
    if !passkeys::of(shelf, &person.id).await?.iter().any(|kept| kept.name == id) {
        return Err(Problem::missing("this passkey"));
    }
    if let Err(problem) = door.prove(&caller, &sent.password).await {
        return failed(&app, &caller, problem).await;
    }
    passkeys::remove(shelf, &person.id, &id).await?;
    factors::tidy(shelf, &person.id).await?;
    events::note(shelf, door.doer(&person.name), ("passkey_removed", &person.name), "").await?;
    Ok(Redirect::to("/account/security").into_response())
}
