//! All chats (S7): find, name, pin, put away, take along, delete.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::SessionId;
use weir_core::view::plain::visible_text;

use super::chat::respond_done;
use crate::api::page::ListPage;
use crate::api::sessions::{
    ListQuery, SessionLine, find_own_session, list_sessions, remove, rename_session,
};
use crate::app::App;
use crate::caller::Caller;
use crate::live::{SessionKey, title};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;
use crate::web::parts::{
    PageHead, csrf_input, framed_page, page_beside, render_badge, render_empty, render_icon,
    render_moment,
};
use crate::web::side;

/// Chats on one page.
const SHOWN: usize = 50;

/// The routes of this file.
pub(crate) fn chats_page_routes() -> Vec<Route> {
    vec![
        Route::get("/chats", show_chats),
        Route::get("/chat-list", get_chat_list),
        Route::get("/chats/{id}/rename", ask_name),
        Route::post("/chats/{id}/rename", rename_chat),
        Route::post("/chats/{id}/keep", keep_chat),
        Route::get("/chats/{id}/export", ask_export),
        Route::get("/chats/{id}/delete", ask_delete),
        Route::post("/chats/{id}/delete", delete_chat),
    ]
}

/// Which chats stand beside a page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChatListQuery {
    /// Words.
    q: String,
    /// The chat that is open.
    here: Option<String>,
}

/// The list beside a page, for its script.
async fn get_chat_list(
    State(app): State<App>,
    caller: Caller,
    Query(beside): Query<ChatListQuery>,
) -> HandlerResult<Markup> {
    let lines = side::load_side_chats(&app, &caller, &beside.q).await?;
    let here = beside.here.as_deref().map(SessionId::new);
    Ok(side::render_side_items(&lines, here.as_ref()))
}

/// Which chats.
#[derive(Debug, Default, Deserialize)]
struct ChatsQuery {
    /// Words.
    #[serde(default)]
    q: String,
    /// Those that were put away.
    #[serde(default)]
    archived: String,
    /// The last one of the page before.
    after: Option<String>,
}

async fn show_chats(
    State(app): State<App>,
    caller: Caller,
    Query(which): Query<ChatsQuery>,
) -> HandlerResult<Markup> {
    let archived = !which.archived.is_empty();
    let query = ListQuery {
        limit: Some(SHOWN),
        after: which.after.clone(),
        q: Some(which.q.clone()),
        archived: Some(archived),
        ..ListQuery::default()
    };
    let found = list_sessions(&app, &caller, query).await?;
    let body = html! {
        div.toolbar {
            h1 { "Chats" }
            a.btn.primary href="/" { (render_icon("new")) "New chat" }
        }
        form.toolbar role="search" method="get" action="/chats" {
            label.unseen for="q" { "Search chats" }
            input type="search" id="q" name="q" value=(which.q) placeholder="Search titles and messages";
            @if archived { input type="hidden" name="archived" value="yes"; }
            button.btn type="submit" { (render_icon("search")) "Search" }
        }
        nav.tabs aria-label="Which chats" {
            a href="/chats" aria-current=[(!archived).then_some("page")] { "Open" }
            a href="/chats?archived=yes" aria-current=[archived.then_some("page")] { "Archived" }
        }
        (render_chats(&app, &caller, &which, &found))
    };
    let beside =
        side::render_side_list(Some(&side::load_side_chats(&app, &caller, "").await?), None);
    let head = PageHead { title: "Chats", here: "/chats", assets: &["pages/chat.css"] };
    Ok(page_beside(&caller, head, &beside, &body))
}

fn render_chats(
    app: &App,
    caller: &Caller,
    which: &ChatsQuery,
    found: &ListPage<SessionLine>,
) -> Markup {
    html! {
        @if found.items.is_empty() {
            @if which.q.trim().is_empty() {
                (render_empty("No chats yet", "Send a message to start one."))
            } @else {
                (render_empty("No chats found", "Titles and messages are searched."))
            }
        } @else {
            ul.chat-list { @for line in &found.items { (render_chat_entry(app, caller, line)) } }
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

fn chat_title(line: &SessionLine) -> String {
    if line.title.trim().is_empty() { "New chat".into() } else { visible_text(&line.title) }
}

fn render_chat_entry(app: &App, caller: &Caller, line: &SessionLine) -> Markup {
    let title = chat_title(line);
    html! {
        li {
            div.about {
                a href={ "/chats/" (line.id) } dir="auto" { (title) }
                p {
                    (render_moment(line.updated, app.current_time())) " · " (visible_text(&line.model))
                    @if line.parent.is_some() { " · copy" }
                }
            }
            (status_badge(&line.status))
            @if line.pinned { span title="Pinned" { (render_icon("pin")) span.unseen { "Pinned" } } }
            details.more {
                summary.icon-button title="More" { (render_icon("more")) span.unseen { "More about " (title) } }
                div.menu-list { (render_actions(caller, line)) }
            }
        }
    }
}

fn status_badge(status: &str) -> Markup {
    match status {
        "running" => render_badge("info", "working"),
        "waiting" | "needs_input" => render_badge("warn", "needs you"),
        "failed" => render_badge("bad", "failed"),
        "quarantined" => render_badge("bad", "quarantined"),
        "interrupted" => render_badge("warn", "interrupted"),
        _ => html! {},
    }
}

fn render_actions(caller: &Caller, line: &SessionLine) -> Markup {
    let (pin, pin_words) = if line.pinned { ("unpin", "Unpin") } else { ("pin", "Pin") };
    let (put, put_words) =
        if line.archived { ("unarchive", "Unarchive") } else { ("archive", "Archive") };
    let at = format!("/chats/{}", line.id);
    html! {
        form method="post" action={ (at) "/keep" } {
            (csrf_input(caller))
            input type="hidden" name="back" value="/chats";
            button.btn.quiet type="submit" name="do" value=(pin) { (pin_words) }
            button.btn.quiet type="submit" name="do" value=(put) { (put_words) }
        }
        a.btn.quiet href={ (at) "/rename" } { "Rename…" }
        form method="post" action={ (at) "/fork" } {
            (csrf_input(caller))
            button.btn.quiet type="submit" { "Duplicate" }
        }
        a.btn.quiet href={ "/shares/new?session=" (line.id) } { "Share…" }
        a.btn.quiet href={ (at) "/export" } { "Export…" }
        a.btn.danger href={ (at) "/delete" } { "Delete…" }
    }
}

/// What a chat is called, for a page about it.
async fn title_of(app: &App, caller: &Caller, id: &str) -> HandlerResult<String> {
    let session = find_own_session(app, caller, id).await?;
    let home = app.home(&caller.person).await?;
    let meta = home.store().session_meta(&session).await?;
    let meta = meta.ok_or_else(|| ProblemDetails::not_found("this chat"))?;
    let kept = title::load_chat(app, &SessionKey::for_session(home.as_ref(), &session)).await?;
    Ok(super::chat::chat_title(&kept, &meta))
}

async fn ask_name(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> HandlerResult<Markup> {
    let title = title_of(&app, &caller, &id).await?;
    let body = html! {
        h1 { "Rename" }
        form.card.stack method="post" action={ "/chats/" (id) "/rename" } {
            (csrf_input(&caller))
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
    Ok(framed_page(&caller, "Rename", "/chats", &body))
}

#[derive(Debug, Deserialize)]
struct NameForm {
    #[serde(default)]
    title: String,
}

async fn rename_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<NameForm>,
) -> HandlerResult<Response> {
    let session = find_own_session(&app, &caller, &id).await?;
    rename_session(&app, &caller, &session, &form.title).await?;
    Ok(respond_done(&headers, &format!("/chats/{id}")))
}

#[derive(Debug, Deserialize)]
struct KeepForm {
    r#do: String,
    #[serde(default)]
    back: String,
}

async fn keep_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<KeepForm>,
) -> HandlerResult<Response> {
    let session = find_own_session(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let wanted = form.r#do.as_str();
    if !matches!(wanted, "pin" | "unpin" | "archive" | "unarchive") {
        return Err(ProblemDetails::bad_request("pin, unpin, archive or unarchive"));
    }
    title::change_chat(&app, home.as_ref(), &session, |chat| match wanted {
        "pin" => chat.pinned = true,
        "unpin" => chat.pinned = false,
        "archive" => chat.archived = true,
        _ => chat.archived = false,
    })
    .await?;
    let back = if form.back == "/chats" { form.back } else { format!("/chats/{id}") };
    Ok(respond_done(&headers, &back))
}

async fn ask_export(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> HandlerResult<Markup> {
    let title = title_of(&app, &caller, &id).await?;
    let at = format!("/api/v1/sessions/{id}/export?format=");
    let body = html! {
        h1 { "Export" }
        p { "Downloads " strong { (visible_text(&title)) } " with its complete history." }
        ul.stack {
            li { a href={ (at) "markdown" } { "Markdown" } span.muted { ": for reading and editing" } }
            li { a href={ (at) "html" } { "Web page (one file)" } span.muted { ": for reading" } }
            li { a href={ (at) "jsonl" } { "All events (JSON Lines)" } span.muted { ": complete, for programs" } }
        }
        p { a href={ "/chats/" (id) } { "Back to the chat" } }
    };
    Ok(framed_page(&caller, "Export", "/chats", &body))
}

async fn ask_delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> HandlerResult<Markup> {
    let title = title_of(&app, &caller, &id).await?;
    let body = html! {
        h1 { "Delete this chat?" }
        form.card method="post" action={ "/chats/" (id) "/delete" } {
            (csrf_input(&caller))
            p {
                strong { (visible_text(&title)) } " will be deleted permanently, with all its messages, attachments "
                "and saved file versions. Files it changed stay as they are."
            }
            div.row {
                button.btn.danger type="submit" { "Delete" }
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }
    };
    Ok(framed_page(&caller, "Delete this chat?", "/chats", &body))
}

async fn delete_chat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> HandlerResult<Response> {
    let session = find_own_session(&app, &caller, &id).await?;
    remove(&app, &caller, &session).await?;
    Ok(Redirect::to("/chats").into_response())
}
