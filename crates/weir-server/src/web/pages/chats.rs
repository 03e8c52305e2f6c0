//! All chats (S7): find, name, pin, put away, take along, delete.

use axum::extract::Query;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::SessionId;
use weir_core::view::plain::visible_text;

use crate::api::page::ListPage;
use crate::api::sessions::{
    self, ChangeSessionBody, ListQuery, SessionLine, apply_session_changes, list_sessions,
};
use crate::app::App;
use crate::caller::Caller;
use crate::live::{SessionKey, title};
use crate::problem::HandlerResult;
use crate::request::body::{ReplyTo, SentBody};
use crate::request::{CallerSession, CallerSpace};
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{
    PageHead, framed_page, page_beside, render_badge, render_empty, render_icon, render_moment,
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
        Route::post("/chats/{id}/delete", sessions::delete_session),
    ]
}

/// A filter of the chats that stand beside a page.
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
    owner: CallerSpace,
    Query(beside): Query<ChatListQuery>,
) -> HandlerResult<Markup> {
    let lines = side::load_side_chats(&owner, &beside.q).await?;
    let here = beside.here.as_deref().map(SessionId::new);
    Ok(side::render_side_items(&lines, here.as_ref()))
}

/// A filter of chats, and the part of the list that is shown.
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

async fn show_chats(owner: CallerSpace, Query(which): Query<ChatsQuery>) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = &owner;
    let archived = !which.archived.is_empty();
    let query = ListQuery {
        limit: Some(SHOWN),
        after: which.after.clone(),
        q: Some(which.q.clone()),
        archived: Some(archived),
        ..ListQuery::default()
    };
    let found = list_sessions(&owner, query).await?;
    let body = html! {
        div.toolbar {
            h1 { "Chats" }
            a.btn.primary href="/" { (render_icon("new")) "New chat" }
        }
        form.toolbar role="search" method="get" action="/chats" {
            label.unseen for="q" { "Search chats" }
            input type="search" id="q" name="q" value=(which.q) placeholder="Search titles and messages";
            @if archived { input type="hidden" name="archived" value="yes"; }
            (submit_button(ButtonLook::Plain, html! { (render_icon("search")) "Search" }))
        }
        nav.tabs aria-label="Which chats" {
            a href="/chats" aria-current=[(!archived).then_some("page")] { "Open" }
            a href="/chats?archived=yes" aria-current=[archived.then_some("page")] { "Archived" }
        }
        (render_chats(app, caller, &which, &found))
    };
    let beside = side::render_side_list(Some(&side::load_side_chats(&owner, "").await?), None);
    let head = PageHead { title: "Chats", here: "/chats", assets: &["pages/chat.css"] };
    Ok(page_beside(caller, head, &beside, &body))
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
        (post_form(caller, html! { (at) "/keep" }, "", &html! {
            input type="hidden" name="back" value="/chats";
            button.btn.quiet type="submit" name="do" value=(pin) { (pin_words) }
            button.btn.quiet type="submit" name="do" value=(put) { (put_words) }
        }))
        a.btn.quiet href={ (at) "/rename" } { "Rename…" }
        (post_form(caller, html! { (at) "/fork" }, "", &html! {
            (submit_button(ButtonLook::Quiet, "Duplicate"))
        }))
        a.btn.quiet href={ "/shares/new?session=" (line.id) } { "Share…" }
        a.btn.quiet href={ (at) "/export" } { "Export…" }
        a.btn.danger href={ (at) "/delete" } { "Delete…" }
    }
}

/// What a chat is called, for a page about it.
async fn title_of(chat: &CallerSession) -> HandlerResult<String> {
    let CallerSession { owner: CallerSpace { app, space, .. }, id, meta } = chat;
    let kept = title::load_chat(app, &SessionKey::for_session(space.as_ref(), id)).await?;
    Ok(super::chat::chat_title(&kept, meta))
}

async fn ask_name(chat: CallerSession) -> HandlerResult<Markup> {
    let (id, caller) = (&chat.id, &chat.owner.caller);
    let title = title_of(&chat).await?;
    let body = html! {
        h1 { "Rename" }
        (post_form(caller, html! { "/chats/" (id) "/rename" }, "card stack", &html! {
            div.field {
                label for="title" { "Title" }
                input id="title" name="title" value=(title) maxlength="120" autofocus aria-describedby="title-hint";
                p.hint id="title-hint" { "Leave empty to use the first words." }
            }
            div.row {
                (submit_button(ButtonLook::Primary, "Rename"))
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }))
    };
    Ok(framed_page(caller, "Rename", "/chats", &body))
}

#[derive(Debug, Deserialize)]
struct NameForm {
    #[serde(default)]
    title: String,
}

async fn rename_chat(
    session: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<NameForm>,
) -> HandlerResult<Response> {
    let named = ChangeSessionBody { title: Some(form.title), ..ChangeSessionBody::default() };
    apply_session_changes(&session, named).await?;
    Ok(reply.answer_done(&format!("/chats/{}", session.id), ()))
}

/// Where a chat is kept among the others.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChatPlace {
    Pin,
    Unpin,
    Archive,
    Unarchive,
}

#[derive(Debug, Deserialize)]
struct KeepForm {
    r#do: ChatPlace,
    #[serde(default)]
    back: String,
}

async fn keep_chat(
    session: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<KeepForm>,
) -> HandlerResult<Response> {
    let same = ChangeSessionBody::default();
    let moved = match form.r#do {
        ChatPlace::Pin => ChangeSessionBody { pinned: Some(true), ..same },
        ChatPlace::Unpin => ChangeSessionBody { pinned: Some(false), ..same },
        ChatPlace::Archive => ChangeSessionBody { archived: Some(true), ..same },
        ChatPlace::Unarchive => ChangeSessionBody { archived: Some(false), ..same },
    };
    apply_session_changes(&session, moved).await?;
    let back = if form.back == "/chats" { form.back } else { format!("/chats/{}", session.id) };
    Ok(reply.answer_done(&back, ()))
}

async fn ask_export(chat: CallerSession) -> HandlerResult<Markup> {
    let (id, caller) = (&chat.id, &chat.owner.caller);
    let title = title_of(&chat).await?;
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
    Ok(framed_page(caller, "Export", "/chats", &body))
}

async fn ask_delete(chat: CallerSession) -> HandlerResult<Markup> {
    let (id, caller) = (&chat.id, &chat.owner.caller);
    let title = title_of(&chat).await?;
    let body = html! {
        h1 { "Delete this chat?" }
        (post_form(caller, html! { "/chats/" (id) "/delete" }, "card", &html! {
            p {
                strong { (visible_text(&title)) } " will be deleted permanently, with all its messages, attachments "
                "and saved file versions. Files it changed stay as they are."
            }
            div.row {
                (submit_button(ButtonLook::Danger, "Delete"))
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }))
    };
    Ok(framed_page(caller, "Delete this chat?", "/chats", &body))
}
