//! Scheduled agents (S8): define, list, run now, pause, history.

use axum::Json;
use axum::extract::{Path, Query, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::user_space::{AgentChoices, AgentWish};

use super::page::{Page, PageQuery};
use crate::agents::{self, AgentLine, RunLine, ScheduleTold};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;

/// Runs of a history that can be asked for.
const HISTORY_MAX: usize = 1_000;

/// An agent that was kept.
#[derive(Debug, Serialize, JsonSchema)]
struct Defined {
    /// It.
    #[serde(flatten)]
    line: AgentLine,
    /// What should be known of it.
    notes: Vec<String>,
}

/// Which schedule.
#[derive(Debug, Deserialize, JsonSchema)]
struct ScheduleQuery {
    /// A cron expression.
    cron: String,
    /// The zone in which it is read; without it: UTC.
    timezone: Option<String>,
}

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/agents", list)
            .summary("Your scheduled agents")
            .query::<PageQuery>()
            .gives::<Page<AgentLine>>(200),
        Route::post("/api/v1/agents", add)
            .summary("Define a scheduled agent")
            .body::<AgentWish>()
            .gives::<Defined>(201),
        Route::get("/api/v1/agents/{name}", show)
            .summary("One scheduled agent")
            .gives::<AgentLine>(200),
        Route::put("/api/v1/agents/{name}", replace)
            .summary("Put another definition in an agent's place")
            .body::<AgentWish>()
            .gives::<Defined>(200),
        Route::delete("/api/v1/agents/{name}", remove)
            .summary("Take an agent away; its history and sessions stay")
            .gives_nothing(204),
        Route::post("/api/v1/agents/{name}/run", run)
            .summary("Run an agent now")
            .gives::<RunLine>(202),
        Route::post("/api/v1/agents/{name}/pause", pause)
            .summary("Stop an agent's ticks; a run under way goes on")
            .gives::<AgentLine>(200),
        Route::post("/api/v1/agents/{name}/resume", resume)
            .summary("Let an agent's ticks count again, from now on")
            .gives::<AgentLine>(200),
        Route::get("/api/v1/agents/{name}/runs", history)
            .summary("The runs of an agent, newest first")
            .query::<PageQuery>()
            .gives::<Page<RunLine>>(200),
        Route::get("/api/v1/agent-choices", choices)
            .summary("Tools, profiles and models that an agent can be given")
            .gives::<AgentChoices>(200),
        Route::get("/api/v1/schedule", schedule)
            .summary("When a cron expression is due, in words and moments")
            .query::<ScheduleQuery>()
            .gives::<ScheduleTold>(200),
    ]
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Answer<Json<Page<AgentLine>>> {
    let home = app.home(&caller.person).await?;
    let all = agents::all(home.as_ref(), app.now()).await?;
    Ok(Json(Page::of(all, &query, |line| line.name.clone())))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<Json<AgentLine>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(agents::one(home.as_ref(), &name, app.now()).await?))
}

async fn add(
    State(app): State<App>,
    caller: Caller,
    Json(wish): Json<AgentWish>,
) -> Answer<(StatusCode, Json<Defined>)> {
    let (line, notes) = agents::define(&app, &caller, (&wish, false)).await?;
    Ok((StatusCode::CREATED, Json(Defined { line, notes })))
}

async fn replace(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(wish): Json<AgentWish>,
) -> Answer<Json<Defined>> {
    let home = app.home(&caller.person).await?;
    agents::one(home.as_ref(), &name, app.now()).await?;
    if wish.name != name {
        return Err(Problem::bad("an agent keeps its name; add another one under the new name"));
    }
    let (line, notes) = agents::define(&app, &caller, (&wish, true)).await?;
    Ok(Json(Defined { line, notes }))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    agents::remove(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn run(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<(StatusCode, Json<RunLine>)> {
    let run = agents::run_now(&app, &caller, &name).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

async fn pause(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<Json<AgentLine>> {
    Ok(Json(agents::set_active(&app, &caller, (&name, false)).await?))
}

async fn resume(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<Json<AgentLine>> {
    Ok(Json(agents::set_active(&app, &caller, (&name, true)).await?))
}

async fn history(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(query): Query<PageQuery>,
) -> Answer<Json<Page<RunLine>>> {
    let home = app.home(&caller.person).await?;
    // What a run cost stands in its journal: only those of the first part are looked at at once.
    let wanted = if query.after.is_some() { HISTORY_MAX } else { query.limit() + 1 };
    let all = agents::history(home.as_ref(), &name, wanted).await?;
    Ok(Json(Page::of(all, &query, |run| run.tick.clone())))
}

async fn choices(State(app): State<App>, caller: Caller) -> Answer<Json<AgentChoices>> {
    Ok(Json(app.home(&caller.person).await?.agent_choices().await?))
}

async fn schedule(
    State(app): State<App>,
    _caller: Caller,
    Query(query): Query<ScheduleQuery>,
) -> Answer<Json<ScheduleTold>> {
    let zone = query.timezone.filter(|zone| !zone.trim().is_empty());
    Ok(Json(agents::told(&query.cron, zone.as_deref().unwrap_or("UTC"), app.now())?))
}
