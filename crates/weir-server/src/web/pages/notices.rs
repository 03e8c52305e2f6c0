//! What a person was told: the list behind the bell. Not here: where they want to be told further.

use axum::extract::State;
use maud::{Markup, html};

use crate::api::notices::mark_notices_seen;
use crate::app::App;
use crate::caller::Caller;
use crate::notify::{NoticeEntry, NoticeKind};
use crate::problem::HandlerResult;
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{framed_page, render_badge, render_empty, render_moment};

/// The address of the list.
const HERE: &str = "/notifications";

/// The routes of this file.
pub(crate) fn notice_page_routes() -> Vec<Route> {
    vec![Route::get(HERE, show_notices), Route::post("/notifications/seen", mark_notices_seen)]
}

async fn show_notices(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    let notices = app.notices.list_notices(&caller.person.id).await?;
    let is_any_new = notices.iter().any(|noticed| !noticed.seen);
    let body = html! {
        div.toolbar {
            h1 { "Notifications" }
            a.btn href="/notifications/where" { "Delivery settings" }
            @if is_any_new {
                (post_form(&caller, "/notifications/seen", "", &html! {
                    (submit_button(ButtonLook::Plain, "Mark all as read"))
                }))
            }
        }
        @if notices.is_empty() {
            (render_empty("No notifications yet.", "What waits for you, alerts and results of scheduled agents appear here."))
        } @else {
            ol.stack role="list" { @for noticed in &notices { (render_notice(&app, noticed)) } }
        }
    };
    Ok(framed_page(&caller, "Notifications", HERE, &body))
}

fn render_notice(app: &App, noticed: &NoticeEntry) -> Markup {
    let notice = &noticed.notice;
    let (kind, word) = match notice.kind {
        NoticeKind::Approval => ("warn", "approval"),
        NoticeKind::Question => ("warn", "question"),
        NoticeKind::Alert => ("bad", "alert"),
        NoticeKind::RunEnded => ("", "run ended"),
        NoticeKind::Agent => ("info", "agent"),
        NoticeKind::Account => ("info", "account"),
        NoticeKind::System => ("warn", "server"),
    };
    html! {
        li.card {
            p {
                (render_badge(kind, word)) " "
                @if !noticed.seen { (render_badge("info", "new")) " " }
                span.muted { (render_moment(noticed.ts, app.current_time())) }
            }
            p {
                @if notice.link.is_empty() { strong { (notice.title) } }
                @else { a href=(notice.link) { strong { (notice.title) } } }
            }
            @if !notice.text.is_empty() { p { (notice.text) } }
        }
    }
}
