//! Agents at the edge of a bound that they share: one request goes beyond, and no second one (R11).

use super::*;

fn id(name: &str) -> SessionId {
    SessionId::new(name)
}

fn tokens(tokens: u64) -> SpentSum {
    SpentSum { usd: 0.0, tokens }
}

fn dollars(usd: f64) -> SpentSum {
    SpentSum { usd, tokens: 0 }
}

/// A request of a helper for no call.
fn helper(number: u64) -> HelperRequest {
    HelperRequest { call: None, number }
}

/// A session with so much left, of which each of these agents was granted its part.
fn parent(left: u64, agents: &[(&str, u64)]) -> FamilyMember {
    let running = agents
        .iter()
        .map(|(agent, part)| RunningAgent { agent: id(agent), granted: tokens(*part) });
    FamilyMember { left_tokens: Some(left), running: running.collect(), ..FamilyMember::default() }
}

fn used(sum: u64) -> FamilyMember {
    FamilyMember { used: tokens(sum), ..FamilyMember::default() }
}

#[test]
fn r11_of_two_agents_at_the_edge_one_goes_beyond_and_the_other_asks_nothing() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(490));
    family.set_member(&id("s_c2"), used(490));
    assert_eq!(family.reserve_spending(&id("s_c1"), tokens(300)), FamilyAnswer::Granted);
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(300)), FamilyAnswer::Busy);
    // The first used more than there was.
    family.set_member(&id("s_c1"), used(700));
    family.release_spending(&id("s_c1"));
    let reached = UsedUpFamily { limit: LimitName::AgentsTokens, spent: 1_190.0, max: 1_000.0 };
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(300)), FamilyAnswer::Reached(reached));
}

#[test]
fn r11_who_waited_goes_on_when_the_other_used_less_than_it_could() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(300));
    family.set_member(&id("s_c2"), used(300));
    assert_eq!(family.reserve_spending(&id("s_c1"), tokens(400)), FamilyAnswer::Granted);
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(400)), FamilyAnswer::Busy);
    family.set_member(&id("s_c1"), used(350));
    family.release_spending(&id("s_c1"));
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(400)), FamilyAnswer::Granted);
    // Far from the edge nobody waits.
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(10_000, &[("s_c1", 500), ("s_c2", 500)]));
    for agent in ["s_c1", "s_c2"] {
        assert_eq!(family.reserve_spending(&id(agent), tokens(400)), FamilyAnswer::Granted);
    }
}

#[test]
fn r11_dollars_are_held_as_tokens_are_and_the_parent_waits_too() {
    let mut family = FamilyBudget::default();
    let running = vec![RunningAgent { agent: id("s_c1"), granted: dollars(0.5) }];
    let of = FamilyMember { left_usd: Some(1.0), running, ..FamilyMember::default() };
    family.set_member(&id("s"), of);
    family.set_member(&id("s_c1"), FamilyMember::default());
    assert_eq!(family.reserve_spending(&id("s_c1"), dollars(1.2)), FamilyAnswer::Granted);
    assert_eq!(family.reserve_spending(&id("s"), dollars(0.1)), FamilyAnswer::Busy);
    let spent = FamilyMember { used: dollars(1.1), ..FamilyMember::default() };
    family.set_member(&id("s_c1"), spent);
    family.release_spending(&id("s_c1"));
    let reached = UsedUpFamily { limit: LimitName::AgentsUsd, spent: 1.1, max: 1.0 };
    assert_eq!(family.reserve_spending(&id("s"), dollars(0.1)), FamilyAnswer::Reached(reached));
}

#[test]
fn r11_an_agent_of_an_agent_counts_for_all_above_it_and_once() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(
        &id("s_c1"),
        FamilyMember { used: tokens(100), ..parent(400, &[("s_c1_c3", 400)]) },
    );
    family.set_member(&id("s_c2"), used(400));
    family.set_member(&id("s_c1_c3"), used(390));
    assert_eq!(family.reserve_spending(&id("s_c1_c3"), tokens(300)), FamilyAnswer::Granted);
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(300)), FamilyAnswer::Busy);
    // It came to rest with 500: that is among what the first one used from now on.
    family.set_member(&id("s_c1"), FamilyMember { used: tokens(600), ..parent(0, &[]) });
    let reached = UsedUpFamily { limit: LimitName::AgentsTokens, spent: 1_000.0, max: 1_000.0 };
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(300)), FamilyAnswer::Reached(reached));
    // What its parent counts itself leaves nothing behind.
    family.set_member(&id("s"), parent(400, &[("s_c2", 500)]));
    assert_eq!(
        family.reserve_spending(&id("s_c2"), tokens(300)),
        FamilyAnswer::Reached(UsedUpFamily {
            limit: LimitName::AgentsTokens,
            spent: 400.0,
            max: 400.0,
        })
    );
}

#[test]
fn r11_an_agent_that_is_not_back_yet_counts_as_all_that_it_was_granted() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c2"), used(500));
    assert!(matches!(family.reserve_spending(&id("s_c2"), tokens(1)), FamilyAnswer::Reached(_)));
    family.set_member(&id("s_c1"), used(0));
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(1)), FamilyAnswer::Granted);
}

#[test]
fn r11_an_agent_that_never_began_takes_nothing_from_the_one_that_started_it() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(500, &[("s_c1", 500)]));
    assert_eq!(family.reserve_spending(&id("s"), tokens(300)), FamilyAnswer::Granted);
    family.set_member(&id("s_c1"), used(500));
    assert!(matches!(family.reserve_spending(&id("s"), tokens(300)), FamilyAnswer::Reached(_)));
}

#[test]
fn r11_what_went_down_holds_nothing_back() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(600));
    family.set_member(&id("s_c2"), used(100));
    assert_eq!(family.reserve_spending(&id("s_c1"), tokens(900)), FamilyAnswer::Granted);
    family.remove_member(&id("s_c1"));
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(900)), FamilyAnswer::Granted);
    // What it used still counts, until the one that started it says so itself.
    assert_eq!(family.used_below(&id("s")), tokens(700));
    family.remove_member(&id("s"));
    assert_eq!(family, FamilyBudget::default());
}

#[test]
fn r11_a_helper_waits_for_its_turn_and_is_not_asked_when_nothing_is_left() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(490));
    family.set_member(&id("s_c2"), used(490));
    assert_eq!(family.reserve_spending(&id("s_c1"), tokens(300)), FamilyAnswer::Granted);
    // Of the other agent, of the one that started both, and of the same agent.
    for of in ["s_c2", "s", "s_c1"] {
        let answer = family.reserve_for_helper(&id(of), helper(1), tokens(10));
        assert_eq!(answer, FamilyAnswer::Busy, "{of}");
    }
    family.set_member(&id("s_c1"), used(700));
    family.release_spending(&id("s_c1"));
    for of in ["s_c2", "s", "s_c1"] {
        let answer = family.reserve_for_helper(&id(of), helper(1), tokens(10));
        assert!(matches!(answer, FamilyAnswer::Reached(_)), "{of}: {answer:?}");
    }
}

#[test]
fn r11_others_wait_for_a_helper_until_it_has_answered_or_nothing_is_heard_of_it() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(300));
    family.set_member(&id("s_c2"), used(300));
    let busy = |family: &mut FamilyBudget| {
        let others = [
            family.reserve_spending(&id("s_c2"), tokens(10)),
            family.reserve_spending(&id("s_c1"), tokens(10)),
            family.reserve_for_helper(&id("s_c1"), helper(2), tokens(10)),
        ];
        others.iter().all(|answer| *answer == FamilyAnswer::Busy)
    };
    assert_eq!(
        family.reserve_for_helper(&id("s_c1"), helper(1), tokens(900)),
        FamilyAnswer::Granted
    );
    assert!(busy(&mut family));
    family.release_helper(&id("s_c1"), helper(1));
    assert!(!busy(&mut family), "it was cut off");
    family.release_spending(&id("s_c1"));
    family.release_spending(&id("s_c2"));
    family.release_helper(&id("s_c1"), helper(2));
    assert_eq!(
        family.reserve_for_helper(&id("s_c1"), helper(3), tokens(900)),
        FamilyAnswer::Granted
    );
    family.settle_helper(&id("s_c1"), helper(3), tokens(5));
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(10)), FamilyAnswer::Granted);
}

#[test]
fn r11_what_a_helper_used_counts_at_once_and_once() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(300));
    family.set_member(&id("s_c2"), used(300));
    assert_eq!(
        family.reserve_for_helper(&id("s_c1"), helper(1), tokens(900)),
        FamilyAnswer::Granted
    );
    family.settle_helper(&id("s_c1"), helper(1), tokens(600));
    let reached = UsedUpFamily { limit: LimitName::AgentsTokens, spent: 1_200.0, max: 1_000.0 };
    assert_eq!(
        family.reserve_spending(&id("s_c2"), tokens(10)),
        FamilyAnswer::Reached(reached.clone())
    );
    // Its session counts it now.
    family.set_member(&id("s_c1"), used(900));
    family.release_helpers(&id("s_c1"), |_| true);
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(10)), FamilyAnswer::Reached(reached));
    // One that is under way stays, and one of a session that has gone does not.
    family.set_member(&id("s_c1"), used(100));
    assert_eq!(
        family.reserve_for_helper(&id("s_c1"), helper(2), tokens(900)),
        FamilyAnswer::Granted
    );
    family.release_helpers(&id("s_c1"), |_| true);
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(10)), FamilyAnswer::Busy);
    family.remove_member(&id("s_c1"));
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(10)), FamilyAnswer::Granted);
    family.settle_helper(&id("s_c1"), helper(2), tokens(9_000));
    assert_eq!(family.used_below(&id("s")), tokens(400), "nothing of what is not known");
}

#[test]
fn r11_an_agent_that_used_nothing_is_not_asked_either_when_nothing_is_left() {
    let mut family = FamilyBudget::default();
    // What came to rest used up everything.
    family.set_member(&id("s"), parent(0, &[("s_c2", 300)]));
    family.set_member(&id("s_c2"), used(0));
    let reached = UsedUpFamily { limit: LimitName::AgentsTokens, spent: 0.0, max: 0.0 };
    assert_eq!(
        family.reserve_spending(&id("s_c2"), tokens(10)),
        FamilyAnswer::Reached(reached.clone())
    );
    // The session itself is stopped by its own table, with the words for that; its helpers by this.
    assert_eq!(family.reserve_spending(&id("s"), tokens(10)), FamilyAnswer::Granted);
    family.release_spending(&id("s"));
    assert_eq!(
        family.reserve_for_helper(&id("s"), helper(1), tokens(10)),
        FamilyAnswer::Reached(reached)
    );
}

#[test]
fn r11_what_was_asked_for_a_call_counts_until_that_call_is_over() {
    let mut family = FamilyBudget::default();
    family.set_member(&id("s"), parent(1_000, &[("s_c1", 500), ("s_c2", 500)]));
    family.set_member(&id("s_c1"), used(300));
    family.set_member(&id("s_c2"), used(300));
    let for_call = |call, number| HelperRequest { call: Some(CallId(call)), number };
    for asked in [for_call(7, 1), for_call(8, 2), helper(3)] {
        let answer = family.reserve_for_helper(&id("s_c1"), asked, tokens(10));
        assert_eq!(answer, FamilyAnswer::Granted);
    }
    family.settle_helper(&id("s_c1"), for_call(7, 1), tokens(600));
    family.settle_helper(&id("s_c1"), for_call(8, 2), tokens(5));
    family.settle_helper(&id("s_c1"), helper(3), tokens(5));
    // The call beside it is over: the session counts what was asked for that one, and nothing else.
    family.set_member(&id("s_c1"), used(305));
    family.release_helpers(&id("s_c1"), |call| call.is_none_or(|call| call == CallId(8)));
    let reached = UsedUpFamily { limit: LimitName::AgentsTokens, spent: 1_205.0, max: 1_000.0 };
    assert_eq!(
        family.reserve_spending(&id("s_c2"), tokens(10)),
        FamilyAnswer::Reached(reached.clone())
    );
    family.set_member(&id("s_c1"), used(905));
    family.release_helpers(&id("s_c1"), |call| call == Some(CallId(7)));
    assert_eq!(family.reserve_spending(&id("s_c2"), tokens(10)), FamilyAnswer::Reached(reached));
    assert_eq!(family.used_below(&id("s")), tokens(1_205), "and once");
}
