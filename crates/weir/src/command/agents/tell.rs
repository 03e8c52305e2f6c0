//! `weir agents list`, `show` and `history`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_core::ids::Timestamp;
use weir_core::schedule::{AgentRun, OnAsk, PromptMode, ScheduledAgent};
use weir_core::view::plain::visible_text;
use weir_engine::ports::{AGENT_ACTIVE, AgentRunFilter, KEPT_AGENT, Store, StoredItem};
use weir_engine::schedule::calendar::Calendar;
use weir_install::agents::limits_text;
use weir_install::context::InstallationContext;
use weir_install::wording::{clip_line, timestamp_text};

use super::find_kept_agent;
use crate::command::current_timestamp;
use crate::failure::usage;
use crate::options::{AgentNameArgs, AgentsHistoryArgs, JsonFlag};
use crate::terminal::{format_table, out_json, out_line};

/// Characters of a prompt or note in a line.
const LINE_CHARS: usize = 100;

/// What it sees, in one line.
pub(super) fn describe_visible_tools(agent: &ScheduledAgent) -> String {
    match agent.tools[..] {
        [] => "tools: none, it can only answer".into(),
        _ => format!("tools: {}, and no others", agent.tools.join(", ")),
    }
}

/// An agent as it is kept, and what is wrong with it if it cannot be used.
struct AgentRow {
    kept: StoredItem,
    agent: Result<(ScheduledAgent, Option<Calendar>), String>,
    last: Option<AgentRun>,
}

impl AgentRow {
    fn next(&self, now: Timestamp) -> Option<(Timestamp, String)> {
        let (_, calendar) = self.agent.as_ref().ok()?;
        let calendar = calendar.as_ref().filter(|_| self.kept.state == AGENT_ACTIVE)?;
        let next = calendar.next_tick_after(now)?;
        Some((next, calendar.local_time_text(next)))
    }

    fn as_json(&self, now: Timestamp) -> Value {
        let mut value = match &self.agent {
            Ok((agent, _)) => json!(agent),
            Err(why) => json!({ "name": self.kept.name, "problem": why }),
        };
        value["state"] = json!(self.kept.state);
        value["version"] = json!(self.kept.version);
        value["since"] = json!(self.kept.ts);
        value["next"] = json!(self.next(now).map(|(next, _)| next));
        value["last"] = json!(self.last);
        value
    }
}

async fn load_agent_rows(store: &dyn Store) -> anyhow::Result<Vec<AgentRow>> {
    let mut last: BTreeMap<String, AgentRun> = BTreeMap::new();
    let kept = store.stored_items(KEPT_AGENT).await?;
    for kept in &kept {
        let filter = AgentRunFilter {
            agent: Some(kept.name.clone()),
            limit: Some(1),
            ..AgentRunFilter::default()
        };
        last.extend(
            store.agent_runs(&filter).await?.into_iter().map(|run| (run.agent.clone(), run)),
        );
    }
    let row = |kept: StoredItem| {
        let last = last.remove(&kept.name);
        let agent = parse_kept_agent(&kept);
        AgentRow { kept, agent, last }
    };
    Ok(kept.into_iter().map(row).collect())
}

fn parse_kept_agent(kept: &StoredItem) -> Result<(ScheduledAgent, Option<Calendar>), String> {
    let agent: ScheduledAgent =
        serde_json::from_str(&kept.text).map_err(|error| error.to_string())?;
    let calendar = agent.cron.as_deref().map(|cron| Calendar::new(cron, &agent.timezone));
    let calendar = calendar.transpose().map_err(|error| error.to_string())?;
    Ok((agent, calendar))
}

pub(super) async fn list_agents(cx: &InstallationContext, flag: JsonFlag) -> anyhow::Result<()> {
    let rows = load_agent_rows(cx.session_store()?.as_ref()).await?;
    let now = current_timestamp();
    if flag.json {
        return out_json(&rows.iter().map(|row| row.as_json(now)).collect::<Vec<_>>());
    }
    if rows.is_empty() {
        return out_line("No scheduled agents. `weir agents add --help` shows how to add one.");
    }
    let cells = rows.iter().map(|row| {
        let when = match (&row.agent, row.next(now)) {
            (Err(why), _) => format!("cannot be used: {}", clip_line(why, LINE_CHARS)),
            (_, Some((_, next))) => next,
            (Ok((agent, _)), None) => match &agent.after {
                _ if row.kept.state != AGENT_ACTIVE => "-".into(),
                Some(after) => format!("after {after}"),
                None => "by hand".into(),
            },
        };
        let last = row.last.as_ref().map_or_else(
            || "never run".to_owned(),
            |run| {
                format!(
                    "{} {}",
                    timestamp_text(run.finished.or(run.started).unwrap_or(run.due)),
                    run.state
                )
            },
        );
        vec![row.kept.name.clone(), row.kept.state.clone(), when, last]
    });
    let head = ["NAME", "STATE", "NEXT", "LAST"].map(str::to_owned).to_vec();
    out_line(&format_table(&std::iter::once(head).chain(cells).collect::<Vec<_>>()))
}

pub(super) async fn show_agent(
    cx: &InstallationContext,
    args: &AgentNameArgs,
) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    find_kept_agent(store.as_ref(), &args.name).await?;
    let rows = load_agent_rows(store.as_ref()).await?;
    let now = current_timestamp();
    let Some(row) = rows.iter().find(|row| row.kept.name == args.name) else { return Ok(()) };
    if args.json.json {
        return out_json(&row.as_json(now));
    }
    let (agent, _) = match &row.agent {
        Ok(agent) => agent,
        Err(why) => return Err(usage(format!("{} cannot be used: {why}", args.name))),
    };
    out_line(&format!(
        "{} ({}), owner {}",
        agent.name,
        row.kept.state,
        visible_text(&agent.owner)
    ))?;
    out_line(&format!("workspace: {}", visible_text(&agent.workspace)))?;
    if let Some(cron) = &agent.cron {
        let next = row.next(now).map(|(_, next)| format!(", next {next}")).unwrap_or_default();
        out_line(&format!("schedule:  {} in {}{next}", visible_text(cron), agent.timezone))?;
    }
    if let Some(after) = &agent.after {
        out_line(&format!("schedule:  after each completed run of {after}"))?;
    }
    for (what, text) in agent_setting_rows(agent) {
        out_line(&format!("{what:<10} {}", visible_text(&text)))?;
    }
    out_line(&format!("\n{}\n", describe_visible_tools(agent)))?;
    agent.prompt.lines().try_for_each(|line| out_line(&format!("  {}", visible_text(line))))
}

/// What else is set.
fn agent_setting_rows(agent: &ScheduledAgent) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("limits:", limits_text(&agent.limits)),
        (
            "prompt:",
            match agent.prompt_mode {
                PromptMode::Combined => "before the standard system prompt".into(),
                PromptMode::AgentOnly => "instead of the standard system prompt".into(),
            },
        ),
        (
            "asks:",
            match agent.on_ask {
                OnAsk::Deny => "denied at once".into(),
                OnAsk::Queue => "wait for `weir approvals answer`".into(),
            },
        ),
    ];
    rows.extend(agent.profile.clone().map(|name| ("profile:", name)));
    rows.extend(agent.model.clone().map(|name| ("model:", name)));
    rows.extend(agent.permission.map(|mode| ("permission", mode.to_string())));
    rows.extend(agent.thinking.map(|level| ("thinking:", level.as_str().to_owned())));
    rows
}

pub(super) async fn show_run_history(
    cx: &InstallationContext,
    args: &AgentsHistoryArgs,
) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    let filter = AgentRunFilter {
        agent: Some(args.name.clone()),
        limit: Some(args.limit as usize),
        ..AgentRunFilter::default()
    };
    let runs = store.agent_runs(&filter).await?;
    if runs.is_empty() {
        // One that was removed still has its history; one that never was has none.
        find_kept_agent(store.as_ref(), &args.name).await?;
    }
    if args.json.json {
        return out_json(&runs);
    }
    if runs.is_empty() {
        return out_line(&format!("{} has not run yet.", args.name));
    }
    let head = ["DUE", "WHY", "STATUS", "TOOK", "SESSION", "NOTE"].map(str::to_owned).to_vec();
    let cells = runs.iter().map(|run| {
        let took = match (run.started, run.finished) {
            (Some(started), Some(finished)) => format!("{} s", finished.ms_since(started) / 1_000),
            _ => "-".into(),
        };
        let session = run.session.as_ref().map_or("-".into(), ToString::to_string);
        let why = run.cause.as_str().to_owned();
        vec![
            timestamp_text(run.due),
            why,
            run.state.to_string(),
            took,
            session,
            clip_line(&run.note, LINE_CHARS),
        ]
    });
    out_line(&format_table(&std::iter::once(head).chain(cells).collect::<Vec<_>>()))
}
