//! `weir agents pause`, `resume` and `remove`. A daemon that runs hears of it at once.

use serde_json::json;
use weir_engine::ports::{AGENT_ACTIVE, KEPT_AGENT, StoredItem};
use weir_install::context::InstallationContext;

use super::{find_kept_agent, open_runs};
use crate::command::current_timestamp;
use crate::failure::usage;
use crate::options::AgentNameArgs;
use crate::terminal::{out_json, out_line};

/// Pauses or resumes. Ticks from before are none of its own then.
pub(super) async fn set_agent_state(
    cx: &InstallationContext,
    args: &AgentNameArgs,
    state: &str,
) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    let (kept, _) = find_kept_agent(store.as_ref(), &args.name).await?;
    let name = kept.name.clone();
    let was = kept.state == state;
    if !was {
        let state = state.to_owned();
        store.store_item(&StoredItem { state, ts: current_timestamp(), ..kept }).await?;
    }
    if args.json.json {
        return out_json(&json!({ "name": name, "state": state }));
    }
    let word = if state == AGENT_ACTIVE { "active" } else { "paused" };
    match was {
        true => out_line(&format!("{name} was already {word}")),
        false => out_line(&format!("{name} is now {word}")),
    }
}

/// Takes an agent away.
pub(super) async fn remove(cx: &InstallationContext, args: &AgentNameArgs) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    let name = &args.name;
    if !store.remove_stored_item(KEPT_AGENT, name).await? {
        // Says which there are.
        find_kept_agent(store.as_ref(), name).await?;
        return Err(usage(format!("there is no scheduled agent {name:?}")));
    }
    let open = open_runs(store.as_ref(), name).await?;
    if args.json.json {
        return out_json(&json!({ "name": name, "removed": true, "open_runs": open.len() }));
    }
    out_line(&format!("Removed {name}; its history and sessions are kept"))?;
    match open.iter().find_map(|run| run.session.as_ref()) {
        Some(session) => out_line(&format!("  one of its runs is not finished: session {session}")),
        None => Ok(()),
    }
}
