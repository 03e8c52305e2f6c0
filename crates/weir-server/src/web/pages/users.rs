//! People, for admins (S2, S10): accounts, what is asked at the door, the identity provider.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::people::{Person, Role};

use crate::account_admin::{AdminContext, NewAccountRequest};
use crate::api::{NewUser, invitation_path, list_people};
use crate::app::App;
use crate::auth::factors::{self, SecondFactorPolicy};
use crate::auth::{ClientInfo, accounts, events};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::SentBody;
use crate::route::{Route, RouteAccess};
use crate::sign_in::oidc::{self, IdentityProvider};
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{page_with, render_badge, render_field, render_moment};

/// The routes of this file.
pub(crate) fn user_page_routes() -> Vec<Route> {
    vec![
        Route::get("/users", show_people).access(RouteAccess::Admin),
        Route::post("/users", make_user).access(RouteAccess::Admin),
        Route::post("/users/door/policy", set_policy).access(RouteAccess::Admin),
        Route::post("/users/door/provider", set_provider).access(RouteAccess::Admin),
        Route::get("/users/{id}", show_one).access(RouteAccess::Admin),
        Route::post("/users/{id}", change_user).access(RouteAccess::Admin),
        Route::post("/users/{id}/invite", invite_user).access(RouteAccess::Admin),
        Route::post("/users/{id}/reset-factors", reset_factors).access(RouteAccess::Admin),
        Route::post("/users/{id}/signout", sign_out).access(RouteAccess::Admin),
        Route::post("/users/{id}/disable", disable_user).access(RouteAccess::Admin),
        Route::post("/users/{id}/enable", enable_user).access(RouteAccess::Admin),
        Route::post("/users/{id}/remove", remove).access(RouteAccess::Admin),
    ]
}

fn people_page(caller: &Caller, title: &str, body: &Markup) -> Markup {
    page_with(caller, title, "/users", &["pages/account.css"], body)
}

fn render_complaint(complaint: Option<&str>) -> Markup {
    html! {
        @if let Some(complaint) = complaint {
            p.notice.bad role="alert" id="complaint" { (complaint) }
        }
    }
}

fn role_field(role: Role) -> Markup {
    render_field(
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
        true => render_badge("bad", "disabled"),
        false => render_badge("good", "active"),
    }
}

async fn people_body(app: &App, caller: &Caller, complaint: Option<&str>) -> HandlerResult<Markup> {
    let all = list_people(app).await?;
    let now = app.current_time();
    Ok(html! {
        h1 { "People" }
        (render_complaint(complaint))
        div.stack {
            section.card.stack aria-labelledby="accounts" {
                h2 id="accounts" { "Accounts" }
                (data_table(&DataTable {
                    region: None,
                    caption: html! { "Accounts, by name" },
                    caption_seen: false,
                    columns: &[
                        TableColumn::Text("Name"), TableColumn::Text("Display name"),
                        TableColumn::Text("Role"), TableColumn::Text("State"),
                        TableColumn::Text("Since"),
                    ],
                    rows: html! {
                        @for person in &all {
                            tr {
                                th scope="row" {
                                    a href={ "/users/" (person.id) } { (person.name) }
                                }
                                td { (person.display) }
                                td { @if person.is_admin() { (render_badge("info", "admin")) }
                                    @else { "user" } }
                                td { (state_badge(person)) }
                                td { (render_moment(person.created, now)) }
                            }
                        }
                    },
                }))
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
            (post_form(caller, "/users", "stack", &html! {
                (render_field("name", "Name", "a-z, 0-9, dot, dash, underscore; it cannot be changed.", &html! {
                    input type="text" name="name" id="name" required maxlength="32"
                        pattern="[a-z0-9][a-z0-9._\\-]*" autocomplete="off" autocapitalize="none"
                        spellcheck="false" aria-describedby="name-hint";
                }))
                (role_field(Role::User))
                (render_field("email", "Mail address", "For the identity provider. Optional.", &html! {
                    input type="email" name="email" id="email" maxlength="254" autocomplete="off"
                        aria-describedby="email-hint";
                }))
                (render_field("password", "First password", "Leave empty to get an invitation link instead.", &html! {
                    input type="password" name="password" id="password" maxlength="1024"
                        autocomplete="new-password" aria-describedby="password-hint";
                }))
                div.row { (submit_button(ButtonLook::Primary, "Create account")) }
            }))
        }
    }
}

async fn policy_form(app: &App, caller: &Caller) -> HandlerResult<Markup> {
    let policy = factors::load_policy(&app.auth.shelf).await?;
    Ok(html! {
        section.card.stack aria-labelledby="policy" {
            h2 id="policy" { "Sign-in policy" }
            (post_form(caller, "/users/door/policy", "stack", &html! {
                label.row {
                    input type="checkbox" name="second_factor" value="on"
                        checked[policy.second_factor];
                    span { "Require a second factor for everyone" }
                }
                p.hint { "Whoever has none adds one at the next sign-in; sign-ins of those without \
                    one end now, but for yours." }
                div.row { (submit_button(ButtonLook::Plain, "Save")) }
            }))
        }
    })
}

async fn provider_form(app: &App, caller: &Caller) -> HandlerResult<Markup> {
    let provider = oidc::find_provider(&app.auth.shelf).await?;
    let has_secret = provider.as_ref().is_some_and(|provider| !provider.client_secret.is_empty());
    let text =
        |pick: fn(&IdentityProvider) -> &str| provider.as_ref().map(pick).unwrap_or_default();
    let secret_hint = match has_secret {
        true => "One is saved. Leave empty to keep it.",
        false => "Optional.",
    };
    Ok(html! {
        section.card.stack aria-labelledby="provider" {
            h2 id="provider" { "Identity provider (OpenID Connect)" }
            (post_form(caller, "/users/door/provider", "stack", &html! {
                (render_field("issuer", "Issuer", "https://… Leave empty for no provider.", &html! {
                    input type="url" name="issuer" id="issuer" value=(text(|one| &one.issuer))
                        aria-describedby="issuer-hint";
                }))
                (render_field("client_id", "Client id", "", &html! {
                    input type="text" name="client_id" id="client_id" autocomplete="off"
                        value=(text(|one| &one.client_id));
                }))
                (render_field("client_secret", "Client secret", secret_hint, &html! {
                    input type="password" name="client_secret" id="client_secret"
                        autocomplete="off" aria-describedby="client_secret-hint";
                }))
                (render_field("label", "Button label", "", &html! {
                    input type="text" name="label" id="label" value=(text(|one| &one.label))
                        maxlength="40";
                }))
                label.row {
                    input type="checkbox" name="makes_accounts" value="on"
                        checked[provider.as_ref().is_some_and(|one| one.makes_accounts)];
                    span { "Create accounts automatically for people it signs in" }
                }
                p.hint { "Redirect URL to allow there: " code { "/signin/oidc/back" } }
                div.row { (submit_button(ButtonLook::Plain, "Save")) }
            }))
        }
    })
}

async fn show_people(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    Ok(people_page(&caller, "People", &people_body(&app, &caller, None).await?))
}

/// The list with what went wrong above it.
async fn show_people_problem(
    app: &App,
    caller: &Caller,
    problem: ProblemDetails,
) -> HandlerResult<Response> {
    let Ok(status) = StatusCode::from_u16(problem.status) else {
        return Err(problem);
    };
    if !status.is_client_error() {
        return Err(problem);
    }
    let body = people_body(app, caller, Some(&problem.detail)).await?;
    Ok((status, people_page(caller, "People", &body)).into_response())
}

async fn make_user(
    admin: AdminContext,
    headers: HeaderMap,
    SentBody(sent): SentBody<NewUser>,
) -> HandlerResult<Response> {
    let wanted = NewAccountRequest {
        name: &sent.name,
        role: sent.role,
        password: sent.password.as_deref(),
        email: &sent.email,
    };
    match admin.create_account(&wanted).await {
        Ok((person, Some(link))) => {
            Ok(link_page(&admin.app, &headers, &admin.caller, &person, &link))
        }
        Ok((person, None)) => Ok(Redirect::to(&format!("/users/{}", person.id)).into_response()),
        Err(problem) => show_people_problem(&admin.app, &admin.caller, problem).await,
    }
}

/// Shows a link once.
fn link_page(
    app: &App,
    headers: &HeaderMap,
    caller: &Caller,
    person: &Person,
    link: &str,
) -> Response {
    // A request without a host is not let in.
    let origin = app.asked_origin(headers).unwrap_or_else(|| "http://localhost".to_owned());
    let body = html! {
        h1 { "Link for " (person.name) }
        section.card.stack {
            p { "Send them this link. It works once, expires after a week, and is not shown again:" }
            p.mono.secret-once { (origin) (invitation_path(link)) }
            div.row { a.btn.primary href={ "/users/" (person.id) } { "Done" } }
        }
    };
    people_page(caller, "Link", &body).into_response()
}

async fn set_policy(admin: AdminContext, Form(sent): Form<PolicyForm>) -> HandlerResult<Redirect> {
    admin.set_policy(&SecondFactorPolicy { second_factor: sent.second_factor.is_some() }).await?;
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
    client: ClientInfo,
    Form(sent): Form<ProviderForm>,
) -> HandlerResult<Response> {
    caller.at_browser()?;
    let shelf = &app.auth.shelf;
    let kept = oidc::find_provider(shelf).await?;
    let issuer = sent.issuer.trim().to_owned();
    let client_secret = match (kept, sent.client_secret.is_empty()) {
        // A secret goes to nobody but whom it was given for.
        (Some(kept), true) if kept.issuer == issuer => kept.client_secret,
        (_, _) => oidc::seal_client_secret(shelf, &sent.client_secret)?,
    };
    let provider = IdentityProvider {
        issuer,
        client_id: sent.client_id.trim().into(),
        client_secret,
        label: sent.label.trim().into(),
        makes_accounts: sent.makes_accounts.is_some(),
    };
    let wanted = Some(&provider).filter(|provider| !provider.issuer.is_empty());
    if let Err(problem) = oidc::set_provider(shelf, wanted).await {
        return show_people_problem(&app, &caller, problem).await;
    }
    let by = &caller.person.name;
    let doer = events::EventActor { by, address: Some(client.address) };
    events::record_event(shelf, doer, "identity_provider_set", by, &provider.issuer).await?;
    Ok(Redirect::to("/users").into_response())
}

async fn person_page(
    app: &App,
    caller: &Caller,
    person: &Person,
    complaint: Option<&str>,
) -> HandlerResult<Markup> {
    let shelf = &app.auth.shelf;
    let has = factors::load_factors(shelf, &person.id).await?;
    let email = accounts::email_of(shelf, &person.id).await?;
    let path = format!("/users/{}", person.id);
    let act = |word: &str, class: &str, text: &str| {
        html! {
            (post_form(caller, html! { (path) "/" (word) }, "", &html! {
                button class={ "btn " (class) } type="submit" { (text) }
            }))
        }
    };
    Ok(people_page(
        caller,
        &person.name,
        &html! {
            h1 { (person.name) " " (state_badge(person)) }
            (render_complaint(complaint))
            div.stack {
                section.card.stack aria-labelledby="what" {
                    h2 id="what" { "Account" }
                    (post_form(caller, &path, "stack", &html! {
                        (render_field("display", "Display name", "", &html! {
                            input type="text" name="display" id="display" maxlength="80"
                                value=(person.display) autocomplete="off";
                        }))
                        (render_field("email", "Mail address", "For the identity provider. Optional.", &html! {
                            input type="email" name="email" id="email" maxlength="254" value=(email)
                                autocomplete="off" aria-describedby="email-hint";
                        }))
                        (role_field(person.role))
                        div.row { (submit_button(ButtonLook::Primary, "Save")) }
                    }))
                }
                section.card.stack aria-labelledby="way" {
                    h2 id="way" { "Sign-in" }
                    p {
                        @if has.has_any() { (render_badge("good", "second factor")) }
                        @else { (render_badge("", "no second factor")) }
                    }
                    div.toolbar {
                        (act("invite", "", "Create password reset link"))
                        @if has.has_any() { (act("reset-factors", "danger", "Reset the second factor")) }
                        (act("signout", "danger", "Sign out everywhere"))
                        @if person.disabled { (act("enable", "", "Enable")) }
                        @else { (act("disable", "danger", "Disable")) }
                    }
                }
                section.card.stack aria-labelledby="gone" {
                    h2 id="gone" { "Remove" }
                    p { "Everything of the account goes: sessions, files of Weir's own, memory, tokens. \
                        It does not come back." }
                    (post_form(caller, html! { (path) "/remove" }, "stack", &html! {
                        (render_field("sure", "Type the name to confirm", "", &html! {
                            input type="text" name="sure" id="sure" required autocomplete="off";
                        }))
                        div.row { (submit_button(ButtonLook::Danger, "Remove account")) }
                    }))
                }
                p { a href="/users" { "Back to people" } }
            }
        },
    ))
}

async fn show_one(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<Markup> {
    person_page(&admin.app, &admin.caller, &admin.find_person(&id).await?, None).await
}

/// Back to the account, or its page with what went wrong.
async fn back_to_person(
    admin: &AdminContext,
    id: &str,
    result: HandlerResult<()>,
) -> HandlerResult<Response> {
    let problem = match result {
        Ok(()) => return Ok(Redirect::to(&format!("/users/{id}")).into_response()),
        Err(problem) if problem.code == "not_found" => return Err(problem),
        Err(problem) => problem,
    };
    match StatusCode::from_u16(problem.status) {
        Ok(status) if status.is_client_error() => {
            let person = admin.find_person(id).await?;
            let page =
                person_page(&admin.app, &admin.caller, &person, Some(&problem.detail)).await?;
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

async fn change_user(
    admin: AdminContext,
    Path(id): Path<String>,
    Form(sent): Form<OneForm>,
) -> HandlerResult<Response> {
    let described = admin.set_contact_details(&id, Some(&sent.display), Some(&sent.email)).await;
    let changed = match described {
        Ok(_) => admin.set_role(&id, sent.role).await.map(|_| ()),
        Err(problem) => Err(problem),
    };
    back_to_person(&admin, &id, changed).await
}

async fn invite_user(
    admin: AdminContext,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    let link = admin.invite_person(&id).await?;
    Ok(link_page(&admin.app, &headers, &admin.caller, &admin.find_person(&id).await?, &link))
}

async fn reset_factors(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<Response> {
    let result = admin.reset_factors(&id).await;
    back_to_person(&admin, &id, result).await
}

async fn sign_out(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<Response> {
    let result = admin.sign_out(&id).await.map(|_| ());
    back_to_person(&admin, &id, result).await
}

async fn disable_user(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<Response> {
    let result = admin.set_disabled(&id, true).await.map(|_| ());
    back_to_person(&admin, &id, result).await
}

async fn enable_user(admin: AdminContext, Path(id): Path<String>) -> HandlerResult<Response> {
    let result = admin.set_disabled(&id, false).await.map(|_| ());
    back_to_person(&admin, &id, result).await
}

#[derive(Deserialize)]
struct SureForm {
    #[serde(default)]
    sure: String,
}

async fn remove(
    admin: AdminContext,
    Path(id): Path<String>,
    Form(sent): Form<SureForm>,
) -> HandlerResult<Response> {
    let person = admin.find_person(&id).await?;
    if sent.sure.trim() != person.name {
        let problem = ProblemDetails::bad_request("the name does not match; nothing was removed");
        return back_to_person(&admin, &id, Err(problem)).await;
    }
    match admin.remove(&id).await {
        Ok(()) => Ok(Redirect::to("/users").into_response()),
        Err(problem) => back_to_person(&admin, &id, Err(problem)).await,
    }
}
