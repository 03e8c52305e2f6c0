//! The kill switch (S4): one's own sessions, or everybody's.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_engine::ports::StorePause;

use crate::app::App;
use crate::caller::Caller;
use crate::live::pause;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

/// Longest reason, in characters.
const REASON_CHARS_MAX: usize = 1_000;

/// The routes of this file.
pub(crate) fn pause_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/pause", get)
            .summary("Whether your sessions are paused")
            .gives_json::<PauseStatus>(200),
        Route::post("/api/v1/pause", post_pause)
            .summary("End all runs and start none; `all` for everybody (admin)")
            .body::<PauseBody>()
            .gives_json::<PauseStatus>(200),
        Route::post("/api/v1/release", post_release)
            .summary("Let runs start again; `all` for everybody (admin)")
            .body::<ReleaseBody>()
            .gives_json::<PauseStatus>(200),
    ]
}

/// Whose sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PauseBody {
    /// Everybody's; admins only.
    all: bool,
    /// Why, in your words.
    reason: String,
}

/// Whose sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReleaseBody {
    /// Everybody's; admins only.
    all: bool,
}

/// How it stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PauseStatus {
    /// Your sessions are paused.
    pub(crate) paused: bool,
    /// Everybody's are: only an admin releases that.
    pub(crate) all: bool,
    /// Since when.
    pub(crate) since: Option<Timestamp>,
    /// Who did it.
    pub(crate) by: Option<String>,
    /// Why.
    pub(crate) reason: String,
}

/// How it stands for a person.
///
/// # Errors
/// The database refuses.
pub(crate) async fn read_pause_status(app: &App, caller: &Caller) -> HandlerResult<PauseStatus> {
    let all = pause::of_house(app).await?.is_some();
    let home = app.home(&caller.person).await?;
    let found = pause::of_home(app, home.as_ref()).await?;
    Ok(PauseStatus {
        paused: found.is_some(),
        all,
        since: found.as_ref().map(|pause| pause.since),
        by: found.as_ref().map(|pause| pause.by.clone()),
        reason: found.map(|pause| pause.reason).unwrap_or_default(),
    })
}

async fn get(State(app): State<App>, caller: Caller) -> HandlerResult<Json<PauseStatus>> {
    Ok(Json(read_pause_status(&app, &caller).await?))
}

fn only_admins(caller: &Caller) -> HandlerResult<()> {
    match caller.person.is_admin() {
        true => Ok(()),
        false => Err(ProblemDetails::not_permitted("only an admin pauses and releases everybody")),
    }
}

async fn post_pause(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<PauseBody>,
) -> HandlerResult<Json<PauseStatus>> {
    pause_sessions(&app, &caller, body.all, &body.reason).await?;
    Ok(Json(read_pause_status(&app, &caller).await?))
}

/// Throws the switch. Thrown twice, the newer reason stands.
///
/// # Errors
/// `all` and not an admin; the database refuses.
pub(crate) async fn pause_sessions(
    app: &App,
    caller: &Caller,
    all: bool,
    reason: &str,
) -> HandlerResult<()> {
    let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
    let pause = StorePause { since: app.current_time(), by: caller.journal_name(), reason };
    if all {
        only_admins(caller)?;
        return pause::pause_all(app, &pause).await;
    }
    Ok(app.home(&caller.person).await?.store().set_paused(Some(pause)).await?)
}

async fn post_release(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<ReleaseBody>,
) -> HandlerResult<Json<PauseStatus>> {
    release_sessions(&app, &caller, body.all).await?;
    Ok(Json(read_pause_status(&app, &caller).await?))
}

/// Lets runs start again.
///
/// # Errors
/// `all` and not an admin; everybody is paused, which only an admin ends; the database refuses.
pub(crate) async fn release_sessions(app: &App, caller: &Caller, all: bool) -> HandlerResult<()> {
    if all {
        only_admins(caller)?;
        return pause::release_all(app).await;
    }
    if pause::of_house(app).await?.is_some() {
        return Err(ProblemDetails::conflict(
            "everybody is paused; an admin releases that with `all`",
        ));
    }
    Ok(app.home(&caller.person).await?.store().set_paused(None).await?)
}
