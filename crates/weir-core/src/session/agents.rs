//! What a session knows of the sub-agents that its calls started: which there are, what they ask,
//! what they were granted and used (M6, L15). Not here: what a sub-agent may do (`child`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{AgentAsked, AgentFinished, AgentNews, AgentSpawned, Denial, Event, RunStatus};
use crate::ids::{ApprovalId, CallId, SessionId, Timestamp};
use crate::profile::narrower_bound;
use crate::tool::SpawnEffect;

use super::child::{self, BudgetShare};
use super::family_budget::{FamilyMember, RunningAgent, SpentSum};
use super::{CallState, Session, limits};

/// A sub-agent as its parent knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KnownChild {
    spawned: Box<AgentSpawned>,
    finished: bool,
    /// The requests of the sub-agent; `None`: answered.
    asked: BTreeMap<ApprovalId, Option<Box<AgentAsked>>>,
}

impl Session {
    /// The sub-agent that `call` started and that has not come to rest.
    pub fn running_agent(&self, call: CallId) -> Option<&AgentSpawned> {
        let child = self.agents.get(&call).filter(|child| !child.finished)?;
        Some(&child.spawned)
    }

    /// What sub-agents wait for a person with.
    pub fn agents_ask(&self) -> impl Iterator<Item = &AgentAsked> {
        let open = self.agents.values().filter(|child| !child.finished);
        open.flat_map(|child| child.asked.values().flatten().map(AsRef::as_ref))
    }

    /// The sub-agent that this approval is one of.
    pub fn agent_asking(&self, approval: &ApprovalId) -> Option<&SessionId> {
        let mut asked = self.agents_ask();
        asked.find(|asked| asked.request.approval == *approval).map(|asked| &asked.agent)
    }

    /// Whether a call waits for a person by way of the agent that it started.
    pub(super) fn waits_by_agent(&self, call: CallId) -> bool {
        self.agents_ask().any(|asked| asked.call == call)
    }

    /// What the agent that `call` is about to start may use up.
    pub fn agent_share(&self, call: CallId, now: Timestamp) -> BudgetShare {
        let link_bits = self.trail.lent_bits(call);
        let (Some(run), Some(config)) = (&self.run, &self.config) else {
            return BudgetShare { link_bits, ..BudgetShare::default() };
        };
        let spent = run.cost.unwrap_or(f64::MAX);
        let in_all = self.spent_in_all().unwrap_or(f64::MAX);
        let left_of = |max: Option<f64>, spent: f64| max.map(|max| (max - spent).max(0.0));
        let left = BudgetShare {
            budget_usd: narrower_bound(
                left_of(config.limits.budget_usd, spent),
                left_of(config.limits.session_usd, in_all),
            ),
            budget_tokens: config
                .limits
                .budget_tokens
                .map(|max| max.saturating_sub(run.usage.total_tokens())),
            run_timeout_ms: limits::run_deadline(self)
                .map(|until| until.ms_since(self.run_clock(now))),
            link_bits,
        };
        let granted: Vec<BudgetShare> = self
            .agents
            .values()
            .filter(|child| !child.finished)
            .map(|child| child.spawned.share)
            .collect();
        let name = self.find_call(call).map(|call| call.tool.as_str());
        let waits = |call: &&CallState| {
            let starts = match &call.inspection {
                Some(inspection) => inspection.effects.spawns.is_some(),
                None => Some(call.tool.as_str()) == name,
            };
            starts && !call.is_done() && !self.agents.contains_key(&call.id)
        };
        let calls = self.turn.iter().flat_map(|turn| &turn.calls);
        let shares = u32::try_from(calls.filter(waits).count()).unwrap_or(u32::MAX);
        child::divide_share(&left, &granted, shares)
    }

    /// How it stands among those with whom it shares bounds (R11).
    pub fn family_member(&self) -> FamilyMember {
        let running = self.agents.values().filter(|child| !child.finished).map(|child| {
            let BudgetShare { budget_usd, budget_tokens, .. } = child.spawned.share;
            let granted =
                SpentSum { usd: budget_usd.unwrap_or(0.0), tokens: budget_tokens.unwrap_or(0) };
            RunningAgent { agent: child.spawned.agent.clone(), granted }
        });
        let used = SpentSum { usd: self.known_spending_usd(), tokens: self.usage().total_tokens() };
        let member = FamilyMember { used, running: running.collect(), ..FamilyMember::default() };
        let (Some(run), Some(config)) = (&self.run, &self.config) else { return member };
        FamilyMember {
            left_usd: limits::left_usd(self),
            left_tokens: config
                .limits
                .budget_tokens
                .map(|max| max.saturating_sub(run.usage.total_tokens())),
            ..member
        }
    }

    /// Lends the agent that `call` is about to start its part of the bits that links may tell (K10).
    pub(super) fn lend_link_bits(&mut self, call: CallId) {
        let starts = |call: &CallState| call.spawn_effect().is_some();
        if !self.find_call(call).is_some_and(starts) {
            return;
        }
        let waits = |other: &&CallState| {
            let waits = starts(other) && !other.is_done() && other.id != call;
            waits && !self.trail.is_lender_to(other.id)
        };
        let others = self.turn.iter().flat_map(|turn| &turn.calls).filter(waits).count();
        self.trail.lend_bits(call, others);
    }

    /// A call is over that never started its agent: what was lent to it comes back.
    pub(super) fn return_unused_bits(&mut self, call: CallId) {
        if !self.agents.contains_key(&call) {
            self.trail.return_bits(call, 0);
        }
    }

    /// What is heard of a sub-agent, where it is new.
    pub(super) fn new_agent_fact(&self, news: AgentNews) -> Option<Event> {
        let child = self.agents.get(&news.call());
        let is_new = match &news {
            AgentNews::Spawned(f) => {
                let call = self.find_call(f.call).filter(|call| call.is_running());
                child.is_none() && call.is_some_and(|call| call.spawn_effect().is_some())
            }
            AgentNews::Asked(f) => child.is_some_and(|child| {
                !child.finished && !child.asked.contains_key(&f.request.approval)
            }),
            AgentNews::Answered(f) => child.is_some_and(|child| {
                !child.finished && matches!(child.asked.get(&f.approval), Some(Some(_)))
            }),
            AgentNews::Finished(_) => child.is_some_and(|child| !child.finished),
        };
        is_new.then(|| news.into())
    }

    pub(super) fn agent_spawned(&mut self, f: &AgentSpawned) {
        let spawned = Box::new(f.clone());
        self.agents.insert(f.call, KnownChild { spawned, finished: false, asked: BTreeMap::new() });
    }

    pub(super) fn agent_asked(&mut self, f: &AgentAsked) {
        if let Some(child) = self.agents.get_mut(&f.call) {
            child.asked.insert(f.request.approval.clone(), Some(Box::new(f.clone())));
        }
    }

    pub(super) fn agent_answered(&mut self, call: CallId, approval: &ApprovalId) {
        if let Some(child) = self.agents.get_mut(&call) {
            child.asked.insert(approval.clone(), None);
        }
    }

    /// Counts what it used and did: in the run that started it, where that still goes on, and in the
    /// session.
    pub(super) fn agent_finished(&mut self, f: &AgentFinished) {
        let Some(child) = self.agents.get_mut(&f.call) else { return };
        child.finished = true;
        child.asked.clear();
        let (of, profile) = (child.spawned.run, child.spawned.profile.clone());
        let other = self.run.take_if(|run| run.id != of);
        self.count_own_usage(&f.usage, f.cost_usd);
        self.trail.return_bits(f.call, f.link_bits);
        if let Some(run) = &mut self.run {
            run.changed.extend(f.changed_files.iter().cloned());
            run.unanswered |= f.status == RunStatus::NeedsInput;
            // Named by the call of this session: those of the other mean nothing here.
            run.denials.extend(f.denials.iter().map(|denial| Denial {
                call: f.call,
                summary: format!("{profile}: {}", denial.summary),
                ..denial.clone()
            }));
        }
        self.run = self.run.take().or(other);
    }
}

impl CallState {
    /// The effect of starting an agent, where the call has it.
    pub fn spawn_effect(&self) -> Option<&SpawnEffect> {
        self.inspection.as_ref()?.effects.spawns.as_ref()
    }

    /// Whether the agent that it starts changes the workspace that others work in.
    pub(super) fn spawns_a_writer(&self) -> bool {
        self.spawn_effect().is_some_and(|spawn| spawn.writes && !spawn.worktree)
    }
}
