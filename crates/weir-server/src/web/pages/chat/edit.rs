//! Edit and resend: a copy of the chat up to that message, with other words. The chat itself stays
//! as it is.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::HeaderMap;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::event::Event;
use weir_core::ids::{InputId, Seq, SessionId};
use weir_core::message::plain_text;
use weir_engine::ledger::fact_of;
use weir_install::user_space::UserSpace;

use super::respond_created;
use crate::app::App;
use crate::caller::Caller;
use crate::live::SessionRequest;
use crate::live::tell::NewInput;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::web::parts::{csrf_input, framed_page};

/// Facts read at once.
const READ_BATCH: usize = 2_048;

#[derive(Debug, Deserialize)]
pub(super) struct EditQuery {
    input: String,
}

/// The fact before the one that accepted `input`, and the words of it.
async fn find_input(home: &UserSpace, id: &SessionId, input: &str) -> HandlerResult<(Seq, String)> {
    let missing = || ProblemDetails::not_found("this message");
    let input: InputId = input.parse().map_err(|_| missing())?;
    let store = home.store();
    let mut from = 1;
    loop {
        let records = store.read_records(id, from, READ_BATCH).await?;
        for record in &records {
            let fact = fact_of(record)?;
            if let Event::InputAccepted(said) = fact.event.as_ref()
                && said.input == input
            {
                return Ok((fact.seq - 1, plain_text(&said.content)));
            }
        }
        if records.len() < READ_BATCH {
            return Err(missing());
        }
        from += READ_BATCH as Seq;
    }
}

pub(super) async fn show_edit_form(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<EditQuery>,
) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let (_, words) = find_input(home.as_ref(), &SessionId::new(&id), &query.input).await?;
    let body = html! {
        h1 { "Edit and resend" }
        p.muted {
            "A copy of the chat goes on from here with your new words. This chat stays as it is, and so \
             do the files that it changed."
        }
        form.stack method="post" action={ "/chats/" (id) "/fork" } {
            (csrf_input(&caller))
            input type="hidden" name="input" value=(query.input);
            div.field {
                label for="text" { "Message" }
                textarea id="text" name="text" rows="8" required { (words) }
            }
            div.row {
                button.btn.primary type="submit" { "Send in a copy" }
                a.btn.quiet href={ "/chats/" (id) } { "Cancel" }
            }
        }
    };
    Ok(framed_page(&caller, "Edit and resend", "/chats", &body))
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
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<ForkForm>,
) -> HandlerResult<Response> {
    let home = app.home(&caller.person).await?;
    let source = SessionId::new(&id);
    let until = match form.input.is_empty() {
        true => None,
        false => Some(find_input(home.as_ref(), &source, &form.input).await?.0),
    };
    let text = form.text.replace("\r\n", "\n");
    if until.is_some() && text.trim().is_empty() {
        return Err(ProblemDetails::bad_request("write a message"));
    }
    let copy = app.rooms.fork_session(SessionRequest::new(&app, &home, &source), until).await?;
    if until.is_some() {
        let saying = NewInput { text, by: caller.journal_name(), ..NewInput::default() };
        app.rooms.submit_input(SessionRequest::new(&app, &home, &copy), saying).await?;
    }
    Ok(respond_created(&headers, &format!("/chats/{copy}")))
}
