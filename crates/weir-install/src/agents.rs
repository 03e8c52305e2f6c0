//! Definitions of scheduled agents: checked for everything that a run would stumble over, and kept
//! (M7). Not here: when one begins (`weir_engine::schedule`).

use weir_core::governance::label::Label;
use weir_core::schedule::{AgentLimits, OnAsk, PromptMode, ScheduledAgent, find_circle};
use weir_engine::ports::{AGENT_ACTIVE, Clock as _, KEPT_AGENT, Store, StoredItem};
use weir_engine::schedule::calendar::{Calendar, time_zone};
use weir_engine::schedule::load_known_agents;

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::wiring::{self, PromptWish, ScheduleWish, SessionOverrides, SystemClock};
use crate::{models, profiles};

/// The kind under which tools are kept that were made at run time.
const KEPT_TOOL: &str = "tool";

/// The tool that works with a mail account.
const MAIL_TOOL: &str = "email";

/// How the name of a foreign server's tool begins: it is known only while the server runs.
const FOREIGN: &str = "mcp__";

/// An agent that was checked and is kept.
pub struct CheckedAgent {
    /// The definition of the agent.
    pub agent: ScheduledAgent,
    /// How it is kept.
    pub kept: StoredItem,
    /// When it is due; none: only by hand or after another.
    pub calendar: Option<Calendar>,
    /// What a person should know of it.
    pub notes: Vec<String>,
}

/// Checks a definition for everything that a run would stumble over, and keeps it.
///
/// # Errors
/// A usage error that says what is wrong with it; then nothing is kept.
pub async fn save_checked_agent(
    cx: &InstallationContext,
    agent: ScheduledAgent,
    place: Place,
) -> anyhow::Result<CheckedAgent> {
    let store = cx.session_store()?;
    if let Some(problem) = agent.problem() {
        return Err(usage(problem));
    }
    let calendar = agent.cron.as_deref().map(|cron| Calendar::new(cron, &agent.timezone));
    let calendar = calendar.transpose().map_err(|error| usage(error.to_string()))?;
    time_zone(&agent.timezone).map_err(|error| usage(error.to_string()))?;
    check_against_other_agents(store.as_ref(), &agent, place).await?;
    let notes = tools(cx, store.as_ref(), &agent).await?;
    if let Some(text) = &agent.model {
        model(cx, text)?;
    }
    // A run is put together once, so that whatever it would stumble over is said here.
    let wishes = agent_session_overrides(&agent);
    wiring::session_rules(cx, cx.open_workspace()?.as_ref(), &wishes, None)?;
    let kept = store
        .store_item(&StoredItem {
            what: KEPT_AGENT.into(),
            name: agent.name.clone(),
            text: serde_json::to_string(&agent)?,
            state: AGENT_ACTIVE.into(),
            hash: String::new(),
            version: 1,
            label: Label::default(),
            by: agent.owner.clone(),
            ts: SystemClock::default().now(),
        })
        .await?;
    Ok(CheckedAgent { agent, kept, calendar, notes })
}

/// What becomes of an agent that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The new one is refused.
    Free,
    /// The new one takes its place.
    Taken,
}

/// The model exists. Its key may be the daemon's alone.
fn model(cx: &InstallationContext, text: &str) -> anyhow::Result<()> {
    if text.starts_with("script:") {
        return models::model_by_name(cx, text).map(drop);
    }
    let known = models::load_catalogue(cx)?.resolve_model(text).map(drop);
    known.map_err(|error| usage(format!("--model: {error}")))
}

/// What other agents have to say about it.
async fn check_against_other_agents(
    store: &dyn Store,
    agent: &ScheduledAgent,
    place: Place,
) -> anyhow::Result<()> {
    let name = &agent.name;
    let (agents, unusable) = load_known_agents(store).await?;
    let there = agents.contains_key(name) || unusable.iter().any(|one| one.name == *name);
    if there && place == Place::Free {
        return Err(usage(format!(
            "there is already a scheduled agent {name}; choose another name, or change that one \
             (--replace replaces it)"
        )));
    }
    let Some(after) = &agent.after else { return Ok(()) };
    if !agents.contains_key(after) {
        let names: Vec<&str> = agents.keys().map(String::as_str).collect();
        return Err(usage(format!(
            "after {after}: there is no such agent; existing agents: {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        )));
    }
    let pairs: Vec<(String, Option<String>)> = agents
        .values()
        .map(|known| (known.agent.name.clone(), known.agent.after.clone()))
        .collect();
    match find_circle(&pairs, name, after) {
        Some(round) => {
            Err(usage(format!("these agents would start each other endlessly: {round}")))
        }
        None => Ok(()),
    }
}

/// The declared tools exist, and the profile does not forbid them; what cannot be known yet is said.
async fn tools(
    cx: &InstallationContext,
    store: &dyn Store,
    agent: &ScheduledAgent,
) -> anyhow::Result<Vec<String>> {
    let toolbox = wiring::build_toolbox()?;
    let made: Vec<String> =
        store.stored_items(KEPT_TOOL).await?.into_iter().map(|kept| kept.name).collect();
    let mut notes = Vec::new();
    for name in &agent.tools {
        let foreign = name.starts_with(FOREIGN);
        if foreign {
            notes.push(format!("{name} is available only while its server is"));
        }
        if name == MAIL_TOOL {
            notes.push(
                "email is available only on a server, to users who connected a mail account".into(),
            );
            continue;
        }
        if foreign || toolbox.get(name).is_some() || made.contains(name) {
            continue;
        }
        let meant = toolbox.nearest_name(name).map(|near| format!("; did you mean {near}?"));
        return Err(usage(format!(
            "there is no tool {name:?}{}; `weir tools list` lists all tools",
            meant.unwrap_or_default()
        )));
    }
    let wishes = wiring::guest::narrow_guest_overrides(cx, &SessionOverrides::default())?;
    let profile = match &agent.profile {
        Some(name) => {
            let found = profiles::find_profile(cx, name)?;
            profiles::LoadedProfile {
                profile: wishes.narrow_profile(found.profile.clone()),
                ..found
            }
        }
        None => wiring::choose_profile(cx, &wishes, None)?,
    };
    let denied = agent.tools.iter().find(|name| profile.profile.denied_tools.contains(name));
    if let Some(name) = denied {
        return Err(usage(format!(
            "the profile {} forbids the tool {name} here; leave it out, or choose another profile",
            profile.profile.name
        )));
    }
    Ok(notes)
}

/// What one run of an agent may use at most, for people: `100 tool calls, 2 USD, 600 s`.
pub fn limits_text(limits: &AgentLimits) -> String {
    let mut parts = vec![format!("{} tool calls", limits.max_tool_calls)];
    parts.extend(limits.max_iterations.map(|n| format!("{n} model calls")));
    parts.extend(limits.budget_usd.map(|usd| format!("{usd} USD")));
    parts.extend(limits.day_usd.map(|usd| format!("{usd} USD a day")));
    parts.extend(limits.budget_tokens.map(|n| format!("{n} tokens")));
    parts.extend(limits.timeout_ms.map(|ms| format!("{} s", ms / 1_000)));
    parts.join(", ")
}

/// What the definition says about a session.
pub fn agent_session_overrides(agent: &ScheduledAgent) -> SessionOverrides {
    let prompt = agent.prompt.clone();
    SessionOverrides {
        model: agent.model.clone(),
        profile: agent.profile.clone(),
        permission: agent.permission,
        thinking: agent.thinking,
        max_iterations: agent.limits.max_iterations,
        max_tool_calls: Some(agent.limits.max_tool_calls),
        budget_usd: agent.limits.budget_usd,
        budget_tokens: agent.limits.budget_tokens,
        run_timeout_ms: agent.limits.timeout_ms,
        prompt: match agent.prompt_mode {
            PromptMode::Combined => PromptWish::Preceded(prompt),
            PromptMode::AgentOnly => PromptWish::Replaced(prompt),
        },
        attended: agent.on_ask == OnAsk::Queue,
        only_tools: Some(agent.tools.clone()),
        schedule: Some(ScheduleWish { agent: agent.name.clone(), day_usd: agent.limits.day_usd }),
        ..SessionOverrides::default()
    }
}
