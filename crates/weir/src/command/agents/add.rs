//! `weir agents add`: everything that can be wrong with a schedule is said now, and not at night.

use std::path::Path;

use serde_json::json;
use weir_core::governance::label::Label;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{
    AgentLimits, MissedTicks, OnAsk, PROMPT_CHARS_MAX, PromptMode, ScheduledAgent, circle,
};
use weir_engine::ports::{AGENT_ACTIVE, KEPT_AGENT, Kept, Store};
use weir_engine::schedule::calendar::{Calendar, time_zone};
use weir_engine::schedule::known;
use weir_install::cx::Cx;
use weir_install::files;
use weir_install::wiring::{self, Wishes};
use weir_install::{models, profiles};

use super::{now_micros, tell};
use crate::failure::usage;
use crate::options::{AgentsAddArgs, MissedWord, OnAskWord, PromptModeWord};
use crate::terminal::{out, out_json};

/// The kind under which tools are kept that were made at run time.
const KEPT_TOOL: &str = "tool";
/// The tool that works with a mail account.
const MAIL_TOOL: &str = "email";
/// How the name of a foreign server's tool begins: it is known only while the server runs.
const FOREIGN: &str = "mcp__";

/// An agent that was checked and is kept.
pub(crate) struct Defined {
    /// It.
    pub(crate) agent: ScheduledAgent,
    /// How it is kept.
    pub(crate) kept: Kept,
    /// When it is due; none: only by hand or after another.
    pub(crate) calendar: Option<Calendar>,
    /// What a person should know of it.
    pub(crate) notes: Vec<String>,
}

/// Checks a definition for everything that a run would stumble over, and keeps it.
///
/// # Errors
/// A usage error that says what is wrong with it; then nothing is kept.
pub(crate) async fn define(
    cx: &Cx,
    agent: ScheduledAgent,
    place: Place,
) -> anyhow::Result<Defined> {
    let store = cx.journal()?;
    if let Some(problem) = agent.problem() {
        return Err(usage(problem));
    }
    let calendar = agent.cron.as_deref().map(|cron| Calendar::new(cron, &agent.timezone));
    let calendar = calendar.transpose().map_err(|error| usage(error.to_string()))?;
    time_zone(&agent.timezone).map_err(|error| usage(error.to_string()))?;
    others(store.as_ref(), &agent, place).await?;
    let notes = tools(cx, store.as_ref(), &agent).await?;
    if let Some(text) = &agent.model {
        model(cx, text)?;
    }
    // A run is put together once, so that whatever it would stumble over is said here.
    let wishes = super::start::wishes(&agent);
    wiring::rules(cx, cx.workspace()?.as_ref(), &wishes, None)?;
    let kept = store
        .keep(&Kept {
            what: KEPT_AGENT.into(),
            name: agent.name.clone(),
            text: serde_json::to_string(&agent)?,
            state: AGENT_ACTIVE.into(),
            hash: String::new(),
            version: 1,
            label: Label::default(),
            by: agent.owner.clone(),
            ts: now_micros(),
        })
        .await?;
    Ok(Defined { agent, kept, calendar, notes })
}

/// What becomes of an agent that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The new one is refused.
    Free,
    /// The new one takes its place.
    Taken,
}

/// Adds an agent, or puts another in its place.
pub(super) async fn add(cx: &Cx, args: &AgentsAddArgs) -> anyhow::Result<()> {
    let place = if args.replace { Place::Taken } else { Place::Free };
    let Defined { agent, kept, calendar, notes } = define(cx, wanted(cx, args)?, place).await?;
    let now = now_micros();
    if args.json.json {
        let mut value = json!(agent);
        value["state"] = json!(kept.state);
        value["version"] = json!(kept.version);
        value["next"] = json!(calendar.and_then(|calendar| calendar.after(now)));
        return out_json(&value);
    }
    let when = match (&calendar, &agent.after) {
        (Some(calendar), _) => match calendar.after(now) {
            Some(next) => format!("next run {}", calendar.read(next)),
            None => "no further run is due".into(),
        },
        (None, Some(after)) => format!("runs after each completed run of {after}"),
        (None, None) => format!("runs only by hand: weir agents run {}", agent.name),
    };
    out(&format!("Added {}: {when}", agent.name))?;
    out(&format!("  {}", tell::sees(&agent)))?;
    notes.iter().try_for_each(|note| out(&format!("  {note}")))?;
    if calendar.is_some() || agent.after.is_some() {
        out("  `weir agents daemon` or `weir serve` must be running to start it")?;
    }
    Ok(())
}

fn wanted(cx: &Cx, args: &AgentsAddArgs) -> anyhow::Result<ScheduledAgent> {
    let config = cx.config()?;
    Ok(ScheduledAgent {
        name: args.name.clone(),
        prompt: prompt(&args.prompt)?,
        cron: args.cron.clone(),
        timezone: args.timezone.clone().unwrap_or_else(|| config.settings.prompt.timezone.clone()),
        after: args.after.clone(),
        profile: args.profile.clone(),
        tools: named(&args.tools),
        prompt_mode: match args.prompt_mode {
            PromptModeWord::Combined => PromptMode::Combined,
            PromptModeWord::AgentOnly => PromptMode::AgentOnly,
        },
        model: args.model.as_deref().map(model_name).transpose()?,
        permission: args.permission.map(PermissionMode::from),
        thinking: args.thinking.map(Thinking::from),
        limits: AgentLimits {
            max_tool_calls: args.max_tool_calls,
            max_iterations: args.max_iterations,
            budget_usd: args.budget_usd,
            budget_tokens: args.budget_tokens,
            timeout_ms: args.timeout.map(|timeout| timeout.ms),
        },
        missed: args.missed.map(|missed| match missed {
            MissedWord::Run => MissedTicks::Run,
            MissedWord::Report => MissedTicks::Report,
        }),
        on_ask: match args.on_ask {
            OnAskWord::Deny => OnAsk::Deny,
            OnAskWord::Queue => OnAsk::Queue,
        },
        workspace: cx.folder.display().to_string(),
        owner: wiring::principal(cx),
    })
}

/// The words after `--prompt`, or those of the file that is named there.
fn prompt(text: &str) -> anyhow::Result<String> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let read = files::named_text("--prompt", Path::new(path))?;
    match read.chars().count() {
        chars if chars > PROMPT_CHARS_MAX => Err(usage(format!(
            "--prompt {text}: the prompt has {chars} characters, but at most {PROMPT_CHARS_MAX} \
             are allowed"
        ))),
        _ => Ok(read),
    }
}

/// Names as they were given, each once, without blanks.
fn named(words: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        if !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }
    names
}

/// The name of a model, which is meant wherever the daemon stands.
fn model_name(text: &str) -> anyhow::Result<String> {
    match text.strip_prefix("script:") {
        Some(path) => {
            let path = std::path::absolute(path)
                .map_err(|error| usage(format!("--model {text}: {error}")))?;
            Ok(format!("script:{}", path.display()))
        }
        None => Ok(text.to_owned()),
    }
}

/// The model exists. Its key may be the daemon's alone.
fn model(cx: &Cx, text: &str) -> anyhow::Result<()> {
    if text.starts_with("script:") {
        return models::named(cx, text).map(drop);
    }
    let known = models::catalogue(cx)?.resolve(text).map(drop);
    known.map_err(|error| usage(format!("--model: {error}")))
}

/// What other agents have to say about it.
async fn others(store: &dyn Store, agent: &ScheduledAgent, place: Place) -> anyhow::Result<()> {
    let name = &agent.name;
    let (agents, unusable) = known(store).await?;
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
    match circle(&pairs, name, after) {
        Some(round) => {
            Err(usage(format!("these agents would start each other endlessly: {round}")))
        }
        None => Ok(()),
    }
}

/// The declared tools exist, and the profile does not forbid them; what cannot be known yet is said.
async fn tools(cx: &Cx, store: &dyn Store, agent: &ScheduledAgent) -> anyhow::Result<Vec<String>> {
    let toolbox = wiring::toolbox()?;
    let made: Vec<String> =
        store.kept(KEPT_TOOL).await?.into_iter().map(|kept| kept.name).collect();
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
        let meant = toolbox.nearest(name).map(|near| format!("; did you mean {near}?"));
        return Err(usage(format!(
            "there is no tool {name:?}{}; `weir tools list` lists all tools",
            meant.unwrap_or_default()
        )));
    }
    let wishes = wiring::guest::narrowed(cx, &Wishes::default())?;
    let profile = match &agent.profile {
        Some(name) => {
            let found = profiles::find(cx, name)?;
            profiles::LoadedProfile { profile: wishes.narrowed(found.profile.clone()), ..found }
        }
        None => wiring::profile(cx, &wishes, None)?,
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
