//! The form in which a scheduled agent is written: everything that `weir agents add` takes. What is
//! wrong is said above the form, and nothing that was typed is lost.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::{Markup, html};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{
    AgentLimits, MissedTicks, OnAsk, PromptMode, ScheduledAgent, TOOL_CALLS_DEFAULT,
};
use weir_install::user_space::{AgentChoices, AgentWish, OfferedTool};

use super::{HERE, due, preset};
use crate::agents::{self, by_group};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;
use crate::web::parts::{csrf, field, page_with};

/// What is changed at the foot of the form without keeping anything.
const LOOK: &str = "look";

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/agent-new", blank),
        Route::post("/agent-new", add),
        Route::get("/agents/{name}/edit", edit),
        Route::post("/agents/{name}/edit", change),
    ]
}

/// What was typed: names and values, in order, a name more than once where boxes are ticked.
type Pairs = Vec<(String, String)>;

/// The same, looked up by name.
#[derive(Default)]
struct Typed(Pairs);

impl Typed {
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(typed, _)| typed == name);
        found.map_or("", |(_, value)| value.trim())
    }

    fn set(&self, name: &str) -> Option<String> {
        Some(self.get(name)).filter(|value| !value.is_empty()).map(String::from)
    }

    fn all(&self, name: &str) -> Vec<String> {
        let named = self.0.iter().filter(|(typed, _)| typed == name);
        named.map(|(_, value)| value.clone()).filter(|value| !value.is_empty()).collect()
    }

    fn number<T: std::str::FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, String> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| format!("{what}: {text:?} is no number")),
        }
    }

    /// What an agent that is there would have been typed as.
    fn of(agent: &ScheduledAgent) -> Typed {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let number = |value: Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
        let limits = &agent.limits;
        let preset = agent.cron.as_deref().and_then(preset::of);
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
            ("prompt_mode", word(&agent.prompt_mode)),
            ("on_ask", word(&agent.on_ask)),
            ("missed", agent.missed.map(|missed| word(&missed)).unwrap_or_default()),
            ("max_tool_calls", limits.max_tool_calls.to_string()),
            ("max_iterations", number(limits.max_iterations.map(u64::from))),
            ("budget_usd", limits.budget_usd.map(|usd| usd.to_string()).unwrap_or_default()),
            ("budget_tokens", number(limits.budget_tokens)),
            ("timeout_s", number(limits.timeout_ms.map(|ms| ms / 1_000))),
            ("workspace", agent.workspace.clone()),
        ];
        if let Some(preset) = preset {
            pairs.extend([("at", preset.at), ("weekday", preset.weekday)]);
        }
        pairs.extend(agent.tools.iter().map(|tool| ("tools", tool.clone())));
        Typed(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The schedule, as cron.
    fn cron(&self) -> Result<Option<String>, String> {
        let when = (self.get("at"), self.get("weekday"));
        preset::cron(self.get("preset"), when, self.set("cron"))
    }

    fn wish(&self) -> Result<AgentWish, String> {
        let usd: Option<f64> = self.number("budget_usd", "US dollars")?;
        if usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err("US dollars: enter a number above 0, or nothing".into());
        }
        let seconds: Option<u64> = self.number("timeout_s", "Seconds")?;
        let calls: Option<u32> = self.number("max_tool_calls", "Tool calls")?;
        let more_tools = self.get("more_tools");
        let mut tools = self.all("tools");
        for name in more_tools.split([',', ' ', '\n']).map(str::trim).filter(|n| !n.is_empty()) {
            if !tools.iter().any(|tool| tool == name) {
                tools.push(name.to_owned());
            }
        }
        Ok(AgentWish {
            name: self.get("name").to_owned(),
            prompt: self.get("prompt").to_owned(),
            cron: self.cron()?,
            timezone: self.set("timezone"),
            after: self.set("after"),
            profile: self.set("profile"),
            tools,
            prompt_mode: of_word::<PromptMode>(self.get("prompt_mode")).unwrap_or_default(),
            model: self.set("model"),
            permission: of_word::<PermissionMode>(self.get("permission")),
            thinking: of_word::<Thinking>(self.get("thinking")),
            limits: AgentLimits {
                max_tool_calls: calls.unwrap_or(TOOL_CALLS_DEFAULT),
                max_iterations: self.number("max_iterations", "Model calls")?,
                budget_usd: usd,
                budget_tokens: self.number("budget_tokens", "Tokens")?,
                timeout_ms: seconds.map(|seconds| seconds.saturating_mul(1_000)),
            },
            missed: of_word::<MissedTicks>(self.get("missed")),
            on_ask: of_word::<OnAsk>(self.get("on_ask")).unwrap_or_default(),
            workspace: self.set("workspace"),
        })
    }
}

/// A choice as it stands in a form.
fn word<T: serde::Serialize>(value: &T) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

fn of_word<T: serde::de::DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

/// What stands around the fields.
struct Around<'a> {
    /// The agent that is changed; `None`: a new one.
    of: Option<&'a str>,
    /// What is wrong with what was typed.
    wrong: Option<String>,
}

async fn blank(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    let typed = Typed(vec![("max_tool_calls".into(), TOOL_CALLS_DEFAULT.to_string())]);
    written(&app, &caller, &typed, Around { of: None, wrong: None }).await
}

async fn edit(State(app): State<App>, caller: Caller, Path(name): Path<String>) -> Answer<Markup> {
    let home = app.home(&caller.person).await?;
    let line = agents::one(home.as_ref(), &name, app.now()).await?;
    let Some(agent) = &line.agent else {
        return Err(Problem::conflict(format!(
            "the agent {name} cannot be read; remove it and create it again"
        )));
    };
    written(&app, &caller, &Typed::of(agent), Around { of: Some(&name), wrong: None }).await
}

async fn add(State(app): State<App>, caller: Caller, Form(pairs): Form<Pairs>) -> Answer<Response> {
    kept(&app, &caller, Typed(pairs), None).await
}

async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(mut pairs): Form<Pairs>,
) -> Answer<Response> {
    let home = app.home(&caller.person).await?;
    agents::one(home.as_ref(), &name, app.now()).await?;
    // An agent keeps its name.
    pairs.retain(|(typed, _)| typed != "name");
    pairs.push(("name".into(), name.clone()));
    kept(&app, &caller, Typed(pairs), Some(&name)).await
}

async fn kept(app: &App, caller: &Caller, typed: Typed, of: Option<&str>) -> Answer<Response> {
    let again = async |wrong: Option<String>, status: StatusCode| {
        let page = written(app, caller, &typed, Around { of, wrong }).await?;
        Ok((status, page).into_response())
    };
    if typed.get("do") == LOOK {
        return again(None, StatusCode::OK).await;
    }
    let wish = match typed.wish() {
        Ok(wish) => wish,
        Err(why) => return again(Some(why), StatusCode::BAD_REQUEST).await,
    };
    match agents::define(app, caller, (&wish, of.is_some())).await {
        Ok((line, notes)) => {
            let note = std::iter::once("Saved.".to_owned()).chain(notes).collect::<Vec<_>>();
            let to: Redirect = super::back(&line.name, &note.join(" "));
            Ok(to.into_response())
        }
        Err(problem) if problem.status == 400 => {
            again(Some(problem.detail), StatusCode::BAD_REQUEST).await
        }
        Err(problem) => Err(problem),
    }
}

async fn written(app: &App, caller: &Caller, typed: &Typed, around: Around<'_>) -> Answer<Markup> {
    let home = app.home(&caller.person).await?;
    let choices = home.agent_choices().await?;
    let others: Vec<String> =
        agents::all(home.as_ref(), app.now()).await?.into_iter().map(|line| line.name).collect();
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
        form.agent-form method="post" action=(action) {
            (csrf(caller))
            (what(typed, around.of.is_some()))
            (schedule(app, typed, &choices, &others))
            (tools(typed, choices.tools.clone()))
            details.more-options open[around.of.is_some() || around.wrong.is_some()] {
                summary { "More options: model, permission, folder, limits" }
                (how(typed, &choices))
                (bounds(typed))
            }
            div.row {
                button.btn.primary type="submit" { "Save" }
                a.btn.quiet href=(back) { "Cancel" }
            }
        }
    };
    let assets = ["pages/agents.css", "pages/agents.js"];
    Ok(page_with(caller, &title, HERE, &assets, &body))
}

fn what(typed: &Typed, exists: bool) -> Markup {
    html! {
        fieldset {
            legend { "Task" }
            @if !exists {
                (field("name", "Name", "Lowercase letters, digits, - and _.", &html! {
                    input id="name" name="name" required maxlength="64" autocomplete="off"
                        pattern="[a-z0-9][a-z0-9_\\-]*" value=(typed.get("name"))
                        aria-describedby="name-hint";
                }))
            }
            (field("prompt", "Instructions", "Sent to the agent at the start of each run.",
                &html! {
                    textarea id="prompt" name="prompt" rows="8" required
                        aria-describedby="prompt-hint" { "\n" (typed.get("prompt")) }
                }))
        }
    }
}

fn schedule(app: &App, typed: &Typed, choices: &AgentChoices, others: &[String]) -> Markup {
    let zone = typed.set("timezone").unwrap_or_else(|| choices.timezone.clone());
    let told = match typed.cron() {
        Ok(cron) => cron.map(|cron| agents::told(&cron, &zone, app.now())),
        Err(why) => Some(Err(Problem::bad(why))),
    };
    let names: Vec<(&str, &str)> = std::iter::once(("", "None"))
        .chain(others.iter().filter(|name| *name != typed.get("name")).map(|n| (&**n, &**n)))
        .collect();
    html! {
        fieldset {
            legend { "Schedule" }
            (select("preset", "Run", typed, preset::KINDS))
            (when(typed))
            (field("timezone", "Time zone", "For example Europe/Berlin.", &html! {
                input id="timezone" name="timezone" autocomplete="off" value=(zone)
                    aria-describedby="timezone-hint";
            }))
            div.due id="due" aria-live="polite" {
                @match &told {
                    Some(Ok(told)) => (due(told)),
                    Some(Err(problem)) => p.notice.warn { (problem.detail) },
                    None => "",
                }
            }
            button.btn type="submit" name="do" value=(LOOK) formnovalidate id="look" {
                "Show the next runs"
            }
            (select("after", "Also run after", typed, &names))
            (select("missed", "Runs missed while the server was off", typed, &[
                ("", "As in the settings"),
                ("run", "Run the latest once"),
                ("report", "Only note them in the history"),
            ]))
        }
    }
}

/// Time, day and cron: each is shown where the choice above it needs it.
fn when(typed: &Typed) -> Markup {
    let or = |name: &str, usual: &str| match typed.get(name) {
        "" => usual.to_owned(),
        text => text.to_owned(),
    };
    let weekday = or("weekday", preset::WEEKDAY);
    html! {
        div.for-weekly {
            (field("weekday", "Day", "", &html! {
                select id="weekday" name="weekday" {
                    @for (value, text) in preset::WEEKDAYS {
                        option value=(value) selected[*value == weekday] { (text) }
                    }
                }
            }))
        }
        div.for-time {
            (field("at", "Time", "", &html! {
                input id="at" name="at" type="time" value=(or("at", preset::TIME));
            }))
        }
        div.for-custom {
            (field("cron", "Cron expression",
                "Minute, hour, day, month, weekday: “0 8 * * MON-FRI”. Or @hourly, @daily, @weekly, @monthly.",
                &html! {
                    input id="cron" name="cron" maxlength="200" autocomplete="off"
                        spellcheck="false" value=(typed.get("cron")) aria-describedby="cron-hint";
                }))
        }
    }
}

fn tools(typed: &Typed, offered: Vec<OfferedTool>) -> Markup {
    let ticked = typed.all("tools");
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
                    summary { (title(&group)) " " span.muted { "(" (tools.len()) ")" } }
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
            (field("more_tools", "Other tools",
                "Tools of MCP servers, by name, separated by commas.", &html! {
                    input id="more_tools" name="more_tools" autocomplete="off" value=(others)
                        spellcheck="false" aria-describedby="more_tools-hint";
                }))
        }
    }
}

fn title(group: &str) -> String {
    if group == "mcp" {
        return "MCP servers".into();
    }
    let mut letters = group.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn how(typed: &Typed, choices: &AgentChoices) -> Markup {
    let profiles: Vec<(&str, &str)> = std::iter::once(("", "As in the settings"))
        .chain(choices.profiles.iter().map(|(name, _)| (&**name, &**name)))
        .collect();
    html! {
        fieldset {
            legend { "Model and permissions" }
            (select("prompt_mode", "Use these instructions", typed, &[
                ("combined", "In addition to the standard prompt"),
                ("agent_only", "Instead of the standard prompt"),
            ]))
            (select("profile", "Profile", typed, &profiles))
            (field("model", "Model", "provider/name. Leave empty to use the setting.", &html! {
                input id="model" name="model" list="models" autocomplete="off"
                    spellcheck="false" value=(typed.get("model")) aria-describedby="model-hint";
                datalist id="models" {
                    @for model in &choices.models { option value=(model) {} }
                }
            }))
            (select("permission", "Permission", typed, &[
                ("", "As in profile or settings"),
                ("plan", "Plan: read only"),
                ("ask", "Ask before changes"),
                ("auto-edit", "Edit files without asking"),
                ("full", "Full access within the rules"),
            ]))
            (select("thinking", "Thinking", typed, &[
                ("", "As in profile or settings"),
                ("off", "Off"),
                ("low", "Low"),
                ("medium", "Medium"),
                ("high", "High"),
            ]))
            (select("on_ask", "When approval is needed", typed, &[
                ("deny", "Deny at once"),
                ("queue", "Wait for me under Approvals"),
            ]))
            (field("workspace", "Folder", "Inside your own folder. Leave empty to use that folder.", &html! {
                input id="workspace" name="workspace" autocomplete="off" spellcheck="false"
                    value=(typed.get("workspace")) aria-describedby="workspace-hint";
            }))
        }
    }
}

fn bounds(typed: &Typed) -> Markup {
    let number = |name: &str, label: &str, hint: &str, step: &str| {
        field(
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
                (number("budget_tokens", "Tokens", "Empty: use the setting.", "1"))
                (number("timeout_s", "Seconds", "Empty: use the setting.", "1"))
            }
        }
    }
}

fn select(name: &str, label: &str, typed: &Typed, options: &[(&str, &str)]) -> Markup {
    let chosen = typed.get(name);
    field(
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
