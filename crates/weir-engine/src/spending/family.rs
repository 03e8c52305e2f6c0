//! A session and its sub-agents share bounds of money and tokens: before one of them or a helper of one asks a
//! model, it is looked at what the others use, and close to a bound they take turns (R11). What there is to know
//! stands in memory: the whole family runs in one program, and each tells how it stands when it is taken up. Not
//! here: the decision (`weir_core::session::family_budget`), caps that sessions have in common.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_core::event::Event;
use weir_core::ids::{CallId, SessionId};
use weir_core::profile::LimitName;
use weir_core::session::Session;
use weir_core::session::family_budget::{
    FamilyAnswer, FamilyBudget, HelperRequest, SpentSum, UsedUpFamily,
};

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

    /// The same for a request that a helper makes for `session`, and for one of its calls where it is for one,
    /// until the turn that it gets is settled or dropped. The session's own request that is on is waited for too: that one waits for no helper.
    ///
    /// # Errors
    /// What is used up, as a sentence: nothing may be asked.
    pub(crate) async fn reserve_for_helper(
        &self,
        session: &SessionId,
        call: Option<CallId>,
        at_most: SpentSum,
    ) -> Result<HelperTurn, String> {
        let number = self.0.helped.fetch_add(1, Ordering::Relaxed);
        let request = HelperRequest { call, number };
        self.wait_for_answer(|budget| budget.reserve_for_helper(session, request, at_most))
            .await
            .map_err(|what| used_up_sentence(&what))?;
        Ok(HelperTurn { spending: self.clone(), session: session.clone(), request, used: None })
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

/// That a helper may ask once. Dropping it before it has asked gives back what is set aside.
pub(crate) struct HelperTurn {
    spending: FamilySpending,
    session: SessionId,
    request: HelperRequest,
    used: Option<SpentSum>,
}

impl HelperTurn {
    /// It asks now. Where it is cut off and nothing is heard of the request any more, it counts as the most that
    /// it could use: a vendor had it and may charge for it.
    pub(crate) fn begin_use(&mut self, at_most: SpentSum) {
        self.used = Some(at_most);
    }

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
                Some(used) => budget.settle_helper(&self.session, self.request, used),
                None => budget.release_helper(&self.session, self.request),
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
        let ended = EndedHelp::of_facts(facts);
        {
            // At once, or whoever looks in between would count the same twice.
            let mut budget = self.spending.lock_budget();
            budget.set_member(&self.session, member);
            if facts.iter().any(ends_request) {
                budget.release_spending(&self.session);
            }
            budget.release_helpers(&self.session, |call| ended.has(call));
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

/// For what facts count what helpers used that have answered, or say that nothing ever will.
#[derive(Debug, Default)]
pub(crate) struct EndedHelp {
    /// For everything: no call is open any more.
    all: bool,
    /// For what is made for no call.
    beside_calls: bool,
    calls: BTreeSet<CallId>,
}

impl EndedHelp {
    pub(crate) fn of_facts<'a>(facts: impl IntoIterator<Item = &'a Event>) -> EndedHelp {
        let mut ended = EndedHelp::default();
        for fact in facts {
            match fact {
                Event::TurnStarted(_) | Event::RunFinished(_) => ended.all = true,
                Event::CallFinished(f) => ended.end_call(f.call),
                Event::CallUnknown(f) => ended.end_call(f.call),
                Event::CallJudged(_)
                | Event::ContextSummarised(_)
                | Event::RecipePlanned(_)
                | Event::RunRemembered(_)
                | Event::HelperAsked(_) => ended.beside_calls = true,
                _ => (),
            }
        }
        ended
    }

    fn end_call(&mut self, call: CallId) {
        self.beside_calls = true;
        self.calls.insert(call);
    }

    /// Whether what was asked for this call, or for none, is among it.
    pub(crate) fn has(&self, call: Option<CallId>) -> bool {
        self.all || call.map_or(self.beside_calls, |call| self.calls.contains(&call))
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
    use weir_core::event::{CallUnknown, TurnStarted};
    use weir_core::ids::TurnId;
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
        let mut of_other = pin!(family.reserve_for_helper(&other, None, tokens(5)));
        let mut of_same = pin!(family.reserve_for_helper(&one, None, tokens(5)));
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
        let turn = family.reserve_for_helper(&one, None, tokens(300)).await;
        let turn = turn.expect("something is left");
        let mut waiting = pin!(family.reserve_spending(&other, tokens(300)));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        drop(turn);
        assert_eq!(waiting.await, Ok(()));
    }

    #[tokio::test]
    async fn r11_a_helper_that_is_cut_off_while_it_asks_counts_as_the_most_it_could_use() {
        let (family, [one, other]) = two_agents();
        let turn = family.reserve_for_helper(&one, Some(CallId(7)), tokens(300)).await;
        let mut turn = turn.expect("something is left");
        turn.begin_use(tokens(300));
        drop(turn);
        let refused = family.reserve_spending(&other, tokens(10)).await.expect_err("too much");
        assert_eq!((refused.spent, refused.max), (1_280.0, 1_000.0));
        let ended = EndedHelp { calls: BTreeSet::from([CallId(7)]), ..EndedHelp::default() };
        family.lock_budget().release_helpers(&one, |call| ended.has(call));
        assert_eq!(family.reserve_spending(&other, tokens(10)).await, Ok(()));
    }

    #[test]
    fn r11_the_end_of_a_call_counts_nothing_that_was_asked_for_another() {
        let unknown = |call| {
            let (tool, reason) = ("read".to_owned(), "it is gone".to_owned());
            Event::from(CallUnknown { call: CallId(call), tool, reason, told: None })
        };
        let ended = EndedHelp::of_facts(&[unknown(7)]);
        assert!(ended.has(Some(CallId(7))) && ended.has(None) && !ended.has(Some(CallId(8))));
        let started = TurnStarted {
            turn: TurnId(4),
            iteration: 1,
            inputs: Vec::new(),
            recipe: false,
            told: None,
        };
        let ended = EndedHelp::of_facts(&[Event::from(started)]);
        assert!(ended.has(Some(CallId(8))) && ended.has(None));
        let ended = EndedHelp::of_facts(&[]);
        assert!(!ended.has(None) && !ended.has(Some(CallId(8))));
    }
}
