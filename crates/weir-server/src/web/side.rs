//! The newest chats beside every page: to go to, find and rename. On the pages of chats it is made
//! with the page; on the others a script asks for it, and without one the navigation leads to all.

use maud::{Markup, html};
use weir_core::ids::SessionId;
use weir_core::session::child;
use weir_core::sorting::sort_stably_by_key;
use weir_core::view::plain::visible_text;
use weir_engine::ports::SessionFilter;

use crate::api::sessions::{ListQuery, list_sessions};
use crate::live::title;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::web::parts::render_icon;

/// Chats that are listed.
const SHOWN: usize = 20;
/// Sessions that are looked at for them: those of sub-agents and what was put away are among them.
const LOOKED_AT: usize = 120;

/// A chat as it is listed.
#[derive(Debug)]
pub(crate) struct SideChat {
    id: SessionId,
    title: String,
    pinned: bool,
}

/// What a chat without a title is called.
pub(crate) const UNTITLED: &str = "New chat";

fn title_or_default(title: &str) -> String {
    if title.trim().is_empty() { UNTITLED.into() } else { visible_text(title) }
}

/// The newest chats, pinned ones first; with words: those that have them.
///
/// # Errors
/// The database refuses.
pub(crate) async fn load_side_chats(
    owner: &CallerSpace,
    words: &str,
) -> HandlerResult<Vec<SideChat>> {
    let CallerSpace { app, space, .. } = owner;
    if !words.trim().is_empty() {
        let query = ListQuery {
            limit: Some(SHOWN),
            q: Some(words.to_owned()),
            archived: Some(false),
            ..ListQuery::default()
        };
        let found = list_sessions(owner, query).await?.items.into_iter();
        let line = found.map(|line| SideChat {
            title: title_or_default(&line.title),
            pinned: line.pinned,
            id: line.id,
        });
        return Ok(line.collect());
    }
    let kept = title::load_all_chats(app, space.as_ref()).await?;
    let filter = SessionFilter { workspace: None, limit: Some(LOOKED_AT) };
    let mut lines = Vec::new();
    for meta in space.store().list_sessions(&filter).await? {
        let chat = kept.get(meta.id.as_str()).cloned().unwrap_or_default();
        if meta.facts == 0 || child::parent_of(&meta.id).is_some() || chat.archived {
            continue;
        }
        let title = title_or_default(chat.title.as_deref().unwrap_or(&meta.title));
        lines.push(SideChat { id: meta.id, title, pinned: chat.pinned });
    }
    sort_stably_by_key(&mut lines, |line| !line.pinned);
    lines.truncate(SHOWN);
    Ok(lines)
}

/// The items of the list. `here`: the chat that is open.
pub(crate) fn render_side_items(lines: &[SideChat], here: Option<&SessionId>) -> Markup {
    html! {
        @for line in lines {
            li data-chat=(line.id) {
                a href={ "/chats/" (line.id) } dir="auto" title=(line.title)
                    aria-current=[(here == Some(&line.id)).then_some("page")] {
                    @if line.pinned { (render_icon("pin")) }
                    span { (line.title) }
                }
                a.icon-button.rename href={ "/chats/" (line.id) "/rename" } title="Rename" {
                    (render_icon("edit")) span.unseen { "Rename " (line.title) }
                }
            }
        }
    }
}

/// The whole of it. `lines`: `None` where a script asks for them.
pub(crate) fn render_side_list(lines: Option<&[SideChat]>, here: Option<&SessionId>) -> Markup {
    html! {
        section.side id="side" aria-label="Your chats" data-fill[lines.is_none()] {
            form role="search" aria-label="Your chats" method="get" action="/chats" {
                label.unseen for="side-q" { "Search chats" }
                input type="search" id="side-q" name="q" placeholder="Search chats"
                    autocomplete="off" aria-keyshortcuts="Control+K";
                button.icon-button type="submit" title="Search" {
                    (render_icon("search")) span.unseen { "Search" }
                }
            }
            ul id="side-list" aria-label="Recent chats" { (render_side_items(lines.unwrap_or_default(), here)) }
        }
    }
}
