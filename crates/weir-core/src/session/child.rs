//! What a sub-agent is made of: its name, its authority, its share of what is left (M6). Pure, and
//! never wider than the session that starts it.
//!
//! Not here: starting it (the engine), what the session remembers of it (`agents`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::governance::rules::RuleAction;
use crate::ids::{CallId, SessionId};
use crate::profile::{Limits, PermissionMode, narrower_bound};
use crate::routing::ModelRouting;
use crate::tool::built_in::ToolTrait;
use crate::tool::{ToolGroup, ToolSpec};

use super::{CondensingSettings, Guards, MemoryPolicy, SessionConfig};

pub use crate::event::BudgetShare;

/// The session of the agent that `call` of `parent` starts: the same name after a crash, so that the
/// repeated call finds it.
pub fn child_session_id(parent: &SessionId, call: CallId) -> SessionId {
    SessionId::new(format!("{parent}_{call}"))
}

/// The session that started `child`, where its name says that one did, and by which call.
pub fn parent_of(child: &SessionId) -> Option<(SessionId, CallId)> {
    let (parent, call) = child.as_str().rsplit_once('_')?;
    Some((SessionId::new(parent), call.parse().ok()?))
}

/// The session that a person or a schedule began, of which `session` is a sub-agent of any depth; or
/// itself.
pub fn root_of(session: &SessionId) -> SessionId {
    let mut root = session.clone();
    while let Some((parent, _)) = parent_of(&root) {
        root = parent;
    }
    root
}

/// The settings of a sub-agent: the parent's authority and, where that is narrower, the profile's.
/// `own` are the settings that its profile would give a session of its own. Doing it twice changes
/// nothing more.
pub fn child_config(
    parent: &SessionConfig,
    own: &SessionConfig,
    share: &BudgetShare,
) -> SessionConfig {
    let depth = parent.depth + 1;
    let limits = narrower_limits(&parent.limits, &own.limits, share);
    let has: BTreeSet<&str> = parent.all_tools().map(|tool| tool.name.as_str()).collect();
    let may = |tool: &&ToolSpec| {
        let name = tool.name.as_str();
        let deep = tool.has_trait(ToolTrait::StartsAgents) && depth >= limits.max_subtask_depth;
        has.contains(name) && !tool.has_trait(ToolTrait::NotForChildren) && !deep
    };
    let of = |tools: &[ToolSpec]| Arc::new(tools.iter().filter(may).cloned().collect());
    let mut rules = parent.rules.clone();
    let denies = own.rules.iter().filter(|rule| rule.action() == RuleAction::Deny);
    let more: Vec<_> =
        denies.filter(|rule| !parent.rules.iter().any(|known| known == *rule)).cloned().collect();
    rules.extend(more);
    // What its profile does not say is as the person left it for the same model.
    let same_model = parent.model.model == own.model.model;
    let usual = if same_model { parent.thinking } else { own.thinking };
    // Every field, so that whoever adds one says whose it is: what lets more happen is the parent's or
    // the narrower of both.
    SessionConfig {
        workspace: own.workspace.clone(),
        profile: own.profile.clone(),
        model: own.model.clone(),
        routing: match same_model {
            true => routing_of_child(&parent.routing),
            // Its profile names the model: no rule leads it elsewhere.
            false => ModelRouting {
                home: Some(own.model.model.to_string()),
                fallback: parent.routing.fallback.clone(),
                ..ModelRouting::default()
            },
        },
        system: own.system.clone(),
        permission: parent.permission.narrower_mode(own.permission),
        thinking: own.profile.thinking.unwrap_or(usual),
        tools: of(&own.tools),
        deferred: of(&own.deferred),
        rules,
        limits,
        // A share of the parent's budget is as little the person's as that is.
        budget_place: parent.budget_place.clone(),
        depth,
        condensing: CondensingSettings { enabled: false, ..parent.condensing },
        memory: MemoryPolicy { off: true, ..MemoryPolicy::default() },
        recipes: super::RecipePolicy { off: true, fast: false, ..Default::default() },
        output_schema: None,
        strict: parent.strict,
        attended: parent.attended,
        guards: Guards { stop_hooks: own.guards.stop_hooks, ..parent.guards.clone() },
        externalize_over: parent.externalize_over,
        // An answer is the parent's to give.
        answer: None,
        own_addresses: parent.own_addresses.clone(),
        link_bits: Some(share.link_bits),
    }
}

/// The models of a sub-agent that begins with its parent's. Where one stands in because another has failed, the
/// sub-agent does not go back to that: for it the one that stands in is the chosen one. Where a rule led the
/// parent away, the sub-agent's own work decides.
fn routing_of_child(parent: &ModelRouting) -> ModelRouting {
    match &parent.away {
        Some(away) if parent.fallback.contains(away) => {
            ModelRouting { home: Some(away.clone()), away: None, ..parent.clone() }
        }
        Some(_) | None => parent.clone(),
    }
}

/// Takes the tool that starts sub-agents out where a session of this depth may start no other.
pub fn within_depth(tools: &mut Vec<ToolSpec>, depth: u32, limits: &Limits) {
    if depth >= limits.max_subtask_depth {
        tools.retain(|tool| !tool.has_trait(ToolTrait::StartsAgents));
    }
}

/// Whether a session with these settings can change the workspace that it works in. What is not
/// certain is "yes".
pub fn may_write(config: &SessionConfig) -> bool {
    let tame = |tool: &ToolSpec| match tool.group {
        ToolGroup::Read | ToolGroup::Vault | ToolGroup::Web => true,
        ToolGroup::Agent => tool.has_trait(ToolTrait::Tame),
        ToolGroup::Edit | ToolGroup::Mcp | ToolGroup::Skill => false,
    };
    config.permission != PermissionMode::Plan && !config.all_tools().all(tame)
}

/// Every bound at its narrower, and no more than its share of what the parent has left. Nobody
/// reminds a sub-agent of its role.
fn narrower_limits(parent: &Limits, own: &Limits, share: &BudgetShare) -> Limits {
    let limits = parent.with_narrower_bounds(own);
    Limits {
        power_steering_frequency: 0,
        budget_usd: narrower_bound(limits.budget_usd, share.budget_usd),
        budget_tokens: narrower_bound(limits.budget_tokens, share.budget_tokens),
        run_timeout_ms: narrower_bound(limits.run_timeout_ms, share.run_timeout_ms),
        ..limits
    }
}

/// What one of `shares` calls that start an agent gets of `left`, when agents that still run were
/// granted `granted`. Money and tokens are divided; time passes for all of them at once, and bits
/// are lent to each of them when its call begins.
pub fn divide_share(left: &BudgetShare, granted: &[BudgetShare], shares: u32) -> BudgetShare {
    let shares = shares.max(1);
    let usd: f64 = granted.iter().filter_map(|share| share.budget_usd).sum();
    let tokens: u64 = granted.iter().filter_map(|share| share.budget_tokens).sum();
    BudgetShare {
        budget_usd: left.budget_usd.map(|left| (left - usd).max(0.0) / f64::from(shares)),
        budget_tokens: left
            .budget_tokens
            .map(|left| left.saturating_sub(tokens) / u64::from(shares)),
        run_timeout_ms: left.run_timeout_ms,
        link_bits: left.link_bits,
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
