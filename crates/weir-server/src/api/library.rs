//! Skills, recipes, made tools, profiles, plugins, foreign servers, built-in tools: listed, shown,
//! and a person's word about them.

use axum::Json;
use axum::extract::{Path, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::user_space::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryShelf,
};

use super::page::{ListPage, PageQuery};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

/// A person's word.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LibraryActionBody {
    /// The `hash` of what was shown.
    hash: String,
    /// Words from outside went into it, and they were read.
    untrusted: bool,
}

/// What was done.
#[derive(Debug, Serialize, JsonSchema)]
struct LibraryActionResult {
    /// In words.
    done: String,
}

/// The routes of this file.
pub(crate) fn library_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/library/{shelf}", list_shelf)
            .summary("A shelf of the library: skills, recipes, made, servers, plugins, profiles or tools")
            .query::<PageQuery>()
            .gives_json::<ListPage<LibraryLine>>(200),
        Route::get("/api/v1/library/{shelf}/{name}", show_library_item)
            .summary("One thing of the library, with what waits of it")
            .gives_json::<LibraryItem>(200),
        Route::post("/api/v1/library/{shelf}/{name}/look", probe_library_item)
            .summary("Start a foreign server and ask what it offers now")
            .gives_json::<LibraryItem>(200),
        Route::post("/api/v1/library/{shelf}/{name}/{deed}", act_on_library_item)
            .summary("Accept, reject, enable, disable, approve or remove")
            .body::<LibraryActionBody>()
            .gives_json::<LibraryActionResult>(200),
    ]
}

/// The shelf of a word.
///
/// # Errors
/// There is none.
pub(crate) fn parse_shelf(word: &str) -> HandlerResult<LibraryShelf> {
    LibraryShelf::from_word(word)
        .ok_or_else(|| ProblemDetails::not_found(format!("the shelf {word:?}")))
}

async fn list_shelf(
    State(app): State<App>,
    caller: Caller,
    Path(word): Path<String>,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<LibraryLine>>> {
    let home = app.home(&caller.person).await?;
    let all = home.list_shelf(parse_shelf(&word)?).await?;
    Ok(Json(ListPage::from_list(all.lines, &query, |line| line.name.clone())))
}

async fn show_library_item(
    State(app): State<App>,
    caller: Caller,
    Path((word, name)): Path<(String, String)>,
) -> HandlerResult<Json<LibraryItem>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.find_item(parse_shelf(&word)?, &name).await?))
}

async fn probe_library_item(
    State(app): State<App>,
    caller: Caller,
    Path((word, name)): Path<(String, String)>,
) -> HandlerResult<Json<LibraryItem>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.inspect_item(parse_shelf(&word)?, &name).await?))
}

async fn act_on_library_item(
    State(app): State<App>,
    caller: Caller,
    Path((word, name, deed)): Path<(String, String, String)>,
    Json(said): Json<LibraryActionBody>,
) -> HandlerResult<Json<LibraryActionResult>> {
    let home = app.home(&caller.person).await?;
    let Some(deed) = LibraryAction::from_word(&deed) else {
        return Err(ProblemDetails::not_found(format!("the deed {deed:?}")));
    };
    let word_said = LibraryDecision { deed, hash: &said.hash, untrusted: said.untrusted };
    let done = home.apply_decision(parse_shelf(&word)?, &name, word_said).await?;
    Ok(Json(LibraryActionResult { done }))
}
