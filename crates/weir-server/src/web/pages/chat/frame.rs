//! What the frame of every page asks for: counts, the kill switch (S4).

use axum::Json;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Serialize;
use weir_core::view::plain::visible_text;
use weir_engine::ports::StorePause;
use weir_install::maintenance::{HealthFinding, HealthLevel};

use crate::api::pause::{post_pause, post_release};
use crate::app::App;
use crate::caller::Caller;
use crate::inbox::list_inbox;
use crate::live::pause;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{framed_page, render_moment};

/// The routes of this file.
pub(super) fn frame_routes() -> Vec<Route> {
    vec![
        Route::get("/frame", get_counts),
        Route::get("/pause", show_kill_switch),
        Route::post("/pause", post_pause),
        Route::post("/release", post_release),
    ]
}

/// What the frame shows of the rest of the installation.
#[derive(Debug, Serialize)]
struct FrameCounts {
    /// How much waits for an answer.
    approvals: usize,
    /// Notices that were not read.
    notices: usize,
    /// The person who stopped the work, and why, in words; absent: nobody did.
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
    if caller.is_admin() {
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

async fn get_counts(CallerSpace { app, caller, space }: CallerSpace) -> HandlerResult<Response> {
    let paused = pause::of_space(&app, space.as_ref()).await?;
    let paused = paused.map(|pause| {
        let because =
            if pause.reason.is_empty() { String::new() } else { format!(": {}", pause.reason) };
        visible_text(&format!(
            "{} stopped all work{because}. Nothing runs until it is released.",
            pause.by
        ))
    });
    let approvals = list_inbox(space.store().as_ref()).await?.len();
    let notices = app.notices.count_unseen(&caller.person.id).await?;
    let amiss = server_trouble(&app, &caller).await;
    Ok(Json(FrameCounts { approvals, notices, paused, amiss }).into_response())
}

/// The switch, and how it stands.
async fn show_kill_switch(
    CallerSpace { app, caller, space }: CallerSpace,
) -> HandlerResult<Markup> {
    let installation = pause::of_installation(&app).await?;
    let own = space.store().pause_state().await?;
    let body = html! {
        h1 { "Kill switch" }
        p {
            "Stops whatever runs, at once, and lets nothing start: chats, scheduled agents, what mails \
             begin. What was done stays done; what was stopped can be gone on with."
        }
        (render_switch(&app, &caller, "Your work", own.as_ref(), false))
        @if caller.is_admin() || installation.is_some() {
            (render_switch(&app, &caller, "Everyone's work", installation.as_ref(), true))
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
    let may = !all || caller.is_admin();
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
                (post_form(caller, if now.is_some() { "/release" } else { "/pause" }, "", &html! {
                    @if all { input type="hidden" name="all" value="yes"; }
                    @if now.is_some() {
                        (submit_button(ButtonLook::Primary, "Release"))
                    } @else {
                        div.row {
                            label for=(if all { "why-all" } else { "why" }) { "Reason" }
                            input id=(if all { "why-all" } else { "why" }) name="reason" maxlength="300" autocomplete="off";
                        }
                        (submit_button(ButtonLook::Danger, html! {
                            "Stop" @if all { " everybody" }
                        }))
                    }
                }))
            }
        }
    }
}
