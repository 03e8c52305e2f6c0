//! An answer as it was written, and the same question once more. As with other words (`edit`), the
//! question is asked in a copy: what was answered stays.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use weir_core::event::{Event, InputAccepted};
use weir_core::ids::{RunId, Seq, SessionId};
use weir_core::message::{MessageBlock, plain_text};
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;

use super::{READ_BATCH, respond_created};
use crate::api::sessions::find_own_session;
use crate::app::App;
use crate::caller::Caller;
use crate::live::SessionRequest;
use crate::live::tell::NewInput;
use crate::problem::{HandlerResult, ProblemDetails};

#[derive(Debug, Deserialize)]
pub(super) struct SourceQuery {
    /// The entry: `e57`. Without it: the last answer.
    entry: Option<String>,
}

/// What stands in an entry, as it was written: the Markdown of an answer. Nothing, where nothing was
/// answered yet.
pub(super) async fn get_source(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<SourceQuery>,
) -> HandlerResult<Response> {
    let session = find_own_session(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let missing = || ProblemDetails::not_found("this entry");
    let text = match &query.entry {
        None => last_answer(home.store().as_ref(), &session).await?,
        Some(entry) => {
            let number = entry.strip_prefix('e').and_then(|n| n.parse().ok());
            let seq: Seq = number.ok_or_else(missing)?;
            let records = home.store().read_records(&session, seq, 1).await?;
            let fact = fact_of(records.first().ok_or_else(missing)?)?;
            match fact.event.as_ref() {
                Event::ModelReplied(said) if fact.seq == seq => answer_markdown(&said.content),
                Event::InputAccepted(said) if fact.seq == seq => plain_text(&said.content),
                _ => return Err(missing()),
            }
        }
    };
    let mut response = text.into_response();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
}

/// The words of the last answer, looked for from the end of the journal.
async fn last_answer(store: &dyn Store, id: &SessionId) -> HandlerResult<String> {
    let facts = store.session_meta(id).await?.map_or(0, |meta| meta.facts);
    let batch = READ_BATCH as Seq;
    let mut until = facts + 1;
    while until > 1 {
        let from = until.saturating_sub(batch).max(1);
        let limit = usize::try_from(until - from).unwrap_or(READ_BATCH);
        for record in store.read_records(id, from, limit).await?.iter().rev() {
            if let Event::ModelReplied(said) = fact_of(record)?.event.as_ref() {
                let text = answer_markdown(&said.content);
                if !text.is_empty() {
                    return Ok(text);
                }
            }
        }
        until = from;
    }
    Ok(String::new())
}

/// The words of an answer, block by block.
fn answer_markdown(content: &[MessageBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        MessageBlock::Text { text, .. } if !text.trim().is_empty() => Some(text.trim_end()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

#[derive(Debug, Deserialize)]
pub(super) struct AgainForm {
    /// The run that answered: `r3`.
    run: String,
}

/// Asks once more what a run was asked.
pub(super) async fn ask_again(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<AgainForm>,
) -> HandlerResult<Response> {
    let source = find_own_session(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let missing = || ProblemDetails::not_found("this answer");
    let run: RunId = form.run.parse().map_err(|_| missing())?;
    let asked = inputs_of_run(home.store().as_ref(), &source, run).await?;
    let (first, _) = asked.first().ok_or_else(missing)?;
    let until = app.rooms.rest_before(&home, &source, *first).await?;
    let mut sayings = Vec::new();
    for (_, said) in &asked {
        sayings.push(repeat_input(home.store().as_ref(), said, &caller).await?);
    }
    let copy =
        app.rooms.fork_session(SessionRequest::new(&app, &home, &source), Some(until)).await?;
    for saying in sayings {
        app.rooms.submit_input(SessionRequest::new(&app, &home, &copy), saying).await?;
    }
    Ok(respond_created(&headers, &format!("/chats/{copy}")))
}

/// What a run was told, in order, each with its place in the journal.
async fn inputs_of_run(
    store: &dyn Store,
    id: &SessionId,
    wanted: RunId,
) -> HandlerResult<Vec<(Seq, InputAccepted)>> {
    let (mut waiting, mut told) = (Vec::new(), Vec::new());
    let (mut from, mut is_on) = (1, false);
    loop {
        let records = store.read_records(id, from, READ_BATCH).await?;
        for record in &records {
            let fact = fact_of(record)?;
            match fact.event.as_ref() {
                Event::InputAccepted(said) => waiting.push((fact.seq, said.clone())),
                Event::InputWithdrawn(said) => waiting.retain(|(_, one)| one.input != said.input),
                Event::RunStarted(run) => is_on = run.run == wanted,
                Event::TurnStarted(turn) => {
                    let (now, later): (Vec<_>, Vec<_>) =
                        std::mem::take(&mut waiting).into_iter().partition(
                            |(_, one): &(Seq, InputAccepted)| turn.inputs.contains(&one.input),
                        );
                    waiting = later;
                    if is_on {
                        told.extend(now);
                    }
                }
                Event::RunFinished(_) if is_on => return Ok(told),
                _ => (),
            }
        }
        if records.len() < READ_BATCH {
            return Ok(told);
        }
        from += READ_BATCH as Seq;
    }
}

/// The same words and files once more.
async fn repeat_input(
    store: &dyn Store,
    said: &InputAccepted,
    caller: &Caller,
) -> HandlerResult<NewInput> {
    let mut files: Vec<(String, Arc<[u8]>)> = Vec::new();
    for block in &said.content {
        if let MessageBlock::Image { media } | MessageBlock::Document { media } = block {
            let bytes = store.read_blob(&media.blob).await?;
            let name = media.name.clone().unwrap_or_else(|| "attachment".into());
            files.push((name, bytes));
        }
    }
    Ok(NewInput {
        text: plain_text(&said.content),
        files,
        by: caller.journal_name(),
        ..NewInput::default()
    })
}
