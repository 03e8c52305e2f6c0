//! Scheduled agents (S8): define, list, run now, pause, history.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_install::user_space::{AgentChoices, AgentWish};

use super::page::{ListPage, PageQuery};
use crate::agents::{self, AgentLine, RunLine, ScheduleDescription};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::{ReplyTo, redirect_with};
use crate::route::Route;

/// Runs of a history that can be asked for.
const HISTORY_MAX: usize = 1_000;

/// An agent that was kept.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SavedAgent {
    /// The agent that was saved.
    #[serde(flatten)]
    line: AgentLine,
    /// What should be known of it.
    notes: Vec<String>,
}

/// The schedule whose next times are asked for.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    CallerSpace { app, space, .. }: CallerSpace,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<AgentLine>>> {
    let all = agents::list_agents(space.as_ref(), app.current_time()).await?;
    Ok(Json(ListPage::from_list(all, &query, |line| line.name.clone())))
}

async fn show_agent(
    CallerSpace { app, space, .. }: CallerSpace,
    Path(name): Path<String>,
) -> HandlerResult<Json<AgentLine>> {
    Ok(Json(agents::load_agent(space.as_ref(), &name, app.current_time()).await?))
}

async fn add_agent(
    owner: CallerSpace,
    Json(wish): Json<AgentWish>,
) -> HandlerResult<(StatusCode, Json<SavedAgent>)> {
    let (line, notes) = agents::define_agent(&owner, &wish, false).await?;
    Ok((StatusCode::CREATED, Json(SavedAgent { line, notes })))
}

async fn replace_agent(
    owner: CallerSpace,
    Path(name): Path<String>,
    Json(wish): Json<AgentWish>,
) -> HandlerResult<Json<SavedAgent>> {
    let CallerSpace { app, space, .. } = &owner;
    agents::load_agent(space.as_ref(), &name, app.current_time()).await?;
    if wish.name != name {
        return Err(ProblemDetails::bad_request(
            "an agent keeps its name; add another one under the new name",
        ));
    }
    let (line, notes) = agents::define_agent(&owner, &wish, true).await?;
    Ok(Json(SavedAgent { line, notes }))
}

pub(crate) async fn remove(
    owner: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    agents::remove(&owner, &name).await?;
    Ok(reply.answer_done("/agents", StatusCode::NO_CONTENT))
}

/// The page of an agent.
fn agent_address(name: &str) -> String {
    format!("/agents/{name}")
}

pub(crate) async fn run(
    owner: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    let page = agent_address(&name);
    match agents::run_now(&owner, &name).await {
        Ok(run) => {
            let answer = (StatusCode::ACCEPTED, Json(run));
            Ok(reply.answer_with_note(&page, "Run started: see the history below.", answer))
        }
        // That it runs already is no failure to somebody who looks at it.
        Err(problem) if problem.status == 409 && reply != ReplyTo::Program => {
            Ok(redirect_with(&page, "note", &problem.detail).into_response())
        }
        Err(problem) => Err(problem),
    }
}

pub(crate) async fn pause_agent(
    owner: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    let line = agents::set_active(&owner, &name, false).await?;
    let note = "Paused: it will not start by itself. A run in progress continues.";
    Ok(reply.answer_with_note(&agent_address(&name), note, Json(line)))
}

pub(crate) async fn resume_agent(
    owner: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    let line = agents::set_active(&owner, &name, true).await?;
    let note = "Active: it runs on schedule from now on.";
    Ok(reply.answer_with_note(&agent_address(&name), note, Json(line)))
}

async fn list_agent_runs(
    CallerSpace { space, .. }: CallerSpace,
    Path(name): Path<String>,
    Query(query): Query<PageQuery>,
) -> HandlerResult<Json<ListPage<RunLine>>> {
    // What a run cost stands in its journal: only those of the first part are looked at at once.
    let wanted = if query.after.is_some() { HISTORY_MAX } else { query.limit() + 1 };
    let all = agents::run_history(space.as_ref(), &name, wanted).await?;
    Ok(Json(ListPage::from_list(all, &query, |run| run.tick.clone())))
}

async fn agent_choices(
    CallerSpace { space, .. }: CallerSpace,
) -> HandlerResult<Json<AgentChoices>> {
    Ok(Json(space.agent_choices().await?))
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
