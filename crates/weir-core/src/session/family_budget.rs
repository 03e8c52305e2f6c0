//! What a session and the agents below it may use up together (R11): each agent has a share of its own, and
//! the request with which a share is used up may cost more than is left of it. So before a request what it
//! costs at most is set aside, and where that may be all that is left for the others too, these wait: at most
//! one request goes beyond, however many agents are at work. A request that a helper makes for a session (a
//! judge, a summary, a reader) takes its turn like one of the session itself.
//!
//! Pure. Not here: dividing shares (`child`), who waits and how (the engine), caps that sessions of several
//! families have in common (the engine's `spending`).

use std::collections::BTreeMap;

use crate::ids::{CallId, SessionId};
use crate::profile::LimitName;

use super::child::parent_of;

/// An amount of both kinds that bounds are set in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpentSum {
    /// US dollars; what has no price counts as nothing here: a bound in dollars lets it begin only where
    /// tokens bound it too.
    pub usd: f64,
    /// Tokens of all kinds.
    pub tokens: u64,
}

impl SpentSum {
    fn add(&mut self, other: SpentSum) {
        self.usd += other.usd;
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

/// An agent that a session started and that has not come to rest.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningAgent {
    /// Its session.
    pub agent: SessionId,
    /// What it was granted: as much counts as used while nobody knows what it did use.
    pub granted: SpentSum,
}

/// One session, as those beside and above it see it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FamilyMember {
    /// What it used, with what its agents did that have come to rest.
    pub used: SpentSum,
    /// US dollars that are left for its agents that run and for itself; `None`: nothing bounds them here.
    pub left_usd: Option<f64>,
    /// The same in tokens.
    pub left_tokens: Option<u64>,
    /// Its agents that run.
    pub running: Vec<RunningAgent>,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, PartialEq)]
pub enum FamilyAnswer {
    /// It may: what it costs at most is set aside.
    Granted,
    /// It may not: together they used up what was left.
    Reached(UsedUpFamily),
    /// Not yet: what another is about to use may be all that is left.
    Busy,
}

/// What a family has used up.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedUpFamily {
    /// [`LimitName::AgentsUsd`] or [`LimitName::AgentsTokens`].
    pub limit: LimitName,
    /// What those who run used, in the unit of the bound.
    pub spent: f64,
    /// What was left for them.
    pub max: f64,
}

/// Sessions that share bounds by their descent, and what each of them is about to use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FamilyBudget {
    members: BTreeMap<SessionId, FamilyMember>,
    holds: BTreeMap<FamilyRequest, FamilyHold>,
}

/// A request that a helper makes for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HelperRequest {
    /// The call for which it is made, whose end says what it used; `None`: it is made for none, or no fact says
    /// what it used.
    pub call: Option<CallId>,
    /// Tells it from the others.
    pub number: u64,
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FamilyRequest {
    session: SessionId,
    /// Which of those that helpers make for the session; `None`: its own.
    helper: Option<HelperRequest>,
}

/// What stands for a request until its session counts what it used.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FamilyHold {
    /// It is under way, and uses at most this.
    Asked(SpentSum),
    /// A helper has answered, and this is what it used: the fact that says so is not folded yet.
    Answered(SpentSum),
}

impl FamilyBudget {
    /// How a session stands by now. Of agents below it only those count from here on that it says run, so
    /// what one used is counted in exactly one place.
    pub fn set_member(&mut self, session: &SessionId, member: FamilyMember) {
        let runs = |other: &SessionId| {
            !is_below(other, session)
                || member
                    .running
                    .iter()
                    .any(|running| *other == running.agent || is_below(other, &running.agent))
        };
        self.members.retain(|other, _| runs(other));
        self.holds.retain(|request, _| runs(&request.session));
        self.members.insert(session.clone(), member);
    }

    /// The session is not run here any more. What it used counts until the one that started it says what
    /// became of it; one that nobody started is forgotten with all below it.
    pub fn remove_member(&mut self, session: &SessionId) {
        self.holds.retain(|request, _| request.session != *session);
        let is_begun =
            parent_of(session).is_some_and(|(parent, _)| self.members.contains_key(&parent));
        if !is_begun {
            let stays = |other: &SessionId| other != session && !is_below(other, session);
            self.members.retain(|other, _| stays(other));
            self.holds.retain(|request, _| stays(&request.session));
        }
    }

    /// Sets aside what the next request of `session` costs at most, in place of what stood there.
    pub fn reserve_spending(&mut self, session: &SessionId, at_most: SpentSum) -> FamilyAnswer {
        self.reserve_request(FamilyRequest { session: session.clone(), helper: None }, at_most)
    }

    /// The same for a request that a helper makes for `session`.
    /// Between turns a session is stopped by its own table of bounds, which no helper looks at: so a helper
    /// is also refused where nothing is left for the session itself.
    pub fn reserve_for_helper(
        &mut self,
        session: &SessionId,
        helper: HelperRequest,
        at_most: SpentSum,
    ) -> FamilyAnswer {
        self.reserve_request(
            FamilyRequest { session: session.clone(), helper: Some(helper) },
            at_most,
        )
    }

    fn reserve_request(&mut self, request: FamilyRequest, at_most: SpentSum) -> FamilyAnswer {
        let answer = self.judge_request(&request);
        if answer == FamilyAnswer::Granted {
            self.holds.insert(request, FamilyHold::Asked(at_most));
        }
        answer
    }

    fn judge_request(&self, request: &FamilyRequest) -> FamilyAnswer {
        let mut answer = FamilyAnswer::Granted;
        let mut above = Some(request.session.clone());
        while let Some(of) = above {
            if let Some(member) = self.members.get(&of) {
                let is_own = of == request.session;
                // Of itself it knows that an agent which is not here does nothing: it may never have begun.
                let mut used = match is_own {
                    true => self.used_by_present(&of),
                    false => self.used_below(&of),
                };
                used.add(self.answered_of(&of));
                let held = self.held_below(&of, request);
                let stopped_by_table = is_own && request.helper.is_none();
                match (MemberState { member, used, held, stopped_by_table }).judge_bounds() {
                    FamilyAnswer::Granted => (),
                    FamilyAnswer::Busy => answer = FamilyAnswer::Busy,
                    FamilyAnswer::Reached(what) => return FamilyAnswer::Reached(what),
                }
            }
            above = parent_of(&of).map(|(parent, _)| parent);
        }
        answer
    }

    /// Gives back what is set aside for a session: what it used is counted, or nothing was asked.
    pub fn release_spending(&mut self, session: &SessionId) {
        self.holds.remove(&FamilyRequest { session: session.clone(), helper: None });
    }

    /// A helper has answered: what it used counts here, until [`FamilyBudget::release_helpers`]. Of a request
    /// that is not known any more nothing counts.
    pub fn settle_helper(&mut self, session: &SessionId, helper: HelperRequest, used: SpentSum) {
        let request = FamilyRequest { session: session.clone(), helper: Some(helper) };
        if let Some(hold) = self.holds.get_mut(&request) {
            *hold = FamilyHold::Answered(used);
        }
    }

    /// Gives back what is set aside for a request of a helper of which nothing is heard any more.
    pub fn release_helper(&mut self, session: &SessionId, helper: HelperRequest) {
        self.holds.remove(&FamilyRequest { session: session.clone(), helper: Some(helper) });
    }

    /// What helpers used that have answered is counted by the session itself, or never will be: of those for
    /// whose calls `is_counted` says so. Calls run beside each other, and each counts what was asked for it.
    pub fn release_helpers(
        &mut self,
        session: &SessionId,
        is_counted: impl Fn(Option<CallId>) -> bool,
    ) {
        self.holds.retain(|request, hold| match (request.helper, hold) {
            (Some(helper), FamilyHold::Answered(_)) if request.session == *session => {
                !is_counted(helper.call)
            }
            _ => true,
        });
    }

    /// What the agents below a session used that run; one that is not back yet counts as all that it was
    /// granted.
    fn used_below(&self, of: &SessionId) -> SpentSum {
        self.sum_below(of, |granted| granted)
    }

    /// The same of those that are here.
    fn used_by_present(&self, of: &SessionId) -> SpentSum {
        self.sum_below(of, |_| SpentSum::default())
    }

    fn sum_below(&self, of: &SessionId, absent: fn(SpentSum) -> SpentSum) -> SpentSum {
        let mut sum = SpentSum::default();
        let running = self.members.get(of).map(|member| member.running.as_slice());
        for RunningAgent { agent, granted } in running.unwrap_or_default() {
            // Only what descends from it by its name is followed: so this ends.
            match self.members.get(agent).filter(|_| is_below(agent, of)) {
                Some(member) => {
                    sum.add(member.used);
                    sum.add(self.answered_of(agent));
                    sum.add(self.sum_below(agent, absent));
                }
                None => sum.add(absent(*granted)),
            }
        }
        sum
    }

    /// What helpers used for a session that counts it with its next facts.
    fn answered_of(&self, session: &SessionId) -> SpentSum {
        let mut sum = SpentSum::default();
        for (request, hold) in &self.holds {
            if let FamilyHold::Answered(used) = hold
                && request.session == *session
            {
                sum.add(*used);
            }
        }
        sum
    }

    /// What a session and those below it have set aside, but for `except`.
    fn held_below(&self, of: &SessionId, except: &FamilyRequest) -> SpentSum {
        let mut sum = SpentSum::default();
        for (request, hold) in &self.holds {
            if let FamilyHold::Asked(held) = hold
                && request != except
                && (request.session == *of || is_below(&request.session, of))
            {
                sum.add(*held);
            }
        }
        sum
    }
}

fn is_below(session: &SessionId, above: &SessionId) -> bool {
    let mut at = parent_of(session);
    while let Some((parent, _)) = at {
        if parent == *above {
            return true;
        }
        at = parent_of(&parent);
    }
    false
}

/// How a session stands when it, somebody below it or a helper of either asks.
struct MemberState<'a> {
    member: &'a FamilyMember,
    /// What those below it used, and helpers that it has not counted yet.
    used: SpentSum,
    /// What others have set aside.
    held: SpentSum,
    /// It asks itself: where it used up everything alone, its own table of bounds says so.
    stopped_by_table: bool,
}

impl MemberState<'_> {
    /// Judges one bound of each kind.
    fn judge_bounds(&self) -> FamilyAnswer {
        let MemberState { member, used, held, stopped_by_table } = self;
        let usd = BoundState { left: member.left_usd, used: used.usd, held: held.usd };
        let tokens = BoundState {
            left: member.left_tokens.map(|left| left as f64),
            used: used.tokens as f64,
            held: held.tokens as f64,
        };
        let mut answer = FamilyAnswer::Granted;
        for (limit, BoundState { left, used, held }) in
            [(LimitName::AgentsUsd, usd), (LimitName::AgentsTokens, tokens)]
        {
            let Some(max) = left else { continue };
            if used >= max && (used > 0.0 || !*stopped_by_table) {
                return FamilyAnswer::Reached(UsedUpFamily { limit, spent: used, max });
            }
            if held > 0.0 && used + held >= max {
                answer = FamilyAnswer::Busy;
            }
        }
        answer
    }
}

struct BoundState {
    left: Option<f64>,
    used: f64,
    held: f64,
}

#[cfg(test)]
#[path = "family_budget_tests.rs"]
mod tests;
