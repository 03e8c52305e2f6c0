//! An answer as it was written, and the same question once more. As with other words (`edit`), the
//! question is asked in a copy: what was answered stays.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::extract::Query;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use serde::Deserialize;
use weir_core::event::{Event, InputAccepted};
use weir_core::ids::{RunId, Seq, SessionId};
use weir_core::message::{MessageBlock, plain_text};
use weir_engine::engine::visit_records;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{SessionMeta, Store};

use super::READ_BATCH;
use crate::caller::Caller;
use crate::live::tell::NewInput;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::{ReplyTo, SentBody};
use crate::request::{CallerSession, CallerSpace};

#[derive(Debug, Deserialize)]
pub(super) struct SourceQuery {
    /// The entry: `e57`. Without it: the last answer.
    entry: Option<String>,
}

/// What stands in an entry, as it was written: the Markdown of an answer. Nothing, where nothing was
/// answered yet.
pub(super) async fn get_source(
    CallerSession { owner, id, meta }: CallerSession,
    Query(query): Query<SourceQuery>,
) -> HandlerResult<Response> {
    let CallerSpace { space, .. } = &owner;
    let missing = || ProblemDetails::not_found("this entry");
    let text = match &query.entry {
        None => last_answer(space.store().as_ref(), &meta).await?,
        Some(entry) => {
            let number = entry.strip_prefix('e').and_then(|n| n.parse().ok());
            let seq: Seq = number.ok_or_else(missing)?;
            let records = space.store().read_records(&id, seq, 1).await?;
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
async fn last_answer(store: &dyn Store, meta: &SessionMeta) -> HandlerResult<String> {
    let batch = READ_BATCH as Seq;
    let mut until = meta.facts + 1;
    while until > 1 {
        let from = until.saturating_sub(batch).max(1);
        let limit = usize::try_from(until - from).unwrap_or(READ_BATCH);
        for record in store.read_records(&meta.id, from, limit).await?.iter().rev() {
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
    CallerSession { owner, id, .. }: CallerSession,
    reply: ReplyTo,
    SentBody(form): SentBody<AgainForm>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, space } = &owner;
    let missing = || ProblemDetails::not_found("this answer");
    let run: RunId = form.run.parse().map_err(|_| missing())?;
    let asked = inputs_of_run(space.store().as_ref(), &id, run).await?;
    let (first, _) = asked.first().ok_or_else(missing)?;
    let until = app.sessions.rest_before(space, &id, *first).await?;
    let mut sayings = Vec::new();
    for (_, said) in &asked {
        sayings.push(repeat_input(space.store().as_ref(), said, caller).await?);
    }
    let copy = app.sessions.fork_session(owner.session_request(&id), Some(until)).await?;
    for saying in sayings {
        app.sessions.submit_input(owner.session_request(&copy), saying).await?;
    }
    Ok(reply.answer_created(&format!("/chats/{copy}")))
}

/// Kinds of facts that say which inputs a run was told.
const RUN_KINDS: &[&str] =
    &["input.accepted", "input.withdrawn", "run.started", "turn.started", "run.finished"];

/// What a run was told, in order, each with its place in the journal.
async fn inputs_of_run(
    store: &dyn Store,
    id: &SessionId,
    wanted: RunId,
) -> HandlerResult<Vec<(Seq, InputAccepted)>> {
    let (mut waiting, mut told) = (Vec::new(), Vec::new());
    let mut is_on = false;
    let ended = visit_records(store, id, 1, |record| {
        if !RUN_KINDS.contains(&record.kind.as_str()) {
            return Ok(ControlFlow::Continue(()));
        }
        let fact = fact_of(record)?;
        match fact.event.as_ref() {
            Event::InputAccepted(said) => waiting.push((fact.seq, said.clone())),
            Event::InputWithdrawn(said) => waiting.retain(|(_, one)| one.input != said.input),
            Event::RunStarted(run) => is_on = run.run == wanted,
            Event::TurnStarted(turn) => {
                let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut waiting)
                    .into_iter()
                    .partition(|(_, one): &(Seq, InputAccepted)| turn.inputs.contains(&one.input));
                waiting = later;
                if is_on {
                    told.extend(now);
                }
            }
            Event::RunFinished(_) if is_on => return Ok(ControlFlow::Break(())),
            _ => (),
        }
        Ok(ControlFlow::Continue(()))
    });
    ended.await?;
    Ok(told)
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
