//! People, for admins (S2, S10): accounts, what is asked at the door, the identity provider.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::people::{Person, Role};

use crate::api::{everybody, invitation_path};
use crate::app::App;
use crate::auth::admin::{Admin, Wanted};
use crate::auth::factors::{self, Policy};
use crate::auth::oidc::{self, Provider};
use crate::auth::{Client, accounts, events};
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::{Access, Route};
use crate::web::parts::{badge, csrf, field, moment, page_with};

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/users", show).access(Access::Admin),
        Route::post("/users", make).access(Access::Admin),
        Route::post("/users/door/policy", set_policy).access(Access::Admin),
        Route::post("/users/door/provider", set_provider).access(Access::Admin),
        Route::get("/users/{id}", show_one).access(Access::Admin),
        Route::post("/users/{id}", change).access(Access::Admin),
        Route::post("/users/{id}/invite", invite).access(Access::Admin),
        Route::post("/users/{id}/reset-factors", reset_factors).access(Access::Admin),
        Route::post("/users/{id}/signout", sign_out).access(Access::Admin),
        Route::post("/users/{id}/disable", disable).access(Access::Admin),
        Route::post("/users/{id}/enable", enable).access(Access::Admin),
        Route::post("/users/{id}/remove", remove).access(Access::Admin),
    ]
}

fn framed(caller: &Caller, title: &str, body: &Markup) -> Markup {
    page_with(caller, title, "/users", &["pages/account.css"], body)
}

fn told(complaint: Option<&str>) -> Markup {
    html! {
        @if let Some(complaint) = complaint {
            p.notice.bad role="alert" id="complaint" { (complaint) }
        }
    }
}

fn role_field(role: Role) -> Markup {
    field(
        "role",
        "Role",
        "Admins have full access.",
        &html! {
            select name="role" id="role" aria-describedby="role-hint" {
                option value="user" selected[role == Role::User] { "user" }
                option value="admin" selected[role == Role::Admin] { "admin" }
            }
        },
    )
}

fn state_badge(person: &Person) -> Markup {
    match person.disabled {
        true => badge("bad", "disabled"),
        false => badge("good", "active"),
    }
}

async fn body(app: &App, caller: &Caller, complaint: Option<&str>) -> Answer<Markup> {
    let all = everybody(app).await?;
    let now = app.now();
    Ok(html! {
        h1 { "People" }
        (told(complaint))
        div.stack {
            section.card.stack aria-labelledby="accounts" {
                h2 id="accounts" { "Accounts" }
                div.table-wrap tabindex="0" {
                    table {
                        caption.unseen { "Accounts, by name" }
                        thead { tr {
                            th scope="col" { "Name" } th scope="col" { "Display name" }
                            th scope="col" { "Role" } th scope="col" { "State" }
                            th scope="col" { "Since" }
                        } }
                        tbody {
                            @for person in &all {
                                tr {
                                    th scope="row" {
                                        a href={ "/users/" (person.id) } { (person.name) }
                                    }
                                    td { (person.display) }
                                    td { @if person.is_admin() { (badge("info", "admin")) }
                                        @else { "user" } }
                                    td { (state_badge(person)) }
                                    td { (moment(person.created, now)) }
                                }
                            }
                        }
                    }
                }
            }
            (new_form(caller))
            (policy_form(app, caller).await?)
            (provider_form(app, caller).await?)
        }
    })
}

fn new_form(caller: &Caller) -> Markup {
    html! {
        section.card.stack aria-labelledby="new" {
            h2 id="new" { "New account" }
            form.stack method="post" action="/users" {
                (csrf(caller))
                (field("name", "Name", "a-z, 0-9, dot, dash, underscore; it cannot be changed.", &html! {
                    input type="text" name="name" id="name" required maxlength="32"
                        pattern="[a-z0-9][a-z0-9._\\-]*" autocomplete="off" autocapitalize="none"
                        spellcheck="false" aria-describedby="name-hint";
                }))
                (role_field(Role::User))
                (field("email", "Mail address", "For the identity provider. Optional.", &html! {
                    input type="email" name="email" id="email" maxlength="254" autocomplete="off"
                        aria-describedby="email-hint";
                }))
                (field("password", "First password", "Leave empty to get an invitation link instead.", &html! {
                    input type="password" name="password" id="password" maxlength="1024"
                        autocomplete="new-password" aria-describedby="password-hint";
                }))
                div.row { button.btn.primary type="submit" { "Create account" } }
            }
        }
    }
}

async fn policy_form(app: &App, caller: &Caller) -> Answer<Markup> {
    let policy = factors::policy(&app.doorman.shelf).await?;
    Ok(html! {
        section.card.stack aria-labelledby="policy" {
            h2 id="policy" { "Sign-in policy" }
            form.stack method="post" action="/users/door/policy" {
                (csrf(caller))
                label.row {
                    input type="checkbox" name="second_factor" value="on"
                        checked[policy.second_factor];
                    span { "Require a second factor for everyone" }
                }
                p.hint { "Whoever has none adds one at the next sign-in; sign-ins of those without \
                    one end now, but for yours." }
                div.row { button.btn type="submit" { "Save" } }
            }
        }
    })
}

async fn provider_form(app: &App, caller: &Caller) -> Answer<Markup> {
    let provider = oidc::provider(&app.doorman.shelf).await?;
    let has_secret = provider.as_ref().is_some_and(|provider| !provider.client_secret.is_empty());
    let text = |pick: fn(&Provider) -> &str| provider.as_ref().map(pick).unwrap_or_default();
    let secret_hint = match has_secret {
        true => "One is saved. Leave empty to keep it.",
        false => "Optional.",
    };
    Ok(html! {
        section.card.stack aria-labelledby="provider" {
            h2 id="provider" { "Identity provider (OpenID Connect)" }
            form.stack method="post" action="/users/door/provider" {
                (csrf(caller))
                (field("issuer", "Issuer", "https://… Leave empty for no provider.", &html! {
                    input type="url" name="issuer" id="issuer" value=(text(|one| &one.issuer))
                        aria-describedby="issuer-hint";
                }))
                (field("client_id", "Client id", "", &html! {
                    input type="text" name="client_id" id="client_id" autocomplete="off"
                        value=(text(|one| &one.client_id));
                }))
                (field("client_secret", "Client secret", secret_hint, &html! {
                    input type="password" name="client_secret" id="client_secret"
                        autocomplete="off" aria-describedby="client_secret-hint";
                }))
                (field("label", "Button label", "", &html! {
                    input type="text" name="label" id="label" value=(text(|one| &one.label))
                        maxlength="40";
                }))
                label.row {
                    input type="checkbox" name="makes_accounts" value="on"
                        checked[provider.as_ref().is_some_and(|one| one.makes_accounts)];
                    span { "Create accounts automatically for people it signs in" }
                }
                p.hint { "Redirect URL to allow there: " code { "/signin/oidc/back" } }
                div.row { button.btn type="submit" { "Save" } }
            }
        }
    })
}

async fn show(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    Ok(framed(&caller, "People", &body(&app, &caller, None).await?))
}

/// The list with what went wrong above it.
async fn failed(app: &App, caller: &Caller, problem: Problem) -> Answer<Response> {
    let Ok(status) = StatusCode::from_u16(problem.status) else {
        return Err(problem);
    };
    if !status.is_client_error() {
        return Err(problem);
    }
    let body = body(app, caller, Some(&problem.detail)).await?;
    Ok((status, framed(caller, "People", &body)).into_response())
}

#[derive(Deserialize)]
struct NewForm {
    #[serde(default)]
    name: String,
    #[serde(default)]
    role: Role,
    #[serde(default)]
    email: String,
    #[serde(default)]
    password: String,
}

async fn make(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    Form(sent): Form<NewForm>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let password = Some(sent.password.as_str()).filter(|password| !password.is_empty());
    let wanted = Wanted { name: &sent.name, role: sent.role, password, email: &sent.email };
    match admin.make(&wanted).await {
        Ok((person, Some(link))) => Ok(link_page(&app, &headers, (&caller, &person), &link)),
        Ok((person, None)) => Ok(Redirect::to(&format!("/users/{}", person.id)).into_response()),
        Err(problem) => failed(&app, &caller, problem).await,
    }
}

/// Shows a link once.
fn link_page(
    app: &App,
    headers: &HeaderMap,
    (caller, person): (&Caller, &Person),
    link: &str,
) -> Response {
    let host = headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let scheme = if app.options.tls.is_some() { "https" } else { "http" };
    let origin = match &app.options.public_url {
        Some(url) => url.clone(),
        None => format!("{scheme}://{}", host.unwrap_or("localhost")),
    };
    let body = html! {
        h1 { "Link for " (person.name) }
        section.card.stack {
            p { "Send them this link. It works once, expires after a week, and is not shown again:" }
            p.mono.secret-once { (origin) (invitation_path(link)) }
            div.row { a.btn.primary href={ "/users/" (person.id) } { "Done" } }
        }
    };
    framed(caller, "Link", &body).into_response()
}

async fn set_policy(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Form(sent): Form<PolicyForm>,
) -> Answer<Redirect> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    admin.set_policy(&Policy { second_factor: sent.second_factor.is_some() }).await?;
    Ok(Redirect::to("/users"))
}

#[derive(Deserialize)]
struct PolicyForm {
    second_factor: Option<String>,
}

#[derive(Deserialize)]
struct ProviderForm {
    #[serde(default)]
    issuer: String,
    #[serde(default)]
    client_id: String,
    #[serde(default)]
    client_secret: String,
    #[serde(default)]
    label: String,
    makes_accounts: Option<String>,
}

async fn set_provider(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Form(sent): Form<ProviderForm>,
) -> Answer<Response> {
    caller.at_browser()?;
    let shelf = &app.doorman.shelf;
    let kept = oidc::provider(shelf).await?;
    let issuer = sent.issuer.trim().to_owned();
    let client_secret = match (kept, sent.client_secret.is_empty()) {
        // A secret goes to nobody but whom it was given for.
        (Some(kept), true) if kept.issuer == issuer => kept.client_secret,
        (_, _) => oidc::sealed(shelf, &sent.client_secret)?,
    };
    let provider = Provider {
        issuer,
        client_id: sent.client_id.trim().into(),
        client_secret,
        label: sent.label.trim().into(),
        makes_accounts: sent.makes_accounts.is_some(),
    };
    let wanted = Some(&provider).filter(|provider| !provider.issuer.is_empty());
    if let Err(problem) = oidc::set_provider(shelf, wanted).await {
        return failed(&app, &caller, problem).await;
    }
    let by = &caller.person.name;
    let doer = events::Doer { by, address: Some(client.address) };
    events::note(shelf, doer, ("identity_provider_set", by), &provider.issuer).await?;
    Ok(Redirect::to("/users").into_response())
}

async fn one(
    app: &App,
    caller: &Caller,
    person: &Person,
    complaint: Option<&str>,
) -> Answer<Markup> {
    let shelf = &app.doorman.shelf;
    let has = factors::of(shelf, &person.id).await?;
    let email = accounts::email_of(shelf, &person.id).await?;
    let path = format!("/users/{}", person.id);
    let act = |word: &str, class: &str, text: &str| {
        html! {
            form method="post" action={ (path) "/" (word) } {
                (csrf(caller))
                button class={ "btn " (class) } type="submit" { (text) }
            }
        }
    };
    Ok(framed(
        caller,
        &person.name,
        &html! {
            h1 { (person.name) " " (state_badge(person)) }
            (told(complaint))
            div.stack {
                section.card.stack aria-labelledby="what" {
                    h2 id="what" { "Account" }
                    form.stack method="post" action=(path) {
                        (csrf(caller))
                        (field("display", "Display name", "", &html! {
                            input type="text" name="display" id="display" maxlength="80"
                                value=(person.display) autocomplete="off";
                        }))
                        (field("email", "Mail address", "For the identity provider. Optional.", &html! {
                            input type="email" name="email" id="email" maxlength="254" value=(email)
                                autocomplete="off" aria-describedby="email-hint";
                        }))
                        (role_field(person.role))
                        div.row { button.btn.primary type="submit" { "Save" } }
                    }
                }
                section.card.stack aria-labelledby="way" {
                    h2 id="way" { "Sign-in" }
                    p {
                        @if has.any() { (badge("good", "second factor")) }
                        @else { (badge("", "no second factor")) }
                    }
                    div.toolbar {
                        (act("invite", "", "Create password reset link"))
                        @if has.any() { (act("reset-factors", "danger", "Reset the second factor")) }
                        (act("signout", "danger", "Sign out everywhere"))
                        @if person.disabled { (act("enable", "", "Enable")) }
                        @else { (act("disable", "danger", "Disable")) }
                    }
                }
                section.card.stack aria-labelledby="gone" {
                    h2 id="gone" { "Remove" }
                    p { "Everything of the account goes: sessions, files of Weir's own, memory, tokens. \
                        It does not come back." }
                    form.stack method="post" action={ (path) "/remove" } {
                        (csrf(caller))
                        (field("sure", "Type the name to confirm", "", &html! {
                            input type="text" name="sure" id="sure" required autocomplete="off";
                        }))
                        div.row { button.btn.danger type="submit" { "Remove account" } }
                    }
                }
                p { a href="/users" { "Back to people" } }
            }
        },
    ))
}

async fn show_one(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
) -> Answer<Markup> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    one(&app, &caller, &admin.person(&id).await?, None).await
}

/// Back to the account, or its page with what went wrong.
async fn done(admin: &Admin<'_>, id: &str, result: Answer<()>) -> Answer<Response> {
    let problem = match result {
        Ok(()) => return Ok(Redirect::to(&format!("/users/{id}")).into_response()),
        Err(problem) if problem.code == "not_found" => return Err(problem),
        Err(problem) => problem,
    };
    match StatusCode::from_u16(problem.status) {
        Ok(status) if status.is_client_error() => {
            let person = admin.person(id).await?;
            let page = one(admin.app, admin.caller, &person, Some(&problem.detail)).await?;
            Ok((status, page).into_response())
        }
        _ => Err(problem),
    }
}

#[derive(Deserialize)]
struct OneForm {
    #[serde(default)]
    display: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    role: Role,
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
    Form(sent): Form<OneForm>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let described = admin.describe(&id, Some(&sent.display), Some(&sent.email)).await;
    let changed = match described {
        Ok(_) => admin.set_role(&id, sent.role).await.map(|_| ()),
        Err(problem) => Err(problem),
    };
    done(&admin, &id, changed).await
}

async fn invite(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let link = admin.invite(&id).await?;
    Ok(link_page(&app, &headers, (&caller, &admin.person(&id).await?), &link))
}

async fn reset_factors(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let result = admin.reset_factors(&id).await;
    done(&admin, &id, result).await
}

async fn sign_out(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let result = admin.sign_out(&id).await.map(|_| ());
    done(&admin, &id, result).await
}

async fn disable(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let result = admin.set_disabled(&id, true).await.map(|_| ());
    done(&admin, &id, result).await
}

async fn enable(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let result = admin.set_disabled(&id, false).await.map(|_| ());
    done(&admin, &id, result).await
}

#[derive(Deserialize)]
struct SureForm {
    #[serde(default)]
    sure: String,
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    client: Client,
    Path(id): Path<String>,
    Form(sent): Form<SureForm>,
) -> Answer<Response> {
    let admin = Admin { app: &app, caller: &caller, client: &client };
    let person = admin.person(&id).await?;
    if sent.sure.trim() != person.name {
        let problem = Problem::bad("the name does not match; nothing was removed");
        return done(&admin, &id, Err(problem)).await;
    }
    match admin.remove(&id).await {
        Ok(()) => Ok(Redirect::to("/users").into_response()),
        Err(problem) => done(&admin, &id, Err(problem)).await,
    }
}
