//! The pages themselves: a new chat, a chat.

use maud::{Markup, html};
use weir_core::session::child;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{SessionFilter, SessionMeta};
use weir_install::user_space::UserSpace;

use super::{LoadedChat, chat_title};
use super::{composer, start};
use crate::app::App;
use crate::caller::Caller;
use crate::chat::ENTRIES_SHOWN;
use crate::live::title;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{PageHead, page_beside, render_icon, render_moment};
use crate::web::side;

const ASSETS: &[&str] = &["pages/chat.css", "pages/code.css", "pages/chat.js"];
/// Chats that a new one shows below itself.
const RECENT: usize = 6;

/// A new chat, with the newest ones below it; without a model, how to get one.
pub(super) async fn new(owner: &CallerSpace, told: &start::StartNotes) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = owner;
    let (choices, now) = composer::load_choices(space.as_ref()).await;
    let usual = space.standard_model().await.unwrap_or_default();
    let is_ready = usual.is_some() || !choices.models.is_empty();
    let recent = list_recent_chats(app, space.as_ref()).await?;
    // Whoever has chats has begun.
    let first = match is_ready && recent.is_empty() {
        true => space.first_start().await,
        false => None,
    };
    let begin = match (&usual, choices.models.is_empty()) {
        (None, true) => start::without_model(caller, space.as_ref(), &now.model).await?,
        (None, false) => html! {
            (start::cannot_be_asked(&now.model))
            (composer::of_new(caller, &choices, &now, None))
        },
        (Some(usual), _) => composer::of_new(caller, &choices, &now, Some(usual)),
    };
    let body = html! {
        div.chat.fresh id="chat" data-new {
            div.greeting {
                h1 { (if is_ready { "What can I help with?" } else { "Welcome to Weir" }) }
            }
            (start::render_notes(told))
            @if let Some(first) = first { (start::render_first_start(first)) }
            (begin)
            (no_script())
            (render_recent_chats(app, &recent))
            div.unseen id="said" role="status" aria-live="polite" {}
            (render_trouble())
        }
    };
    let beside = side::render_side_list(Some(&side::load_side_chats(owner, "").await?), None);
    Ok(page_beside(
        caller,
        PageHead { title: "New chat", here: "/", assets: ASSETS },
        &beside,
        &body,
    ))
}

/// The newest chats, with what they are called.
async fn list_recent_chats(
    app: &App,
    space: &UserSpace,
) -> HandlerResult<Vec<(String, SessionMeta)>> {
    let filter = SessionFilter { workspace: None, limit: Some(RECENT * 4) };
    let kept = title::load_all_chats(app, space).await?;
    let mut recent = Vec::new();
    for meta in space.store().list_sessions(&filter).await? {
        let kept = kept.get(meta.id.as_str()).cloned().unwrap_or_default();
        if child::parent_of(&meta.id).is_none() && !kept.archived && recent.len() < RECENT {
            recent.push((chat_title(&kept, &meta), meta));
        }
    }
    Ok(recent)
}

fn render_recent_chats(app: &App, recent: &[(String, SessionMeta)]) -> Markup {
    html! {
        @if !recent.is_empty() {
            section.recent aria-labelledby="recent" {
                h2 id="recent" { "Recent" }
                ul {
                    @for (title, meta) in recent {
                        li {
                            a href={ "/chats/" (meta.id) } { (visible_text(title)) }
                            span.muted { (render_moment(meta.updated, app.current_time())) }
                        }
                    }
                }
            }
        }
    }
}

/// Where scripts say what went wrong.
fn render_trouble() -> Markup {
    html! {
        div.notice.bad.trouble id="trouble" role="alert" hidden {
            p {}
            button.btn.quiet type="button" { "Close" }
        }
    }
}

/// A chat, with its `entries` from the place `from` on.
pub(super) async fn chat_page(
    owner: &CallerSpace,
    chat: &LoadedChat,
    from: usize,
    entries: &Markup,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = owner;
    let (view, transcript) = (&chat.view, &chat.folded.transcript);
    let (choices, _) = composer::load_choices(chat.space.as_ref()).await;
    let title = chat.title();
    let body = html! {
        div.chat id="chat" data-session=(view.session) data-seq=(chat.folded.seq) data-acts=(view.acts) {
            (render_chat_head(app, caller, chat, &title))
            (transcript.render_plan(view))
            div.notice.warn.lost id="lost" role="status" hidden { p { "Connection lost. Reconnecting…" } }
            (transcript.render_banner(view))
            @if from > 0 {
                p.older {
                    a.btn id="older" href={ "/chats/" (view.session) "?from=" (from.saturating_sub(ENTRIES_SHOWN)) } {
                        "Show earlier messages (" (from) ")"
                    }
                }
            }
            ol.log id="log" aria-label="Conversation" { (entries) }
            (no_script())
            div.dock {
                button.btn.to-end type="button" id="to-end" hidden { "Newest ↓" }
                div.asks id="asks" { (transcript.render_asks(view)) }
                (transcript.render_status(view))
                ol.queue id="queue" aria-label="Queued messages" { (transcript.render_queue(view)) }
                @if view.acts {
                    (composer::of_chat(caller, view, &choices, chat.folded.fold.status()))
                }
            }
            div.unseen id="said" role="status" aria-live="polite" {}
            (render_trouble())
        }
    };
    let beside =
        side::render_side_list(Some(&side::load_side_chats(owner, "").await?), Some(&view.session));
    Ok(page_beside(
        caller,
        PageHead { title: &title, here: "/chats", assets: ASSETS },
        &beside,
        &body,
    ))
}

fn render_chat_head(app: &App, caller: &Caller, chat: &LoadedChat, title: &str) -> Markup {
    let id = &chat.view.session;
    html! {
        header.chat-head {
            div {
                h1 dir="auto" { (visible_text(title)) }
                p.muted {
                    (render_moment(chat.meta.updated, app.current_time())) " · "
                    span.mono { (visible_text(&chat.meta.workspace)) }
                    @if let Some((parent, _)) = child::parent_of(id) {
                        " · " a href={ "/chats/" (parent) } { "sub-agent of this chat" }
                    }
                }
            }
            @if chat.view.acts {
                details.more {
                    summary.icon-button title="More" { (render_icon("more")) span.unseen { "More about this chat" } }
                    div.menu-list { (render_actions(caller, chat)) }
                }
            }
        }
    }
}

fn render_actions(caller: &Caller, chat: &LoadedChat) -> Markup {
    let id = &chat.view.session;
    let pin = if chat.kept.pinned { "Unpin" } else { "Pin" };
    let archive = if chat.kept.archived { "Unarchive" } else { "Archive" };
    html! {
        a.btn.quiet href={ "/chats/" (id) "/rename" } { "Rename…" }
        (post_form(caller, html! { "/chats/" (id) "/keep" }, "", &html! {
            button.btn.quiet type="submit" name="do" value=(if chat.kept.pinned { "unpin" } else { "pin" }) { (pin) }
            button.btn.quiet type="submit" name="do" value=(if chat.kept.archived { "unarchive" } else { "archive" }) { (archive) }
        }))
        (post_form(caller, html! { "/chats/" (id) "/fork" }, "", &html! {
            (submit_button(ButtonLook::Quiet, "Duplicate"))
        }))
        a.btn.quiet href={ "/shares/new?session=" (id) } { "Share…" }
        a.btn.quiet href={ "/chats/" (id) "/export" } { "Export…" }
        a.btn.quiet href={ "/chats/" (id) "/undo" } { "Undo file changes…" }
        a.btn.quiet href={ "/chats/" (id) "/leases" } { "Leases…" }
        a.btn.danger href={ "/chats/" (id) "/delete" } { "Delete…" }
    }
}

/// Without scripts a page does not change by itself.
fn no_script() -> Markup {
    html! {
        noscript {
            p.notice { "JavaScript is off: reload the page to see new messages." }
        }
    }
}
