//! What a session and the agents below it may use up together (R11): each agent has a share of its own, and
//! the request with which a share is used up may cost more than is left of it. So before a request what it
//! costs at most is set aside, and where that may be all that is left for the others too, these wait: at most
//! one request goes beyond, however many agents are at work.
//!
//! Pure. Not here: dividing shares (`child`), who waits and how (the engine), caps that sessions of several
//! families have in common (the engine's `spending`).

use std::collections::BTreeMap;

use crate::ids::SessionId;
use crate::profile::LimitName;

use super::child::parent_of;

/// An amount of both kinds that bounds are set in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpentSum {
    /// US dollars; what has no price counts as nothing here: a bound in dollars lets it not begin.
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
    holds: BTreeMap<SessionId, SpentSum>,
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
        self.holds.retain(|other, _| runs(other));
        self.members.insert(session.clone(), member);
    }

    /// The session is not run here any more. What it used counts until the one that started it says what
    /// became of it; one that nobody started is forgotten with all below it.
    pub fn remove_member(&mut self, session: &SessionId) {
        self.holds.remove(session);
        let is_begun =
            parent_of(session).is_some_and(|(parent, _)| self.members.contains_key(&parent));
        if !is_begun {
            let stays = |other: &SessionId| other != session && !is_below(other, session);
            self.members.retain(|other, _| stays(other));
            self.holds.retain(|other, _| stays(other));
        }
    }

    /// Sets aside what the next request of `session` costs at most, in place of what stood there.
    pub fn reserve_spending(&mut self, session: &SessionId, at_most: SpentSum) -> FamilyAnswer {
        let mut answer = FamilyAnswer::Granted;
        let mut above = Some(session.clone());
        while let Some(of) = above {
            if let Some(member) = self.members.get(&of) {
                // Of itself it knows that an agent which is not here does nothing: it may never have begun.
                let used = match of == *session {
                    true => self.used_by_present(&of),
                    false => self.used_below(&of),
                };
                match judge_request(member, used, self.held_below(&of, session)) {
                    FamilyAnswer::Granted => (),
                    FamilyAnswer::Busy => answer = FamilyAnswer::Busy,
                    FamilyAnswer::Reached(what) => return FamilyAnswer::Reached(what),
                }
            }
            above = parent_of(&of).map(|(parent, _)| parent);
        }
        if answer == FamilyAnswer::Granted {
            self.holds.insert(session.clone(), at_most);
        }
        answer
    }

    /// Gives back what is set aside for a session: what it used is counted, or nothing was asked.
    pub fn release_spending(&mut self, session: &SessionId) {
        self.holds.remove(session);
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
                    sum.add(self.sum_below(agent, absent));
                }
                None => sum.add(absent(*granted)),
            }
        }
        sum
    }

    /// What a session and those below it have set aside, but for `except`.
    fn held_below(&self, of: &SessionId, except: &SessionId) -> SpentSum {
        let mut sum = SpentSum::default();
        for (session, held) in &self.holds {
            if session != except && (session == of || is_below(session, of)) {
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

/// Judges one bound of each kind. What a session used by itself is no matter of this: its own table of bounds
/// stops it.
fn judge_request(member: &FamilyMember, used: SpentSum, held: SpentSum) -> FamilyAnswer {
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
        if used > 0.0 && used >= max {
            return FamilyAnswer::Reached(UsedUpFamily { limit, spent: used, max });
        }
        if held > 0.0 && used + held >= max {
            answer = FamilyAnswer::Busy;
        }
    }
    answer
}

struct BoundState {
    left: Option<f64>,
    used: f64,
    held: f64,
}

#[cfg(test)]
#[path = "family_budget_tests.rs"]
mod tests;
