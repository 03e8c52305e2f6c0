//! One inbox of everything that waits for a person, over all of their chats (S10).

use maud::{Markup, html};
use weir_core::view::plain::visible_text;
use weir_core::view::transcript::PendingAsk;

use super::chat::chat_title;
use crate::caller::Caller;
use crate::chat::{ChatView, approval_card, question_card};
use crate::inbox::{InboxEntry, list_inbox};
use crate::live::title;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::route::Route;
use crate::web::parts::{page_with, render_empty, render_moment};

/// The routes of this file.
pub(crate) fn approval_page_routes() -> Vec<Route> {
    vec![Route::get("/approvals", show_approvals)]
}

async fn show_approvals(CallerSpace { app, caller, space }: CallerSpace) -> HandlerResult<Markup> {
    let waiting = list_inbox(space.store().as_ref()).await?;
    let kept = title::load_all_chats(&app, space.as_ref()).await?;
    let body = html! {
        h1 { "Approvals" }
        @if waiting.is_empty() {
            (render_empty("Nothing needs your approval", "When an agent needs permission, the request appears here and in its chat."))
        }
        @for one in &waiting {
            @let kept = kept.get(one.top.id.as_str()).cloned().unwrap_or_default();
            article.card.ask data-ask {
                p.muted {
                    a href={ "/chats/" (one.top.id) } { (visible_text(&chat_title(&kept, &one.top))) }
                    " · " (render_moment(one.since, app.current_time()))
                }
                (render_card(&caller, one))
            }
        }
    };
    let assets = ["pages/chat.css", "pages/code.css", "pages/approvals.js"];
    Ok(page_with(&caller, "Approvals", "/approvals", &assets, &body))
}

fn render_card(caller: &Caller, one: &InboxEntry) -> Markup {
    let view = ChatView {
        session: one.top.id.clone(),
        csrf: caller.csrf_token().into(),
        acts: caller.may_write(),
        back: Some("/approvals"),
    };
    match &one.ask {
        PendingAsk::Approval(asked) => approval_card(&view, asked, &[]),
        PendingAsk::AgentApproval(asked) => approval_card(&view, &asked.request, &asked.path),
        PendingAsk::Question(asked) => question_card(&view, asked),
    }
}
