//! What is remembered: list, search, add, accept, reject, forget, export.

use axum::Json;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Deserialize;
use weir_core::memory::{MemoryAction, MemoryEdit, MemoryKeep, MemoryStatus, export_markdown};

use super::page::{ListPage, PageQuery};
use crate::memory::{self, FactDecision, MemoryLine, MemoryQuery, NewMemoryFact};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;

/// A filter of facts, and the part of the list that is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
struct ListQuery {
    /// Words of which at least one must stand in it.
    q: String,
    /// Only of this state; without it: what is kept.
    status: Option<MemoryStatus>,
    /// Only of this kind.
    kind: Option<weir_core::memory::MemoryKind>,
    /// At most so many (1 to 200, default 50).
    limit: Option<usize>,
    /// The `next` of the part before.
    after: Option<String>,
}

/// A person's word about a fact.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
struct SettleMemoryBody {
    /// How far it is to come: `kept`, `rejected` or `forgotten`.
    status: MemoryDecision,
    /// Kept, chats that are told of it hold private data.
    #[serde(default)]
    private: bool,
    /// The `hash` of what was seen. Without it nothing is kept; with it, nothing is decided about what
    /// changed since.
    #[serde(default)]
    hash: String,
    /// Kept, it is kept in these words in place of those that were proposed.
    #[serde(default)]
    text: Option<String>,
}

/// How far a person lets a fact come.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum MemoryDecision {
    /// It is used.
    Kept,
    /// The same words are not proposed again.
    Rejected,
    /// It is taken away.
    Forgotten,
}

/// The routes of this file.
pub(crate) fn memory_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/memory", list_memory)
            .summary("What is remembered of you, or what waits")
            .query::<ListQuery>()
            .gives_json::<ListPage<MemoryLine>>(200),
        Route::post("/api/v1/memory", add_memory_fact)
            .summary("Remember a fact")
            .body::<NewMemoryFact>()
            .gives_json::<MemoryLine>(201),
        Route::patch("/api/v1/memory/{id}", settle_memory_fact)
            .summary("Accept, reject or forget a fact")
            .body::<SettleMemoryBody>()
            .gives_json::<MemoryLine>(200),
        Route::get("/api/v1/memory-export", get_memory_export)
            .summary("Everything that is kept, as Markdown")
            .gives_as::<String>(200, "text/markdown"),
    ]
}

async fn list_memory(
    CallerSpace { space, .. }: CallerSpace,
    Query(query): Query<ListQuery>,
) -> HandlerResult<Json<ListPage<MemoryLine>>> {
    let ListQuery { q, status, kind, limit, after } = query;
    let facts = memory::find_facts(space.as_ref(), &MemoryQuery { q, status, kind }).await?;
    let lines: Vec<MemoryLine> = facts.iter().map(MemoryLine::from).collect();
    Ok(Json(ListPage::from_list(lines, &PageQuery { limit, after }, |line| line.id.clone())))
}

async fn add_memory_fact(
    CallerSpace { app, space, .. }: CallerSpace,
    Json(wish): Json<NewMemoryFact>,
) -> HandlerResult<(StatusCode, Json<MemoryLine>)> {
    let line = memory::remember_fact(space.as_ref(), &wish, app.current_time()).await?;
    Ok((StatusCode::CREATED, Json(line)))
}

async fn settle_memory_fact(
    CallerSpace { app, caller, space }: CallerSpace,
    Path(id): Path<String>,
    Json(settle): Json<SettleMemoryBody>,
) -> HandlerResult<Json<MemoryLine>> {
    let action = match (settle.status, settle.text) {
        (MemoryDecision::Kept, text) => {
            let edit = text.map(|text| MemoryEdit { text, by: caller.journal_name() });
            MemoryAction::Keep(MemoryKeep { private: settle.private, edit })
        }
        (_, Some(_)) => {
            return Err(ProblemDetails::bad_request(
                "`text` goes with the status `kept` alone; nothing was changed",
            ));
        }
        (MemoryDecision::Rejected, None) => MemoryAction::Reject,
        (MemoryDecision::Forgotten, None) => MemoryAction::Forget,
    };
    let decision = FactDecision { action, seen: &settle.hash };
    Ok(Json(memory::settle_fact(space.as_ref(), &id, decision, app.current_time()).await?))
}

async fn get_memory_export(owner: CallerSpace) -> HandlerResult<Response> {
    export_memory(&owner).await
}

/// Everything that is kept, as a file.
///
/// # Errors
/// The store refuses.
pub(crate) async fn export_memory(owner: &CallerSpace) -> HandlerResult<Response> {
    let CallerSpace { space, .. } = owner;
    let facts = memory::find_facts(space.as_ref(), &MemoryQuery::default()).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"memory.md\""),
    ];
    Ok((headers, export_markdown(&facts)).into_response())
}
