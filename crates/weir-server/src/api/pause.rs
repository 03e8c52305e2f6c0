//! The kill switch (S4): one's own sessions, or everybody's.

use axum::Json;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_engine::ports::StorePause;

use crate::caller::Caller;
use crate::live::pause;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::{ReplyTo, SentBody};
use crate::route::Route;

/// Longest reason, in characters.
const REASON_CHARS_MAX: usize = 1_000;
/// The page of the switch.
const PAGE: &str = "/pause";

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
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PauseBody {
    /// Everybody's; admins only.
    all: bool,
    /// Why, in your words.
    reason: String,
}

/// Whose sessions.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReleaseBody {
    /// Everybody's; admins only.
    all: bool,
}

/// How it stands.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PauseStatus {
    /// Your sessions are paused.
    pub(crate) paused: bool,
    /// Everybody's are: only an admin releases that.
    pub(crate) all: bool,
    /// Since when.
    pub(crate) since: Option<Timestamp>,
    /// The name of the person who did it.
    pub(crate) by: Option<String>,
    /// Why.
    pub(crate) reason: String,
}

/// How it stands for a person.
///
/// # Errors
/// The database refuses.
pub(crate) async fn read_pause_status(owner: &CallerSpace) -> HandlerResult<PauseStatus> {
    let CallerSpace { app, space, .. } = owner;
    let all = pause::of_installation(app).await?.is_some();
    let found = pause::of_space(app, space.as_ref()).await?;
    Ok(PauseStatus {
        paused: found.is_some(),
        all,
        since: found.as_ref().map(|pause| pause.since),
        by: found.as_ref().map(|pause| pause.by.clone()),
        reason: found.map(|pause| pause.reason).unwrap_or_default(),
    })
}

async fn get(owner: CallerSpace) -> HandlerResult<Json<PauseStatus>> {
    Ok(Json(read_pause_status(&owner).await?))
}

fn only_admins(caller: &Caller) -> HandlerResult<()> {
    match caller.is_admin() {
        true => Ok(()),
        false => Err(ProblemDetails::not_permitted("only an admin pauses and releases everybody")),
    }
}

pub(crate) async fn post_pause(
    owner: CallerSpace,
    reply: ReplyTo,
    SentBody(body): SentBody<PauseBody>,
) -> HandlerResult<Response> {
    pause_sessions(&owner, body.all, &body.reason).await?;
    Ok(reply.answer_done(PAGE, Json(read_pause_status(&owner).await?)))
}

/// Throws the switch. Thrown twice, the newer reason stands.
///
/// # Errors
/// `all` and not an admin; the database refuses.
pub(crate) async fn pause_sessions(
    owner: &CallerSpace,
    all: bool,
    reason: &str,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    let reason: String = reason.trim().chars().take(REASON_CHARS_MAX).collect();
    let pause = StorePause { since: app.current_time(), by: caller.journal_name(), reason };
    if all {
        only_admins(caller)?;
        return pause::pause_all(app, &pause).await;
    }
    Ok(space.store().set_paused(Some(pause)).await?)
}

pub(crate) async fn post_release(
    owner: CallerSpace,
    reply: ReplyTo,
    SentBody(body): SentBody<ReleaseBody>,
) -> HandlerResult<Response> {
    release_sessions(&owner, body.all).await?;
    Ok(reply.answer_done(PAGE, Json(read_pause_status(&owner).await?)))
}

/// Lets runs start again.
///
/// # Errors
/// `all` and not an admin; everybody is paused, which only an admin ends; the database refuses.
pub(crate) async fn release_sessions(owner: &CallerSpace, all: bool) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    if all {
        only_admins(caller)?;
        return pause::release_all(app).await;
    }
    if pause::of_installation(app).await?.is_some() {
        return Err(ProblemDetails::conflict(
            "everybody is paused; an admin releases that for everybody, on the page of the kill switch or \
             with `all`",
        ));
    }
    Ok(space.store().set_paused(None).await?)
}
