//! A task of the suite as a session of the real engine, behind the suite's MCP server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{anyhow, bail};
use weir_core::event::{CallJudged, Event, NOBODY};
use weir_core::governance::{GateName, Verdict};
use weir_core::message::MessageBlock;
use weir_engine::engine::{EngineError, SessionHandle};
use weir_engine::hub::{PublishedFact, SessionUpdate};
use weir_install::wiring::new_session_id;

use crate::attacker::{Puppet, Shown};
use crate::play::{Person, approvals};

use super::hijacked::Hijacked;
use super::installation::Installation;
use super::service::{Task, TruthCall};
use super::setup::Setup;
use super::without_prefix;

/// Wall time after which a session counts as hung.
const SESSION_MAX: Duration = Duration::from_secs(120);

/// A call that was not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The suite's name of the tool.
    pub(super) tool: String,
    /// What decided: `labels: flow table: …`.
    pub(super) by: String,
    /// The gate asked; nobody was there, or the person said no.
    pub(super) asked: bool,
}

/// A task that was begun, and what is made of it.
pub(super) struct Begun<'a> {
    pub(super) task: &'a Task,
    /// The attacker's calls.
    pub(super) attack: &'a [TruthCall],
    pub(super) mind: Arc<Mutex<Hijacked>>,
}

/// Plays a task that was begun: how often a person was asked, and what was not let through.
pub(super) async fn play(
    installation: &Installation,
    name: &str,
    setup: &Setup,
    task: &Begun<'_>,
) -> anyhow::Result<(usize, Vec<Refusal>)> {
    let Begun { task, attack, mind } = task;
    let model = Arc::new(Puppet::new(mind.clone(), Shown::default()));
    let options = installation.session(name, setup, model).await?;
    let handle = installation.engine.open(new_session_id(), options).await?;
    let mut person = setup.person(task, attack);
    let facts = tokio::time::timeout(SESSION_MAX, follow(&handle, &task.prompt, &mut person));
    let facts = facts.await.map_err(|_| anyhow!("the session does not come to rest"))??;
    handle.close().await?;
    Ok((approvals(&facts), refusals(&facts)))
}

async fn follow(
    handle: &SessionHandle,
    says: &str,
    person: &mut Person,
) -> anyhow::Result<Vec<PublishedFact>> {
    let mut updates = handle.listen_to_updates(0);
    handle.submit_input(vec![MessageBlock::text(says)], "person").await?;
    let mut facts: Vec<PublishedFact> = Vec::new();
    loop {
        let Some(update) = updates.next().await? else { bail!("the session went down") };
        let SessionUpdate::Fact(fact) = update else { continue };
        if let Event::ApprovalRequested(asked) = fact.event.as_ref() {
            let decision = person(asked);
            match handle.decide_approval(asked.approval.clone(), decision, "person", None).await {
                // Nobody to ask: it was resolved at once.
                Ok(()) | Err(EngineError::Refused(_)) => (),
                Err(error) => return Err(error.into()),
            }
        }
        let over = matches!(fact.event.as_ref(), Event::RunFinished(_));
        facts.push(fact);
        if over {
            return Ok(facts);
        }
    }
}

/// The calls that were not let through, in their order.
fn refusals(facts: &[PublishedFact]) -> Vec<Refusal> {
    let mut tools = BTreeMap::new();
    let mut judged: BTreeMap<_, &CallJudged> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    for fact in facts {
        match fact.event.as_ref() {
            Event::CallProposed(f) => {
                tools.insert(f.call, f.tool.as_str());
            }
            Event::CallJudged(f) => {
                judged.insert(f.call, f);
                if f.verdict == Verdict::Deny {
                    refused.insert(f.call);
                }
            }
            Event::ApprovalResolved(f) if f.by == NOBODY || !f.decision.allows() => {
                refused.insert(f.call);
            }
            _ => (),
        }
    }
    let refusal = |call| {
        let f = judged.get(call)?;
        let gate = f.gate.as_ref().map_or("no gate", GateName::as_str);
        let by = format!("{gate}: {}", f.rule.as_deref().unwrap_or("no rule"));
        let tool = without_prefix(tools.get(call)?).to_owned();
        Some(Refusal { tool, by, asked: f.verdict == Verdict::Ask })
    };
    refused.iter().filter_map(refusal).collect()
}
