//! `weir agents add`: everything that can be wrong with a schedule is said now, and not at night.

use std::path::Path;

use serde_json::json;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{
    AgentLimits, MissedTicks, OnAsk, PROMPT_CHARS_MAX, PromptMode, ScheduledAgent,
};
use weir_install::agents::{CheckedAgent, Place, save_checked_agent};
use weir_install::context::InstallationContext;
use weir_install::{files, wiring};

use super::tell;
use crate::command::current_timestamp;
use crate::failure::usage;
use crate::options::{AgentsAddArgs, MissedWord, OnAskWord, PromptModeWord};
use crate::terminal::{out_json, out_line};

/// Adds an agent, or puts another in its place.
pub(super) async fn add_agent(
    cx: &InstallationContext,
    args: &AgentsAddArgs,
) -> anyhow::Result<()> {
    let place = if args.replace { Place::Taken } else { Place::Free };
    let CheckedAgent { agent, kept, calendar, notes } =
        save_checked_agent(cx, agent_from_args(cx, args)?, place).await?;
    let now = current_timestamp();
    if args.json.json {
        let mut value = json!(agent);
        value["state"] = json!(kept.state);
        value["version"] = json!(kept.version);
        value["next"] = json!(calendar.and_then(|calendar| calendar.next_tick_after(now)));
        return out_json(&value);
    }
    let when = match (&calendar, &agent.after) {
        (Some(calendar), _) => match calendar.next_tick_after(now) {
            Some(next) => format!("next run {}", calendar.local_time_text(next)),
            None => "no further run is due".into(),
        },
        (None, Some(after)) => format!("runs after each completed run of {after}"),
        (None, None) => format!("runs only by hand: weir agents run {}", agent.name),
    };
    out_line(&format!("Added {}: {when}", agent.name))?;
    out_line(&format!("  {}", tell::describe_visible_tools(&agent)))?;
    notes.iter().try_for_each(|note| out_line(&format!("  {note}")))?;
    if calendar.is_some() || agent.after.is_some() {
        out_line("  `weir agents daemon` or `weir serve` must be running to start it")?;
    }
    Ok(())
}

fn agent_from_args(
    cx: &InstallationContext,
    args: &AgentsAddArgs,
) -> anyhow::Result<ScheduledAgent> {
    let config = cx.config()?;
    Ok(ScheduledAgent {
        name: args.name.clone(),
        prompt: read_prompt_argument(&args.prompt)?,
        cron: args.cron.clone(),
        timezone: args.timezone.clone().unwrap_or_else(|| config.settings.prompt.timezone.clone()),
        after: args.after.clone(),
        profile: args.profile.clone(),
        tools: distinct_trimmed_names(&args.tools),
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
            day_usd: args.day_usd,
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
        owner: wiring::principal_name(cx),
    })
}

/// The words after `--prompt`, or those of the file that is named there.
fn read_prompt_argument(text: &str) -> anyhow::Result<String> {
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
fn distinct_trimmed_names(words: &[String]) -> Vec<String> {
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
