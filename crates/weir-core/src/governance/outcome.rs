//! Calls of which nobody knows whether they took effect (D4): what a person must be told of them
//! before another call runs, and what settles them. Not here: how an outcome becomes unknown (the
//! engine's recovery), and who is asked (the gate `unknown`, the session).
//!
//! An outcome is *open* until somebody who was told of it lets a call run: until then everything
//! that changes the world asks. After that it is *settled*, and only the same call still asks, in
//! every mode, until a person lets that very call run again. An answer to a question that did not tell of
//! an outcome says nothing about it (decision 43).

use serde::{Deserialize, Serialize};

use crate::governance::filter::one_line;
use crate::ids::CallId;

/// Outcomes that one question tells of; the others are told of by the next.
const TOLD_MAX: usize = 5;
/// Settled outcomes that a session remembers. Open ones are never forgotten: each takes a crash.
const SETTLED_MAX: usize = 64;

/// A call of which nobody knows whether it took effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownOutcome {
    /// Number of the call in its session.
    pub call: CallId,
    /// Tool and input, as [`super::call_form`] writes them.
    pub form: String,
    /// A person who was told of it let another call run since.
    pub settled: bool,
}

/// What a person is told before a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeWarning {
    /// The sentences.
    pub text: String,
    /// Of which calls.
    pub about: Vec<CallId>,
}

/// What must be told before a call of this form runs; `changes`: it may change the world. `None`:
/// no outcome concerns it.
pub fn outcome_warning<'a>(
    outcomes: impl IntoIterator<Item = &'a UnknownOutcome>,
    form: &str,
    changes: bool,
) -> Option<OutcomeWarning> {
    let concerns = |outcome: &&UnknownOutcome| outcome.form == form || changes && !outcome.settled;
    let about: Vec<&UnknownOutcome> = outcomes.into_iter().filter(concerns).collect();
    let (same, others): (Vec<_>, Vec<_>) = about.into_iter().partition(|one| one.form == form);
    let same = &same[..same.len().min(TOLD_MAX)];
    let others = &others[..others.len().min(TOLD_MAX - same.len())];
    let mut text = Vec::new();
    if !same.is_empty() {
        let calls: Vec<String> = same.iter().map(|one| one.call.to_string()).collect();
        text.push(format!(
            "This same call was started before ({}) and nobody knows whether it took effect. Look \
             at the world first to find out; repeating it may do it twice.",
            calls.join(", ")
        ));
    }
    if !others.is_empty() {
        let calls: Vec<String> = others.iter().map(|one| one.call_text()).collect();
        text.push(format!(
            "An earlier call was started and nobody knows whether it took effect: {}. Look first, \
             with calls that only read. Until it is settled, calls that change anything ask; to \
             allow this one settles it.",
            calls.join("; ")
        ));
    }
    let about: Vec<CallId> = same.iter().chain(others).map(|one| one.call).collect();
    (!about.is_empty()).then(|| OutcomeWarning { text: text.join(" "), about })
}

/// A person let the call of this form run, and was told of these outcomes before.
pub fn settle_outcomes(outcomes: &mut Vec<UnknownOutcome>, form: &str, told: &[CallId]) {
    outcomes.retain(|one| one.form != form || !told.contains(&one.call));
    outcomes.iter_mut().for_each(|one| one.settled |= told.contains(&one.call));
    let settled = outcomes.iter().filter(|one| one.settled).count();
    let mut over = settled.saturating_sub(SETTLED_MAX);
    // The oldest are forgotten first.
    outcomes.retain(|one| {
        let forgotten = one.settled && over > 0;
        over -= usize::from(forgotten);
        !forgotten
    });
}

impl UnknownOutcome {
    fn call_text(&self) -> String {
        format!("{} ({})", self.call, one_line(&self.form))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(call: u32, form: &str, settled: bool) -> UnknownOutcome {
        UnknownOutcome { call: CallId(call), form: form.into(), settled }
    }

    fn about(outcomes: &[UnknownOutcome], form: &str, changes: bool) -> Vec<u32> {
        let told = outcome_warning(outcomes, form, changes);
        told.map(|told| told.about.iter().map(|call| call.0).collect()).unwrap_or_default()
    }

    #[test]
    fn d4_what_must_be_told_of_an_unknown_outcome() {
        let open = [outcome(1, "deploy {}", false), outcome(2, "send {}", false)];
        assert_eq!(about(&open, "look {}", false), [0; 0], "what only reads is told of nothing");
        assert_eq!(about(&open, "status {}", true), [1, 2], "what changes is told of all");
        assert_eq!(about(&open, "send {}", true), [2, 1], "the same call first");
        assert_eq!(about(&open, "send {}", false), [2], "the same call, whatever it does");
        let text = outcome_warning(&open, "send {}", true).expect("it is told").text;
        assert!(text.contains("same call was started before (c2)"), "{text}");
        assert!(text.contains("c1 (deploy {})"), "{text}");
        let many: Vec<_> = (1..=9).map(|n| outcome(n, &format!("f{n}"), false)).collect();
        assert_eq!(about(&many, "g", true), [1, 2, 3, 4, 5], "only what is named counts as told");
        let long = outcome(1, &"x\n".repeat(500), false);
        let text = outcome_warning([&long], "g", true).expect("it is told").text;
        assert!(text.len() < 600 && !text.contains('\n'), "{text}");
    }

    #[test]
    fn d4_only_what_was_told_is_settled_and_the_same_call_asks_on() {
        let mut outcomes = vec![outcome(1, "deploy {}", false), outcome(2, "send {}", false)];
        settle_outcomes(&mut outcomes, "status {}", &[]);
        assert_eq!(about(&outcomes, "status {}", true), [1, 2], "a question that told of nothing");
        settle_outcomes(&mut outcomes, "status {}", &[CallId(1)]);
        assert_eq!(about(&outcomes, "status {}", true), [2]);
        assert_eq!(about(&outcomes, "deploy {}", true), [1, 2], "the same call still asks");
        settle_outcomes(&mut outcomes, "deploy {}", &[CallId(1), CallId(2)]);
        assert_eq!(about(&outcomes, "deploy {}", true), [0; 0], "until it was let run again");
        assert_eq!(about(&outcomes, "send {}", true), [2]);
        let mut many: Vec<_> = (1..=99).map(|n| outcome(n, &format!("f{n}"), true)).collect();
        many[0].settled = false;
        settle_outcomes(&mut many, "g", &[]);
        assert_eq!(many.len(), SETTLED_MAX + 1);
        assert!(!many[0].settled && many[1].call == CallId(36), "the oldest settled ones went");
    }
}
