//! The pages themselves: a new chat, a chat.

use maud::{Markup, html};
use weir_core::session::child;
use weir_core::view::plain::visible;
use weir_engine::ports::{SessionFilter, SessionMeta};
use weir_install::user_space::UserSpace;

use super::{Chat, ENTRIES_SHOWN, called};
use super::{composer, start};
use crate::app::App;
use crate::guard::Caller;
use crate::live::title;
use crate::problem::Answer;
use crate::web::parts::{csrf, icon, moment, page_beside};
use crate::web::side;

const ASSETS: &[&str] = &["pages/chat.css", "pages/code.css", "pages/chat.js"];
/// Chats that a new one shows below itself.
const RECENT: usize = 6;

/// A new chat, with the newest ones below it; without a model, how to get one.
pub(super) async fn new(app: &App, caller: &Caller, told: &start::Told) -> Answer<Markup> {
    let home = app.home(&caller.person).await?;
    let (choices, now) = composer::choices(home.as_ref()).await;
    let usual = home.standard_model().await.unwrap_or_default();
    let is_ready = usual.is_some() || !choices.models.is_empty();
    let recent = recent(app, home.as_ref()).await?;
    let begin = match (&usual, choices.models.is_empty()) {
        (None, true) => start::without_model(caller, home.as_ref(), &now.model).await?,
        (None, false) => html! {
            (start::cannot_be_asked(&now.model))
            (composer::of_new(caller, &choices, (&now, None)))
        },
        (Some(usual), _) => composer::of_new(caller, &choices, (&now, Some(usual))),
    };
    let body = html! {
        div.chat.fresh id="chat" data-new {
            div.greeting {
                h1 { (if is_ready { "What can I help with?" } else { "Welcome to Weir" }) }
            }
            (start::done(told))
            (begin)
            (no_script())
            (recently(app, &recent))
            div.unseen id="said" role="status" aria-live="polite" {}
            (trouble())
        }
    };
    let beside = side::list(Some(&side::lines(app, caller, "").await?), None);
    Ok(page_beside(caller, "New chat", ("/", ASSETS), &beside, &body))
}

/// The newest chats, with what they are called.
async fn recent(app: &App, home: &UserSpace) -> Answer<Vec<(String, SessionMeta)>> {
    let filter = SessionFilter { workspace: None, limit: Some(RECENT * 4) };
    let kept = title::all(app, home).await?;
    let mut recent = Vec::new();
    for meta in home.store().list(&filter).await? {
        let kept = kept.get(meta.id.as_str()).cloned().unwrap_or_default();
        if child::parent_of(&meta.id).is_none() && !kept.archived && recent.len() < RECENT {
            recent.push((called(&kept, &meta), meta));
        }
    }
    Ok(recent)
}

fn recently(app: &App, recent: &[(String, SessionMeta)]) -> Markup {
    html! {
        @if !recent.is_empty() {
            section.recent aria-labelledby="recent" {
                h2 id="recent" { "Recent" }
                ul {
                    @for (title, meta) in recent {
                        li {
                            a href={ "/chats/" (meta.id) } { (visible(title)) }
                            span.muted { (moment(meta.updated, app.now())) }
                        }
                    }
                }
            }
        }
    }
}

/// Where scripts say what went wrong.
fn trouble() -> Markup {
    html! {
        div.notice.bad.trouble id="trouble" role="alert" hidden {
            p {}
            button.btn.quiet type="button" { "Close" }
        }
    }
}

/// A chat, with its entries from the place `from` on.
pub(super) async fn chat(app: &App, caller: &Caller, chat: &Chat, from: usize) -> Answer<Markup> {
    let (view, transcript) = (&chat.view, &chat.folded.transcript);
    let (choices, _) = composer::choices(chat.home.as_ref()).await;
    let title = chat.title();
    let body = html! {
        div.chat id="chat" data-session=(view.session) data-seq=(chat.folded.seq) data-acts=(view.acts) {
            (head(app, caller, chat, &title))
            (transcript.plan(view))
            div.notice.warn.lost id="lost" role="status" hidden { p { "Connection lost. Reconnecting…" } }
            (transcript.banner(view))
            @if from > 0 {
                p.older {
                    a.btn id="older" href={ "/chats/" (view.session) "?from=" (from.saturating_sub(ENTRIES_SHOWN)) } {
                        "Show earlier messages (" (from) ")"
                    }
                }
            }
            ol.log id="log" aria-label="Conversation" { (transcript.entries(view, from, transcript.len())) }
            (no_script())
            div.dock {
                button.btn.to-end type="button" id="to-end" hidden { "Newest ↓" }
                div.asks id="asks" { (transcript.asks(view)) }
                (transcript.status(view))
                ol.queue id="queue" aria-label="Queued messages" { (transcript.queue(view)) }
                @if view.acts {
                    (composer::of_chat(caller, view, &choices, chat.folded.fold.status()))
                }
            }
            div.unseen id="said" role="status" aria-live="polite" {}
            (trouble())
        }
    };
    let beside = side::list(Some(&side::lines(app, caller, "").await?), Some(&view.session));
    Ok(page_beside(caller, &title, ("/chats", ASSETS), &beside, &body))
}

fn head(app: &App, caller: &Caller, chat: &Chat, title: &str) -> Markup {
    let id = &chat.view.session;
    html! {
        header.chat-head {
            div {
                h1 dir="auto" { (visible(title)) }
                p.muted {
                    (moment(chat.meta.updated, app.now())) " · "
                    span.mono { (visible(&chat.meta.workspace)) }
                    @if let Some((parent, _)) = child::parent_of(id) {
                        " · " a href={ "/chats/" (parent) } { "sub-agent of this chat" }
                    }
                }
            }
            @if chat.view.acts {
                details.more {
                    summary.icon-button title="More" { (icon("more")) span.unseen { "More about this chat" } }
                    div.menu-list { (actions(caller, chat)) }
                }
            }
        }
    }
}

fn actions(caller: &Caller, chat: &Chat) -> Markup {
    let id = &chat.view.session;
    let pin = if chat.kept.pinned { "Unpin" } else { "Pin" };
    let archive = if chat.kept.archived { "Unarchive" } else { "Archive" };
    html! {
        a.btn.quiet href={ "/chats/" (id) "/rename" } { "Rename…" }
        form method="post" action={ "/chats/" (id) "/keep" } {
            (csrf(caller))
            button.btn.quiet type="submit" name="do" value=(if chat.kept.pinned { "unpin" } else { "pin" }) { (pin) }
            button.btn.quiet type="submit" name="do" value=(if chat.kept.archived { "unarchive" } else { "archive" }) { (archive) }
        }
        form method="post" action={ "/chats/" (id) "/fork" } {
            (csrf(caller))
            button.btn.quiet type="submit" { "Duplicate" }
        }
        a.btn.quiet href={ "/shares/new?session=" (id) } { "Share…" }
        a.btn.quiet href={ "/chats/" (id) "/export" } { "Export…" }
        a.btn.quiet href={ "/chats/" (id) "/undo" } { "Undo file changes…" }
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
