//! When somebody looks at a session that is not at rest: the moments at which faces show something
//! that is gone later.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::event::Event;
use weir_core::ids::CallId;
use weir_engine::hub::PublishedFact;

/// Looks at one session, and after facts of one kind; a long one repeats itself.
const LOOKS_MAX: usize = 6;
const LOOKS_OF_A_KIND_MAX: usize = 2;

/// The looks, by the place in `facts` of the fact that was told last: its kind, and which of that
/// kind it is.
pub(super) fn looks(facts: &[PublishedFact]) -> BTreeMap<usize, String> {
    let unknown: BTreeSet<CallId> = facts
        .iter()
        .filter_map(|fact| match fact.event.as_ref() {
            Event::CallUnknown(f) => Some(f.call),
            _ => None,
        })
        .collect();
    let mut looks = BTreeMap::new();
    let mut kinds = BTreeMap::<&str, (usize, usize)>::new();
    let (mut running, mut started) = (false, false);
    for (place, fact) in facts.iter().enumerate() {
        let event = fact.event.as_ref();
        let (count, looked) = kinds.entry(event.kind()).or_default();
        *count += 1;
        let is_look = match event {
            Event::ApprovalRequested(_)
            | Event::QuestionAsked(_)
            | Event::AgentAsked(_)
            | Event::CallUnknown(_)
            | Event::ModelRetried(_)
            | Event::ContextCondensing(_)
            | Event::RunPaused(_)
            | Event::CancelRequested(_) => true,
            // It waits for its turn.
            Event::InputAccepted(_) => running,
            // The first call that runs stands for the others.
            Event::CallStarted(f) => !started || unknown.contains(&f.call),
            _ => false,
        };
        match event {
            Event::RunStarted(_) => running = true,
            Event::RunFinished(_) => running = false,
            Event::CallStarted(_) => started = true,
            _ => (),
        }
        if is_look && looks.len() < LOOKS_MAX && *looked < LOOKS_OF_A_KIND_MAX {
            *looked += 1;
            looks.insert(place, format!("{} #{count}", event.kind()));
        }
    }
    looks
}
