//! Settings, prompt files and lists (S5, S6, S9).

use axum::Json;
use axum::extract::{Path, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::lists::{self, Allowed, ListKind};
use weir_install::user_space::{
    Changed, PromptFile, PromptSection, PromptText, SettingsChange, SettingsSheet,
};

use crate::app::App;
use crate::auth::events::{self, Doer};
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/settings", sheet)
            .summary("Every setting with value, default and origin")
            .gives::<SettingsSheet>(200),
        Route::patch("/api/v1/settings", change)
            .summary("Change settings; they count from the next run on")
            .body::<SettingsChange>()
            .gives::<SettingsSheet>(200),
        Route::get("/api/v1/settings/preview", preview)
            .summary("The prompt of a new chat, part by part")
            .gives::<Vec<PromptSection>>(200),
        Route::get("/api/v1/settings/prompts/{file}", prompt)
            .summary("A prompt file (soul, user or personality) with its versions")
            .gives::<PromptText>(200),
        Route::put("/api/v1/settings/prompts/{file}", save_prompt)
            .summary("Save a prompt file as a new version")
            .body::<NewText>()
            .gives::<PromptText>(200),
        Route::get("/api/v1/settings/lists/{list}", list)
            .summary("An allow-list (hosts or recipients): the house's entries and one's own")
            .gives::<Vec<Allowed>>(200),
        Route::put("/api/v1/settings/lists/{list}", allow)
            .summary("Put a host or address on an allow-list")
            .body::<NewAllowed>()
            .gives::<Vec<Allowed>>(200),
        Route::delete("/api/v1/settings/lists/{list}", disallow)
            .summary("Take a host or address off an allow-list")
            .query::<NewAllowed>()
            .gives::<Vec<Allowed>>(200),
    ]
}

/// A text to be saved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewText {
    /// The whole text; empty: nothing is told.
    text: String,
    /// Only if this is the newest version (0: there is none yet).
    #[serde(default)]
    version: Option<u64>,
}

/// A value of an allow-list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewAllowed {
    /// The host or address.
    value: String,
    /// For everybody, and not for oneself alone: only an admin may.
    #[serde(default)]
    for_all: bool,
}

async fn sheet(State(app): State<App>, caller: Caller) -> Answer<Json<SettingsSheet>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.settings_sheet().await?))
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    Json(change): Json<SettingsChange>,
) -> Answer<Json<SettingsSheet>> {
    apply(&app, &caller, &change).await?;
    sheet(State(app), caller).await
}

/// Changes settings, and keeps who changed what holds for everybody.
pub(crate) async fn apply(app: &App, caller: &Caller, change: &SettingsChange) -> Answer<()> {
    if change.for_all && !caller.person.is_admin() {
        return Err(Problem::forbidden("only an admin may set what holds for everybody"));
    }
    let home = app.home(&caller.person).await?;
    match home.change_settings(change).await? {
        Changed::Stale(now) => Err(Problem::conflict(format!(
            "somebody changed these settings meanwhile (version {now}); look at them again"
        ))),
        Changed::Kept(_) if change.for_all => {
            let values: Vec<String> =
                change.values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let what = ("settings_changed", caller.person.name.as_str());
            note(app, caller, what, &values.join(", ")).await
        }
        Changed::Kept(_) => Ok(()),
    }
}

/// Keeps that somebody changed something that guards.
async fn note(app: &App, caller: &Caller, what: (&str, &str), detail: &str) -> Answer<()> {
    let detail: String = detail.chars().take(500).collect();
    let doer = Doer { by: &caller.person.name, address: None };
    events::note(&app.doorman.shelf, doer, what, &detail).await
}

async fn preview(State(app): State<App>, caller: Caller) -> Answer<Json<Vec<PromptSection>>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.preview_prompt().await?))
}

fn file_named(name: &str) -> Answer<PromptFile> {
    PromptFile::named(name).ok_or_else(|| Problem::missing(format!("a prompt file {name:?}")))
}

async fn prompt(
    State(app): State<App>,
    caller: Caller,
    Path(file): Path<String>,
) -> Answer<Json<PromptText>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.prompt_text(file_named(&file)?).await?))
}

async fn save_prompt(
    State(app): State<App>,
    caller: Caller,
    Path(file): Path<String>,
    Json(new): Json<NewText>,
) -> Answer<Json<PromptText>> {
    let file = file_named(&file)?;
    let home = app.home(&caller.person).await?;
    home.save_prompt(file, &new.text, new.version).await?;
    Ok(Json(home.prompt_text(file).await?))
}

/// The list of this name in an address.
pub(crate) fn list_named(name: &str) -> Answer<ListKind> {
    match name {
        "hosts" => Ok(ListKind::Hosts),
        "recipients" => Ok(ListKind::Recipients),
        _ => Err(Problem::missing(format!("a list {name:?}"))),
    }
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<Json<Vec<Allowed>>> {
    let kind = list_named(&name)?;
    Ok(Json(lists::all(app.records.as_ref(), kind, &caller.person.id, app.now()).await?))
}

async fn allow(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(new): Json<NewAllowed>,
) -> Answer<Json<Vec<Allowed>>> {
    let kind = list_named(&name)?;
    put_on_list(&app, &caller, (kind, new.for_all), &new.value).await?;
    list(State(app), caller, Path(name)).await
}

/// Puts a value on a list. What holds from then on is seen by the next run.
pub(crate) async fn put_on_list(
    app: &App,
    caller: &Caller,
    (kind, for_all): (ListKind, bool),
    value: &str,
) -> Answer<()> {
    let now = app.now();
    let value =
        lists::add(app.records.as_ref(), (kind, &caller.person, for_all), value, now).await?;
    let what = ("allowed", caller.person.name.as_str());
    note(app, caller, what, &told(kind, &value, for_all)).await?;
    app.home(&caller.person).await?.renew();
    Ok(())
}

/// Takes a value off a list.
pub(crate) async fn take_off_list(
    app: &App,
    caller: &Caller,
    (kind, for_all): (ListKind, bool),
    value: &str,
) -> Answer<()> {
    let there = lists::remove(app.records.as_ref(), (kind, &caller.person, for_all), value).await?;
    if !there {
        return Err(Problem::missing(format!("{value:?} on this list")));
    }
    let what = ("disallowed", caller.person.name.as_str());
    note(app, caller, what, &told(kind, value, for_all)).await?;
    app.home(&caller.person).await?.renew();
    Ok(())
}

fn told(kind: ListKind, value: &str, for_all: bool) -> String {
    let list = match kind {
        ListKind::Hosts => "host",
        ListKind::Recipients => "recipient",
    };
    format!("{list} {value}{}", if for_all { " for everybody" } else { "" })
}

async fn disallow(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(old): Query<NewAllowed>,
) -> Answer<Json<Vec<Allowed>>> {
    let kind = list_named(&name)?;
    take_off_list(&app, &caller, (kind, old.for_all), &old.value).await?;
    list(State(app), caller, Path(name)).await
}
