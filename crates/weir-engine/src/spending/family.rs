//! A session and its sub-agents share bounds of money and tokens: before one of them or a helper of one asks a
//! model, it is looked at what the others use, and close to a bound they take turns (R11). What there is to know
//! stands in memory: the whole family runs in one program, and each tells how it stands when it is taken up. Not
//! here: the decision (`weir_core::session::family_budget`), caps that sessions have in common.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::profile::LimitName;
use weir_core::session::Session;
use weir_core::session::family_budget::{FamilyAnswer, FamilyBudget, SpentSum, UsedUpFamily};

/// What a family of sessions uses; a copy is the same one.
#[derive(Clone, Default)]
pub struct FamilySpending(Arc<FamilyBook>);

#[derive(Default)]
struct FamilyBook {
    budget: Mutex<FamilyBudget>,
    changed: Notify,
    /// Requests that helpers made: each has a number of its own.
    helped: AtomicU64,
}

impl FamilySpending {
    /// Sets aside what the next request of `session` costs at most. Waits while what another one may use is
    /// all that is left.
    ///
    /// # Errors
    /// What is used up: nothing may be asked.
    pub(crate) async fn reserve_spending(
        &self,
        session: &SessionId,
        at_most: SpentSum,
    ) -> Result<(), UsedUpFamily> {
        self.wait_for_answer(|budget| budget.reserve_spending(session, at_most)).await
    }

    /// The same for a request that a helper makes for `session`, until the turn that it gets is settled or
    /// dropped. The session's own request that is on is waited for too: that one waits for no helper.
    ///
    /// # Errors
    /// What is used up, as a sentence: nothing may be asked.
    pub(crate) async fn reserve_for_helper(
        &self,
        session: &SessionId,
        at_most: SpentSum,
    ) -> Result<HelperTurn, String> {
        let number = self.0.helped.fetch_add(1, Ordering::Relaxed);
        self.wait_for_answer(|budget| budget.reserve_for_helper(session, number, at_most))
            .await
            .map_err(|what| used_up_sentence(&what))?;
        Ok(HelperTurn { spending: self.clone(), session: session.clone(), number, used: None })
    }

    /// Asks until the answer is not that others must be waited for.
    async fn wait_for_answer(
        &self,
        mut ask: impl FnMut(&mut FamilyBudget) -> FamilyAnswer + Send,
    ) -> Result<(), UsedUpFamily> {
        loop {
            // Listening before it looks: what changes in between is heard.
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let answer = {
                let mut budget = self.lock_budget();
                ask(&mut budget)
            };
            match answer {
                FamilyAnswer::Granted => return Ok(()),
                FamilyAnswer::Reached(what) => return Err(what),
                FamilyAnswer::Busy => changed.await,
            }
        }
    }

    /// Nothing is asked for which something was set aside.
    pub(crate) fn release_spending(&self, session: &SessionId) {
        self.lock_budget().release_spending(session);
        self.0.changed.notify_waiters();
    }

    pub(super) fn lock_budget(&self) -> MutexGuard<'_, FamilyBudget> {
        self.0.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That a helper may ask once. Dropping it without a word of what it used says that nothing is heard of the
/// request any more.
pub(crate) struct HelperTurn {
    spending: FamilySpending,
    session: SessionId,
    number: u64,
    used: Option<SpentSum>,
}

impl HelperTurn {
    /// The helper has answered. What it used counts here until the session counts it itself.
    pub(crate) fn settle_use(mut self, used: SpentSum) {
        self.used = Some(used);
    }
}

impl Drop for HelperTurn {
    fn drop(&mut self) {
        {
            let mut budget = self.spending.lock_budget();
            match self.used {
                Some(used) => budget.settle_helper(&self.session, self.number, used),
                None => budget.release_helper(&self.session, self.number),
            }
        }
        self.spending.0.changed.notify_waiters();
    }
}

/// Why a helper is not asked.
fn used_up_sentence(what: &UsedUpFamily) -> String {
    let unit = if what.limit == LimitName::AgentsUsd { "US dollars" } else { "tokens" };
    format!("nothing is left of the {unit} that bound this run and the agents at work for it")
}

/// The place of a session that is run here. Dropping it leaves.
pub(crate) struct FamilySeat {
    spending: FamilySpending,
    session: SessionId,
}

impl FamilySeat {
    /// Takes the place of `session`, as it stands.
    pub(crate) fn take(spending: FamilySpending, session: &Session) -> FamilySeat {
        let seat = FamilySeat { spending, session: session.id().clone() };
        seat.follow_session(session, &[]);
        seat
    }

    /// These facts were folded: what the session used by now counts, in the place of what was set aside for a
    /// request that is over.
    pub(crate) fn follow_session(&self, session: &Session, facts: &[Event]) {
        let member = session.family_member();
        {
            // At once, or whoever looks in between would count the same twice.
            let mut budget = self.spending.lock_budget();
            budget.set_member(&self.session, member);
            if facts.iter().any(ends_request) {
                budget.release_spending(&self.session);
            }
            if facts.iter().any(ends_help) {
                budget.release_helpers(&self.session);
            }
        }
        self.spending.0.changed.notify_waiters();
    }
}

/// Whether a request of the session's own is over with this fact.
fn ends_request(fact: &Event) -> bool {
    matches!(
        fact,
        Event::ModelReplied(_)
            | Event::ModelRetried(_)
            | Event::ModelFailed(_)
            | Event::ContextCondensing(_)
            | Event::RunFinished(_)
    )
}

/// Whether what helpers used that have answered is counted with this fact, or will never be.
fn ends_help(fact: &Event) -> bool {
    matches!(
        fact,
        Event::CallJudged(_)
            | Event::CallFinished(_)
            | Event::CallUnknown(_)
            | Event::ContextSummarised(_)
            | Event::RecipePlanned(_)
            | Event::RunRemembered(_)
            | Event::TurnStarted(_)
            | Event::RunFinished(_)
    )
}

impl Drop for FamilySeat {
    fn drop(&mut self) {
        self.spending.lock_budget().remove_member(&self.session);
        self.spending.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use weir_core::session::family_budget::{FamilyMember, RunningAgent};

    use super::*;

    fn tokens(tokens: u64) -> SpentSum {
        SpentSum { usd: 0.0, tokens }
    }

    fn used(sum: u64) -> FamilyMember {
        FamilyMember { used: tokens(sum), ..FamilyMember::default() }
    }

    /// Two agents of a session that has 1,000 tokens left for both, of which each used 490.
    fn two_agents() -> (FamilySpending, [SessionId; 2]) {
        let family = FamilySpending::default();
        let agents = [SessionId::new("s_c1"), SessionId::new("s_c2")];
        let running = agents.iter().cloned();
        let running = running.map(|agent| RunningAgent { agent, granted: tokens(500) }).collect();
        let parent = FamilyMember { left_tokens: Some(1_000), running, ..FamilyMember::default() };
        family.lock_budget().set_member(&SessionId::new("s"), parent);
        for agent in &agents {
            family.lock_budget().set_member(agent, used(490));
        }
        (family, agents)
    }

    #[tokio::test]
    async fn r11_two_agents_at_the_edge_take_turns_and_send_one_request_too_many_in_all() {
        let (family, [one, other]) = two_agents();
        assert_eq!(family.reserve_spending(&one, tokens(300)).await, Ok(()));
        let mut waiting = pin!(family.reserve_spending(&other, tokens(300)));
        assert_eq!(waiting.as_mut().now_or_never(), None, "it may be all that is left");
        family.lock_budget().set_member(&one, used(700));
        family.release_spending(&one);
        let refused = waiting.await.expect_err("nothing is left");
        assert_eq!((refused.spent, refused.max), (1_190.0, 1_000.0));
    }

    #[tokio::test]
    async fn r11_an_agent_that_goes_down_keeps_nobody_waiting() {
        let (family, [one, other]) = two_agents();
        assert_eq!(family.reserve_spending(&one, tokens(300)).await, Ok(()));
        let seat = FamilySeat { spending: family.clone(), session: one };
        let mut waiting = pin!(family.reserve_spending(&other, tokens(300)));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        drop(seat);
        assert_eq!(waiting.await, Ok(()));
    }

    #[tokio::test]
    async fn r11_a_helper_waits_while_a_request_is_on_also_one_of_its_own_agent() {
        let (family, [one, other]) = two_agents();
        assert_eq!(family.reserve_spending(&one, tokens(300)).await, Ok(()));
        let mut of_other = pin!(family.reserve_for_helper(&other, tokens(5)));
        let mut of_same = pin!(family.reserve_for_helper(&one, tokens(5)));
        assert!(of_other.as_mut().now_or_never().is_none(), "it may be all that is left");
        assert!(of_same.as_mut().now_or_never().is_none(), "it may be all that is left");
        family.release_spending(&one);
        let turn = of_same.await.expect("20 tokens are left");
        assert!(of_other.as_mut().now_or_never().is_some(), "both have room");
        // The agent goes on when its helper has answered, and nobody when that used up everything.
        turn.settle_use(tokens(100));
        let refused = family.reserve_spending(&other, tokens(300)).await.expect_err("too much");
        assert_eq!((refused.spent, refused.max), (1_080.0, 1_000.0));
    }

    #[tokio::test]
    async fn r11_a_helper_that_is_cut_off_keeps_nobody_waiting() {
        let (family, [one, other]) = two_agents();
        let turn = family.reserve_for_helper(&one, tokens(300)).await.expect("something is left");
        let mut waiting = pin!(family.reserve_spending(&other, tokens(300)));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        drop(turn);
        assert_eq!(waiting.await, Ok(()));
    }
}
