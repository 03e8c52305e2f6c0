//! A session and its sub-agents share bounds of money and tokens: before one of them asks a model, it is looked
//! at what the others use, and close to a bound they take turns (R11). What there is to know stands in memory:
//! the whole family runs in one program, and each tells how it stands when it is taken up. Not here: the
//! decision (`weir_core::session::family_budget`), caps that sessions have in common.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::Session;
use weir_core::session::family_budget::{FamilyAnswer, FamilyBudget, SpentSum, UsedUpFamily};

/// What a family of sessions uses; a copy is the same one.
#[derive(Clone, Default)]
pub struct FamilySpending(Arc<FamilyBook>);

#[derive(Default)]
struct FamilyBook {
    budget: Mutex<FamilyBudget>,
    changed: Notify,
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
        loop {
            // Listening before it looks: what changes in between is heard.
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let answer = self.lock_budget().reserve_spending(session, at_most);
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

    fn lock_budget(&self) -> MutexGuard<'_, FamilyBudget> {
        self.0.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        seat.update(session);
        seat
    }

    /// These facts were folded: what the session used by now counts, in the place of what was set aside for a
    /// request that is over.
    pub(crate) fn follow_session(&self, session: &Session, facts: &[Event]) {
        let is_over = |fact: &Event| {
            matches!(
                fact,
                Event::ModelReplied(_)
                    | Event::ModelRetried(_)
                    | Event::ModelFailed(_)
                    | Event::ContextCondensing(_)
                    | Event::RunFinished(_)
            )
        };
        self.update(session);
        if facts.iter().any(is_over) {
            self.spending.release_spending(&self.session);
        }
    }

    fn update(&self, session: &Session) {
        self.spending.lock_budget().set_member(&self.session, session.family_member());
        self.spending.0.changed.notify_waiters();
    }
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
}
