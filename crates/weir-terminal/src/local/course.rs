//! What a fact means for this end of the link, beside what the engine's host keeps of a session: that
//! it came to rest, and that a person allowed something for always.

use weir_core::event::{Decision, Event};
use weir_core::governance::rules::Rule;
use weir_core::ids::ApprovalId;
use weir_engine::host::SessionState;
use weir_engine::hub::PublishedFact;

/// What a fact means for this end.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FactMeaning {
    /// A run ended and nothing waits.
    pub(super) rests: bool,
    /// A person allowed something for always.
    pub(super) always: Option<AlwaysAllowed>,
}

/// What a person allowed for always.
#[derive(Debug, PartialEq)]
pub(super) struct AlwaysAllowed {
    /// The approval that was answered so.
    pub(super) approval: ApprovalId,
    /// Who answered.
    pub(super) by: String,
    /// The rules that it adds.
    pub(super) rules: Vec<Rule>,
}

impl FactMeaning {
    /// That of `fact`; `state` has taken it in already.
    pub(super) fn of_fact(state: &SessionState, fact: &PublishedFact) -> FactMeaning {
        let always = |approval: &ApprovalId, decision, by: &str| {
            let asked = state.approvals.get(approval)?;
            (decision == Decision::Always).then(|| AlwaysAllowed {
                approval: approval.clone(),
                by: by.to_owned(),
                rules: asked.rules.clone(),
            })
        };
        match fact.event.as_ref() {
            Event::RunFinished(_) => {
                FactMeaning { rests: state.queued.is_empty(), ..FactMeaning::default() }
            }
            Event::ApprovalResolved(f) => {
                let always = always(&f.approval, f.decision, &f.by);
                FactMeaning { always, ..FactMeaning::default() }
            }
            Event::AgentAnswered(f) => {
                let always = always(&f.approval, f.decision, &f.by);
                FactMeaning { always, ..FactMeaning::default() }
            }
            _ => FactMeaning::default(),
        }
    }
}
