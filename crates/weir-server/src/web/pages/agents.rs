//! Scheduled agents: list, one with its history, run now, pause, remove (S8). The form in which one
//! is written is in `form`.

use axum::extract::{Path, Query};
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::ids::Timestamp;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{MissedTicks, OnAsk, PromptMode, ScheduledAgent};
use weir_install::agents::limits_text;

use crate::agents::{self, AgentLine, RunLine, ScheduleDescription};
use crate::api::agents as api;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{framed_page, page_with, render_badge, render_empty, render_moment};

mod form;
mod preset;

/// Runs of a history on one page.
const RUNS_SHOWN: usize = 50;
/// The entry of the navigation.
const HERE: &str = "/agents";

/// The routes of this file.
pub(crate) fn agent_page_routes() -> Vec<Route> {
    let mut all = vec![
        Route::get("/agents", show_agent_list),
        Route::get("/agents/{name}", show_agent),
        Route::post("/agents/{name}/run", api::run),
        Route::post("/agents/{name}/pause", api::pause_agent),
        Route::post("/agents/{name}/resume", api::resume_agent),
        Route::post("/agents/{name}/remove", api::remove),
    ];
    all.extend(form::agent_form_routes());
    all
}

async fn show_agent_list(CallerSpace { app, caller, space }: CallerSpace) -> HandlerResult<Markup> {
    let now = app.current_time();
    let all = agents::list_agents(space.as_ref(), now).await?;
    let body = html! {
        div.toolbar {
            h1 { "Agents" }
            a.btn.primary href="/agent-new" { "New agent" }
        }
        p.muted {
            "Agents that run without you: on a schedule, after another agent, when mail arrives, or by \
             hand. Each can use only the tools you give it."
        }
        @if all.is_empty() {
            (render_empty("No agents yet.", "Create one with “New agent”: its task, its schedule \
                and its tools."))
        } @else {
            div.table-wrap tabindex="0" {
                table.cards {
                    caption.unseen { "Your agents" }
                    thead { tr {
                        th scope="col" { "Name" } th scope="col" { "When" }
                        th scope="col" { "Next" } th scope="col" { "Last run" }
                        th scope="col" { span.unseen { "Do" } }
                    } }
                    tbody { @for line in &all { (render_agent_row(&caller, line, now)) } }
                }
            }
        }
    };
    Ok(framed_page(&caller, "Agents", HERE, &body))
}

fn render_agent_row(caller: &Caller, line: &AgentLine, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ "/agents/" (line.name) } { (line.name) } }
            td {
                @if let Some(agent) = &line.agent { (schedule_text(agent, now)) }
                @if !line.active { " " (render_badge("warn", "paused")) }
                @if let Some(why) = &line.problem { " " (render_badge("bad", "cannot be used")) " " (why) }
            }
            td data-label="Next" { @match line.next { Some(next) => (render_moment(next, now)), None => "–" } }
            td data-label="Last run" {
                @match &line.last { Some(run) => (run_state_badge(run)), None => span.muted { "never" } }
            }
            td { (run_form(caller, &line.name)) }
        }
    }
}

fn run_form(caller: &Caller, name: &str) -> Markup {
    html! {
        (post_form(caller, html! { "/agents/" (name) "/run" }, "", &html! {
            (submit_button(ButtonLook::Plain, html! { "Run now" span.unseen { " " (name) } }))
        }))
    }
}

/// When it is due, in words.
fn schedule_text(agent: &ScheduledAgent, now: Timestamp) -> String {
    match (&agent.cron, &agent.after) {
        (Some(cron), after) => {
            let words = agents::describe_schedule(cron, &agent.timezone, now)
                .map_or_else(|_| cron.clone(), |told| told.words);
            let also = after.as_ref().map(|after| format!(", and after {after}"));
            format!("{words} ({}){}", agent.timezone, also.unwrap_or_default())
        }
        (None, Some(after)) => format!("After each run of {after} that completes"),
        (None, None) => "Only when started by hand".into(),
    }
}

fn run_state_badge(run: &RunLine) -> Markup {
    let kind = match run.state.as_str() {
        "completed" => "good",
        "failed" | "denied" => "bad",
        "waiting" | "running" => "info",
        _ => "warn",
    };
    render_badge(kind, &run.state.replace('_', " "))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AgentPageQuery {
    note: String,
}

async fn show_agent(
    CallerSpace { app, caller, space }: CallerSpace,
    Path(name): Path<String>,
    Query(shown): Query<AgentPageQuery>,
) -> HandlerResult<Markup> {
    let now = app.current_time();
    let line = agents::load_agent(space.as_ref(), &name, now).await?;
    let runs = agents::run_history(space.as_ref(), &name, RUNS_SHOWN).await?;
    let body = html! {
        div.toolbar {
            h1 { (line.name) }
            @if line.active { (render_badge("good", "active")) } @else { (render_badge("warn", "paused")) }
            (render_actions(&caller, &line))
        }
        @if !shown.note.is_empty() { p.notice.info role="status" { (shown.note) } }
        @if let Some(why) = &line.problem {
            p.notice.bad { "This agent cannot be used: " (why) }
        }
        @if let Some(agent) = &line.agent { (render_definition(agent, line.active, now)) }
        h2 id="history" { "History" }
        (render_history(&runs, now))
        (render_removal(&caller, &line.name))
    };
    // A run may begin while the page is open.
    Ok(page_with(&caller, &line.name, HERE, &["pages/agents.js"], &body))
}

fn render_actions(caller: &Caller, line: &AgentLine) -> Markup {
    let name = &line.name;
    let (word, path) = if line.active { ("Pause", "pause") } else { ("Resume", "resume") };
    html! {
        (run_form(caller, name))
        (post_form(caller, html! { "/agents/" (name) "/" (path) }, "", &html! {
            (submit_button(ButtonLook::Plain, word))
        }))
        a.btn href={ "/agents/" (name) "/edit" } { "Edit" }
    }
}

fn render_removal(caller: &Caller, name: &str) -> Markup {
    html! {
        details.removal {
            summary { "Remove this agent" }
            p { "Its history and the chats of its runs are kept." }
            (post_form(caller, html! { "/agents/" (name) "/remove" }, "", &html! {
                (submit_button(ButtonLook::Danger, html! { "Remove " (name) }))
            }))
        }
    }
}

/// When a schedule is due, as a short list.
pub(super) fn render_due_times(told: &ScheduleDescription) -> Markup {
    html! {
        p { (told.words) "." }
        @if told.next.is_empty() {
            p.muted { "It will not run again." }
        } @else {
            ol.mono { @for moment in &told.read { li { (moment) } } }
        }
    }
}

fn render_definition(agent: &ScheduledAgent, active: bool, now: Timestamp) -> Markup {
    let told = agent
        .cron
        .as_ref()
        .and_then(|cron| agents::describe_schedule(cron, &agent.timezone, now).ok());
    html! {
        div.grid {
            section.card aria-labelledby="when" {
                h2 id="when" { "Schedule" }
                @if let Some(told) = told.filter(|_| active) { (render_due_times(&told)) } @else {
                    p { (schedule_text(agent, now)) "." }
                }
                @if let (Some(_), Some(after)) = (&agent.cron, &agent.after) {
                    p { "And after each run of " (after) " that completes." }
                }
            }
            section.card aria-labelledby="tools" {
                h2 id="tools" { "Tools" }
                @if agent.tools.is_empty() {
                    p { "None: it can only answer." }
                } @else {
                    ul.plain { @for tool in &agent.tools { li { code { (tool) } } } }
                }
            }
            section.card aria-labelledby="how" {
                h2 id="how" { "Model and permissions" }
                dl.kv { @for (what, value) in definition_facts(agent) { dt { (what) } dd { (value) } } }
            }
        }
        section.card aria-labelledby="prompt" {
            h2 id="prompt" { "Instructions" }
            pre.wrap { (agent.prompt) }
        }
    }
}

fn definition_facts(agent: &ScheduledAgent) -> Vec<(&'static str, String)> {
    let as_set = || "as in the settings".to_owned();
    vec![
        ("Folder", agent.workspace.clone()),
        ("Profile", agent.profile.clone().unwrap_or_else(as_set)),
        ("Model", agent.model.clone().unwrap_or_else(as_set)),
        (
            "Permission",
            agent.permission.map_or_else(as_set, |mode: PermissionMode| mode.to_string()),
        ),
        ("Thinking", agent.thinking.map_or_else(as_set, |level| level.as_str().to_owned())),
        ("Limits of a run", limits_text(&agent.limits)),
        (
            "Instructions",
            match agent.prompt_mode {
                PromptMode::Combined => "in addition to the standard one".into(),
                PromptMode::AgentOnly => "instead of the standard one".into(),
            },
        ),
        (
            "When approval is needed",
            match agent.on_ask {
                OnAsk::Deny => "deny at once".into(),
                OnAsk::Queue => "wait for you under Approvals".into(),
            },
        ),
        (
            "Missed runs",
            match agent.missed {
                Some(MissedTicks::Run) => "run the latest once".into(),
                Some(MissedTicks::Report) => "only note them in the history".into(),
                None => as_set(),
            },
        ),
    ]
}

fn render_history(runs: &[RunLine], now: Timestamp) -> Markup {
    if runs.is_empty() {
        return render_empty("It has not run yet.", "“Run now” starts a run at once.");
    }
    html! {
        div.table-wrap id="runs" {
            table {
                caption.unseen { "Runs, newest first" }
                thead { tr {
                    th scope="col" { "Due" } th scope="col" { "Reason" } th scope="col" { "Status" }
                    th scope="col" { "Took" } th.num scope="col" { "Cost" }
                    th scope="col" { "Chat" } th scope="col" { "Note" }
                } }
                tbody { @for run in runs { (run_row(run, now)) } }
            }
        }
    }
}

fn run_row(run: &RunLine, now: Timestamp) -> Markup {
    let took = match (run.started, run.finished) {
        (Some(started), Some(finished)) => format!("{} s", finished.ms_since(started) / 1_000),
        _ => "–".into(),
    };
    let view = if run.open { "Watch" } else { "Open" };
    html! {
        tr {
            th scope="row" { (render_moment(run.due, now)) }
            td { (run.cause.as_str()) }
            td { (run_state_badge(run)) }
            td { (took) }
            td.num { @match run.cost_usd { Some(usd) => { (format!("${usd:.4}")) }, None => "–" } }
            td {
                @match &run.session {
                    Some(session) => a href={ "/chats/" (session) } { (view) },
                    None => "–",
                }
            }
            td { (run.note) }
        }
    }
}
