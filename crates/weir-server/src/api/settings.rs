//! Settings, prompt files and lists (S5, S6, S9).

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use weir_install::lists::{self, AllowListEntry, ListKind, OwnedList};
use weir_install::user_space::{
    PromptFile, PromptSection, PromptText, SettingsChange, SettingsChangeOutcome, SettingsSheet,
};

use crate::app::App;
use crate::auth::events::{self, EventActor};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::{ReplyTo, SentBody};
use crate::route::Route;

/// The page of the allow-lists, after one was changed.
pub(crate) const LISTS_PAGE: &str = "/settings?section=lists&saved=1";

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
            .summary(
                "An allow-list (hosts or recipients): the installation's entries and one's own",
            )
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
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct NewText {
    /// The whole text; empty: nothing is told.
    text: String,
    /// Only if this is the newest version (0: there is none yet).
    #[serde(default)]
    version: Option<u64>,
}

/// A value of an allow-list.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAllowed {
    /// The host or address.
    pub(crate) value: String,
    /// For everybody, and not for oneself alone: only an admin may.
    #[serde(default)]
    pub(crate) for_all: bool,
}

async fn settings_sheet(
    CallerSpace { space, .. }: CallerSpace,
) -> HandlerResult<Json<SettingsSheet>> {
    Ok(Json(space.settings_sheet().await?))
}

async fn change_settings(
    owner: CallerSpace,
    Json(change): Json<SettingsChange>,
) -> HandlerResult<Json<SettingsSheet>> {
    apply_settings_change(&owner, &change).await?;
    settings_sheet(owner).await
}

/// Changes settings, and keeps who changed what holds for everybody.
pub(crate) async fn apply_settings_change(
    owner: &CallerSpace,
    change: &SettingsChange,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    if change.for_all {
        caller.refuse_phone("setting what holds for everybody")?;
    }
    if change.for_all && !caller.is_admin() {
        return Err(ProblemDetails::not_permitted(
            "only an admin may set what holds for everybody",
        ));
    }
    match space.change_settings(change).await? {
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
    let by = caller.journal_name();
    let doer = EventActor { by: &by, address: None };
    let account = &caller.person.name;
    events::record_event(&app.auth.shelf, doer, what, account, &detail).await
}

async fn preview_prompt(
    CallerSpace { space, .. }: CallerSpace,
) -> HandlerResult<Json<Vec<PromptSection>>> {
    Ok(Json(space.preview_prompt().await?))
}

fn file_named(name: &str) -> HandlerResult<PromptFile> {
    PromptFile::from_name(name)
        .ok_or_else(|| ProblemDetails::not_found(format!("a prompt file {name:?}")))
}

async fn get_prompt_text(
    CallerSpace { space, .. }: CallerSpace,
    Path(file): Path<String>,
) -> HandlerResult<Json<PromptText>> {
    Ok(Json(space.prompt_text(file_named(&file)?).await?))
}

async fn save_prompt(
    CallerSpace { space, .. }: CallerSpace,
    Path(file): Path<String>,
    Json(new): Json<NewText>,
) -> HandlerResult<Json<PromptText>> {
    let file = file_named(&file)?;
    space.save_prompt(file, &new.text, new.version).await?;
    Ok(Json(space.prompt_text(file).await?))
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

pub(crate) async fn post_allowed_value(
    owner: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
    SentBody(new): SentBody<NewAllowed>,
) -> HandlerResult<Response> {
    let kind = list_named(&name)?;
    put_on_list(&owner, kind, new.for_all, &new.value).await?;
    let entries = get_allow_list(State(owner.app), owner.caller, Path(name)).await?;
    Ok(reply.answer_done(LISTS_PAGE, entries))
}

/// That a caller may change this list; who is an admin, the list itself asks.
fn check_list_caller(caller: &Caller, for_all: bool) -> HandlerResult<()> {
    match for_all {
        true => caller.refuse_phone("changing a list for everybody"),
        false => Ok(()),
    }
}

/// Puts a value on a list. What holds from then on is seen by the next run.
async fn put_on_list(
    owner: &CallerSpace,
    kind: ListKind,
    for_all: bool,
    value: &str,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    check_list_caller(caller, for_all)?;
    let now = app.current_time();
    let list = OwnedList { kind, person: &caller.person, for_all };
    let value = lists::add_entry(app.records.as_ref(), list, value, now).await?;
    note_settings_change(app, caller, "allowed", &describe_list_entry(kind, &value, for_all))
        .await?;
    space.renew();
    Ok(())
}

/// Takes a value off a list.
pub(crate) async fn take_off_list(
    owner: &CallerSpace,
    kind: ListKind,
    for_all: bool,
    value: &str,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    check_list_caller(caller, for_all)?;
    let list = OwnedList { kind, person: &caller.person, for_all };
    let there = lists::remove(app.records.as_ref(), list, value).await?;
    if !there {
        return Err(ProblemDetails::not_found(format!("{value:?} on this list")));
    }
    note_settings_change(app, caller, "disallowed", &describe_list_entry(kind, value, for_all))
        .await?;
    space.renew();
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
    owner: CallerSpace,
    Path(name): Path<String>,
    Query(old): Query<NewAllowed>,
) -> HandlerResult<Json<Vec<AllowListEntry>>> {
    let kind = list_named(&name)?;
    take_off_list(&owner, kind, old.for_all, &old.value).await?;
    get_allow_list(State(owner.app), owner.caller, Path(name)).await
}
