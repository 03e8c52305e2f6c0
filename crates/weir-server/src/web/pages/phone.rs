//! The two pages that a telephone needs of its own (R5): the one on which it is paired by a code, and the one
//! on which what a notice asks is answered. Looking at either changes nothing. Not here: what a code and an
//! answer are (`phone`).

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::event::Decision;
use weir_core::view::plain::visible_text;
use weir_core::view::transcript::PendingAsk;

use super::account::browser_word;
use crate::api::with_cookies;
use crate::app::App;
use crate::auth::ClientInfo;
use crate::auth::throttle::{self, ThrottleBucket};
use crate::caller::{Caller, MaybeCaller};
use crate::chat::{ChatView, approval_card};
use crate::inbox::InboxEntry;
use crate::notice_acts::{self, ActKey, FoundAct};
use crate::phone::{PAIRING_PATH, answer, pairing};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::{Route, RouteAccess};
use crate::sign_in::{SignInContext, SignInRequest};
use crate::web::controls::{ButtonLook, csrf_input, submit_button};
use crate::web::parts::{bare_with, render_field};

const ACT: &str = "/act/{token}";

/// The routes of this file.
pub(crate) fn phone_page_routes() -> Vec<Route> {
    vec![
        Route::get(PAIRING_PATH, show_pairing).access(RouteAccess::Anyone),
        Route::post(PAIRING_PATH, post_pairing).access(RouteAccess::Anyone),
        Route::get(ACT, show_act).access(RouteAccess::Anyone),
        Route::post(ACT, post_act),
    ]
}

#[derive(Deserialize)]
struct PairingForm {
    #[serde(default)]
    code: String,
    #[serde(default)]
    name: String,
}

/// A telephone on the page on which it is paired.
struct PairingPage<'a> {
    /// Whoever is signed in already.
    caller: Option<&'a Caller>,
    /// What it is to be called.
    name: &'a str,
    /// What went wrong.
    complaint: Option<&'a str>,
}

fn render_pairing(page: &PairingPage<'_>) -> Markup {
    let PairingPage { caller, name, complaint } = page;
    bare_with(
        "Pair this telephone",
        &["pages/account.css", "pages/phone.js"],
        &html! {
            section.card.stack.door {
                h1 { "Pair this telephone" }
                p { "It will act for the person at whose terminal " code { "weir phone" } " showed the code: it sees their sessions and answers for them." }
                p.notice.warn { "Go on only with a code from your own terminal. If somebody sent you this page, close it." }
                @if let Some(caller) = caller {
                    p.notice.info { "This browser is signed in as " strong { (caller.person.name) } "; pairing ends that." }
                }
                @if let Some(complaint) = complaint { p.notice.bad role="alert" id="complaint" { (complaint) } }
                form.stack method="post" action=(PAIRING_PATH) {
                    @if let Some(caller) = caller { (csrf_input(caller)) }
                    (render_field("code", "Code", "Sixteen letters and digits, as the terminal shows them.", &html! {
                        input.mono type="text" name="code" id="code" required autocomplete="off"
                            autocapitalize="characters" spellcheck="false" maxlength="40"
                            aria-describedby="code-hint";
                    }))
                    (render_field("name", "Name of this telephone", "Shown wherever it answers.", &html! {
                        input type="text" name="name" id="name" value=(name) maxlength="40"
                            autocomplete="off" aria-describedby="name-hint";
                    }))
                    (submit_button(ButtonLook::Primary, "Pair this telephone"))
                }
            }
        },
    )
}

async fn show_pairing(client: ClientInfo, MaybeCaller(caller): MaybeCaller) -> Markup {
    let name = default_name(&client);
    render_pairing(&PairingPage { caller: caller.as_ref(), name: &name, complaint: None })
}

/// What a telephone is called until somebody says otherwise.
fn default_name(client: &ClientInfo) -> String {
    pairing::plain_device_name(&browser_word(&client.agent)).unwrap_or_else(|_| "telephone".into())
}

async fn post_pairing(
    State(app): State<App>,
    MaybeCaller(caller): MaybeCaller,
    client: ClientInfo,
    request: SignInRequest,
    Form(sent): Form<PairingForm>,
) -> HandlerResult<Response> {
    match pair_telephone(&request.context(&app), &client, &sent).await {
        Ok(response) => Ok(response),
        Err(problem) if problem.status < 500 => {
            let page = PairingPage {
                caller: caller.as_ref(),
                name: &sent.name,
                complaint: Some(&problem.detail),
            };
            Ok((problem.status_code(), render_pairing(&page)).into_response())
        }
        Err(problem) => Err(problem),
    }
}

async fn pair_telephone(
    door: &SignInContext<'_>,
    client: &ClientInfo,
    sent: &PairingForm,
) -> HandlerResult<Response> {
    let shelf = &door.app.auth.shelf;
    let address = ThrottleBucket::for_address(client.address);
    throttle::take_attempt(shelf, std::slice::from_ref(&address)).await?;
    // A name that cannot be costs no code.
    let typed = match sent.name.trim() {
        "" => default_name(client),
        name => pairing::plain_device_name(name)?,
    };
    let redeemed = pairing::redeem_code(shelf, &sent.code).await?;
    throttle::give_back(shelf, &address).await?;
    let name = if redeemed.name.is_empty() { typed } else { redeemed.name };
    let (login, cookies) = door.complete_pairing(&redeemed.person, &name).await?;
    pairing::note_paired(shelf, &sent.code, &redeemed.person.id, &login).await?;
    Ok(with_cookies(Redirect::to("/approvals"), cookies))
}

/// The answer of this address, if it holds, and whoever asks.
async fn found_act(
    app: &App,
    caller: &Caller,
    token: &str,
) -> HandlerResult<(CallerSpace, FoundAct)> {
    let key = ActKey::from_server_key(&app.installation.seal_key()?);
    let found = notice_acts::find_act(&app.auth.shelf, &key, token).await?;
    Ok((CallerSpace::open_space(app, caller).await?, found))
}

async fn show_act(
    State(app): State<App>,
    MaybeCaller(caller): MaybeCaller,
    Path(token): Path<String>,
) -> HandlerResult<Response> {
    // Whoever is not signed in is shown nothing of what is asked, and not whether it is.
    let Some(caller) = caller else {
        let why =
            "This telephone is not paired, or not any more. At your terminal, weir phone pairs it.";
        return Ok((StatusCode::UNAUTHORIZED, render_refusal(why)).into_response());
    };
    let asked = async {
        let (owner, found) = found_act(&app, &caller, &token).await?;
        answer::open_ask(&owner, &found).await
    };
    match asked.await {
        Ok(entry) => Ok(render_act(&caller, &entry, &token).into_response()),
        Err(problem) => refused_page(problem),
    }
}

fn refused_page(problem: ProblemDetails) -> HandlerResult<Response> {
    match problem.status {
        500.. => Err(problem),
        _ => Ok((problem.status_code(), render_refusal(&problem.detail)).into_response()),
    }
}

fn render_refusal(why: &str) -> Markup {
    let body = html! {
        section.card.stack.door {
            h1 { "Not answered here" }
            p.notice.warn role="alert" { (why) }
            p { a.btn href="/approvals" { "Open Approvals" } }
        }
    };
    bare_with("Not answered here", &["pages/account.css"], &body)
}

fn render_act(caller: &Caller, entry: &InboxEntry, token: &str) -> Markup {
    let view = ChatView {
        session: entry.top.id.clone(),
        csrf: caller.csrf_token().into(),
        acts: false,
        back: None,
    };
    let body = html! {
        article.card.stack data-ask {
            h1.unseen { "An answer is waited for" }
            p.muted { (visible_text(&entry.top.title)) " · " span.mono { (visible_text(&entry.top.workspace)) } }
            @match &entry.ask {
                PendingAsk::Approval(asked) => (approval_card(&view, asked, &[])),
                PendingAsk::AgentApproval(asked) => (approval_card(&view, &asked.request, &asked.path)),
                PendingAsk::Question(_) => {},
            }
            form method="post" action={ (notice_acts::PAGE) (token) } {
                (csrf_input(caller))
                div.row.answers {
                    button.btn.primary type="submit" name="decision" value="once" { "Allow once" }
                    button.btn.danger type="submit" name="decision" value="deny" { "Deny" }
                }
            }
            p { a href="/approvals" { "More answers: Approvals" } }
        }
    };
    bare_with("Allow this?", &["pages/chat.css", "pages/code.css", "pages/act.js"], &body)
}

#[derive(Deserialize)]
struct ActForm {
    decision: Decision,
}

async fn post_act(
    State(app): State<App>,
    caller: Caller,
    Path(token): Path<String>,
    Form(sent): Form<ActForm>,
) -> HandlerResult<Response> {
    let given = async {
        let (owner, found) = found_act(&app, &caller, &token).await?;
        answer::answer_act(&owner, found, sent.decision).await
    };
    match given.await {
        Ok(settled) => Ok(render_given(settled.decision).into_response()),
        Err(problem) => refused_page(problem),
    }
}

fn render_given(decision: Decision) -> Markup {
    let words = if decision.allows() { "Allowed once" } else { "Denied" };
    let body = html! {
        section.card.stack.door {
            h1 { (words) }
            p { "The agent goes on with this answer." }
            p { a.btn href="/approvals" { "What else waits" } }
        }
    };
    bare_with(words, &["pages/account.css"], &body)
}
