//! Edit and resend: a copy of the chat up to that message, with other words. The chat itself stays
//! as it is.

use std::ops::ControlFlow;

use axum::extract::Query;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::event::Event;
use weir_core::ids::{InputId, Seq, SessionId};
use weir_core::message::plain_text;
use weir_engine::engine::visit_records;
use weir_engine::ledger::fact_of;
use weir_install::user_space::UserSpace;

use crate::live::tell::NewInput;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::{ReplyTo, SentBody};
use crate::request::{CallerSession, CallerSpace};
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::framed_page;

#[derive(Debug, Deserialize)]
pub(super) struct EditQuery {
    input: String,
}

/// The fact before the one that accepted `input`, and the words of it.
async fn find_input(
    space: &UserSpace,
    id: &SessionId,
    input: &str,
) -> HandlerResult<(Seq, String)> {
    let missing = || ProblemDetails::not_found("this message");
    let input: InputId = input.parse().map_err(|_| missing())?;
    let store = space.store();
    let found = visit_records(store.as_ref(), id, 1, |record| {
        if record.kind != "input.accepted" {
            return Ok(ControlFlow::Continue(()));
        }
        let fact = fact_of(record)?;
        Ok(match fact.event.as_ref() {
            Event::InputAccepted(said) if said.input == input => {
                ControlFlow::Break((fact.seq - 1, plain_text(&said.content)))
            }
            _ => ControlFlow::Continue(()),
        })
    });
    found.await?.ok_or_else(missing)
}

pub(super) async fn show_edit_form(
    CallerSession { owner, id, .. }: CallerSession,
    Query(query): Query<EditQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { caller, space, .. } = &owner;
    let (_, words) = find_input(space.as_ref(), &id, &query.input).await?;
    let body = html! {
        h1 { "Edit and resend" }
        p.muted {
            "A copy of the chat goes on from here with your new words. This chat stays as it is, and so \
             do the files that it changed."
        }
        (post_form(caller, html! { "/chats/" (id) "/fork" }, "stack", &html! {
            input type="hidden" name="input" value=(query.input);
            div.field {
                label for="text" { "Message" }
                textarea id="text" name="text" rows="8" required { (words) }
            }
            div.row {
                (submit_button(ButtonLook::Primary, "Send in a copy"))
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }))
    };
    Ok(framed_page(caller, "Edit and resend", "/chats", &body))
}

#[derive(Debug, Deserialize)]
pub(super) struct ForkForm {
    /// The message in whose place others are said; none: the copy has all of the chat.
    #[serde(default)]
    input: String,
    #[serde(default)]
    text: String,
}

pub(super) async fn fork_chat(
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<ForkForm>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, space } = &owner;
    let until = match form.input.is_empty() {
        true => None,
        false => Some(find_input(space.as_ref(), &id, &form.input).await?.0),
    };
    let text = form.text.replace("\r\n", "\n");
    if until.is_some() && text.trim().is_empty() {
        return Err(ProblemDetails::bad_request("write a message"));
    }
    let copy = app.sessions.fork_session(owner.session_request(&id), until).await?;
    if until.is_some() {
        let saying = NewInput { text, by: caller.journal_name(), ..NewInput::default() };
        app.sessions.submit_input(owner.session_request(&copy), saying).await?;
    }
    Ok(reply.answer_created(&format!("/chats/{copy}")))
}
