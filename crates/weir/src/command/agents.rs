//! `weir agents`: scheduled agents (M7).
//!
//! Definitions and history are in the store. Who is due and who may begin is the engine's
//! scheduler's; a run is a session like any other, opened in `start`.

use std::process::ExitCode;

use weir_core::schedule::ScheduledAgent;
use weir_engine::ports::{AGENT_ACTIVE, AgentRunFilter, KEPT_AGENT, Store, StoredItem};
use weir_install::context::InstallationContext;

use crate::failure::usage;
use crate::options::AgentsCommand;

mod add;
mod change;
mod daemon;
mod now;
mod start;
mod tell;

/// The state of an agent whose ticks do not count.
const PAUSED: &str = "paused";

/// Does what was asked.
pub(crate) async fn run_agents_command(
    cx: &InstallationContext,
    command: AgentsCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        AgentsCommand::List(flag) => tell::list_agents(cx, flag).await?,
        AgentsCommand::Show(args) => tell::show_agent(cx, &args).await?,
        AgentsCommand::Add(args) => add::add_agent(cx, &args).await?,
        AgentsCommand::Run(args) => return now::run(cx, &args).await,
        AgentsCommand::Pause(args) => change::set_agent_state(cx, &args, PAUSED).await?,
        AgentsCommand::Resume(args) => change::set_agent_state(cx, &args, AGENT_ACTIVE).await?,
        AgentsCommand::History(args) => tell::show_run_history(cx, &args).await?,
        AgentsCommand::Remove(args) => change::remove(cx, &args).await?,
        AgentsCommand::Daemon(args) => return daemon::run_agents_daemon(cx, &args).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent of this name, as it is kept.
///
/// # Errors
/// A usage error: there is none, or what is kept cannot be read.
async fn find_kept_agent(
    store: &dyn Store,
    name: &str,
) -> anyhow::Result<(StoredItem, ScheduledAgent)> {
    let kept = store.stored_items(KEPT_AGENT).await?;
    let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
    let Some(found) = kept.iter().find(|kept| kept.name == name) else {
        let others = match names[..] {
            [] => "there is none yet; `weir agents add` adds one".to_owned(),
            _ => format!("the scheduled agents are {}", names.join(", ")),
        };
        return Err(usage(format!("there is no scheduled agent {name:?}; {others}")));
    };
    let agent = serde_json::from_str(&found.text).map_err(|error| {
        usage(format!(
            "the scheduled agent {name} cannot be read: {error}; `weir agents remove {name}` \
             removes it"
        ))
    })?;
    Ok((found.clone(), agent))
}

/// Its runs that are not over.
async fn open_runs(
    store: &dyn Store,
    name: &str,
) -> anyhow::Result<Vec<weir_core::schedule::AgentRun>> {
    let filter =
        AgentRunFilter { agent: Some(name.to_owned()), open: true, ..AgentRunFilter::default() };
    Ok(store.agent_runs(&filter).await?)
}
