//! What is remembered: list, search, add, accept, reject, forget, export.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::memory::{MemoryStatus, export_markdown};

use super::page::{Page, PageQuery};
use crate::app::App;
use crate::guard::Caller;
use crate::memory::{self, MemoryLine, MemoryQuery, MemoryWish, Word};
use crate::problem::Answer;
use crate::route::Route;

/// Which facts, and which part of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
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
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
struct Settle {
    /// How far it is to come: `kept`, `rejected` or `forgotten`.
    status: Settled,
    /// Kept, chats that are told of it hold private data.
    #[serde(default)]
    private: bool,
}

/// How far a person lets a fact come.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Settled {
    /// It is used.
    Kept,
    /// The same words are not proposed again.
    Rejected,
    /// It is taken away.
    Forgotten,
}

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/memory", list)
            .summary("What is remembered of you, or what waits")
            .query::<ListQuery>()
            .gives::<Page<MemoryLine>>(200),
        Route::post("/api/v1/memory", add)
            .summary("Remember a fact")
            .body::<MemoryWish>()
            .gives::<MemoryLine>(201),
        Route::patch("/api/v1/memory/{id}", settle)
            .summary("Accept, reject or forget a fact")
            .body::<Settle>()
            .gives::<MemoryLine>(200),
        Route::get("/api/v1/memory-export", export)
            .summary("Everything that is kept, as Markdown")
            .gives_as::<String>(200, "text/markdown"),
    ]
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Answer<Json<Page<MemoryLine>>> {
    let home = app.home(&caller.person).await?;
    let ListQuery { q, status, kind, limit, after } = query;
    let facts = memory::facts(home.as_ref(), &MemoryQuery { q, status, kind }).await?;
    let lines: Vec<MemoryLine> = facts.iter().map(MemoryLine::from).collect();
    Ok(Json(Page::of(lines, &PageQuery { limit, after }, |line| line.id.clone())))
}

async fn add(
    State(app): State<App>,
    caller: Caller,
    Json(wish): Json<MemoryWish>,
) -> Answer<(StatusCode, Json<MemoryLine>)> {
    let home = app.home(&caller.person).await?;
    let line = memory::add(home.as_ref(), &wish, app.now()).await?;
    Ok((StatusCode::CREATED, Json(line)))
}

async fn settle(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(settle): Json<Settle>,
) -> Answer<Json<MemoryLine>> {
    let home = app.home(&caller.person).await?;
    let word = match (settle.status, settle.private) {
        (Settled::Kept, true) => Word::KeptPrivate,
        (Settled::Kept, false) => Word::Settled(MemoryStatus::Kept),
        (Settled::Rejected, _) => Word::Settled(MemoryStatus::Rejected),
        (Settled::Forgotten, _) => Word::Settled(MemoryStatus::Forgotten),
    };
    Ok(Json(memory::settle(home.as_ref(), (&id, word), app.now()).await?))
}

async fn export(State(app): State<App>, caller: Caller) -> Answer<Response> {
    exported(&app, &caller).await
}

/// Everything that is kept, as a file.
///
/// # Errors
/// The store refuses.
pub(crate) async fn exported(app: &App, caller: &Caller) -> Answer<Response> {
    let home = app.home(&caller.person).await?;
    let facts = memory::facts(home.as_ref(), &MemoryQuery::default()).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"memory.md\""),
    ];
    Ok((headers, export_markdown(&facts)).into_response())
}
