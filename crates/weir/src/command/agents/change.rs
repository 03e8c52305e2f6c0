//! `weir agents pause`, `resume` and `remove`. A daemon that runs hears of it at once.

use serde_json::json;
use weir_engine::ports::{AGENT_ACTIVE, KEPT_AGENT, Kept};
use weir_install::cx::Cx;

use super::{find, now_micros, open_runs};
use crate::failure::usage;
use crate::options::AgentNameArgs;
use crate::terminal::{out, out_json};

/// Pauses or resumes. Ticks from before are none of its own then.
pub(super) async fn set(cx: &Cx, args: &AgentNameArgs, state: &str) -> anyhow::Result<()> {
    let store = cx.journal()?;
    let (kept, _) = find(store.as_ref(), &args.name).await?;
    let name = kept.name.clone();
    let was = kept.state == state;
    if !was {
        let state = state.to_owned();
        store.keep(&Kept { state, ts: now_micros(), ..kept }).await?;
    }
    if args.json.json {
        return out_json(&json!({ "name": name, "state": state }));
    }
    let word = if state == AGENT_ACTIVE { "active" } else { "paused" };
    match was {
        true => out(&format!("{name} was already {word}")),
        false => out(&format!("{name} is now {word}")),
    }
}

/// Takes an agent away.
pub(super) async fn remove(cx: &Cx, args: &AgentNameArgs) -> anyhow::Result<()> {
    let store = cx.journal()?;
    let name = &args.name;
    if !store.unkeep(KEPT_AGENT, name).await? {
        // Says which there are.
        find(store.as_ref(), name).await?;
        return Err(usage(format!("there is no scheduled agent {name:?}")));
    }
    let open = open_runs(store.as_ref(), name).await?;
    if args.json.json {
        return out_json(&json!({ "name": name, "removed": true, "open_runs": open.len() }));
    }
    out(&format!("Removed {name}; its history and sessions are kept"))?;
    match open.iter().find_map(|run| run.session.as_ref()) {
        Some(session) => out(&format!("  one of its runs is not finished: session {session}")),
        None => Ok(()),
    }
}
