//! Skills, recipes, made tools, profiles, plugins, foreign servers, built-in tools: listed, shown,
//! and a person's word about them.

use axum::Json;
use axum::extract::{Path, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::user_space::{Deed, LibraryItem, LibraryLine, Shelf, Word};

use super::page::{Page, PageQuery};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;

/// A person's word.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Said {
    /// The `hash` of what was shown.
    hash: String,
    /// Words from outside went into it, and they were read.
    untrusted: bool,
}

/// What was done.
#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    /// In words.
    done: String,
}

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/library/{shelf}", list)
            .summary("A shelf of the library: skills, recipes, made, servers, plugins, profiles or tools")
            .query::<PageQuery>()
            .gives::<Page<LibraryLine>>(200),
        Route::get("/api/v1/library/{shelf}/{name}", show)
            .summary("One thing of the library, with what waits of it")
            .gives::<LibraryItem>(200),
        Route::post("/api/v1/library/{shelf}/{name}/look", look)
            .summary("Start a foreign server and ask what it offers now")
            .gives::<LibraryItem>(200),
        Route::post("/api/v1/library/{shelf}/{name}/{deed}", act)
            .summary("Accept, reject, enable, disable, approve or remove")
            .body::<Said>()
            .gives::<Done>(200),
    ]
}

/// The shelf of a word.
///
/// # Errors
/// There is none.
pub(crate) fn shelf(word: &str) -> Answer<Shelf> {
    Shelf::of(word).ok_or_else(|| Problem::missing(format!("the shelf {word:?}")))
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(word): Path<String>,
    Query(query): Query<PageQuery>,
) -> Answer<Json<Page<LibraryLine>>> {
    let home = app.home(&caller.person).await?;
    let all = home.list_shelf(shelf(&word)?).await?;
    Ok(Json(Page::of(all.lines, &query, |line| line.name.clone())))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((word, name)): Path<(String, String)>,
) -> Answer<Json<LibraryItem>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.find_item(shelf(&word)?, &name).await?))
}

async fn look(
    State(app): State<App>,
    caller: Caller,
    Path((word, name)): Path<(String, String)>,
) -> Answer<Json<LibraryItem>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.inspect_item(shelf(&word)?, &name).await?))
}

async fn act(
    State(app): State<App>,
    caller: Caller,
    Path((word, name, deed)): Path<(String, String, String)>,
    Json(said): Json<Said>,
) -> Answer<Json<Done>> {
    let home = app.home(&caller.person).await?;
    let Some(deed) = Deed::of(&deed) else {
        return Err(Problem::missing(format!("the deed {deed:?}")));
    };
    let word_said = Word { deed, hash: &said.hash, untrusted: said.untrusted };
    let done = home.apply_decision(shelf(&word)?, &name, word_said).await?;
    Ok(Json(Done { done }))
}
