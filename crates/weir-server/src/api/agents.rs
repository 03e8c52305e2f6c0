//! Scheduled agents (S8): define, list, run now, pause, history.

use axum::Json;
use axum::extract::{Path, Query, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_install::user_space::{AgentChoices, AgentWish};

use super::page::{ListPage, PageQuery};
use crate::agents::{self, AgentLine, RunLine, ScheduleDescription};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::route::Route;

/// Runs of a history that can be asked for.
const HISTORY_MAX: usize = 1_000;

/// An agent that was kept.
#[derive(Debug, Serialize, JsonSchema)]
struct SavedAgent {
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
pub(crate) fn agent_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/agents", list_agents)
            .summary("Your scheduled agents")
            .query::<PageQuery>()
            .gives_json::<ListPage<AgentLine>>(200),
        Route::post("/api/v1/agents", add_agent)
            .summary("Define a scheduled agent")
            .body::<AgentWish>()
            .gives_json::<SavedAgent>(201),
        Route::get("/api/v1/agents/{name}", show_agent)
            .summary("One scheduled agent")
            .gives_json::<AgentLine>(200),
        Route::put("/api/v1/agents/{name}", replace_agent)
            .summary("Put another definition in an agent's place")
            .body::<AgentWish>()
            .gives_json::<SavedAgent>(200),
        Route::delete("/api/v1/agents/{name}", remove)
            .summary("Take an agent away; its history and sessions stay")
            .gives_nothing(204),
        Route::post("/api/v1/agents/{name}/run", run)
            .summary("Run an agent now")
            .gives_json::<RunLine>(202),
        Route::post("/api/v1/agents/{name}/pause", pause_agent)
            .summary("Stop an agent's ticks; a run under way goes on")
            .gives_json::<AgentLine>(200),
        Route::post("/api/v1/agents/{name}/resume", resume_agent)
            .summary("Let an agent's ticks count again, from now on")
            .gives_json::<AgentLine>(200),
        Route::get("/api/v1/agents/{name}/runs", list_agent_runs)
            .summary("The runs of an agent, newest first")
            .query::<PageQuery>()
            .gives_json::<ListPage<RunLine>>(200),
        Route::get("/api/v1/agent-choices", agent_choices)
            .summary("Tools, profiles and models that an agent can be given")
            .gives_json::<AgentChoices>(200),
        Route::get("/api/v1/schedule", describe_schedule)
            .summary("When a cron expression is due, in words and moments")
            .query::<ScheduleQuery>()
            .gives_json::<ScheduleDescription>(200),
    ]
}

async fn list_agents(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<AgentLine>>> {
    let home = app.home(&caller.person).await?;
    let all = agents::list_agents(home.as_ref(), app.current_time()).await?;
    Ok(Json(ListPage::from_list(all, &query, |line| line.name.clone())))
}

async fn show_agent(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<Json<AgentLine>> {
    let home = app.home(&caller.person).await?;
    Ok(Json(agents::load_agent(home.as_ref(), &name, app.current_time()).await?))
}

async fn add_agent(
    State(app): State<App>,
    caller: Caller,
    Json(wish): Json<AgentWish>,
) -> HandlerResult<(StatusCode, Json<SavedAgent>)> {
    let (line, notes) = agents::define_agent(&app, &caller, &wish, false).await?;
    Ok((StatusCode::CREATED, Json(SavedAgent { line, notes })))
}

async fn replace_agent(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(wish): Json<AgentWish>,
) -> HandlerResult<Json<SavedAgent>> {
    let home = app.home(&caller.person).await?;
    agents::load_agent(home.as_ref(), &name, app.current_time()).await?;
    if wish.name != name {
        return Err(ProblemDetails::bad_request(
            "an agent keeps its name; add another one under the new name",
        ));
    }
    let (line, notes) = agents::define_agent(&app, &caller, &wish, true).await?;
    Ok(Json(SavedAgent { line, notes }))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<StatusCode> {
    agents::remove(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn run(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<(StatusCode, Json<RunLine>)> {
    let run = agents::run_now(&app, &caller, &name).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

async fn pause_agent(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<Json<AgentLine>> {
    Ok(Json(agents::set_active(&app, &caller, &name, false).await?))
}

async fn resume_agent(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> HandlerResult<Json<AgentLine>> {
    Ok(Json(agents::set_active(&app, &caller, &name, true).await?))
}

async fn list_agent_runs(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<RunLine>>> {
    let home = app.home(&caller.person).await?;
    // What a run cost stands in its journal: only those of the first part are looked at at once.
    let wanted = if query.after.is_some() { HISTORY_MAX } else { query.limit() + 1 };
    let all = agents::run_history(home.as_ref(), &name, wanted).await?;
    Ok(Json(ListPage::from_list(all, &query, |run| run.tick.clone())))
}

async fn agent_choices(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<AgentChoices>> {
    Ok(Json(app.home(&caller.person).await?.agent_choices().await?))
}

async fn describe_schedule(
    State(app): State<App>,
    _caller: Caller,
    Query(query): Query<ScheduleQuery>,
) -> HandlerResult<Json<ScheduleDescription>> {
    let zone = query.timezone.filter(|zone| !zone.trim().is_empty());
    Ok(Json(agents::describe_schedule(
        &query.cron,
        zone.as_deref().unwrap_or("UTC"),
        app.current_time(),
    )?))
}
