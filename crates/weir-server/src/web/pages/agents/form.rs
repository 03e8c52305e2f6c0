//! The form in which a scheduled agent is written: everything that `weir agents add` takes. What is
//! wrong is said above the form, and nothing that was typed is lost.

use axum::Form;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{
    AgentLimits, MissedTicks, OnAsk, PromptMode, ScheduledAgent, TOOL_CALLS_DEFAULT,
};
use weir_core::view::plain::join_sentences;
use weir_install::user_space::{AgentChoices, AgentWish, OfferedTool};

use super::{HERE, preset, render_due_times};
use crate::agents::{self, by_group};
use crate::app::App;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::redirect_with;
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{page_with, render_field};

/// What is changed at the foot of the form without keeping anything.
const LOOK: &str = "look";

/// The routes of this file.
pub(super) fn agent_form_routes() -> Vec<Route> {
    vec![
        Route::get("/agent-new", show_blank_form),
        Route::post("/agent-new", add_agent),
        Route::get("/agents/{name}/edit", show_edit_form),
        Route::post("/agents/{name}/edit", change_agent),
    ]
}

/// What was typed: names and values, in order, a name more than once where boxes are ticked.
type FormPairs = Vec<(String, String)>;

/// The same, looked up by name.
#[derive(Default)]
struct AgentFormInput(FormPairs);

impl AgentFormInput {
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(typed, _)| typed == name);
        found.map_or("", |(_, value)| value.trim())
    }

    fn non_empty(&self, name: &str) -> Option<String> {
        Some(self.get(name)).filter(|value| !value.is_empty()).map(String::from)
    }

    fn all_values(&self, name: &str) -> Vec<String> {
        let named = self.0.iter().filter(|(typed, _)| typed == name);
        named.map(|(_, value)| value.clone()).filter(|value| !value.is_empty()).collect()
    }

    fn parse_number<T: std::str::FromStr>(
        &self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, String> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| format!("{what}: {text:?} is no number")),
        }
    }

    /// What an agent that is there would have been typed as.
    fn from_agent(agent: &ScheduledAgent) -> AgentFormInput {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let number = |value: Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
        let limits = &agent.limits;
        let preset = agent.cron.as_deref().and_then(preset::preset_from_cron);
        let kind = match (&preset, &agent.cron) {
            (Some(preset), _) => preset.kind,
            (None, Some(_)) => "custom",
            (None, None) => "none",
        };
        let mut pairs: Vec<(&str, String)> = vec![
            ("name", agent.name.clone()),
            ("preset", kind.to_owned()),
            ("prompt", agent.prompt.clone()),
            ("cron", text(&agent.cron)),
            ("timezone", agent.timezone.clone()),
            ("after", text(&agent.after)),
            ("profile", text(&agent.profile)),
            ("model", text(&agent.model)),
            ("permission", agent.permission.map(|mode| mode.to_string()).unwrap_or_default()),
            ("thinking", agent.thinking.map(|level| level.as_str().to_owned()).unwrap_or_default()),
            ("prompt_mode", choice_word(&agent.prompt_mode)),
            ("on_ask", choice_word(&agent.on_ask)),
            ("missed", agent.missed.map(|missed| choice_word(&missed)).unwrap_or_default()),
            ("max_tool_calls", limits.max_tool_calls.to_string()),
            ("max_iterations", number(limits.max_iterations.map(u64::from))),
            ("budget_usd", limits.budget_usd.map(|usd| usd.to_string()).unwrap_or_default()),
            ("day_usd", limits.day_usd.map(|usd| usd.to_string()).unwrap_or_default()),
            ("budget_tokens", number(limits.budget_tokens)),
            ("timeout_s", number(limits.timeout_ms.map(|ms| ms / 1_000))),
            ("workspace", agent.workspace.clone()),
        ];
        if let Some(preset) = preset {
            pairs.extend([("at", preset.at), ("weekday", preset.weekday)]);
        }
        pairs.extend(agent.tools.iter().map(|tool| ("tools", tool.clone())));
        AgentFormInput(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The schedule, as cron.
    fn cron_text(&self) -> Result<Option<String>, String> {
        preset::preset_to_cron(
            self.get("preset"),
            self.get("at"),
            self.get("weekday"),
            self.non_empty("cron"),
        )
    }

    fn to_agent_definition(&self) -> Result<AgentWish, String> {
        let usd: Option<f64> = self.parse_number("budget_usd", "US dollars")?;
        if usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err("US dollars: enter a number above 0, or nothing".into());
        }
        let day_usd: Option<f64> = self.parse_number("day_usd", "US dollars a day")?;
        if day_usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err("US dollars a day: enter a number above 0, or nothing".into());
        }
        let seconds: Option<u64> = self.parse_number("timeout_s", "Seconds")?;
        let calls: Option<u32> = self.parse_number("max_tool_calls", "Tool calls")?;
        let more_tools = self.get("more_tools");
        let mut tools = self.all_values("tools");
        for name in more_tools.split([',', ' ', '\n']).map(str::trim).filter(|n| !n.is_empty()) {
            if !tools.iter().any(|tool| tool == name) {
                tools.push(name.to_owned());
            }
        }
        Ok(AgentWish {
            name: self.get("name").to_owned(),
            prompt: self.get("prompt").to_owned(),
            cron: self.cron_text()?,
            timezone: self.non_empty("timezone"),
            after: self.non_empty("after"),
            profile: self.non_empty("profile"),
            tools,
            prompt_mode: of_word::<PromptMode>(self.get("prompt_mode")).unwrap_or_default(),
            model: self.non_empty("model"),
            permission: of_word::<PermissionMode>(self.get("permission")),
            thinking: of_word::<Thinking>(self.get("thinking")),
            limits: AgentLimits {
                max_tool_calls: calls.unwrap_or(TOOL_CALLS_DEFAULT),
                max_iterations: self.parse_number("max_iterations", "Model calls")?,
                budget_usd: usd,
                day_usd,
                budget_tokens: self.parse_number("budget_tokens", "Tokens")?,
                timeout_ms: seconds.map(|seconds| seconds.saturating_mul(1_000)),
            },
            missed: of_word::<MissedTicks>(self.get("missed")),
            on_ask: of_word::<OnAsk>(self.get("on_ask")).unwrap_or_default(),
            workspace: self.non_empty("workspace"),
        })
    }
}

/// A choice as it stands in a form.
fn choice_word<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

fn of_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

/// What stands around the fields.
struct AgentFormContext<'a> {
    /// The agent that is changed; `None`: a new one.
    of: Option<&'a str>,
    /// What is wrong with what was typed.
    wrong: Option<String>,
}

async fn show_blank_form(owner: CallerSpace) -> HandlerResult<Markup> {
    let typed = AgentFormInput(vec![("max_tool_calls".into(), TOOL_CALLS_DEFAULT.to_string())]);
    render_form_page(&owner, &typed, AgentFormContext { of: None, wrong: None }).await
}

async fn show_edit_form(owner: CallerSpace, Path(name): Path<String>) -> HandlerResult<Markup> {
    let CallerSpace { app, space, .. } = &owner;
    let line = agents::load_agent(space.as_ref(), &name, app.current_time()).await?;
    let Some(agent) = &line.agent else {
        return Err(ProblemDetails::conflict(format!(
            "the agent {name} cannot be read; remove it and create it again"
        )));
    };
    render_form_page(
        &owner,
        &AgentFormInput::from_agent(agent),
        AgentFormContext { of: Some(&name), wrong: None },
    )
    .await
}

async fn add_agent(owner: CallerSpace, Form(pairs): Form<FormPairs>) -> HandlerResult<Response> {
    save_or_show_again(&owner, AgentFormInput(pairs), None).await
}

async fn change_agent(
    owner: CallerSpace,
    Path(name): Path<String>,
    Form(mut pairs): Form<FormPairs>,
) -> HandlerResult<Response> {
    let CallerSpace { app, space, .. } = &owner;
    agents::load_agent(space.as_ref(), &name, app.current_time()).await?;
    // An agent keeps its name.
    pairs.retain(|(typed, _)| typed != "name");
    pairs.push(("name".into(), name.clone()));
    save_or_show_again(&owner, AgentFormInput(pairs), Some(&name)).await
}

async fn save_or_show_again(
    owner: &CallerSpace,
    typed: AgentFormInput,
    of: Option<&str>,
) -> HandlerResult<Response> {
    let again = async |wrong: Option<String>, status: StatusCode| {
        let page = render_form_page(owner, &typed, AgentFormContext { of, wrong }).await?;
        Ok((status, page).into_response())
    };
    if typed.get("do") == LOOK {
        return again(None, StatusCode::OK).await;
    }
    let wish = match typed.to_agent_definition() {
        Ok(wish) => wish,
        Err(why) => return again(Some(why), StatusCode::BAD_REQUEST).await,
    };
    match agents::define_agent(owner, &wish, of.is_some()).await {
        Ok((line, notes)) => {
            let note =
                join_sentences(std::iter::once("Saved.").chain(notes.iter().map(String::as_str)));
            let to: Redirect = redirect_with(&format!("/agents/{}", line.name), "note", &note);
            Ok(to.into_response())
        }
        Err(problem) if problem.status == 400 => {
            again(Some(problem.detail), StatusCode::BAD_REQUEST).await
        }
        Err(problem) => Err(problem),
    }
}

async fn render_form_page(
    owner: &CallerSpace,
    typed: &AgentFormInput,
    around: AgentFormContext<'_>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = owner;
    let choices = space.agent_choices().await?;
    let others: Vec<String> = agents::list_agents(space.as_ref(), app.current_time())
        .await?
        .into_iter()
        .map(|line| line.name)
        .collect();
    let (title, action) = match around.of {
        Some(name) => (format!("Edit {name}"), format!("/agents/{name}/edit")),
        None => ("New agent".to_owned(), "/agent-new".to_owned()),
    };
    let back = around.of.map_or(HERE.to_owned(), |name| format!("/agents/{name}"));
    let body = html! {
        h1 { (title) }
        @if let Some(why) = &around.wrong {
            p.notice.bad role="alert" { "Not saved: " (why) }
        }
        (post_form(caller, &action, "agent-form", &html! {
            (task_fields(typed, around.of.is_some()))
            (schedule_fields(app, typed, &choices, &others))
            (tool_fields(typed, choices.tools.clone()))
            details.more-options open[around.of.is_some() || around.wrong.is_some()] {
                summary { "More options: model, permission, folder, limits" }
                (model_fields(typed, &choices))
                (limit_fields(typed))
            }
            div.row {
                (submit_button(ButtonLook::Primary, "Save"))
                a.btn.quiet href=(back) { "Cancel" }
            }
        }))
    };
    let assets = ["pages/agents.css", "pages/agents.js"];
    Ok(page_with(caller, &title, HERE, &assets, &body))
}

fn task_fields(typed: &AgentFormInput, exists: bool) -> Markup {
    html! {
        fieldset {
            legend { "Task" }
            @if !exists {
                (render_field("name", "Name", "Lowercase letters, digits, - and _.", &html! {
                    input id="name" name="name" required maxlength="64" autocomplete="off"
                        pattern="[a-z0-9][a-z0-9_\\-]*" value=(typed.get("name"))
                        aria-describedby="name-hint";
                }))
            }
            (render_field("prompt", "Instructions", "Sent to the agent at the start of each run.",
                &html! {
                    textarea id="prompt" name="prompt" rows="8" required
                        aria-describedby="prompt-hint" { "\n" (typed.get("prompt")) }
                }))
        }
    }
}

fn schedule_fields(
    app: &App,
    typed: &AgentFormInput,
    choices: &AgentChoices,
    others: &[String],
) -> Markup {
    let zone = typed.non_empty("timezone").unwrap_or_else(|| choices.timezone.clone());
    let told = match typed.cron_text() {
        Ok(cron) => cron.map(|cron| agents::describe_schedule(&cron, &zone, app.current_time())),
        Err(why) => Some(Err(ProblemDetails::bad_request(why))),
    };
    let names: Vec<(&str, &str)> = std::iter::once(("", "None"))
        .chain(others.iter().filter(|name| *name != typed.get("name")).map(|n| (&**n, &**n)))
        .collect();
    html! {
        fieldset {
            legend { "Schedule" }
            (select_field("preset", "Run", typed, preset::KINDS))
            (time_fields(typed))
            (render_field("timezone", "Time zone", "For example Europe/Berlin.", &html! {
                input id="timezone" name="timezone" autocomplete="off" value=(zone)
                    aria-describedby="timezone-hint";
            }))
            div.due id="due" aria-live="polite" {
                @match &told {
                    Some(Ok(told)) => (render_due_times(told)),
                    Some(Err(problem)) => p.notice.warn { (problem.detail) },
                    None => "",
                }
            }
            button.btn type="submit" name="do" value=(LOOK) formnovalidate id="look" {
                "Show the next runs"
            }
            (select_field("after", "Also run after", typed, &names))
            (select_field("missed", "Runs missed while the server was off", typed, &[
                ("", "As in the settings"),
                ("run", "Run the latest once"),
                ("report", "Only note them in the history"),
            ]))
        }
    }
}

/// Time, day and cron: each is shown where the choice above it needs it.
fn time_fields(typed: &AgentFormInput) -> Markup {
    let or = |name: &str, usual: &str| match typed.get(name) {
        "" => usual.to_owned(),
        text => text.to_owned(),
    };
    let weekday = or("weekday", preset::WEEKDAY);
    html! {
        div.for-weekly {
            (render_field("weekday", "Day", "", &html! {
                select id="weekday" name="weekday" {
                    @for (value, text) in preset::WEEKDAYS {
                        option value=(value) selected[*value == weekday] { (text) }
                    }
                }
            }))
        }
        div.for-time {
            (render_field("at", "Time", "", &html! {
                input id="at" name="at" type="time" value=(or("at", preset::TIME));
            }))
        }
        div.for-custom {
            (render_field("cron", "Cron expression",
                "Minute, hour, day, month, weekday: “0 8 * * MON-FRI”. Or @hourly, @daily, @weekly, @monthly.",
                &html! {
                    input id="cron" name="cron" maxlength="200" autocomplete="off"
                        spellcheck="false" value=(typed.get("cron")) aria-describedby="cron-hint";
                }))
        }
    }
}

fn tool_fields(typed: &AgentFormInput, offered: Vec<OfferedTool>) -> Markup {
    let ticked = typed.all_values("tools");
    let known: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
    let others: Vec<&str> =
        ticked.iter().map(String::as_str).filter(|name| !known.contains(name)).collect();
    let others = others.join(", ");
    html! {
        fieldset {
            legend { "Tools" }
            p.hint { "The agent can use only the tools you select. Without any, it can only answer." }
            @for (group, tools) in by_group(offered, |tool| tool.group.clone()) {
                details.tool-group open[tools.iter().any(|tool| ticked.contains(&tool.name))] {
                    summary { (group_title(&group)) " " span.muted { "(" (tools.len()) ")" } }
                    div.tool-list {
                        @for tool in &tools {
                            label {
                                input type="checkbox" name="tools" value=(tool.name)
                                    checked[ticked.contains(&tool.name)];
                                span { code { (tool.name) } " " span.muted { (tool.about) } }
                            }
                        }
                    }
                }
            }
            (render_field("more_tools", "Other tools",
                "Tools of MCP servers, by name, separated by commas.", &html! {
                    input id="more_tools" name="more_tools" autocomplete="off" value=(others)
                        spellcheck="false" aria-describedby="more_tools-hint";
                }))
        }
    }
}

fn group_title(group: &str) -> String {
    if group == "mcp" {
        return "MCP servers".into();
    }
    let mut letters = group.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn model_fields(typed: &AgentFormInput, choices: &AgentChoices) -> Markup {
    let profiles: Vec<(&str, &str)> = std::iter::once(("", "As in the settings"))
        .chain(choices.profiles.iter().map(|(name, _)| (&**name, &**name)))
        .collect();
    html! {
        fieldset {
            legend { "Model and permissions" }
            (select_field("prompt_mode", "Use these instructions", typed, &[
                ("combined", "In addition to the standard prompt"),
                ("agent_only", "Instead of the standard prompt"),
            ]))
            (select_field("profile", "Profile", typed, &profiles))
            (render_field("model", "Model", "provider/name. Leave empty to use the setting.", &html! {
                input id="model" name="model" list="models" autocomplete="off"
                    spellcheck="false" value=(typed.get("model")) aria-describedby="model-hint";
                datalist id="models" {
                    @for model in &choices.models { option value=(model) {} }
                }
            }))
            (select_field("permission", "Permission", typed, &[
                ("", "As in profile or settings"),
                ("plan", "Plan: read only"),
                ("ask", "Ask before changes"),
                ("auto-edit", "Edit files without asking"),
                ("full", "Full access within the rules"),
            ]))
            (select_field("thinking", "Thinking", typed, &[
                ("", "As in profile or settings"),
                ("off", "Off"),
                ("low", "Low"),
                ("medium", "Medium"),
                ("high", "High"),
            ]))
            (select_field("on_ask", "When approval is needed", typed, &[
                ("deny", "Deny at once"),
                ("queue", "Wait for me under Approvals"),
            ]))
            (render_field("workspace", "Folder", "Inside your own folder. Leave empty to use that folder.", &html! {
                input id="workspace" name="workspace" autocomplete="off" spellcheck="false"
                    value=(typed.get("workspace")) aria-describedby="workspace-hint";
            }))
        }
    }
}

fn limit_fields(typed: &AgentFormInput) -> Markup {
    let number = |name: &str, label: &str, hint: &str, step: &str| {
        render_field(
            name,
            label,
            hint,
            &html! {
                input id=(name) name=(name) type="number" min="0" step=(step)
                    inputmode="decimal" value=(typed.get(name))
                    aria-describedby=[(!hint.is_empty()).then(|| format!("{name}-hint"))];
            },
        )
    };
    html! {
        fieldset {
            legend { "Limits of each run" }
            div.grid {
                (number("max_tool_calls", "Tool calls", "", "1"))
                (number("max_iterations", "Model calls", "Empty: use the setting.", "1"))
                (number("budget_usd", "US dollars", "Empty: use the setting.", "any"))
                (number("day_usd", "US dollars a day, all runs", "Empty: use the setting.", "any"))
                (number("budget_tokens", "Tokens", "Empty: use the setting.", "1"))
                (number("timeout_s", "Seconds", "Empty: use the setting.", "1"))
            }
        }
    }
}

fn select_field(
    name: &str,
    label: &str,
    typed: &AgentFormInput,
    options: &[(&str, &str)],
) -> Markup {
    let chosen = typed.get(name);
    render_field(
        name,
        label,
        "",
        &html! {
            select id=(name) name=(name) {
                @for (value, text) in options {
                    option value=(value) selected[*value == chosen] { (text) }
                }
            }
        },
    )
}
