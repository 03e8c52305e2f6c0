//! What the frame of every page asks for: counts, the kill switch (S4).

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Form, Json};
use http::HeaderMap;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use weir_core::view::plain::visible_text;
use weir_engine::ports::StorePause;
use weir_install::maintenance::{HealthFinding, HealthLevel};

use super::super::approvals;
use super::respond_done;
use crate::app::App;
use crate::caller::Caller;
use crate::live::pause;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;
use crate::web::parts::{csrf_input, framed_page, render_moment};

/// The routes of this file.
pub(super) fn frame_routes() -> Vec<Route> {
    vec![
        Route::get("/frame", get_counts),
        Route::get("/pause", show_kill_switch),
        Route::post("/pause", stop_work),
        Route::post("/release", release_work),
    ]
}

/// What the frame shows of the rest of the house.
#[derive(Debug, Serialize)]
struct FrameCounts {
    /// How much waits for an answer.
    approvals: usize,
    /// Notices that were not read.
    notices: usize,
    /// Who stopped the work, in words; absent: nobody.
    paused: Option<String>,
    /// Why the server cannot do its work, in words; absent: it can.
    amiss: Option<String>,
}

/// What is wrong with the server. Whoever runs it reads why; others that it is not their doing.
async fn server_trouble(app: &App, caller: &Caller) -> Option<String> {
    let findings = app.health.current_findings(app).await;
    let bad: Vec<&HealthFinding> =
        findings.iter().filter(|one| one.health == HealthLevel::Bad).collect();
    if bad.is_empty() {
        return None;
    }
    if caller.person.is_admin() {
        let says: Vec<&str> = bad.iter().map(|one| one.says.as_str()).collect();
        return Some(visible_text(&says.join("; ")));
    }
    let names: Vec<&str> = bad.iter().map(|one| one.name.as_str()).collect();
    Some(format!(
        "The server cannot save anything at the moment ({}), so nothing runs. Work resumes by itself once \
         that is fixed.",
        names.join(", ")
    ))
}

async fn get_counts(State(app): State<App>, caller: Caller) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let paused = pause::of_home(&app, home.as_ref()).await?;
    let paused = paused.map(|pause| {
        let because =
            if pause.reason.is_empty() { String::new() } else { format!(": {}", pause.reason) };
        visible_text(&format!(
            "{} stopped all work{because}. Nothing runs until it is released.",
            pause.by
        ))
    });
    let approvals = approvals::list_waiting(home.as_ref()).await?.len();
    let notices = app.bell.count_unseen(&caller.person.id).await?;
    let amiss = server_trouble(&app, &caller).await;
    Ok(Json(FrameCounts { approvals, notices, paused, amiss }).into_response())
}

/// How far the kill switch reaches.
#[derive(Debug, Default, Deserialize)]
struct PauseForm {
    /// Everyone's work; admins only.
    #[serde(default)]
    all: String,
    #[serde(default)]
    reason: String,
}

fn wants_all(caller: &Caller, form: &PauseForm) -> HandlerResult<bool> {
    match (form.all.is_empty(), caller.person.is_admin()) {
        (true, _) => Ok(false),
        (false, true) => Ok(true),
        (false, false) => {
            Err(ProblemDetails::not_permitted("only an admin can stop or release everyone's work"))
        }
    }
}

async fn stop_work(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Form(form): Form<PauseForm>,
) -> HandlerResult<Response> {
    let all = wants_all(&caller, &form)?;
    let home = app.home(&caller.person).await?;
    let pause = StorePause {
        since: app.current_time(),
        by: caller.journal_name(),
        reason: form.reason.trim().to_owned(),
    };
    match all {
        true => pause::pause_all(&app, &pause).await?,
        false => home.store().set_paused(Some(pause)).await?,
    }
    Ok(respond_done(&headers, "/pause"))
}

async fn release_work(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Form(form): Form<PauseForm>,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    if wants_all(&caller, &form)? {
        pause::release_all(&app).await?;
    } else {
        home.store().set_paused(None).await?;
    }
    if headers.contains_key("x-csrf-token") {
        return Ok(respond_done(&headers, "/pause"));
    }
    Ok(Redirect::to("/pause").into_response())
}

/// The switch, and how it stands.
async fn show_kill_switch(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let house = pause::of_house(&app).await?;
    let own = home.store().pause_state().await?;
    let body = html! {
        h1 { "Kill switch" }
        p {
            "Stops whatever runs, at once, and lets nothing start: chats, scheduled agents, what mails \
             begin. What was done stays done; what was stopped can be gone on with."
        }
        (render_switch(&app, &caller, "Your work", own.as_ref(), false))
        @if caller.person.is_admin() || house.is_some() {
            (render_switch(&app, &caller, "Everyone's work", house.as_ref(), true))
        }
    };
    Ok(framed_page(&caller, "Kill switch", "/pause", &body))
}

fn render_switch(
    app: &App,
    caller: &Caller,
    whose: &str,
    now: Option<&StorePause>,
    all: bool,
) -> Markup {
    let may = !all || caller.person.is_admin();
    html! {
        section.card {
            h2 { (whose) }
            @match now {
                Some(pause) => {
                    div.notice.bad role="status" {
                        p {
                            strong { "Stopped" } " by " (visible_text(&pause.by)) ", " (render_moment(pause.since, app.current_time()))
                            @if !pause.reason.is_empty() { ": " (visible_text(&pause.reason)) }
                        }
                    }
                },
                None => p { "Runs." },
            }
            @if may {
                form method="post" action=(if now.is_some() { "/release" } else { "/pause" }) {
                    (csrf_input(caller))
                    @if all { input type="hidden" name="all" value="yes"; }
                    @if now.is_some() {
                        button.btn.primary type="submit" { "Release" }
                    } @else {
                        div.row {
                            label for=(if all { "why-all" } else { "why" }) { "Reason" }
                            input id=(if all { "why-all" } else { "why" }) name="reason" maxlength="300" autocomplete="off";
                        }
                        button.btn.danger type="submit" { "Stop" @if all { " everybody" } }
                    }
                }
            }
        }
    }
}
