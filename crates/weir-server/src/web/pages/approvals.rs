//! One inbox of everything that waits for a person, over all of their chats (S10).

use maud::{Markup, html};
use weir_core::event::ApprovalRequested;
use weir_core::view::plain::visible_text;
use weir_core::view::transcript::PendingAsk;

use super::chat::chat_title;
use crate::caller::Caller;
use crate::chat::{ChatView, approval_card, question_card};
use crate::inbox::{InboxEntry, list_inbox};
use crate::live::title;
use crate::notify::channels;
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
    let told_nowhere = match caller.phone_login() {
        Some(_) => {
            let (records, now) = (app.records.as_ref(), app.current_time());
            channels::list_channels(records, &caller.person.id, now).await?.is_empty()
        }
        None => false,
    };
    let body = html! {
        h1 { "Approvals" }
        @if told_nowhere { (render_next_step()) }
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

/// What a paired telephone is told as long as nothing calls it.
fn render_next_step() -> Markup {
    html! {
        div.notice.info {
            p { strong { "Next: be told when something waits." } " Until then, keep this page open." }
            p {
                a href="/notifications/where" { "Delivery settings" }
                ": ntfy, Telegram, Matrix or a webhook; push notifications of this browser where it knows \
                 the server's certificate. It gives none behind the certificate that "
                code { "--lan" } " makes."
            }
        }
    }
}

fn render_card(caller: &Caller, one: &InboxEntry) -> Markup {
    let view = ChatView {
        session: one.top.id.clone(),
        csrf: caller.csrf_token().into(),
        acts: caller.may_write(),
        back: Some("/approvals"),
    };
    match &one.ask {
        PendingAsk::Approval(asked) => html! {
            (approval_card(&view, asked, &[]))
            (render_bounded_answers(&view, asked))
        },
        PendingAsk::AgentApproval(asked) => html! {
            (approval_card(&view, &asked.request, &asked.path))
            (render_bounded_answers(&view, &asked.request))
        },
        PendingAsk::Question(asked) => question_card(&view, asked),
    }
}

/// *For this session* within bounds, as `--uses` and `--for` say it on the command line. Buttons alone: Enter
/// in a field would press the first of them.
fn render_bounded_answers(view: &ChatView, asked: &ApprovalRequested) -> Markup {
    if !view.acts || asked.rules.is_empty() {
        return html! {};
    }
    let choice = |name: &str, value: &str, words: &str| {
        html! { button.btn type="submit" name=(name) value=(value) { (words) } }
    };
    html! {
        details {
            summary { "For this session, within bounds" }
            form method="post" action=(view.address_below("decide")) data-live {
                (view.csrf_input())
                input type="hidden" name="approval" value=(asked.approval);
                input type="hidden" name="decision" value="session";
                (view.back_input())
                p.hint {
                    "Allows this call, and what “For this session” covers, for so many further calls or so long. "
                    "It is taken back in the chat, under “Leases”."
                }
                div.row.answers {
                    (choice("uses", "1", "1 further call"))
                    (choice("uses", "5", "5 further calls"))
                    (choice("for", "10m", "10 minutes"))
                    (choice("for", "1h", "1 hour"))
                }
            }
        }
    }
}
