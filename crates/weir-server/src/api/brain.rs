//! The brain: list, search, read, add, change, forget, restore, delete, export.

use axum::Json;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Deserialize;
use weir_core::brain::{BrainEntryKind, BrainEntryState};
use weir_engine::blocking::run_blocking;
use weir_engine::brain::{BrainFilter, list_entries};
use weir_install::brain::brain_archive;

use super::page::{ListPage, PageQuery};
use crate::brain::{self, BrainLine, BrainQuery, BrainTextChange, NewBrainText};
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;

/// A filter of entries, and the part of the list that is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
struct ListQuery {
    /// A question or words: what fits best first. Without them what was changed last.
    q: String,
    /// Only in this state; without it: what counts.
    state: Option<BrainEntryState>,
    /// Only of this kind.
    kind: Option<BrainEntryKind>,
    /// At most so many (1 to 200, default 50).
    limit: Option<usize>,
    /// The `next` of the part before.
    after: Option<String>,
}

/// Whether an entry is to count.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct BrainStateBody {
    /// `forgotten`: it is found no more; `active`: it is brought back.
    state: BrainEntryState,
}

/// The routes of this file.
pub(crate) fn brain_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/brain", list_brain)
            .summary("Entries of your brain, or those that answer a question")
            .query::<ListQuery>()
            .gives_json::<ListPage<BrainLine>>(200),
        Route::post("/api/v1/brain", add_brain_entry)
            .summary("Keep an entry")
            .body::<NewBrainText>()
            .gives_json::<BrainLine>(201),
        Route::get("/api/v1/brain/{id}", get_brain_entry)
            .summary("One entry with its text")
            .gives_json::<BrainLine>(200),
        Route::patch("/api/v1/brain/{id}", update_brain_entry)
            .summary("Change an entry, in the version that was read")
            .body::<BrainTextChange>()
            .gives_json::<BrainLine>(200),
        Route::post("/api/v1/brain/{id}/state", settle_brain_entry)
            .summary("Forget an entry, or bring it back")
            .body::<BrainStateBody>()
            .gives_json::<BrainLine>(200),
        Route::delete("/api/v1/brain/{id}", delete_brain_entry)
            .summary("Delete an entry for good")
            .gives_nothing(204),
        Route::get("/api/v1/brain-export", get_brain_export)
            .summary("Everything that counts, as a folder of Markdown (tar, gzip)")
            .gives_as::<String>(200, "application/gzip"),
    ]
}

async fn list_brain(
    CallerSpace { space, .. }: CallerSpace,
    Query(query): Query<ListQuery>,
) -> HandlerResult<Json<ListPage<BrainLine>>> {
    let ListQuery { q, state, kind, limit, after } = query;
    let lines = brain::find_lines(space.as_ref(), &BrainQuery { q, state, kind }).await?;
    Ok(Json(ListPage::from_list(lines, &PageQuery { limit, after }, |line| line.id.clone())))
}

async fn add_brain_entry(
    CallerSpace { app, space, .. }: CallerSpace,
    Json(wish): Json<NewBrainText>,
) -> HandlerResult<(StatusCode, Json<BrainLine>)> {
    let line = brain::add_entry(space.as_ref(), wish, app.current_time()).await?;
    Ok((StatusCode::CREATED, Json(line)))
}

async fn get_brain_entry(
    CallerSpace { space, .. }: CallerSpace,
    Path(id): Path<String>,
) -> HandlerResult<Json<BrainLine>> {
    Ok(Json(brain::find_line(space.as_ref(), &id).await?))
}

async fn update_brain_entry(
    CallerSpace { app, space, .. }: CallerSpace,
    Path(id): Path<String>,
    Json(change): Json<BrainTextChange>,
) -> HandlerResult<Json<BrainLine>> {
    Ok(Json(brain::update_entry(space.as_ref(), &id, change, app.current_time()).await?))
}

async fn settle_brain_entry(
    CallerSpace { app, space, .. }: CallerSpace,
    Path(id): Path<String>,
    Json(body): Json<BrainStateBody>,
) -> HandlerResult<Json<BrainLine>> {
    Ok(Json(brain::settle_entry(space.as_ref(), &id, body.state, app.current_time()).await?))
}

async fn delete_brain_entry(
    CallerSpace { space, .. }: CallerSpace,
    Path(id): Path<String>,
) -> HandlerResult<StatusCode> {
    brain::delete_entry(space.as_ref(), &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn get_brain_export(owner: CallerSpace) -> HandlerResult<Response> {
    export_brain_archive(&owner).await
}

/// Everything that counts, as a folder of Markdown in one file.
///
/// # Errors
/// The store refuses.
pub(crate) async fn export_brain_archive(owner: &CallerSpace) -> HandlerResult<Response> {
    let CallerSpace { app, space, .. } = owner;
    let entries = list_entries(space.store().as_ref(), BrainFilter::active_only()).await?;
    let now = app.current_time();
    let packed = run_blocking(move || brain_archive(&entries, now)).await;
    let packed = packed.map_err(ProblemDetails::internal_failure)?;
    let packed = packed.map_err(ProblemDetails::internal_failure)?;
    let headers = [
        (header::CONTENT_TYPE, "application/gzip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"weir-brain.tar.gz\""),
    ];
    Ok((headers, packed).into_response())
}
