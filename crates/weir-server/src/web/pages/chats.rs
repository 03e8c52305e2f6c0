//! All chats (S7): find, name, pin, put away, take along, delete.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::SessionId;
use weir_core::view::plain::visible;

use super::chat::done;
use crate::api::page::Page;
use crate::api::sessions::{ListQuery, SessionLine, own, remove, rename, sessions};
use crate::app::App;
use crate::guard::Caller;
use crate::live::{Key, title};
use crate::problem::{Answer, Problem};
use crate::route::Route;
use crate::web::parts::{badge, csrf, empty, icon, moment, page, page_beside};
use crate::web::side;

/// Chats on one page.
const SHOWN: usize = 50;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/chats", list),
        Route::get("/chat-list", beside),
        Route::get("/chats/{id}/rename", ask_name),
        Route::post("/chats/{id}/rename", name),
        Route::post("/chats/{id}/keep", keep),
        Route::get("/chats/{id}/export", ask_export),
        Route::get("/chats/{id}/delete", ask_delete),
        Route::post("/chats/{id}/delete", delete),
    ]
}

/// Which chats stand beside a page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Beside {
    /// Words.
    q: String,
    /// The chat that is open.
    here: Option<String>,
}

/// The list beside a page, for its script.
async fn beside(
    State(app): State<App>,
    caller: Caller,
    Query(beside): Query<Beside>,
) -> Answer<Markup> {
    let lines = side::lines(&app, &caller, &beside.q).await?;
    let here = beside.here.as_deref().map(SessionId::new);
    Ok(side::items(&lines, here.as_ref()))
}

/// Which chats.
#[derive(Debug, Default, Deserialize)]
struct Which {
    /// Words.
    #[serde(default)]
    q: String,
    /// Those that were put away.
    #[serde(default)]
    archived: String,
    /// The last one of the page before.
    after: Option<String>,
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(which): Query<Which>,
) -> Answer<Markup> {
    let archived = !which.archived.is_empty();
    let query = ListQuery {
        limit: Some(SHOWN),
        after: which.after.clone(),
        q: Some(which.q.clone()),
        archived: Some(archived),
        ..ListQuery::default()
    };
    let found = sessions(&app, &caller, query).await?;
    let body = html! {
        div.toolbar {
            h1 { "Chats" }
            a.btn.primary href="/" { (icon("new")) "New chat" }
        }
        form.toolbar role="search" method="get" action="/chats" {
            label.unseen for="q" { "Search chats" }
            input type="search" id="q" name="q" value=(which.q) placeholder="Search titles and messages";
            @if archived { input type="hidden" name="archived" value="yes"; }
            button.btn type="submit" { (icon("search")) "Search" }
        }
        nav.tabs aria-label="Which chats" {
            a href="/chats" aria-current=[(!archived).then_some("page")] { "Open" }
            a href="/chats?archived=yes" aria-current=[archived.then_some("page")] { "Archived" }
        }
        (chats(&app, &caller, &which, &found))
    };
    let beside = side::list(Some(&side::lines(&app, &caller, "").await?), None);
    let place = ("/chats", &["pages/chat.css"][..]);
    Ok(page_beside(&caller, "Chats", place, &beside, &body))
}

fn chats(app: &App, caller: &Caller, which: &Which, found: &Page<SessionLine>) -> Markup {
    html! {
        @if found.items.is_empty() {
            @if which.q.trim().is_empty() {
                (empty("No chats yet", "Send a message to start one."))
            } @else {
                (empty("No chats found", "Titles and messages are searched."))
            }
        } @else {
            ul.chat-list { @for line in &found.items { (entry(app, caller, line)) } }
        }
        @if let Some(next) = &found.next {
            nav.pager aria-label="Pages" {
                @let query = url::form_urlencoded::Serializer::new(String::new())
                    .append_pair("q", &which.q)
                    .append_pair("archived", &which.archived)
                    .append_pair("after", next)
                    .finish();
                a.btn href={ "/chats?" (query) } { "Older chats" }
            }
        }
    }
}

fn called(line: &SessionLine) -> String {
    if line.title.trim().is_empty() { "New chat".into() } else { visible(&line.title) }
}

fn entry(app: &App, caller: &Caller, line: &SessionLine) -> Markup {
    let title = called(line);
    html! {
        li {
            div.about {
                a href={ "/chats/" (line.id) } dir="auto" { (title) }
                p {
                    (moment(line.updated, app.now())) " · " (visible(&line.model))
                    @if line.parent.is_some() { " · copy" }
                }
            }
            (state(&line.status))
            @if line.pinned { span title="Pinned" { (icon("pin")) span.unseen { "Pinned" } } }
            details.more {
                summary.icon-button title="More" { (icon("more")) span.unseen { "More about " (title) } }
                div.menu-list { (actions(caller, line)) }
            }
        }
    }
}

fn state(status: &str) -> Markup {
    match status {
        "running" => badge("info", "working"),
        "waiting" | "needs_input" => badge("warn", "needs you"),
        "failed" => badge("bad", "failed"),
        "quarantined" => badge("bad", "quarantined"),
        "interrupted" => badge("warn", "interrupted"),
        _ => html! {},
    }
}

fn actions(caller: &Caller, line: &SessionLine) -> Markup {
    let (pin, pin_words) = if line.pinned { ("unpin", "Unpin") } else { ("pin", "Pin") };
    let (put, put_words) =
        if line.archived { ("unarchive", "Unarchive") } else { ("archive", "Archive") };
    let at = format!("/chats/{}", line.id);
    html! {
        form method="post" action={ (at) "/keep" } {
            (csrf(caller))
            input type="hidden" name="back" value="/chats";
            button.btn.quiet type="submit" name="do" value=(pin) { (pin_words) }
            button.btn.quiet type="submit" name="do" value=(put) { (put_words) }
        }
        a.btn.quiet href={ (at) "/rename" } { "Rename…" }
        form method="post" action={ (at) "/fork" } {
            (csrf(caller))
            button.btn.quiet type="submit" { "Duplicate" }
        }
        a.btn.quiet href={ "/shares/new?session=" (line.id) } { "Share…" }
        a.btn.quiet href={ (at) "/export" } { "Export…" }
        a.btn.danger href={ (at) "/delete" } { "Delete…" }
    }
}

/// What a chat is called, for a page about it.
async fn title_of(app: &App, caller: &Caller, id: &str) -> Answer<String> {
    let session = own(app, caller, id).await?;
    let home = app.home(&caller.person).await?;
    let meta = home.store().meta(&session).await?;
    let meta = meta.ok_or_else(|| Problem::missing("this chat"))?;
    let kept = title::of(app, &Key::of(home.as_ref(), &session)).await?;
    Ok(super::chat::called(&kept, &meta))
}

async fn ask_name(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Markup> {
    let title = title_of(&app, &caller, &id).await?;
    let body = html! {
        h1 { "Rename" }
        form.card.stack method="post" action={ "/chats/" (id) "/rename" } {
            (csrf(&caller))
            div.field {
                label for="title" { "Title" }
                input id="title" name="title" value=(title) maxlength="120" autofocus aria-describedby="title-hint";
                p.hint id="title-hint" { "Leave empty to use the first words." }
            }
            div.row {
                button.btn.primary type="submit" { "Rename" }
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }
    };
    Ok(page(&caller, "Rename", "/chats", &body))
}

#[derive(Debug, Deserialize)]
struct NameForm {
    #[serde(default)]
    title: String,
}

async fn name(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<NameForm>,
) -> Answer<Response> {
    let session = own(&app, &caller, &id).await?;
    rename(&app, &caller, &session, &form.title).await?;
    Ok(done(&headers, &format!("/chats/{id}")))
}

#[derive(Debug, Deserialize)]
struct KeepForm {
    r#do: String,
    #[serde(default)]
    back: String,
}

async fn keep(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<KeepForm>,
) -> Answer<Response> {
    let session = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let wanted = form.r#do.as_str();
    if !matches!(wanted, "pin" | "unpin" | "archive" | "unarchive") {
        return Err(Problem::bad("pin, unpin, archive or unarchive"));
    }
    title::change(&app, home.as_ref(), &session, |chat| match wanted {
        "pin" => chat.pinned = true,
        "unpin" => chat.pinned = false,
        "archive" => chat.archived = true,
        _ => chat.archived = false,
    })
    .await?;
    let back = if form.back == "/chats" { form.back } else { format!("/chats/{id}") };
    Ok(done(&headers, &back))
}

async fn ask_export(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Markup> {
    let title = title_of(&app, &caller, &id).await?;
    let at = format!("/api/v1/sessions/{id}/export?format=");
    let body = html! {
        h1 { "Export" }
        p { "Downloads " strong { (visible(&title)) } " with its complete history." }
        ul.stack {
            li { a href={ (at) "markdown" } { "Markdown" } span.muted { ": for reading and editing" } }
            li { a href={ (at) "html" } { "Web page (one file)" } span.muted { ": for reading" } }
            li { a href={ (at) "jsonl" } { "All events (JSON Lines)" } span.muted { ": complete, for programs" } }
        }
        p { a href={ "/chats/" (id) } { "Back to the chat" } }
    };
    Ok(page(&caller, "Export", "/chats", &body))
}

async fn ask_delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Markup> {
    let title = title_of(&app, &caller, &id).await?;
    let body = html! {
        h1 { "Delete this chat?" }
        form.card method="post" action={ "/chats/" (id) "/delete" } {
            (csrf(&caller))
            p {
                strong { (visible(&title)) } " will be deleted permanently, with all its messages, attachments "
                "and saved file versions. Files it changed stay as they are."
            }
            div.row {
                button.btn.danger type="submit" { "Delete" }
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }
    };
    Ok(page(&caller, "Delete this chat?", "/chats", &body))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer<Response> {
    let session = own(&app, &caller, &id).await?;
    remove(&app, &caller, &session).await?;
    Ok(Redirect::to("/chats").into_response())
}
