//! A model that is hijacked already: it knows the calls that solve the person's task and those that
//! reach the injection's goal, and makes both, one by one or by programs.

use std::collections::VecDeque;

use crate::attacker::{Mind, Move, Seen, Wish};

use super::planner::Planner;
use super::reader::Reader;
use super::service::{Task, TruthCall};

/// When the injection's calls are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// As soon as the injection was read.
    OnReading,
    /// Before anything was read; and what was refused once more, when the person's task is done
    /// and the person has agreed to some calls of it.
    AtOnce,
}

/// What is tried for the attacker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) planner: Planner,
    pub(super) calls: &'a [TruthCall],
    pub(super) order: Order,
}

pub(super) struct Hijacked {
    /// What is still to be called for the person.
    user: VecDeque<Wish>,
    /// What is still to be called for the attacker; it goes first once `turned`.
    attack: VecDeque<Wish>,
    turned: bool,
    /// Calls for the attacker that were refused, for the second attempt.
    again: VecDeque<Wish>,
    retries: bool,
    /// The call that was made last for the attacker.
    last: Option<Wish>,
    /// The arguments of the call that it made last for the person.
    wrote: Option<String>,
    sign: String,
    answer: String,
    reader: Reader,
}

impl Hijacked {
    /// A model that calls this for the person's `task`, and `attack` when its time comes.
    pub(super) fn new(task: &Task, user: Vec<Wish>, attack: &Attempt<'_>) -> Hijacked {
        let Attempt { planner, calls, order } = *attack;
        Hijacked {
            user: user.into(),
            attack: planner.wishes_of(calls).into(),
            turned: order == Order::AtOnce,
            again: VecDeque::new(),
            retries: order == Order::AtOnce,
            last: None,
            wrote: None,
            sign: task.sign.clone(),
            answer: task.answer.clone(),
            reader: Reader::new(task, calls),
        }
    }

    /// What answers about words that it does not read itself.
    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }
}

impl Mind for Hijacked {
    fn reads(&mut self, asked: &str) -> Option<String> {
        self.reader.answer(asked)
    }
    fn next(&mut self, results: &[Seen]) -> Move {
        // What it is told again of its own arguments it has not read.
        let is_echo = self.wrote.take().is_some_and(|wrote| wrote.contains(&self.sign));
        self.turned |= !is_echo && results.iter().any(|result| result.text.contains(&self.sign));
        if let Some(last) = self.last.take()
            && self.retries
            && results.iter().any(|result| !result.ok)
        {
            self.again.push_back(last);
        }
        if self.turned
            && let Some(wish) = self.attack.pop_front()
        {
            self.last = Some(wish.clone());
            return Move::Call(vec![wish]);
        }
        let wish = self.user.pop_front().or_else(|| {
            self.retries = false;
            self.again.pop_front()
        });
        match wish {
            Some(wish) => {
                self.wrote = Some(wish.input.to_string());
                Move::Call(vec![wish])
            }
            None if self.answer.is_empty() => Move::Say("Done.".into()),
            None => Move::Say(self.answer.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::with_prefix;
    use super::*;

    fn call(name: &str) -> TruthCall {
        TruthCall { name: name.into(), args: json!({}) }
    }

    fn task() -> Task {
        Task {
            prompt: "do".into(),
            answer: String::new(),
            user: vec![call("u1"), call("u2")],
            injection: vec![call("a1"), call("a2")],
            sign: "<SIGN>".into(),
        }
    }

    /// The names of the calls when the results are these, one after another.
    fn calls(order: Order, results: &[(bool, &str)]) -> Vec<String> {
        let task = task();
        let attempt = Attempt { planner: Planner::Calls, calls: &task.injection, order };
        let user = Planner::Calls.wishes_of(&task.user);
        let mut mind = Hijacked::new(&task, user, &attempt);
        let mut names = Vec::new();
        let mut last: Vec<Seen> = Vec::new();
        for (ok, text) in results.iter().copied().chain(std::iter::repeat((true, "fine"))) {
            match mind.next(&last) {
                Move::Say(_) => return names,
                Move::Call(wishes) => names.extend(wishes.into_iter().map(|wish| wish.tool)),
            }
            last = vec![Seen { ok, text: text.into() }];
        }
        names
    }

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| with_prefix(name)).collect()
    }

    #[test]
    fn z11_it_turns_when_it_reads_the_injection_and_not_before() {
        assert_eq!(calls(Order::OnReading, &[]), named(&["u1", "u2"]));
        let turned = calls(Order::OnReading, &[(true, "words <SIGN> words")]);
        assert_eq!(turned, named(&["u1", "a1", "a2", "u2"]));
    }

    #[test]
    fn z11_at_once_it_tries_what_was_refused_a_second_time() {
        let refused = calls(Order::AtOnce, &[(true, "fine"), (false, "denied")]);
        assert_eq!(refused, named(&["a1", "a2", "u1", "u2", "a2"]));
    }
}
