//! The law of unknown outcomes, held against any journal (D4): nothing that changes the world starts
//! while one is open, the same call does not start at all unless a person let it, and only an answer
//! to a question that told of an outcome settles it.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::event::Event;
use weir_core::governance::{Verdict, call_form};
use weir_core::ids::CallId;

/// How often what the law is about happened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) unknown: u32,
    /// Allowed calls that were asked about, because an outcome became unknown before they started.
    pub(crate) again: u32,
    pub(crate) settled: u32,
    /// The same call was let run again.
    pub(crate) repeated: u32,
}

/// What is known of a call.
#[derive(Default)]
struct Seen {
    form: String,
    changes: bool,
    allowed: bool,
    told: BTreeSet<CallId>,
}

pub(crate) fn check<'a>(facts: impl Iterator<Item = &'a Event>) -> Count {
    let mut count = Count::default();
    let mut calls: BTreeMap<CallId, Seen> = BTreeMap::new();
    let (mut open, mut settled) = (BTreeMap::new(), BTreeMap::new());
    for event in facts {
        match event {
            Event::CallProposed(f) => {
                calls.entry(f.call).or_default().form = call_form(&f.tool, &f.input);
            }
            Event::CallJudged(f) => {
                let seen = calls.entry(f.call).or_default();
                seen.changes = f.inspection.effects.changes_world();
                seen.allowed = f.verdict == Verdict::Allow;
            }
            Event::CallUnknown(f) => {
                count.unknown += 1;
                open.insert(f.call, calls[&f.call].form.clone());
            }
            Event::ApprovalRequested(f) => {
                let seen = calls.entry(f.call).or_default();
                count.again += u32::from(seen.allowed);
                for call in &f.unknown {
                    assert!(f.reason.contains(&call.to_string()), "it tells of {call}: {f:?}");
                }
                seen.told.extend(&f.unknown);
            }
            Event::ApprovalResolved(f) if f.decision.allows() => {
                let seen = &calls[&f.call];
                for call in &seen.told {
                    let was_open = open.remove(call);
                    count.settled += u32::from(was_open.is_some());
                    let Some(form) = was_open.or_else(|| settled.remove(call)) else { continue };
                    if form == seen.form {
                        count.repeated += 1;
                    } else {
                        settled.insert(*call, form);
                    }
                }
            }
            Event::CallStarted(f) => {
                let seen = &calls[&f.call];
                assert!(!seen.changes || open.is_empty(), "{} starts while {open:?}", f.call);
                let same = open.values().chain(settled.values()).find(|form| **form == seen.form);
                assert_eq!(same, None, "{} is started again unasked", f.call);
            }
            _ => (),
        }
    }
    count
}
