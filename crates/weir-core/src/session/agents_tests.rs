//! How a session stands towards those with whom it shares a bound in dollars, where a price is not known (R11).

use super::Session;
use super::child::child_session_id;
use super::family_budget::{FamilyAnswer, FamilyBudget, FamilyMember, SpentSum};
use super::models_tests::asking;
use super::switch_tests::config;
use crate::config::SessionConfig;
use crate::event::{AgentFinished, AgentSpawned, BudgetShare, RunStatus};
use crate::ids::CallId;
use crate::model::{Price, Usage};
use crate::profile::{Limits, PermissionMode};

const PRICE: Price = Price { input: 1.0, output: 1.0, cache_read: 0.0, cache_write: 0.0 };
const USED: Usage = Usage { input: 100, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 };

/// A session with a run that is on.
fn at_work(limits: Limits, price: Option<Price>) -> Session {
    let mut config = SessionConfig { limits, ..config("agent", PermissionMode::Ask) };
    config.model.price = price;
    let session = asking(config);
    assert!(session.run().is_some(), "a run is on");
    session
}

fn start_agent(session: &mut Session, call: CallId) {
    let spawned = AgentSpawned {
        agent: child_session_id(session.id(), call),
        call,
        run: session.run().expect("a run is on"),
        profile: "code".into(),
        task: String::new(),
        depth: 1,
        permission: PermissionMode::Ask,
        model: "script/one".into(),
        tools: Vec::new(),
        share: BudgetShare::default(),
        writes: false,
        worktree: None,
    };
    session.agent_spawned(&spawned);
}

fn finish_agent(session: &mut Session, call: CallId, cost_usd: Option<f64>) {
    let finished = AgentFinished {
        agent: child_session_id(session.id(), call),
        call,
        status: RunStatus::Completed,
        text: String::new(),
        usage: USED,
        cost_usd,
        changed_files: Vec::new(),
        denials: Vec::new(),
        error: None,
        link_bits: 0,
    };
    session.agent_finished(&finished);
}

/// `(bounds, has the session's model a price, what an agent cost that came to rest, what is left)`
#[test]
fn r11_of_a_sum_that_nobody_knows_nothing_is_left_for_other_agents() {
    let tokens = Limits { budget_tokens: Some(10_000), ..Limits::default() };
    let usd = Limits { budget_usd: Some(1.0), ..Limits::default() };
    let both = Limits { budget_usd: Some(1.0), ..tokens };
    let of_session = Limits { session_usd: Some(1.0), ..tokens };
    for (limits, price, cost_usd, left_usd) in [
        (usd, Some(PRICE), Some(0.25), Some(0.75)),
        (both, Some(PRICE), Some(0.25), Some(0.75)),
        (of_session, Some(PRICE), Some(0.25), Some(0.75)),
        (usd, Some(PRICE), Some(1.5), Some(0.0)),
        (usd, Some(PRICE), None, Some(0.0)),
        (both, Some(PRICE), None, Some(0.0)),
        // Tokens stand in for a budget in dollars that no price can be held to.
        (both, None, None, None),
        (tokens, Some(PRICE), None, None),
    ] {
        let mut session = at_work(limits, price);
        start_agent(&mut session, CallId(1));
        finish_agent(&mut session, CallId(1), cost_usd);
        let member = session.family_member();
        assert_eq!(member.left_usd, left_usd, "{limits:?} {price:?} {cost_usd:?}");
    }
}

#[test]
fn r11_what_has_a_price_counts_to_what_an_agent_used_also_beside_what_has_none() {
    let tokens = Limits { budget_tokens: Some(10_000), ..Limits::default() };
    let mut session = at_work(tokens, None);
    for cost_usd in [Some(0.5), None] {
        session.count_own_usage(&USED, cost_usd);
        session.count_usage(&USED, cost_usd);
    }
    assert_eq!(session.cost_usd(), None);
    assert_eq!(session.family_member().used, SpentSum { usd: 1.0, tokens: 400 });
}

#[test]
fn r11_an_agent_of_unknown_price_leaves_the_others_a_bound_in_dollars() {
    let both = Limits { budget_usd: Some(1.0), budget_tokens: Some(10_000), ..Limits::default() };
    let mut session = at_work(both, Some(PRICE));
    start_agent(&mut session, CallId(1));
    start_agent(&mut session, CallId(2));
    let (one, other) =
        (child_session_id(session.id(), CallId(1)), child_session_id(session.id(), CallId(2)));
    let mut family = FamilyBudget::default();
    family.set_member(session.id(), session.family_member());
    family.set_member(&one, FamilyMember::default());
    family.set_member(&other, FamilyMember::default());
    let ask = SpentSum { usd: 0.1, tokens: 10 };
    assert_eq!(family.reserve_spending(&other, ask), FamilyAnswer::Granted);
    family.release_spending(&other);
    finish_agent(&mut session, CallId(1), None);
    family.set_member(session.id(), session.family_member());
    let answer = family.reserve_spending(&other, ask);
    assert!(matches!(answer, FamilyAnswer::Reached(_)), "{answer:?}");
}
