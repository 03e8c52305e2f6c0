//! Settings, prompt files and lists (S5, S6, S9).

use axum::Json;
use axum::extract::{Path, Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::lists::{self, AllowListEntry, ListKind};
use weir_install::user_space::{
    PromptFile, PromptSection, PromptText, SettingsChange, SettingsChangeOutcome, SettingsSheet,
};

use crate::app::App;
use crate::auth::events::{self, EventActor};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

/// The routes of this file.
pub(crate) fn settings_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/settings", settings_sheet)
            .summary("Every setting with value, default and origin")
            .gives_json::<SettingsSheet>(200),
        Route::patch("/api/v1/settings", change_settings)
            .summary("Change settings; they count from the next run on")
            .body::<SettingsChange>()
            .gives_json::<SettingsSheet>(200),
        Route::get("/api/v1/settings/preview", preview_prompt)
            .summary("The prompt of a new chat, part by part")
            .gives_json::<Vec<PromptSection>>(200),
        Route::get("/api/v1/settings/prompts/{file}", get_prompt_text)
            .summary("A prompt file (soul, user or personality) with its versions")
            .gives_json::<PromptText>(200),
        Route::put("/api/v1/settings/prompts/{file}", save_prompt)
            .summary("Save a prompt file as a new version")
            .body::<NewText>()
            .gives_json::<PromptText>(200),
        Route::get("/api/v1/settings/lists/{list}", get_allow_list)
            .summary("An allow-list (hosts or recipients): the house's entries and one's own")
            .gives_json::<Vec<AllowListEntry>>(200),
        Route::put("/api/v1/settings/lists/{list}", post_allowed_value)
            .summary("Put a host or address on an allow-list")
            .body::<NewAllowed>()
            .gives_json::<Vec<AllowListEntry>>(200),
        Route::delete("/api/v1/settings/lists/{list}", delete_allowed_value)
            .summary("Take a host or address off an allow-list")
            .query::<NewAllowed>()
            .gives_json::<Vec<AllowListEntry>>(200),
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

async fn settings_sheet(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<SettingsSheet>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.settings_sheet().await?))
}

async fn change_settings(
    State(app): State<App>,
    caller: Caller,
    Json(change): Json<SettingsChange>,
) -> HandlerResult<Json<SettingsSheet>> {
    apply_settings_change(&app, &caller, &change).await?;
    settings_sheet(State(app), caller).await
}

/// Changes settings, and keeps who changed what holds for everybody.
pub(crate) async fn apply_settings_change(
    app: &App,
    caller: &Caller,
    change: &SettingsChange,
) -> HandlerResult<()> {
    if change.for_all && !caller.person.is_admin() {
        return Err(ProblemDetails::not_permitted(
            "only an admin may set what holds for everybody",
        ));
    }
    let home = app.home(&caller.person).await?;
    match home.change_settings(change).await? {
        SettingsChangeOutcome::Stale(now) => Err(ProblemDetails::conflict(format!(
            "somebody changed these settings meanwhile (version {now}); look at them again"
        ))),
        SettingsChangeOutcome::Kept(_) if change.for_all => {
            let values: Vec<String> =
                change.values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            note_settings_change(app, caller, "settings_changed", &values.join(", ")).await
        }
        SettingsChangeOutcome::Kept(_) => Ok(()),
    }
}

/// Keeps that somebody changed something that guards.
async fn note_settings_change(
    app: &App,
    caller: &Caller,
    what: &str,
    detail: &str,
) -> HandlerResult<()> {
    let detail: String = detail.chars().take(500).collect();
    let doer = EventActor { by: &caller.person.name, address: None };
    let account = &caller.person.name;
    events::record_event(&app.doorman.shelf, doer, what, account, &detail).await
}

async fn preview_prompt(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<Vec<PromptSection>>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.preview_prompt().await?))
}

fn file_named(name: &str) -> HandlerResult<PromptFile> {
    PromptFile::from_name(name)
        .ok_or_else(|| ProblemDetails::not_found(format!("a prompt file {name:?}")))
}

async fn get_prompt_text(
    State(app): State<App>,
    caller: Caller,
    Path(file): Path<String>,
) -> HandlerResult<Json<PromptText>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(home.prompt_text(file_named(&file)?).await?))
}

async fn save_prompt(
    State(app): State<App>,
    caller: Caller,
    Path(file): Path<String>,
    Json(new): Json<NewText>,
) -> HandlerResult<Json<PromptText>> {
    let file = file_named(&file)?;
    let home = app.home(&caller.person).await?;
    home.save_prompt(file, &new.text, new.version).await?;
    Ok(Json(home.prompt_text(file).await?))
}

/// The list of this name in an address.
pub(crate) fn list_named(name: &str) -> HandlerResult<ListKind> {
    match name {
        "hosts" => Ok(ListKind::Hosts),
        "recipients" => Ok(ListKind::Recipients),
        _ => Err(ProblemDetails::not_found(format!("a list {name:?}"))),
    }
}

async fn get_allow_list(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<Json<Vec<AllowListEntry>>> {
    let kind = list_named(&name)?;
    Ok(Json(
        lists::list_entries(app.records.as_ref(), kind, &caller.person.id, app.current_time())
            .await?,
    ))
}

async fn post_allowed_value(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(new): Json<NewAllowed>,
) -> HandlerResult<Json<Vec<AllowListEntry>>> {
    let kind = list_named(&name)?;
    put_on_list(&app, &caller, kind, new.for_all, &new.value).await?;
    get_allow_list(State(app), caller, Path(name)).await
}

/// Puts a value on a list. What holds from then on is seen by the next run.
pub(crate) async fn put_on_list(
    app: &App,
    caller: &Caller,
    kind: ListKind,
    for_all: bool,
    value: &str,
) -> HandlerResult<()> {
    let now = app.current_time();
    let value =
        lists::add_entry(app.records.as_ref(), (kind, &caller.person, for_all), value, now).await?;
    note_settings_change(app, caller, "allowed", &describe_list_entry(kind, &value, for_all))
        .await?;
    app.home(&caller.person).await?.renew();
    Ok(())
}

/// Takes a value off a list.
pub(crate) async fn take_off_list(
    app: &App,
    caller: &Caller,
    kind: ListKind,
    for_all: bool,
    value: &str,
) -> HandlerResult<()> {
    let there = lists::remove(app.records.as_ref(), (kind, &caller.person, for_all), value).await?;
    if !there {
        return Err(ProblemDetails::not_found(format!("{value:?} on this list")));
    }
    note_settings_change(app, caller, "disallowed", &describe_list_entry(kind, value, for_all))
        .await?;
    app.home(&caller.person).await?.renew();
    Ok(())
}

fn describe_list_entry(kind: ListKind, value: &str, for_all: bool) -> String {
    let list = match kind {
        ListKind::Hosts => "host",
        ListKind::Recipients => "recipient",
    };
    format!("{list} {value}{}", if for_all { " for everybody" } else { "" })
}

async fn delete_allowed_value(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(old): Query<NewAllowed>,
) -> HandlerResult<Json<Vec<AllowListEntry>>> {
    let kind = list_named(&name)?;
    take_off_list(&app, &caller, kind, old.for_all, &old.value).await?;
    get_allow_list(State(app), caller, Path(name)).await
}
