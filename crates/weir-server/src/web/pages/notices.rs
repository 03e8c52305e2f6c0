//! What a person was told: the list behind the bell. Not here: where they want to be told further.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};

use crate::app::App;
use crate::guard::Caller;
use crate::notify::{NoticeKind, Noticed};
use crate::problem::Answer;
use crate::route::Route;
use crate::web::parts::{badge, csrf, empty, moment, page};

/// The address of the list.
const HERE: &str = "/notifications";

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get(HERE, show), Route::post("/notifications/seen", seen)]
}

async fn seen(State(app): State<App>, caller: Caller) -> Answer<Redirect> {
    app.bell.saw(&caller.person.id, None).await?;
    Ok(Redirect::to(HERE))
}

async fn show(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    let notices = app.bell.list(&caller.person.id).await?;
    let is_any_new = notices.iter().any(|noticed| !noticed.seen);
    let body = html! {
        div.toolbar {
            h1 { "Notifications" }
            a.btn href="/notifications/where" { "Delivery settings" }
            @if is_any_new {
                form method="post" action="/notifications/seen" {
                    (csrf(&caller))
                    button.btn type="submit" { "Mark all as read" }
                }
            }
        }
        @if notices.is_empty() {
            (empty("No notifications yet.", "Approval requests, alerts and results of scheduled agents appear here."))
        } @else {
            ol.stack role="list" { @for noticed in &notices { (one(&app, noticed)) } }
        }
    };
    Ok(page(&caller, "Notifications", HERE, &body))
}

fn one(app: &App, noticed: &Noticed) -> Markup {
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
                (badge(kind, word)) " "
                @if !noticed.seen { (badge("info", "new")) " " }
                span.muted { (moment(noticed.ts, app.now())) }
            }
            p {
                @if notice.link.is_empty() { strong { (notice.title) } }
                @else { a href=(notice.link) { strong { (notice.title) } } }
            }
            @if !notice.text.is_empty() { p { (notice.text) } }
        }
    }
}
