//! Skills, recipes, made tools, profiles, plugins, foreign servers, built-in tools: listed, shown,
//! and a person's word about them.

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};
use weir_install::user_space::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryShelf,
};

use super::page::{ListPage, PageQuery};
use crate::auth::events::{self, EventActor};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;

/// A person's word.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LibraryActionBody {
    /// The `hash` of what was shown.
    hash: String,
    /// Words from outside went into it, and they were read.
    untrusted: bool,
    /// A skill or recipe that waits is accepted with this text in place of the one that was proposed
    /// (`waiting.editable`).
    text: Option<String>,
}

impl LibraryActionBody {
    /// The text that the person wrote.
    pub(crate) fn own_words(&self) -> Option<&str> {
        self.text.as_deref()
    }
}

/// What was done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    CallerSpace { space, .. }: CallerSpace,
    Path(word): Path<String>,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<LibraryLine>>> {
    let all = space.list_shelf(parse_shelf(&word)?).await?;
    Ok(Json(ListPage::from_list(all.lines, &query, |line| line.name.clone())))
}

/// A thing of the library, as addresses name it.
#[derive(Debug, Deserialize)]
pub(crate) struct LibraryItemPath {
    /// Word of its shelf.
    pub(crate) shelf: String,
    /// The name of the thing on its shelf.
    pub(crate) name: String,
}

/// The same, and what is done with it.
#[derive(Debug, Deserialize)]
pub(crate) struct LibraryActionPath {
    /// Word of its shelf.
    pub(crate) shelf: String,
    /// The name of the thing on its shelf.
    pub(crate) name: String,
    /// Word of the deed.
    pub(crate) deed: String,
}

async fn show_library_item(
    CallerSpace { space, .. }: CallerSpace,
    Path(LibraryItemPath { shelf, name }): Path<LibraryItemPath>,
) -> HandlerResult<Json<LibraryItem>> {
    Ok(Json(space.find_item(parse_shelf(&shelf)?, &name).await?))
}

async fn probe_library_item(
    CallerSpace { caller, space, .. }: CallerSpace,
    Path(LibraryItemPath { shelf, name }): Path<LibraryItemPath>,
) -> HandlerResult<Json<LibraryItem>> {
    let shelf = parse_shelf(&shelf)?;
    check_probe_caller(&caller, shelf)?;
    Ok(Json(space.inspect_item(shelf, &name).await?))
}

/// That a caller may look at what is there now: a foreign server is started for that.
///
/// # Errors
/// It is a paired telephone, which starts no programs.
pub(crate) fn check_probe_caller(caller: &Caller, shelf: LibraryShelf) -> HandlerResult<()> {
    if shelf == LibraryShelf::Servers {
        caller.refuse_phone("starting a server")?;
    }
    Ok(())
}

/// Whether a paired telephone may decide this. What starts programs from then on, or is set for longer than
/// the pairing, it only refuses and switches off.
pub(crate) fn may_decide(caller: &Caller, shelf: LibraryShelf, deed: LibraryAction) -> bool {
    let is_lasting = match shelf {
        LibraryShelf::Made
        | LibraryShelf::Servers
        | LibraryShelf::Plugins
        | LibraryShelf::Settings => true,
        LibraryShelf::Skills
        | LibraryShelf::Recipes
        | LibraryShelf::Profiles
        | LibraryShelf::Tools => false,
    };
    let is_narrower = matches!(deed, LibraryAction::Reject | LibraryAction::Disable);
    !is_lasting || is_narrower || caller.phone_login().is_none()
}

async fn act_on_library_item(
    owner: CallerSpace,
    Path(LibraryActionPath { shelf, name, deed }): Path<LibraryActionPath>,
    Json(said): Json<LibraryActionBody>,
) -> HandlerResult<Json<LibraryActionResult>> {
    let item = LibraryItemPath { shelf, name };
    let done = decide_about_item(&owner, &item, &deed, &said).await?;
    Ok(Json(LibraryActionResult { done }))
}

/// Does what a person decided about a thing of the library: what was done, in words.
///
/// # Errors
/// There is no such shelf, thing or deed, it cannot be done, or not from a paired telephone: why.
pub(crate) async fn decide_about_item(
    owner: &CallerSpace,
    item: &LibraryItemPath,
    deed: &str,
    said: &LibraryActionBody,
) -> HandlerResult<String> {
    let shelf = parse_shelf(&item.shelf)?;
    let Some(deed) = LibraryAction::from_word(deed) else {
        return Err(ProblemDetails::not_found(format!("the deed {deed:?}")));
    };
    if !may_decide(&owner.caller, shelf, deed) {
        owner.caller.refuse_phone("approving, switching on or removing what stands there")?;
    }
    // A browser ends the lines of a form in its own way.
    let text = said.text.as_ref().map(|text| text.replace("\r\n", "\n"));
    let by = owner.caller.journal_name();
    let decision = LibraryDecision {
        deed,
        hash: &said.hash,
        untrusted: said.untrusted,
        own_words: text.as_deref(),
        by: &by,
    };
    let done = owner.space.apply_decision(shelf, &item.name, decision).await?;
    if text.is_some() {
        let doer = EventActor { by: &by, address: None };
        let detail = format!("{} {}", shelf.path_word(), item.name);
        let account = &owner.caller.person.name;
        events::record_event(&owner.app.auth.shelf, doer, "proposal_edited", account, &detail)
            .await?;
    }
    Ok(done)
}
