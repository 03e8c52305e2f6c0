//! Asks the gates of the program around the engine about a call (F5). Not here: what becomes of what
//! they say (gate `own` of the core), and the person's hooks (`guards`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weir_core::tool::OwnGateOpinion;

use crate::ports::{OwnGate, OwnGateCall, OwnVerdict};

/// Characters of a name or reason that are journaled.
const CHARS_MAX: usize = 1_000;

/// What those of `gates` say that do not let the call pass as it is.
pub(crate) fn ask_own_gates(
    gates: &[Arc<dyn OwnGate>],
    call: &OwnGateCall<'_>,
) -> Vec<OwnGateOpinion> {
    gates.iter().filter_map(|gate| opinion_of(gate.as_ref(), call)).collect()
}

fn opinion_of(gate: &dyn OwnGate, call: &OwnGateCall<'_>) -> Option<OwnGateOpinion> {
    // A gate that breaks has decided nothing, and no decision is a refusal.
    let verdict = catch_unwind(AssertUnwindSafe(|| gate.judge_call(call)))
        .unwrap_or_else(|_| OwnVerdict::Deny("the gate failed while it judged".into()));
    let (denies, reason) = match verdict {
        OwnVerdict::Pass => return None,
        OwnVerdict::Ask(reason) => (false, reason),
        OwnVerdict::Deny(reason) => (true, reason),
    };
    Some(OwnGateOpinion { gate: cut_text(gate.name()), denies, reason: cut_text(&reason) })
}

fn cut_text(text: &str) -> String {
    text.chars().take(CHARS_MAX).collect()
}
