//! The pages themselves: a new chat, a chat.

use maud::{Markup, html};
use weir_core::session::child;
use weir_core::view::plain::visible;
use weir_engine::ports::SessionFilter;

use super::composer;
use super::{Chat, ENTRIES_SHOWN, called};
use crate::app::App;
use crate::guard::Caller;
use crate::live::title;
use crate::problem::Answer;
use crate::web::parts::{csrf, icon, moment, page_with};

const ASSETS: &[&str] = &["pages/chat.css", "pages/code.css", "pages/chat.js"];
/// Chats that a new one shows below itself.
const RECENT: usize = 6;

/// A new chat, with the newest ones below it.
pub(super) async fn new(app: &App, caller: &Caller) -> Answer<Markup> {
    let home = app.home(&caller.person).await?;
    let (choices, now) = composer::choices(home.as_ref()).await;
    let filter = SessionFilter { workspace: None, limit: Some(RECENT * 4) };
    let kept = title::all(app, home.as_ref()).await?;
    let mut recent = Vec::new();
    for meta in home.store().list(&filter).await? {
        let kept = kept.get(meta.id.as_str()).cloned().unwrap_or_default();
        if child::parent_of(&meta.id).is_none() && !kept.archived && recent.len() < RECENT {
            recent.push((called(&kept, &meta), meta));
        }
    }
    let body = html! {
        div.chat.fresh id="chat" data-new {
            div.greeting {
                h1 { "What shall be done, " (visible(caller.person.called())) "?" }
            }
            (composer::of_new(caller, &choices, &now))
            (no_script())
            @if !recent.is_empty() {
                section.recent aria-labelledby="recent" {
                    h2 id="recent" { "Recent" }
                    ul {
                        @for (title, meta) in &recent {
                            li {
                                a href={ "/chats/" (meta.id) } { (visible(title)) }
                                span.muted { (moment(meta.updated, app.now())) }
                            }
                        }
                    }
                }
            }
            div.unseen id="said" role="status" aria-live="polite" {}
        }
    };
    Ok(page_with(caller, "New chat", "/", ASSETS, &body))
}

/// A chat, with its entries from the place `from` on.
pub(super) async fn chat(app: &App, caller: &Caller, chat: &Chat, from: usize) -> Answer<Markup> {
    let (view, transcript) = (&chat.view, &chat.transcript);
    let (choices, _) = composer::choices(chat.home.as_ref()).await;
    let title = chat.title();
    let body = html! {
        div.chat id="chat" data-session=(view.session) data-seq=(chat.seq) data-acts=(view.acts) {
            (head(app, caller, chat, &title))
            (transcript.plan(view))
            div.notice.warn.lost id="lost" role="status" hidden { p { "The connection is lost; trying again…" } }
            (transcript.banner(view))
            @if from > 0 {
                p.older {
                    a.btn id="older" href={ "/chats/" (view.session) "?from=" (from.saturating_sub(ENTRIES_SHOWN)) } {
                        "Show what came before (" (from) ")"
                    }
                }
            }
            ol.log id="log" aria-label="Conversation" { (transcript.entries(view, from, transcript.len())) }
            (no_script())
            div.dock {
                button.btn.to-end type="button" id="to-end" hidden { "Newest ↓" }
                div.asks id="asks" { (transcript.asks(view)) }
                (transcript.status(view))
                ol.queue id="queue" aria-label="Waits to be said" { (transcript.queue(view)) }
                @if view.acts {
                    (composer::of_chat(caller, view, &choices, chat.fold.status()))
                }
            }
            div.unseen id="said" role="status" aria-live="polite" {}
            div.notice.bad.trouble id="trouble" role="alert" hidden {
                p {}
                button.btn.quiet type="button" { "Close" }
            }
        }
    };
    Ok(page_with(caller, &title, "/chats", ASSETS, &body))
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
    let archive = if chat.kept.archived { "Bring back" } else { "Archive" };
    html! {
        a.btn.quiet href={ "/chats/" (id) "/rename" } { "Rename…" }
        form method="post" action={ "/chats/" (id) "/keep" } {
            (csrf(caller))
            button.btn.quiet type="submit" name="do" value=(if chat.kept.pinned { "unpin" } else { "pin" }) { (pin) }
            button.btn.quiet type="submit" name="do" value=(if chat.kept.archived { "unarchive" } else { "archive" }) { (archive) }
        }
        form method="post" action={ "/chats/" (id) "/fork" } {
            (csrf(caller))
            button.btn.quiet type="submit" { "Copy (fork)" }
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
            p.notice { "Scripts are switched off: load the page again to see what is new." }
        }
    }
}
