//! The scheduled agents of a store, read and looked at. Not here: what is done with them.

use std::collections::BTreeMap;

use weir_core::ids::Timestamp;
use weir_core::schedule::ScheduledAgent;

use super::calendar::Calendar;
use crate::ports::{AGENT_ACTIVE, KEPT_AGENT, Store, StoreError, StoredItem};

/// An agent as it is kept.
#[derive(Debug, Clone)]
pub struct KnownAgent {
    /// The definition of the agent.
    pub agent: ScheduledAgent,
    /// When it is due; none: only by hand or after another.
    pub calendar: Option<Calendar>,
    /// Its ticks count. Not: it is paused.
    pub active: bool,
    /// Since when it is as it is: earlier ticks are none of its own.
    pub since: Timestamp,
}

/// An agent that is kept and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableAgent {
    /// Name of the agent.
    pub name: String,
    /// The reason, as a sentence for people.
    pub why: String,
}

/// Every agent of the store by name, and those that cannot be used.
///
/// # Errors
/// The store cannot be read.
pub async fn load_known_agents(
    store: &dyn Store,
) -> Result<(BTreeMap<String, KnownAgent>, Vec<UnusableAgent>), StoreError> {
    let mut found = BTreeMap::new();
    let mut unusable = Vec::new();
    for kept in store.stored_items(KEPT_AGENT).await? {
        match parse_stored_agent(&kept) {
            Ok(known) => drop(found.insert(kept.name, known)),
            Err(why) => unusable.push(UnusableAgent { name: kept.name, why }),
        }
    }
    Ok((found, unusable))
}

fn parse_stored_agent(kept: &StoredItem) -> Result<KnownAgent, String> {
    let agent: ScheduledAgent =
        serde_json::from_str(&kept.text).map_err(|error| error.to_string())?;
    if agent.name != kept.name {
        return Err(format!("it calls itself {}", agent.name));
    }
    if let Some(problem) = agent.problem() {
        return Err(problem);
    }
    let calendar = agent.cron.as_deref().map(|cron| Calendar::new(cron, &agent.timezone));
    let calendar = calendar.transpose().map_err(|error| error.to_string())?;
    Ok(KnownAgent { agent, calendar, active: kept.state == AGENT_ACTIVE, since: kept.ts })
}
