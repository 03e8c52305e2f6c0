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
use weir_core::message::{Block, plain_text};
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store;

use super::{READ_BATCH, made};
use crate::api::sessions::own;
use crate::app::App;
use crate::guard::Caller;
use crate::live::tell::Saying;
use crate::problem::{Answer, Problem};

#[derive(Debug, Deserialize)]
pub(super) struct SourceQuery {
    /// The entry: `e57`. Without it: the last answer.
    entry: Option<String>,
}

/// What stands in an entry, as it was written: the Markdown of an answer. Nothing, where nothing was
/// answered yet.
pub(super) async fn source(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<SourceQuery>,
) -> Answer<Response> {
    let session = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let missing = || Problem::missing("this entry");
    let text = match &query.entry {
        None => last_answer(home.store().as_ref(), &session).await?,
        Some(entry) => {
            let number = entry.strip_prefix('e').and_then(|n| n.parse().ok());
            let seq: Seq = number.ok_or_else(missing)?;
            let records = home.store().read(&session, seq, 1).await?;
            let fact = fact_of(records.first().ok_or_else(missing)?)?;
            match fact.event.as_ref() {
                Event::ModelReplied(said) if fact.seq == seq => written(&said.content),
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
async fn last_answer(store: &dyn Store, id: &SessionId) -> Answer<String> {
    let facts = store.meta(id).await?.map_or(0, |meta| meta.facts);
    let batch = READ_BATCH as Seq;
    let mut until = facts + 1;
    while until > 1 {
        let from = until.saturating_sub(batch).max(1);
        let limit = usize::try_from(until - from).unwrap_or(READ_BATCH);
        for record in store.read(id, from, limit).await?.iter().rev() {
            if let Event::ModelReplied(said) = fact_of(record)?.event.as_ref() {
                let text = written(&said.content);
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
fn written(content: &[Block]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        Block::Text { text, .. } if !text.trim().is_empty() => Some(text.trim_end()),
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
pub(super) async fn again(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    Form(form): Form<AgainForm>,
) -> Answer<Response> {
    let source = own(&app, &caller, &id).await?;
    let home = app.home(&caller.person).await?;
    let missing = || Problem::missing("this answer");
    let run: RunId = form.run.parse().map_err(|_| missing())?;
    let asked = asked(home.store().as_ref(), &source, run).await?;
    let (first, _) = asked.first().ok_or_else(missing)?;
    let until = app.rooms.rest_before(&home, &source, *first).await?;
    let mut sayings = Vec::new();
    for (_, said) in &asked {
        sayings.push(saying(home.store().as_ref(), said, &caller).await?);
    }
    let copy = app.rooms.fork(&app, &home, (&source, Some(until))).await?;
    for saying in sayings {
        app.rooms.say(&app, &home, &copy, saying).await?;
    }
    Ok(made(&headers, &format!("/chats/{copy}")))
}

/// What a run was told, in order, each with its place in the journal.
async fn asked(
    store: &dyn Store,
    id: &SessionId,
    wanted: RunId,
) -> Answer<Vec<(Seq, InputAccepted)>> {
    let (mut waiting, mut told) = (Vec::new(), Vec::new());
    let (mut from, mut is_on) = (1, false);
    loop {
        let records = store.read(id, from, READ_BATCH).await?;
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
async fn saying(store: &dyn Store, said: &InputAccepted, caller: &Caller) -> Answer<Saying> {
    let mut files: Vec<(String, Arc<[u8]>)> = Vec::new();
    for block in &said.content {
        if let Block::Image { media } | Block::Document { media } = block {
            let bytes = store.blob(&media.blob).await?;
            let name = media.name.clone().unwrap_or_else(|| "attachment".into());
            files.push((name, bytes));
        }
    }
    Ok(Saying { text: plain_text(&said.content), files, by: caller.by(), ..Saying::default() })
}
