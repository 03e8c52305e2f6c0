//! One inbox of everything that waits for a person, over all of their chats (S10).

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::ids::Timestamp;
use weir_core::session::child;
use weir_core::view::plain::visible_text;
use weir_engine::ports::{SessionFilter, SessionMeta};
use weir_install::user_space::UserSpace;

use super::chat::chat_title;
use crate::app::App;
use crate::caller::Caller;
use crate::chat::{ChatView, approval_card, question_card};
use crate::live::fold;
use crate::live::title;
use crate::problem::HandlerResult;
use crate::route::Route;
use crate::web::parts::{page_with, render_empty, render_moment};

/// The routes of this file.
pub(crate) fn approval_page_routes() -> Vec<Route> {
    vec![Route::get("/approvals", show_approvals)]
}

/// What is asked.
pub(super) enum InboxRequest {
    /// Whether a call may run, and the sub-agents on the way to whoever asks.
    Approval(Box<ApprovalRequested>, Vec<String>),
    /// A question.
    Question(Box<QuestionAsked>),
}

/// Something that waits.
pub(super) struct InboxEntry {
    meta: Arc<SessionMeta>,
    since: Timestamp,
    asked: InboxRequest,
}

/// Everything of a person that waits for an answer; who waits longest comes first.
///
/// # Errors
/// A journal cannot be read.
pub(super) async fn list_waiting(home: &UserSpace) -> HandlerResult<Vec<InboxEntry>> {
    let store = home.store();
    let mut found = Vec::new();
    for meta in store.list_sessions(&SessionFilter::default()).await? {
        // A question outlives its run where nobody could answer it; what a sub-agent asks is told by
        // whoever started it.
        let may_wait = matches!(meta.status.as_str(), "waiting" | "running" | "needs_input");
        if !may_wait || child::parent_of(&meta.id).is_some() {
            continue;
        }
        let folded = fold::load_session_fold(store.as_ref(), &meta.id).await?;
        let meta = Arc::new(meta);
        let mut wait = |since: Timestamp, asked: InboxRequest| {
            found.push(InboxEntry { meta: meta.clone(), since, asked });
        };
        for (since, asked) in folded.open_approvals() {
            wait(*since, InboxRequest::Approval(Box::new(asked.clone()), Vec::new()));
        }
        for asked in folded.session.agents_ask() {
            let request = asked.request.clone();
            wait(meta.updated, InboxRequest::Approval(request, asked.path.clone()));
        }
        if let Some((since, asked)) = folded.open_question() {
            wait(*since, InboxRequest::Question(Box::new(asked.clone())));
        }
    }
    found.sort_by_key(|one| one.since);
    Ok(found)
}

async fn show_approvals(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let waiting = list_waiting(home.as_ref()).await?;
    let kept = title::load_all_chats(&app, home.as_ref()).await?;
    let body = html! {
        h1 { "Approvals" }
        @if waiting.is_empty() {
            (render_empty("Nothing needs your approval", "When an agent needs permission, the request appears here and in its chat."))
        }
        @for one in &waiting {
            @let kept = kept.get(one.meta.id.as_str()).cloned().unwrap_or_default();
            article.card.ask data-ask {
                p.muted {
                    a href={ "/chats/" (one.meta.id) } { (visible_text(&chat_title(&kept, &one.meta))) }
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
        session: one.meta.id.clone(),
        csrf: caller.csrf_token().into(),
        acts: caller.may_write(),
        back: Some("/approvals"),
    };
    match &one.asked {
        InboxRequest::Approval(asked, path) => approval_card(&view, asked, path),
        InboxRequest::Question(asked) => question_card(&view, asked),
    }
}
